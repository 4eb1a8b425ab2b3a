from __future__ import annotations

from tacit.domain.trajectory import Task, Trajectory
from tacit.learn import AttemptNoteKind, distil
from tests.unit.learn.attempts import UNKNOWN, VERIFIED, attempt, bash, call, edit, migration, notes, read


def test_unverified_attempt_still_tells_what_it_did() -> None:
    trajectory = attempt("Add a target", read("Makefile"), edit("Makefile", "a", "b"), bash("git commit -m x"))
    distilled = distil(trajectory, UNKNOWN)
    skipped, command = distilled.notes
    assert (skipped.kind, skipped.detail["reason"]) == (AttemptNoteKind.SKIPPED, "unverified")
    assert "`Makefile`" in skipped.text
    assert (command.kind, command.detail["command"]) == (AttemptNoteKind.WORKING_COMMAND, "git commit")
    assert distilled.candidates == ()


def test_working_commands_are_counted_and_looking_around_is_not() -> None:
    trajectory = attempt(
        "x",
        bash("npm test", "no", code=1),
        bash("npm test -- a"),
        bash("npm test"),
        bash("ls"),
        call("Agent", {"prompt": "x"}),
    )
    found = notes(distil(trajectory, UNKNOWN), "working_command")
    assert len(found) == 1
    assert found[0].detail == {"command": "npm test", "ok": "2", "failed": "1"}


def test_the_call_that_worked_in_place_of_a_failed_one_is_told() -> None:
    error = "zsh:1: command not found: python"
    trajectory = attempt("x", bash("python tools/x.py", error, code=127), bash(".venv/bin/python tools/x.py", "ok"))
    (note,) = notes(distil(trajectory, UNKNOWN), "recovered_error")
    assert "`.venv/bin/python tools/x.py`" in note.text


def test_procedure_is_not_held() -> None:
    distilled = distil(migration(), VERIFIED)
    assert distilled.skipped == ()
    assert AttemptNoteKind.SKIPPED not in {note.kind for note in distilled.notes}


def test_attempt_without_any_step_gives_one_note() -> None:
    distilled = distil(Trajectory(task=Task(text=""), steps=()), VERIFIED)
    assert distilled.skipped == ("too_simple_0_steps",)


def test_same_attempt_gives_the_same_answer() -> None:
    assert distil(migration(), VERIFIED) == distil(migration(), VERIFIED)
