"""Skill history: the figures of each skill, and everything that happened to it in order. Reads only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby

from tacit.domain.evidence import Following, Outcome, Reliability
from tacit.domain.extension import Extension, HistoryEvent
from tacit.domain.ledger import About, pinned
from tacit.domain.stored import StoredVersion
from tacit.evidence import control_runs
from tacit.evidence.control_runs import Lift, lift
from tacit.evidence.reliability import reliability, votes
from tacit.store import Store

HISTORY_REMARKS = (About.PIN, About.PROMOTION, About.CONTRADICTION, About.VALIDATION, About.FRICTION)
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


def records(store: Store, versions: Iterable[StoredVersion]) -> list[SkillRecord]:
    """Return the figures of each of these versions, the most used first."""
    made = [record(store, stored) for stored in versions]
    return sorted(made, key=lambda each: (-each.shown, each.stored.version.name))


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
    # the results come first: what a move rests on precedes it
    events = [event for stored in versions for event in _result_events(store, stored)]
    events += [event for number, stored in enumerate(versions, 1) for event in _status_events(store, stored, number)]
    for remark in (remark for subject in subjects for remark in store.remarks(subject)):
        if remark.about in HISTORY_REMARKS:
            pin = "pinned" if remark.text else "no longer pinned"
            what, why = pin if remark.about is About.PIN else str(remark.about), _remark_words(remark.text)[:200]
            events.append(HistoryEvent(at=remark.at, what=what, why=why, by=remark.by, version_id=remark.subject))
    events += [event for extension in extensions for event in extension.history(subjects)]
    return grouped(events)


def _status_events(store: Store, stored: StoredVersion, number: int) -> Iterator[HistoryEvent]:
    version = stored.version
    for move in store.transitions(version.id):
        by = move.by
        if move.before is None:
            by = version.provenance.made_by or move.by
            parents = f" from {', '.join(each[:10] for each in version.parents)}" if version.parents else ""
            what = f"version {number} made{parents}: {move.after}"
        else:
            resting = f" ({len(move.evidence_ids)} results)" if move.evidence_ids else ""
            what = f"{move.before} → {move.after}{resting}"
        yield HistoryEvent(at=move.at, what=what, why=move.reason, by=by, version_id=version.id)


def _result_events(store: Store, stored: StoredVersion) -> Iterator[HistoryEvent]:
    version_id = stored.version.id
    for each in store.evidence([version_id])[version_id]:
        without = "without it: " if each.control else ""
        following = f", {each.following}" if each.following else ""
        what = f"{without}{each.outcome} ({each.grade}{following})"
        yield HistoryEvent(at=each.at, what=what, by=each.by or each.model, version_id=version_id)


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
    for _, same in groupby(
        sorted(events, key=lambda event: event.at),
        key=lambda event: (event.what, event.why, event.by, event.version_id),
    ):
        row = list(same)
        merged.append(replace(row[-1], count=len(row)))
    return merged
