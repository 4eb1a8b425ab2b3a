"""Laws of reliability: claims never raise, verified failures never raise, order of arrival does not matter, shares hold."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.evidence import LEAST_TRIALS, Evidence, Following, Grade, Outcome
from tacit.evidence.reliability import reliability, reliability_score, votes
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
    assert found.known == (found.trials >= LEAST_TRIALS)
    assert found.known <= (len(votes(past)) >= 3)
    assert 0 <= reliability_score(found) <= 1


@given(
    PAST, st.lists(st.builds(evidence, st.just(Grade.SELF), st.just(Outcome.SUCCESS), USE, HOURS, WEIGHT), max_size=20)
)
def test_no_number_of_claimed_successes_moves_anything(past, claims):
    before, after = reliability(past), reliability([*past, *claims])
    assert (after.low, after.high, reliability_score(after)) == (before.low, before.high, reliability_score(before))


@given(PAST, st.builds(evidence, st.just(Grade.SELF), st.sampled_from(Outcome), USE, HOURS, st.just(1.0)))
def test_no_claim_of_any_kind_raises_a_bound(past, claim):
    before, after = reliability(past), reliability([*past, claim])
    assert after.low <= before.low + EXACT
    assert after.high <= before.high + EXACT
    assert reliability_score(after) <= reliability_score(before) + EXACT


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


WHO, TASK, KEY = (
    st.sampled_from(["", "ann", "bob", "cyd"]),
    st.sampled_from(["", "t1", "t2", "t3"]),
    st.sampled_from(["", "a", "b"]),
)
FOLLOWED = st.sampled_from([None, *Following])


@st.composite
def rows(draw: st.DrawFn) -> Evidence:
    """Evidence with principals, tasks, models, scopes and controls."""
    told = draw(ANY)
    return replace(
        told, principal=draw(WHO), task=draw(TASK), model=draw(KEY), scope=draw(KEY), following=draw(FOLLOWED),
        control=draw(st.booleans()), id="",
    )  # fmt: skip


MANY = st.lists(rows(), max_size=40)


@given(MANY)
def test_votes_are_verified_credited_ordered_and_one_for_each_principal_and_task(many):
    cast = votes(many)
    named = [(each.principal, each.task) for each in cast if each.task]
    assert len(named) == len(set(named))
    assert [each.at for each in cast] == sorted(each.at for each in cast)
    for each in cast:
        assert each in many
        assert each.grade.verified
        assert not each.control
        assert each.following in (None, Following.FOLLOWED)


@given(MANY, KEY, KEY)
def test_seen_from_any_key_the_interval_holds_and_praise_moves_nothing(many, model, scope):
    found = reliability(many, model=model, scope=scope)
    assert 0 <= found.low <= found.high <= 1
    assert 0 <= found.successes <= found.trials + EXACT
    praise = [
        Evidence(
            version_id="v_1", outcome=Outcome.SUCCESS, grade=Grade.SELF, at=later(at), use_id=f"u_lie{at}",
            principal="eve", task=f"lie {at}", model=model, scope=scope,
        )
        for at in range(20)
    ]  # fmt: skip
    praised = reliability([*many, *praise], model=model, scope=scope)
    assert (praised.low, praised.high, reliability_score(praised)) == (found.low, found.high, reliability_score(found))


@given(MANY)
def test_runs_that_are_not_credited_change_nothing(many):
    credited = [each for each in many if not each.control and each.following in (None, Following.FOLLOWED)]
    assert reliability(credited) == reliability(many)
    assert votes(credited) == votes(many)


@given(MANY, st.integers(1, 400))
def test_no_flood_of_one_principal_outweighs_two_others(many, flood):
    quiet = [replace(each, principal=f"p{at % 2}", id="") for at, each in enumerate(many)]
    flooding = [evidence(Grade.MACHINE, Outcome.FAILURE, 1000 + at, at % 1000, 1.0) for at in range(flood)]
    theirs = {who: reliability(each for each in quiet if each.principal == who).trials for who in ("p0", "p1")}
    whole = reliability([*quiet, *(replace(each, principal="eve", id="") for each in flooding)])
    if all(theirs.values()):
        least = min(theirs.values())
        assert whole.trials <= sum(theirs.values()) + max(5.0, least, sum(theirs.values()) / 2) + EXACT
