"""Capturing: an agent's trajectories → the store, with secrets redacted and the outcome assessed.

Transcripts that clients left on this machine are captured each from where it was last read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatch
from functools import partial
from itertools import groupby
from pathlib import Path

from tacit.domain.errors import GateRefusal
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Trajectory
from tacit.evidence.assessment import AssessmentCode, explain_assessment
from tacit.ingest import sources
from tacit.ingest.sources import NewAttempts, OnProblem, Transcript, bookmark_key, is_unchanged, transcript
from tacit.store import Store
from tacit.store.context import StoreContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What became of captured trajectories."""

    added: tuple[str, ...] = ()
    known: int = 0
    vouched: int = 0
    """How many of the known ones have a verified outcome only now: they are learned from again."""
    not_vouched: int = 0
    """How many of the new ones claim an outcome with a verifier, which nobody here vouched for."""
    excluded: int = 0
    purged: int = 0
    """How many were purged before and are refused."""
    redacted: Mapping[str, int] = field(default_factory=dict)
    """Kind of secret → how many were replaced."""


def capture(
    store: Store,
    trajectories: Trajectory | Iterable[Trajectory],
    *,
    exclude: Sequence[str],
    trust_outcomes: bool,
    now: Callable[[], datetime],
    pauses: Sequence[tuple[float, float]] = (),
) -> Captured:
    """Store each attempt once; those of excluded workspaces, those of pauses and purged ones are only counted."""
    added: list[str] = []
    counts: Counter[str] = Counter(known=0, vouched=0, not_vouched=0, excluded=0, purged=0)
    redacted: Counter[str] = Counter()
    sessions = _Sessions(store)
    given = [trajectories] if isinstance(trajectories, Trajectory) else trajectories
    for trajectory, batch in ((each, session) for session in _by_session(given) for each in session):
        is_excluded = any(fnmatch(trajectory.environment.workspace, pattern) for pattern in exclude)
        if is_excluded or _ran_while_paused(trajectory, pauses):
            counts["excluded"] += 1
            continue
        clean, found = sources.redacted(trajectory)
        mates = partial(sessions.mates, trajectory, batch)
        explained = explain_assessment(clean, trust_claim=trust_outcomes, mates=mates)
        assessment = explained.assessment
        try:
            is_new = store.add_trajectory(clean, assessment, at=now())
        except GateRefusal:
            counts["purged"] += 1
            continue
        if is_new:
            added.append(clean.id)
            redacted.update(found)
            counts["not_vouched"] += explained.reason.code == AssessmentCode.CLAIM_NOT_VOUCHED
        else:
            counts["known"] += 1
            counts["vouched"] += store.vouch(clean.id, assessment, at=now())
    return Captured(added=tuple(added), redacted=dict(redacted), **counts)


def _ran_while_paused(trajectory: Trajectory, pauses: Sequence[tuple[float, float]]) -> bool:
    times = [step.at.timestamp() for step in trajectory.steps if step.at] if pauses else []
    return any(begun <= at < end for at in times for begun, end in pauses)


def _by_session(trajectories: Iterable[Trajectory]) -> Iterator[list[Trajectory]]:
    """The attempts that stand together and belong to one session, with those of its subagents."""
    for _, batch in groupby(trajectories, key=lambda each: _session_of(each) or each.id):
        yield list(batch)


def _session_of(attempt: Trajectory | Episode) -> str:
    return attempt.parent_session_id or attempt.session_id


class _Sessions:
    """Finds the other attempts of a session, in the same capture and in the store, whose summaries are read once."""

    def __init__(self, store: Store) -> None:
        self._store, self._stored = store, dict[str, list[Episode]]()

    def mates(self, attempt: Trajectory, batch: Sequence[Trajectory]) -> list[Trajectory]:
        """Return its subagents' attempts, or those beside a subagent's, and the session's earlier ones."""
        session = _session_of(attempt)
        if not session:
            return []
        if not self._stored:
            for episode in self._store.episodes():
                self._stored.setdefault(_session_of(episode), []).append(episode)
        ids = {each.id for each in batch}
        found = [each for each in batch if each is not attempt]
        for episode in self._stored.get(session, ()):
            if episode.id not in ids and not episode.pruned and not episode.superseded:
                found.append(self._store.trajectory(episode.id))
        return [each for each in found if _may_have_come_before(each, attempt)]


def _may_have_come_before(mate: Trajectory, attempt: Trajectory) -> bool:
    began, ended = mate.started_at, attempt.ended_at
    return began is None or ended is None or began <= ended


def capture_transcript(
    context: StoreContext, session: Path | Transcript, *, on_problem: OnProblem = lambda problem: None
) -> Captured | None:
    """Capture what is new in one session, or in the file of one, and store how far it was read.

    Returns `None` if it has not changed.

    A part that cannot be read goes to `on_problem`, and the rest is captured. A longer capture of the attempt at the
    end supersedes the earlier one.
    """
    context.require_running()
    found = transcript(session) if isinstance(session, Path) else session
    if found is None:
        return None
    before = context.store.bookmarks.get(bookmark_key(found))
    if is_unchanged(found, before):
        return None
    attempts = NewAttempts(found, before, on_problem=on_problem)
    exclude = context.config.store.exclude
    pauses = context.place.pauses if context.place else ()
    captured = capture(context.store, attempts, exclude=exclude, trust_outcomes=False, now=context.now, pauses=pauses)
    context.store.bookmarks.put(attempts.bookmark)
    return captured


def combined(parts: Iterable[Captured]) -> Captured:
    """Add up several captures."""
    added: list[str] = []
    counts: Counter[str] = Counter(known=0, vouched=0, not_vouched=0, excluded=0, purged=0)
    redacted: Counter[str] = Counter()
    for part in parts:
        added += part.added
        counts.update({name: getattr(part, name) for name in counts})
        redacted.update(part.redacted)
    return Captured(added=tuple(added), redacted=dict(redacted), **counts)
