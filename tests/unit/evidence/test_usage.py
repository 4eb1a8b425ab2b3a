"""Whether a run used what it was shown, by its own words; it changes prominence, never reliability."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.ledger import UsageSignal
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Role, Step, StepResult, Task, Trajectory
from tacit.evidence.skill_usage import CEILING, LEAST_WORDS, changes_prominence, prominence_of, was_used
from tests.unit.making import MIGRATE, NOW, content, evidence, later, shell, stored

RULE = "Write commit subjects in the imperative, with a ticket such as PAY-123, and squash fixups beforehand."
NORM = SkillContent(kind=Kind.NORM, name="commits", description=RULE)
USED = "git commit -m 'Add imperative subjects (ticket PAY-123), squash fixups'"


def does(command: str, seen: str = "") -> Step:
    return shell(command, seen=seen)


def says(text: str, role: Role = Role.AGENT) -> Step:
    return Step(index=0, role=role, text=text)


def run(*steps: Step, task: str = "fix the login") -> Trajectory:
    numbered = [
        Step(
            index=index, role=step.role, text=step.text, tool=step.tool, arguments=step.arguments,
            observation=step.observation, result=StepResult.OK,
        )
        for index, step in enumerate(steps)
    ]  # fmt: skip
    return Trajectory(task=Task(text=task), steps=tuple(numbered))


def used(*steps: Step, entry: SkillContent = NORM, start: int = 0, **more: Any) -> bool | None:
    task = more.pop("task", "fix the login")
    return was_used(entry, run(*steps, task=task), start=start, **more)


def test_an_entry_whose_own_words_come_back_was_used():
    assert used(does(USED)) is True
    assert used(says("I squash the fixups and put the ticket into the imperative subject.")) is True


def test_an_entry_without_a_trace_was_ignored():
    assert used(does("sed -i s/a/b/ login.py"), says("The login works again.")) is False


def test_a_single_word_may_be_chance():
    assert used(says("There is a ticket for that.")) is False


@pytest.mark.parametrize(
    "before",
    [
        says(RULE, Role.USER),
        does("cat CONTRIBUTING.md", RULE),
    ],
)
def test_words_that_the_run_had_from_elsewhere_tell_nothing(before):
    assert used(before, does(USED)) is not True


def test_words_of_the_task_tell_nothing():
    assert used(does(USED), task=RULE) is None, "none of its words is its own"


def test_words_that_the_agent_used_before_it_was_shown_tell_nothing():
    assert used(does(USED), does("pytest -q"), does(USED), start=1) is not True


def test_words_that_another_entry_has_too_tell_nothing():
    assert used(does(USED), other_texts=[RULE]) is None


def test_what_a_call_brings_back_is_known_only_after_it():
    assert used(does(USED, seen=RULE)) is True


def test_an_answer_of_tacit_itself_is_where_the_words_should_come_from():
    asked = does("tacit recall 'how do we commit'", seen=RULE)
    assert used(asked, does(USED), start=1) is None
    assert used(asked, does(USED), start=1, asked=[0]) is True
    quoted = says(f"<tacit-skills-0a1b>\n{RULE}\n</tacit-skills-0a1b>\nfix it", Role.USER)
    assert used(quoted, does(USED)) is True


def test_of_too_few_words_nothing_can_be_decided():
    short = SkillContent(kind=Kind.NORM, name="short", description="Keep it short and squash fixups.")
    assert LEAST_WORDS == 3
    assert used(says("I squash all fixups."), entry=short) is None


@pytest.mark.parametrize("steps", [(), (says("go on", Role.USER),), (says("  "),)])
def test_of_a_run_without_words_nothing_can_be_decided(steps):
    assert used(*steps) is None


def test_everyday_words_do_not_make_a_use():
    plain = SkillContent(
        kind=Kind.NORM, name="plain", description="Before work check the status of every file and report errors."
    )
    assert used(says("I check every file and report the status of errors before work."), entry=plain) is not True


def test_the_point_of_a_long_lesson_is_enough():
    long = SkillContent(
        kind=Kind.LESSON,
        name="long",
        description=RULE,
        body="Background. " + "Sundry considerations abound hereabouts. " * 80,
    )
    assert used(does(USED), entry=long) is True


def test_a_procedure_is_used_if_its_steps_were_done_and_ignored_otherwise():
    procedure = content()
    done = [shell(step.arguments["command"]) for step in MIGRATE]
    assert used(*done, entry=procedure) is True
    assert used(does("ls"), does("git push"), entry=procedure) is False


def test_half_a_procedure_is_neither():
    halfway = [shell(MIGRATE[0].arguments["command"])]
    assert used(*halfway, entry=content()) is None


# --- what it does to prominence ----------------------------------------------------------------------------------


VERSION = stored().version


def signal_of(up: bool, hours: float, *, use: str = "", trajectory: str = "") -> UsageSignal:
    return UsageSignal(
        key=VERSION.id, at=later(hours), heeded=up, use_id=use or f"u_{hours}", trajectory_id=trajectory or f"t_{hours}"
    )


def count(*usage_signals: UsageSignal, evidence: Any = ()) -> int:
    return prominence_of(VERSION, evidence, usage_signals=usage_signals)[0]


def test_a_use_counts_one_and_refreshes_the_date():
    assert prominence_of(VERSION, [], usage_signals=[signal_of(True, 5)]) == (1, later(5))


def test_being_ignored_subtracts_one_and_refreshes_nothing():
    assert prominence_of(VERSION, [], usage_signals=[signal_of(True, 5), signal_of(False, 9)]) == (0, later(5))


def test_what_was_never_shown_does_not_fade():
    assert prominence_of(VERSION, []) == (0, VERSION.created_at)


def test_one_use_raises_what_was_often_ignored():
    assert count(*(signal_of(False, hour) for hour in range(50)), signal_of(True, 60)) == 1


def test_uses_count_up_to_a_ceiling_beyond_what_was_confirmed():
    often = [signal_of(True, hour) for hour in range(1, 100)]
    assert count(*often) == CEILING
    assert count(*often, evidence=[evidence(hours=200), evidence(hours=201)]) == CEILING + 2


def test_without_usage_signals_it_is_what_verified_results_say():
    results = [
        evidence(hours=3),
        evidence(hours=4),
        evidence(Outcome.FAILURE, hours=5),
        evidence(grade=Grade.SELF, hours=6),
    ]
    assert prominence_of(VERSION, results) == (2, results[1].at)


def test_a_run_that_was_verified_counts_by_that_alone():
    import dataclasses

    won = dataclasses.replace(evidence(hours=3), trajectory_id="t_run")
    lost = dataclasses.replace(evidence(Outcome.FAILURE, hours=3), trajectory_id="t_run")
    same = signal_of(True, 3, trajectory="t_run")
    assert count(same, evidence=[won]) == 1
    assert count(same, evidence=[lost]) == 0, "what was used and failed is not made more prominent"


def test_what_one_attempt_of_a_session_used_was_used():
    used, passed = signal_of(True, 2, use="u_1", trajectory="t_1"), signal_of(False, 3, use="u_1", trajectory="t_2")
    assert (
        prominence_of(VERSION, [], usage_signals=[used, passed])
        == prominence_of(VERSION, [], usage_signals=[passed, used])
        == (1, used.at)
    )


def test_a_session_that_used_nothing_counts_once_however_many_attempts_it_had():
    before = [signal_of(True, hour) for hour in (1, 2, 3)]
    assert (
        count(*before, *(signal_of(False, 10 + hour, use="u_session", trajectory=f"x_{hour}") for hour in range(5)))
        == 2
    )


def test_the_order_of_arrival_changes_nothing():
    some = [signal_of(True, 1), signal_of(False, 2), signal_of(True, 3), signal_of(False, 4), signal_of(True, 5)]
    assert prominence_of(VERSION, [], usage_signals=some) == prominence_of(VERSION, [], usage_signals=some[::-1])


@pytest.mark.parametrize(
    ("known", "new", "kept"),
    [
        ([], signal_of(False, 1), False),
        ([], signal_of(True, 1), True),
        ([signal_of(True, 1)], signal_of(False, 2), True),
        ([signal_of(True, hour) for hour in range(CEILING)], signal_of(True, 5), False),
        ([signal_of(True, hour) for hour in range(CEILING)], signal_of(True, 50), True),
    ],
)
def test_only_what_changes_something_is_worth_keeping(known, new, kept):
    assert changes_prominence(VERSION, [], known, new) is kept


def test_a_usage_signal_is_no_evidence():
    assert not hasattr(signal_of(True, 1), "outcome")
    assert signal_of(True, 1).at - NOW == timedelta(hours=1)
