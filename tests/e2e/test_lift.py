"""`tacit lift` in real processes: hold-outs through recall and record, the table, the picture, and why nothing is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.config.settings import Config, Policy
from tacit.domain.evidence import Effort, Evidence, Grade, Outcome
from tacit.domain.holdout import is_held_back
from tacit.domain.scope import Level, Scope
from tacit.store import open_store
from tests.e2e.conftest import Terminal
from tests.unit.surfaces.hook_events import SESSION, claude
from tests.unit.surfaces.hooked_project import NORM, PROCEDURE, fill

TASK = "Please add a migration that adds the column paid_at to the payments table"
BEGUN = datetime(2026, 3, 1, tzinfo=UTC)


def rows(version_id: str, *, count: int = 120) -> Iterator[Evidence]:
    """Runs under a lot: with the skill nearly all work, without it half, in half the steps."""
    for number in range(count):
        control = is_held_back(f"session-{number}", "s", 0.4)
        yield Evidence(
            version_id=version_id,
            outcome=Outcome.SUCCESS if number % 2 or (not control and number % 10) else Outcome.FAILURE,
            grade=Grade.MACHINE,
            at=BEGUN + timedelta(minutes=number),
            trajectory_id=f"t{number}",
            control=control,
            share=0.4,
            model="gpt-5.5" if number % 3 else "claude",
            effort=Effort(steps=(20 if control else 10) + number % 5, retries=number % 3, tokens=9000 + 100 * number),
        )


@pytest.fixture
def measured(terminal: Terminal) -> Terminal:
    database = terminal.project / ".tacit" / "tacit.db"
    ids = fill(database, NORM, PROCEDURE)
    with Tacit(open_store(database)) as loop, loop.context.store.transaction():
        for row in rows(ids["add-a-migration"]):
            loop.context.store.add(row)
    return terminal


def test_where_nothing_is_held_back_it_says_how_and_what_that_costs(terminal: Terminal) -> None:
    fill(terminal.project / ".tacit" / "tacit.db", PROCEDURE)
    done = terminal.run("lift")
    assert done.code == 0
    assert "hold_out = 0.2" in done.out
    assert terminal.run("lift", "--json").json["skills"] == []


def test_where_controls_are_drawn_already_it_says_what_is_missing(terminal: Terminal) -> None:
    fill(terminal.project / ".tacit" / "tacit.db", PROCEDURE)
    (terminal.home / ".tacit").mkdir(exist_ok=True)
    (terminal.home / ".tacit" / "tacit.toml").write_text("[policy]\nhold_out = 0.25\n", encoding="utf-8")
    assert "policy.hold_out = 0.25" in terminal.run("lift").out
    assert terminal.run("config", "--json").json["settings"]["policy.hold_out"]["value"] == 0.25


def test_a_table_shows_the_lift_with_its_interval(measured: Terminal) -> None:
    done = measured.run("lift")
    assert done.code == 0, done.err
    (line,) = (line for line in done.out.splitlines() if line.startswith("add-a-migration"))
    assert "points" in line
    assert "use-pnpm" not in done.out, "norms are never under a lot"


def test_one_skill_is_told_by_measure_and_model(measured: Terminal) -> None:
    done = measured.run("lift", "add-a-migration")
    assert done.code == 0, done.err
    for word in ("success", "steps", "retries", "tokens", "model gpt-5.5", "model claude", "without"):
        assert word in done.out


def test_programs_get_one_document(measured: Terminal) -> None:
    done = measured.run("lift", "add-a-migration", "--model", "claude", "--json")
    (skill,) = done.json["skills"]
    assert skill["known"]
    assert set(skill["differences"]) == {"success", "steps", "retries", "tokens"}
    assert skill["differences"]["steps"]["high"] < 0
    assert skill["shown"] + skill["held_back"] == 40
    assert set(skill["models"]) == {"claude", "gpt-5.5"}


def test_a_mistake_is_told_with_a_next_step(measured: Terminal) -> None:
    done = measured.run("lift", "nobody")
    assert done.code == 2
    assert "next:" in done.err


def test_a_control_is_recalled_recorded_and_measured_from_the_command_line(terminal: Terminal) -> None:
    (terminal.home / ".tacit").mkdir(exist_ok=True)
    (terminal.home / ".tacit" / "tacit.toml").write_text("[policy]\nhold_out = 0.5\n", encoding="utf-8")
    database = terminal.project / ".tacit" / "tacit.db"
    fill(database, PROCEDURE)
    arms: set[bool] = set()
    while len(arms) < 2:
        answer = terminal.run("recall", TASK, "--json").json
        arms.add(answer["abstained"])
        assert answer["use_id"]
        if answer["abstained"]:
            assert answer["left_out"][0]["code"] == "held_back"
        assert terminal.run("record", answer["use_id"], "--outcome", "success").code == 0
    with Tacit(open_store(database), config=Config(policy=Policy()), scope=Scope(Level.PROJECT, "")) as loop:
        (found,) = loop.context.store.evidence([loop.version("add-a-migration").version.id]).values()
    assert {row.control for row in found} == {True, False}
    assert {row.share for row in found} == {0.5}


@pytest.mark.parametrize("out", [True, False])
def test_a_hook_keeps_a_skill_from_the_sessions_that_drew_the_lot(terminal: Terminal, out: bool) -> None:
    (terminal.home / ".tacit").mkdir(exist_ok=True)
    (terminal.home / ".tacit" / "tacit.toml").write_text("[policy]\nhold_out = 0.5\n", encoding="utf-8")
    database = terminal.project / ".tacit" / "tacit.db"
    fill(database, PROCEDURE)
    with Tacit(open_store(database)) as loop:
        stored = loop.version("add-a-migration")
    session = next(
        name for name in (f"{SESSION}{n}" for n in range(99)) if is_held_back(name, stored.skill.id, 0.5) is out
    )
    event = claude("UserPromptSubmit", prompt=TASK) | {"session_id": session, "cwd": str(terminal.project)}
    done = terminal.run("hook", stdin=json.dumps(event))
    assert (done.code, done.err) == (0, "")
    assert ("makemigration" in done.out) is not out
    (journal,) = (database.parent / "sessions").glob("*.jsonl")
    (line,) = (json.loads(line) for line in journal.read_text().splitlines())
    assert line["control" if out else "lots"] == [[stored.version.id, 0.5]]
