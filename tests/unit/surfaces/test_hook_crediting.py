"""From hook to evidence: what a session was shown, what its transcript then did, and whom the learner credits for it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.location import HookEnvironment
from tacit.domain.evidence import Following, Grade, Outcome
from tacit.domain.skill import Kind, SkillContent
from tacit.evidence.journal_uses import SessionTexts, uses_of
from tacit.ingest.journal import digest
from tacit.store import open_store
from tacit.surfaces.hook import learner, learner_requests
from tacit.surfaces.hook.events import find, parse
from tests.unit.surfaces.hook_events import SESSION, claude, claude_before, claude_failure, stdin
from tests.unit.surfaces.hooked_project import LESSON, NORM, PROCEDURE, STALE, WARNING, fill, make_project

TASK = "Please add a migration that adds the column paid_at to the payments table"
STYLE = SkillContent(
    kind=Kind.PROCEDURE,
    name="greeting-style",
    description="Add a migration to a payments table in the style of this house.",
    body="Be brief.",
)
SYNC, MAKE, TEST = "python manage.py sync", "python manage.py makemigration", "pytest -q"


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("TACIT_", "CLAUDE", "CODEX")):
            monkeypatch.delenv(name)
    made = make_project(tmp_path, NORM, PROCEDURE, LESSON, STYLE)
    monkeypatch.setenv("HOME", str(made.home))
    return made


class Transcript:
    """A transcript of the session as Claude Code writes it, dated by the project's clock."""

    def __init__(self, project) -> None:
        self._project = project
        self._records: list[dict[str, Any]] = []
        self.path = project.folder.parent / f"{SESSION}.jsonl"

    def _add(self, kind: str, message: dict[str, Any], **more) -> None:
        number = len(self._records)
        when = datetime.fromtimestamp(self._project.clock(), UTC).isoformat().replace("+00:00", "Z")
        common = {"type": kind, "uuid": f"u{number}", "parentUuid": None, "isSidechain": False, "sessionId": SESSION}
        common |= {"timestamp": when, "cwd": str(self._project.folder), "gitBranch": "main", "version": "2.1.0"}
        self._records.append({**common, "message": message, **more})

    def asks(self, text: str) -> None:
        self._add("user", {"role": "user", "content": text})

    def runs(self, command: str, output: str = "done", *, failed: bool = False, skill: str = "") -> None:
        call = f"toolu_{len(self._records)}"
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        own = {"attributionSkill": skill} if skill else {}
        usage = {"input_tokens": 100, "output_tokens": 10}
        self._add("assistant", {"id": f"msg_{call}", "model": "claude-x", "content": [block], "usage": usage}, **own)
        answer = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
        self._add("user", {"role": "user", "content": [answer]})

    def learned(self) -> dict[str, list[Any]]:
        """Hand the transcript to the learner; the evidence by the names of skills."""
        self.path.write_text("".join(f"{json.dumps(record)}\n" for record in self._records))
        event = claude("Stop", transcript_path=str(self.path)) | {"cwd": str(self._project.folder)}
        context = find(parse(stdin(event)), HookEnvironment({"HOME": str(self._project.home)}))
        assert context is not None
        learner_requests.request(parse(stdin(event)), context)
        learner.run({"--cwd": str(self._project.folder)}, home=str(self._project.home / ".tacit"))
        with Tacit(open_store(self._project.database)) as loop:
            assert loop.archive.verify() == []
            found = loop.context.store.evidence(self._project.ids.values())
            return {name: found[version_id] for name, version_id in self._project.ids.items()}


@pytest.fixture
def transcript(project):
    return Transcript(project)


def test_a_skill_that_was_shown_and_followed_is_credited_once(project, transcript):
    assert "add-a-migration" in project.send(claude("UserPromptSubmit", prompt=TASK))
    transcript.asks(TASK)
    for command in (SYNC, MAKE):
        transcript.runs(command)
    transcript.runs(TEST, "3 passed in 0.10s")
    (made,) = transcript.learned()["add-a-migration"]
    assert (made.outcome, made.grade, made.following) == (Outcome.SUCCESS, Grade.MACHINE, Following.FOLLOWED)
    assert (made.model, made.effort.steps, made.effort.tokens) == ("claude-x", 3, 330)
    assert made.task.startswith("q_")
    assert transcript.learned()["add-a-migration"] == [made], "asked again, it adds nothing"


def test_what_was_shown_and_not_followed_gets_no_credit(project, transcript):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    transcript.asks(TASK)
    transcript.runs("touch migrations/paid_at.sql")
    transcript.runs(TEST, "3 passed in 0.10s")
    (made,) = transcript.learned()["add-a-migration"]
    assert (made.outcome, made.following, made.adherence) == (Outcome.SUCCESS, Following.IGNORED, 0.0)


