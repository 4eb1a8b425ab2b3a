"""Closed loops with the real clients over what is counted and what a person said: lessons, the card, norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.clients import Load, Move, Run
from tests.e2e.loops.dialects import Request
from tests.e2e.loops.world import Session, World

TASKS = (
    "Build the release, and see that the tests pass.",
    "The partners want another release today; please prepare it.",
    "Let us ship.",
)
CARD = f"- `{ledger.TEST}`"
CORRECTION = "No, never call unittest directly here, always use `make test`."
GERMAN = "Ab jetzt alle Beträge immer mit zwei Nachkommastellen schreiben."
JAPANESE = "今後は必ず報告書を日本語で書いてください。"
OF_A_PROGRAM = "From now on always number the invoices by year."
RULES = {
    "unittest": "make test",
    "Nachkommastellen": "zwei Nachkommastellen",
    "報告書": "報告書を日本語で書いてください",
}
"""A word of what was said → what the model is to be told of it."""


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
        assert not any(times_told(request) for request in session.requests), "shown before anybody approved it"
        connected.forget_build()
    return connected


def ran(session: Session, *, failed: bool) -> list[str]:
    """The project's commands that failed, or that did not."""
    known = (ledger.RATES, ledger.BUILD, ledger.TEST)
    return [name for each in session.commands if each.failed is failed for name in known if name in each.command]


def times_told(request: Request) -> int:
    """How many lines of the request tell that the rates come before the build."""
    return sum(f"`{ledger.BUILD}`" in line and f"`{ledger.RATES}`" in line for line in request.told.splitlines())


def version_of(word: str, waiting: list[dict[str, Any]]) -> str:
    """The rule that holds a word."""
    [found] = [each for each in waiting if each["kind"] in ("norm", "preference") and word in each["skill_md"]]
    return str(found["version_id"])


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
    assert times_told(third.requests[1]) == 1, "before the call, and not again where it failed all the same"
    assert times_told(third.requests[-1]) == 1
    assert released.moments(lesson) == ["before"]
    assert released.moments(card) == ["start"]
    assert ran(third, failed=True) == [ledger.BUILD]
    assert len(third.requests) == 5
    released.forget_build()

    at_once = released.session(TASKS[2], lambda _: [Run(f"{ledger.RATES} && {ledger.BUILD}")])
    released.assert_undisturbed(at_once)
    assert not any(times_told(request) for request in at_once.requests), "told to an agent that does it anyway"
    assert at_once.failures == []


def test_what_a_person_said_in_any_language_is_shown_when_the_next_session_starts(connected: World) -> None:
    unattended = connected.session(f"See that the tests pass. {OF_A_PROGRAM}", lambda _: [Run(ledger.CHECK)])
    first = connected.session(f"See that the tests pass. {GERMAN}", lambda _: [Run(ledger.CHECK)], typed=True)
    moves = [Run(ledger.CHECK), Run(ledger.TEST)]
    corrected = connected.session(CORRECTION, lambda _: moves, goes_on=True, typed=True)
    said_again = connected.session(JAPANESE, lambda _: moves, goes_on=True, typed=True)
    for session in (unattended, first, corrected, said_again):
        connected.assert_undisturbed(session)
    assert corrected.requests[0].turn == 1, "the client began anew"

    waiting = connected.learned(trajectories=2)
    assert not [each["name"] for each in waiting if "invoices" in each["skill_md"]], "no person said that"
    versions = {word: version_of(word, waiting) for word in RULES}
    for version_id in versions.values():
        connected.approve(version_id)

    later = connected.session("Let us begin.", lambda _: [])
    connected.assert_undisturbed(later)
    told = later.requests[0].told.splitlines()
    for word, text in RULES.items():
        assert [line for line in told if word in line and text in line], (word, connected.moments(versions[word]))
        assert connected.moments(versions[word]) == ["start"]


STATIC = "---\nname: release\ndescription: How a release of the ledger is built.\n---\n\nRun `make build`, then `make test`.\n"


def test_what_sessions_learned_under_a_static_skill_comes_when_the_next_agent_loads_it(connected: World) -> None:
    files = [connected.project / root / "skills" / "release" / "SKILL.md" for root in (".claude", ".agents")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(STATIC, encoding="utf-8")
    for task in TASKS[:2]:
        session = connected.session(task, lambda _: [Load("release"), *ledger.release()])
        assert ran(session, failed=True) == [ledger.BUILD], session.commands
        connected.forget_build()
    waiting = connected.learned(trajectories=2)
    lesson = the("lesson", waiting, ledger.RATES)
    [content] = [each["content"] for each in waiting if each["version_id"] == lesson]
    assert content["extends"] == "release"
    connected.approve(lesson)

    def way(request: Request) -> Sequence[Move]:
        known = [Run(ledger.RATES), Run(ledger.BUILD), Run(ledger.TEST)]
        return [Load("release"), *(known if times_told(request) else ledger.release())]

    third = connected.session(TASKS[2], way)
    connected.assert_undisturbed(third)
    assert [times_told(request) for request in third.requests[:2]] == [0, 1], "it comes with the skill"
    assert connected.moments(lesson) == ["call"]
    assert third.failures == []
    assert [file.read_text(encoding="utf-8") for file in files] == [STATIC, STATIC]
