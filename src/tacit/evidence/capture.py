"""Capturing: an agent's trajectories → the store, with secrets redacted and the outcome assessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatch

from tacit import ingest
from tacit.domain.errors import GateRefusal
from tacit.domain.trajectory import Trajectory
from tacit.evidence.assessment import assess
from tacit.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What became of captured trajectories."""

    added: tuple[str, ...] = ()
    known: int = 0
    vouched: int = 0
    """How many of the known ones have a verified outcome only now: they are learned from again."""
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
) -> Captured:
    """Store each attempt once; those of excluded workspaces and purged ones are only counted."""
    added: list[str] = []
    counts: Counter[str] = Counter(known=0, vouched=0, excluded=0, purged=0)
    redacted: Counter[str] = Counter()
    for trajectory in [trajectories] if isinstance(trajectories, Trajectory) else trajectories:
        if any(fnmatch(trajectory.environment.workspace, pattern) for pattern in exclude):
            counts["excluded"] += 1
            continue
        clean, found = ingest.redacted(trajectory)
        assessment = assess(clean, trust_claim=trust_outcomes)
        try:
            is_new = store.add_trajectory(clean, assessment, at=now())
        except GateRefusal:
            counts["purged"] += 1
            continue
        if is_new:
            added.append(clean.id)
            redacted.update(found)
        else:
            counts["known"] += 1
            counts["vouched"] += store.vouch(clean.id, assessment, at=now())
    return Captured(added=tuple(added), redacted=dict(redacted), **counts)
