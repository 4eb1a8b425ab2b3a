"""Would skills have shortened the past? Only skills that could have been known count, and only what the attempt shows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.evidence import Outcome, Use
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Environment, Origin, Role, Step, StepResult, Task, Trajectory
from tacit.features.evaluate.past import PastAttemptResult, PastReport, look_back, spared_by
from tacit.store import open_store
from tests.unit.making import ONE_RUN, bash_steps, content

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TASK = "Add a database migration for the invoices table"
Done = tuple[str, bool]
WRONG: Done = ("python manage.py migrate --plan-all", False)
LOOK: Done = ("ls invoices/migrations", True)
RIGHT: Done = ("python manage.py migrate", True)
MAKE: Done = ("python manage.py makemigrations", True)
TEST: Done = ("pytest -q", True)
SKILL = content(steps=bash_steps("python manage.py makemigrations", "python manage.py migrate", "pytest -q"))


def ran(*calls: Done, days: float = 0, session: str = "s-9", dated: bool = True, task: str = TASK) -> Trajectory:
    at = START + timedelta(days=days)
    steps = [Step(index=0, role=Role.USER, text=task, at=at if dated else None)]
    for index, (command, works) in enumerate(calls, start=1):
        steps.append(
            Step(
                index=index,
                role=Role.AGENT,
                tool="Bash",
                arguments={"command": command},
                observation="ok" if works else "error: unrecognized arguments: --plan-all",
                result=StepResult.OK if works else StepResult.FAILED,
                at=at + timedelta(minutes=index) if dated else None,
            )
        )
    return Trajectory(task=Task(text=task), steps=tuple(steps), environment=Environment(), session_id=session)


STRUGGLE = (MAKE, WRONG, LOOK, WRONG, RIGHT, TEST)


class Clock:
    """Time that is set."""

    def __init__(self) -> None:
        self.now = START - timedelta(days=10)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[Tacit]:
    with Tacit(open_store(":memory:"), config=ONE_RUN, clock=clock) as loop:
        yield loop


def taught(memory: Tacit, made: SkillContent = SKILL) -> StoredVersion:
    """A skill that a person wrote and approved."""
    verdict = memory.propose(made, by="ann", origin=Origin.USER)
    stored = memory.version(verdict.version_id)
    if stored.status not in RECALLABLE:
        memory.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash)
    return memory.version(verdict.version_id)


def back(memory: Tacit, *, days: float = 30) -> PastReport:
    return look_back(memory, since=START - timedelta(days=days))


# --- what a skill would have spared -----------------------------------------------------------------------------------


def test_failed_tries_and_looks_until_what_the_skill_says_worked_are_spared() -> None:
    assert spared_by(ran(*STRUGGLE), SKILL) == ((2, 4), (3,), ())


def test_nothing_is_spared_where_nothing_failed() -> None:
    assert spared_by(ran(MAKE, LOOK, RIGHT, TEST), SKILL) == ((), (), ())


def test_nothing_is_spared_where_the_skills_way_never_worked() -> None:
    assert spared_by(ran(MAKE, WRONG, LOOK), SKILL)[0] == ()


def test_changes_between_are_never_counted_as_spared() -> None:
    change: Done = ("sed -i s/a/b/ invoices/models.py", True)
    assert spared_by(ran(MAKE, WRONG, change, RIGHT), SKILL) == ((2,), (), ())


def test_a_failure_of_something_else_is_not_credited() -> None:
    assert spared_by(ran(MAKE, ("docker compose up", False), RIGHT, TEST), SKILL) == ((), (), ())


def test_a_failure_that_is_just_what_the_skill_says_is_reported_and_not_spared() -> None:
    tries, _, repeats = spared_by(ran(MAKE, ("python manage.py migrate", False), RIGHT), SKILL)
    assert tries == ()
    assert repeats == (2,)


SYNC: Done = ("python manage.py sync", True)
UNREADY: Done = ("python manage.py migrate", False)
SYNC_FIRST = content(steps=bash_steps("python manage.py sync", "python manage.py migrate", "pytest -q"))


def test_a_step_that_failed_since_what_the_skill_says_before_it_was_not_done_is_spared() -> None:
    assert spared_by(ran(UNREADY, LOOK, SYNC, RIGHT, TEST), SYNC_FIRST) == ((1,), (2,), ())


@pytest.mark.parametrize(
    "calls",
    [(SYNC, UNREADY, RIGHT), (UNREADY, SYNC), (UNREADY, RIGHT, TEST)],
    ids=["done before", "never worked", "never done"],
)
def test_a_failure_that_no_earlier_step_of_the_skill_would_have_prevented_is_just_what_it_says(
    calls: tuple[Done, ...],
) -> None:
    tries, _, repeats = spared_by(ran(*calls), SYNC_FIRST)
    assert tries == ()
    assert repeats == (calls.index(UNREADY) + 1,)


def test_a_lesson_that_comes_with_the_error_is_not_blamed_for_it() -> None:
    lesson = content(
        kind=Kind.LESSON,
        name="sync-before-migrate",
        description="Run sync first",
        signature="error: unrecognized arguments: --plan-all",
        steps=bash_steps("python manage.py migrate"),
    )
    assert spared_by(ran(UNREADY, SYNC, RIGHT, TEST), lesson, beforehand=False) == ((), (), ())
    assert spared_by(ran(UNREADY, UNREADY, SYNC, RIGHT, TEST), lesson, beforehand=False)[2] == (2,)


def test_a_lesson_that_comes_with_the_error_spares_what_came_after_it() -> None:
    lesson = content(
        kind=Kind.LESSON,
        name="migrate-without-plan-all",
        description="Migrate without --plan-all",
        signature="error: unrecognized arguments: --plan-all",
        steps=bash_steps("python manage.py migrate"),
    )
    assert spared_by(ran(*STRUGGLE), lesson, beforehand=True)[:2] == ((2, 4), (3,))
    assert spared_by(ran(*STRUGGLE), lesson, beforehand=False)[:2] == ((4,), (3,))


# --- which skills count ---------------------------------------------------------------------------------------------


def test_a_skill_that_was_there_before_is_given_and_credited(memory: Tacit) -> None:
    stored = taught(memory)
    memory.capture(ran(*STRUGGLE))
    (looked,) = back(memory).attempts
    assert looked.given == (SKILL.name,)
    assert (looked.steps, looked.failures, looked.spared_steps, looked.spared_failures) == (6, 2, 3, 2)
    assert looked.spared[0].version_id == stored.version.id
    assert looked.tokens > 0


def test_a_skill_that_came_later_does_not_count(memory: Tacit, clock: Clock) -> None:
    clock.now = START + timedelta(days=1)
    taught(memory)
    memory.capture([ran(*STRUGGLE), ran(*STRUGGLE, days=2, session="s-10")])
    before, after = back(memory).attempts
    assert (before.given, before.spared) == ((), ())
    assert after.spared_failures == 2


def test_a_skill_that_the_session_was_shown_does_not_count(memory: Tacit) -> None:
    stored = taught(memory)
    memory.context.store.add(Use(version_ids=(stored.version.id,), task=TASK, at=START, session_id="s-9"))
    memory.capture([ran(*STRUGGLE), ran(*STRUGGLE, days=1, session="s-10")])
    shown, other = back(memory).attempts
    assert shown.given == ()
    assert other.given == (SKILL.name,)


def test_a_skill_learned_from_the_attempt_or_after_it_does_not_count(memory: Tacit, clock: Clock) -> None:
    clock.now = START + timedelta(days=9)
    solved = [ran(MAKE, RIGHT, TEST, days=days, session=f"s-{days}") for days in (1, 2, 3)]
    memory.capture([ran(*STRUGGLE, session="early"), *solved, ran(*STRUGGLE, days=5, session="late")])
    memory.learn()
    for stored in memory.reviews.waiting():
        ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
        memory.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash, ticked=ticked)
    assert memory.skills(statuses=RECALLABLE)
    for looked in back(memory).attempts:
        began = looked.at
        for one in looked.spared:
            sources = memory.context.store.version(one.version_id).version.provenance.trajectory_ids
            ends = [memory.context.store.trajectory(source).ended_at for source in sources]
            assert looked.trajectory_id not in sources
            assert all(end is not None and end < began for end in ends)
    by_session = {each.session: each for each in back(memory).attempts}
    assert by_session["early"].given == ()
    assert by_session["late"].given


def test_nothing_is_written(memory: Tacit) -> None:
    taught(memory)
    memory.capture(ran(*STRUGGLE))
    before = len(memory.archive.history())
    back(memory)
    assert len(memory.archive.history()) == before
    assert memory.context.store.uses() == []


# --- which attempts ---------------------------------------------------------------------------------------------------


def test_attempts_before_that_time_and_without_a_time_are_left_out(memory: Tacit, clock: Clock) -> None:
    clock.now = START
    old, undated = ran(*STRUGGLE, days=-40, session="s-1"), ran(*STRUGGLE, session="s-2", dated=False)
    memory.capture([old, undated, ran(*STRUGGLE)])
    report = back(memory)
    assert [each.session for each in report.attempts] == ["s-9"]
    assert report.undated == 1


def test_progress_is_reported(memory: Tacit) -> None:
    memory.capture([ran(*STRUGGLE), ran(*STRUGGLE, session="s-10", days=1)])
    outcome: list[tuple[int, int]] = []
    look_back(memory, since=START - timedelta(days=1), progress=lambda done, total: outcome.append((done, total)))
    assert outcome == [(1, 2), (2, 2)]


# --- what it comes to -------------------------------------------------------------------------------------------------


def test_shares_are_of_all_attempts_and_the_worst_are_named(memory: Tacit) -> None:
    taught(memory)
    memory.capture([ran(*STRUGGLE), ran(MAKE, RIGHT, TEST, days=1, session="s-10")])
    report = back(memory)
    share = report.share(lambda each: each.spared_steps, lambda each: each.steps)
    assert share is not None
    assert share.value == pytest.approx(3 / 9)
    assert share.low <= 3 / 9 <= share.high
    assert [each.session for each in report.helped] == ["s-9"]
    assert [each.session for each in report.worst] == ["s-10"]  # it would have been given, and spared nothing


def test_a_share_of_nothing_is_nothing() -> None:
    report = PastReport(since=START, attempts=())
    assert report.share(lambda each: each.spared_steps, lambda each: each.steps) is None
    calm = PastAttemptResult(
        trajectory_id="t", session="s", task="", at=START, outcome=Outcome.UNKNOWN, steps=3, failures=0
    )
    quiet = PastReport(since=START, attempts=(calm,))
    assert quiet.share(lambda each: each.spared_failures, lambda each: each.failures) is None
