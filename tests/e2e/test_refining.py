"""`tacit refine` as people and agents use it: friction by step, the next version with its evidence, and what got worse."""

from __future__ import annotations

import pytest

from tacit.api import Tacit
from tacit.domain.scope import Level, Scope
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.store import open_store
from tests.e2e.conftest import Terminal
from tests.unit.maintain.test_revision import SKILL, Clock, approve, child_of, moved, ok, poisoned, run

NAME = SKILL.name


class Library:
    """A project's store, opened for a moment to put runs into it as hooks and readers would."""

    def __init__(self, terminal: Terminal) -> None:
        folder = terminal.project / ".tacit"
        folder.mkdir(exist_ok=True)
        self._path, self._clock = folder / "tacit.db", Clock()

    def __enter__(self) -> Tacit:
        self._loop = Tacit(open_store(self._path), scope=Scope(Level.PROJECT, "shop"), clock=self._clock)
        return self._loop

    def __exit__(self, *_: object) -> None:
        self._loop.close()


@pytest.fixture
def library(terminal: Terminal) -> Library:
    return Library(terminal)


@pytest.fixture
def skill(library: Library) -> StoredVersion:
    with library as loop:
        made = approve(loop, loop.propose(SKILL, by="ann", origin=Origin.USER).version_id)
        for session in ("spring", "autumn"):
            run(loop, made, session, *moved(session))
    return made


def test_friction_is_shown_by_step_with_the_next_version_and_changes_nothing(
    terminal: Terminal, skill: StoredVersion
) -> None:
    before = terminal.run("review", "--json").json
    listed = terminal.run("refine")
    assert listed.code == 0, listed.err
    assert NAME in listed.out
    assert "can be proposed" in listed.out
    shown = terminal.run("refine", NAME)
    assert shown.code == 0, shown.err
    assert "missing file ×2" in shown.out
    assert "step 2" in shown.out
    assert "+" in shown.out
    assert "cp site/handbook.pdf out/{edition}.pdf" in shown.out
    assert "shown by t_" in shown.out
    assert terminal.run("review", "--json").json == before


def test_a_program_gets_one_document_with_every_ground(terminal: Terminal, skill: StoredVersion) -> None:
    [told] = terminal.run("refine", "--json").json["skills"]
    assert (told["uses"], told["friction"], told["friction_per_use"]) == (2, 2, 1.0)
    assert told["by_step"] == {"1": {"missing_file": 2}}
    assert len(told["revision"]["trajectory_ids"]) == 2
    assert told["revision"]["grounding"]["steps.1"]
    assert "+" in told["revision"]["diff"]
    assert told["proposed"] is None


def test_an_agent_may_propose_and_only_a_person_approves(terminal: Terminal, skill: StoredVersion) -> None:
    terminal.variables["CLAUDECODE"] = "1"
    [told] = terminal.run("refine", NAME, "--propose", "--json").json["skills"]
    assert told["proposed"]["decision"] == "hold"
    version = told["proposed"]["version_id"]
    assert terminal.type("review", version, "--approve", "--by", "ann").code == 3
    again = terminal.run("refine", NAME, "--propose", "--json").json["skills"][0]
    assert again["proposed"] is None
    assert again["waiting"] == version
    assert "Nothing to propose" in terminal.run("refine", "--propose").out


def test_a_reviewer_sees_the_diff_and_the_runs_behind_it(terminal: Terminal, skill: StoredVersion) -> None:
    terminal.run("refine", NAME, "--propose")
    page = terminal.run("review", NAME)
    assert page.code == 0, page.err
    assert "A new version of" in page.out
    assert "Based on 2 runs" in page.out
    assert "build/handbook.pdf" in page.out
    assert "site/handbook.pdf" in page.out
    told = terminal.run("review", NAME, "--json").json
    assert told["comparison"]["parent"] == skill.version.id
    assert told["comparison"]["regressions"] == []


def test_a_version_that_fails_what_its_parent_solved_is_shown_with_the_way_back(
    terminal: Terminal, library: Library, skill: StoredVersion
) -> None:
    task = "Publish the handbook for Northwind"
    with library as loop:
        run(loop, skill, "zero", *moved("northwind"), task=task)
        child = approve(loop, child_of(loop, skill).version.id)
        new = [ok("make docs"), ok("cp site/handbook.pdf out/northwind.pdf"), ok("make test", "ok")]
        run(loop, child, "later", *new, task=task, result="failure")
    shown = terminal.run("refine", NAME)
    assert "Regression:" in shown.out
    assert f"tacit undo {skill.version.id[:10]} --to" in shown.out
    [told] = terminal.run("refine", "--json").json["skills"]
    assert len(told["comparison"]["regressions"]) == 1


def test_what_came_from_a_tools_output_is_named_before_it_is_proposed(terminal: Terminal, library: Library) -> None:
    with library as loop:
        made = approve(loop, loop.propose(SKILL, by="ann", origin=Origin.USER).version_id)
        for session in ("spring", "autumn"):
            run(loop, made, session, *poisoned(session))
    shown = terminal.run("refine", NAME)
    assert "From outside:" in shown.out


def test_a_name_that_is_not_there_gets_a_clear_answer_and_an_empty_library_too(
    terminal: Terminal, skill: StoredVersion
) -> None:
    assert terminal.run("refine", "no-such-skill").code == 2
    assert "No next version" not in terminal.run("refine", NAME).out


def test_without_anything_to_say_nothing_is_made_up(terminal: Terminal, library: Library) -> None:
    with library as loop:
        approve(loop, loop.propose(SKILL, by="ann", origin=Origin.USER).version_id)
    assert terminal.run("refine", "--json").json == {"skills": []}
    assert terminal.run("refine", NAME, "--json").json["skills"][0]["friction"] == 0
