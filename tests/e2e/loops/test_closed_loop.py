"""Closed loops with the real clients: an agent stumbles, Tacit learns, a person approves, the next agent does not stumble."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import Session, Way, World

SKILL = re.compile(r"<tacit-skill .*?</tacit-skill>", re.DOTALL)


@pytest.fixture
def stumbled(world: World) -> World:
    """A machine on which an agent fell into the trap, got out, and Tacit has learned from that."""
    world.install_tacit()
    world.init()
    first = world.session(ledger.task("2026-05"), stumbling("2026-05"))
    assert first.code == 0, first
    assert any(ledger.report("2026-05") in command for command in first.failures), first.commands
    assert ledger.closed(world.project, "2026-05")
    world.forget_build()
    return world


def stumbling(month: str) -> Way:
    """An agent that takes the short way only if the request says how: at once, or after it fell in."""

    def way(request: Request) -> Sequence[Move]:
        return ledger.short_way(month) if knows(request) else ledger.long_way(month)

    return way


def knows(request: Request) -> bool:
    """Whether a skill in the request tells of the trap; the index of what is known is not read so closely."""
    return any(ledger.COMPILE in skill for skill in SKILL.findall(request.told))


def the(kind: str, waiting: list[dict[str, Any]]) -> dict[str, Any]:
    [found] = [candidate for candidate in waiting if candidate["kind"] == kind]
    assert ledger.COMPILE in found["skill_md"]
    return found


def assert_undisturbed(world: World, session: Session) -> None:
    assert session.code == 0, session
    assert not world.log()


def test_what_was_learned_and_approved_reaches_the_model_and_shortens_the_way(stumbled: World) -> None:
    waiting = stumbled.learned()

    before = stumbled.session(ledger.task("2026-06"), stumbling("2026-06"))
    assert_undisturbed(stumbled, before)
    assert not any(knows(request) for request in before.requests), "shown before anybody approved it"
    assert any(ledger.report("2026-06") in command for command in before.failures)
    stumbled.undo()

    procedure = the("procedure", waiting)
    stumbled.approve(procedure["version_id"])

    after = stumbled.session(ledger.task("2026-06"), stumbling("2026-06"))
    assert_undisturbed(stumbled, after)
    assert f'<tacit-skill name="{procedure["name"]}"' in after.requests[0].told
    assert knows(after.requests[0])
    assert after.failures == []
    assert len(after.requests) < len(before.requests)
    assert ledger.CHECK in after.commands[-1].command
    assert ledger.closed(stumbled.project, "2026-06")

    stumbled.learned(trajectories=3)
    stats = stumbled.tacit("stats")
    assert stats["uses"] >= 1, "what was shown is not kept"
    assert sum(stats["skills"].values()) == len(waiting), "Tacit learned its own advice"
    assert stumbled.person.run("verify").code == 0


def test_lesson_reaches_the_model_when_the_known_error_comes_back(stumbled: World) -> None:
    lesson = the("lesson", stumbled.learned())
    stumbled.approve(lesson["version_id"])

    def way(request: Request) -> Sequence[Move]:
        fell_in = [Run(ledger.report("2026-06"))]
        return [*fell_in, *ledger.short_way("2026-06")] if knows(request) else ledger.long_way("2026-06")

    again = stumbled.session("Please do for June what was done for May.", way)
    assert_undisturbed(stumbled, again)
    first, second = again.requests[:2]
    assert not knows(first), "nothing in the prompt calls for the lesson"
    assert ledger.ERROR in second.told
    assert knows(second)
    assert f'<tacit-skill name="{lesson["name"]}"' in second.told
    assert len(again.failures) == 1
    assert len(again.requests) == len(ledger.short_way("2026-06")) + 2
    assert ledger.closed(stumbled.project, "2026-06")
