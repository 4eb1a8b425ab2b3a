"""Fading and reinforcement, whatever was shown and used: never below the floor, beyond the ceiling or without cause."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.evidence import Outcome
from tacit.domain.heed import Heed
from tacit.evidence import reinforced, reliability
from tacit.evidence.heeding import CEILING, prominence_of, telling
from tacit.recall.ranking import prominence
from tests.unit.making import evidence, later, stored

VERSION = stored().version
HEEDS = st.lists(
    st.builds(
        lambda hour, up, use: Heed(
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


@given(RESULTS, HEEDS)
def test_prominence_stays_between_its_floor_and_its_ceiling(results, heeds):
    count, last = prominence_of(VERSION, results, heeds=heeds)
    assert 0 <= count <= reinforced(VERSION, results) + CEILING
    assert last >= VERSION.created_at
    assert last in {VERSION.created_at, *(item.at for item in results), *(each.at for each in heeds if each.heeded)}


@given(RESULTS)
def test_what_was_never_shown_does_not_fade_by_it(results):
    assert prominence_of(VERSION, results)[0] == reinforced(VERSION, results)


@given(RESULTS, HEEDS)
def test_no_heed_moves_a_reliability(results, heeds):
    before = reliability(results)
    prominence_of(VERSION, results, heeds=heeds)
    assert reliability(results) == before


@given(HEEDS)
def test_what_is_used_is_never_less_prominent_than_what_is_passed_over(heeds):
    now = later(3000).timestamp()

    def seen(kept: list[Heed]) -> float:
        count, last = prominence_of(VERSION, [], heeds=kept)
        return prominence("lesson", last.timestamp(), now, reinforced=count)

    used, passed = (
        [
            Heed(key=each.key, at=each.at, heeded=up, use_id=each.use_id, trajectory_id=each.trajectory_id)
            for each in heeds
        ]
        for up in (True, False)
    )
    assert seen(passed) <= seen(heeds) <= seen(used) or math.isclose(seen(passed), seen(used))


@given(HEEDS)
def test_keeping_only_what_changes_something_gives_the_same_count(heeds):
    kept: list[Heed] = []
    in_time = sorted({each.use_id: each for each in heeds}.values(), key=lambda each: (each.at, each.heeded))
    for each in in_time:
        kept += [each] if telling(VERSION, [], kept, each) else []
    assert prominence_of(VERSION, [], heeds=kept)[0] == prominence_of(VERSION, [], heeds=in_time)[0]
