"""Would skills have shortened past attempts? Runs recall again for each attempt and counts what the skills would have
saved.

Only skills count that could have been known: everything a skill was learned from had ended before the attempt began, and
the attempt was not shown it.

A skill is credited only if the attempt itself shows that it would have helped: something failed, the skill says otherwise,
and what worked in the end is what the skill says. Then the failed tries are saved, and so is what only looked or failed in
between. A step of the skill that failed because an earlier step was missing is such a try. A lesson that is found only by
the error saves what came after the error. Changes are never counted as saved, because they may have been the work. It is
assumed that the agent follows the skill. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tacit.domain.errors import NotFound
from tacit.domain.evidence import Outcome
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.selection import Item, Query
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import Episode, StoredVersion
from tacit.domain.trajectory import Step, Trajectory
from tacit.evidence.attribution import is_met
from tacit.evidence.friction import fits
from tacit.features.evaluate.estimates import Estimate, bootstrap
from tacit.text.shell import shell_text
from tacit.text.tool_calls import Effect, operations_of

if TYPE_CHECKING:
    from tacit.api import Tacit

ERRORS_ASKED = 8
"""At most this many failed calls of one attempt are looked up."""
_ERROR_CHARACTERS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedBySkill:
    """What one skill would have saved in one attempt."""

    skill: str
    version_id: str
    failures: tuple[int, ...] = ()
    """Failed steps that would not have been tried."""
    looks: tuple[int, ...] = ()
    """Steps in between that only looked for what the skill says, or failed."""
    repeats: tuple[int, ...] = ()
    """Failed steps that are what the skill says: it would have led to the same failure."""

    @property
    def steps(self) -> frozenset[int]:
        """All steps that would have been saved."""
        return frozenset((*self.failures, *self.looks))


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttemptResult:
    """One past attempt and what recall would have returned for it."""

    trajectory_id: str
    session: str
    task: str
    at: datetime
    outcome: Outcome
    steps: int
    """The number of its calls."""
    failures: int
    given: tuple[str, ...] = ()
    """Names of the skills that would have been returned for the task."""
    tokens: int = 0
    """Their tokens."""
    spared: tuple[SavedBySkill, ...] = ()

    @property
    def spared_steps(self) -> int:
        """Calls that would have been saved, each counted once."""
        return len(frozenset().union(*(each.steps for each in self.spared)))

    @property
    def spared_failures(self) -> int:
        """Failed calls that would have been saved."""
        return len({step for each in self.spared for step in each.failures})

    @property
    def repeats(self) -> int:
        """Failed calls that a skill would have led to as well."""
        return len({step for each in self.spared for step in each.repeats})


@dataclass(frozen=True, slots=True, kw_only=True)
class PastReport:
    """All attempts of a period, and their totals."""

    since: datetime
    attempts: tuple[PastAttemptResult, ...]
    undated: int = 0
    """Attempts without a time: what was known then is unknown."""
    skills: int = 0
    """The number of skills in use now."""

    @property
    def helped(self) -> list[PastAttemptResult]:
        """Attempts in which something would have been saved, most first."""
        found = [each for each in self.attempts if each.spared_steps]
        return sorted(found, key=lambda each: (-each.spared_steps, -each.spared_failures, each.at))

    @property
    def worst(self) -> list[PastAttemptResult]:
        """Attempts with a returned skill that saves nothing: those with the same failure first, then the costly ones."""
        found = [each for each in self.attempts if (each.given or each.repeats) and not each.spared_steps]
        return sorted(found, key=lambda each: (-each.repeats, -each.tokens, each.at))

    def share(
        self, part: Callable[[PastAttemptResult], int], whole: Callable[[PastAttemptResult], int]
    ) -> Estimate | None:
        """Return a share over all attempts, with an interval over sessions.

        None if there is nothing to count: resampling zeros gives no interval.
        """
        if not any(map(part, self.attempts)):
            return None

        def figure(each: Sequence[PastAttemptResult]) -> float | None:
            total = sum(map(whole, each))
            return sum(map(part, each)) / total if total else None

        return bootstrap(self.attempts, figure, groups=[each.session for each in self.attempts])


def look_back(memory: Tacit, *, since: datetime, progress: Callable[[int, int], None] | None = None) -> PastReport:
    """Run recall again for every attempt since then. `progress` is called with done and total."""
    listed = [each for each in memory.context.store.episodes() if not each.superseded and not each.pruned]
    dated = [each for each in listed if each.started_at is not None and each.started_at >= since]
    library = _Library(memory)
    looked: list[PastAttemptResult] = []
    for done, episode in enumerate(dated, start=1):
        trajectory = memory.context.store.trajectory(episode.id)
        if trajectory.actions:
            looked.append(_looked(memory, library, episode, trajectory))
        if progress:
            progress(done, len(dated))
    undated = sum(each.started_at is None and each.captured_at >= since for each in listed)
    return PastReport(since=since, attempts=tuple(looked), undated=undated, skills=len(library.skills))


class _Library:
    """The skills in use, and since when each could have been known."""

    def __init__(self, memory: Tacit) -> None:
        self._store = memory.context.store
        self.skills = memory.skills(statuses=RECALLABLE)
        self._ends: dict[str, tuple[datetime | None, str]] = {}

    def unknown_to(self, episode: Episode) -> tuple[str, ...]:
        """Return the skills that an attempt could not have been shown, or was shown."""
        shown = {
            version_id
            for use in (self._store.uses(session_id=episode.session_id) if episode.session_id else ())
            if not use.held_back
            for version_id in use.version_ids
        }
        return tuple(
            stored.skill.id
            for stored in self.skills
            if stored.version.id in shown or not self._was_known(stored, episode)
        )

    def _was_known(self, stored: StoredVersion, episode: Episode) -> bool:
        assert episode.started_at is not None
        sources = [self._end(source) for source in stored.version.provenance.trajectory_ids]
        ends = [end or stored.version.created_at for end, _ in sources] or [stored.version.created_at]
        sessions = {session for _, session in sources if session}
        return max(ends) < episode.started_at and episode.session_id not in sessions

    def _end(self, trajectory_id: str) -> tuple[datetime | None, str]:
        """Return when an attempt had ended, if known, and its session."""
        if trajectory_id not in self._ends:
            end, session = None, ""
            with suppress(NotFound):  # the source is gone, so the version's own time counts
                episode = self._store.episode(trajectory_id)
                end, session = episode.started_at, episode.session_id
                if not episode.pruned:
                    end = self._store.trajectory(trajectory_id).ended_at or end
            self._ends[trajectory_id] = end, session
        return self._ends[trajectory_id]


def _looked(memory: Tacit, library: _Library, episode: Episode, trajectory: Trajectory) -> PastAttemptResult:
    assert episode.started_at is not None
    without = library.unknown_to(episode)
    given = memory.rank(_query(memory, trajectory.task.text, without)).items
    found: dict[str, SavedBySkill] = {}
    for item in given:
        parts = {part.name: part.content for part in item.parts}
        found[item.version_id] = _saved(item, *spared_by(trajectory, item.version.content, parts=parts))
    for item in _at_errors(memory, trajectory, without):
        if item.version_id not in found:
            found[item.version_id] = _saved(item, *spared_by(trajectory, item.version.content, beforehand=False))
    return PastAttemptResult(
        trajectory_id=episode.id,
        session=episode.session_id or episode.id,
        task=trajectory.task.text,
        at=episode.started_at,
        outcome=episode.assessment.outcome,
        steps=len(trajectory.actions),
        failures=sum(step.failed for step in trajectory.actions),
        given=tuple(item.name for item in given),
        tokens=sum(item.tokens for item in given),
        spared=tuple(each for each in found.values() if each.steps or each.repeats),
    )


def _saved(item: Item, failures: tuple[int, ...], looks: tuple[int, ...], repeats: tuple[int, ...]) -> SavedBySkill:
    return SavedBySkill(skill=item.name, version_id=item.version_id, failures=failures, looks=looks, repeats=repeats)


def _query(memory: Tacit, text: str, without: tuple[str, ...], state: Mapping[str, str] | None = None) -> Query:
    recall = memory.context.config.recall
    kinds = (Kind.LESSON,) if state else (Kind.PROCEDURE, Kind.LESSON)
    return Query(
        text=text,
        k=recall.k,
        budget_tokens=recall.budget_tokens,
        scope=memory.context.scope,
        state=state or {},
        kinds=kinds,
        without=without,
    )


def _at_errors(memory: Tacit, trajectory: Trajectory, without: tuple[str, ...]) -> Iterator[Item]:
    """Yield lessons that would have been returned when something failed, as a hook asks for them."""
    failed = [step for step in trajectory.actions if step.failed and step.observation.strip()]
    for step in failed[:ERRORS_ASKED]:
        state = {"error": step.observation[:_ERROR_CHARACTERS], "command": shell_text(step.arguments)}
        for item in memory.rank(_query(memory, trajectory.task.text, without, state)).items:
            if is_met(item.version.content.signature, step):
                yield item


def spared_by(
    trajectory: Trajectory,
    content: SkillContent,
    *,
    parts: Mapping[str, SkillContent] | None = None,
    beforehand: bool = True,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return failed tries, looks in between, and failures that the skill repeats. `beforehand`: known from the start."""
    steps = {step.index: step for step in trajectory.actions}
    skill_steps = [step for each in (content, *(parts or {}).values()) for step in each.steps]
    workspace = trajectory.environment.workspace
    places = {
        index: found
        for index, step in steps.items()
        if (found := [place for place, wanted in enumerate(skill_steps) if fits(wanted, step, workspace=workspace)])
    }
    early = {index for index in places if _too_early(index, steps, places)}
    matching = places.keys() - early
    worked = sorted(index for index in matching if not steps[index].failed)
    tries: set[int] = set()
    looks: set[int] = set()
    for right in worked:
        missed = [
            step
            for step in steps.values()
            if step.index < right and (step.index in early or _missed(step, steps[right], content, matching))
        ]
        missed = [step for step in missed if not any(step.index < other < right for other in worked)]
        if not missed:
            continue
        first = min(step.index for step in missed)
        tries |= {step.index for step in missed}
        looks |= {step.index for step in steps.values() if first < step.index < right and _idle(step, matching)}
    # a lesson that is found by an error saves nothing before it
    errors = (step.index for step in steps.values() if step.failed and is_met(content.signature, step))
    known_from = -1 if beforehand else min(errors, default=-1)
    repeats = {index for index in matching if steps[index].failed}

    def later(found: set[int]) -> tuple[int, ...]:
        return tuple(sorted(index for index in found if index > known_from))

    return later(tries), later(looks - tries), later(repeats)


