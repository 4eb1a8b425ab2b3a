from __future__ import annotations

import dataclasses
import itertools
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.learn.lesson import AVOID
from tacit.learn.mining.error_lessons import error_lessons

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.outline import Course
from tacit.domain.skill import Kind
from tacit.domain.trajectory import Origin, StepResult, Trajectory
from tacit.learn.attempt_outlines import AGAIN, failure_course
from tests.unit.learn.attempts import attempt, bash, call, edit

STARTED = datetime(2026, 3, 1, tzinfo=UTC)
CONFLICT = "npm ERR! code ERESOLVE\nnpm ERR! unable to resolve dependency tree"


def session(number: int, *steps: dict[str, Any], task: str = "", hours: float | None = None) -> Trajectory:
    made = attempt(task or f"Work on part {number}", *steps)
    at = STARTED + timedelta(hours=24 * number if hours is None else hours)
    dated = tuple(dataclasses.replace(step, at=at + timedelta(seconds=step.index)) for step in made.steps)
    return dataclasses.replace(made, steps=dated, session_id=f"session-{number}", id="")


def lessons(*sessions: Trajectory) -> list[Candidate]:
    known = {one.id: one for one in sessions}
    return list(error_lessons([failure_course(one) for one in sessions], known.__getitem__))


def conflict(command: str = "npm install") -> dict[str, Any]:
    return bash(command, CONFLICT, code=1)


def fixed_session(number: int, **more: Any) -> Trajectory:
    return session(number, conflict(), bash("npm install --legacy-peer-deps", "added 9 packages"), **more)


# --- what is counted --------------------------------------------------------------------------------------------------


def test_fix_that_worked_in_several_sessions_says_how_often() -> None:
    useless = session(4, conflict(), bash("npm install --legacy-peer-deps", CONFLICT, code=1))
    (lesson,) = lessons(fixed_session(1), fixed_session(2), fixed_session(3), useless)
    content = lesson.content
    assert content.kind is Kind.LESSON
    assert content.description.endswith("Worked in 3 of 4 attempts, in 3 sessions.")
    assert "This error was met 5 times." in content.body  # the useless try failed as well
    assert content.signature == "npm ERR! code ERESOLVE"
    assert [step.arguments["command"] for step in content.steps] == ["npm install --legacy-peer-deps"]


def test_fix_that_works_most_often_is_chosen_and_the_others_are_counted() -> None:
    forced = session(9, conflict(), bash("npm install --force", "added 9 packages"))
    (lesson,) = lessons(fixed_session(1), fixed_session(2), forced)
    assert lesson.content.name == "call-npm-install-with-legacy-peer-deps"
    assert "Other things that were tried worked in 1 of 1 attempts." in lesson.content.body


def test_what_only_one_session_shows_is_left_to_its_own_lesson() -> None:
    again = dataclasses.replace(fixed_session(2), session_id="session-1", id="")
    assert lessons(fixed_session(1)) == lessons(fixed_session(1), again) == []


def test_fix_that_mostly_failed_is_no_lesson() -> None:
    useless = [session(n, conflict(), bash("npm install --legacy-peer-deps", CONFLICT, code=1)) for n in (3, 4)]
    assert lessons(fixed_session(1), fixed_session(2), *useless) == []


def test_errors_of_one_template_are_one_family() -> None:
    def stuck(number: int, what: str) -> Trajectory:
        error = f"error: lock {what} is held by another build of this workspace"
        return session(number, bash("make data", error, code=1), bash("make unlock"), bash("make data", "ok"))

    (lesson,) = lessons(stuck(1, "alpha"), stuck(2, "beta"), stuck(3, "beta"))
    assert lesson.content.signature == "error: lock beta is held by another build of this workspace"
    assert "in 3 sessions" in lesson.content.description


