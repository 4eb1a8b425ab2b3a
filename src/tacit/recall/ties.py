"""Which ranks could be turned by one more skill in the library: such pairs are reported as tied. Pure.

Words weigh by how rare they are, and rareness is counted in the library itself. Two skills whose order hangs on words so
evenly that one further skill with some of these words might reverse it are not told apart by anything that is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tacit.recall.signals import USUAL_WORTH, WEIGHTS, QueryTerms, slope
from tacit.store.lexical_search import VERSION_WEIGHTS, occurrences, rarity

_ROUNDING = 1e-9


def spread(asked: Iterable[str], frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """How much less or more each term would tell if one more skill were there, with or without it."""
    found = ((term, frequency.get(term, 0)) for term in asked)
    return {
        term: max(abs(rarity(count, total, term=term) - rarity(count + more, total + 1, term=term)) for more in (0, 1))
        for term, count in found
    }


class WordSupport:
    """What of a skill's evidence rests on how rare words are, and how far one more skill could move it.

    `words` are the skill's by field, `examples` those of its example queries.
    """

    __slots__ = ("_asked", "_moves", "drop", "examples", "present", "reach", "rise", "slopes")

    def __init__(
        self,
        words: Sequence[Sequence[str]],
        examples: Iterable[Iterable[str]],
        *,
        asked: QueryTerms,
        moves: Mapping[str, float],
    ) -> None:
        self._asked, self._moves = asked, moves
        self.present = occurrences(words, moves, weights=VERSION_WEIGHTS)
        plain = [(term, share) for term, share in self.present.items() if term not in asked.names]
        nats = math.fsum(asked.worth[term] * share for term, share in plain)
        reach = math.fsum(moves[term] * share for term, share in plain)
        self.slopes = slope(max(0.0, nats - reach), asked.chance), slope(nats + reach, asked.chance)
        """The least and the most that one more nat by words counts here."""
        self.examples = frozenset(frozenset(example) for example in examples)
        alike = [self._alike(example) for example in self.examples] or [(0.0, 0.0, 0.0)]
        least, now, most = (max(each) for each in zip(*alike, strict=True))
        self.drop: float = WEIGHTS["example"] * (now - least)
        self.rise: float = WEIGHTS["example"] * (most - now)
        """In nats, what its example queries could come to count less or more."""
        by_names = math.fsum(moves[term] * share for term, share in self.present.items() if term in asked.names)
        self.reach = self.slopes[1] * reach + by_names + max(self.rise, self.drop) + _ROUNDING
        """In nats, more than all of this together could move it."""

    def is_name(self, term: str) -> bool:
        """Whether a term counts fully, whatever else is found."""
        return term in self._asked.names

    def _alike(self, example: frozenset[str]) -> tuple[float, float, float]:
        """How alike an example and the query are at least, now, and at most."""
        both, rest = example & self._asked.terms, self._asked.terms - example
        unasked = USUAL_WORTH * len(example - both)
        here, elsewhere = (math.fsum(self._asked.worth[term] for term in some) for some in (both, rest))
        here_move, elsewhere_move = (math.fsum(self._moves[term] for term in some) for some in (both, rest))

        def example_similarity(term_overlap: float, other: float) -> float:
            return term_overlap / (term_overlap + max(0.0, other) + unasked) if term_overlap > 0 else 0.0

        least = example_similarity(here - here_move, elsewhere + elsewhere_move)
        return (
            least,
            example_similarity(here, elsewhere),
            example_similarity(here + here_move, elsewhere - elsewhere_move),
        )


def is_turnable(ahead: float, one: WordSupport, two: WordSupport, moves: Mapping[str, float]) -> bool:
    """Whether one more skill could let the second of two skills overtake the first, which is so many nats ahead."""
    return ahead <= one.reach + two.reach and ahead <= turnable(one, two, moves)


def turnable(one: WordSupport, two: WordSupport, moves: Mapping[str, float]) -> float:
    """By how many nats one more skill could move two skills against each other, at most."""
    word_signals = math.fsum(
        moves[term] * max(_against(one, two, term), _against(two, one, term))
        for term in one.present.keys() | two.present.keys()
    )
    if one.examples == two.examples:
        return word_signals + _ROUNDING
    return word_signals + max(one.rise + two.drop, one.drop + two.rise) + _ROUNDING


def _against(one: WordSupport, two: WordSupport, term: str) -> float:
    most, least = (1.0, 1.0) if one.is_name(term) else (one.slopes[1], two.slopes[0])
    return most * one.present.get(term, 0.0) - least * two.present.get(term, 0.0)
