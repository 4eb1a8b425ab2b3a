"""Builders for tests of revisions: runs of a skill, aligned by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.domain.skill import (
    Condition,
    Kind,
    Parameter,
    Provenance,
    SkillContent,
    SkillStep,
    SkillVersion,
    filled_fields,
)
from tacit.domain.trajectory import Environment, Origin, Role, Span, Step, StepResult, Task, Trajectory
from tacit.evidence.friction import SkillRun
from tests.unit.making import NOW, WORKSPACE

TASK = "Publish the handbook"


def did(command: str, *, seen: str = "", result: StepResult = StepResult.OK, effect: str = "write") -> tuple[Step, str]:
    """A shell call and what it does to the world."""
    return (
        Step(index=0, role=Role.AGENT, tool="Bash", arguments={"command": command}, observation=seen, result=result),
        effect,
    )


def failed(command: str, seen: str = "error: it did not work", *, effect: str = "write") -> tuple[Step, str]:
    """A shell call that did not work."""
    return did(command, seen=seen, result=StepResult.FAILED, effect=effect)


def used(tool: str, arguments: Mapping[str, Any], *, seen: str = "", effect: str = "write") -> tuple[Step, str]:
    """A call of another tool that worked."""
    step = Step(index=0, role=Role.AGENT, tool=tool, arguments=arguments, observation=seen, result=StepResult.OK)
    return step, effect


def user_message(text: str) -> tuple[Step, str]:
    """A person's message."""
    return Step(index=0, role=Role.USER, text=text), ""


HANDBOOK = SkillContent(
    kind=Kind.PROCEDURE,
    name="publish-the-handbook",
    description="Build the handbook and publish it",
    example_queries=("Publish the handbook for {edition}",),
    parameters=(Parameter(name="edition"),),
    steps=(
        SkillStep(text="Run `make docs`", tool="Bash", arguments={"command": "make docs"}),
        SkillStep(
            text="Copy it: `cp build/handbook.pdf out/{edition}.pdf`",
            tool="Bash",
            arguments={"command": "cp build/handbook.pdf out/{edition}.pdf"},
        ),
        SkillStep(text="Check with `make test`", tool="Bash", arguments={"command": "make test"}),
    ),
    postconditions=(Condition(text="`make test` passes.", check="make test"),),
)


def ran(
    *steps: tuple[Step, str],
    matched: Mapping[int, Sequence[int]],
    session: str = "one",
    content: SkillContent = HANDBOOK,
    proven: bool = True,
    task: str = TASK,
    objections: Sequence[int] = (),
) -> SkillRun:
    """A run of these steps, aligned as told."""
    numbered = tuple(dataclasses.replace(step, index=index) for index, (step, _) in enumerate(steps))
    trajectory = Trajectory(
        task=Task(text=task), steps=numbered, environment=Environment(workspace=WORKSPACE), session_id=session
    )
    return SkillRun(
        trajectory=trajectory,
        content=content,
        matched={step: tuple(places) for step, places in matched.items()},
        objections=tuple(objections),
        proven=proven,
    )


def version_of(content: SkillContent = HANDBOOK, origin: Origin = Origin.AGENT) -> SkillVersion:
    """A version every field of which has one origin, and whose steps rest on an earlier attempt."""
    grounding = {f"steps.{number}": (Span("t_first", number),) for number in range(len(content.steps))}
    return SkillVersion(
        skill_id="s_1",
        content=content,
        origins=dict.fromkeys(filled_fields(content), origin),
        provenance=Provenance(trajectory_ids=("t_first",), grounding=grounding, made_by="tacit.synthesis/1"),
        created_at=NOW,
    )
