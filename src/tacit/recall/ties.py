"""Which ranks could be turned by one more skill in the library: such neighbours are reported as tied. Pure.

Words weigh by how rare they are, and rareness is counted in the library itself. Two skills whose order hangs on words so
evenly that one further skill with some of these words would reverse it are not told apart by anything that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.memory.lexical import VERSION_WEIGHTS, occurrences, rarity


def spread(frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """How much less or more each term would tell if one more skill were there, with or without it."""
    return {
        term: max(abs(rarity(count, total, term=term) - rarity(count + more, total + 1, term=term)) for more in (0, 1))
        for term, count in frequency.items()
    }


def turnable(one: Sequence[Sequence[str]], two: Sequence[Sequence[str]], by: Mapping[str, float]) -> float:
    """By how many nats one more skill may move two skills, given by their words, against each other."""
    first, second = (occurrences(words, frozenset(by), weights=VERSION_WEIGHTS) for words in (one, two))
    return sum(by[term] * abs(first.get(term, 0.0) - second.get(term, 0.0)) for term in first.keys() | second.keys())
