"""When a person should review a skill, by the friction and results of its runs; and regressions between versions."""

from __future__ import annotations

import pytest

from tacit.domain.evidence import Evidence, Following, Grade, Outcome
from tacit.domain.lifecycle import coded
from tacit.evidence.friction import Friction, FrictionKind
from tacit.maintain.revision import UsageQuality, regressions, usage_quality
from tests.unit.making import later


def met(kind: FrictionKind = FrictionKind.RETRY, detail: str = "it failed", *, step: int = 0) -> Friction:
    return Friction(kind=kind, step=step, detail=detail, run_step=1)


def result(
    outcome: Outcome = Outcome.SUCCESS,
    *,
    run: str = "",
    grade: Grade = Grade.MACHINE,
    following: Following | None = Following.FOLLOWED,
    task: str = "task",
    control: bool = False,
    hours: float = 0,
) -> Evidence:
    return Evidence(
        version_id="v_1",
        outcome=outcome,
        grade=grade,
        at=later(hours),
        trajectory_id=run,
        use_id=f"u_{run}_{hours}",
        following=following,
        control=control,
        task=task,
    )


def judged(evidence: list[Evidence], met: dict[str, list[Friction]] | None = None) -> UsageQuality:
    """As `refining` asks: with the results that count for reliability."""
    return usage_quality(evidence, met or {})


def test_runs_of_which_only_friction_is_known_count_as_uses() -> None:
    found = usage_quality([result(run="t_1"), result(run="t_2")], {"t_2": [met()], "t_3": [met(), met(step=1)]})
    assert (found.uses, found.met, found.per_use) == (3, 3, 1.0)
    assert found.by_step == {0: {"retry": 2}, 1: {"retry": 1}}
    assert not found.needs_review


def test_a_use_that_was_reported_and_then_seen_in_a_run_is_one_use() -> None:
    signs = Evidence(version_id="v_1", outcome=Outcome.FAILURE, grade=Grade.SELF, at=later(0), use_id="u_t_1_0")
    found = judged([signs, result(run="t_1")], {"t_1": [met()]})
    assert (found.uses, found.verified, found.succeeded) == (1, 1, 1)


def test_three_frictions_per_use_ask_for_review_but_not_those_of_a_single_use() -> None:
    three = [met(), met(step=1), met(step=2)]
    assert not usage_quality([], {"t_1": three}).needs_review
    assert usage_quality([], {"t_1": three, "t_2": three}).reasons == (coded("high_friction", per_use=3.0, uses=2),)
    assert not usage_quality([result(run="t_3")], {"t_1": three, "t_2": three}).needs_review


def test_what_a_run_only_did_otherwise_is_no_friction_of_a_use() -> None:
    other = [met(FrictionKind.DIVERGED)] * 5
    found = usage_quality([], {"t_1": other, "t_2": other})
    assert (found.met, found.needs_review) == (0, False)
    assert found.by_step == {0: {"diverged": 10}}


@pytest.mark.parametrize(("successes", "failures", "asks"), [(2, 1, True), (7, 3, False), (0, 2, False), (0, 3, True)])
def test_low_verified_approval_asks_for_review_once_there_is_enough_evidence(
    successes: int, failures: int, asks: bool
) -> None:
    outcomes = [Outcome.SUCCESS] * successes + [Outcome.FAILURE] * failures
    evidence = [result(outcome, run=f"t_{number}", task=f"task {number}") for number, outcome in enumerate(outcomes)]
    assert judged(evidence).needs_review is asks


def test_self_reports_controls_and_runs_that_went_another_way_say_nothing_of_approval() -> None:
    runs = [f"t_{number}" for number in range(6)]
    for bad in (
        [result(Outcome.FAILURE, run=run, grade=Grade.SELF) for run in runs],
        [result(Outcome.FAILURE, run=run, control=True, following=None) for run in runs],
        [result(Outcome.FAILURE, run=run, following=Following.IGNORED) for run in runs],
        [result(Outcome.FAILURE, run=run, following=Following.PARTLY) for run in runs],
    ):
        assert not judged(bad).needs_review


def test_the_votes_are_those_of_reliability_and_a_repeated_check_is_no_use() -> None:
    again = [result(run=f"t_{n}", task="one", hours=n) for n in range(4)]
    check = Evidence(version_id="v_1", outcome=Outcome.SUCCESS, grade=Grade.MACHINE, at=later(9), verifier="replay")
    found = judged([*again, check])
    assert (found.uses, found.verified, found.succeeded) == (4, 2, 2)


def test_a_theme_of_corrections_is_counted_by_meaning_and_once_per_run() -> None:
    user_message = [
        "No, keep the old edition as well",
        "keep the old edition as well, please",
        "No! Keep the old edition as well",
    ]
    runs = {f"t_{n}": [met(FrictionKind.CORRECTION, text)] * 2 for n, text in enumerate(user_message)}
    found = usage_quality([], runs | {"t_9": [met(FrictionKind.CORRECTION, "use tabs")]})
    assert [count for _, count in found.themes] == [3, 1]
    assert ("repeated_correction", 3) in [(each.code, each.values.get("count")) for each in found.reasons]


def test_review_is_no_longer_asked_for_once_nothing_calls_for_it() -> None:
    evidence = [result(Outcome.FAILURE, run=f"t_{n}", task=f"task {n}") for n in range(3)]
    assert judged(evidence).needs_review
    assert not judged([*evidence, *(result(run=f"t_{n}", task=f"task {n}") for n in range(3, 10))]).needs_review


def test_a_regression_is_a_verified_failure_at_a_task_solved_before() -> None:
    solved, failed = result(task="a"), result(Outcome.FAILURE, task="a", hours=1)
    [found] = regressions([failed], [solved])
    assert (found.task, found.failed, found.solved) == ("a", failed, solved)


def test_no_regression_without_both_sides_verified_and_followed_at_one_task() -> None:
    solved, failed = result(task="a"), result(Outcome.FAILURE, task="a", hours=1)
    assert regressions([failed], [result(task="b")]) == ()
    assert regressions([failed], [result(task="a", grade=Grade.SELF)]) == ()
    assert regressions([failed], [result(task="a", following=Following.IGNORED)]) == ()
    assert regressions([result(Outcome.FAILURE, task="a", following=Following.PARTLY)], [solved]) == ()
    assert regressions([result(Outcome.FAILURE, task="a", control=True)], [solved]) == ()
    assert regressions([result(Outcome.FAILURE, task="")], [result(task="")]) == ()
    assert regressions([failed, result(task="a", hours=2)], [solved]) == ()
