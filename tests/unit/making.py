"""Plain builders for tests: small real values with everything irrelevant filled in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tacit.config.settings import Config, LearnSettings
from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment, Evidence, Grade, Outcome
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Provenance, Skill, SkillContent, SkillStep, SkillVersion, filled_fields
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Claim, Environment, Origin, Role, Step, StepResult, Task, Trajectory
from tacit.recall.signals import SkillTerms
from tacit.store.lexical_search import version_words
from tacit.text.words import terms

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ONE_RUN = Config(learn=LearnSettings(procedure_runs=1))
"""Settings with which one run gives a procedure: for tests of what happens to it afterwards."""
PROJECT = Scope(Level.PROJECT, "invoices")
WORKSPACE = "/srv/ann/invoices"
VERIFIED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier="pytest -q", reason="it passed")


def later(hours: float) -> datetime:
    """A time so many hours after `NOW`."""
    return NOW + timedelta(hours=hours)


def shell(command: Any, result: StepResult = StepResult.OK, *, seen: str = "", code: int | None = None) -> Step:
    """A shell call; its index is set by `attempt`."""
    return Step(
        index=0,
        role=Role.AGENT,
        tool="Bash",
        arguments={"command": command},
        result=result,
        observation=seen,
        exit_code=code,
    )


def edit(path: str, result: StepResult = StepResult.OK, *, tool: str = "Edit") -> Step:
    """A change of one file through an editing tool."""
    return Step(index=0, role=Role.AGENT, tool=tool, arguments={"file_path": path}, result=result)


def call(tool: str, arguments: Mapping[str, Any]) -> Step:
    """Any other tool call that worked."""
    return Step(index=0, role=Role.AGENT, tool=tool, arguments=arguments, result=StepResult.OK)


def attempt(*steps: Step, claim: Claim | None = None, workspace: str = WORKSPACE) -> Trajectory:
    """A trajectory of these steps, numbered in order."""
    numbered = tuple(
        Step(
            index=index,
            role=step.role,
            tool=step.tool,
            arguments=step.arguments,
            result=step.result,
            observation=step.observation,
            exit_code=step.exit_code,
        )
        for index, step in enumerate(steps)
    )
    task = Task(text="add a currency field", project="invoices")
    return Trajectory(task=task, steps=numbered, environment=Environment(workspace=workspace), claim=claim)


def bash_steps(*commands: str) -> tuple[SkillStep, ...]:
    """Steps of a skill, one per shell command."""
    return tuple(SkillStep(text=f"Run {c}", tool="Bash", arguments={"command": c}) for c in commands)


MIGRATE = bash_steps("python manage.py makemigrations", "python manage.py migrate", "pytest -q")


def content(**fields: Any) -> SkillContent:
    """A procedure about database migrations, with the given fields instead."""
    values: dict[str, Any] = {
        "kind": Kind.PROCEDURE,
        "name": "add-a-migration",
        "description": "Add a database migration and run it",
        "category": "setup",
        "steps": MIGRATE,
    }
    return SkillContent(**{**values, **fields})


def said(made: SkillContent) -> SkillTerms:
    """What a skill says, as recall sees it."""
    name, description, body, _ = version_words(made)
    subject = [*description, *terms(" ".join([*made.tags, made.signature]))]
    return SkillTerms(name, subject, examples=[terms(example) for example in made.example_queries], rest=body)


def candidate(made: SkillContent | None = None, **fields: Any) -> Candidate:
    """A machine-verified candidate whose every field an agent wrote."""
    made = made or content()
    values: dict[str, Any] = {
        "content": made,
        "scope": PROJECT,
        "origins": dict.fromkeys(filled_fields(made), Origin.AGENT),
        "provenance": Provenance(trajectory_ids=("t_1",), made_by="distiller"),
        "assessment": VERIFIED,
    }
    return Candidate(**{**values, **fields})


def stored(
    made: SkillContent | None = None,
    *,
    status: Status = Status.TRIAL,
    sequence: int = 1,
    scope: Scope = PROJECT,
    skill: Skill | None = None,
    origins: Mapping[str, Origin] | None = None,
) -> StoredVersion:
    """A version as a store would hand it out."""
    made = made or content()
    skill = skill or Skill.create(made, scope, at=NOW)
    version = SkillVersion(
        skill_id=skill.id,
        content=made,
        origins=origins if origins is not None else {"name": Origin.AGENT},
        provenance=Provenance(trajectory_ids=("t_0",)),
        created_at=NOW,
    )
    return StoredVersion(skill=skill, version=version, status=status, sequence=sequence)


def evidence(
    outcome: Outcome = Outcome.SUCCESS,
    grade: Grade = Grade.MACHINE,
    *,
    use: str = "",
    hours: float = 0,
    weight: float = 1,
) -> Evidence:
    """A result of a use; without a use's name every call is a use of its own."""
    use = use or f"u_{outcome}_{grade}_{hours}"
    return Evidence(version_id="v_1", outcome=outcome, grade=grade, at=later(hours), use_id=use, weight=weight)