def _too_early(index: int, steps: Mapping[int, Step], places: Mapping[int, Sequence[int]]) -> bool:
    """Whether a step of a skill failed because an earlier step of it was missing.

    The attempt shows it: afterwards the earlier step was done, and then this one worked.
    """
    if not steps[index].failed:
        return False
    worked = {at: found for at, found in places.items() if not steps[at].failed}

    def waited_for(before: int, place: int) -> bool:
        first = min((at for at, found in worked.items() if before in found), default=-1)
        return first > index and any(at > first for at, found in worked.items() if place in found)

    return all(any(waited_for(before, place) for before in range(place)) for place in places[index])


def _missed(step: Step, right: Step, content: SkillContent, matching: Collection[int]) -> bool:
    """Whether a step is a failed try at what another step did in the end, and not what the skill says."""
    if not step.failed or step.index in matching:
        return False
    if content.kind is Kind.LESSON and content.signature and is_met(content.signature, step):
        return True
    # the keys stay the same when a call is tried again
    tried, worked = ({act.retry_key for act in operations_of(each.tool, each.arguments)} for each in (step, right))
    return not tried.isdisjoint(worked)


def _idle(step: Step, matching: Collection[int]) -> bool:
    """Whether a step that is not the skill's failed or changed nothing."""
    if step.index in matching:
        return False
    return step.failed or all(act.effect is Effect.READ for act in operations_of(step.tool, step.arguments))
