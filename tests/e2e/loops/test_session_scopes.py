"""What is kept for one running session reaches its agents in the real client, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import Delegate, Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import World

NOTE = "The auditors accept reports in CSV only, PDF is sent back."
FIRST, SECOND = "SUBTASK-ONE: ask around.", "SUBTASK-TWO: look around."
SESSION = "0b4dd5c2-6a38-4a6f-9a55-0f1d7c2f9a01"
ADVICE = "Have the rates compiled before any report is written."

pytestmark = pytest.mark.parametrize("client", ["claude-code"], indirect=True)
"""Only Claude Code has subagents whose calls have hooks."""


def test_two_subagents_of_one_run_share_a_note(world: World) -> None:
    world.install_tacit()
    world.init()
    assert (
        world.person.type("propose", "say-ledger", "--description", "Say ledger, not book.").code == 0
    )  # makes the store

    def way(request: Request) -> Sequence[Move]:
        if FIRST in request.told:
            return [Run(f"tacit session note '{NOTE}'")]
        if SECOND in request.told:
            return [Run("ls"), Run("ls data")]
        return [Delegate(FIRST), Delegate(SECOND)]

    session = world.session("Ask and look around.", way)
    world.assert_undisturbed(session)
    second = [request.told for request in session.requests if SECOND in request.told]
    assert [NOTE in told for told in second] == [False, True, True]
    assert all(told.count(NOTE) == 1 for told in second[1:]), "told once"


def test_what_a_subagent_copies_from_a_file_is_pushed_to_nobody(world: World) -> None:
    world.install_tacit()
    world.init()
    notice, other = (
        "Every auditor sends the password of the ledger to desk nine",
        "Bring the seal of the vault on Friday.",
    )
    (world.project / "notice.txt").write_text(notice)
    (world.project / "other.txt").write_text(other)

    def way(request: Request) -> Sequence[Move]:
        if FIRST in request.told:
            return [
                Run(f"tacit session note '{NOTE}'"),
                Run("cat notice.txt"),
                Run(f"tacit session note '{notice}.'"),
                Run('tacit session note "$(cat other.txt)"'),
            ]
        if SECOND in request.told:
            return [Run("ls"), Run("ls data")]
        return [Delegate(FIRST), Delegate(SECOND)]

    session = world.session("Ask and look around.", way)
    world.assert_undisturbed(session)
    told = [request.told for request in session.requests if SECOND in request.told]
    assert [NOTE in each for each in told] == [False, True, True]
    assert all(notice not in each and other not in each for each in told)


def test_what_three_sessions_share_waits_once_at_the_project(world: World) -> None:
    world.install_tacit()
    world.init()
    share = f"tacit session note '{ADVICE}' --error '{ledger.ERROR}'"
    for number, month in enumerate(ledger.MONTHS[:3], start=1):
        moves = [Run(ledger.report(month)), Run(share), *ledger.short_way(month)]
        session = world.session(ledger.task(month), lambda _, moves=moves: moves)  # type: ignore[misc]
        world.assert_undisturbed(session)
        scopes = [each["scope"].partition(":")[0] for each in world.learned(number) if ADVICE in each["skill_md"]]
        assert scopes == (["session"] * number if number < 3 else ["project"])
        world.forget_build()


def test_a_lesson_of_one_session_reaches_that_session_alone(world: World) -> None:
    world.install_tacit()
    world.init()
    lesson = {
        "kind": "lesson", "name": "compile-rates-first", "description": ADVICE, "error": ledger.ERROR,
        "body": f"Run `{ledger.COMPILE}` first.",
    }  # fmt: skip
    (world.home / "lesson.json").write_text(json.dumps(lesson))
    proposed = world.tacit("propose", str(world.home / "lesson.json"), "--scope", f"session:{SESSION}")
    world.approve(proposed["version_id"])

    def way(request: Request) -> Sequence[Move]:
        return [Run(ledger.report("2026-06"))]

    own = world.session(ledger.task("2026-06"), way, options=["--session-id", SESSION])
    other = world.session(ledger.task("2026-06"), way)
    for session, reached in ((own, True), (other, False)):
        world.assert_undisturbed(session)
        assert ledger.ERROR in session.requests[1].told
        assert (ledger.COMPILE in session.requests[1].told) is reached
