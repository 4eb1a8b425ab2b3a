"""`tacit record` in real processes: who said it, whom it is credited to, what moved by it and what of it does not count."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.domain.evidence import Evidence, Grade, Outcome
from tacit.store import open_store
from tests.e2e.conftest import Terminal, uncoloured
from tests.unit.surfaces.hooked_project import NORM, PROCEDURE, fill

NAME = "add-a-migration"
TASK = "Please add a migration that adds the column paid_at to the payments table"


def database(terminal: Terminal) -> Path:
    return terminal.project / ".tacit" / "tacit.db"


def plain(text: str) -> str:
    """What a terminal shows, on one line."""
    return " ".join(uncoloured(text).split())


def use_of(terminal: Terminal, *version_ids: str) -> str:
    """A use that showed these versions, whatever recall would have chosen."""
    with Tacit(open_store(database(terminal))) as loop:
        kept = loop.recall(TASK, k=1)
        use = loop.context.store.use(kept.use_id)
        shown = type(use)(version_ids=version_ids, task=TASK, at=use.at + timedelta(microseconds=1), surface="cli")
        loop.context.store.add(shown)
        return shown.id


def known(terminal: Terminal, version_id: str, outcome: Outcome, *, count: int) -> None:
    """Earlier verified results, each of a task of its own, that nothing was made of yet."""
    with Tacit(open_store(database(terminal))) as loop, loop.context.store.transaction():
        begun = datetime.now(UTC)
        for number in range(count):
            at = begun + timedelta(microseconds=number)
            row = Evidence(
                version_id=version_id, outcome=outcome, grade=Grade.MACHINE, at=at, trajectory_id=f"t{number}"
            )
            loop.context.store.add(row)


@pytest.mark.parametrize(
    ("outcome", "told"), [(Outcome.SUCCESS, "now trusted: add-a-migration"), (Outcome.FAILURE, "now retired: add-a-migration")]
)  # fmt: skip
def test_whoever_records_hears_that_the_standing_changed(terminal: Terminal, outcome: Outcome, told: str) -> None:
    version_id = fill(database(terminal), PROCEDURE)[NAME]
    known(terminal, version_id, outcome, count=12)
    use = use_of(terminal, version_id)
    done = terminal.type("record", use, "--outcome", outcome)
    assert done.code == 0, done
    assert told in plain(done.out)
    assert "now " not in terminal.type("record", use, "--outcome", outcome).out.replace("reliability now", "")


def test_programs_get_the_moves(terminal: Terminal) -> None:
    version_id = fill(database(terminal), PROCEDURE)[NAME]
    known(terminal, version_id, Outcome.SUCCESS, count=12)
    use = use_of(terminal, version_id)
    said = terminal.run("record", use, "--outcome", "success", "--json").json
    assert (said["moves"], said["not_counted"]) == ([], [])  # nobody's own word moves anything
    said = terminal.type("feedback", use, "--helpful", "--json").json
    assert [(move["version_id"], move["after"]) for move in said["moves"]] == [(version_id, "trusted")]


def test_figures_are_counted_by_category(terminal: Terminal) -> None:
    deployment = replace(PROCEDURE, category="deployment")
    known(terminal, fill(database(terminal), deployment, NORM)[NAME], Outcome.SUCCESS, count=12)
    figures = terminal.run("stats", "--json").json
    assert figures["reliability"] == 1.0
    assert figures["categories"] == {
        "deployment": {"skills": 1, "shown": 0, "reliability": 1.0},
        "none": {"skills": 1, "shown": 0, "reliability": None},
    }
    told = plain(terminal.run("stats").out)
    assert "deployment" in told
    assert re.search(r"\ball 2 0 100%", told)


def test_result_of_a_person_carries_the_name_that_git_knows(terminal: Terminal) -> None:
    version_id = fill(database(terminal), PROCEDURE)[NAME]
    (terminal.home / ".gitconfig").write_text("[user]\n\tname = Ann Known\n")
    terminal.variables |= {"USER": "", "LOGNAME": ""}
    use = use_of(terminal, version_id)
    assert terminal.type("record", use, "--outcome", "success").code == 0
    assert terminal.type("feedback", use, "--helpful").code == 0
    with Tacit(open_store(database(terminal))) as loop:
        assert {row.by for row in loop.context.store.evidence([version_id])[version_id]} == {"Ann Known"}


def test_result_that_another_of_the_same_task_stands_before_is_told(terminal: Terminal) -> None:
    version_id = fill(database(terminal), PROCEDURE)[NAME]
    (terminal.project / "VERSION").write_text("2.0\n")
    use = use_of(terminal, version_id)
    checked = terminal.type("record", use, "--verify", "grep -q 2.0 VERSION")
    assert "success (machine-verified)" in checked.out, checked
    assert "one vote" not in checked.out
    said = terminal.type("record", use, "--outcome", "failure")
    assert "one vote" in plain(said.out)
    document = terminal.type("record", use, "--outcome", "failure", "--json").json
    assert document["not_counted"] == [document["evidence"][0]["id"]]


def test_shared_credit_is_told_with_how_to_say_more(terminal: Terminal) -> None:
    ids = fill(database(terminal), NORM, PROCEDURE)
    use = use_of(terminal, *ids.values())
    shared = plain(terminal.type("record", use, "--outcome", "success").out)
    assert "2 skills were shown and share the credit, 1/2 each" in shared
    assert "--followed NAME" in shared
    named = terminal.type("record", use, "--outcome", "success", "--followed", NAME).out
    assert "share the credit" not in named


def test_state_that_no_file_can_be_in_is_a_mistake_and_no_failure(terminal: Terminal) -> None:
    version_id = fill(database(terminal), PROCEDURE)[NAME]
    use = use_of(terminal, version_id)
    done = terminal.run("record", use, "--with", "file", "--verify", "CHANGELOG.md grows")
    assert done.code == 2
    for state in ("exists", "absent", "changed", "contains", "sha256"):
        assert state in done.err
    with Tacit(open_store(database(terminal))) as loop:
        assert not loop.context.store.evidence([version_id])[version_id]
