"""What a proposal quotes of the sessions that run in a project: words or numbers of steps → places in captured attempts.

The transcripts of the latest sessions are captured first, as far as they are written, so that the gate can compare the
proposal with everything its session has read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tacit.domain.errors import TacitError
from tacit.domain.trajectory import Span, Trajectory
from tacit.evidence.capture import capture_transcript
from tacit.ingest.sources import Transcript, project_of, transcripts
from tacit.store.context import StoreContext
from tacit.text.text_sources import texts_in

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
