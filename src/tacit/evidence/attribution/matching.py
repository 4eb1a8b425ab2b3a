"""What a skill asks for and what a run did → which act stands for which: the heaviest match that keeps the order.

Changes must come in the order of the skill, except those that are known to concern different things. What only looks or
checks may come at any time: reading first or later makes no difference to what is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.evidence.attribution.alignment import Divergence, Done
from tacit.evidence.attribution.wanting import Wanted
from tacit.text.alignment import best_pairs
from tacit.text.operation_matching import OperationMatch, compare_operations, is_independent
from tacit.text.tool_calls import Effect

_OPTIONAL = 0.3
"""An optional act never takes the place of a required one."""
MAX_DONE = 4000
"""A run is looked at so far; more is a log, not a run."""
MAX_DIVERGED = 12


@dataclass(frozen=True, slots=True)
class Match:
    """Which act of the run stands for each wanted one, by their places in the two lists."""

    wanted: Sequence[Wanted]
    done: Sequence[Done]
    pairs: dict[int, int]

    def weight(self, *, of: Effect | None = None, matched: bool = False) -> float:
        """The weight of what is required (optional acts count once they are done), or of what of it was done."""
        return sum(
            each.weight
            for place, each in enumerate(self.wanted)
            if (of is None or each.act.effect is of) and (place in self.pairs or not (matched or each.optional))
        )

    def steps(self) -> dict[int, tuple[int, ...]]:
        """Step of the skill → steps of the run, with those before that tried the same between its neighbours."""
        found: dict[int, set[int]] = {}
        taken = sorted(self.pairs.values())
        for place, at in self.pairs.items():
            before = max((other for other in taken if other < at), default=-1)
            tries = [i for i in range(before + 1, at) if self.done[i].act.retry_key == self.done[at].act.retry_key]
            found.setdefault(self.wanted[place].step, set()).update(self.done[i].step.index for i in (*tries, at))
        return {step: tuple(sorted(indexes)) for step, indexes in sorted(found.items())}

    def missing(self) -> tuple[int, ...]:
        """Required steps of which nothing that counts was done: no change where it asks for one, nothing at all else."""
        asked: dict[int, list[int]] = {}
        for place, each in enumerate(self.wanted):
            if not each.optional:
                asked.setdefault(each.step, []).append(place)
        lacking: list[int] = []
        for step, places in asked.items():
            changes = [place for place in places if self.wanted[place].act.effect is Effect.WRITE] or places
            lacking += [step] if not any(place in self.pairs for place in changes) else []
        return tuple(sorted(lacking))

    def opposed(self) -> list[tuple[int, int]]:
        """Required changes that were nowhere made, each with the act that did the opposite, by their places."""
        used, found = set(self.pairs.values()), []
        for place, each in enumerate(self.wanted):
            if each.optional or place in self.pairs or each.act.effect is not Effect.WRITE:
                continue
            stands = [compare_operations(each.act, done.act) for done in self.done]
            against = [i for i, stand in enumerate(stands) if stand is OperationMatch.OPPOSED and i not in used]
            if against and OperationMatch.SAME not in stands:
                found.append((place, against[0]))
        return found

    def diverged(self) -> list[Divergence]:
        """Changes that the run made where a step was due that it left out."""
        lacking = set(self.missing())
        used, found = set(self.pairs.values()), []
        for place, each in enumerate(self.wanted):
            if each.step not in lacking:
                continue
            lacking.discard(each.step)
            low = max((at for other, at in self.pairs.items() if other < place), default=-1)
            high = min((at for other, at in self.pairs.items() if other > place), default=len(self.done))
            for i in range(low + 1, high):
                if i not in used and self.done[i].act.effect is Effect.WRITE:
                    step = self.done[i].step.index
                    found.append(Divergence(step=step, instead_of=each.step, what=self.done[i].act.label[:80]))
                    used.add(i)
        return found[:MAX_DIVERGED]


def match(wanted: Sequence[Wanted], done: Sequence[Done]) -> Match:
    """Find what stands for what."""
    done = done[:MAX_DONE]
    same = [[compare_operations(each.act, other.act) is OperationMatch.SAME for other in done] for each in wanted]
    worth = [each.weight * (_OPTIONAL if each.optional else 1.0) for each in wanted]
    _, pairs = best_pairs([[value if fits else 0.0 for fits in row] for value, row in zip(worth, same, strict=True)])
    used = set(pairs.values())
    for place in range(len(wanted)):
        if place in pairs:
            continue
        free = (i for i, fits in enumerate(same[place]) if fits and i not in used)
        at = next((i for i in free if _may_stand(wanted, done, pairs, place, i)), None)
        if at is not None:
            pairs[place] = at
            used.add(at)
    return Match(wanted, done, pairs)


def _may_stand(wanted: Sequence[Wanted], done: Sequence[Done], pairs: Mapping[int, int], place: int, at: int) -> bool:
    """Whether an act may stand for a wanted one out of order: nothing that depends on it is passed over."""
    if wanted[place].act.effect is not Effect.WRITE:
        return True
    passed = [other for mine, other in pairs.items() if (mine < place) != (other < at)]
    changes = [other for other in passed if done[other].act.effect is Effect.WRITE]
    return all(is_independent(done[at].act, done[other].act) for other in changes)
