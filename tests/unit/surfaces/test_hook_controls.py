"""Hold-outs at the hook: a session goes without a skill by lot, all session long, and the journal and its uses say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.config import channels
from tacit.domain.holdout import is_held_back
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.evidence.journal_uses import SessionTexts, fold_journals, uses_of
from tacit.ingest.journal import SessionPast, shares_in
from tacit.store import open_store
from tests.unit.surfaces.hook_events import SESSION, claude, claude_before, claude_failure
from tests.unit.surfaces.hooked_project import (
    CARD,
    LESSON,
    NORM,
    PROCEDURE,
    STALE,
    WARNING,
    Project,
    fill,
    make_project,
)

TASK = "Please add a migration that adds the column paid_at to the payments table"


def asked(hold_out: str, project: Project) -> None:
    folder = project.home / ".tacit"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tacit.toml").write_text(f"[policy]\nhold_out = {hold_out}\n", encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = make_project(tmp_path, NORM, PROCEDURE, LESSON)
    monkeypatch.setenv("HOME", str(made.home))  # the settings of a person are found by the account's home
    asked("0.5", made)
    return made


@pytest.fixture
def session(project: Project) -> Callable[[bool], str]:
    """Name a session that the lot keeps the procedure from, or gives it to."""
    with Tacit(open_store(project.database)) as loop:
        skill_id = loop.version(project.ids["add-a-migration"]).skill.id
    names = [f"{SESSION}{number}" for number in range(100)]
    return lambda out: next(name for name in names if is_held_back(name, skill_id, 0.5) is out)


def test_a_session_that_drew_the_lot_is_not_shown_the_skill(project, session):
    told = project.send(claude("UserPromptSubmit", prompt=TASK) | {"session_id": session(True)})
    assert "makemigration`" not in told
    (line,) = project.lines
    assert line["control"] == [[project.ids["add-a-migration"], 0.5]]
    assert project.ids["add-a-migration"] not in line.get("shown", [])
    assert "lots" not in line


def test_a_session_that_did_not_draw_it_is_shown_the_skill_with_the_chance_it_had(project, session):
    told = project.send(claude("UserPromptSubmit", prompt=TASK) | {"session_id": session(False)})
    assert PROCEDURE.steps[1].text in told
    (line,) = project.lines
    assert line["lots"] == [[project.ids["add-a-migration"], 0.5]]
    assert "control" not in line


def test_the_lot_holds_all_session_long_whatever_the_settings_become(project, session):
    out = {"session_id": session(True)}
    project.send(claude("UserPromptSubmit", prompt=TASK) | out)
    asked("0.0001", project)
    told = project.send(claude("UserPromptSubmit", prompt=f"{TASK}, and another one") | out)
    assert "makemigration`" not in told
    assert project.lines[-1]["control"] == [[project.ids["add-a-migration"], 0.5]]


def test_compaction_does_not_draw_again(project, session):
    out = {"session_id": session(True)}
    project.send(claude("UserPromptSubmit", prompt=TASK) | out)
    asked("0.0001", project)
    started = project.send(claude("SessionStart", source="compact") | out)
    assert "add-a-migration" not in started
    assert "makemigration`" not in project.send(claude("UserPromptSubmit", prompt=TASK) | out)


@pytest.mark.parametrize("out", [True, False])
def test_a_start_shows_rules_and_facts_in_every_session_and_draws_for_nothing(project, session, out):
    project.ids |= fill(project.database, CARD)
    told = project.send(claude("SessionStart", source="startup") | {"session_id": session(out)})
    assert PROCEDURE.name not in told
    (line,) = project.lines
    assert line["shown"] == [project.ids[NORM.name], project.ids[CARD.name]]
    assert not {"control", "lots"} & line.keys()


@pytest.mark.parametrize("out", [True, False])
def test_a_warning_before_a_call_comes_in_every_session(project, session, out):
    project.ids |= fill(project.database, WARNING)
    told = project.send(claude_before("pytest") | {"session_id": session(out)})
    assert WARNING.description in told
    (line,) = project.lines
    assert not {"control", "lots"} & line.keys()


def test_an_error_is_answered_in_every_session(project, session):
    for out in (True, False):
        told = project.send(claude_failure("make db", STALE) | {"session_id": session(out)})
        assert LESSON.body in told


def test_nothing_is_drawn_where_nobody_asked_for_it(project):
    (project.home / ".tacit" / "tacit.toml").unlink()
    for number in range(10):
        told = project.send(claude("UserPromptSubmit", prompt=TASK) | {"session_id": f"{SESSION}{number}"})
        assert PROCEDURE.steps[1].text in told
    journals = (project.folder / ".tacit" / "sessions").glob("*.jsonl")
    assert not any(word in path.read_text() for path in journals for word in ('"control"', '"lots"'))


def test_procedures_in_the_clients_own_folder_are_not_drawn_for(project, session):
    channels.choose(str(project.folder / ".tacit"), "claude-code", channels.SKILL)
    project.send(claude("UserPromptSubmit", prompt=TASK) | {"session_id": session(True)})
    (line,) = project.lines
    assert "control" not in line


@pytest.mark.parametrize("out", [True, False])
def test_the_learner_makes_a_use_of_either_arm(project, session, out):
    project.send(claude("UserPromptSubmit", prompt=TASK) | {"session_id": session(out)})
    with Tacit(open_store(project.database)) as loop:
        fold_journals(loop.context, project.folder / ".tacit" / "sessions")
        (use,) = loop.context.store.uses(version_id=project.ids["add-a-migration"])
    assert use.held_back is out
    assert dict(zip(use.version_ids, use.shares, strict=True))[project.ids["add-a-migration"]] == 0.5
    assert (use.session_id, use.surface) == (session(out), "hook")


MODELS = SkillContent(
    kind=Kind.PROCEDURE,
    name="regenerate-the-models",
    description="Regenerate the models after a column was added to a table.",
    steps=(SkillStep(text="Run `make models`"),),
)
BOTH = "Please add a database migration with a column of a table, then regenerate the models after the column was added"


@pytest.fixture
def composed(project: Project) -> dict[str, str]:
    """A composite of two procedures beside its parts."""
    project.ids |= fill(project.database, MODELS)
    with Tacit(open_store(project.database), scope=Scope(Level.PROJECT, "")) as loop:
        parts = ["add-a-migration", "regenerate-the-models"]
        told = "Add a database migration with a column of a table, then regenerate the models"
        made = loop.library.compose("add-a-column", parts, by="ann", description=told, origin=Origin.USER)
        loop.review(made.version_id, "approve", by="ann")
        project.ids["add-a-column"] = made.version_id
        project.ids["skill"] = loop.version("add-a-column").skill.id
    return project.ids


def of_the_composite(ids: dict[str, str], *, out: bool) -> dict[str, str]:
    names = (f"{SESSION}{number}" for number in range(1000))
    return {"session_id": next(name for name in names if is_held_back(name, ids["skill"], 0.5) is out)}


WHOLE = ("add-a-column", "add-a-migration", "regenerate-the-models")


def test_a_composite_that_a_session_goes_without_takes_its_parts_with_it(project, composed):
    told = project.send(claude("UserPromptSubmit", prompt=BOTH) | of_the_composite(composed, out=True))
    assert "makemigration`" not in told
    assert "make models" not in told
    (line,) = project.lines
    assert sorted(line["control"]) == sorted([composed[name], 0.5] for name in WHOLE)


def test_a_composite_says_its_steps_once_and_draws_for_its_parts(project, composed):
    told = project.send(claude("UserPromptSubmit", prompt=BOTH) | of_the_composite(composed, out=False))
    assert told.count("makemigration`") == 1
    assert told.count("`make models`") == 1
    (line,) = project.lines
    assert sorted(line["lots"]) == sorted([composed[name], 0.5] for name in WHOLE)
    assert set(line["shown"]) == {composed[name] for name in WHOLE}


def test_an_answer_that_was_lost_leaves_its_controls(project, session):
    project.send(claude("UserPromptSubmit", prompt=TASK) | {"session_id": session(True)})
    (path,) = (project.folder / ".tacit" / "sessions").glob("*.jsonl")
    (line,) = project.lines
    lost = path.read_bytes() + b'{"moment":"lost","lost":%r}\n' % line["at"]
    assert [use.held_back for use in uses_of(path.name, lost, SessionTexts())] == [True]


@pytest.mark.parametrize("damage", [None, "v", [["v"]], [["v", 2.0]], [["v", "0.5"]], [[1, 0.5]], {"v": 0.5}, [None]])
def test_a_damaged_line_tells_of_no_control(damage):
    assert shares_in(damage) == {}
    past = SessionPast()
    past.add({"control": damage})
    assert past.controls == {}
