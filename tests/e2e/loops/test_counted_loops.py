"""Closed loops with the real clients over what is counted and what a person said: lessons, the card, norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import Session, World

TASKS = (
    "Build the release, and see that the tests pass.",
    "The partners want another release today; please prepare it.",
    "Let us ship.",
)
CARD = f"- test: `{ledger.TEST}`"
CORRECTION = "No, never call unittest directly here, always use `make test`."
GERMAN = "Ab jetzt alle Beträge immer mit zwei Nachkommastellen schreiben."
JAPANESE = "今後は必ず make test を使ってください。"


@pytest.fixture
def connected(world: World) -> World:
    world.install_tacit()
    world.init()
    return world


@pytest.fixture
def released(connected: World) -> World:
    """A machine on which two agents found out, each for itself, what has to be run before a build."""
    for task in TASKS[:2]:
        session = connected.session(task, lambda _: ledger.release())
        assert ran(session, failed=True) == [ledger.BUILD], session.commands
        connected.forget_build()
    return connected


def ran(session: Session, *, failed: bool) -> list[str]:
    """The project's commands that failed, or that did not."""
    known = (ledger.RATES, ledger.BUILD, ledger.TEST)
    return [name for each in session.commands if each.failed is failed for name in known if name in each.command]


def times_told(request: Request) -> int:
    """How many lines of the request tell that the rates come before the build."""
    return sum(f"`{ledger.BUILD}`" in line and f"`{ledger.RATES}`" in line for line in request.told.splitlines())


def the(kind: str, waiting: list[dict[str, Any]], text: str) -> str:
    [found] = [each["version_id"] for each in waiting if each["kind"] == kind and text in each["skill_md"]]
    return str(found)


def test_counted_fix_by_another_program_is_told_before_the_call_and_the_card_at_the_start(released: World) -> None:
    waiting = released.learned(trajectories=2)
    lesson, card = the("lesson", waiting, ledger.RATES), the("fact", waiting, ledger.TEST)
    released.approve(lesson)
    released.approve(card)

    def way(request: Request) -> Sequence[Move]:
        known = [Run(ledger.BUILD), Run(ledger.RATES), Run(ledger.BUILD), Run(ledger.TEST)]
        return known if request.turn < 1 or times_told(request) else ledger.release()

    third = released.session(TASKS[2], way)
    released.assert_undisturbed(third)
    assert CARD in third.requests[0].told.splitlines()
    assert times_told(third.requests[0]) == 0, "nothing calls for the lesson yet"
    assert times_told(third.requests[1]) == 2, "before the call, and once more since it failed all the same"
    assert times_told(third.requests[-1]) == 2
    assert released.moments(lesson) == ["before", "call"]
    assert released.moments(card) == ["start"]
    assert ran(third, failed=True) == [ledger.BUILD]
    assert len(third.requests) == 5
    released.forget_build()

    at_once = released.session(TASKS[2], lambda _: [Run(f"{ledger.RATES} && {ledger.BUILD}")])
    released.assert_undisturbed(at_once)
    assert not any(times_told(request) for request in at_once.requests), "told to an agent that does it anyway"
    assert at_once.failures == []
