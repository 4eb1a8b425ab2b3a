"""Which static skill was in use where a session taught something: what was learned then extends that skill, as an overlay.

A static skill is a folder of the project that people wrote. Its file is only read; the overlay is a skill of its own.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from tacit import render
from tacit.domain.candidate import Candidate
from tacit.domain.errors import TacitError
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin, Span, Trajectory
from tacit.evidence.attribution import plain_skill
from tacit.render.sections import instructions
from tacit.store import Store
from tacit.text.client_tools import loaded_skill

MAX_ATTEMPTS = 5
"""The newest attempts behind a candidate that are looked at."""
_KINDS = frozenset({Kind.LESSON, Kind.PROCEDURE, Kind.NORM, Kind.PREFERENCE})


class StaticSkills:
    """The static skills of a project, as far as no learned skill has their name (an export is no static skill)."""

    def __init__(self, store: Store, project: Path | None) -> None:
        self._store, self._project = store, project

    @cached_property
    def contents(self) -> dict[str, SkillContent]:
        """The skills by their names in lower case."""
        entries = render.scan(project=self._project, home=None).entries if self._project else ()
        return {plain_skill(each.name): each.content for each in entries if not self._store.catalogue(name=each.name)}

    def extended_by(self, candidate: Candidate) -> Candidate:
        """Return a candidate as an overlay of the static skill that most of its attempts had in use, if there is one.

        What is known by its name extends what it extended before, or nothing.
        """
        content = candidate.content
        if content.extends or content.sub_skills or candidate.revises or content.kind not in _KINDS:
            return candidate
        if known := self._store.catalogue(name=content.name, kinds={content.kind}):
            return extend(candidate, known[-1].version.content.extends)
        loads = [
            load
            for each in candidate.provenance.trajectory_ids[-MAX_ATTEMPTS:]
            if (load := self._load(candidate, each))
        ]
        name, count = Counter(name for name, _ in loads).most_common(1)[0] if loads else ("", 0)
        if name not in self.contents or 2 * count <= len(candidate.provenance.trajectory_ids[-MAX_ATTEMPTS:]):
            return candidate
        return extend(
            candidate, self.contents[name].name, loaded_at=tuple(span for each, span in loads if each == name)
        )

    def names_all(self, skill: str, commands: Collection[str]) -> bool:
        """Whether the text of a static skill names all these commands: a run that did only that followed it."""
        content = self.contents.get(plain_skill(skill))
        text = instructions(content) if content else ""
        return bool(commands) and all(each in text for each in commands)

    def _load(self, candidate: Candidate, trajectory_id: str) -> tuple[str, Span] | None:
        """Return the skill in use in an attempt where the candidate comes from, and where it was loaded."""
        if not self.contents:
            return None
        try:
            trajectory = self._store.trajectory(trajectory_id)
        except TacitError:  # purged meanwhile
            return None
        return _skill_in_use(trajectory, _place(candidate, trajectory_id))


def extend(candidate: Candidate, skill: str, *, loaded_at: tuple[Span, ...] = ()) -> Candidate:
    """Return a candidate that extends a skill, which the agent loaded there; unchanged without a skill."""
    if not skill:
        return candidate
    content = candidate.content
    name = f"{content.name}-here" if content.name == skill else content.name
    made = candidate.provenance
    return dataclasses.replace(
        candidate,
        content=dataclasses.replace(content, name=name, extends=skill),
        origins={**candidate.origins, "extends": Origin.AGENT},
        provenance=dataclasses.replace(
            made, grounding={**made.grounding, "extends": loaded_at} if loaded_at else made.grounding
        ),
    )


def carried_over(merged: Candidate, draft: Candidate) -> Candidate:
    """Return what drafts were merged into, extending what the newest draft extends."""
    return extend(merged, draft.content.extends, loaded_at=tuple(draft.provenance.grounding.get("extends", ())))


def _place(candidate: Candidate, trajectory_id: str) -> int:
    """Return the step of an attempt that a candidate comes from: what failed or was said, or the last step of a procedure."""
    grounding = candidate.provenance.grounding
    spans = [span for each in grounding.values() for span in each if span.trajectory_id == trajectory_id]
    if candidate.content.kind is Kind.PROCEDURE:
        return max((span.step for span in spans), default=-1)
    described_by = [span for span in spans if span in grounding.get("description", ()) and span.part != "observation"]
    return min((span.step for span in described_by or spans), default=-1)


def _skill_in_use(trajectory: Trajectory, at: int) -> tuple[str, Span] | None:
    """Return the skill that the client loaded or named last up to a step, and where."""
    for step in reversed(trajectory.steps):
        if step.index <= at and not step.failed and (name := step.skill or loaded_skill(step.tool, step.arguments)):
            return plain_skill(name), Span(trajectory.id, step.index, "arguments")
    return None
