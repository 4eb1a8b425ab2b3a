"""Builds trajectories by hand for the tests of learning: a task, then messages and calls in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.skill import Kind
from tacit.domain.trajectory import Environment, Role, Step, StepResult, Task, Trajectory
from tacit.learn.single_attempt import distil, draft_of

WORKSPACE = "/workspace/app"
VERIFIED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier="pytest")
FAILED = Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE, verifier="pytest", reason="`pytest` failed")
UNKNOWN = Assessment(reason="no test, build or linter was run")
CLAIMED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF)


def say(text: str) -> dict[str, Any]:
    return {"role": Role.USER, "text": text}


def reply(text: str) -> dict[str, Any]:
    return {"role": Role.AGENT, "text": text}


def slip_in(text: str) -> dict[str, Any]:
    return {"role": Role.CONTEXT, "text": text}


def call(tool: str, arguments: Mapping[str, Any] | None = None, out: str = "", **more: Any) -> dict[str, Any]:
    result = more.pop("result", StepResult.OK)
    return {
        "role": Role.AGENT,
        "tool": tool,
        "arguments": arguments or {},
        "observation": out,
        "result": result,
        **more,
    }


def bash(command: str, out: str = "", *, code: int = 0, **more: Any) -> dict[str, Any]:
    result = StepResult.OK if code == 0 else StepResult.FAILED
    return call("Bash", {"command": command}, out, result=result, exit_code=code, **more)


def read(path: str, out: str = "") -> dict[str, Any]:
    return call("Read", {"file_path": f"{WORKSPACE}/{path}"}, out)


def edit(path: str, old: str, new: str, **more: Any) -> dict[str, Any]:
    arguments = {"file_path": f"{WORKSPACE}/{path}", "old_string": old, "new_string": new}
    return call("Edit", arguments, "The file has been updated.", **more)


def write(path: str, content: str) -> dict[str, Any]:
    return call("Write", {"file_path": f"{WORKSPACE}/{path}", "content": content}, "done")


def attempt(task: str, *steps: dict[str, Any], workspace: str = WORKSPACE) -> Trajectory:
    """A trajectory whose first step is the person's task."""
    numbered = tuple(Step(index=index, **step) for index, step in enumerate((say(task), *steps)))
    return Trajectory(task=Task(text=task), steps=numbered, environment=Environment(workspace=workspace))


def learned(trajectory: Trajectory, kind: Kind, assessment: Assessment = VERIFIED) -> list[Candidate]:
    found = distil(trajectory, assessment).candidates
    return [candidate for candidate in found if candidate.content.kind is kind]


def the_procedure(trajectory: Trajectory) -> Candidate:
    """The procedure that this attempt alone gives."""
    made = draft_of(trajectory, VERIFIED)
    assert isinstance(made, Candidate)
    return made


def migration(column: str = "due_date", table: str = "invoices") -> Trajectory:
    """A small real story: look around, fail, sync, create, edit, migrate, test."""
    path = f"migrations/add_{column}.py"
    stale = "Exit code 1\nerror: revision chain is stale: run `python3 manage.py sync` first"
    return attempt(
        f"Add a migration that adds column `{column}` to `{table}`.",
        bash("ls && ls migrations", "Makefile\nmanage.py\nmigrations\ninitial.py"),
        bash("python3 manage.py --help", "usage: manage.py {sync,makemigration,migrate}"),
        bash(f"python3 manage.py makemigration add_{column}", stale, code=1),
        bash("python3 manage.py sync", "revision chain is current"),
        bash(f"python3 manage.py makemigration add_{column}", f"created {path}"),
        read(path, "1\tSTATEMENTS = []\n2\t"),
        edit(path, "STATEMENTS = []", f'STATEMENTS = ["ALTER TABLE {table} ADD COLUMN {column} TEXT"]'),
        bash("python3 manage.py migrate", f"applied add_{column}"),
        bash("python3 -m unittest -q", "Ran 9 tests\n\nOK"),
        reply("Done."),
    )


STARTED = datetime(2026, 3, 1, tzinfo=UTC)
CONFLICT = "npm ERR! code ERESOLVE\nnpm ERR! unable to resolve dependency tree"


def session(number: int, *steps: dict[str, Any], task: str = "") -> Trajectory:
    """An attempt of a session of its own, a day after the one before."""
    made = attempt(task or f"Work on part {number}", *steps)
    at = STARTED + timedelta(days=number)
    dated = tuple(dataclasses.replace(step, at=at + timedelta(seconds=step.index)) for step in made.steps)
    return dataclasses.replace(made, steps=dated, session_id=f"session-{number}", id="")


def conflict(command: str = "npm install") -> dict[str, Any]:
    """An installation that fails."""
    return bash(command, CONFLICT, code=1)


def fixed_session(number: int) -> Trajectory:
    """An installation that fails, and works with another option."""
    return session(number, conflict(), bash("npm install --legacy-peer-deps", "added 9 packages"))


def reason_to_skip(trajectory: Trajectory, assessment: Assessment = VERIFIED) -> str:
    """Return why an attempt gives no procedure; empty if it gives one."""
    skipped = distil(trajectory, assessment).skipped
    return skipped.reason if skipped else ""
