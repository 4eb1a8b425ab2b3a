"""Laws of reliability: claims never raise, verified failures never raise, order of arrival does not matter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.evidence import Evidence, Grade, Outcome
from tacit.outcome import rank, reliability
from tests.unit.making import later

EXACT = 1e-9


def evidence(grade: Grade, outcome: Outcome, use: int, hours: int, weight: float) -> Evidence:
    return Evidence(version_id="v_1", outcome=outcome, grade=grade, at=later(hours), use_id=f"u_{use}", weight=weight)


USE, HOURS = st.integers(0, 30), st.integers(0, 1000)
WEIGHT = st.sampled_from([1.0, 0.5, 1 / 3, 0.01])
VERIFIED = st.sampled_from([Grade.MACHINE, Grade.HUMAN])
ANY = st.builds(evidence, st.sampled_from(Grade), st.sampled_from(Outcome), USE, HOURS, WEIGHT)
PAST = st.lists(ANY, max_size=60)


@given(PAST)
def test_the_interval_holds_and_unmeasured_means_unknown(past):
    found = reliability(past)
    assert 0 <= found.low <= found.high <= 1
    assert 0 <= found.successes <= found.trials + EXACT
    assert found.known == any(item.grade.verified and item.outcome is not Outcome.UNKNOWN for item in past)
    assert 0 <= rank(found) <= 1


@given(
    PAST, st.lists(st.builds(evidence, st.just(Grade.SELF), st.just(Outcome.SUCCESS), USE, HOURS, WEIGHT), max_size=20)
)
def test_no_number_of_claimed_successes_moves_anything(past, claims):
    before, after = reliability(past), reliability([*past, *claims])
    assert (after.low, after.high, rank(after)) == (before.low, before.high, rank(before))


@given(PAST, st.builds(evidence, st.just(Grade.SELF), st.sampled_from(Outcome), USE, HOURS, st.just(1.0)))
def test_no_claim_of_any_kind_raises_a_bound(past, claim):
    before, after = reliability(past), reliability([*past, claim])
    assert after.low <= before.low + EXACT
    assert after.high <= before.high + EXACT
    assert rank(after) <= rank(before) + EXACT


@given(PAST, VERIFIED, HOURS, WEIGHT)
def test_a_verified_failure_of_another_use_never_raises_the_lower_bound(past, grade, hours, weight):
    failure = evidence(grade, Outcome.FAILURE, 99, hours, weight)
    assert reliability([*past, failure]).low <= reliability(past).low + EXACT


@given(PAST, VERIFIED, HOURS)
def test_a_verified_success_of_another_use_never_lowers_the_lower_bound(past, grade, hours):
    success = evidence(grade, Outcome.SUCCESS, 99, hours, 1.0)
    assert reliability([*past, success]).low >= reliability(past).low - EXACT


@given(st.lists(ANY, max_size=30, unique_by=lambda item: item.at), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(past, random):
    shuffled = list(past)
    random.shuffle(shuffled)
    assert reliability(shuffled) == reliability(past)


@given(ANY, st.integers(1, 50))
def test_one_use_has_one_vote_however_often_it_is_told(item, times):
    told = reliability([item] * times)
    assert (told.low, told.high, told.trials) == (
        reliability([item]).low,
        reliability([item]).high,
        reliability([item]).trials,
    )
