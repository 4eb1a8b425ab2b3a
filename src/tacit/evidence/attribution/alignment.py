"""How a run stands to a skill, as a value, and the parts of a run that tell of it. Nothing here decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.domain.evidence import Following
from tacit.domain.trajectory import Step, Trajectory
from tacit.text.tool_calls import Operation, operations_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Something that a run did in place of what the skill says."""

    step: int
    """Index of the step in the trajectory."""
    instead_of: int | None = None
    """The step of the skill that was due there; nothing where the skill only says not to do it."""
    what: str = ""
    """How a person would name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """How a run stands to a skill, and what shows it."""

    following: Following
    adherence: float
    """Which part of what can be looked for was done, 0 to 1; changes weigh more than checks, and these more than reads."""
    matched: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Step of the skill → steps of the trajectory that carried it out or tried to."""
    missing: tuple[int, ...] = ()
    """Steps of the skill that it requires and nothing in the run stands for."""
    diverged: tuple[Divergence, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why, in sentences without any words of the run."""


@dataclass(frozen=True, slots=True)
class Done:
    """One act of a run, and where it stands."""

    act: Operation
    step: Step


class Run:
    """A stretch of a trajectory as acts in order, with the skills that the client says were followed."""

    def __init__(self, trajectory: Trajectory, *, start: int = 0, end: int | None = None) -> None:
        self.trajectory = trajectory
        self.start = start
        workspace = trajectory.environment.workspace
        inside = [step for step in trajectory.steps if step.index >= start and (end is None or step.index < end)]
        self.actions = [step for step in inside if step.is_action]
        self.done = [
            Done(act, step) for step in self.actions for act in operations_of(step.tool, step.arguments, workspace=workspace)
        ]
        self._skilled = [step for step in inside if step.skill]

    @property
    def is_blind(self) -> bool:
        """Whether the client kept no arguments of any call, so that no value can be seen."""
        return bool(self.actions) and not any(step.arguments for step in self.trajectory.actions)

    def under(self, name: str) -> list[Step]:
        """The steps that the client attributes to a skill; loading it is one of them."""
        wanted = plain_skill(name)
        return [step for step in self._skilled if plain_skill(step.skill) == wanted]

    def after(self, index: int) -> list[Done]:
        """What was done after a step."""
        return [done for done in self.done if done.step.index > index]


def plain_skill(name: str) -> str:
    """A skill's own name, without the plugin or folder in front that a client may tell."""
    return name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1].strip().casefold()
