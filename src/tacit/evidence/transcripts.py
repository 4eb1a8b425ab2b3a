"""Captures the transcripts that clients left on this machine, each from where it was last read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tacit.evidence.capture import Captured, capture
from tacit.ingest.discovery import NewAttempts, bookmark_key, is_unchanged, transcript
from tacit.ingest.sources import OnProblem
from tacit.store.context import StoreContext


def capture_transcript(
    context: StoreContext, path: Path, *, on_problem: OnProblem = lambda problem: None
) -> Captured | None:
    """Capture what is new in one transcript and store how far it was read; return `None` if it has not changed.

    A part that cannot be read goes to `on_problem`, and the rest is captured. A longer capture of the attempt at the
    end supersedes the earlier one.
    """
    context.require_running()
    found = transcript(path)
    if found is None:
        return None
    before = context.store.bookmarks.get(bookmark_key(path))
    if is_unchanged(found, before):
        return None
    attempts = NewAttempts(found, before, on_problem=on_problem)
    exclude = context.config.store.exclude
    captured = capture(context.store, attempts, exclude=exclude, trust_outcomes=False, now=context.now)
    context.store.bookmarks.put(attempts.bookmark)
    return captured


def combined(parts: Iterable[Captured]) -> Captured:
    """Add up several captures."""
    added: list[str] = []
    counts: Counter[str] = Counter(known=0, vouched=0, excluded=0, purged=0)
    redacted: Counter[str] = Counter()
    for part in parts:
        added += part.added
        counts.update(known=part.known, vouched=part.vouched, excluded=part.excluded, purged=part.purged)
        redacted.update(part.redacted)
    return Captured(added=tuple(added), redacted=dict(redacted), **counts)
