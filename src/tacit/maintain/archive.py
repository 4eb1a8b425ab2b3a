"""What is stored, and keeping it safe: figures and history of skills, counts, verification, backups, purges."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path

from tacit.domain.archive import Anchor, Manifest, Purge, Source
from tacit.domain.candidate import Verdict
from tacit.domain.errors import NotFound
from tacit.domain.evidence import Evidence, Following, Outcome, Reliability, Use
from tacit.domain.extension import Extension, HistoryEvent
from tacit.domain.ledger import About, Remark, UsageSignal, pinned
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.skill import Kind
from tacit.domain.stored import AuditEntry, Counts, Damage, FoundEpisode, Passage, StoredVersion
from tacit.domain.trust import Approval
from tacit.evidence import control_runs
from tacit.evidence.control_runs import Lift, lift
from tacit.evidence.reliability import reliability, votes
from tacit.gate.quarantine import episodes_without_external_text
from tacit.recall import publishing
from tacit.store import Store, queries
from tacit.store import restore as purge_plan
from tacit.store.context import StoreContext
from tacit.text.redaction import redact
from tacit.text.words import terms

HISTORY_REMARKS = frozenset(About) - {About.CONTRACT}
"""Remarks that a history shows; contracts are recorded at every examination and are of no interest to a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """The figures of one skill, all of its current version."""

    stored: StoredVersion
    shown: int = 0
    held_back: int = 0
    """How many runs it was held out of at random."""
    followed: dict[Following, int] = field(default_factory=dict)
    """How many runs followed it, as far as that was examined or reported."""
    worked: int = 0
    failed: int = 0
    """Verified results of runs that followed it, one for each principal and task."""
    claimed: int = 0
    """Self-reported results."""
    reliability: Reliability = Reliability()
    models: dict[str, Reliability] = field(default_factory=dict)
    lift: Lift = Lift()
    used_at: datetime | None = None
    pinned: bool = False


def record(store: Store, stored: StoredVersion) -> SkillRecord:
    """Return the figures of one version."""
    version_id = stored.version.id
    evidence = store.evidence([version_id])[version_id]
    uses = store.uses(version_id=version_id)
    shown = [use for use in uses if not use.held_back]
    counted = votes(evidence)
    models = sorted({each.model for each in counted if each.model})
    # by the alignment of the run, or as reported
    followed = (
        each.following or (Following.FOLLOWED if each.adherence == 1.0 else None)
        for each in evidence
        if not each.control
    )
    return SkillRecord(
        stored=stored,
        shown=len(shown),
        held_back=sum(use.held_back and bool(use.shares) for use in uses),
        followed=dict(Counter(following for following in followed if following)),
        worked=sum(each.outcome is Outcome.SUCCESS for each in counted),
        failed=sum(each.outcome is Outcome.FAILURE for each in counted),
        claimed=sum(not each.grade.verified for each in evidence),
        reliability=reliability(evidence),
        models={model: reliability(evidence, model=model) for model in models},
        lift=lift(evidence, session=control_runs.sessions(store, evidence)),
        used_at=max((use.at for use in shown), default=None),
        pinned=bool(pinned(store.remarks(stored.skill.id, about=About.PIN))),
    )


def life(store: Store, skill_id: str, *, extensions: Iterable[Extension] = ()) -> list[HistoryEvent]:
    """Return everything that happened to a skill, oldest first; equal events in a row are grouped."""
    versions = store.versions(skill_id)
    subjects = [skill_id, *(stored.version.id for stored in versions)]
    events: list[HistoryEvent] = []
    for version_id in subjects[1:]:  # the results come first: what a move rests on precedes it
        for each in store.evidence([version_id])[version_id]:
            without = "without it: " if each.control else ""
            following = f", {each.following}" if each.following else ""
            what = f"{without}{each.outcome} ({each.grade}{following})"
            events.append(HistoryEvent(at=each.at, what=what, by=each.by or each.model, version_id=version_id))
    for number, version in enumerate((stored.version for stored in versions), 1):
        for move in store.transitions(version.id):
            if move.before is None:
                by = version.provenance.made_by or move.by
                parents = f" from {', '.join(each[:10] for each in version.parents)}" if version.parents else ""
                what = f"version {number} made{parents}: {move.after}"
            else:
                by = move.by
                resting = f" ({len(move.evidence_ids)} results)" if move.evidence_ids else ""
                what = f"{move.before} → {move.after}{resting}"
            events.append(HistoryEvent(at=move.at, what=what, why=move.reason, by=by, version_id=version.id))
    for remark in (remark for subject in subjects for remark in store.remarks(subject)):
        if remark.about in HISTORY_REMARKS:
            what = _SET_OR_ENDED.get((remark.about, bool(remark.text)), str(remark.about))
            why = _remark_words(remark.text)[:200]
            events.append(HistoryEvent(at=remark.at, what=what, why=why, by=remark.by, version_id=remark.subject))
    events += [event for extension in extensions for event in extension.history(subjects)]
    return grouped(events)


