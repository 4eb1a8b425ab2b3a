"""A value that the answers of several tasks share tells none of them: an aid that names it gives nothing away."""

from __future__ import annotations

from tacit.features.evaluate.leakage import answer_in, shared_values
from tacit.features.evaluate.suite import Aid, AidKind, Exercise
from tacit.features.evaluate.tool import Call


def exercise(group: str, customer: str, line: str) -> Exercise:
    call = Call(tool="enable_roaming", arguments={"customer": customer, "line": line})
    return Exercise(key=f"{group}/0", group=group, task="mend it", answer=(call,))


FIXED = Aid(kind=AidKind.TRAJECTORY, text="enable_roaming C1001 L1002")


def test_values_of_one_task_alone_are_not_shared() -> None:
    asked = [exercise("a", "C1001", "L1002"), exercise("a", "C1001", "L1002"), exercise("b", "C1001", "L1003")]
    assert shared_values(asked) == {"C1001"}


def test_a_call_made_of_shared_values_is_not_given_away() -> None:
    asked = [exercise("a", "C1001", "L1002"), exercise("b", "C1001", "L1002")]
    assert answer_in(FIXED, asked[0]) == asked[0].answer[0]
    assert answer_in(FIXED, asked[0], shared=shared_values(asked)) is None


def test_a_call_with_one_value_of_its_own_is_given_away() -> None:
    asked = [exercise("a", "C1001", "L1002"), exercise("b", "C1001", "L1003")]
    assert answer_in(FIXED, asked[0], shared=shared_values(asked)) == asked[0].answer[0]
    assert answer_in(FIXED, asked[1], shared=shared_values(asked)) is None
