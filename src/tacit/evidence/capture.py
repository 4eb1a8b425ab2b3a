"""Capturing: an agent's trajectories → the store, with secrets redacted and the outcome assessed.

Transcripts that clients left on this machine are captured each from where it was last read.

What a proposal quotes of the sessions that run in a project, words or numbers of steps, is looked up in captured attempts: the
transcripts of the latest sessions are captured first, as far as they are written, so that the gate can compare the proposal
with everything its session has read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatch
from functools import partial
from itertools import groupby
from pathlib import Path

from tacit.domain.errors import GateRefusal, TacitError
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Span, Trajectory
from tacit.evidence.assessment import AssessmentCode, explain_assessment
from tacit.ingest import sources
from tacit.ingest.sources import (
    NewAttempts,
    OnProblem,
    Transcript,
    bookmark_key,
    is_unchanged,
    project_of,
    transcript,
    transcripts,
)
from tacit.store import Store
from tacit.store.context import StoreContext
from tacit.text.text_sources import texts_in


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


RUNNING = timedelta(hours=12)
"""A session that was silent for longer is over."""
SUBAGENT_FILES = "agent-*.jsonl"
"""Files of the subagents of a session, in the folder beside its own file."""
MAX_SESSIONS = 5
MAX_ATTEMPTS = 20
MIN_QUOTE = 8
"""Characters of a quote that proves something."""
_TELLING = ("propose", "share", "artifact", "session")
"""Ends of the names of Tacit's tools and commands by which an agent says something."""
_SESSION_ID = 36
"""Characters of the id that the name of a transcript ends in."""

Evidence = Sequence[str | int]
"""Quotes, and numbers of steps of the latest attempt, counted from 1."""


@dataclass(frozen=True, slots=True)
class QuotedSteps:
    """Where the evidence is, and what of it was not found."""

    spans: tuple[Span, ...] = ()
    missing: tuple[str | int, ...] = ()
    was_read: bool = True
    """Whether there was a session to look into."""


def find_quoted(context: StoreContext, evidence: Evidence, homes: Mapping[str, Path]) -> QuotedSteps:
    """Find the evidence in the sessions that run in this project; `homes` are the clients' folders."""
    attempts = running_attempts(context, homes) if evidence else []
    if not attempts:
        return QuotedSteps(was_read=False)
    found: dict[Span, None] = {}
    missing: list[str | int] = []
    for each in evidence:
        if isinstance(each, int):
            step = next((step for step in attempts[0].steps if step.index == each - 1), None)
            part = "arguments" if step and step.is_action else "text"
            span = Span(attempts[0].id, step.index, part) if step else None
        else:
            span = _quoted(attempts, each)
        if span is None:
            missing.append(each)
        else:
            found.setdefault(span)
    return QuotedSteps(tuple(found), tuple(missing))


def running_attempts(context: StoreContext, homes: Mapping[str, Path], *, session_id: str = "") -> list[Trajectory]:
    """Capture what is new in the latest sessions and their subagents, and return their attempts, the latest first.

    With a session id whose transcript is found, wherever it runs, only that session's.
    """
    latest = [*reversed(transcripts(homes, since=context.now() - RUNNING))]
    here = [each for each in latest if session_id and each.session_name.endswith(session_id)]
    here = here or [each for each in latest if project_of(each) == context.project][:MAX_SESSIONS]
    for each in here:
        # While a subagent works, only its own file grows.
        files: list[Path | Transcript] = [each, *sorted(each.path.with_suffix("").rglob(SUBAGENT_FILES))]
        for file in files:
            with suppress(TacitError):  # a transcript that cannot be read has nothing to quote
                capture_transcript(context, file)
    episodes = [each for each in context.store.episodes() if not each.pruned and not each.superseded]
    found = [
        episode.id
        for session in (each.session_name[-_SESSION_ID:] for each in here)
        for episode in reversed(episodes)
        if session in (episode.session_id, episode.parent_session_id)
    ]
    return [context.store.trajectory(trajectory_id) for trajectory_id in found[:MAX_ATTEMPTS]]


def _quoted(attempts: Sequence[Trajectory], quote: str) -> Span | None:
    words = squeezed(quote)
    for attempt in attempts if len(words) >= MIN_QUOTE else ():
        for step in reversed(attempt.steps):
            # The proposal or note itself proves nothing about what it says.
            arguments = " ".join(texts_in(step.arguments))
            is_own = step.tool.casefold().endswith(_TELLING) or any(f"tacit {each}" in arguments for each in _TELLING)
            given = texts_in(list(step.arguments.values())) if step.is_action and not is_own else ()
            parts = {"text": step.text, "arguments": "\n".join(given), "observation": step.observation}
            for part, text in parts.items():
                if words in squeezed(text):
                    return Span(attempt.id, step.index, part)
    return None


def squeezed(text: str) -> str:
    """Return a text in one case and with single blanks."""
    return " ".join(text.casefold().split())
