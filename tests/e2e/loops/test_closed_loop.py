"""Closed loops with the real clients: agents stumble, Tacit learns, a person approves, the next agent does not stumble."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import CLIENTS, OPTIONAL, REPORT_LITTLE, Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import Way, World

with_hooks = pytest.mark.parametrize("client", [*CLIENTS, *OPTIONAL], indirect=True)
SKILL = re.compile(r"<tacit-skill .*?</tacit-skill>", re.DOTALL)


@pytest.fixture
def stumbled(world: World) -> World:
    """A machine on which two agents fell into the trap and got out again."""
    world.install_tacit()
    world.init()
    for month in ("2026-04", "2026-05"):
        session = world.session(ledger.task(month), stumbling(month))
        assert session.code == 0, session
        assert any(ledger.report(month) in command for command in session.failures), session.commands
        assert ledger.closed(world.project, month)
        world.forget_build()
        if world.client.name in REPORT_LITTLE:
            world.tacit("learn")
    return world


def stumbling(month: str) -> Way:
    """An agent that takes the short way only if the request says how."""

    def way(request: Request) -> Sequence[Move]:
        return ledger.short_way(month) if knows(request) else ledger.long_way(month)

    return way


def knows(request: Request) -> bool:
    """Whether a skill or a line in the request tells of the way out of the trap."""
    told = [
        *SKILL.findall(request.told),
        *(line for line in request.told.splitlines() if ledger.report("")[:-1] in line),
    ]
    return any(ledger.COMPILE in text for text in told)


def the(kind: str, waiting: list[dict[str, Any]]) -> dict[str, Any]:
    [found] = [candidate for candidate in waiting if candidate["kind"] == kind]
    assert ledger.COMPILE in found["skill_md"]
    return found


@with_hooks
def test_what_was_learned_and_approved_reaches_the_model_and_shortens_the_way(stumbled: World) -> None:
    waiting = stumbled.learned(trajectories=2)
    assert "procedure" not in {candidate["kind"] for candidate in waiting}, "two runs are too few"

    before = stumbled.session(ledger.task("2026-06"), stumbling("2026-06"))
    stumbled.assert_undisturbed(before)
    assert not any(knows(request) for request in before.requests), "shown before anybody approved it"
    assert any(ledger.report("2026-06") in command for command in before.failures)
    stumbled.forget_build()

    waiting = stumbled.learned(trajectories=3)
    procedure = the("procedure", waiting)
    stumbled.approve(procedure["version_id"])

    after = stumbled.session(ledger.task("2026-07"), stumbling("2026-07"))
    stumbled.assert_undisturbed(after)
    assert f'<tacit-skill name="{procedure["name"]}"' in after.requests[0].told
    assert knows(after.requests[0])
    assert after.failures == []
    assert len(after.requests) < len(before.requests)
    assert ledger.CHECK in after.commands[-1].command
    assert ledger.closed(stumbled.project, "2026-07")

    stumbled.learned(trajectories=4)
    stats = stumbled.tacit("stats")
    assert stats["uses"] >= 1, "what was shown is not kept"
    assert sum(stats["skills"].values()) == len(waiting), "Tacit learned its own advice"
    assert stumbled.person.run("verify").code == 0


@pytest.mark.parametrize("client", [*CLIENTS, *OPTIONAL, "letta-code"], indirect=True)
def test_lesson_reaches_the_model_when_the_known_error_comes_back(stumbled: World) -> None:
    lesson = the("lesson", stumbled.learned(trajectories=2))
    stumbled.approve(lesson["version_id"])

    def way(request: Request) -> Sequence[Move]:
        fell_in = [Run(ledger.report("2026-06"))]
        return [*fell_in, *ledger.short_way("2026-06")] if knows(request) else ledger.long_way("2026-06")

    again = stumbled.session("Please do for June what was done for May.", way)
    stumbled.assert_undisturbed(again)
    first, second = again.requests[:2]
    assert not knows(first), "nothing in the prompt calls for the lesson"
    assert ledger.ERROR in second.told
    assert knows(second), second.told[-2000:]
    assert len(again.failures) == 1
    assert len(again.requests) == len(ledger.short_way("2026-06")) + 2
    assert ledger.closed(stumbled.project, "2026-06")


@pytest.mark.parametrize("client", ["mini-swe-agent"], indirect=True)
def test_a_client_without_hooks_knows_what_was_approved_from_its_guide(stumbled: World) -> None:
    lesson = the("lesson", stumbled.learned())
    assert lesson["name"] not in (stumbled.project / ".tacit" / "mini-swe-agent.yaml").read_text(encoding="utf-8")
    stumbled.approve(lesson["version_id"])

    again = stumbled.session(ledger.task("2026-06"), stumbling("2026-06"))
    stumbled.assert_undisturbed(again)
    assert knows(again.requests[0])
    assert again.failures == []
    assert ledger.closed(stumbled.project, "2026-06")
