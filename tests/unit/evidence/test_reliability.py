"""Reliability: unknown without evidence, one vote per principal and task, never raised by self-reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.domain.evidence import Evidence, Following, Grade, Outcome
from tacit.domain.skill import Provenance
from tacit.evidence.reliability import (
    DOUBTS_MAX,
    HALF_LIFE_USES,
    NEUTRAL,
    PRINCIPAL_FREE,
    reliability,
    reliability_score,
    votes,
)
from tacit.evidence.skill_usage import prominence_of
from tests.unit.making import NOW, evidence, later, stored

SUCCESS, PARTIAL, FAILURE, UNKNOWN = Outcome.SUCCESS, Outcome.PARTIAL, Outcome.FAILURE, Outcome.UNKNOWN


def result_of(outcome: Outcome = SUCCESS, grade: Grade = Grade.MACHINE, *, hours: float = 0, **fields: Any) -> Evidence:
    """A result with whatever else is known of it."""
    return replace(evidence(outcome, grade, hours=hours), **fields, id="")


def results_by(who: str, count: int, outcome: Outcome = SUCCESS, *, grade: Grade = Grade.MACHINE) -> list[Evidence]:
    """So many results of one principal, each of a task of its own."""
    return [
        result_of(outcome, grade, hours=at / 100, principal=who, use_id=f"u_{who}_{at}", task=f"{who} {at}")
        for at in range(count)
    ]


def test_nothing_is_known_without_evidence_and_the_rank_is_neutral():
    known = reliability([])
    assert not known.known
    assert (known.low, known.high) == (0.0, 1.0)
    assert reliability_score(known) == NEUTRAL == 0.5


def test_one_success_leaves_most_of_the_doubt():
    known = reliability([evidence()])
    assert known.trials == pytest.approx(1)
    assert known.low < 0.3
    assert known.high == pytest.approx(1)
    assert reliability_score(known) == NEUTRAL


def test_a_verified_success_raises_the_lower_bound():
    lows = [reliability(evidence(hours=i) for i in range(n)).low for n in range(6)]
    assert lows == sorted(lows)
    assert len(set(lows)) == 6


def test_one_of_one_does_not_outrank_forty_seven_of_fifty():
    proven = [evidence(SUCCESS if i % 17 else FAILURE, hours=i) for i in range(50)]
    assert sum(item.outcome is SUCCESS for item in proven) == 47
    assert reliability_score(reliability(proven)) > reliability_score(reliability([evidence()]))


def test_a_thousand_self_reported_successes_move_nothing():
    claims = [evidence(SUCCESS, Grade.SELF, hours=i) for i in range(1000)]
    for proof in ([], [evidence(SUCCESS, hours=1)], [evidence(FAILURE, hours=1)], [evidence(FAILURE, Grade.SELF)]):
        before, after = reliability(proof), reliability([*proof, *claims])
        assert (after.low, after.high, reliability_score(after)) == (before.low, before.high, reliability_score(before))
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
    assert reliability_score(known) < NEUTRAL


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
    reported_otherwise = [evidence(SUCCESS, use="u_1"), evidence(FAILURE, Grade.HUMAN, use="u_1", hours=1)]
    assert reliability(reported_otherwise).successes == pytest.approx(1)
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
    assert reliability_score(good) == good.low > 0.8
    assert reliability_score(bad) == bad.high < 0.2
    assert reliability_score(mixed) == NEUTRAL


def test_results_without_a_use_are_distinguished_by_their_attempt():
    of_one = [replace(evidence(hours=hour), use_id="", trajectory_id="t_1", id="") for hour in range(3)]
    assert reliability(of_one).trials == pytest.approx(1)
    of_none = [replace(evidence(hours=hour), use_id="", id="") for hour in range(3)]
    assert reliability(of_none).trials > 2.9


def test_of_two_verified_results_at_one_moment_the_one_reported_last_counts():
    good, bad = evidence(SUCCESS, use="u_1"), evidence(FAILURE, use="u_1")
    assert reliability([good, bad]).successes == 0
    assert reliability([bad, good]).successes == pytest.approx(1)


def test_a_verified_success_that_came_later_takes_the_place_of_a_failure():
    result_of = [evidence(FAILURE, use="u_1"), evidence(SUCCESS, use="u_1", hours=1)]
    assert reliability(result_of).successes == reliability(reversed(result_of)).successes == pytest.approx(1)


def test_a_version_is_confirmed_by_further_attempts_and_by_verified_uses_that_worked():
    version = stored().version
    mined = replace(version, provenance=Provenance(trajectory_ids=("t_1", "t_2", "t_3")), id="")
    unsourced = replace(version, provenance=Provenance(), id="")
    uses = [
        evidence(SUCCESS, use="u_1"), evidence(SUCCESS, use="u_1", hours=1), evidence(SUCCESS, Grade.HUMAN, use="u_2"),
        evidence(FAILURE, use="u_3"), evidence(PARTIAL, use="u_4"),
        evidence(FAILURE, use="u_6"), evidence(SUCCESS, Grade.SELF, use="u_5"),
    ]  # fmt: skip
    assert prominence_of(mined, [])[0] == 2
    assert prominence_of(version, [])[0] == prominence_of(unsourced, [])[0] == 0
    assert prominence_of(version, uses)[0] == 2
    assert prominence_of(mined, uses)[0] == 4


# --- what is enough -------------------------------------------------------------------------------------------------


def test_nothing_is_claimed_before_three_votes():
    known = [reliability(evidence(hours=hour) for hour in range(count)).known for count in range(5)]
    assert known == [False, False, False, True, True]
    assert reliability_score(reliability(evidence(hours=hour) for hour in range(3))) > NEUTRAL


def test_self_reports_make_nothing_known():
    assert not reliability(evidence(FAILURE, Grade.SELF, hours=hour) for hour in range(50)).known


# --- who is credited ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("following", [Following.PARTLY, Following.IGNORED, Following.CONTRADICTED])
def test_runs_that_did_not_follow_a_version_say_nothing_of_it(following):
    rows = [result_of(FAILURE, hours=hour, following=following) for hour in range(9)]
    assert votes(rows) == []
    assert reliability(rows) == reliability([])


def test_runs_that_followed_it_or_were_reported_to_are_credited():
    rows = [result_of(hours=1, following=Following.FOLLOWED), result_of(hours=2, following=None)]
    assert votes(rows) == rows


def test_runs_that_it_was_held_back_from_say_nothing_of_it():
    assert votes([result_of(control=True), result_of(hours=1, control=True, following=Following.FOLLOWED)]) == []
    assert reliability([result_of(FAILURE, Grade.SELF, control=True)]) == reliability([])


def test_a_run_that_did_not_follow_does_not_take_the_place_of_one_that_did():
    followed = result_of(task="t", use_id="u_1", following=Following.FOLLOWED)
    ignored = result_of(FAILURE, hours=1, task="t", use_id="u_2", following=Following.IGNORED)
    assert votes([followed, ignored]) == [followed]


# --- votes ----------------------------------------------------------------------------------------------------------


def test_one_principal_has_one_vote_for_one_task():
    first = result_of(task="t", principal="ann", use_id="u_1")
    second = result_of(FAILURE, hours=1, task="t", principal="ann", use_id="u_2")
    assert votes([second, first]) == [second], "the latest"
    assert votes([first, replace(second, principal="bob")]) == [first, replace(second, principal="bob")]
    assert votes([first, replace(second, task="another")]) == [first, replace(second, task="another")]
    by_hand = result_of(FAILURE, Grade.HUMAN, hours=2, task="t", principal="ann", use_id="u_3")
    assert votes([first, by_hand]) == [first], "the best grade"


def test_a_run_that_was_reported_twice_has_one_vote_even_if_one_report_names_no_task():
    named = result_of(task="t", principal="ann", use_id="u_1")
    unnamed = result_of(FAILURE, Grade.SELF, hours=1, use_id="u_1")
    assert votes([named, unnamed]) == [named]
    assert reliability([named, unnamed]) == reliability([named])


def test_votes_come_in_order_of_time_and_without_claims():
    rows = [evidence(hours=3), evidence(FAILURE, hours=1), evidence(SUCCESS, Grade.SELF, hours=2), evidence(UNKNOWN)]
    assert votes(rows) == [rows[1], rows[0]]


# --- principals -----------------------------------------------------------------------------------------------------


def test_no_principal_has_more_than_a_third_where_three_or_more_speak():
    good = [*results_by("bob", 10), *results_by("cyd", 10)]
    flooded = reliability([*good, *results_by("ann", 100, FAILURE)])
    assert flooded.successes / flooded.trials == pytest.approx(2 / 3, abs=0.01)
    one_of_two = reliability([*results_by("bob", 10), *results_by("ann", 100, FAILURE)])
    assert one_of_two.successes / one_of_two.trials == pytest.approx(1 / 2, abs=0.01)


def test_a_single_principal_is_not_cut():
    assert reliability(results_by("ann", 20)).trials == pytest.approx(reliability(results_by("", 20)).trials)


def test_the_first_vote_of_a_newcomer_does_not_undo_what_another_found():
    alone, joined = reliability(results_by("ann", 20)), reliability([*results_by("ann", 20), *results_by("bob", 1)])
    assert PRINCIPAL_FREE < joined.trials < PRINCIPAL_FREE + 1
    assert joined.known
    assert NEUTRAL < reliability_score(joined) < reliability_score(alone)


def test_the_claimed_failures_of_one_principal_weigh_only_so_much():
    proof = results_by("ann", 20)
    some, many = (reliability([*proof, *results_by("eve", count, FAILURE, grade=Grade.SELF)]) for count in (6, 1000))
    assert some.low == many.low
    assert reliability_score(many) > NEUTRAL
    assert many.trials == reliability(proof).trials
    unmeasured = reliability(results_by("eve", 1000, FAILURE, grade=Grade.SELF))
    assert (
        unmeasured.high == reliability(results_by("eve", int(2 * DOUBTS_MAX), FAILURE, grade=Grade.SELF)).high < NEUTRAL
    )
    two = [*results_by("eve", 1000, FAILURE, grade=Grade.SELF), *results_by("mal", 1000, FAILURE, grade=Grade.SELF)]
    assert reliability(two).high < unmeasured.high


# --- keys -----------------------------------------------------------------------------------------------------------


def of_model(model: str, count: int, outcome: Outcome, *, scope: str = "") -> list[Evidence]:
    return [
        result_of(outcome, hours=at, model=model, scope=scope, use_id=f"u_{model}_{scope}_{at}", task=f"{at}")
        for at in range(count)
    ]


def test_results_from_elsewhere_are_used_where_a_model_or_a_scope_has_none():
    rows = of_model("large", 8, SUCCESS, scope="project:a")
    assert reliability(rows, model="small") == reliability(rows)
    assert reliability(rows, scope="project:b") == reliability(rows)
    assert reliability([], model="small", scope="project:b") == reliability([])


def test_sparse_evidence_of_a_model_is_shrunk_towards_the_whole():
    others = of_model("large", 40, SUCCESS)
    shares = []
    for count in (0, 1, 3, 10, 20):
        seen = reliability([*others, *of_model("small", count, FAILURE)], model="small")
        shares.append(seen.successes / seen.trials)
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1
    assert shares[1] > 0.9, "one failure of its own says little against forty successes"
    assert shares[2] > 0.7
    assert shares[3] < 0.2
    assert shares[4] < 0.01


def test_the_same_model_elsewhere_is_nearer_than_another_model_here():
    rows = [*of_model("small", 8, FAILURE, scope="project:b"), *of_model("large", 8, SUCCESS, scope="project:a")]
    assert reliability(rows, model="small", scope="project:a").high < 0.5
    assert reliability(rows, scope="project:a").low > 0.5
    own = [*rows, *of_model("small", 8, SUCCESS, scope="project:a")]
    assert reliability(own, model="small", scope="project:a").low > 0.5


def test_one_task_done_with_two_models_is_one_vote_for_each_of_them_and_one_on_the_whole():
    rows = [*of_model("large", 1, SUCCESS), result_of(FAILURE, hours=1, model="small", task="0", use_id="u_s")]
    assert [vote.model for vote in votes(rows)] == ["small"]
    assert reliability(rows, model="large").successes == pytest.approx(1)


# --- freshness ------------------------------------------------------------------------------------------------------


def test_a_version_was_last_confirmed_by_its_latest_verified_success():
    version = stored().version
    worked = [evidence(hours=5), evidence(SUCCESS, Grade.HUMAN, hours=7), evidence(hours=6)]
    noise = [
        evidence(FAILURE, hours=9), evidence(SUCCESS, Grade.SELF, hours=10), evidence(PARTIAL, hours=11),
        result_of(hours=12, following=Following.IGNORED), result_of(hours=13, control=True),
    ]  # fmt: skip
    assert prominence_of(version, [*worked, *noise])[1] == later(7)
    assert prominence_of(version, noise)[1] == prominence_of(version, [])[1] == version.created_at == NOW
