"""A group under study: what the parts of mining need of it, each fetched or worked out once.

Holds the group's units, a bounded sample of whole trajectories, and how the arguments of each tool are bound. Decides
nothing about what is needed when.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

from tacit.domain.evidence import Assessment
from tacit.domain.outline import Outline
from tacit.domain.trajectory import Step, Trajectory
from tacit.learn.mining.binding import Bound, Occurrence, bind
from tacit.learn.mining.groups import Group
from tacit.learn.mining.telling import general_task, names_in
from tacit.learn.mining.units import Unit, Units, units_of

SAMPLE = 24
"""Attempts that are looked at whole for one unit."""


class Source(Protocol):
    """Where whole attempts come from."""

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole attempt."""

    def assessment(self, trajectory_id: str) -> Assessment:
        """What is known of its outcome."""


class Study:
    """One group, its units and its bindings."""

    def __init__(self, group: Group, source: Source) -> None:
        self.group = group
        self.source = source
        self.units: Units = units_of(group)
        self.outlines: Mapping[str, Outline] = {outline.trajectory_id: outline for outline in group.outlines}
        self.names = names_in(outline.task for outline in group.outlines)
        self._trajectories: dict[str, Trajectory] = {}
        self._readings: dict[str, Bound] = {}
        self._asked: dict[str, list[Outline]] = {}

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """A whole attempt; those that were asked for stay at hand."""
        if trajectory_id not in self._trajectories:
            self._trajectories[trajectory_id] = self.source.trajectory(trajectory_id)
        return self._trajectories[trajectory_id]

    @cached_property
    def toolsets(self) -> frozenset[frozenset[str]]:
        """The different sets of tools that sampled attempts had at hand, as far as they say."""
        sampled = {identity for unit in self.units.units for identity in self.sample(list(unit.made))}
        found = (frozenset(self.trajectory(identity).environment.tools) for identity in sorted(sampled))
        return frozenset(tools for tools in found if tools)

    def told(self, trajectory_id: str) -> str:
        """What an attempt was asked, in general words."""
        outline = self.outlines[trajectory_id]
        return general_task(outline, self.names[outline.task])

    def asked_alike(self, outline: Outline) -> list[Outline]:
        """Attempts that were asked the same, word for word."""
        if not self._asked:
            for each in self.group.outlines:
                self._asked.setdefault(each.task, []).append(each)
        return self._asked[outline.task]

    def sample(self, trajectory_ids: Sequence[str], *, most: int = SAMPLE) -> list[str]:
        """A few attempts out of many, spread over different tasks, the same each time."""
        by_task: dict[str, list[str]] = {}
        for identity in trajectory_ids:
            by_task.setdefault(self.outlines[identity].task, []).append(identity)
        chosen: list[str] = []
        for turn in range(max(map(len, by_task.values()), default=0)):
            for members in by_task.values():
                if turn < len(members) and len(chosen) < most:
                    chosen.append(members[turn])
        return chosen

    def bind_unit(self, unit: Unit) -> list[Bound]:
        """How the arguments of a unit's calls are bound, call by call."""
        sample = self.sample(list(unit.made))
        bound = []
        for number in range(len(unit.tokens)):
            places = [
                (identity, self.outlines[identity].moves[times[number]].index)
                for identity in sample
                for times in unit.made[identity]
            ]
            bound.append(self._bind(places))
        return bound

    def bind_reading(self, tool: str) -> Bound:
        """How the arguments of a reading tool are bound."""
        if tool not in self._readings:
            asked = {
                outline.trajectory_id: [reading.index for reading in outline.readings if reading.tool == tool]
                for outline in self.group.successes
            }
            sample = self.sample([identity for identity, places in asked.items() if places])
            self._readings[tool] = self._bind([(identity, at) for identity in sample for at in asked[identity]])
        return self._readings[tool]

    def _bind(self, places: Sequence[tuple[str, int]]) -> Bound:
        occurrences = [
            Occurrence(trajectory, step_at(trajectory, index))
            for identity, index in places
            for trajectory in [self.trajectory(identity)]
        ]
        return bind(occurrences)


def step_at(trajectory: Trajectory, index: int) -> Step:
    """The step with this number."""
    if 0 <= index < len(trajectory.steps) and trajectory.steps[index].index == index:
        return trajectory.steps[index]
    return next(step for step in trajectory.steps if step.index == index)
