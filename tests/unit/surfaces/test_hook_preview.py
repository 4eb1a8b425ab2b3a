"""`tacit recall --as-hook` shows what the prompt hook shows, and explains it."""

from __future__ import annotations

import time

import pytest

from tacit.api import Tacit
from tacit.domain.reach import CARD
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.store import open_store
from tacit.surfaces.hook.events import MAX_CHARACTERS
from tacit.surfaces.hook.preview import preview
from tests.unit.surfaces.hook_events import claude
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, Project, make_project

QUOTES = '"' * 60
"""In JSON an answer has more characters than its text."""
TASK = "Please add a migration that adds the column paid_at to the payments table"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    return here(make_project(tmp_path, NORM, PROCEDURE, LESSON), monkeypatch)


def here(made: Project, monkeypatch) -> Project:
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("TACIT_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.chdir(made.folder)
    return made


def test_a_preview_gives_what_the_hook_shows(project):
    shown = project.send(claude("UserPromptSubmit", prompt=TASK))
    with Tacit(open_store(project.database)) as memory:
        selection = preview(memory, TASK)
    assert [item.version_id for item in selection.items] == project.lines[0]["shown"]
    assert all(item.text in shown for item in selection.items)
    assert selection.code is None


def test_a_preview_explains_by_code_why_nothing_is_shown(project):
    with Tacit(open_store(project.database)) as memory:
        nothing = preview(memory, "zebra crossing")
        (project.folder / ".tacit" / "paused").write_text("")
        paused = preview(memory, TASK)
    assert (nothing.items, nothing.code) == ((), ReasonCode.NO_SHARED_WORDS)
    assert (paused.items, paused.code) == ((), ReasonCode.HOOK_OFF)


def test_hook_and_api_give_one_reason_why_the_project_card_is_not_given_for_a_task(tmp_path, monkeypatch):
    card = SkillContent(kind=Kind.FACT, name=CARD, description="Commands of this project.", body="- test: `make test`")
    made = here(make_project(tmp_path, card), monkeypatch)
    with Tacit(open_store(made.database)) as memory:
        for selection in (preview(memory, "run the tests"), memory.recall("run the tests")):
            assert (selection.items, selection.code) == ((), ReasonCode.NOT_USABLE_HERE)
            assert [(left.name, left.code) for left in selection.left_out] == [(CARD, ReasonCode.OTHER_MOMENT)]


def test_a_preview_stores_nothing(project):
    with Tacit(open_store(project.database)) as memory:
        preview(memory, TASK)
        assert memory.context.store.uses() == []
    assert not (project.folder / ".tacit" / "sessions").exists()


@pytest.mark.parametrize("scope", [None, Scope(Level.TEAM, "elsewhere")])
def test_a_preview_never_names_another_persons_preference(tmp_path, monkeypatch, scope):
    anothers = SkillContent(
        kind=Kind.PREFERENCE,
        name="bob-has-migraines",
        description="Add a migration only before noon: Bob adds a column to the payments table in the morning.",
        person="bob-who-works-elsewhere",
    )
    far = SkillContent(kind=Kind.PROCEDURE, name="press-releases", description="Announce a table of new prices.")
    project = here(make_project(tmp_path, far), monkeypatch)
    with Tacit(open_store(project.database), scope=Scope(Level.PROJECT, "")) as memory:
        memory.review(memory.propose(anothers, by="bob", scope=scope).version_id, "approve", by="ann")
        selection = preview(memory, TASK)
    assert (selection.items, selection.code) == ((), ReasonCode.BELOW_THRESHOLD)
    assert "press-releases" in selection.reason
    assert "bob" not in repr(selection)
    (masked,) = (left for left in selection.left_out if left.code is ReasonCode.OTHER_PERSON)
    assert (masked.name, dict(masked.signals)) == ("a preference", {})


def test_a_preview_leaves_out_what_the_answer_of_the_hook_has_no_room_for(tmp_path, monkeypatch):
    (tmp_path / "home" / ".tacit").mkdir(parents=True)
    (tmp_path / "home" / ".tacit" / "tacit.toml").write_text(
        "[recall]\nk = 40\nbudget_tokens = 9000\nmin_relevance = 0.05\n"
    )
    long = [
        SkillContent(
            kind=Kind.PROCEDURE,
            name=f"add-a-migration-{word}",
            description=f"Add a {word} migration that adds a column to a table.",
            steps=tuple(SkillStep(text=f"Run `{word} {number} {QUOTES}`") for number in range(4)),
        )
        for word in (
            "postgres sqlite oracle mysql mongo redis maria duck cassandra couch neo4j influx vertica teradata sybase"
            " firebird hbase hive presto trino druid"
        ).split()
    ]
    project = here(make_project(tmp_path, *long), monkeypatch)
    project.now = time.time()  # age counts in ranking, and a preview is made now
    shown = project.send(claude("UserPromptSubmit", prompt=TASK))
    with Tacit(open_store(project.database)) as memory:
        selection = preview(memory, TASK)
    assert [item.version_id for item in selection.items] == project.lines[0]["shown"]
    assert all(item.text in shown for item in selection.items)
    assert len(selection.text) <= MAX_CHARACTERS
    assert selection.items
    assert ReasonCode.OVER_BUDGET in {left.code for left in selection.left_out}
