"""Everyday requests: many, always the same, each with one right tool among six."""

from __future__ import annotations

from collections import Counter

from tacit.features.evaluate.suites.everyday import EverydaySuite
from tacit.features.evaluate.tool import Call


def test_there_are_enough_groups_to_rule_out_a_notable_loss() -> None:
    exercises = EverydaySuite().exercises()
    assert (len(exercises), len({each.group for each in exercises})) == (240, 120)
    assert len({each.key for each in exercises}) == 240
    assert list(EverydaySuite().exercises()) == list(exercises), "the same every time"


def test_the_right_tool_is_offered_once_and_at_every_place() -> None:
    places: Counter[int] = Counter()
    for exercise in EverydaySuite().exercises():
        names = [tool.name for tool in exercise.tools]
        assert len(set(names)) == len(names) == 6
        places[names.index(exercise.answer[0].tool)] += 1
        assert "{" not in exercise.task
    assert min(places[place] for place in range(6)) > 20, "a model that always takes one place gains nothing by it"


def test_the_tool_decides() -> None:
    suite = EverydaySuite()
    exercise = suite.exercises()[0]
    right, wrong = suite.begin(exercise), suite.begin(exercise)
    right.call(exercise.answer[0].tool, to="Mara")
    wrong.call(next(tool.name for tool in exercise.tools if Call(tool=tool.name) not in exercise.answer))
    assert (right.score().success, wrong.score().success) == (True, False)


def test_nobody_can_tell_whether_the_arguments_of_an_everyday_call_are_right() -> None:
    suite = EverydaySuite()
    exercise = suite.exercises()[0]
    for arguments in ({}, {"to": "Mara", "text": "We meet on Monday."}):
        world = suite.begin(exercise)
        world.call(exercise.answer[0].tool, **arguments)
        score = world.score()
        assert (score.success, score.exact, score.detail) == (True, None, "right tool")
