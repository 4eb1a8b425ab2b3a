"""`tacit recall --as-hook` shows what the prompt hook shows, and explains it."""

from __future__ import annotations

import pytest

from tacit.api import Tacit
from tacit.domain.reason_code import ReasonCode
from tacit.store import open_store
from tacit.surfaces.hook.preview import preview
from tests.unit.surfaces.hook_events import claude
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, Project, make_project

TASK = "Please add a migration that adds the column paid_at to the payments table"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    made = make_project(tmp_path, NORM, PROCEDURE, LESSON)
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


def test_a_preview_stores_nothing(project):
    with Tacit(open_store(project.database)) as memory:
        preview(memory, TASK)
        assert memory.context.store.uses() == []
    assert not (project.folder / ".tacit" / "sessions").exists()
