"""A question to a person as a forecast sees it: circumstances, what is decided on, possible answers, and word similarity.

`features` are known before anybody looks at what is decided on, `traits` only by looking. Without traits and artifact a
forecast is the prior, with them the posterior.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tacit.features.people.ledger_entries import Choice, ChoiceSort
from tacit.text.words import term_set

MAX_CIRCUMSTANCES = 6
"""Features and traits that count; a decision with more uses the first by name."""
MAX_CHARACTERS = 4_000
"""Compared of each part: the decisive words come first, and a forecast must be fast."""
PARTS = ("situation", "artifact", "stimulus")

Context = tuple[tuple[str, str], ...]
"""Some circumstances as name and value, sorted by name."""
Words = Mapping[str, frozenset[str]]
"""Part of a question → its terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A decision that is still open."""

    person: str
    sort: ChoiceSort
    situation: str = ""
    artifact: str = ""
    stimulus: str = ""
    features: Mapping[str, str] = field(default_factory=dict)
    traits: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    """Possible answers; empty: any text."""

    @classmethod
    def of(cls, choice: Choice) -> Question:
        """Return the question that a decision answered."""
        return cls(
            person=choice.person,
            sort=choice.sort,
            situation=choice.situation,
            artifact=choice.artifact,
            stimulus=choice.stimulus,
            features=choice.features,
            traits=choice.traits,
        )

    @property
    def blind(self) -> Question:
        """The same question before anybody looks at what is decided on."""
        return dataclasses.replace(self, artifact="", traits={})

    @property
    def circumstances(self) -> dict[str, str]:
        """Features and traits together; a trait overrides a feature of the same name."""
        named = {**self.features, **self.traits}
        return {name: named[name] for name in sorted(named)[:MAX_CIRCUMSTANCES]}

    def contexts(self) -> Iterator[Context]:
        """Yield the combinations that may matter: none, each alone, each pair, and all of them."""
        items = tuple(self.circumstances.items())
        yield ()
        yield from ((one,) for one in items)
        yield from ((first, second) for at, first in enumerate(items) for second in items[at + 1 :])
        if len(items) > 2:
            yield items


def words_of(question: Question) -> Words:
    """Return the terms of each part that has any."""
    found = {part: term_set(getattr(question, part)[:MAX_CHARACTERS]) for part in PARTS}
    return {part: words for part, words in found.items() if words}


def similarity(one: Words, other: Words) -> float:
    """Return how similar two questions are by their words: the mean over all parts that either has, from 0 to 1."""
    parts = one.keys() | other.keys()
    if not parts:
        return 0.0
    return math.fsum(cosine(one[part], other[part]) for part in one.keys() & other.keys()) / len(parts)


def cosine(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the cosine of two sets of terms."""
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0
