from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.origin import Origin
from tacit.domain.skill import Kind
from tacit.domain.trajectory import StepResult
from tacit.synthesis import distil
from tests.unit.synthesis.attempts import FAILED, UNKNOWN, attempt, bash, call, edit, learned, migration, notes, read


def lessons(*steps: dict[str, Any]) -> list[Candidate]:
    return learned(attempt("Get on with it", *steps), Kind.LESSON, UNKNOWN)


def means(*steps: dict[str, Any]) -> list[str]:
    distilled = distil(attempt("Get on with it", *steps), UNKNOWN)
    return [note.detail["means"] for note in notes(distilled, "recovered_error")]


def test_command_that_the_error_asked_for_becomes_a_lesson() -> None:
    (lesson,) = learned(migration(), Kind.LESSON, UNKNOWN)
    content = lesson.content
    assert content.name == "run-sync-before-manage-py-makemigration"
    assert content.description == (
        "When `python3 manage.py makemigration add_{column}` fails, run `python3 manage.py sync` first and then repeat it."
    )
    assert content.signature == "error: revision chain is stale: run `python3 <path> sync` first"
    assert [step.arguments["command"] for step in content.steps] == [
        "python3 manage.py sync",
        "python3 manage.py makemigration add_{column}",
    ]


def test_lesson_is_vouched_for_by_the_exit_codes_even_if_the_attempt_failed() -> None:
    (lesson,) = learned(migration(), Kind.LESSON, FAILED)
    assert lesson.assessment is not None
    assert (lesson.assessment.outcome, lesson.assessment.grade) == (Outcome.SUCCESS, Grade.MACHINE)
    assert (lesson.assessment.verifier, lesson.assessment.step) == ("exit code", 5)


def test_without_exit_codes_a_lesson_is_only_reported() -> None:
    failed = call("Bash", {"command": "npm install x"}, "npm ERR! code ERESOLVE", result=StepResult.FAILED)
    worked = call("Bash", {"command": "npm install x --legacy-peer-deps"}, "added 1 package")
    (lesson,) = lessons(failed, worked)
    assert lesson.assessment is not None
    assert lesson.assessment.grade is Grade.SELF


def test_error_text_is_external_only_where_it_stands() -> None:
    failed = bash("npm install x", "npm ERR! code ERESOLVE", code=1)
    (lesson,) = lessons(failed, bash("npm install x --legacy-peer-deps"))
    assert lesson.origins["signature"] is lesson.origins["body"] is Origin.EXTERNAL
    assert lesson.origins["name"] is lesson.origins["description"] is lesson.origins["steps.0"] is Origin.AGENT


def test_working_variant_becomes_a_lesson() -> None:
    failed = bash("npm install x", "npm ERR! code ERESOLVE", code=1)
    (lesson,) = lessons(failed, bash("npm install x --legacy-peer-deps"))
    assert lesson.content.name == "call-npm-install-with-legacy-peer-deps"
    assert lesson.content.description == "When `npm install x` fails, call it as `npm install x --legacy-peer-deps`."


def test_program_under_another_name_is_a_variant() -> None:
    (lesson,) = lessons(
        bash("python manage.py x", "bash: python: command not found", code=127), bash("python3 manage.py x")
    )
    assert lesson.content.steps[0].arguments == {"command": "python3 manage.py x"}
    (other,) = lessons(bash("foo bar", "bash: foo: command not found", code=127), bash("foo3 bar"))
    assert other.content.steps[0].arguments == {"command": "foo3 bar"}


def test_install_of_what_was_missing_is_what_helped() -> None:
    missing = bash("pytest", "ModuleNotFoundError: No module named 'requests'", code=1)
    steps = [missing, edit("a.py", "x", "y"), bash("pip install requests"), bash("touch q"), bash("pytest")]
    (lesson,) = lessons(*steps)
    assert [step.arguments["command"] for step in lesson.content.steps] == ["pip install requests", "pytest"]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([bash("curl x", "timeout", code=28), bash("curl x")], "transient"),
        ([bash("curl x", "timeout", code=28), bash("ls"), bash("curl x")], "transient"),
        ([bash("pytest", "E   assert 1 == 2", code=1), edit("a.py", "1", "2"), bash("pytest")], "reworked"),
        ([bash("cat a.txt", "cat: a.txt: No such file", code=1), bash("cat a.txt b.txt")], "reworked"),
        ([edit("a.py", "x", "y", result=StepResult.FAILED), read("a.py"), edit("a.py", "xx", "y")], "reworked"),
        (
            [call("find_user", {"name": "Ada"}, "Error: user not found"), call("find_user", {"name": "Bob"}, "u1")],
            "reworked",
        ),
    ],
)
def test_ordinary_work_and_luck_give_a_note_but_no_lesson(steps: list[dict[str, Any]], why: str) -> None:
    assert lessons(*steps) == []
    assert means(*steps) == [why]


def test_plain_call_mended_in_form_is_a_lesson() -> None:
    steps = [
        call("get_order", {"order_id": "W12"}, "Error: order not found"),
        call("get_order", {"order_id": "#W12"}, "{}"),
    ]
    steps.append(call("cancel", {"id": 1}, "Error: reason missing"))
    steps.append(call("cancel", {"id": 1, "reason": "x"}, "ok"))
    assert [lesson.content.steps[0].tool for lesson in lessons(*steps)] == ["get_order", "cancel"]


@pytest.mark.parametrize(
    "steps",
    [
        [bash("npm install x", "npm ERR!", code=1)],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install x --force", "npm ERR!", code=1)],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install x --force | tail -3")],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install x --force || true")],
        [bash("npm install x", "npm ERR!", code=1), bash("npm test")],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install y")],
        [call("Bash", {"command": "rm x"}, "denied", result=StepResult.DENIED), bash("rm x -f")],
    ],
)
def test_failure_without_a_recovery_that_was_seen_gives_nothing(steps: list[dict[str, Any]]) -> None:
    assert lessons(*steps) == []
    assert means(*steps) == []


def test_one_error_met_twice_is_one_lesson() -> None:
    failed = bash("npm install x", "npm ERR! code ERESOLVE", code=1)
    steps = [failed, bash("npm install x --force"), failed, bash("npm install x --force")]
    assert len(lessons(*steps)) == 1