def test_one_error_of_two_commands_is_two_families() -> None:
    def one(number: int, program: str) -> Trajectory:
        error = bash(f"{program} build", "error: configuration is stale", code=1)
        return session(number, error, bash(f"{program} clean"), bash(f"{program} build", "ok"))

    names = [lesson.content.name for lesson in lessons(one(1, "cargo"), one(2, "cargo"), one(3, "go"), one(4, "go"))]
    assert names == ["run-clean-before-cargo-build", "run-clean-before-go-build"]


def test_another_word_after_the_same_program_is_another_fix() -> None:
    def one(number: int, verb: str) -> Trajectory:
        failed = bash("deploytool push", "error: revision is stale", code=1)
        return session(number, failed, bash(f"deploytool {verb}"), bash("deploytool push", "ok"))

    assert lessons(one(1, "sync"), one(2, "reset")) == []
    (lesson,) = lessons(one(1, "sync"), one(2, "reset"), one(3, "sync"))
    assert lesson.content.steps[0].arguments == {"command": "deploytool sync"}


def test_installing_whatever_is_missing_is_counted_over_all_names() -> None:
    def missing(number: int, module: str) -> Trajectory:
        failed = bash("pytest", f"ModuleNotFoundError: No module named '{module}'", code=1)
        return session(number, failed, bash(f"pip install {module}"), bash("pytest", "ok"))

    (lesson,) = lessons(missing(1, "requests"), missing(2, "numpy"))
    assert lesson.content.signature == "ModuleNotFoundError: No module named <value>"
    assert [step.arguments["command"] for step in lesson.content.steps] == ["pip install {module}"]


def test_what_differs_between_sessions_becomes_a_parameter() -> None:
    def one(number: int, package: str) -> Trajectory:
        return session(
            number, conflict(f"npm install {package}"), bash(f"npm install {package} --legacy-peer-deps", "added")
        )

    (lesson,) = lessons(one(1, "react"), one(2, "vue"))
    assert [step.arguments["command"] for step in lesson.content.steps] == ["npm install {argument} --legacy-peer-deps"]
    assert [parameter.name for parameter in lesson.content.parameters] == ["argument"]
    (same,) = lessons(one(1, "react"), one(2, "react"))
    assert [step.arguments["command"] for step in same.content.steps] == ["npm install react --legacy-peer-deps"]


# --- what passes by itself, and what is to be avoided -----------------------------------------------------------------


def test_call_that_never_worked_again_in_separate_sessions_is_to_be_avoided() -> None:
    (lesson,) = lessons(fixed_session(1), fixed_session(2))
    assert lesson.content.description == (
        "`npm install` does not work here; call it as `npm install --legacy-peer-deps`. "
        "Worked in 2 of 2 attempts, in 2 sessions."
    )
    assert "The failing call itself never worked afterwards." in lesson.content.body
    assert AVOID in lesson.content.tags


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([session(7, bash("npm install", "added 9 packages"))], "the same call worked later, in another session"),
        ([session(2, conflict(), bash("npm install -q"), bash("npm install", "added"))], "it worked later in this one"),
    ],
)
def test_later_success_of_the_same_call_takes_avoidance_away(others: list[Trajectory], why: str) -> None:
    (lesson,) = lessons(fixed_session(1), fixed_session(3), *others)
    assert AVOID not in lesson.content.tags, why
    assert lesson.content.description.startswith("When `npm install` fails with “npm ERR! code ERESOLVE”, call")


def test_later_success_in_the_first_session_takes_it_away_as_well() -> None:
    fix = bash("npm install --legacy-peer-deps", "added 9 packages")
    (lesson,) = lessons(session(1, conflict(), fix, bash("npm install", "up to date")), fixed_session(2))
    assert AVOID not in lesson.content.tags


def test_earlier_success_does_not() -> None:
    before = session(0, bash("npm install", "added 9 packages"))
    (lesson,) = lessons(fixed_session(1), fixed_session(2), before)
    assert AVOID in lesson.content.tags


def test_success_at_an_unknown_time_may_have_been_later() -> None:
    undated = dataclasses.replace(attempt("Undated", bash("npm install", "added")), session_id="undated", id="")
    (lesson,) = lessons(fixed_session(1), fixed_session(2), undated)
    assert AVOID not in lesson.content.tags


