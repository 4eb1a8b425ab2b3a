"""Arms are compared on the same exercises, by whole tasks, with nothing hidden in a mean."""

from __future__ import annotations

import random

import pytest

from tacit.domain.adapter import AdapterRuling
from tacit.domain.errors import Mistake
from tacit.features.evaluate.comparison import compare, forgetting, forward_transfer, paired, points
from tacit.features.evaluate.suite import AttemptScore
from tacit.features.train.verdict import judge_arm
from tests.raising import raises
from tests.unit.features.evaluate.measured import row, run


def test_an_arm_that_solves_more_is_shown_to_be_better():
    found = compare(run({"none": 0.3, "skills": 0.7})).arm("skills").differences["success"]
    assert found.is_better
    assert not found.is_worse
    assert 0 < found.low < found.value < found.high
    assert found.p_holm < 0.001
    assert (found.groups, found.exercises) == (40, 40)


def test_arms_that_are_alike_differ_by_nothing():
    found = compare(run({"none": 0.5, "skills": 0.5})).arm("skills").differences["success"]
    assert (found.value, found.p, found.is_shown) == (0, 1, False)
    assert found.low < 0 < found.high


def test_fewer_steps_are_better_and_more_are_worse():
    rows = [row(arm, f"t{at}#1", score=row().score.__class__(success=True, steps=steps + at % 3))
            for at in range(30) for arm, steps in (("none", 9), ("skills", 4), ("placebo", 12))]  # fmt: skip
    result = compare(rows, metrics=["steps"])
    assert result.arm("skills").differences["steps"].is_better
    assert result.arm("placebo").differences["steps"].is_worse


def test_the_reference_comes_first_then_known_arms_then_sizes_by_number():
    names = ("adapter@120", "adapter@31", "zebra", "oracle", "none", "skills")
    result = compare(run(dict.fromkeys(names, 0.5), tasks=3), reference="skills")
    assert result.names == ("skills", "none", "oracle", "adapter@31", "adapter@120", "zebra")


def test_p_is_corrected_for_all_arms_and_more_arms_need_a_larger_difference():
    shares = {"none": 0.4, "skills": 0.55}
    alone = compare(run(shares)).arm("skills").differences["success"]
    among = compare(run({**shares, "oracle": 0.5, "placebo": 0.4, "adapter": 0.4})).arm("skills").differences["success"]
    assert among.p == alone.p == alone.p_holm
    assert among.p_holm == pytest.approx(4 * among.p)
    assert among.detectable > alone.detectable


def test_seeds_of_one_exercise_are_averaged_and_told_apart():
    rows = [row("none", f"t{at}#1", success=False, seed=seed) for at in range(30) for seed in (0, 1)]
    rows += [row("skills", f"t{at}#1", success=seed == 1, seed=seed) for at in range(30) for seed in (0, 1)]
    found = compare(rows).arm("skills").differences["success"]
    assert found.value == 0.5
    assert found.by_seed == {0: 0.0, 1: 1.0}
    assert found.groups == 30


def test_exercises_of_one_task_count_as_one_group():
    found = compare(run({"none": 0.3, "skills": 0.6}, tasks=10, each=5)).arm("skills").differences["success"]
    assert (found.groups, found.exercises) == (10, 50)


def test_what_only_one_side_attempted_is_left_out_and_counted():
    rows = [*run({"none": 0.5, "skills": 0.5}, tasks=10), row("skills", "alone#1")]
    figures = compare(rows).arm("skills")
    assert figures.unpaired == 1
    assert figures.differences["success"].exercises == 10


def test_regressions_and_gains_are_listed_worst_first_with_what_the_arm_did():
    rows = [
        row("none", "a#1"),
        row("none", "b#1"),
        row("none", "b#1", success=False, seed=1),
        row("none", "c#1", success=False),
    ]
    rows += [row("skills", "a#1", success=False), row("skills", "b#1", success=False), row("skills", "c#1")]
    figures = compare(rows).arm("skills")
    assert [(c.exercise, c.reference, c.arm, c.detail) for c in figures.regressions] == [
        ("a#1", 1.0, 0.0, "stopped too early"),
        ("b#1", 0.5, 0.0, "stopped too early"),
    ]
    assert [c.exercise for c in figures.gains] == ["c#1"]


