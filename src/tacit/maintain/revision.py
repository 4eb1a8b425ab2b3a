"""Revision: the next version of a skill that its runs suggest, friction per step, and regressions against the parent.

Loads the runs behind a version's evidence and friction, compares them with the version, and makes a candidate for the
gate. One finding is proposed once: what waits or was rejected is not proposed again. Applies nothing.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.care import Advice, Care, CareKind, CareReason
from tacit.domain.errors import TacitError
from tacit.domain.evidence import Evidence, Following, Outcome, Reliability
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, coded
from tacit.domain.skill import SkillStep
from tacit.domain.stored import Episode, StoredVersion
from tacit.evidence.friction import (
    MADE_BY,
    Friction,
    FrictionKind,
    RunCall,
    SkillRun,
    fits,
    label_of,
)
from tacit.evidence.reliability import reliability, votes
from tacit.evidence.skill_usage import SkillUsage
from tacit.learn import friction_notes
from tacit.learn.origin_limits import OriginLimiter
from tacit.maintain.revision_proposals import Revision, proposed_revision, same_revision_content
from tacit.maintain.status_changes import care_of
from tacit.store import Store
from tacit.store.queries import current
from tacit.text.similarity import jaccard
from tacit.text.words import term_set

MOST_RUNS = 24
"""How many runs of one version are compared, the latest."""
SUCCESS_RATE_LEAST = 0.70
VERIFIED_LEAST = 3
"""Verified results before the success rate is judged."""
FRICTION_MOST = 3.0
"""Per use."""
USES_LEAST = 2
CORRECTIONS_MOST = 3
_SIMILAR = 0.5
"""How similar two corrections must be to have one subject."""
_THEME_MAX = 80
_REJECTED = frozenset({Status.REJECTED, Status.RETIRED})
_NOT_USED = frozenset({Following.IGNORED, Following.CONTRADICTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A task that an earlier version solved and this one fails."""

    task: str
    """The digest of the task."""
    failed: Evidence
    solved: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentComparison:
    """A version next to its parent, each by its own verified evidence; often not known yet."""

    parent: StoredVersion
    before: Reliability
    after: Reliability
    regressions: tuple[Regression, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuality:
    """How well a version works in use."""

    uses: int = 0
    met: int = 0
    """How often something got in the way, over all runs."""
    by_step: Mapping[int, Mapping[str, int]]
    """Step of the skill → kind of friction → how often."""
    verified: int = 0
    succeeded: int = 0
    themes: tuple[tuple[str, int], ...] = ()
    """What people corrected, and in how many runs, the most frequent first."""
    reasons: tuple[CodedReason, ...] = ()
    """Why a person should review it; empty if there is no need."""

    @property
    def per_use(self) -> float:
        """Average friction per use."""
        return self.met / self.uses if self.uses else 0.0

    @property
    def needs_review(self) -> bool:
        """Whether a person should review it."""
        return bool(self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFindings:
    """Everything that runs show about one version."""

    stored: StoredVersion
    quality: UsageQuality
    met: Mapping[str, tuple[Friction, ...]]
    """Trajectory → the friction in it."""
    revision: Revision | None = None
    """The next version that runs suggest and that was not proposed before."""
    candidate: Candidate | None = None
    """The revision as a candidate."""
    waiting: StoredVersion | None = None
    """A revision that waits for a person."""
    comparison: ParentComparison | None = None
    """With its parent, if it is a later version."""

    @property
    def regressions(self) -> tuple[Regression, ...]:
        """The tasks that an earlier version solved and this one fails."""
        return self.comparison.regressions if self.comparison else ()


_LibrarySteps = Mapping[str, Sequence[tuple[str, SkillStep]]]
"""Label → the steps of all skills in use that have it, each with the id of its skill."""


def _library_steps(store: Store) -> _LibrarySteps:
    found: dict[str, list[tuple[str, SkillStep]]] = {}
    for stored in current(store, statuses=RECALLABLE):
        for step in stored.version.content.steps:
            found.setdefault(label_of(step), []).append((stored.skill.id, step))
    return found


def examine_all(store: Store) -> list[SkillFindings]:
    """Return the findings on every skill in use that has any, by name."""
    library = _library_steps(store)
    findings = [examine(store, stored, library=library) for stored in current(store, statuses=RECALLABLE)]
    return [
        each
        for each in findings
        if each.met or each.revision or each.quality.needs_review or each.waiting or each.regressions
    ]


def examine(store: Store, stored: StoredVersion, *, library: _LibrarySteps | None = None) -> SkillFindings:
    """Return what runs show about one version."""
    version = stored.version
    library = _library_steps(store) if library is None else library
    noted = friction_notes.frictions_by_run(store, version.id)
    kept = store.evidence([version.id])[version.id]
    found: list[Episode] = []
    for identity in dict.fromkeys([*noted, *(item.trajectory_id for item in kept)]):
        with suppress(TacitError):  # no longer stored
            found += [store.episode(identity)] if identity else []
    oldest_first = sorted(found, key=lambda each: (each.started_at or each.captured_at, each.id))
    episodes = {each.id: each for each in oldest_first}
    replaced = {identity for identity, episode in episodes.items() if episode.superseded}  # a longer capture exists
    evidence = [item for item in kept if item.trajectory_id not in replaced]
    met = {identity: found for identity, found in noted.items() if identity not in replaced}
    known = store.versions(stored.skill.id)
    without = {item.trajectory_id for item in evidence if item.control}
    ran = [each for each in episodes.values() if each.id not in replaced | without and not each.pruned]
    revision = _revision(store, stored, ran, known=known, library=library)
    waiting = [other for other in known if _refines(other, stored) and other.status not in _REJECTED | RECALLABLE]
    return SkillFindings(
        stored=stored,
        quality=usage_quality(evidence, met),
        met=met,
        revision=revision,
        candidate=OriginLimiter(store).limit_origins(_candidate(stored, revision)) if revision else None,
        waiting=waiting[-1] if waiting else None,
        comparison=compare_with_parent(store, stored),
    )


def compare_with_parent(store: Store, stored: StoredVersion) -> ParentComparison | None:
    """Compare a version with its parent; None without one. A task that any earlier version solved counts as solved."""
    line = list(_ancestors(store, stored))
    if not line:
        return None
    ids = [stored.version.id, *(other.version.id for other in line)]
    evidence = store.evidence(ids)
    earlier = [item for identity in ids[1:] for item in evidence[identity]]
    return ParentComparison(
        parent=line[0],
        before=reliability(evidence[ids[1]]),
        after=reliability(evidence[ids[0]]),
        regressions=regressions(evidence[ids[0]], earlier),
    )


def cares(store: Store) -> Iterator[Care]:
    """Find revisions that runs suggest, skills that need a review, and regressions."""
    for found in examine_all(store):
        stored, name, comparison = found.stored, found.stored.version.name, found.comparison
        if found.candidate and found.revision:
            advice = (coded(Advice.PROPOSE_REVISION, name=name),)
            reasons, candidate = found.revision.reasons, found.candidate
            yield care_of(stored, CareKind.REFINEMENT, reasons, candidate=candidate, advice=advice)
        elif found.quality.needs_review:
            waiting = found.waiting.version.id if found.waiting else ""
            advice = (coded(Advice.REVIEW_WAITING, id=waiting) if waiting else coded(Advice.EDIT_SKILL, name=name),)
            yield care_of(stored, CareKind.REFINEMENT, found.quality.reasons, advice=advice)
        if comparison and found.regressions:
            reason = coded(CareReason.FAILS_SOLVED_TASKS, tasks=len(found.regressions))
            both = tuple(item.id for each in found.regressions for item in (each.failed, each.solved))
            advice = (coded(Advice.ROLL_BACK, id=comparison.parent.version.id),)
            yield care_of(stored, CareKind.REGRESSION, (reason,), evidence_ids=both, advice=advice)


def _revision(
    store: Store,
    stored: StoredVersion,
    ran: Sequence[Episode],
    *,
    known: Sequence[StoredVersion],
    library: _LibrarySteps,
) -> Revision | None:
    """The revision that the runs suggest, unless it was proposed before."""
    runs: list[SkillRun] = []
    for episode in ran[-MOST_RUNS:]:
        trajectory, assessment = store.trajectory(episode.id), episode.assessment
        start = {each.version_id: each.start for each in SkillUsage(store, trajectory).shown}
        at = start.get(stored.version.id, 0)
        run = friction_notes.compare_run(trajectory, stored.version.content, start=at, assessment=assessment)
        runs += [run] if run else []
    if not any(run.proven for run in runs):
        return None
    rejected = [other.version.content for other in known if _refines(other, stored) and other.status in _REJECTED]

    def used_elsewhere(call: RunCall) -> bool:
        others = (step for owner, step in library.get(call.label, ()) if owner != stored.skill.id)
        return any(fits(step, call.step) for step in others)

    found = proposed_revision(stored.version, runs, used_elsewhere=used_elsewhere, rejected=rejected)
    if found is None or any(same_revision_content(found.content, other.version.content) for other in known):
        return None
    return found


def _candidate(stored: StoredVersion, found: Revision) -> Candidate:
    """The revision as a candidate. It carries no assessment of one attempt, so only a person can approve it."""
    before = stored.version.provenance
    ids = tuple(dict.fromkeys((*found.trajectory_ids, *before.trajectory_ids)))
    return Candidate(
        content=found.content,
        scope=stored.skill.scope,
        origins=found.origins,
        provenance=dataclasses.replace(before, trajectory_ids=ids, grounding=found.grounding, made_by=MADE_BY),
        revises=stored.skill.id,
        parents=(stored.version.id,),
        by=MADE_BY,
    )


def _refines(stored: StoredVersion, parent: StoredVersion) -> bool:
    """Whether a version was made by refining this one."""
    version = stored.version
    return version.provenance.made_by == MADE_BY and parent.version.id in version.parents


def _ancestors(store: Store, stored: StoredVersion) -> Iterator[StoredVersion]:
    """The versions that one came from, nearest first; each once, and only those of the same skill."""
    seen, line = {stored.version.id}, list(stored.version.parents)
    while line:
        identity = line.pop(0)
        if identity in seen:
            continue
        seen.add(identity)
        try:
            other = store.version(identity)
        except TacitError:
            continue
        if other.skill.id == stored.skill.id:
            yield other
            line += other.version.parents


# --- quality in use ---------------------------------------------------------------------------------------------------


def usage_quality(evidence: Sequence[Evidence], met: Mapping[str, Sequence[Friction]]) -> UsageQuality:
    """Judge one version by its runs; `met` maps trajectories to their friction.

    Every run that used the version counts, also one of which only its friction is known: otherwise the average would be
    too high. A mere deviation is listed by step, and is no friction of a use.
    """
    ran = (item for item in evidence if item.use_id or item.trajectory_id)  # a repeated check alone is no use
    shown = [item for item in ran if not item.control and item.following not in _NOT_USED]
    known_as = {item.trajectory_id: item.use_id for item in shown if item.trajectory_id and item.use_id}

    def use(item: Evidence) -> str:
        return item.use_id or known_as.get(item.trajectory_id, item.trajectory_id)

    uses = {use(item) for item in shown} | {known_as.get(key, key) for key in met if met[key]}
    cast = votes(evidence)
    succeeded = sum(item.outcome is Outcome.SUCCESS for item in cast)
    steps: dict[int, Counter[str]] = {}
    for friction in (each for frictions in met.values() for each in frictions):
        steps.setdefault(friction.step, Counter())[str(friction.kind)] += 1
    found = UsageQuality(
        uses=len(uses),
        met=sum(friction.resisted for frictions in met.values() for friction in frictions),
        by_step={step: dict(steps[step]) for step in sorted(steps)},
        verified=len(cast),
        succeeded=succeeded,
        themes=_themes(met.values()),
    )
    reasons: list[CodedReason] = []
    if len(cast) >= VERIFIED_LEAST and succeeded / len(cast) < SUCCESS_RATE_LEAST:
        figures = {"succeeded": succeeded, "verified": len(cast), "least": SUCCESS_RATE_LEAST}
        reasons.append(coded(CareReason.LOW_SUCCESS_RATE, **figures))
    if found.uses >= USES_LEAST and found.per_use >= FRICTION_MOST:
        reasons.append(coded(CareReason.HIGH_FRICTION, per_use=found.per_use, uses=found.uses))
    for theme, count in found.themes[:1]:
        if count >= CORRECTIONS_MOST:
            reasons.append(coded(CareReason.REPEATED_CORRECTION, count=count, theme=theme))
    return dataclasses.replace(found, reasons=tuple(reasons))


def _themes(runs: Iterable[Sequence[Friction]]) -> tuple[tuple[str, int], ...]:
    """Corrections by subject with the number of runs, the most frequent first; a run counts once per subject."""
    groups: dict[str, frozenset[str]] = {}
    counts: Counter[str] = Counter()
    for frictions in runs:
        corrections = [each.detail for each in frictions if each.kind is FrictionKind.CORRECTION]
        for theme in dict.fromkeys(detail.casefold()[:_THEME_MAX] for detail in corrections):
            words = term_set(theme)
            alike = (known for known, group in groups.items() if theme == known or jaccard(words, group) >= _SIMILAR)
            name = next(alike, theme)
            groups.setdefault(name, words)
            counts[name] += 1
    return tuple(counts.most_common())


# --- regressions ------------------------------------------------------------------------------------------------------


def regressions(own: Iterable[Evidence], earlier: Iterable[Evidence]) -> tuple[Regression, ...]:
    """Return the tasks that this version fails by its latest verified result, and an earlier version solved.

    Only verified results of runs that followed the skill count, and of each task the latest.
    """
    now = _latest_results(own)
    then = _latest_results(each for each in earlier if each.outcome is Outcome.SUCCESS)
    return tuple(
        Regression(task=task, failed=item, solved=then[task])
        for task, item in now.items()
        if item.outcome is Outcome.FAILURE and task in then
    )


def _latest_results(evidence: Iterable[Evidence]) -> dict[str, Evidence]:
    counted = [
        item
        for item in evidence
        if item.task and item.grade.verified and not item.control and item.following in (Following.FOLLOWED, None)
    ]
    return {item.task: item for item in sorted(counted, key=lambda item: (item.at, item.id))}
