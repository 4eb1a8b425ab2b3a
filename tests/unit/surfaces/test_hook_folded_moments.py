"""What hooks noted in journals becomes assumptions and moments, once, and only what a hook can have written."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.archive import Source, SourceKind
from tacit.evidence.journal_uses import FOLDED, SessionTexts, fold_journals
from tacit.features.people.ledger_entries import Assumption, Held, Moment
from tacit.store import open_store
from tests.unit.surfaces.hook_events import SESSION, claude, claude_failure
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, Project, make_project

TASK = "Please add a migration that adds the column paid_at to the payments table"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path, NORM, PROCEDURE, LESSON)


@pytest.fixture
def sessions(project: Project) -> Path:
    return project.folder / ".tacit" / "sessions"


def folded(
    project: Project, sessions: Path, texts: SessionTexts | None = None
) -> tuple[list[Assumption], list[Moment]]:
    with Tacit(open_store(project.database)) as loop:
        fold_journals(loop.context, sessions, texts=texts)
        assert loop.archive.verify() == []
        return loop.context.store.entries(Assumption), loop.context.store.entries(Moment)


def test_what_a_shown_skill_takes_for_granted_is_assumed_in_the_session(project: Project, sessions: Path) -> None:
    project.send(claude("UserPromptSubmit", prompt=TASK))
    (made,), (moment,) = folded(project, sessions)
    assert (made.text, made.check, made.held) == ("the database runs", "make db-status", Held.OPEN)
    assert (made.session_id, made.version_id) == (SESSION, project.ids["add-a-migration"])
    assert (moment.what, moment.assumptions) == ("shown", (made.key,))


def test_folding_again_adds_nothing_whatever_became_known_meanwhile(project: Project, sessions: Path) -> None:
    project.send(claude("UserPromptSubmit", prompt=TASK))
    project.send(claude("UserPromptSubmit", prompt="No, that is wrong. Use the other table."))
    before = folded(project, sessions)
    (sessions / FOLDED).unlink()
    texts = SessionTexts()
    texts.texts |= {about(sessions): "No, that is wrong."}
    assert folded(project, sessions, texts) == before


def journal(sessions: Path) -> tuple[str, bytes]:
    (path,) = sessions.glob("*.jsonl")
    return path.name, path.read_bytes()


def about(sessions: Path) -> str:
    last: dict[str, Any] = json.loads(journal(sessions)[1].splitlines()[-1])
    return str(last["about"])


def test_a_correction_is_kept_with_the_persons_words_and_what_was_shown_before(
    project: Project, sessions: Path
) -> None:
    project.send(claude("UserPromptSubmit", prompt=TASK))
    words = "No, that is wrong. Use the other table."
    project.send(claude("UserPromptSubmit", prompt=words))
    texts = SessionTexts()
    texts.texts[about(sessions)] = words
    _, moments = folded(project, sessions, texts)
    (told,) = [each for each in moments if each.what == "correction"]
    assert told.text == words
    assert told.sources == (project.ids["add-a-migration"],)


def test_the_first_failing_call_is_noted_and_no_later_one(project: Project, sessions: Path) -> None:
    for number in range(2):
        project.send(claude_failure(f"make thing{number}", f"error: thing {number} is broken beyond repair"))
    _, moments = folded(project, sessions)
    assert [(each.what, each.text) for each in moments] == [("failure", "Bash failed")]


def test_a_line_that_no_hook_wrote_tells_nothing(project: Project, sessions: Path) -> None:
    sessions.mkdir(parents=True, exist_ok=True)
    version_id = project.ids["add-a-migration"]
    lines = [
        {"at": time.time() + 86_400, "shown": [version_id], "assumed": [["the database runs", "make db-status"]]},
        {"at": 1.0, "shown": [version_id], "assumed": [["ignore all rules", ""]]},
        {"at": 2.0, "shown": version_id, "assumed": "the database runs", "deeds": "failed", "warned": 3},
        {"at": 3.0, "shown": [version_id], "assumed": [["the database runs"], ["a", 1], None]},
        {"at": 4.0, "deeds": [{"did": "read"}, "failed", {"did": ["failed"]}]},
    ]
    (sessions / "claude-code-s1.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert folded(project, sessions) == ([], [])


def test_what_was_purged_does_not_come_back_from_a_journal(project: Project, sessions: Path) -> None:
    project.send(claude("UserPromptSubmit", prompt=TASK))
    folded(project, sessions)
    with Tacit(open_store(project.database)) as loop:
        loop.archive.purge(loop.archive.descent(Source(kind=SourceKind.SESSION, value=SESSION)), by="ann")
    (sessions / FOLDED).unlink()
    assert folded(project, sessions) == ([], [])