def test_a_metric_that_nobody_can_tell_is_left_out():
    rows = [
        row(arm, f"t{at}#1", score=row().score.__class__(success=True)) for at in range(3) for arm in ("none", "skills")
    ]
    result = compare(rows)
    assert "first_right" not in result.metrics
    assert "first_right" not in result.arm("skills").means


def test_everything_that_is_wrong_is_told_at_once():
    rows = [row("skills"), row("skills", suite="other")]
    with pytest.raises(Mistake) as caught:
        compare(rows, metrics=["beauty"])
    for said in ("beauty", "none", "several suites: other, shop"):
        assert said in str(caught.value)


def test_no_rows_are_refused():
    with raises(Mistake, "cannot_compare"):
        compare([])


def test_an_unknown_arm_is_refused_with_those_that_there_are():
    with raises(Mistake, "no_arm") as caught:
        compare(run({"none": 0.5}, tasks=2)).arm("oracle")
    assert "none" in caught.value.hint


def test_sides_without_a_shared_exercise_have_no_difference():
    assert paired([row("a", "x#1")], [row("b", "y#1")]) is None


def test_arms_that_disagree_on_the_task_of_an_exercise_are_not_compared():
    rows = [row(arm, f"t{at}#1", group=f"{arm if at < 4 else ''}{at}") for at in range(9) for arm in ("none", "skills")]
    with raises(Mistake, "cannot_compare"):
        compare(rows)
    ours = [each for each in rows if each.arm == "skills"]
    with raises(Mistake, "split_groups"):
        paired(ours, [each for each in rows if each.arm == "none"])
    assert compare(ours, reference="skills").groups == 9


def test_forward_transfer_is_the_adapter_less_nothing():
    found = forward_transfer(run({"none": 0.2, "adapter": 0.6, "skills": 0.9}))
    assert found is not None
    assert found.value == pytest.approx(0.4, abs=0.2)
    assert found.is_better


def test_what_was_forgotten_is_before_less_after():
    found = forgetting(run({"adapter": 0.8}), run({"adapter": 0.4}))
    assert found is not None
    assert found.value > 0.2


# --- judgement ------------------------------------------------------------------------------------------------------


def against_skills(with_adapter: float, *, skills: float = 0.3, tasks: int = 60):
    return compare(run({"skills": skills, "skills+adapter": with_adapter}, tasks=tasks), reference="skills")


def test_better_at_home_is_better_and_says_that_nothing_was_measured_elsewhere():
    ruling, reason = judge_arm(against_skills(0.7))
    assert ruling is AdapterRuling.BETTER
    assert "nothing was measured elsewhere" in reason


def test_worse_is_worse():
    assert judge_arm(against_skills(0.3, skills=0.7))[0] is AdapterRuling.WORSE


def exactly(shares: dict[str, tuple[float, float]], tasks: int = 60):
    """Arms with a share of right tools and a share of wholly right calls."""
    rows = []
    for task in range(tasks):
        luck = random.Random(task).random()
        rows += [
            row(arm, f"t{task}#1", score=AttemptScore(success=luck < right, exact=luck < exact))
            for arm, (right, exact) in shares.items()
        ]
    return compare(rows, reference="skills")


def test_right_tools_with_worse_arguments_are_worse_and_both_figures_are_told():
    ruling, reason = judge_arm(exactly({"skills": (0.4, 0.4), "skills+adapter": (0.9, 0.0)}))
    assert ruling is AdapterRuling.WORSE
    assert "success changes by +" in reason
    assert "wholly right calls by -" in reason
    assert judge_arm(exactly({"skills": (0.4, 0.4), "skills+adapter": (0.9, 0.8)}))[0] is AdapterRuling.BETTER


