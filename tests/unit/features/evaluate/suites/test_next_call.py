"""A suite of next calls: what is asked, what counts as right, and that an attempt leaves no trace."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tacit.domain.trajectory import Role, Step, StepResult, Task, Trajectory
from tacit.features.evaluate.suite import Exercise, Suite, World
from tacit.features.evaluate.suites.next_call import (
    EXACT,
    LATER,
    OTHER_ARGUMENTS,
    RIGHTLY_DONE,
    SILENT,
    STOPPED,
    UNKNOWN,
    WENT_ON,
    WRONG,
    NextCallSuite,
    NextCallWorld,
)
from tacit.features.evaluate.tool import Call, Tool

TOOLS = [Tool(name="find", required=("name",)), Tool(name="pay", required=("order",)), Tool(name="send")]


def solved_attempt(*calls: tuple[str, dict[str, str]], failed: Sequence[int] = (), session: str = "s-1") -> Trajectory:
    steps = [Step(index=0, role=Role.USER, text="pay my order")]
    for index, (tool, arguments) in enumerate(calls, start=1):
        result = StepResult.FAILED if index - 1 in failed else StepResult.OK
        steps.append(
            Step(
                index=index, role=Role.AGENT, tool=tool, arguments=arguments, observation=f"seen {index}", result=result
            )
        )
    return Trajectory(task=Task(text="pay my order"), steps=tuple(steps), session_id=session)


FOUND_AND_PAID = solved_attempt(("find", {"name": "ann"}), ("pay", {"order": "7"}))


def suite(*trajectories: Trajectory) -> NextCallSuite:
    return NextCallSuite("orders", trajectories or [FOUND_AND_PAID], TOOLS)


def test_every_call_is_asked_for_and_then_the_end() -> None:
    first, second, end = suite().exercises()
    assert [each.key for each in (first, second, end)] == ["s-1/0", "s-1/1", "s-1/2"]
    assert {each.group for each in (first, second, end)} == {"s-1"}
    assert first.turns == ()
    assert [turn.call.tool for turn in end.turns] == ["find", "pay"]
    assert second.turns[0].observation == "seen 1"
    assert second.answer == (Call(tool="pay", arguments={"order": "7"}),)
    assert [call.tool for call in first.answer] == ["find", "pay"]  # the oracle tells what is left to do
    assert end.answer == ()


def test_the_end_is_not_asked_for_where_attempts_are_only_beginnings() -> None:
    shorten = NextCallSuite("orders", [FOUND_AND_PAID], TOOLS, ends=False)
    assert [each.key for each in shorten.exercises()] == ["s-1/0", "s-1/1"]


def test_a_call_that_failed_is_shown_and_is_nobodys_answer() -> None:
    asked = suite(
        solved_attempt(("pay", {}), ("find", {"name": "ann"}), ("pay", {"order": "7"}), failed=[0])
    ).exercises()
    assert [each.key for each in asked] == ["s-1/1", "s-1/2", "s-1/3"]
    assert asked[0].turns[0].failed
    assert [call.tool for call in asked[0].answer] == ["find", "pay"]


def test_an_attempt_without_a_call_that_worked_asks_nothing() -> None:
    assert suite(solved_attempt()).exercises() == ()
    assert suite(solved_attempt(("pay", {}), failed=[0])).exercises() == ()


def test_tools_keys_and_groups_can_be_looked_up_for_each_attempt() -> None:
    two = [solved_attempt(("send", {}), session="a-1"), solved_attempt(("send", {}), session="a-2")]
    made = NextCallSuite(
        "orders",
        two,
        lambda trajectory: TOOLS[: int(trajectory.session_id[-1])],
        key=lambda trajectory: trajectory.session_id.upper(),
        group=lambda trajectory: trajectory.session_id[0],
    ).exercises()
    assert [each.key for each in made] == ["A-1/0", "A-1/1", "A-2/0", "A-2/1"]
    assert [len(each.tools) for each in made] == [1, 1, 2, 2]
    assert {each.group for each in made} == {"a"}


def begun(at: int = 0) -> NextCallWorld:
    made = suite()
    return made.begin(made.exercises()[at])


@pytest.mark.parametrize(
    ("at", "tool", "arguments", "right", "detail"),
    [
        (0, "find", {"name": "ann"}, True, EXACT),
        (0, "find", {"name": "ben"}, True, OTHER_ARGUMENTS),
        (0, "pay", {"order": "7"}, False, LATER),
        (0, "send", {}, False, WRONG),
        (0, "steal", {}, False, UNKNOWN),
        (2, "send", {}, False, WENT_ON),
    ],
)
def test_the_right_tool_is_a_success_and_the_detail_says_the_rest(
    at: int, tool: str, arguments: dict[str, str], right: bool, detail: str
) -> None:
    world = begun(at)
    world.call(tool, **arguments)
    score = world.score()
    assert world.over
    assert (score.success, score.first_right, score.detail, score.steps) == (right, right, detail, 1)
    assert score.exact is (None if detail == WENT_ON else detail == EXACT)


def test_the_order_of_arguments_does_not_matter() -> None:
    made = suite(solved_attempt(("find", {"name": "ann", "zip": "1"})))
    world = made.begin(made.exercises()[0])
    world.call("find", zip="1", name="ann")
    assert world.score().detail == EXACT


def test_done_is_right_only_where_nothing_is_left() -> None:
    early, late = begun(0), begun(2)
    early.finish()
    late.finish()
    assert (early.score().success, early.score().detail) == (False, STOPPED)
    assert (late.score().success, late.score().detail, late.score().steps) == (True, RIGHTLY_DONE, 0)


def test_abstaining_is_reported_and_is_no_success_even_at_the_end() -> None:
    world = begun(2)
    why = "no procedure is known"
    world.abstain(why)
    assert world.over
    assert world.score().abstained
    assert not world.score().success
    assert world.score().detail == why


def test_nothing_stated_is_no_success() -> None:
    score = begun(2).score()
    assert (score.success, score.abstained, score.detail) == (False, False, SILENT)


def test_only_the_first_answer_counts() -> None:
    world = begun(0)
    world.call("send")
    assert world.call("find", name="ann") == ("the question was answered before", True)
    world.finish()
    world.abstain("too late")
    score = world.score()
    assert (score.success, score.abstained, score.detail) == (False, False, WRONG)


def test_an_argument_may_be_called_tool() -> None:
    world = begun(0)
    world.call("find", tool="hammer", self="me")
    assert world.score().success


def test_every_fresh_world_of_an_exercise_is_the_same_and_answers_show_in_it() -> None:
    fresh, other, used = begun(0), begun(0), begun(0)
    used.call("find", name="ann")
    assert fresh.state() == other.state()
    assert used.state() != fresh.state()
    assert begun(1).state() != fresh.state()


def test_it_is_a_suite_and_its_worlds_are_worlds() -> None:
    made: Suite = suite()
    exercise: Exercise = made.exercises()[0]
    world: World = made.begin(exercise)
    assert (world.task, list(world.tools), list(world.turns)) == ("pay my order", TOOLS, [])
