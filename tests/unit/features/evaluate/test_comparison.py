"""Arms are compared on the same exercises, by whole tasks, with nothing hidden in a mean."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Mistake
from tacit.features.evaluate.comparison import (
    ConstantAnswer,
    compare,
    constant_answer,
    correct_tools,
    forgetting,
    forward_transfer,
    margin_over_constant,
    paired,
    points,
)
from tacit.features.evaluate.suite import AttemptScore, Exercise, ResultRow
from tacit.features.evaluate.tool import Call
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


def test_seeds_of_one_exercise_are_averaged_and_reported_apart():
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


def test_everything_that_is_wrong_is_reported_at_once():
    rows = [row("skills"), row("skills", suite="other")]
    with pytest.raises(Mistake) as caught:
        compare(rows, metrics=["beauty"])
    for text in ("beauty", "none", "several suites: other, shop"):
        assert text in str(caught.value)


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


@pytest.mark.parametrize(("value", "text"), [(0.123, "+12.3 points"), (-0.05, "-5.0 points"), (-0.0001, "0.0 points")])
def test_points_carry_their_sign_and_nothing_has_none(value, text):
    assert points(value) == text


TASKS = 80
RIGHT = {f"t{task}#{at}": ("" if at == 3 else f"tool_{task % 4}") for task in range(TASKS) for at in (1, 2, 3)}
"""Three answers a task: two calls of one of four tools, then the end."""


def answering(arm: str, share: float, *, ends: bool = True) -> list[ResultRow]:
    """An arm that knows the tool in this share of the tasks, one in ten of them with arguments; and when to end, or not."""
    found = []
    for place, (key, right) in enumerate(RIGHT.items()):
        good = ends if not right else (place * 7 % 100) / 100 < share
        exact = (good and place % 10 == 0) if right else None
        found.append(row(arm, key, score=AttemptScore(success=good, steps=1, first_right=good, exact=exact)))
    return found


def test_the_floor_is_the_commonest_right_answer():
    assert constant_answer(answering("skills", 0.5), RIGHT) == ConstantAnswer("done", TASKS / len(RIGHT))
    calls_only = [each for each in answering("skills", 0.5) if RIGHT[each.exercise]]
    assert constant_answer(calls_only, RIGHT) == ConstantAnswer("tool_0", 0.25)


def test_there_is_none_where_answers_are_unknown_or_an_attempt_is_more_than_one():
    rows = answering("skills", 0.5)
    assert constant_answer(rows, {key: right for key, right in RIGHT.items() if key != "t3#1"}) is None
    acting = [row("skills", key, score=AttemptScore(success=True, steps=5)) for key in RIGHT]
    assert constant_answer(acting, RIGHT) is None
    assert margin_over_constant(acting, RIGHT) is None


def test_right_answers_are_read_from_exercises():
    call = Exercise(key="a", group="g", task="do it", answer=(Call(tool="cancel"), Call(tool="refund")))
    assert correct_tools([call, Exercise(key="b", group="g", task="do it")]) == {"a": "cancel", "b": ""}


def test_one_tool_for_everything_is_a_floor_of_names_and_not_of_whole_calls():
    right = dict.fromkeys(RIGHT, "bash")

    def calling(arm: str, whole: float) -> list[ResultRow]:
        return [
            row(
                arm,
                key,
                score=AttemptScore(success=True, steps=1, first_right=True, exact=(place * 7 % 100) / 100 < whole),
            )
            for place, key in enumerate(right)
        ]

    adapter = calling("skills+adapter", 0.6)
    margin = margin_over_constant(adapter, right)
    assert margin is not None
    assert (margin.constant, margin.above.value, margin.is_shown) == (ConstantAnswer("bash", 1.0), 0.0, True)
    poor = margin_over_constant(calling("skills+adapter", 0.0), right)
    assert poor is not None
    assert not poor.is_shown


def test_a_tool_that_is_called_done_is_not_the_end():
    right = {key: ("" if key.endswith("#3") else "done") for key in RIGHT}
    rows = [
        row("skills", key, score=AttemptScore(success=bool(tool), steps=1, first_right=bool(tool)))
        for key, tool in right.items()
    ]
    margin = margin_over_constant(rows, right)
    assert margin is not None
    assert margin.constant.success == pytest.approx(2 / 3)
    assert margin.above.value == 0.0
