"""A procedure of shell and file work needs several like runs; until then there is only a note."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.settings import Config, LearnSettings
from tacit.domain.candidate import Relation
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Trajectory
from tacit.learn.learning_report import LearningReport
from tacit.learn.like_runs import acting_commands, alike
from tacit.store import open_store
from tacit.text.tool_calls import Effect
from tests.unit.learn.attempts import attempt, bash, call, edit, migration, read, the_procedure

COLUMNS = (("due_date", "invoices"), ("paid_at", "payments"), ("sent_at", "letters"), ("seen_at", "visits"))


def in_session(trajectory: Trajectory, session: str, **more: Any) -> Trajectory:
    return dataclasses.replace(trajectory, session_id=session, id="", **more)


def migrations(count: int) -> list[Trajectory]:
    return [in_session(migration(column, table), f"session-{column}") for column, table in COLUMNS[:count]]


def learned(loop: Tacit, *trajectories: Trajectory) -> LearningReport:
    loop.capture(trajectories)
    return loop.learn()


def procedures(loop: Tacit) -> list[SkillContent]:
    contents = [stored.version.content for stored in loop.skills()]
    return [content for content in contents if content.kind is Kind.PROCEDURE]


def reasons(report: LearningReport) -> list[str]:
    return [reason for verdict in report.rejected for reason in verdict.reasons]


@pytest.fixture
def loop() -> Tacit:
    return Tacit(open_store(":memory:"))


def test_third_like_run_makes_the_procedure_and_the_first_two_only_a_note(loop: Tacit) -> None:
    *first, third, fourth = migrations(4)
    for trajectory in first:
        report = learned(loop, trajectory)
        assert reasons(report) == ["too_few_runs"]
        assert [each.reasons[0] for each in report.rejected] == ["too_few_runs"]
    assert procedures(loop) == []
    learned(loop, third)
    [made] = procedures(loop)
    assert [parameter.name for parameter in made.parameters] == ["column", "table", "workspace"]
    report = learned(loop, fourth)
    assert [verdict.relation for verdict in report.verdicts if verdict.name == made.name] == [Relation.REINFORCE]
    assert procedures(loop) == [made]


@pytest.mark.parametrize("number", [1, 2])
def test_number_of_runs_is_a_setting(number: int) -> None:
    loop = Tacit(open_store(":memory:"), config=Config(learn=LearnSettings(procedure_runs=number)))
    learned(loop, *migrations(number - 1))
    assert procedures(loop) == []
    learned(loop, migrations(number)[-1])
    assert len(procedures(loop)) == 1


def test_runs_of_one_session_and_its_subagents_count_once(loop: Tacit) -> None:
    first, second, third = migrations(3)
    report = learned(
        loop, in_session(first, "a"), in_session(second, "a"), in_session(third, "b", parent_session_id="a")
    )
    assert procedures(loop) == []
    assert set(reasons(report)) == {"too_few_runs"}


def fix(file: str, number: int, command: str = "pytest -q") -> Trajectory:
    made = attempt(
        f"Fix bug {number} of the totals.",
        read(file, "x = 1\n"),
        edit(file, "x = 1", f"x = {number} * {number + 7}  # {'why ' * number}"),
        bash("ruff check .", "All checks passed!"),
        bash(command, "5 passed"),
    )
    return in_session(made, f"session-{number}")


def test_editing_the_same_file_and_checking_it_is_no_procedure(loop: Tacit) -> None:
    report = learned(loop, *(fix("app/totals.py", number) for number in range(1, 6)))
    assert procedures(loop) == []
    assert set(reasons(report)) <= {"too_few_runs", "nothing_in_common", "too_simple_3_steps"}


def test_what_a_person_rejected_is_not_proposed_from_later_like_runs(loop: Tacit) -> None:
    learned(loop, *migrations(3))
    [waiting] = [each for each in loop.reviews.waiting() if each.version.content.kind is Kind.PROCEDURE]
    loop.review(waiting.version.id, "reject", by="ann")
    report = learned(loop, migrations(4)[-1])
    assert reasons(report) == ["rejected_before"]
    more = [in_session(migration(f"c{number}_at", f"t{number}"), f"more-{number}") for number in range(4)]
    report = learned(loop, *more)
    assert not [verdict for verdict in report.held if verdict.relation is Relation.NEW]
    assert [stored.version.id for stored in loop.skills() if stored.version.content.kind is Kind.PROCEDURE] == [
        waiting.version.id
    ]


def service(task: str, name: str, port: int, message: str) -> Trajectory:
    made = attempt(
        task,
        bash("pwd", "/workspace/app"),
        bash("git status", "nothing to commit"),
        call("TodoWrite", {"todos": [{"content": "create it"}]}, "ok"),
        call("TaskCreate", {"subject": "create it"}, "ok"),
        bash("ls -la", "docs services tools"),
        read("docs/plan.md", f"1. make {name}\n2. register it"),
        bash(f"python3 tools/new_service.py --name {name}", "created"),
        bash(f'python3 tools/register.py "{name}" --port {port}', "ok"),
        edit("services/index.py", "SERVICES = [", f'SERVICES = [\n    "{name}",'),
        bash(f'git add -A && git commit -m "{message}"', "done"),
        bash("pytest -q", "5 passed"),
    )
    return in_session(made, f"session-{name}")


def test_values_of_the_task_are_parameters_in_any_quotes_case_and_spelling(loop: Tacit) -> None:
    learned(
        loop,
        service("Create a new service called order status on port 8081.", "order_status", 8081, "Add order status"),
        service("Please create the service 'Stock Levels', it listens on 8082", "stock_levels", 8082, "Stock service"),
        service('create a service "Mailer" for me, port 8090', "mailer", 8090, "new mailer"),
    )
    [made] = procedures(loop)
    assert [step.arguments.get("command") for step in made.steps] == [
        "python3 tools/new_service.py --name {name}",
        'python3 tools/register.py "{name}" --port {port}',
        None,
        'git add -A && git commit -m "{message}"',
        "pytest -q",
    ]
    assert set(made.example_queries) == {
        "Create a new service called {name} on port {port}.",
        "Please create the service '{name}', it listens on {port}",
        'create a service "{name}" for me, port {port}',
    }
    assert "8090" not in made.description
    assert "mailer" not in made.name


def test_runs_are_alike_by_program_and_subcommand_without_values() -> None:
    one, other = (the_procedure(migration(column, table)) for column, table in COLUMNS[:2])
    commands = acting_commands(one.content)
    assert (
        commands
        == acting_commands(other.content)
        == {
            (Effect.WRITE, "manage.py"),
            (Effect.WRITE, "write {}/migrations/add_{}.py"),
            (Effect.CHECK, "unittest"),
        }
    )
    assert alike(commands, acting_commands(other.content))
    assert not alike(commands, {(Effect.CHECK, "unittest"), (Effect.WRITE, "npm install")})
    checks = {(Effect.CHECK, "pytest"), (Effect.CHECK, "ruff")}
    assert not alike(checks, checks)
