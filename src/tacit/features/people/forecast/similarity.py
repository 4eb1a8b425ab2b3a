"""How alike two questions are by their words: cosine of index terms in each part, averaged over what both have. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tacit.features.people.forecast.question import Question
from tacit.text.words import term_set

MOST_CHARACTERS = 4_000
"""Of each part; what decides stands at the beginning, and a forecast must not wait for a long text."""
PARTS = ("situation", "artifact", "stimulus")

Words = Mapping[str, frozenset[str]]


def words_of(question: Question) -> Words:
    """The terms of each part that says something."""
    said = {part: term_set(getattr(question, part)[:MOST_CHARACTERS]) for part in PARTS}
    return {part: words for part, words in said.items() if words}


def alike(one: Words, other: Words) -> float:
    """From 0 to 1: the mean over all parts that either has, a part that only one has counting 0."""
    parts = one.keys() | other.keys()
    if not parts:
        return 0.0
    return math.fsum(cosine(one[part], other[part]) for part in one.keys() & other.keys()) / len(parts)


def cosine(one: frozenset[str], other: frozenset[str]) -> float:
    """Cosine of two sets of terms."""
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0
