"""What runs teach of the skills that they used: store → friction by step, the next version it shows, and what got worse.

Fetches the runs behind a version's evidence and friction, has `refinement` compare them with it, and makes the candidate:
sealed by the origin fence, and put before the gate by whoever asks for it. One finding is proposed once: what waits, or was
turned down, is not brought up again. Nothing is applied here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tacit import evidence as outcome
from tacit.domain.candidate import Candidate, Verdict
from tacit.domain.care import Care, CareKind
from tacit.domain.errors import TacitError
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Episode, Store, Stored
from tacit.domain.skill import Provenance, SkillStep
from tacit.evidence.friction import MADE_BY, Friction, frictions_of
from tacit.evidence.runs import Call, Run, fits, label_of
from tacit.learn import crediting
from tacit.learn import friction_notes as noting
from tacit.learn.origin_cap import Fence
from tacit.maintain.refinement.comparing import Regression, regressions
from tacit.maintain.refinement.quality import Quality, quality
from tacit.maintain.refinement.revising import revisions
from tacit.maintain.refinement.revision import Beside, Revision, says_the_same
from tacit.store.queries import current

MOST_RUNS = 24
"""Runs of one version that are compared, the latest."""
_TURNED_DOWN = frozenset({Status.REJECTED, Status.RETIRED})


class Door(Protocol):
    """The loop's side of refining."""

    def admit(self, candidate: Candidate) -> Verdict:
        """Judge a candidate and keep what comes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A version beside the one that it came from, by verified evidence of each alone; often not known yet."""

    parent: Stored
    before: Reliability
    after: Reliability
    regressions: tuple[Regression, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refining:
    """All that runs say of one version."""

    stored: Stored
    quality: Quality
    met: Mapping[str, tuple[Friction, ...]]
    """Trajectory → what was met in it."""
    revision: Revision | None = None
    """What should become of it and was not proposed before."""
    candidate: Candidate | None = None
    """That as a candidate, sealed."""
    waiting: Stored | None = None
    """A refinement of it that waits for a person."""
    comparison: Comparison | None = None
    """With its parent, if it is a later version."""


class _Library:
    """The steps of all skills in use, by what sort of thing each does."""

    def __init__(self, skills: Iterable[Stored]) -> None:
        self._steps: dict[str, list[tuple[str, SkillStep]]] = {}
        for stored in skills:
            for step in stored.version.content.steps:
                self._steps.setdefault(label_of(step), []).append((stored.skill.id, step))

    def says(self, call: Call, *, but: str) -> bool:
        """Whether a skill other than one says to do this."""
        return any(owner != but and fits(step, call.step) for owner, step in self._steps.get(call.label, ()))


def survey(store: Store) -> list[Refining]:
    """Every skill in use of which runs say something, by name."""
    skills = current(store, statuses=RECALLABLE)
    library = _Library(skills)
    found = (look(store, stored, library=library) for stored in skills)
    return [each for each in found if _says_something(each)]


def look(store: Store, stored: Stored, *, library: _Library | None = None) -> Refining:
    """What runs say of one version, beside the other skills in use."""
    version = stored.version
    library = library or _Library(current(store, statuses=RECALLABLE))
    noted = noting.met_in(store, version.id)
    kept = store.evidence([version.id])[version.id]
    episodes = _episodes(store, [*noted, *(item.trajectory_id for item in kept)])
    replaced = {identity for identity, episode in episodes.items() if episode.superseded}  # a longer capture stands
    evidence = [item for item in kept if item.trajectory_id not in replaced]
    met = {identity: found for identity, found in noted.items() if identity not in replaced}
    known = store.versions(stored.skill.id)
    without = {item.trajectory_id for item in evidence if item.control}
    ran = [each for each in episodes.values() if each.id not in replaced | without and not each.pruned]
    revision = _revision(store, stored, ran, known=known, library=library)
    waiting = [held for held in known if _refines(held, stored) and held.status not in _TURNED_DOWN | RECALLABLE]
    return Refining(
        stored=stored,
        quality=quality(evidence, met, votes=outcome.votes(evidence)),
        met=met,
        revision=revision,
        candidate=Fence(store).sealed(_candidate(stored, revision)) if revision else None,
        waiting=waiting[-1] if waiting else None,
        comparison=compared(store, stored),
    )


def compared(store: Store, stored: Stored) -> Comparison | None:
    """A version beside its parent; nothing if it has none. What any earlier version solved counts as solved before."""
    line = list(_ancestors(store, stored))
    if not line:
        return None
    ids = [stored.version.id, *(held.version.id for held in line)]
    evidence = store.evidence(ids)
    earlier = [item for identity in ids[1:] for item in evidence[identity]]
    return Comparison(
        parent=line[0],
        before=outcome.reliability(evidence[ids[1]]),
        after=outcome.reliability(evidence[ids[0]]),
        regressions=regressions(evidence[ids[0]], earlier),
    )


def refine(store: Store, door: Door, stored: Stored) -> Verdict | None:
    """Put the next version that runs show before the gate; nothing where they show none, or it was proposed before."""
    candidate = look(store, stored).candidate
    if candidate is None:
        return None
    with store.transaction():
        return door.admit(candidate)


def cares(store: Store, *, at: datetime) -> list[Care]:
    """What runs say should change, what fails where its parent worked, and what a person should look at."""
    return [care for found in survey(store) for care in _cares(found)]


def _cares(found: Refining) -> Iterator[Care]:
    stored, name = found.stored, found.stored.version.name
    plain = Care(kind=CareKind.REFINEMENT, subject=stored.version.id, name=name, reason="", skill_id=stored.skill.id)
    if found.candidate and found.revision:
        reason, advice = "; ".join(found.revision.reasons), f"tacit refine {name} --propose"
        yield dataclasses.replace(plain, reason=reason, candidate=found.candidate, advice=advice)
    elif found.quality.needs_review:
        reason = "needs review: " + "; ".join(found.quality.reasons)
        advice = f"tacit review {found.waiting.version.id}" if found.waiting else f"tacit skills edit {name}"
        yield dataclasses.replace(plain, reason=reason, advice=advice)
    worse = found.comparison.regressions if found.comparison else ()
    if found.comparison and worse:
        tasks = "1 task" if len(worse) == 1 else f"{len(worse)} tasks"
        yield dataclasses.replace(
            plain,
            kind=CareKind.REGRESSION,
            reason=f"fails {tasks} that an earlier version solved, both verified",
            evidence_ids=tuple(item.id for each in worse for item in (each.failed, each.solved)),
            advice=f"tacit skills rollback {found.comparison.parent.version.id}",
        )


def _says_something(found: Refining) -> bool:
    worse = found.comparison is not None and found.comparison.regressions
    return bool(found.met or found.revision or found.quality.needs_review or found.waiting or worse)


def _episodes(store: Store, trajectory_ids: Iterable[str]) -> dict[str, Episode]:
    """Runs in brief, oldest first; those that are no longer known are left out."""
    found: list[Episode] = []
    for identity in dict.fromkeys(trajectory_ids):
        with suppress(TacitError):
            found += [store.episode(identity)] if identity else []
    return {each.id: each for each in sorted(found, key=lambda each: (each.started_at or each.captured_at, each.id))}


def _revision(
    store: Store, stored: Stored, ran: Sequence[Episode], *, known: Sequence[Stored], library: _Library
) -> Revision | None:
    """The first revision that the runs show and that nobody proposed before."""
    runs = [run for episode in ran[-MOST_RUNS:] if (run := _run(store, stored, episode))]
    if not any(run.proven for run in runs):
        return None
    refused = [held.version.content for held in known if _refines(held, stored) and held.status in _TURNED_DOWN]
    frictions = {run.trajectory.id: frictions_of(run) for run in runs}
    beside = Beside(
        word=noting.worded,
        looks=noting.looks,
        elsewhere=lambda call: library.says(call, but=stored.skill.id),
        frictions=frictions,
        refused=refused,
    )
    for found in revisions(stored.version, runs, beside):
        if not any(says_the_same(found.content, held.version.content) for held in known):
            return found
    return None


def _run(store: Store, stored: Stored, episode: Episode) -> Run | None:
    """One run beside a version; nothing where the two cannot be compared."""
    trajectory = store.trajectory(episode.id)
    start = {each.version_id: each.start for each in crediting.shown_to(store, trajectory)}
    at = start.get(stored.version.id, 0)
    return noting.run_beside(trajectory, stored.version.content, start=at, assessment=episode.assessment)


def _candidate(stored: Stored, found: Revision) -> Candidate:
    """The revision as a candidate. Without an assessment of one attempt, so that only a person lets it in."""
    before = stored.version.provenance
    ids = tuple(dict.fromkeys((*found.trajectory_ids, *before.trajectory_ids)))
    return Candidate(
        content=found.content,
        scope=stored.skill.scope,
        origins=found.origins,
        provenance=Provenance(
            trajectory_ids=ids,
            grounding=found.grounding,
            made_by=MADE_BY,
            model=before.model,
            prompt_version=before.prompt_version,
            source=before.source,
        ),
        revises=stored.skill.id,
        parents=(stored.version.id,),
        by=MADE_BY,
    )


def _refines(held: Stored, parent: Stored) -> bool:
    """Whether a version was made by refining this one."""
    version = held.version
    return version.provenance.made_by == MADE_BY and parent.version.id in version.parents


def _ancestors(store: Store, stored: Stored) -> Iterator[Stored]:
    """The versions that one came from, nearest first; each once, and only those of the same skill."""
    seen, line = {stored.version.id}, list(stored.version.parents)
    while line:
        identity = line.pop(0)
        if identity in seen:
            continue
        seen.add(identity)
        try:
            held = store.version(identity)
        except TacitError:
            continue
        if held.skill.id == stored.skill.id:
            yield held
            line += held.version.parents
