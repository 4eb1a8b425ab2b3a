"""Merges the draft of a procedure with earlier attempts at the same work, and says whether there are enough of them.

One attempt at shell or file work shows what was done once, not how such work is done: a new procedure needs several like
runs (`[learn] procedure_runs`). Runs are alike when their tasks share words and the other one made most of its acting commands.
A run that only followed a known skill confirms it. Work whose procedure a person rejected is not proposed again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from tacit.domain.candidate import Candidate
from tacit.domain.errors import TacitError
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import Episode, StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.evidence.skill_usage import SkillUsage
from tacit.gate.admission import Admission
from tacit.learn import friction_notes, overlays
from tacit.learn.consensus import consensus
from tacit.learn.procedure import BOOKKEEPING, SkippedProcedure
from tacit.learn.single_attempt import draft_of
from tacit.learn.values import PLACEHOLDER
from tacit.store import queries
from tacit.store.context import StoreContext
from tacit.text.tool_calls import PATHS, Effect, Operation, operations_of
from tacit.text.words import terms

MAX_DRAFTS = 12
"""The newest attempts that are merged into one procedure: alignment compares each with each."""
_MIN_SHARED = 2
"""Acting commands that like runs share at least."""
_SEARCHED = 4 * MAX_DRAFTS
_MAX_KEPT = 64
"""Drafts that one pass remembers: like attempts are compared with each other again and again."""
_TEXTS = ("new_string", "new_str", "content", "file_text", "edits")
"""Arguments with the text that an edit writes."""
_MAX_EDIT = 400
"""Characters of an edit; a longer one is a piece of work of its own and no step that is repeated."""
_PLAIN_LETTER = re.compile(r"[A-Za-z]")

Run = tuple[Trajectory, Candidate]
"""An attempt with the draft that it gives alone."""


class DraftMerger:
    """Turns the draft of one attempt into what is proposed, if anything is."""

    def __init__(self, context: StoreContext, admission: Admission) -> None:
        self._store, self._admission = context.store, admission
        self._least = context.config.learn.procedure_runs
        self._commands: dict[str, frozenset[ActingCommand]] = {}
        self._drafts: dict[str, Run | None] = {}

    def merge(self, draft: Candidate, trajectory: Trajectory) -> Candidate | SkippedProcedure:
        """Merge a procedure with the attempts at the same work; say why where it is not proposed."""
        closest = self._admission.matching_version(draft)
        if closest is None:
            return self._confirmed(draft, trajectory) or self._of_like_runs(draft, trajectory)
        others = [run for run in self._runs_behind(closest) if run[0].id != trajectory.id]
        if not others:
            return draft
        merged = _merged([*others, (trajectory, draft)])
        return dataclasses.replace(merged, revises=closest.skill.id, parents=(closest.version.id,))

    def _confirmed(self, draft: Candidate, trajectory: Trajectory) -> Candidate | None:
        """Return the skill that the attempt did nothing but follow.

        Work done in place of a failed step counts as following: refinement handles it.
        """
        for version_id, start in self._followed(trajectory).items():
            version = self._store.version(version_id).version
            confirming = dataclasses.replace(draft, content=version.content, origins=version.origins)
            # None in another scope or where a newer version exists.
            known = self._admission.matching_version(confirming)
            is_current = known is not None and known.version.id == version_id
            if is_current and friction_notes.stays_within(trajectory, version.content, start=start):
                return confirming
        return None

    def _followed(self, trajectory: Trajectory) -> dict[str, int]:
        """Return the versions that an attempt followed, each with the first step it guided."""
        return SkillUsage(self._store, trajectory).followed(self._store.episode(trajectory.id).assessment)

    def _follows_skill(self, trajectory: Trajectory) -> bool:
        """Whether an attempt followed a procedure of the library."""
        versions = (self._store.version(version_id).version for version_id in self._followed(trajectory))
        return any(version.content.kind is Kind.PROCEDURE for version in versions)

    def _of_like_runs(self, draft: Candidate, trajectory: Trajectory) -> Candidate | SkippedProcedure:
        """Merge the draft with like runs; one run is enough where the settings say so."""
        if self._least <= 1:
            return draft
        if self._follows_skill(trajectory):
            return SkippedProcedure(
                reason="followed_skill", text="The run followed a skill: it is evidence for that one."
            )
        runs = [*self._like_runs(draft, trajectory), (trajectory, draft)]
        if len(runs) < self._least:
            text = f"{len(runs)} like run(s) so far; a procedure needs {self._least}."
            return SkippedProcedure(reason="too_few_runs", text=text)
        merged = _merged(runs)
        if len(merged.provenance.trajectory_ids) < self._least or not _is_exact(merged.content):
            return SkippedProcedure(reason="nothing_in_common", text="Like runs share too few steps for a procedure.")
        if self._was_rejected(merged):
            return SkippedProcedure(reason="rejected_before", text="A person rejected a procedure of this work.")
        closest = self._admission.matching_version(merged)
        if closest is None:
            return merged
        return dataclasses.replace(merged, revises=closest.skill.id, parents=(closest.version.id,))

    def _like_runs(self, draft: Candidate, trajectory: Trajectory) -> list[Run]:
        """Load earlier successes at like work, one per session, the most similar tasks first."""
        mine = acting_commands(draft.content)
        sessions = {_session_of(self._store.episode(trajectory.id))}
        found: list[Run] = []
        for episode in self._store.search_episodes(terms(trajectory.task.text), limit=_SEARCHED):
            usable = episode.assessment.verified_success and not (episode.pruned or episode.superseded)
            if not usable or _session_of(episode) in sessions:
                continue
            if episode.id in self._commands and not alike(mine, self._commands[episode.id]):
                continue
            run = self._run(episode.id)
            self._commands[episode.id] = acting_commands(run[1].content) if run else frozenset()
            if run and alike(mine, self._commands[episode.id]) and not self._follows_skill(run[0]):
                sessions.add(_session_of(episode))
                found.append(run)
            if len(found) >= MAX_DRAFTS - 1:
                break
        return found

    def _was_rejected(self, merged: Candidate) -> bool:
        """Whether a person rejected a procedure that some of these attempts, or the same commands, gave before."""
        commands = acting_commands(merged.content)
        attempts = set(merged.provenance.trajectory_ids)
        return any(
            not attempts.isdisjoint(stored.version.provenance.trajectory_ids)
            or commands == acting_commands(stored.version.content)
            for stored in self._store.catalogue(statuses={Status.REJECTED}, kinds={Kind.PROCEDURE})
            if not queries.was_set_aside(self._store, stored.version.id)
        )

    def _runs_behind(self, stored: StoredVersion) -> list[Run]:
        """Load the attempts that a skill was made of; purged ones are left out."""
        confirming = self._store.verdicts(version_id=stored.version.id, limit=MAX_DRAFTS)
        ids = [
            *stored.version.provenance.trajectory_ids,
            *(i for each in confirming[::-1] for i in each.trajectory_ids),
        ]
        return [run for identity in list(dict.fromkeys(ids))[-MAX_DRAFTS:] if (run := self._run(identity))]

    def _run(self, trajectory_id: str) -> Run | None:
        """Load an attempt with its draft; none where it was purged or gives no draft."""
        if trajectory_id not in self._drafts:
            if len(self._drafts) >= _MAX_KEPT:
                self._drafts.pop(next(iter(self._drafts)))
            self._drafts[trajectory_id] = self._load(trajectory_id)
        return self._drafts[trajectory_id]

    def _load(self, trajectory_id: str) -> Run | None:
        try:
            trajectory = self._store.trajectory(trajectory_id)
        except TacitError:
            return None
        made = draft_of(trajectory, self._store.episode(trajectory_id).assessment)
        return (trajectory, made) if isinstance(made, Candidate) else None


def _merged(runs: Sequence[Run]) -> Candidate:
    made = consensus([draft for _, draft in runs], {trajectory.id: trajectory for trajectory, _ in runs})
    return overlays.carried_over(made, runs[-1][1])


ActingCommand = tuple[Effect, str]
"""What an operation does, and its program with the subcommand, or the file that it writes."""


def acting_commands(content: SkillContent) -> frozenset[ActingCommand]:
    """Return what a procedure does, without values. What only reads or keeps books is left out."""
    return frozenset(
        (operation.effect, name)
        for step in content.steps
        for operation in operations_of(step.tool, step.arguments)
        if operation.effect in (Effect.WRITE, Effect.CHECK) and (name := _name_of(operation))
    )


def _name_of(operation: Operation) -> str:
    if operation.command is None:
        return f"{operation.name} {PLACEHOLDER.sub('{}', operation.path or '')}".strip()
    program, subcommand = operation.command.program, operation.command.subcommand
    # What follows a script may be a value.
    name = program if "." in program else f"{program} {subcommand}".strip()
    return "" if name in BOOKKEEPING else name


def alike(mine: Iterable[ActingCommand], theirs: Iterable[ActingCommand]) -> bool:
    """Whether most acting commands of a run occur in another one, and at least one of them changes something."""
    own, shared = set(mine), set(mine) & set(theirs)
    changing = any(effect is Effect.WRITE for effect, _ in shared)
    return changing and len(shared) >= _MIN_SHARED and 2 * len(shared) > len(own)


def _is_exact(content: SkillContent) -> bool:
    """Whether its required steps say exactly what to change: a command, and another one or a short edit of a known file."""
    required = [step for step in content.steps if not step.optional]
    commands = {
        operation.command.text
        for step in required
        for operation in operations_of(step.tool, step.arguments)
        if operation.command is not None and operation.effect is Effect.WRITE and _name_of(operation)
    }
    edits = sum(
        any(0 < len(str(step.arguments.get(key, ""))) <= _MAX_EDIT for key in _TEXTS)
        and any(_PLAIN_LETTER.search(PLACEHOLDER.sub("", str(step.arguments.get(key, "")))) for key in PATHS)
        for step in required
    )
    return bool(commands) and len(commands) + edits >= _MIN_SHARED


def _session_of(episode: Episode) -> str:
    """Return the session that an attempt belongs to; a subagent belongs to its parent's."""
    return episode.parent_session_id or episode.session_id or episode.id
