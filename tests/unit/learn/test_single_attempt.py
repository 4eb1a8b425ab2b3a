from __future__ import annotations

from tacit.domain.trajectory import Task, Trajectory
from tacit.learn.single_attempt import distil
from tests.unit.learn.attempts import UNKNOWN, VERIFIED, attempt, bash, edit, migration, read


def test_unverified_attempt_gives_no_procedure_and_says_why() -> None:
    trajectory = attempt("Add a target", read("Makefile"), edit("Makefile", "a", "b"), bash("git commit -m x"))
    distilled = distil(trajectory, UNKNOWN)
    assert distilled.skipped is not None
    assert distilled.skipped.reason == "unverified"
    assert distilled.candidates == ()


def test_verified_attempt_gives_a_procedure() -> None:
    distilled = distil(migration(), VERIFIED)
    assert distilled.skipped is None
    assert len(distilled.candidates) == 1


def test_attempt_without_any_step_is_too_simple() -> None:
    distilled = distil(Trajectory(task=Task(text=""), steps=()), VERIFIED)
    assert distilled.skipped is not None
    assert distilled.skipped.reason == "too_simple_0_steps"


def test_same_attempt_gives_the_same_answer() -> None:
    assert distil(migration(), VERIFIED) == distil(migration(), VERIFIED)
