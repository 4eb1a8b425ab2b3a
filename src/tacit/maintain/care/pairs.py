"""Which skills may be the same? Versions → pairs that the gate's own measure finds alike, best first. Pure.

Not every two are compared: skills of one kind and scope meet over a word of their subject or a step that both have, and of
those that a skill meets it is compared with the dozen that share most of what is rare. Seen beside all others it shows also
that two do the same unusual things, in another order and told in other words, which no comparison of two texts can tell.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from tacit import gate
from tacit.domain.ports import Stored
from tacit.domain.skill import Kind, SkillContent
from tacit.gate.duplicates import ACTIONS_WEIGHT
from tacit.text.words import term_set

NEIGHBOURS = 12
"""How many others each skill is compared with."""
COMMON = 64
"""Over one word or step a skill meets so many others at most, the newest of those that have it."""
UNUSUAL = 20
"""What at most one skill in so many does is unusual."""
SHARED_AT_LEAST = 3
"""Steps that two skills must share before doing the same unusual things makes them one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two skills that say the same."""

    older: Stored
    newer: Stored
    likeness: float


def near_pairs(
    held: Sequence[Stored], least: float, *, progress: Callable[[int, int], None] | None = None
) -> list[Pair]:
    """The pairs of one kind and scope that are alike at least so much, the most alike first."""
    groups: dict[Hashable, list[Stored]] = defaultdict(list)
    for stored in sorted(held, key=lambda each: each.sequence):
        if stored.skill.kind is not Kind.REFERENCE:  # two documents are two, however alike their records
            groups[stored.version.content.kind, stored.skill.scope].append(stored)
    found: list[Pair] = []
    done = 0
    for group in groups.values():
        known = _Group([stored.version.content for stored in group])
        for newer in range(len(group)):
            for older in known.met_by(newer):
                likeness = known.likeness(newer, older, least)
                if likeness >= least:
                    found.append(Pair(older=group[older], newer=group[newer], likeness=likeness))
            done += 1
            if progress:
                progress(done, len(held))
    return sorted(found, key=lambda pair: (-pair.likeness, pair.older.sequence, pair.newer.sequence))


class _Group:
    """Skills of one kind and scope, by their number, and how often each word and step occurs among them."""

    def __init__(self, contents: Sequence[SkillContent]) -> None:
        self._contents = contents
        self._shapes = [Counter(gate.shapes(content.steps)) for content in contents]
        self._doings = [frozenset(shapes) for shapes in self._shapes]
        self._ends = [_end(content) for content in contents]
        self._words = [_words(content) for content in contents]
        marks = [
            word | {("step", each) for each in doing} for word, doing in zip(self._words, self._doings, strict=True)
        ]
        self._marks: list[frozenset[Hashable]] = [frozenset(each) for each in marks]
        self._spread = Counter(mark for own in self._marks for mark in own)
        self._having: dict[Hashable, deque[int]] = defaultdict(lambda: deque(maxlen=COMMON))

    def met_by(self, number: int) -> list[int]:
        """Those before it that share most of what is rare; to be asked in order."""
        shared: dict[int, float] = defaultdict(float)
        for mark in self._marks[number]:
            for other in self._having[mark]:
                shared[other] += self._weight(mark)
            self._having[mark].append(number)
        return heapq.nlargest(NEIGHBOURS, shared, key=lambda other: (shared[other], -other))

    def likeness(self, one: int, other: int, least: float) -> float:
        """What the gate says, or, where both do the same unusual things, how much of what they do is the same.

        The gate is asked only where it may find so much at least. Where each ends in what the other never does, they are for
        different things, however much of the way they share.
        """
        ends = self._ends[one], self._ends[other]
        if all(ends) and ends[0].isdisjoint(self._doings[other]) and ends[1].isdisjoint(self._doings[one]):
            return 0.0
        same = self._same_doing(one, other)
        if same >= least or self._at_most(one, other) < least:
            return same
        return gate.similarity(self._contents[one], self._contents[other])

    def _at_most(self, one: int, other: int) -> float:
        """What the gate's measure can be: of two procedures with steps, by how many of these they share."""
        ours, theirs = self._shapes[one], self._shapes[other]
        parts = self._contents[one].sub_skills or self._contents[other].sub_skills
        if parts or not ours or not theirs or self._contents[one].kind is not Kind.PROCEDURE:
            return 1.0
        shared = 2 * (ours & theirs).total() / (ours.total() + theirs.total())
        return ACTIONS_WEIGHT * shared + (1 - ACTIONS_WEIGHT)

    def _same_doing(self, one: int, other: int) -> float:
        """The shared part of what two skills do, by rarity; nothing where none of it is unusual here."""
        ours, theirs = self._doings[one], self._doings[other]
        both = ours & theirs
        left, right = self._contents[one], self._contents[other]
        comparable = left.extends == right.extends and not (left.sub_skills or right.sub_skills)
        unusual = [each for each in both if self._spread["step", each] <= len(self._contents) / UNUSUAL]
        if not comparable or len(both) < SHARED_AT_LEAST or not unusual:
            return 0.0
        weights = {each: self._weight(("step", each)) for each in ours | theirs}
        return sum(weights[each] for each in both) / sum(weights.values())

    def _weight(self, mark: Hashable) -> float:
        return math.log1p(len(self._contents) / self._spread[mark])


def _end(content: SkillContent) -> frozenset[Hashable]:
    """The last thing that a skill requires: what it is for."""
    return frozenset(gate.shapes([step for step in content.steps if not step.optional][-1:]))


def _words(content: SkillContent) -> frozenset[Hashable]:
    """The words of what a skill is about: its subject, and the error it answers or the rule that it is."""
    said = f"{content.name} {content.description} {content.signature}"
    return term_set(f"{said} {content.body}" if content.kind is not Kind.PROCEDURE else said)