@pytest.mark.parametrize(
    ("sessions", "why"),
    [
        ([fixed_session(1, hours=1.0), fixed_session(2, hours=1.5)], "one outage may have met both"),
        ([fixed_session(1, task="The same"), fixed_session(2, task="the  same")], "both are one task"),
    ],
)
def test_failures_that_are_not_independent_give_no_avoidance(sessions: list[Trajectory], why: str) -> None:
    (lesson,) = lessons(*sessions)
    assert AVOID not in lesson.content.tags, why


def test_error_that_may_pass_gives_no_avoidance() -> None:
    def flaky(number: int) -> Trajectory:
        failed = bash("fetch-data all", "error: connection reset by peer", code=1)
        return session(number, failed, bash("fetch-data all --mirror", "ok"))

    for lesson in lessons(flaky(1), flaky(2), flaky(3)):
        assert AVOID not in lesson.content.tags


def test_failure_that_goes_away_by_itself_is_no_lesson() -> None:
    def lucky(number: int) -> Trajectory:
        return session(number, conflict(), bash("npm install", "added 9 packages"))

    assert failure_course(lucky(1)).failures[0].tried[0].fix == AGAIN
    assert lessons(lucky(1), lucky(2), lucky(3)) == []
    assert lessons(lucky(1), lucky(2), fixed_session(3), fixed_session(4)) == []


def test_values_that_became_parameters_are_avoided_only_if_no_value_ever_worked() -> None:
    def one(number: int, package: str) -> Trajectory:
        return session(
            number, conflict(f"npm install {package}"), bash(f"npm install {package} --legacy-peer-deps", "added")
        )

    (lesson,) = lessons(one(1, "react"), one(2, "vue"))
    assert lesson.content.description.startswith("`npm install {argument}` does not work here")
    worked = session(5, bash("npm install zod", "added"))
    (milder,) = lessons(one(1, "react"), one(2, "vue"), worked)
    assert milder.content.description.startswith("When `npm install {argument}` fails")


# --- another tool -----------------------------------------------------------------------------------------------------


def looked_up(number: int, *, found: bool = True, answer: str = "Error: user not found") -> Trajectory:
    email = {"email": f"u{number}@example.com"}
    other = {"name": f"Name{number}", "zip": f"10{number}00"}
    result = "user_1" if found else "Error: user not found"
    return session(number, call("find_by_email", email, answer), call("find_by_name", other, result))


def test_tool_that_is_called_after_an_error_and_works_is_a_lesson_from_three_sessions_on() -> None:
    assert lessons(looked_up(1), looked_up(2)) == []
    (lesson,) = lessons(looked_up(1), looked_up(2), looked_up(3), looked_up(4, found=False))
    content = lesson.content
    assert content.name == "find-by-name-when-find-by-email-fails"
    assert content.description == (
        'When `find_by_email(email="{email}")` fails with “Error: user not found”, '
        'call `find_by_name(name="{name}", zip="{zip}")` instead. '
        "Worked in 3 of 4 attempts, in 3 sessions."
    )
    (step,) = content.steps
    assert (step.tool, step.arguments) == ("find_by_name", {"name": "{name}", "zip": "{zip}"})


def test_tool_that_comes_next_in_any_case_is_not() -> None:
    usual = [looked_up(number, answer="user_1") for number in range(10, 20)]
    assert lessons(*(looked_up(number) for number in range(1, 5)), *usual) == []


def test_giving_up_is_not_a_fix() -> None:
    def gave_up(number: int) -> Trajectory:
        return session(number, call("find_by_email", {"email": f"v{number}@example.com"}, "Error: user not found"))

    assert lessons(*(looked_up(n) for n in (1, 2, 3)), *(gave_up(n) for n in range(4, 9))) == []


