"""The status of a version follows from its votes: trust is earned and lost, and chance does not make it flap."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from tacit.domain.evidence import Evidence, Following, Grade, Outcome
from tacit.domain.lifecycle import LIFECYCLE, Status, Transition, coded
from tacit.maintain.status_changes import (
    STATUS_RULES,
    StatusChange,
    StatusRules,
    VoteRecord,
    admitted_at,
    earned_status,
    staleness_change,
    usefulness_change,
)
from tests.unit.making import NOW, later

TRIAL, TRUSTED, STALE, RETIRED = Status.TRIAL, Status.TRUSTED, Status.STALE, Status.RETIRED


def moved(before: Status | None, after: Status, *, hours: float = 0, by: str = "tacit.tend") -> Transition:
    return Transition(
        version_id="v_1", content_hash="h", before=before, after=after, reason="r", by=by, at=later(hours)
    )


ADMITTED = [moved(None, Status.CANDIDATE, hours=-2), moved(Status.CANDIDATE, TRIAL, hours=-1, by="ann")]


def vote(good: float, hours: float, *, principal: str = "") -> Evidence:
    outcome = {1: Outcome.SUCCESS, 0.5: Outcome.PARTIAL, 0: Outcome.FAILURE}[good]
    return Evidence(
        version_id="v_1", outcome=outcome, grade=Grade.MACHINE, at=later(hours), use_id=f"u{hours}", principal=principal
    )


def votes(signs: str, *, begin: float = 0) -> list[Evidence]:
    """`+`, `-` and `~` for results in order, one an hour."""
    return [vote({"+": 1, "-": 0, "~": 0.5}[sign], begin + hour) for hour, sign in enumerate(signs)]


def judged(
    status: Status, signs: str, *, transitions: list[Transition] | None = None, begin: float = 0
) -> StatusChange:
    found = earned_status(status, transitions or ADMITTED, votes(signs, begin=begin))
    assert found is not None
    return found


def stays(status: Status, signs: str, *, transitions: list[Transition] | None = None, begin: float = 0) -> bool:
    return earned_status(status, transitions or ADMITTED, votes(signs, begin=begin)) is None


# --- trust ----------------------------------------------------------------------------------------------------------


def test_trust_needs_a_minimum_of_votes_however_good_they_are():
    assert stays(TRIAL, "")
    assert stays(TRIAL, "+" * 9)
    found = judged(TRIAL, "+" * 10)
    assert found.after is TRUSTED
    assert found.reason.code == "trust_earned"
    assert found.reason.values == {"low": pytest.approx(0.77, abs=0.01), "high": 1.0, "uses": 10, "line": 0.6}
    assert found.evidence_ids == tuple(each.id for each in votes("+" * 10))


def test_trust_needs_a_lower_bound_and_not_a_mean():
    assert stays(TRIAL, "+-+++-++++")  # 80 %, and yet perhaps only 54 %
    assert judged(TRIAL, "+-+++-++++" * 3).after is TRUSTED


def test_what_is_trusted_stays_so_until_even_the_upper_bound_is_too_low():
    mixed = "++-+-" * 6  # 60 %
    assert stays(TRUSTED, mixed)
    assert stays(TRIAL, mixed), "between the lines nothing moves"
    found = judged(TRUSTED, "+-+--" * 3)
    assert found.after is TRIAL
    assert (found.reason.code, found.reason.values["uses"], found.reason.values["line"]) == ("trust_lost", 15, 0.7)


def test_a_few_failures_after_trust_was_given_by_hand_say_nothing_yet():
    assert stays(TRUSTED, "---")


def test_trust_that_was_lost_is_earned_again():
    lost = [*ADMITTED, moved(TRIAL, TRUSTED, hours=30), moved(TRUSTED, TRIAL, hours=40)]
    before = votes("+" * 40)
    assert earned_status(TRIAL, lost, before) is None
    assert earned_status(TRIAL, lost, [*before, *votes("+" * 9, begin=41)]) is None
    again = earned_status(TRIAL, lost, [*before, *votes("+" * 10, begin=41)])
    assert again is not None
    assert again.after is TRUSTED


# --- retiring -------------------------------------------------------------------------------------------------------


def test_what_fails_clearly_is_retired_with_its_figures():
    found = judged(TRIAL, "-" * 20)
    assert found.after is RETIRED
    assert found.reason.code == "below_retirement_line"
    assert found.reason.values == {"low": 0.0, "high": pytest.approx(0.14, abs=0.01), "uses": 20, "line": 0.7}
    assert stays(TRIAL, "-" * 4), "four failures may be chance"
    assert judged(TRUSTED, "+-" * 60).after is RETIRED
    assert judged(TRIAL, "~" * 60).after is RETIRED, "a partial success is half of one"


def test_what_works_at_the_line_is_kept():
    assert stays(TRIAL, "+++-++-++-" * 10)


def test_what_was_clear_once_stays_clear_whenever_it_is_looked_at():
    signs = votes("-" * 20)
    assert earned_status(TRIAL, ADMITTED, [*signs, *votes("+" * 5, begin=20)]) is not None
    assert earned_status(TRIAL, ADMITTED, reversed(signs)) == earned_status(TRIAL, ADMITTED, signs)


def test_another_line_and_another_risk_are_followed():
    signs = votes("-" * 7)
    assert earned_status(TRIAL, ADMITTED, signs, rules=StatusRules(alpha=1e-4)) is None
    assert earned_status(TRIAL, ADMITTED, signs, rules=StatusRules(alpha=0.2)) is not None
    assert earned_status(TRIAL, ADMITTED, votes("+--" * 30), rules=StatusRules(line=0.3)) is None


# --- drift ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [TRIAL, TRUSTED])
def test_what_worked_and_suddenly_fails_is_suspended(status):
    found = judged(status, "+" * 30 + "-" * 6)
    assert found.after is STALE
    assert found.reason == coded("sudden_drop", worked=30.0, before=30.0, works=0.0, now=5.0)
    assert len(found.evidence_ids) == 36


def test_a_drop_is_measured_against_the_version_s_own_record():
    assert judged(TRUSTED, "+" * 60 + "-" * 4).after is STALE
    assert stays(TRUSTED, "++++-" * 8 + "----"), "four failures in a row are nothing new for it"
    assert judged(TRUSTED, "++++-" * 12 + "-" * 8).after is STALE


def test_what_never_worked_clearly_has_not_changed():
    assert stays(TRIAL, "++++++----")
    assert judged(TRIAL, "+++---" + "-" * 12).after is RETIRED


def test_what_is_reported_of_a_change_is_the_first_moment_it_was_clear():
    once = judged(TRUSTED, "+" * 30 + "-" * 5)
    assert judged(TRUSTED, "+" * 30 + "-" * 5 + "+" * 40).reason == once.reason


# --- what counts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [each for each in Status if each not in (TRIAL, TRUSTED)])
def test_only_what_is_recallable_has_a_standing_to_lose(status):
    assert stays(status, "-" * 50)
    assert stays(status, "+" * 50)


def test_votes_from_before_a_version_was_let_in_again_do_not_count_again():
    restored = [*ADMITTED, moved(TRIAL, RETIRED, hours=25), moved(RETIRED, TRIAL, hours=26, by="ann")]
    assert admitted_at(restored) == later(26)
    assert earned_status(TRIAL, restored, votes("-" * 20)) is None
    assert judged(TRIAL, "-" * 20, transitions=restored, begin=27).after is RETIRED


def test_a_person_who_puts_a_trusted_version_back_on_trial_begins_again_and_tacit_does_not():
    by_person = [*ADMITTED, moved(TRIAL, TRUSTED, hours=15), moved(TRUSTED, TRIAL, hours=20, by="ann")]
    by_tacit = [*ADMITTED, moved(TRIAL, TRUSTED, hours=15), moved(TRUSTED, TRIAL, hours=20)]
    assert admitted_at(by_person) == later(20)
    assert admitted_at(by_tacit) == later(-1)
    assert admitted_at([]) is None


def test_one_principal_among_many_cannot_end_a_version_as_fast_as_all():
    def failing(who: list[str]) -> int:
        signs: list[Evidence] = []
        for hour in range(60):
            signs.append(vote(0, hour, principal=who[hour % len(who)]))
            if earned_status(TRIAL, ADMITTED, signs) is not None:
                return hour
        return 60

    alone, together = failing(["ann"]), failing(["ann", "bob", "cyd"])
    assert alone == together, "where there is only one, its votes are all there is"
    mostly_one = ["ann", "bob", "cyd", *["ann"] * 57]
    assert failing(mostly_one) > together


def test_every_move_is_one_that_the_lifecycle_allows_and_carries_its_reason_and_votes():
    dice = random.Random(3)
    for _ in range(200):
        chance, status = dice.random(), dice.choice([TRIAL, TRUSTED])
        signs = "".join("+" if dice.random() < chance else "-" for _ in range(dice.randrange(60)))
        found = earned_status(status, ADMITTED, votes(signs))
        if found is not None:
            assert found.after in LIFECYCLE[status]
            assert found.reason.code in {"trust_earned", "trust_lost", "below_retirement_line", "sudden_drop"}
            assert found.evidence_ids == tuple(each.id for each in votes(signs))


def test_reported_one_by_one_or_all_at_once_the_moves_are_the_same():
    dice = random.Random(11)
    for _ in range(40):
        chance = dice.choice([0.4, 0.65, 0.8, 0.95])
        signs = votes("".join("+" if dice.random() < chance else "-" for _ in range(80)))
        assert by_record(signs) == by_standing(signs)


def by_record(signs: list[Evidence]) -> list[tuple[datetime, Status]]:
    record, status, moves = VoteRecord(since=later(-1)), TRIAL, []
    for each in signs:
        record.add(each)
        found = record.status_change(status)
        if found is not None and status in (TRIAL, TRUSTED):
            status = found.after
            moves.append((each.at, status))
            if status is TRIAL:
                record.distrust(each.at)
    return moves


def by_standing(signs: list[Evidence]) -> list[tuple[datetime, Status]]:
    transitions, moves = list(ADMITTED), []
    for number, each in enumerate(signs, 1):
        status = transitions[-1].after
        found = earned_status(status, transitions, signs[:number])
        if found is not None:
            transitions.append(moved(status, found.after, hours=number - 1))
            moves.append((each.at, found.after))
    return moves


def test_the_bounds_of_trust_are_apart_so_that_chance_does_not_move_a_version_to_and_fro():
    assert STATUS_RULES.trusted_from < STATUS_RULES.trusted_until
    dice, changes = random.Random(5), []
    for _ in range(60):
        signs = votes("".join("+" if dice.random() < 0.8 else "-" for _ in range(120)))
        changes.append(len(by_record(signs)))
    assert sum(changes) / len(changes) <= 1.2


# --- staleness ------------------------------------------------------------------------------------------------------

DAY = 24


def stale(signs: list[Evidence], days: float, *, transitions: list[Transition] | None = None) -> StatusChange | None:
    return staleness_change(
        TRIAL, ADMITTED if transitions is None else transitions, signs, now=NOW + timedelta(days=days)
    )


def test_ninety_days_without_a_verified_success_make_a_version_stale():
    signs = votes("+")
    assert stale(signs, 89.9) is None
    found = stale(signs, 90)
    assert found is not None
    assert (found.after, found.evidence_ids) == (STALE, (signs[0].id,))
    assert found.reason == coded("last_success_too_old", days=90, limit=90)


def test_a_failure_does_not_keep_a_version_fresh():
    signs = [*votes("+"), vote(0, 60 * DAY)]
    assert stale(signs, 90) is not None
    assert stale([*signs, vote(1, 80 * DAY)], 90) is None


def test_without_a_success_time_runs_from_when_it_was_let_in():
    assert stale([], 89) is None
    found = stale([], 91)
    assert found is not None
    assert found.reason == coded("never_confirmed", days=91, limit=90)
    assert stale([], 91, transitions=[]) is None, "what was never let in cannot fall behind"


def test_what_a_person_brought_back_has_its_time_again():
    again = [*ADMITTED, moved(TRIAL, STALE, hours=91 * DAY), moved(STALE, TRIAL, hours=92 * DAY, by="ann")]
    assert stale(votes("+"), 100, transitions=again) is None
    found = stale(votes("+"), 183, transitions=again)
    assert found is not None
    assert found.reason == coded("never_confirmed", days=91, limit=90)
    assert staleness_change(STALE, again, [], now=NOW + timedelta(days=900)) is None


# --- value ----------------------------------------------------------------------------------------------------------


def run(following: Following | None, hours: float, *, control: bool = False, share: float = 0.0) -> Evidence:
    return Evidence(
        version_id="v_1", outcome=Outcome.SUCCESS, grade=Grade.MACHINE, at=later(hours), use_id=f"u{hours}",
        following=following, control=control, share=share,
    )  # fmt: skip


IGNORED = [run(Following.IGNORED, hour) for hour in range(12)]


def test_what_is_shown_often_and_never_followed_is_of_no_use():
    found = usefulness_change(TRUSTED, IGNORED, shown=23)
    assert found is not None
    assert found.after is RETIRED
    assert found.reason == coded("never_followed", shown=23, examined=12)
    assert found.evidence_ids == tuple(each.id for each in IGNORED)


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (IGNORED, 19),
        (IGNORED[:9], 40),
        ([], 400),
        ([*IGNORED, run(Following.PARTLY, 50)], 40),
        ([*IGNORED, run(Following.FOLLOWED, 50)], 40),
        ([*IGNORED, run(None, 50)], 40),
        ([*IGNORED[:9], *(run(Following.IGNORED, 50 + hour, control=True) for hour in range(9))], 40),
    ],
)
def test_what_was_shown_seldom_or_followed_once_or_never_looked_at_is_left_alone(rows, shown):
    assert usefulness_change(TRIAL, rows, shown=shown) is None


def test_what_runs_do_better_without_is_of_no_use():
    rows = [run(Following.FOLLOWED, 0, share=0.2), run(None, 1, control=True, share=0.2), run(None, 2)]
    found = usefulness_change(TRUSTED, rows, shown=2, lift=(-0.31, -0.04))
    assert found is not None
    assert found.reason == coded("better_without", least=0.04, most=0.31)
    assert found.evidence_ids == (rows[0].id, rows[1].id)
    assert usefulness_change(TRUSTED, rows, shown=2, lift=(-0.31, 0.0)) is None
    assert usefulness_change(RETIRED, rows, shown=2, lift=(-0.31, -0.04)) is None
