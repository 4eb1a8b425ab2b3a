"""Failure analysis: the kind of failure and the first wrong step, by a success at the same task; and the resulting pitfalls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tacit.domain.skill import Pitfall, SkillStep
from tacit.domain.trajectory import Role, Span, Step, StepResult, Task, Trajectory
from tacit.learn.mining.failures import (
    FailureCause,
    FailureKind,
    explain_failure,
    found_pitfalls,
    hands_over,
)

BOOKING = "Book the green room for ten people and tell the caretaker."


def call(tool: str, *, seen: str = "done", result: StepResult = StepResult.OK, **arguments: Any) -> Step:
    return Step(index=0, role=Role.AGENT, tool=tool, arguments=arguments, observation=seen, result=result)


def refused(tool: str, **arguments: Any) -> Step:
    return call(tool, seen="Error: not now", result=StepResult.FAILED, **arguments)


def pitfalls(steps: Sequence[SkillStep], causes: Sequence[FailureCause]) -> tuple[Pitfall, ...]:
    return tuple(found.pitfall for found in found_pitfalls(steps, causes))


def says(text: str, role: Role = Role.USER) -> Step:
    return Step(index=0, role=role, text=text)


def run(*steps: Step, task: str = BOOKING) -> Trajectory:
    spoken_and_done = (says(task), *steps)
    numbered = (
        Step(
            index=index,
            role=step.role,
            text=step.text,
            tool=step.tool,
            arguments=step.arguments,
            observation=step.observation,
            result=step.result,
        )
        for index, step in enumerate(spoken_and_done)
    )
    return Trajectory(task=Task(text=task), steps=tuple(numbered))


ROOMS = call("list_rooms", seen='[{"room_id": "room-0412"}, {"room_id": "room-0977"}]')
BOOK = call("book_room", room_id="room-0412", people=10)
TELL = call("send_note", to="caretaker", text="Ten people on Friday")
LEAVE = call("escalate_to_staff", reason="I cannot do this")
GOOD = run(ROOMS, BOOK, TELL)


def test_a_run_that_only_looked_did_not_act() -> None:
    found = explain_failure(run(ROOMS), [GOOD])
    assert (found.kind, found.step) == (FailureKind.NO_ACTION, None)
    assert found.missing == (
        "book_room",
        "send_note",
    )


def test_a_change_that_successes_have_and_the_run_lacks_is_missing() -> None:
    found = explain_failure(run(ROOMS, BOOK), [GOOD, GOOD])
    assert (found.kind, found.step) == (FailureKind.MISSING_STEP, None)
    assert found.missing == ("send_note",)
    assert found.spans == (Span(GOOD.id, 3, "arguments"),)


def test_a_change_beyond_those_of_successes_is_extra() -> None:
    found = explain_failure(run(ROOMS, BOOK, call("order_lunch", people=10), TELL), [GOOD])
    assert (found.kind, found.step, found.tool) == (FailureKind.EXTRA_STEP, 3, "order_lunch")
    assert found.spans[0].step == 3


def test_one_change_instead_of_another_is_the_wrong_tool() -> None:
    found = explain_failure(run(ROOMS, call("reserve_desk", room_id="room-0412"), TELL), [GOOD])
    assert (found.kind, found.step, found.tool) == (FailureKind.WRONG_TOOL, 2, "reserve_desk")
    assert found.missing == ("book_room",)


def test_wrong_arguments_are_named_and_no_value_is() -> None:
    failed = run(ROOMS, call("book_room", room_id="room-0977", people=10), TELL)
    found = explain_failure(failed, [GOOD])
    assert (found.kind, found.step, found.keys) == (FailureKind.WRONG_ARGUMENTS, 2, ("room_id",))
    assert found.spans == (Span(failed.id, 2, "arguments"), Span(GOOD.id, 2, "arguments"))
    assert "room-0977" not in repr(found)


def test_the_same_changes_leave_only_the_end_to_blame() -> None:
    found = explain_failure(run(BOOK, ROOMS, TELL, says("All done, room 9.", Role.AGENT)), [GOOD])
    assert (found.kind, found.step) == (FailureKind.WRONG_END, None)
    assert found.spans


def test_a_needless_hand_over_is_at_fault_itself() -> None:
    found = explain_failure(run(ROOMS, BOOK, LEAVE), [GOOD])
    assert (found.kind, found.step, found.tool) == (FailureKind.WRONG_END, 3, "escalate_to_staff")


def test_a_hand_over_that_successes_make_too_is_not_at_fault() -> None:
    found = explain_failure(run(ROOMS, LEAVE), [run(ROOMS, BOOK, LEAVE)])
    assert found.kind is FailureKind.NO_ACTION
    found = explain_failure(run(BOOK, LEAVE), [run(BOOK, TELL, LEAVE)])
    assert (found.kind, found.step) == (FailureKind.MISSING_STEP, None)


@pytest.mark.parametrize("tool", ["escalate", "hand_off", "transferToHuman", "mcp__desk__refer_to_specialist"])
def test_handing_over_is_known_by_its_name(tool: str) -> None:
    assert hands_over(tool)


@pytest.mark.parametrize("tool", ["transfer_money", "forward_port", "assign_label", "support_ticket_create"])
def test_passing_on_something_else_is_a_change(tool: str) -> None:
    assert not hands_over(tool)


def test_lists_of_equal_length_compare_in_any_order() -> None:
    good = run(call("swap_seats", old=["a1", "b2"], new=["c3", "d4"]))
    turned = run(call("swap_seats", old=["b2", "a1"], new=["d4", "c3"]))
    crossed = run(call("swap_seats", old=["a1", "b2"], new=["d4", "c3"]))
    assert explain_failure(turned, [good]).kind is FailureKind.WRONG_END
    assert explain_failure(crossed, [good]).kind is FailureKind.WRONG_ARGUMENTS


def test_an_argument_in_which_successes_differ_is_not_held_against_a_run() -> None:
    other = run(ROOMS, BOOK, call("send_note", to="caretaker", text="A group comes on Friday"))
    failed = run(
        ROOMS,
        call("book_room", room_id="room-0977", people=10),
        call("send_note", to="caretaker", text="Please heat the room"),
    )
    found = explain_failure(failed, [GOOD, other])
    assert (found.kind, found.step, found.keys) == (FailureKind.WRONG_ARGUMENTS, 2, ("room_id",))


def test_most_siblings_decide() -> None:
    lavish = run(ROOMS, BOOK, call("order_lunch", people=10), TELL)
    found = explain_failure(lavish, [lavish, GOOD, GOOD])
    assert (found.kind, found.step) == (FailureKind.EXTRA_STEP, 3)


def test_a_call_that_failed_and_then_worked_unchanged_is_no_fault() -> None:
    failed = run(ROOMS, refused("book_room", room_id="room-0412", people=10), BOOK)
    found = explain_failure(failed, [GOOD])
    assert (found.kind, found.step) == (FailureKind.MISSING_STEP, None)


def test_a_call_that_failed_and_was_tried_with_other_values_is_one_too_many() -> None:
    failed = run(ROOMS, refused("book_room", room_id="room-0977", people=10), BOOK, TELL)
    found = explain_failure(failed, [GOOD])
    assert (found.kind, found.step) == (FailureKind.EXTRA_STEP, 2)


def test_a_temporary_error_is_recognised() -> None:
    failed = run(ROOMS, BOOK, refused("send_note", **TELL.arguments))
    found = explain_failure(failed, [GOOD])
    assert found.kind is FailureKind.WRONG_END
    assert found.temporary
    assert pitfalls(STEPS, [found, found]) == ()


def test_shell_work_is_compared_by_command() -> None:
    def shell(*commands: str) -> Trajectory:
        return run(*(call("Bash", command=command) for command in commands), task="Release it")

    good = shell("git log", "git tag v2", "git push --tags")
    assert explain_failure(shell("git tag v2"), [good]).kind is FailureKind.MISSING_STEP
    found = explain_failure(shell("git log", "git tag v3", "git push --tags"), [good])
    assert (found.kind, found.step) == (FailureKind.WRONG_ARGUMENTS, 2)
    steps = (SkillStep(text="Tag it", tool="Bash", arguments={"command": "git tag {version}"}),)
    assert pitfalls(steps, [found]) == ()


def test_numbers_are_compared_by_value() -> None:
    good = run(call("set_price", amount=120.0))
    assert explain_failure(run(call("set_price", amount=120)), [good]).kind is FailureKind.WRONG_END
    near = run(call("set_price", amount=120.000001))
    assert explain_failure(near, [good]).kind is FailureKind.WRONG_ARGUMENTS


def test_every_cause_points_at_steps_that_exist_and_is_the_same_again() -> None:
    for failed in (run(ROOMS, BOOK), run(ROOMS, LEAVE), run(ROOMS, BOOK, TELL, TELL), run()):
        found = explain_failure(failed, [GOOD])
        steps = {(each.id, step.index) for each in (failed, GOOD) for step in each.steps}
        assert found.spans
        assert all((span.trajectory_id, span.step) in steps for span in found.spans)
        assert found == explain_failure(failed, [GOOD])


def test_a_trajectory_without_steps_is_compared_without_an_error() -> None:
    empty = Trajectory(task=Task(text=""), steps=())
    assert explain_failure(empty, [empty]).kind is FailureKind.WRONG_END


# Pitfalls

STEPS = (
    SkillStep(text="Look for a free room", tool="list_rooms"),
    SkillStep(text="Book it", tool="book_room"),
    SkillStep(text="Tell the caretaker", tool="send_note"),
)


def test_failures_become_pitfalls_with_their_counts() -> None:
    lacking = [run(ROOMS, BOOK), run(ROOMS, ROOMS, BOOK)]
    wrong = run(ROOMS, call("book_room", room_id="room-0977", people=10), TELL)
    blames = [explain_failure(failed, [GOOD]) for failed in (*lacking, wrong)]
    first, second = found_pitfalls(STEPS, blames)
    assert (first.pitfall.kind, first.pitfall.step, first.pitfall.count) == ("missing step", 2, 2)
    assert first.pitfall.text == "Leaving out send_note."
    assert (second.pitfall.kind, second.pitfall.step, second.pitfall.count) == ("wrong arguments", 1, 1)
    assert second.pitfall.text == "Wrong values for room_id of book_room."
    assert Span(wrong.id, 2, "arguments") in second.spans


def test_one_run_counts_once() -> None:
    found = explain_failure(run(ROOMS, BOOK), [GOOD])
    assert [each.count for each in pitfalls(STEPS, [found, found])] == [1]


def test_a_failure_elsewhere_is_no_pitfall_of_this_skill() -> None:
    other = run(call("mow_lawn", width=2), task="cut the grass")
    found = explain_failure(run(ROOMS, task="cut the grass"), [other])
    assert pitfalls(STEPS, [found]) == ()


def test_a_needless_end_and_a_wrong_tool_name_what_was_needed() -> None:
    ended = explain_failure(run(ROOMS, BOOK, LEAVE), [GOOD])
    swapped = explain_failure(run(ROOMS, call("reserve_desk", room_id="room-0412"), TELL), [GOOD])
    texts = [each.text for each in pitfalls(STEPS, [ended, swapped])]
    assert texts == [
        "Calling reserve_desk where book_room is needed.",
        "Ending with escalate_to_staff instead of going on with send_note.",
    ]
