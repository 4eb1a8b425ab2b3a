"""Fading and reinforcement, whatever was shown and used: never below the floor, beyond the ceiling or without cause."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.evidence import Outcome
from tacit.domain.ledger import UsageSignal
from tacit.evidence.reliability import reliability, votes
from tacit.evidence.skill_usage import CEILING, changes_prominence, prominence_of
from tacit.recall.signals import prominence
from tests.unit.making import evidence, later, stored

VERSION = stored().version
USAGE_SIGNALS = st.lists(
    st.builds(
        lambda hour, up, use: UsageSignal(
            key=VERSION.id, at=later(hour), heeded=up, use_id=f"u_{use}", trajectory_id=f"t_{use}"
        ),
        st.integers(0, 2000),
        st.booleans(),
        st.integers(0, 500),
    ),
    max_size=40,
)
RESULTS = st.lists(
    st.builds(lambda hour, came: evidence(came, hours=hour), st.integers(0, 2000), st.sampled_from(Outcome)), max_size=8
)


@given(RESULTS, USAGE_SIGNALS)
def test_prominence_stays_between_its_floor_and_its_ceiling(results, usage_signals):
    count, last = prominence_of(VERSION, results, usage_signals=usage_signals)
    assert 0 <= count <= prominence_of(VERSION, results)[0] + CEILING
    assert last >= VERSION.created_at
    assert last in {
        VERSION.created_at,
        *(item.at for item in results),
        *(each.at for each in usage_signals if each.heeded),
    }


@given(RESULTS)
def test_what_was_never_shown_does_not_fade_by_it(results):
    worked = sum(item.outcome is Outcome.SUCCESS for item in votes(results))
    assert prominence_of(VERSION, results)[0] == max(0, len(VERSION.provenance.trajectory_ids) - 1) + worked


@given(RESULTS, USAGE_SIGNALS)
def test_no_heed_moves_a_reliability(results, usage_signals):
    before = reliability(results)
    prominence_of(VERSION, results, usage_signals=usage_signals)
    assert reliability(results) == before


@given(USAGE_SIGNALS)
def test_what_is_used_is_never_less_prominent_than_what_is_passed_over(usage_signals):
    now = later(3000).timestamp()

    def seen(kept: list[UsageSignal]) -> float:
        count, last = prominence_of(VERSION, [], usage_signals=kept)
        return prominence(0.5, last.timestamp(), now, reinforced=count)

    used, passed = (
        [
            UsageSignal(key=each.key, at=each.at, heeded=up, use_id=each.use_id, trajectory_id=each.trajectory_id)
            for each in usage_signals
        ]
        for up in (True, False)
    )
    assert seen(passed) <= seen(usage_signals) <= seen(used) or math.isclose(seen(passed), seen(used))


@given(USAGE_SIGNALS)
def test_keeping_only_what_changes_something_gives_the_same_count(usage_signals):
    kept: list[UsageSignal] = []
    in_time = sorted({each.use_id: each for each in usage_signals}.values(), key=lambda each: (each.at, each.heeded))
    for each in in_time:
        kept += [each] if changes_prominence(VERSION, [], kept, each) else []
    assert prominence_of(VERSION, [], usage_signals=kept)[0] == prominence_of(VERSION, [], usage_signals=in_time)[0]
