"""Goal checks: what shows that a task is done."""

from __future__ import annotations

from tacit.learn.mining.conditions import AttemptRecord
from tacit.learn.mining.predicates import goal_checks
from tacit.text.facts import facts

COLD = "It is cold in the flat"
DARK = "It is dark in the flat"


def ended(task: str, before: str, after: str, *, reading: str, succeeded: bool = True) -> AttemptRecord:
    return AttemptRecord(
        known={reading: facts(before)},
        task=task,
        took=frozenset({"fix"}),
        succeeded=succeeded,
        final={reading: facts(after)},
    )


def attempts() -> list[AttemptRecord]:
    warm = [ended(COLD, "Air: cold\nFan: on", "Air: warm\nFan: on", reading="read_air") for _ in range(3)]
    lit = [ended(DARK, "Lamp is off.", "Lamp is on.", reading="read_lamp") for _ in range(3)]
    still = ended(COLD, "Air: cold\nFan: on", "Air: cold\nFan: on", reading="read_air", succeeded=False)
    return [*warm, *lit, still]


def test_each_kind_of_task_has_its_own_check() -> None:
    checks = {check.when: check for check in goal_checks(attempts())}
    assert checks["cold"].text == "`read_air` shows `Air: warm`"
    assert checks["dark"].text == "`read_lamp` mentions `Lamp is on` in `says`"
    assert len(checks) == 2


def test_one_kind_alone_needs_no_mark() -> None:
    (check,) = goal_checks(attempts()[:3])
    assert check.when == ""
    assert (check.reading, check.key, check.relation, check.value) == ("read_air", "Air", "is", "warm")


def test_what_held_before_anything_was_done_is_no_goal() -> None:
    same = [ended(COLD, "Fan: on", "Fan: on", reading="read_fan") for _ in range(4)]
    assert goal_checks(same) == ()


def test_a_state_that_failures_end_with_too_is_no_goal() -> None:
    won = [ended(COLD, "Air: cold", "Air: warm", reading="read_air") for _ in range(3)]
    lost = [ended(COLD, "Air: cold", "Air: warm", reading="read_air", succeeded=False) for _ in range(20)]
    assert goal_checks([*won, *lost]) == ()


def test_failures_alone_show_no_goal() -> None:
    lost = [ended(COLD, "Air: cold", "Air: warm", reading="read_air", succeeded=False) for _ in range(5)]
    assert goal_checks(lost) == ()


def test_attempts_that_do_not_confirm_have_no_check() -> None:
    assert (
        goal_checks([AttemptRecord(known={"read_air": facts("Air: cold")}, task=COLD, took=frozenset({"fix"}))] * 5)
        == ()
    )


def test_a_number_that_differs_from_time_to_time_is_not_asked_for() -> None:
    rows = [("3.1", "21.5"), ("2.7", "22.0"), ("3.3", "20.5")]
    runs = [ended(COLD, f"Air: {a} C (Cold)", f"Air: {b} C (Warm)", reading="read_air") for a, b in rows]
    (check,) = goal_checks(runs)
    assert (check.relation, check.value) == ("has", "Warm")


def test_the_order_of_attempts_does_not_matter() -> None:
    assert goal_checks(attempts()) == goal_checks(attempts()[::-1])
