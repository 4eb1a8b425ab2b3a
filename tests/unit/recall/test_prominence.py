"""Prominence fades with age to a floor, and what is seen to work again is fresh again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.lifecycle import Status
from tacit.domain.selection import Query
from tacit.recall.retrieval import choose
from tacit.recall.signals import prominence, recency
from tacit.store import open_store
from tests.unit.store.samples import evidence, put_version, step_to

DAY = 86_400.0


def after(days: float, *, kind: str = "procedure", reinforced: int = 0) -> float:
    return prominence(kind, 0.0, days * DAY, reinforced=reinforced)


def test_ninety_days_halve_it():
    assert after(90) == pytest.approx(after(0) / 2)
    assert after(180) == pytest.approx(after(0) / 4)
    assert recency(0.0, 90 * DAY) == pytest.approx(0.5)


def test_it_never_falls_below_a_tenth():
    assert after(365) == after(1000) == pytest.approx(after(0) * 0.1)
    assert after(298) > after(299.1) == pytest.approx(after(0) * 0.1, rel=0.01)


def test_what_lies_in_the_future_is_not_more_than_fresh():
    assert after(-30) == after(0)


def test_what_was_confirmed_and_is_fresh_stands_out_more_than_four_times_over_what_is_stale():
    assert after(0, reinforced=1) / after(365) > 4
    assert after(0) / after(365) == pytest.approx(10)


@pytest.mark.parametrize("status", [Status.RETIRED, Status.STALE, Status.QUARANTINED, Status.CANDIDATE])
def test_what_is_retired_or_set_aside_is_never_recalled_however_prominent_it_was(status):
    store = open_store(":memory:")
    held = put_version(store)
    query = Query(text=held.version.content.description, scope=held.skill.scope)
    assert choose(store, query, now=held.version.created_at, min_relevance=0.0).items
    store.add_transition(step_to(held, status))
    assert choose(store, query, now=held.version.created_at, min_relevance=0.0).abstained


@pytest.mark.parametrize(
    ("outcome", "grade", "resets"),
    [
        (Outcome.SUCCESS, Grade.MACHINE, True),
        (Outcome.SUCCESS, Grade.HUMAN, True),
        (Outcome.SUCCESS, Grade.SELF, False),
        (Outcome.FAILURE, Grade.MACHINE, False),
        (Outcome.PARTIAL, Grade.MACHINE, False),
    ],
)
def test_only_a_verified_success_starts_the_time_anew(outcome, grade, resets):
    store = open_store(":memory:")
    held = put_version(store)
    asked = held.version.created_at + timedelta(days=180)

    def seen() -> float:
        query = Query(text=held.version.content.description, scope=held.skill.scope)
        return choose(store, query, now=asked, min_relevance=0.0).items[0].signals["prominence"]

    faded = seen()
    store.add(evidence(held.version.id, minutes=180 * 24 * 60, outcome=outcome, grade=grade))
    assert (seen() > 3.9 * faded) is resets
    assert resets or seen() == pytest.approx(faded)
