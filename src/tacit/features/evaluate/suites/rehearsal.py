"""A memory for a measurement: it has learned from given attempts and from nothing else. It lives as long as the process.

What the gate holds for a person is approved here, since nobody sits in a measurement; so what is measured is what learning
finds, not what a person would leave of it. Nothing of it reaches a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tacit.api import Loop
from tacit.config.settings import Config
from tacit.domain.ports import Store
from tacit.domain.trajectory import Trajectory
from tacit.store import open_store

BY = "rehearsal"


def rehearsed(
    trajectories: Iterable[Trajectory],
    *,
    config: Config | None = None,
    progress: Callable[[int, int], None] | None = None,
    store: Store | None = None,
) -> Loop:
    """A fresh memory that took the outcomes of these attempts at their word and learned from them; in `store`, if given."""
    memory = Loop(store or open_store(":memory:"), config=config or Config())
    memory.capture(trajectories, trust_outcomes=True)
    memory.learn(progress=progress)
    for stored in memory.waiting():
        ticked = [literal.key for literal in memory.examine(stored.version.id).literals]
        memory.review(stored.version.id, "approve", by=BY, content_hash=stored.version.hash, ticked=ticked)
    return memory
