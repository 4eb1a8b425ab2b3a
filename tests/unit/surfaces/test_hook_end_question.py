"""The question at the end of a session: only where the setting wants it, after some work, once, and never in a loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.location import HookEnvironment
from tacit.config.settings import load_config
from tacit.evidence.journal_uses import fold_journals
from tacit.ingest import journal as journals
from tacit.store import open_store
from tacit.surfaces.hook.end_question import MIN_CALLS, ask
from tacit.surfaces.hook.events import EventContext, find, parse
from tests.unit.surfaces.hook_events import claude, claude_shell, codex, stdin
from tests.unit.surfaces.hooked_project import NORM, Project, make_project

STOP = claude("Stop", stop_hook_active=False, last_assistant_message="Done.")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = make_project(tmp_path, NORM)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("TACIT_HOME", raising=False)
    return made


def settings(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tacit.toml").write_text(text, encoding="utf-8")


def work(project: Project, calls: int = MIN_CALLS) -> None:
    for number in range(calls):
        project.send(claude_shell(f"make part-{number}"))


def context_of(project: Project, event: dict[str, Any]) -> EventContext:
    context = find(parse(stdin(event)), HookEnvironment({"HOME": str(project.home)}))
    assert context is not None
    return context


def stop(project: Project, event: dict[str, Any] = STOP) -> dict[str, Any] | None:
    """What the hook answers to an agent that stops."""
    here = event | {"cwd": str(project.folder)}
    said: list[str] = []
    ask(parse(stdin(here)), context_of(project, here), say=said.append, clock=project.clock)
    return json.loads(said[0]) if said else None


def test_a_session_with_some_work_is_held_back_once(project: Project) -> None:
    work(project)
    answer = stop(project)
    assert answer is not None
    assert answer["decision"] == "block"
    assert "propose" in answer["reason"]
    assert set(answer) == {"decision", "reason"}
    work(project)
    assert stop(project) is None
    assert [line["moment"] for line in project.lines].count("ask") == 1


@pytest.mark.parametrize(
    "event",
    [
        STOP | {"stop_hook_active": True},
        claude("SubagentStop", stop_hook_active=False, agent_id="a1"),
        STOP | {"agent_id": "a1"},
        claude("SessionEnd"),
        claude("PreCompact"),
        codex("Stop", stop_hook_active=False),
    ],
)
def test_nobody_else_is_asked(project: Project, event: dict[str, Any]) -> None:
    work(project)
    assert stop(project, event) is None


def test_a_session_with_little_work_is_not_asked(project: Project) -> None:
    work(project, MIN_CALLS - 1)
    assert stop(project) is None
    work(project, 1)
    assert stop(project) is not None


def test_a_session_whose_journal_is_full_is_not_asked(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    work(project)
    monkeypatch.setattr(journals, "FULL_BYTES", 100)
    assert stop(project) is None


def test_it_is_off_unless_a_file_turns_it_on(project: Project) -> None:
    event = STOP | {"cwd": str(project.folder)}
    assert load_config()[0].learn.ask_at_end is False
    assert not context_of(project, event).ask_at_end
    settings(project.home / ".tacit", "[learn]\nask_at_end = true\n")
    assert context_of(project, event).ask_at_end
    settings(project.folder, "[learn]\nask_at_end = false\n")
    assert not context_of(project, event).ask_at_end


def test_the_line_in_the_journal_disturbs_no_reader(project: Project) -> None:
    work(project)
    assert stop(project) is not None
    with Tacit(open_store(project.database)) as memory:
        fold_journals(memory.context)
