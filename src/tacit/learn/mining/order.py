"""Sequences of skills that successful runs went through → which skill comes after which.

Only clear majorities become relations, and never a circle: where relations contradict each other the better supported
stands. What has no clear order is left open; the place in the task's text may decide it later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

_CLEAR = 0.75
"""Share of the runs with both skills that must agree on their order."""


def learn_order(sequences: Iterable[Sequence[str]], *, at_least: int = 2) -> dict[str, tuple[str, ...]]:
    """Learn, for every skill met, the skills that come before it where both are needed; `at_least` runs must show it."""
    names: dict[str, None] = {}
    before: Counter[tuple[str, str]] = Counter()
    for sequence in sequences:
        firsts = list(dict.fromkeys(sequence))
        names.update(dict.fromkeys(firsts))
        before.update((first, later) for at, first in enumerate(firsts) for later in firsts[at + 1 :])
    after: dict[str, set[str]] = defaultdict(set)
    for first, later in _clear(before, at_least):
        if not _reaches(after, first, later):
            after[later].add(first)
    return {name: tuple(sorted(after[name])) for name in sorted(names)}


def _clear(before: Counter[tuple[str, str]], at_least: int) -> list[tuple[str, str]]:
    """The pairs with a clear order, the best supported first."""
    found = []
    for (first, later), count in before.items():
        share = count / (count + before[later, first])
        if count >= at_least and share >= _CLEAR:
            found.append((-share * count, first, later))
    return [(first, later) for _, first, later in sorted(found)]


def _reaches(after: dict[str, set[str]], start: str, goal: str) -> bool:
    """Whether `goal` is known to come, directly or through others, before `start`."""
    seen, waiting = {start}, [start]
    while waiting:
        for earlier in after.get(waiting.pop(), ()):
            if earlier == goal:
                return True
            if earlier not in seen:
                seen.add(earlier)
                waiting.append(earlier)
    return False
