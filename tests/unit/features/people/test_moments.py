"""The room for learning moments: what is stated is kept once, told back, and settled by somebody's word or by the run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.trajectory import Origin
from tacit.features.people.ledger_entries import Aspect, Assumption, Held, Moment, Phase
from tacit.features.people.moments import Moments
from tacit.features.people.session_assumptions import Speaker
from tacit.store import open_store
from tests.raising import raises
from tests.unit.making import NOW


class Clock:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def loop() -> Iterator[Tacit]:
    store = open_store(":memory:")
    with Tacit(store, clock=Clock()) as made:
        yield made
        assert made.archive.verify() == []


def test_an_assumption_is_kept_as_it_was_stated(loop: Tacit) -> None:
    made = Moments(loop).assume(
        "Only  src/api/\nchanges", aspect="scope", session="s1", task="Add tax", check="make lint"
    )
    (kept,) = loop.context.store.entries(Assumption, session_id="s1")
    assert kept == made
    assert (kept.text, kept.aspect, kept.check, kept.task) == (
        "Only src/api/ changes",
        Aspect.SCOPE,
        "make lint",
        "Add tax",
    )
    assert (kept.held, kept.phase, kept.origin) == (Held.OPEN, Phase.PROSPECTIVE, Origin.AGENT)


def test_stating_the_same_again_adds_nothing_while_it_is_open(loop: Tacit) -> None:
    first = Moments(loop).assume("It works", session="s1")
    assert Moments(loop).assume("it  WORKS", session="s1") == first
    assert Moments(loop).assume("It works", session="s2").key != first.key
    assert Moments(loop).assume("It works", session="s1", aspect="risk").key != first.key
    assert len(loop.context.store.entries(Assumption)) == 3


def test_what_was_settled_can_be_stated_anew(loop: Tacit) -> None:
    first = Moments(loop).assume("It works", session="s1")
    Moments(loop).checkpoint("s1", holds=[first.key])
    again = Moments(loop).assume("It works", session="s1")
    assert (again.key, again.held) == (first.key, Held.OPEN)
    assert again.phase is Phase.IN_FLIGHT


def test_secrets_are_taken_out_of_what_is_stated(loop: Tacit) -> None:
    secret = "ghp_" + "a1B2" * 9
    made = Moments(loop).assume(f"The token {secret} is valid", session="s1", check=f"curl -H {secret} x")
    Moments(loop).checkpoint("s1", milestone=f"used {secret}", wrong={made.key: f"{secret} is not"})
    assert all(secret not in repr(entry) for sort in (Assumption, Moment) for entry in loop.context.store.entries(sort))


def test_everything_that_is_wrong_with_a_statement_is_told_at_once(loop: Tacit) -> None:
    with raises(Mistake, "invalid_assumption") as caught:
        Moments(loop).assume(" ", aspect="mood", check="a\nb")
    assert caught.value.message.count(";") == 2  # one clause for each problem
    with raises(Mistake, "invalid_assumption"):
        Moments(loop).assume("x" * 501)
    assert loop.context.store.entries(Assumption) == []


def test_a_pre_mortem_states_its_risks_and_assumptions_as_one_moment(loop: Tacit) -> None:
    moment = Moments(loop).premortem(["The port may be taken"], assumptions=["Docker is available"], session="s1")
    assert (moment.phase, moment.what) == (Phase.PROSPECTIVE, "pre-mortem")
    stated = {entry.key: entry for entry in loop.context.store.entries(Assumption)}
    assert set(moment.assumptions) == set(stated)
    assert [entry.aspect for entry in stated.values()] == [Aspect.RISK, Aspect.APPROACH]
    Moments(loop).premortem(["The port may be taken"], assumptions=["Docker is available"], session="s1")
    assert len(loop.context.store.entries(Moment)) == 1


def test_a_pre_mortem_of_nothing_or_with_a_bad_risk_keeps_nothing(loop: Tacit) -> None:
    with raises(Mistake, "empty_premortem"):
        Moments(loop).premortem([])
    with raises(Mistake, "invalid_assumption"):
        Moments(loop).premortem(["The port may be taken", " "])
    assert loop.context.store.entries(Assumption) == []


def test_a_checkpoint_lists_what_is_open_and_by_itself_keeps_nothing(loop: Tacit) -> None:
    first, second = (Moments(loop).assume(text, session="s1") for text in ("One", "Two"))
    Moments(loop).assume("Elsewhere", session="s2")
    looked = Moments(loop).checkpoint("s1")
    assert [entry.key for entry in looked.open] == [first.key, second.key]
    assert looked.moment is None
    assert loop.context.store.entries(Moment) == []


def test_a_milestone_is_noted_with_what_is_open_then(loop: Tacit) -> None:
    made = Moments(loop).assume("One", session="s1")
    looked = Moments(loop).checkpoint("s1", milestone="half way")
    assert looked.moment is not None
    assert (looked.moment.phase, looked.moment.text, looked.moment.assumptions) == (
        Phase.IN_FLIGHT,
        "half way",
        (made.key,),
    )
    assert Moments(loop).assume("Two", session="s1").phase is Phase.IN_FLIGHT


def test_what_holds_and_what_does_not_is_kept_on_the_word_of_whoever_says_it(loop: Tacit) -> None:
    first, second = (Moments(loop).assume(text, session="s1") for text in ("One", "Two"))
    looked = Moments(loop).checkpoint("s1", holds=[first.key[:8]], wrong={second.key: "It is three"}, by=Speaker("bob"))
    assert looked.open == ()
    held, wrong = looked.settled
    assert (held.held, wrong.held, wrong.instead) == (Held.HELD, Held.WRONG, "It is three")
    assert wrong.reason == "bob said so at a checkpoint"
    assert loop.context.store.entries(Moment)[0].assumptions == (first.key, second.key)


def test_an_agents_word_lowers_what_a_person_stated(loop: Tacit) -> None:
    made = Moments(loop).assume("One", session="s1", by=Speaker("ann", Origin.USER))
    Moments(loop).checkpoint("s1", wrong={made.key: "Two"})
    assert Moments(loop).find(made.key).origin is Origin.AGENT


def test_a_checkpoint_of_another_sessions_assumption_or_of_no_session_is_refused(loop: Tacit) -> None:
    other = Moments(loop).assume("One", session="s2")
    with raises(NotFound, "unknown_assumption"):
        Moments(loop).checkpoint("s1", holds=[other.key])
    with raises(Mistake, "no_session"):
        Moments(loop).checkpoint("")
    with raises(Mistake, "no_correction"):
        Moments(loop).checkpoint("s2", wrong={other.key: " "})
    assert Moments(loop).find(other.key).held is Held.OPEN


def test_a_key_must_name_one_assumption(loop: Tacit) -> None:
    keys = [Moments(loop).assume(f"Number {n}", session="s1").key for n in range(3)]
    assert Moments(loop).find(keys[0][:12]).key == keys[0]
    with pytest.raises(NotFound):
        Moments(loop).find("a_")
    with pytest.raises(NotFound):
        Moments(loop).find("")


def test_a_person_may_settle_an_assumption_by_looking(loop: Tacit) -> None:
    made = Moments(loop).assume("It works", session="s1", check="make test")
    kept = Moments(loop).settled_by(made.key, held=False, reason="`make test` failed", by=Speaker("ann", Origin.USER))
    assert (kept.held, kept.settled_by, kept.instead) == (Held.WRONG, "ann", "`make test` failed")
    assert kept.by == made.by == "agent", "whoever chose the check goes on being named"
    assert len(loop.context.store.entries(Assumption, key=made.key)) == 2


def test_moments_are_listed_by_session_phase_and_outcome(loop: Tacit) -> None:
    made = Moments(loop).assume("One", session="s1")
    Moments(loop).checkpoint("s1", holds=[made.key])
    Moments(loop).premortem(["Two"], session="s2")
    every = Moments(loop).list()
    assert [(m.session_id, m.what) for m in every.moments] == [("s1", "checkpoint"), ("s2", "pre-mortem")]
    assert [a.held for a in every.assumptions] == [Held.HELD, Held.OPEN]
    assert [m.what for m in Moments(loop).list(session="s2").moments] == ["pre-mortem"]
    assert [m.what for m in Moments(loop).list(phase="in-flight").moments] == ["checkpoint"]
    open_ones = Moments(loop).list(held="open")
    assert ([a.text for a in open_ones.assumptions], open_ones.moments) == (["Two"], ())