def test_a_session_without_a_verified_outcome_gives_no_evidence(project, transcript):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    transcript.asks(TASK)
    for command in (SYNC, MAKE):
        transcript.runs(command)
    assert transcript.learned()["add-a-migration"] == []


def test_a_lesson_that_was_shown_at_its_error_is_credited_for_the_fix(project, transcript):
    transcript.asks("Make the schema fit the models")
    transcript.runs(MAKE, f"Exit code 1\n{STALE}", failed=True)
    assert LESSON.body in project.send(claude_failure(MAKE, f"Exit code 1\n{STALE}"))
    for command in (SYNC, MAKE):
        transcript.runs(command)
    transcript.runs(TEST, "3 passed in 0.10s")
    (made,) = transcript.learned()["sync-before-makemigration"]
    assert (made.following, made.outcome) == (Following.FOLLOWED, Outcome.SUCCESS)


def test_a_lesson_that_was_shown_before_a_call_is_credited_for_it(project, transcript):
    project.ids |= fill(project.database, WARNING)
    transcript.asks("Run the tests")
    assert WARNING.description in project.send(claude_before("pytest -q"))
    transcript.runs("uv run pytest -q", "3 passed in 0.10s")
    (made,) = transcript.learned()[WARNING.name]
    assert (made.following, made.outcome) == (Following.FOLLOWED, Outcome.SUCCESS)


def test_the_clients_own_attribution_credits_a_skill_of_prose(project, transcript):
    assert "greeting-style" in project.send(claude("UserPromptSubmit", prompt=TASK))
    transcript.asks(TASK)
    transcript.runs("make schema", skill="greeting-style")
    transcript.runs(TEST, "3 passed in 0.10s")
    (made,) = transcript.learned()["greeting-style"]
    assert made.following is Following.FOLLOWED


def test_without_the_clients_word_a_skill_of_prose_gets_no_evidence(project, transcript):
    project.send(claude("UserPromptSubmit", prompt=TASK))
    transcript.asks(TASK)
    transcript.runs("make schema")
    transcript.runs(TEST, "3 passed in 0.10s")
    assert transcript.learned()["greeting-style"] == []


def line(**fields) -> bytes:
    return json.dumps({"at": 7.5, "moment": "prompt", "about": digest(TASK), **fields}).encode()


def test_lots_become_shares_and_what_was_withheld_a_control():
    data = line(shown=["v_1", "v_2"], lots=[["v_2", 0.2]], control=[["v_3", 0.4]], held=["v_4"], skipped=["v_5"])
    shown, control, held, before = uses_of("claude-code-s1.jsonl", data, SessionTexts("project:shop"))
    assert (shown.version_ids, shown.shares, shown.held_back) == (("v_1", "v_2"), (0.0, 0.2), False)
    assert (control.version_ids, control.shares, control.held_back) == (("v_3",), (0.4,), True)
    assert (held.shares, held.held_back) == ((), True)
    assert (before.shares, before.surface, before.scope) == ((), "hook, shown before", "project:shop")
    assert len({use.id for use in (shown, control, held, before)}) == 4


@pytest.mark.parametrize(
    "odd", [7, "v", [7], [["v"]], [[7, 0.5]], [["v", "x"]], [["v", 0]], [["v", 1.0]], [["v", True]]]
)
def test_odd_lots_are_as_good_as_none(odd):
    (shown,) = uses_of("claude-code-s1.jsonl", line(shown=["v"], lots=odd, control=odd), SessionTexts())
    assert (shown.shares, shown.held_back) == ((), False)


def test_what_a_subagent_was_shown_is_its_own_sessions():
    (use,) = uses_of("claude-code-s1.jsonl", line(shown=["v"], agent="a7"), SessionTexts())
    assert use.session_id == "a7"


def test_an_overlay_that_came_with_its_skill_earns_evidence_of_its_own(project, transcript):
    overlay = SkillContent(
        kind=Kind.PROCEDURE,
        name="sync-first",
        description="Sync before a migration is made.",
        steps=PROCEDURE.steps,
        extends="migrate",
    )
    project.ids |= fill(project.database, overlay)
    call: dict[str, Any] = {
        "tool_name": "Skill",
        "tool_input": {"skill": "migrate"},
        "tool_response": {"success": True},
    }
    transcript.asks("Go on with it, please")
    assert "sync-first" in project.send(claude("PostToolUse", tool_use_id="toolu_9", **call))
    for command in (SYNC, MAKE):
        transcript.runs(command)
    transcript.runs(TEST, "3 passed in 0.10s")
    (made,) = transcript.learned()["sync-first"]
    assert (made.outcome, made.following, bool(made.use_id)) == (Outcome.SUCCESS, Following.FOLLOWED, True)