_SET_OR_ENDED = {
    (About.PIN, True): "pinned",
    (About.PIN, False): "no longer pinned",
    (About.FOLD, True): "folded away",
    (About.FOLD, False): "unfolded",
}


def _remark_words(text: str) -> str:
    """A remark's text for a reader; of a JSON record its values."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except ValueError:
        return text
    if not isinstance(found, dict):
        return text
    return ", ".join(f"{name}: {value}" for name, value in found.items() if value not in ("", None, [], {}))


def grouped(events: Iterable[HistoryEvent]) -> list[HistoryEvent]:
    """Return events in order of time; equal events in a row become one."""
    merged: list[HistoryEvent] = []
    ordered = sorted(events, key=lambda event: event.at)
    for _, same in groupby(ordered, key=lambda event: (event.what, event.why, event.by, event.version_id)):
        row = list(same)
        merged.append(replace(row[-1], count=len(row)))
    return merged


def newest_skills(
    context: StoreContext,
    *,
    statuses: Collection[Status] | None = None,
    kinds: Collection[Kind] | None = None,
    limit: int = 50,
    skip: int = 0,
    counted: bool = True,
) -> tuple[list[StoredVersion], int]:
    """Return one page of the newest version of each skill, the newest first, and how many there are, if `counted`."""
    return context.store.newest(statuses=statuses, kinds=kinds, limit=limit, skip=skip, counted=counted)


def matching_skills(
    context: StoreContext, text: str, *, statuses: Collection[Status] | None = None, limit: int
) -> list[StoredVersion]:
    """Return the skills whose words match a text best."""
    hits = context.store.search(list(terms(text)), statuses=statuses or set(Status), limit=limit)
    return [hit.stored for hit in hits]


class Archive:
    """The stored history of a memory, and its backups."""

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def history(self, subject: str = "") -> list[AuditEntry]:
        """Return the audit chain, or what it records of one subject."""
        return self._context.store.history(subject)

    def life(self, reference: str) -> list[HistoryEvent]:
        """Return the history of a skill: versions, changes of status with their reasons, results, remarks."""
        store = self._context.store
        return life(store, queries.find(store, reference).skill.id, extensions=self._context.extensions)

    def records(self, references: Sequence[str] = ()) -> list[SkillRecord]:
        """Return each skill's figures, the most used first: of the named ones, or of all that may be recalled."""
        store = self._context.store
        versions = [queries.find(store, each) for each in references] or queries.current(store, statuses=RECALLABLE)
        return sorted(
            (record(store, each) for each in versions), key=lambda each: (-each.shown, each.stored.version.name)
        )

    def versions(self, skill_id: str) -> list[StoredVersion]:
        """Return all versions of a skill, oldest first."""
        return self._context.store.versions(skill_id)

    def transitions(self, version_id: str) -> list[Transition]:
        """Return the status changes of a version, oldest first."""
        return self._context.store.transitions(version_id)

    def verdicts(self, version_id: str) -> list[Verdict]:
        """Return what the gate decided about a version."""
        return self._context.store.verdicts(version_id=version_id)

    def approvals(self, version_id: str, *, unsigned: bool = False) -> list[Approval]:
        """Return the approvals of a version, oldest first; with `unsigned` those too that no signer of today gave."""
        return self._context.store.approvals(version_id, unsigned=unsigned)

    def evidence(self, version_id: str) -> list[Evidence]:
        """Return the results of the uses of a version."""
        return self._context.store.evidence([version_id])[version_id]

    def reliability(self, version_id: str) -> Reliability:
        """Return how reliable one version has been."""
        return reliability(self.evidence(version_id))

    def reliabilities(self, version_ids: Collection[str]) -> dict[str, Reliability]:
        """Return how reliable these versions have been."""
        return {each: reliability(found) for each, found in self._context.store.evidence(version_ids).items()}

    def remarks(self, subject: str, *, about: About | None = None) -> list[Remark]:
        """Return the remarks on a skill or version."""
        return self._context.store.remarks(subject, about=about)

    def passages(self, version_id: str) -> list[Passage]:
        """Return the passages of a document that may be quoted."""
        return self._context.store.passages.of(version_id)

    def namesakes(self, stored: StoredVersion) -> list[StoredVersion]:
        """Return other skills of the same name."""
        return queries.namesakes(self._context.store, stored)

    def use(self, use_id: str) -> Use:
        """Return one use."""
        return self._context.store.use(use_id)

    def uses(self, *, version_id: str = "", latest: int | None = None) -> list[Use]:
        """Return all uses, or those of one version; or only the latest of them."""
        return self._context.store.uses(version_id=version_id, latest=latest)

    def resolve(self, beginning: str, prefix: str) -> list[str]:
        """Return the ids of one kind (`t_`, `u_`, …) that begin with a text."""
        return [identity for identity in self._context.store.resolve(beginning) if identity.startswith(prefix)]

    def find(self, subject: str) -> str:
        """Return the id that a skill's name or the beginning of an id means; raise `NotFound` if there is none."""
        store = self._context.store
        named = store.catalogue(name=subject)
        found = [queries.preferred_of_name(named).skill.id] if named else store.resolve(subject)
        if not found:
            hint = "`tacit skills --all` lists every skill"
            raise NotFound(f"nothing has the name or id {subject!r}", code="no_such_subject", hint=hint)
        return found[0]

    def session_life(self, session_id: str) -> list[HistoryEvent]:
        """Return what was learned in one session of an agent, in order."""
        events = [event for each in self._context.extensions for event in each.session_history(session_id)]
        return grouped(events)

    def purge_reasons(self) -> dict[datetime, str]:
        """Return why things were purged, by the time of the purge."""
        return {stone.at: stone.reason for stone in self._context.store.tombstones() if stone.reason}

    def lift(self, stored: StoredVersion, *, model: str = "") -> control_runs.MeasuredLift:
        """Return what a skill adds: its runs compared with control runs, of one language model if it is named."""
        return control_runs.measure(self._context.store, stored, model=model)

    def names(self, version_ids: Collection[str]) -> list[str]:
        """Return the names of some versions, sorted."""
        chosen = set(version_ids)
        found = self._context.store.catalogue() if chosen else []
        return sorted({stored.version.name for stored in found if stored.version.id in chosen})

    def task(self, trajectory_id: str) -> str:
        """Return the task of an attempt."""
        return self._context.store.episode(trajectory_id).task

    def anchor(self) -> Anchor | None:
        """Return how far the audit chain is anchored in this home."""
        return self._context.store.anchor()

    def episodes(self, task: str, *, limit: int = 5, whole: bool = True) -> list[FoundEpisode]:
        """Find past attempts at similar tasks; unless `whole`, without tasks that no person wrote."""
        found = self._context.store.search_episodes(task, limit=limit)
        return found if whole else episodes_without_external_text(self._context.store, found)

    def stats(self) -> Counts:
        """Count what is stored."""
        return self._context.store.counts()

    def verify(self, *, quick: bool = False, anchor_only: bool = False) -> list[Damage]:
        """Check that everything is as it was written, with `quick` only the file, with `anchor_only` only that no entry is
        missing that was noted outside it; an empty list means intact.
        """
        if anchor_only:
            return self._context.store.check_anchor()
        return list(self._context.store.verify(quick=quick))

    def backup(self, path: Path) -> Manifest:
        """Write a verified copy and its manifest."""
        return self._context.store.backup(path)

    def descent(self, *sources: Source) -> purge_plan.PurgePlan:
        """Return what a purge of these sources would remove, here and in the known copies."""
        place = self._context.place
        database = place.database if place else ":memory:"
        return purge_plan.plan_purge(self._context.store, sources, database=database)

    def purge(
        self, plan: purge_plan.PurgePlan, *, by: str, reason: str = "", backups: bool = False
    ) -> tuple[bool, tuple[purge_plan.BackupCopy, ...]]:
        """Remove for good what a plan names; what is left of its sources is learned from again."""
        context = self._context
        purge = Purge(by=by, at=context.now(), reason=redact(reason).text)
        signals = {signal.key for signal in context.store.entries(UsageSignal)}
        done = purge_plan.purge(context.store, plan, purge=purge, backups=backups)
        publishing.rerender_versions(context.store, signals)
        publishing.publish(context.store, context.embedder)
        for extension in context.extensions:
            extension.on_purge()
        return done

    def prune(self) -> int:
        """Drop the steps of old trajectories as the settings say; return how many trajectories were pruned."""
        settings, store = self._context.config.store, self._context.store
        cap_bytes = settings.cap_mb * 1024 * 1024
        return store.prune(keep_days=settings.keep_days, cap_bytes=cap_bytes, at=self._context.now())
