"""A store as it is after two weeks of work in `invoice-app`: for the tests of the pages, and for the pictures of the docs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import tacit
from tacit.api import Tacit
from tacit.domain.evidence import Evidence, Following, Grade, Outcome, Use
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Environment, Origin, Role, Step, StepResult, Task, Trajectory
from tacit.store import open_store
from tests.person import enter, leave, unlocked

RECORDINGS = Path(__file__).parents[1] / "recordings" / "transcripts"
TASKS = (
    "Add a carrier: `dhl`, base price 4.90",
    "Make the totals of the invoice list sortable",
    "The import of customers fails on empty lines",
)
FAILURE = (
    "tests/test_rates.py::test_every_carrier_has_a_rate FAILED\n"
    "E   invoice.rates.RateTableStale: _rate_table.py is older than rates.toml\n"
    "make: *** [Makefile:8: test] Error 1"
)
UPLOAD = SkillContent(
    kind=Kind.PROCEDURE,
    name="upload-the-wheel",
    description="Upload the wheel of a release to the team's index.",
    steps=(
        SkillStep(text="Build the wheel", tool="Bash", arguments={"command": "python -m build --wheel"}),
        SkillStep(
            text="Upload it",
            tool="Bash",
            arguments={"command": "twine upload --repository-url https://packages.example.com/team dist/*"},
        ),
    ),
)
NORM = SkillContent(
    kind=Kind.NORM,
    name="changelog-line-per-change",
    description="Each change has a line in CHANGELOG.md.",
    body="Write a line in CHANGELOG.md for each change that a user notices.",
)
DAYS = 14
CHANGELOG = SkillStep(text="Add a line to `CHANGELOG.md`", tool="Edit")


def fill(database: Path, home: Path, *, now: datetime | None = None) -> None:
    """Fill a store; the key of the person who approved lies in that home, and needs its passphrase again."""
    enter()
    try:
        store = open_store(str(database))
        store.require_signatures(unlocked().signers)
        with Tacit(store, scope=Scope(Level.PROJECT, "invoice-app")) as memory:
            _learn(memory, now or datetime.now(UTC))
    finally:
        leave(home)


def _learn(memory: Tacit, now: datetime) -> None:
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        memory.capture(tacit.read(folder))
    memory.capture(tacit.read(RECORDINGS))
    memory.capture([_session(day, now) for day in range(DAYS)])
    memory.learn()
    learned = [each for each in memory.reviews.waiting() if each.status == "candidate"]
    procedure = next(each for each in learned if each.version.content.kind is Kind.PROCEDURE)
    lessons = [each for each in learned if each.version.content.kind is Kind.LESSON]
    memory.propose(NORM, by="ann", origin=Origin.USER)
    rates = next(each for each in lessons if "make-rates" in each.version.name)
    other = next(each for each in lessons if each is not rates)
    chosen = [rates, procedure, other, memory.version(NORM.name)]
    for stored in chosen:
        ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
        memory.review(stored.version.id, "approve", by="ann", ticked=ticked)
    memory.propose(UPLOAD, by="an agent", origin=Origin.EXTERNAL)
    content = procedure.version.content
    better = dataclasses.replace(content, steps=(*content.steps, CHANGELOG))
    memory.propose(better, by="ann", origin=Origin.USER, revises=memory.version(procedure.version.id))
    _use(memory, chosen, now)


def _began(day: int, now: datetime) -> datetime:
    return now - timedelta(days=day, hours=2)


def _session(number: int, now: datetime) -> Trajectory:
    """A session whose tests fail until the table of rates is made again."""
    at = _began(number, now)
    calls = (
        ("make test", FAILURE, StepResult.FAILED),
        ("make rates", "42 rates written to _rate_table.py", StepResult.OK),
        ("make test", "61 passed in 2.10s", StepResult.OK),
    )
    task = TASKS[number % len(TASKS)]
    steps = [Step(index=0, role=Role.USER, text=task, at=at)]
    for command, output, result in calls:
        index = len(steps)
        steps.append(
            Step(
                index=index,
                role=Role.AGENT,
                tool="Bash",
                arguments={"command": command},
                observation=output,
                result=result,
                exit_code=int(result is StepResult.FAILED),
                at=at + timedelta(minutes=index),
            )
        )
    said = "Done: the tests pass again."
    steps.append(Step(index=len(steps), role=Role.AGENT, text=said, at=at + timedelta(minutes=5)))
    environment = Environment(client="claude-code", model="claude-sonnet-5")
    own = Task(text=task, project="invoice-app")
    return Trajectory(task=own, steps=tuple(steps), environment=environment, session_id=_session_id(number))


def _session_id(number: int) -> str:
    return f"5e55a0{number:02d}-1d2c-4000-8000-00000000{number:04d}"


def _use(memory: Tacit, skills: Sequence[StoredVersion], now: datetime) -> None:
    """Two weeks in which the skills were shown: the first ones mostly helped, the last lesson did not."""
    store = memory.context.store
    for day in reversed(range(DAYS)):
        for number, stored in enumerate(skills[: 1 + (day * 7) % 4]):
            at = _began(day, now) + timedelta(seconds=70 + number)
            version_id = stored.version.id
            use = Use(
                version_ids=(version_id,), task=TASKS[day % len(TASKS)], at=at, surface="hook",
                session_id=_session_id(day), model="claude-sonnet-5",
            )  # fmt: skip
            store.add(use)
            if (day + number) % 4 == 3:
                continue  # nothing tells whether it was followed
            worked = day % 3 == 0 if number == 2 else (day * 5 + number) % 7 != 6
            store.add(
                Evidence(
                    version_id=version_id, outcome=Outcome.SUCCESS if worked else Outcome.FAILURE, grade=Grade.MACHINE, at=at,
                    use_id=use.id, task=use.task, following=Following.FOLLOWED, verifier="make test", model=use.model,
                )
            )  # fmt: skip
