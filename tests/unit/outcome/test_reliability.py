"""Reliability admits ignorance, counts one vote per use, and is never raised by what an agent says of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.skill import Provenance
from tacit.outcome import NEUTRAL, rank, reliability
from tacit.outcome.reliability import HALF_LIFE_USES, reinforced
from tests.unit.making import evidence, stored

SUCCESS, PARTIAL, FAILURE, UNKNOWN = Outcome.SUCCESS, Outcome.PARTIAL, Outcome.FAILURE, Outcome.UNKNOWN


def test_nothing_is_known_without_evidence_and_the_rank_is_neutral():
    known = reliability([])
    assert not known.known
    assert (known.low, known.high) == (0.0, 1.0)
    assert rank(known) == NEUTRAL == 0.5


def test_one_success_leaves_most_of_the_doubt():
    known = reliability([evidence()])
    assert known.trials == pytest.approx(1)
    assert known.low < 0.3
    assert known.high == pytest.approx(1)
    assert rank(known) == NEUTRAL


def test_a_verified_success_raises_the_lower_bound():
    lows = [reliability(evidence(hours=i) for i in range(n)).low for n in range(6)]
    assert lows == sorted(lows)
    assert len(set(lows)) == 6


def test_one_of_one_does_not_outrank_forty_seven_of_fifty():
    proven = [evidence(SUCCESS if i % 17 else FAILURE, hours=i) for i in range(50)]
    assert sum(item.outcome is SUCCESS for item in proven) == 47
    assert rank(reliability(proven)) > rank(reliability([evidence()]))


def test_a_thousand_self_reported_successes_move_nothing():
    claims = [evidence(SUCCESS, Grade.SELF, hours=i) for i in range(1000)]
    for proof in ([], [evidence(SUCCESS, hours=1)], [evidence(FAILURE, hours=1)], [evidence(FAILURE, Grade.SELF)]):
        before, after = reliability(proof), reliability([*proof, *claims])
        assert (after.low, after.high, rank(after)) == (before.low, before.high, rank(before))
        assert after.self_reported == before.self_reported + 1000
        assert after.known == before.known


def test_self_reported_failures_lower_but_count_less_than_verified_ones():
    proof = [evidence(hours=i) for i in range(10)]
    claimed = reliability([*proof, evidence(FAILURE, Grade.SELF, hours=20)])
    verified = reliability([*proof, evidence(FAILURE, hours=20)])
    assert verified.low < claimed.low < reliability(proof).low
    assert claimed.high < 1.0


def test_many_self_reported_failures_put_an_unmeasured_skill_below_neutral():
    known = reliability(evidence(FAILURE, Grade.SELF, hours=i) for i in range(10))
    assert not known.known
    assert rank(known) < NEUTRAL


def test_an_agent_cannot_take_back_its_own_failure_report():
    failed = evidence(FAILURE, Grade.SELF, use="u_1")
    regret = evidence(SUCCESS, Grade.SELF, use="u_1", hours=1)
    shrug = evidence(UNKNOWN, Grade.SELF, use="u_1", hours=2)
    assert reliability([failed, regret, shrug]).high == reliability([failed]).high < 1
    assert reliability([regret, failed]).high == reliability([failed]).high


def test_one_use_has_one_vote_the_best_graded_and_of_those_the_latest():
    votes = [evidence(SUCCESS, use="u_1"), evidence(SUCCESS, use="u_1", hours=1)]
    assert reliability(votes).trials == pytest.approx(1)
    checked_again = [evidence(SUCCESS, use="u_1"), evidence(FAILURE, use="u_1", hours=1)]
    assert reliability(checked_again).successes == 0
    said_otherwise = [evidence(SUCCESS, use="u_1"), evidence(FAILURE, Grade.HUMAN, use="u_1", hours=1)]
    assert reliability(said_otherwise).successes == pytest.approx(1)
    claimed_otherwise = [evidence(SUCCESS, use="u_1"), evidence(FAILURE, Grade.SELF, use="u_1", hours=1)]
    assert reliability(claimed_otherwise) == reliability([evidence(SUCCESS, use="u_1")])


def test_an_outcome_that_is_not_known_is_no_vote_and_hides_none():
    assert not reliability([evidence(UNKNOWN)]).known
    both = [evidence(FAILURE, use="u_1"), evidence(UNKNOWN, use="u_1", hours=1)]
    assert reliability(both) == reliability(both[:1])


def test_recent_results_weigh_more():
    good_then_bad = [evidence(SUCCESS if i < 15 else FAILURE, hours=i) for i in range(30)]
    bad_then_good = [evidence(FAILURE if i < 15 else SUCCESS, hours=i) for i in range(30)]
    assert reliability(bad_then_good).low > reliability(good_then_bad).low
    assert reliability(reversed(bad_then_good)) == reliability(bad_then_good), "time decides, not the order of arrival"


def test_a_result_weighs_half_after_so_many_later_ones():
    old = evidence(SUCCESS, hours=0)
    since = [evidence(FAILURE, hours=1 + i) for i in range(HALF_LIFE_USES)]
    assert reliability([old, *since]).successes == pytest.approx(0.5)


def test_partial_is_half_a_success():
    known = reliability([evidence(PARTIAL)])
    assert [known.successes, known.trials] == pytest.approx([0.5, 1])
    both = reliability([evidence(SUCCESS, hours=0), evidence(FAILURE, hours=0)])
    two_halves = reliability([evidence(PARTIAL, hours=0), evidence(PARTIAL, use="u_2", hours=0)])
    assert two_halves.low == pytest.approx(both.low, abs=0.02)


def test_shared_credit_weighs_less():
    shared = reliability([evidence(weight=0.25)])
    assert shared.trials == pytest.approx(0.25, abs=0.01)
    assert shared.low < reliability([evidence()]).low


def test_the_rank_follows_the_bound_that_is_clear_of_neutral():
    good = reliability(evidence(hours=i) for i in range(20))
    bad = reliability(evidence(FAILURE, hours=i) for i in range(20))
    mixed = reliability(evidence(SUCCESS if i % 2 else FAILURE, hours=i) for i in range(6))
    assert rank(good) == good.low > 0.8
    assert rank(bad) == bad.high < 0.2
    assert rank(mixed) == NEUTRAL


def test_results_without_a_use_are_told_apart_by_their_attempt_and_else_stand_alone():
    of_one = [replace(evidence(hours=hour), use_id="", trajectory_id="t_1", id="") for hour in range(3)]
    assert reliability(of_one).trials == pytest.approx(1)
    of_none = [replace(evidence(hours=hour), use_id="", id="") for hour in range(3)]
    assert reliability(of_none).trials > 2.9


def test_of_two_verified_results_at_one_moment_the_one_told_last_counts():
    good, bad = evidence(SUCCESS, use="u_1"), evidence(FAILURE, use="u_1")
    assert reliability([good, bad]).successes == 0
    assert reliability([bad, good]).successes == pytest.approx(1)


def test_a_verified_success_that_came_later_takes_the_place_of_a_failure():
    told = [evidence(FAILURE, use="u_1"), evidence(SUCCESS, use="u_1", hours=1)]
    assert reliability(told).successes == reliability(reversed(told)).successes == pytest.approx(1)


def test_a_version_is_confirmed_by_further_attempts_and_by_verified_uses_that_worked():
    version = stored().version
    mined = replace(version, provenance=Provenance(trajectory_ids=("t_1", "t_2", "t_3")), id="")
    unsourced = replace(version, provenance=Provenance(), id="")
    uses = [
        evidence(SUCCESS, use="u_1"), evidence(SUCCESS, use="u_1", hours=1), evidence(SUCCESS, Grade.HUMAN, use="u_2"),
        evidence(FAILURE, use="u_3"), evidence(PARTIAL, use="u_4"),
        evidence(FAILURE, use="u_6"), evidence(SUCCESS, Grade.SELF, use="u_5"),
    ]  # fmt: skip
    assert reinforced(mined, []) == 2
    assert reinforced(version, []) == reinforced(unsourced, []) == 0
    assert reinforced(version, uses) == 2
    assert reinforced(mined, uses) == 4
