"""One answer to everything is the least that must be beaten, and an adapter that says no more than that is not better."""

from __future__ import annotations

import pytest

from tacit.domain.adapter import AdapterRuling
from tacit.domain.tool import Call
from tacit.features.evaluate.comparison import (
    ConstantAnswer,
    compare,
    constant_answer,
    correct_tools,
    margin_over_constant,
)
from tacit.features.evaluate.suite import AttemptScore, Exercise, ResultRow
from tacit.features.train.verdict import judge_arm
from tests.unit.features.evaluate.measured import row

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


@pytest.mark.parametrize(("known", "ruling"), [(0.02, AdapterRuling.TOO_LITTLE), (0.6, AdapterRuling.BETTER)])
def test_who_only_learned_to_end_beats_a_model_without_form_and_is_not_better(known: float, ruling: AdapterRuling):
    rows = [*answering("skills", 0.0, ends=False), *answering("skills+adapter", known)]
    result = compare(rows, reference="skills")
    margin = margin_over_constant([each for each in rows if each.arm == "skills+adapter"], RIGHT)
    assert judge_arm(result)[0] is AdapterRuling.BETTER  # without a floor, the form is enough
    found, reason = judge_arm(result, margin=margin)
    assert found is ruling
    assert ("done as the answer to everything has 33.3 % success" in reason) == (ruling is not AdapterRuling.BETTER)


def test_who_is_below_the_floor_is_no_better():
    rows = [*answering("skills", 0.0, ends=False), *answering("skills+adapter", 0.3, ends=False)]
    margin = margin_over_constant([each for each in rows if each.arm == "skills+adapter"], RIGHT)
    assert margin is not None
    assert margin.above.is_worse
    assert judge_arm(compare(rows, reference="skills"))[0] is AdapterRuling.BETTER
    found, reason = judge_arm(compare(rows, reference="skills"), margin=margin)
    assert found is AdapterRuling.NO_BETTER
    assert "beside that it is -" in reason


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
    assert (margin.floor, margin.above.value, margin.is_shown) == (ConstantAnswer("bash", 1.0), 0.0, True)
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
    assert margin.floor.success == pytest.approx(2 / 3)
    assert margin.above.value == 0.0
