"""The question at the end of a session, with the real Claude Code: the agent is held back once and proposes what it found."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import World

MONTH = "2026-05"
SENTENCE = "Exchange rates are compiled by `tools/compile_rates.py`, once in every checkout."
PROPOSE = (
    "tacit propose compile-the-rates --kind fact --json "
    f"--description {json.dumps(SENTENCE).replace('`', chr(92) + '`')} --evidence 'exchange rates were never compiled'"
)
QUESTION = "tacit propose SHORT-NAME"

pytestmark = pytest.mark.parametrize("client", ["claude-code"], indirect=True)


@pytest.fixture
def connected(world: World) -> World:
    """A machine with a store, on which nobody was asked yet."""
    world.install_tacit()
    world.init()
    world.session("Look around.", lambda _: [Run("ls")])
    world.learned()
    return world


def turn_on(world: World) -> None:
    (world.project / "tacit.toml").write_text("[learn]\nask_at_end = true\n", encoding="utf-8")


def times_asked(world: World) -> int:
    """How often a session was asked, by the hooks' own journals."""
    return sum(
        json.loads(line)["moment"] == "ask"
        for file in (world.project / ".tacit" / "sessions").glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    )


def way(request: Request) -> Sequence[Move]:
    """The agent falls into the trap; it proposes something only if it is asked to."""
    proposal = [Run(PROPOSE)] if QUESTION in request.told else []
    return [*ledger.long_way(MONTH), *proposal]


def test_an_agent_that_is_asked_proposes_once_and_the_proposal_waits(connected: World) -> None:
    turn_on(connected)
    session = connected.session(ledger.task(MONTH), way)
    connected.assert_undisturbed(session)
    assert sum(QUESTION in request.told for request in session.requests) == 2, "asked, and answered after the proposal"
    assert times_asked(connected) == 1
    assert [PROPOSE in ran.command for ran in session.commands].count(True) == 1

    [found] = [each for each in connected.learned(2) if each["name"] == "compile-the-rates"]
    assert (found["kind"], found["status"]) == ("fact", "candidate")
    provenance = connected.tacit("skills", "show", "compile-the-rates")["provenance"]
    assert provenance["made_by"] == "agent"
    assert provenance["grounding"]["description"], "the quote was found in the running session"

    moves = [*ledger.long_way(MONTH), Run(PROPOSE)]
    again = connected.session("And the tests?", lambda _: [*moves, *[Run("ls")] * 9], goes_on=True)
    connected.assert_undisturbed(again)
    assert len(again.commands) == 9
    assert times_asked(connected) == 1, "the same session was asked twice"


def test_nobody_is_asked_by_default(connected: World) -> None:
    session = connected.session(ledger.task(MONTH), way)
    connected.assert_undisturbed(session)
    assert not any(QUESTION in request.told for request in session.requests)
    assert len(session.requests) == len(ledger.long_way(MONTH)) + 1