def test_plain_call_is_never_to_be_avoided() -> None:
    def same(number: int) -> Trajectory:
        failed = call("find_by_email", {"email": "a@example.com"}, "Error: user not found")
        return session(number, failed, call("find_by_name", {"name": f"N{number}"}, "user_1"))

    (lesson,) = lessons(same(1), same(2), same(3))
    assert AVOID not in lesson.content.tags


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_lesson_points_at_the_attempts_it_was_seen_in() -> None:
    sessions = [fixed_session(number) for number in range(1, 8)]
    (lesson,) = lessons(*sessions)
    ids = lesson.provenance.trajectory_ids
    assert len(ids) == 5
    assert set(ids) <= {one.id for one in sessions}
    grounding = lesson.provenance.grounding
    assert {span.trajectory_id for span in grounding["description"]} == set(ids)
    assert all(grounding[f"steps.{number}"] for number in range(len(lesson.content.steps)))
    assert lesson.origins["signature"] is lesson.origins["body"] is Origin.EXTERNAL
    assert lesson.origins["description"] is lesson.origins["steps.0"] is Origin.AGENT
    assert lesson.assessment is not None
    assert (lesson.assessment.outcome, lesson.assessment.grade) == (Outcome.SUCCESS, Grade.MACHINE)


def test_courses_are_small_and_hold_no_text_of_the_attempt() -> None:
    course = failure_course(
        session(1, conflict("npm install secret-name"), bash("npm install secret-name --force", "added"))
    )
    assert "secret-name" not in repr(course)
    assert course.failures[0].tried[0].worked
    assert course.session == "session-1"


def test_files_refusals_and_questions_are_no_failures() -> None:
    refused = call("Bash", {"command": "rm -r x"}, "no", result=StepResult.DENIED)
    lost = edit("a.py", "x", "y", result=StepResult.FAILED)
    assert failure_course(session(1, refused, lost, bash("grep x y", "", code=1))).failures == ()


COMMANDS = st.sampled_from(["npm install", "npm install --force", "make data", "pip install x", "pytest", "ls"])
ERRORS = st.sampled_from([CONFLICT, "error: stale", "bash: make: command not found", ""])
CALLS = st.builds(lambda command, error, ok: bash(command, error, code=0 if ok else 1), COMMANDS, ERRORS, st.booleans())
SESSIONS = st.lists(st.lists(CALLS, min_size=1, max_size=6), max_size=6).map(
    lambda several: [session(number, *steps) for number, steps in enumerate(several)]
)


@settings(max_examples=60, deadline=None)
@given(SESSIONS, st.integers(0, 99))
def test_order_makes_no_difference_and_every_step_is_grounded(sessions: list[Trajectory], seed: int) -> None:
    shuffled = sessions[:]
    random.Random(seed).shuffle(shuffled)
    found = lessons(*sessions)
    assert lessons(*shuffled) == found
    known = {one.id: one for one in sessions}
    for lesson, number in ((one, n) for one in found for n in range(len(one.content.steps))):
        spans = lesson.provenance.grounding[f"steps.{number}"]
        assert any(known[span.trajectory_id].steps[span.step].is_action for span in spans)


@settings(max_examples=40, deadline=None)
@given(SESSIONS)
def test_failures_alone_give_nothing(sessions: list[Trajectory]) -> None:
    failed = [
        dataclasses.replace(
            one,
            steps=tuple(
                dataclasses.replace(step, result=StepResult.FAILED, exit_code=1) if step.is_action else step
                for step in one.steps
            ),
            id="",
        )
        for one in sessions
    ]
    assert lessons(*failed) == []


def test_many_courses_are_pooled_in_little_time() -> None:
    patterns = [fixed_session(1), looked_up(2), session(3, bash("make data", "error: stale", code=1))]
    known = {one.id: one for one in patterns}
    pooled: list[Course] = [
        dataclasses.replace(failure_course(one), session=str(number), task=str(number))
        for number, one in zip(range(3_000), itertools.cycle(patterns), strict=False)
    ]
    assert len(error_lessons(pooled, known.__getitem__)) == 2
