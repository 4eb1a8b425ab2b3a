"""Tasks that are nearly the same → groups of them. What makes two tasks one is told in `overlaps`; all comparisons are exact.

Not every task is held against every other. Two sets that are alike share one of their rarest members, so tasks are
compared where they share a rare run of words and a rare call; those in the same words with the same solution are
parted by what their attempts began with, in one look; and who is in one group already is not compared again. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations_with_replacement, product
from math import ceil

from tacit.features.train.overlaps import ALIKE, Groups, Matter, answers, own_solutions, same_start
from tacit.text.similarity import jaccard

_NONE = frozenset({""})
"""Stands for a solution without calls: two of them are the same."""
_Members = AbstractSet[Hashable]


def near_duplicates(matters: Sequence[Matter]) -> list[list[int]]:
    """Groups of places whose tasks are nearly the same; places that stand alone are in no group."""
    groups = Groups(len(matters))
    blocks = _blocks(matters)
    for one, other in _worded_alike(blocks, groups):
        _join(one, other, groups)
    for one, other in _worded_alike_but_for_numbers(blocks, groups):
        _join(one, other, groups)
    for places in own_solutions(matters, groups.leaders()).values():
        own = _Block([(place, matters[place]) for place in places])
        _join(own, own, groups, exactly=True)
    return groups.several()


class _Block:
    """Tasks in the same words with the same solution, by the calls that their attempts began with."""

    def __init__(self, members: Sequence[tuple[int, Matter]]) -> None:
        self.place, self.first = members[0]
        self._is_one = len(members) == 1
        self.opened: dict[frozenset[str], list[tuple[int, Matter]]] = {}
        for place, matter in members:
            self.opened.setdefault(frozenset(matter.seen), []).append((place, matter))

    def is_settled(self, other: _Block, groups: Groups) -> bool:
        """Whether both are one task each, and are in one group already or cannot be one task, whatever their words."""
        if not (self._is_one and other._is_one):
            return False
        if groups.lead(self.place) == groups.lead(other.place):
            return True
        if self.first.solution and self.first.solution == other.first.solution:
            return not same_start(self.first.numberless_seen, other.first.numberless_seen)
        return not same_start(self.first.seen, other.first.seen)


def _blocks(matters: Sequence[Matter]) -> list[_Block]:
    members: dict[Hashable, list[tuple[int, Matter]]] = {}
    for place, matter in enumerate(matters):
        members.setdefault((matter.words, matter.numberless, matter.solution), []).append((place, matter))
    return [_Block(each) for each in members.values()]


def _worded_alike(blocks: Sequence[_Block], groups: Groups) -> Iterator[tuple[_Block, _Block]]:
    """Blocks with nearly the same words and nearly the same calls."""
    words = [block.first.shingles for block in blocks]
    solutions = [block.first.solution or _NONE for block in blocks]
    for left, right in candidates(zip(_telling(words), _telling(solutions), strict=True)):
        if blocks[left].is_settled(blocks[right], groups):
            continue
        if jaccard(words[left], words[right]) >= ALIKE and jaccard(solutions[left], solutions[right]) >= ALIKE:
            yield blocks[left], blocks[right]


def _worded_alike_but_for_numbers(blocks: Sequence[_Block], groups: Groups) -> Iterator[tuple[_Block, _Block]]:
    """Blocks with the very same solution whose words are nearly the same if numbers do not count."""
    words = [block.first.numberless for block in blocks]
    solutions = [[block.first.solution] if block.first.solution else [] for block in blocks]
    for left, right in candidates(zip(_telling(words), solutions, strict=True)):
        if blocks[left].is_settled(blocks[right], groups):
            continue
        if jaccard(words[left], words[right]) >= ALIKE and blocks[left].first.words != blocks[right].first.words:
            yield blocks[left], blocks[right]


def candidates(telling: Iterable[tuple[Iterable[Hashable], Iterable[Hashable]]]) -> Iterator[tuple[int, int]]:
    """Pairs of places, each with itself among them, that share something in both of two lists of what tells."""
    # An index for each list: one of all pairs of both would grow with their product.
    holders: tuple[dict[Hashable, list[int]], dict[Hashable, list[int]]] = ({}, {})
    known: list[tuple[frozenset[Hashable], frozenset[Hashable]]] = []
    for place, (ones, others) in enumerate(telling):
        known.append((frozenset(ones), frozenset(others)))
        met = []
        for keys, index in zip(known[place], holders, strict=True):
            for key in keys:
                index.setdefault(key, []).append(place)
            met.append([index[key] for key in keys])
        few = min((0, 1), key=lambda side: sum(map(len, met[side])))
        far = known[place][1 - few]
        for other in set().union(*met[few]):
            if not far.isdisjoint(known[other][1 - few]):
                yield other, place


def _telling(sets: Sequence[_Members]) -> list[list[Hashable]]:
    """Of each set the rarest members, as many as could all be missing in one that is alike, and one more."""
    rarity = Counter(member for each in sets for member in each)
    ranked = (sorted(each, key=lambda member: (rarity[member], repr(member))) for each in sets)
    return [each[: len(each) - ceil(ALIKE * len(each)) + 1] for each in ranked]


def _join(one: _Block, other: _Block, groups: Groups, *, exactly: bool = False) -> None:
    """Put together what may have begun from one state; where the very same solved both, numbers make no other state."""
    numberless = not exactly and bool(one.first.solution) and one.first.solution == other.first.solution
    pairs = combinations_with_replacement(one.opened, 2) if one is other else product(one.opened, other.opened)
    for calls, others in pairs:
        here, there = one.opened[calls], other.opened[others]
        if len(here) == len(there) == 1 and groups.lead(here[0][0]) == groups.lead(there[0][0]):
            continue
        common = calls & others
        begun = _by_answers(here, common, numberless=numberless)
        met = begun if there is here else _by_answers(there, common, numberless=numberless)
        for answered, places in begun.items():
            for place in (*places[1:], *met[answered]) if answered in met else ():
                groups.join(places[0], place)


def _by_answers(
    members: Iterable[tuple[int, Matter]], calls: AbstractSet[str], *, numberless: bool
) -> dict[tuple[str, ...], list[int]]:
    """Answers to these calls → the places of attempts that were given them."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, matter in members:
        found.setdefault(answers(matter, calls, numberless=numberless), []).append(place)
    return found
