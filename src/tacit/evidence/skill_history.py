"""Skill history: the figures of each skill, and everything that happened to it in order. Reads only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from tacit.domain.evidence import Evidence, Following, Outcome, Reliability, Use
from tacit.domain.ledger import About, Assumption, Held, Moment, Remark, pinned
from tacit.domain.stored import StoredVersion
from tacit.evidence import control_runs
from tacit.evidence.lift import Lift, lift
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One thing that happened to a skill."""

    at: datetime
    what: str
    why: str = ""
    by: str = ""
    version_id: str = ""
    count: int = 1
    """How many equal events in a row it covers."""


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
    return SkillRecord(
        stored=stored,
        shown=len(shown),
        held_back=sum(use.held_back and bool(use.shares) for use in uses),
        followed=_following_counts(evidence),
        worked=sum(each.outcome is Outcome.SUCCESS for each in counted),
        failed=sum(each.outcome is Outcome.FAILURE for each in counted),
        claimed=sum(not each.grade.verified for each in evidence),
        reliability=reliability(evidence),
        models={model: reliability(evidence, model=model) for model in models},
        lift=lift(evidence, session=control_runs.sessions(store, evidence)),
        used_at=_last(shown),
        pinned=bool(pinned(store.remarks(stored.skill.id, about=About.PIN))),
    )


def life(store: Store, skill_id: str) -> list[HistoryEvent]:
    """Return everything that happened to a skill, oldest first; equal events in a row are grouped."""
    versions = store.versions(skill_id)
    events = [
        event for stored in versions for event in _result_events(store, stored)
    ]  # what a move rests on comes before it
    events += [event for number, stored in enumerate(versions, 1) for event in _status_events(store, stored, number)]
    subjects = [skill_id, *(stored.version.id for stored in versions)]
    events += [
        _remark_event(remark)
        for subject in subjects
        for remark in store.remarks(subject)
        if remark.about in HISTORY_REMARKS
    ]
    events += _moment_events(store, subjects)
    return _grouped(sorted(events, key=lambda event: event.at))


def session_life(store: Store, session_id: str) -> list[HistoryEvent]:
    """Return what happened in a session: assumptions and their results, refusals, and the retrospective."""
    entries: list[Moment | Assumption] = [*store.entries(Assumption, session_id=session_id)]
    entries += store.entries(Moment, session_id=session_id)
    return _grouped(sorted(map(_entry_event, entries), key=lambda event: event.at))


def _moment_events(store: Store, subjects: Sequence[str]) -> list[HistoryEvent]:
    """Moments that a skill was part of or came from, and its assumptions that a run confirmed or refuted.

    Showings are left out, because the uses list them.
    """
    mine = set(subjects)
    entries: list[Moment | Assumption] = [each for each in store.entries(Moment) if each.what != "shown"]
    entries += [each for each in store.entries(Assumption) if each.held in (Held.HELD, Held.WRONG)]
    return [_entry_event(entry) for entry in entries if not mine.isdisjoint(entry.sources)]


def _entry_event(entry: Moment | Assumption) -> HistoryEvent:
    version_id = next((source for source in entry.sources if source.startswith("v_")), "")
    if isinstance(entry, Moment):
        what, why, by = f"{entry.phase}: {entry.what}", entry.text, entry.by
    else:
        stands = "assumed" if entry.held is Held.OPEN else f"assumption {entry.held}"
        what, why = stands, f"{entry.text}{f': {entry.reason}' if entry.reason else ''}"
        by = entry.settled_by or entry.by
    return HistoryEvent(at=entry.at, what=what, why=why[:200], by=by, version_id=version_id)


def _status_events(store: Store, stored: StoredVersion, number: int) -> Iterator[HistoryEvent]:
    version = stored.version
    for move in store.transitions(version.id):
        if move.before is None:
            made = version.provenance.made_by or move.by
            parents = f" from {', '.join(each[:10] for each in version.parents)}" if version.parents else ""
            what = f"version {number} made{parents}: {move.after}"
            yield HistoryEvent(at=move.at, what=what, why=move.reason, by=made, version_id=version.id)
        else:
            resting = f" ({len(move.evidence_ids)} results)" if move.evidence_ids else ""
            what = f"{move.before} → {move.after}{resting}"
            yield HistoryEvent(at=move.at, what=what, why=move.reason, by=move.by, version_id=version.id)


def _result_events(store: Store, stored: StoredVersion) -> Iterator[HistoryEvent]:
    version_id = stored.version.id
    for each in store.evidence([version_id])[version_id]:
        without = "without it: " if each.control else ""
        following = f", {each.following}" if each.following else ""
        what = f"{without}{each.outcome} ({each.grade}{following})"
        yield HistoryEvent(at=each.at, what=what, by=each.by or each.model, version_id=version_id)


def _remark_event(remark: Remark) -> HistoryEvent:
    pin = {True: "pinned", False: "no longer pinned"}[bool(remark.text)]
    what = pin if remark.about is About.PIN else str(remark.about)
    return HistoryEvent(
        at=remark.at, what=what, why=_remark_words(remark.text)[:200], by=remark.by, version_id=remark.subject
    )


def _remark_words(text: str) -> str:
    """A remark's text for a reader; of a JSON record its values."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except ValueError:
        return text
    if not isinstance(found, dict):
        return text
    return ", ".join(f"{name}: {value}" for name, value in found.items() if value not in ("", None, [], {}))


def _grouped(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    merged: list[HistoryEvent] = []
    for _, same in groupby(events, key=lambda event: (event.what, event.why, event.by, event.version_id)):
        row = list(same)
        first = row[0]
        merged.append(
            HistoryEvent(
                at=row[-1].at, what=first.what, why=first.why, by=first.by, version_id=first.version_id, count=len(row)
            )
        )
    return merged


def _following_counts(evidence: Iterable[Evidence]) -> dict[Following, int]:
    found = (_following_of(each) for each in evidence if not each.control)
    return dict(Counter(following for following in found if following))


def _following_of(result: Evidence) -> Following | None:
    """Whether a run followed it: by its alignment, or as reported."""
    stated = Following.FOLLOWED if result.adherence == 1.0 else None
    return result.following or stated


def _last(uses: Sequence[Use]) -> datetime | None:
    return max((use.at for use in uses), default=None)
