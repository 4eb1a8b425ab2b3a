"""Finds pairs of skills whose order one more skill in the library could reverse: these are reported as tied. Pure.

A word weighs by its rarity, and rarity is counted in the library itself, so every stored skill moves the weights a little.
Example: 2 of 12 skills contain "rotate", which is then worth 5.99 nats. If a 13th skill contained it too, it would be worth
5.66. For a task with "rotate" in it, skill A contains the word, skill B does not, and A leads by 0.2 nats. That one skill
could cost A up to 0.34 nats and B nothing, so the order of A and B is chance: they are tied. A lead of 1 nat would be safe.

`rarity_shifts` is how far the weight of each term can move, `max_shift` how far two skills can move against each other, and
`could_swap` compares that with the lead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tacit.recall.signals import UNMATCHED_TERM_NATS, WEIGHTS, QueryTerms, slope
from tacit.store.lexical_search import VERSION_WEIGHTS, occurrences, rarity

_ROUNDING = 1e-9


def rarity_shifts(asked: Iterable[str], frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """Return by how many nats each term's weight changes at most if one more skill is stored, with the term or without it."""
    found = ((term, frequency.get(term, 0)) for term in asked)
    return {
        term: max(abs(rarity(count, total, term=term) - rarity(count + more, total + 1, term=term)) for more in (0, 1))
        for term, count in found
    }


class MatchBounds:
    """The part of a skill's match score that depends on the rarity of words, and how far one more skill could move it.

    `words` are the skill's terms by field, `examples` those of its example queries.
    """

    __slots__ = (
        "_asked",
        "_shifts",
        "example_drop",
        "example_rise",
        "examples",
        "max_move",
        "slope_range",
        "term_weights",
    )

    def __init__(
        self,
        words: Sequence[Sequence[str]],
        examples: Iterable[Iterable[str]],
        *,
        asked: QueryTerms,
        shifts: Mapping[str, float],
    ) -> None:
        self._asked, self._shifts = asked, shifts
        self.term_weights = occurrences(words, shifts, weights=VERSION_WEIGHTS)
        plain = [(term, share) for term, share in self.term_weights.items() if term not in asked.names]
        nats = math.fsum(asked.worth[term] * share for term, share in plain)
        plain_move = math.fsum(shifts[term] * share for term, share in plain)
        self.slope_range = slope(max(0.0, nats - plain_move), asked.chance), slope(nats + plain_move, asked.chance)
        """The least and the most that one more nat by words adds to the match score here."""
        self.examples = frozenset(frozenset(example) for example in examples)
        alike = [self._example_range(example) for example in self.examples] or [(0.0, 0.0, 0.0)]
        least, now, most = (max(each) for each in zip(*alike, strict=True))
        self.example_drop: float = WEIGHTS["example"] * (now - least)
        self.example_rise: float = WEIGHTS["example"] * (most - now)
        """In nats, how much less or more its example queries could count."""
        by_names = math.fsum(shifts[term] * share for term, share in self.term_weights.items() if term in asked.names)
        self.max_move = (
            self.slope_range[1] * plain_move + by_names + max(self.example_rise, self.example_drop) + _ROUNDING
        )
        """In nats, an upper bound for all of these together."""

    def is_name(self, term: str) -> bool:
        """Return whether a term is an identifier, which counts fully whatever else is found."""
        return term in self._asked.names

    def _example_range(self, example: frozenset[str]) -> tuple[float, float, float]:
        """Return how similar an example and the query are: at least, now, and at most."""
        both, rest = example & self._asked.terms, self._asked.terms - example
        unasked = UNMATCHED_TERM_NATS * len(example - both)
        here, elsewhere = (math.fsum(self._asked.worth[term] for term in some) for some in (both, rest))
        here_move, elsewhere_move = (math.fsum(self._shifts[term] for term in some) for some in (both, rest))

        def ratio(shared: float, other: float) -> float:
            return shared / (shared + max(0.0, other) + unasked) if shared > 0 else 0.0

        return (
            ratio(here - here_move, elsewhere + elsewhere_move),
            ratio(here, elsewhere),
            ratio(here + here_move, elsewhere - elsewhere_move),
        )


def could_swap(ahead: float, one: MatchBounds, two: MatchBounds, shifts: Mapping[str, float]) -> bool:
    """Return whether one more skill could move the second of two skills before the first, which leads by `ahead` nats."""
    return ahead <= one.max_move + two.max_move and ahead <= max_shift(one, two, shifts)


def max_shift(one: MatchBounds, two: MatchBounds, shifts: Mapping[str, float]) -> float:
    """Return by how many nats one more skill could move two skills against each other, at most."""
    by_words = math.fsum(
        shifts[term] * max(_against(one, two, term), _against(two, one, term))
        for term in one.term_weights.keys() | two.term_weights.keys()
    )
    if one.examples == two.examples:
        return by_words + _ROUNDING
    return by_words + max(one.example_rise + two.example_drop, one.example_drop + two.example_rise) + _ROUNDING


def _against(one: MatchBounds, two: MatchBounds, term: str) -> float:
    most, least = (1.0, 1.0) if one.is_name(term) else (one.slope_range[1], two.slope_range[0])
    return most * one.term_weights.get(term, 0.0) - least * two.term_weights.get(term, 0.0)