def test_a_notable_loss_of_right_arguments_that_is_not_ruled_out_leaves_it_open():
    ruling, reason = judge_arm(exactly({"skills": (0.3, 0.3), "skills+adapter": (0.9, 0.24)}))
    assert ruling is AdapterRuling.TOO_LITTLE
    assert "not ruled out" in reason


def test_right_tools_without_one_wholly_right_call_prove_nothing():
    ruling, reason = judge_arm(exactly({"skills": (0.1, 0.0), "skills+adapter": (0.9, 0.0)}))
    assert ruling is AdapterRuling.TOO_LITTLE
    assert "not one call was wholly right" in reason


def test_worse_arguments_elsewhere_are_a_loss_elsewhere():
    elsewhere = exactly({"skills": (0.8, 0.7), "skills+adapter": (0.8, 0.1)})
    ruling, reason = judge_arm(against_skills(0.7), elsewhere)
    assert ruling is AdapterRuling.WORSE_ELSEWHERE
    assert "shop wholly right calls by -" in reason


def test_too_few_tasks_are_never_judged():
    ruling, reason = judge_arm(against_skills(0.9, skills=0.1, tasks=29))
    assert ruling is AdapterRuling.TOO_LITTLE
    assert "29 tasks" in reason


def test_no_better_is_said_only_where_a_notable_difference_would_have_been_seen():
    assert judge_arm(against_skills(0.32, tasks=60))[0] is AdapterRuling.TOO_LITTLE
    assert judge_arm(against_skills(0.32, tasks=200))[0] is AdapterRuling.NO_BETTER
    few = run({"skills": 0.3}, tasks=40) + run({"skills+adapter": 0.32}, tasks=40, dice=2)
    ruling, reason = judge_arm(compare(few, reference="skills"))
    assert ruling is AdapterRuling.TOO_LITTLE
    assert "would be found" in reason


def test_a_loss_elsewhere_outweighs_a_gain_at_home():
    elsewhere = compare(run({"skills": 0.9, "skills+adapter": 0.4}), reference="skills")
    ruling, reason = judge_arm(against_skills(0.7), elsewhere)
    assert ruling is AdapterRuling.WORSE_ELSEWHERE
    assert "shop" in reason


def test_a_loss_elsewhere_that_is_not_ruled_out_leaves_it_open():
    unlike = run({"skills": 0.5}, tasks=30) + run({"skills+adapter": 0.5}, tasks=30, dice=2)
    ruling, reason = judge_arm(against_skills(0.7), compare(unlike, reference="skills"))
    assert ruling is AdapterRuling.TOO_LITTLE
    assert "not ruled out" in reason


def test_a_guard_that_measured_nothing_rules_no_loss_out():
    apart = [row("skills", f"a{at}#1") for at in range(40)] + [row("skills+adapter", f"b{at}#1") for at in range(40)]
    for unmeasured in (apart, run({"skills": 0.5}, tasks=40)):
        ruling, reason = judge_arm(against_skills(0.7), compare(unmeasured, reference="skills"))
        assert ruling is AdapterRuling.TOO_LITTLE
        assert "no exercise of shop was attempted under both" in reason


def test_better_without_a_loss_elsewhere_is_better():
    elsewhere = compare(run({"skills": 0.5, "skills+adapter": 0.5}, tasks=80), reference="skills")
    assert judge_arm(against_skills(0.7), elsewhere) == (
        AdapterRuling.BETTER,
        judge_arm(against_skills(0.7), elsewhere)[1],
    )


def test_among_several_arms_the_one_to_judge_must_be_named():
    result = compare(run({"none": 0.3, "skills": 0.5, "adapter": 0.8}, tasks=60))
    with raises(Mistake, "no_arm"):
        judge_arm(result)
    assert judge_arm(result, arm="adapter")[0] is AdapterRuling.BETTER


@pytest.mark.parametrize(("value", "said"), [(0.123, "+12.3 points"), (-0.05, "-5.0 points"), (-0.0001, "0.0 points")])
def test_points_carry_their_sign_and_nothing_has_none(value, said):
    assert points(value) == said
