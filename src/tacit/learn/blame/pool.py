"""Successes, and failures of other tasks with their successful siblings → what is needed to blame a run without a sibling.

Made once for many failures; linear in what it is given, of which it takes a bounded part. It knows no labels: what a
failure with a sibling was is told by contrast.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tacit.domain.trajectory import Trajectory
from tacit.learn.blame.contrast import contrast
from tacit.learn.blame.effects import Deeds, deeds_of
from tacit.learn.blame.signs import VALUES, signs_of
from tacit.learn.blame.verdict import FailureKind
from tacit.learn.blame.wants import Wants, said

MOST_SUCCESSES = 2000
MOST_FAILURES = 1000
MOST_SIBLINGS = 32
LEAST_FAILURES = 20
"""Fewer contrasted failures than this do not show which kinds a domain has; plain rules decide then."""

Contrasted = tuple[Trajectory, Sequence[Trajectory]]
"""A failed attempt and the successful attempts at the same task."""


class Pool:
    """What successes and explained failures of other tasks say about failures."""

    def __init__(self, successes: Sequence[Trajectory], contrasted: Sequence[Contrasted] = ()) -> None:
        """Count over successful attempts, and over failed ones that have successful siblings."""
        self._runs = [deeds_of(success) for success in successes[:MOST_SUCCESSES]]
        self.wants = Wants(self._runs)
        self._kinds: Counter[FailureKind] = Counter()
        self._seen: dict[tuple[FailureKind, str], Counter[int]] = defaultdict(Counter)
        self._learn([(failed, siblings[:MOST_SIBLINGS]) for failed, siblings in contrasted[:MOST_FAILURES] if siblings])

    @property
    def explained(self) -> int:
        """How many failures have taught which signs go with which kind."""
        return self._kinds.total()

    def kinds(self, features: Mapping[str, int]) -> dict[FailureKind, float]:
        """The kinds of failure with their probabilities, by what signs went with them; empty if too few were seen."""
        if self.explained < LEAST_FAILURES:
            return {}
        scores = {kind: self._score(kind, features) for kind in FailureKind if self._kinds[kind]}
        top = max(scores.values())
        total = sum(math.exp(score - top) for score in scores.values())
        return {kind: math.exp(score - top) / total for kind, score in scores.items()}

    def _score(self, kind: FailureKind, features: Mapping[str, int]) -> float:
        count = self._kinds[kind]
        score = math.log((count + 1) / (self.explained + len(self._kinds)))
        for name, value in features.items():
            score += math.log((self._seen[kind, name][value] + 1) / (count + VALUES[name]))
        return score

    def _learn(self, contrasted: Sequence[Contrasted]) -> None:
        """Note the signs of every failure that a sibling explains.

        Its own siblings must not tell what its words call for, or that sign would look stronger than it is for a new task.
        """
        known: dict[str, Deeds] = {run.trajectory.id: run for run in self._runs}
        for failed, siblings in contrasted:
            run = deeds_of(failed)
            if not run.done:
                continue
            beside = [known.get(sibling.id) or deeds_of(sibling) for sibling in siblings]
            found = contrast(run, beside)
            signs = signs_of(run, self.wants.likely(said(failed), without=beside))
            self._kinds[found.kind] += 1
            for name, value in signs.features.items():
                self._seen[found.kind, name][value] += 1
