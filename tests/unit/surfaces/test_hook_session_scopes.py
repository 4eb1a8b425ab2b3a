"""What is kept for a running session reaches its agents by hooks: its skills, and what its other agents share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.domain.scope import Level, Scope
from tacit.domain.trajectory import Origin
from tacit.features.sessions.working_memory import LASTS, WorkingMemory
from tacit.store import open_store
from tacit.surfaces.hook.event_handlers import MAX_NOTE_CHARACTERS, MAX_NOTES_SHOWN
from tests.unit.surfaces.hook_events import SESSION, claude, claude_failure, claude_shell
from tests.unit.surfaces.hooked_project import LESSON, NORM, STALE, Project, make_project

NOTE = "The staging host answers on port 8443 only."


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def share(
    project: Project, text: str = NOTE, *, session: str = SESSION, origin: Origin = Origin.AGENT, error: str = ""
) -> None:
    with Tacit(open_store(project.database), clock=lambda: datetime.fromtimestamp(project.now, UTC)) as memory:
        WorkingMemory(memory, session).contribute(text, origin=origin, error=error)


def keep(project: Project, content, scope: Scope) -> None:
    with Tacit(open_store(project.database), scope=Scope(Level.PROJECT, "")) as memory:
        verdict = memory.propose(content, by="ann", scope=scope)
        memory.review(verdict.version_id, "approve", by="ann")


def test_what_one_agent_shares_reaches_each_other_agent_once(project: Project) -> None:
    assert project.send(claude_shell("ls", agent_id="second")) == ""
    share(project)
    told = [project.send(claude_shell("ls", agent_id=agent)) for agent in ("second", "", "second", "")]
    assert [NOTE in each for each in told] == [True, True, False, False]


def test_a_prompt_and_a_start_bring_what_was_shared_too(project: Project) -> None:
    share(project)
    assert NOTE in project.send(claude("UserPromptSubmit", prompt="What next?"))
    assert NOTE not in project.send(claude("UserPromptSubmit", prompt="And then?"))
    assert NOTE in project.send(claude("SessionStart", source="compact")), "the agent sees nothing of it any more"


def test_an_agent_is_not_told_what_it_has_just_shared(project: Project) -> None:
    share(project)
    assert project.send(claude_shell(f"tacit session note '{NOTE}'", agent_id="first")) == ""
    assert NOTE in project.send(claude_shell("ls", agent_id="second"))
    share(project, "It's slow today.")
    assert project.send(claude_shell(r"tacit session note 'It'\''s slow today.'", agent_id="first")) == ""


def test_the_error_that_a_note_fixes_is_not_pushed_since_a_tool_printed_it(project: Project) -> None:
    share(project, error=STALE)
    told = project.send(claude_shell("ls"))
    assert NOTE in told
    assert "revision chain" not in told


def test_neither_another_session_nor_outside_text_nor_an_expired_note_is_pushed(project: Project) -> None:
    share(project, session="another")
    share(project, origin=Origin.EXTERNAL)
    assert project.send(claude_shell("ls")) == ""
    share(project, "The port is closed again.")
    project.now += LASTS.total_seconds() + 1
    assert project.send(claude_shell("ls")) == ""


def test_many_and_long_notes_are_cut(project: Project) -> None:
    for number in range(MAX_NOTES_SHOWN + 3):
        share(project, f"Finding {number}: " + "word " * 300)
    lines = [line for line in project.send(claude_shell("ls")).splitlines() if "Finding" in line]
    assert [line.split()[2] for line in lines] == [f"{number}:" for number in range(3, MAX_NOTES_SHOWN + 3)]
    assert max(map(len, lines)) <= MAX_NOTE_CHARACTERS + 2


@pytest.mark.parametrize(
    ("scope", "reached"),
    [
        (Scope(Level.SESSION, SESSION), True),
        (Scope(Level.TEAM, SESSION), True),
        (Scope(Level.TEAM, f"{SESSION}/reviewers"), True),
        (Scope(Level.SESSION, "another"), False),
        (Scope(Level.TEAM, "another/reviewers"), False),
    ],
)
def test_skills_of_a_session_and_its_teams_reach_its_agents_alone(
    project: Project, scope: Scope, reached: bool
) -> None:
    keep(project, NORM, scope)
    keep(project, LESSON, scope)
    assert (NORM.description in project.send(claude("SessionStart", source="startup"))) is reached
    failed = project.send(claude_failure("python manage.py makemigration", f"Exit code 1\n{STALE}"))
    assert ("manage.py sync" in failed) is reached
    with Tacit(open_store(project.database), scope=Scope(Level.PROJECT, "")) as memory:
        found = memory.recall("makemigration fails", state={"error": STALE}, session=SESSION, keep=False)
        assert (LESSON.name in [item.name for item in found.items]) is reached
        assert memory.recall("makemigration fails", state={"error": STALE}, keep=False).abstained
