"""What a person is about to be asked, as a forecast sees it: circumstances, what is decided on, and what may be answered.

`features` are known before anybody looks at what is decided on, `traits` only by looking. Leaving the traits and the artifact
out gives the prior, with them the posterior.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tacit.domain.choice import Choice, ChoiceSort
from tacit.text.near_duplicates import cosine
from tacit.text.words import term_set

MOST_NAMES = 6
"""Names of features and traits that are looked at; a decision that has more keeps the first by name."""

Context = tuple[tuple[str, str], ...]
"""Some circumstances by name and value, in the order of their names."""


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
    """What may be answered; empty: anything."""

    @classmethod
    def of(cls, choice: Choice) -> Question:
        """The question that a decision answered."""
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
        """Features and traits together; a trait goes before a feature of its name."""
        named = {**self.features, **self.traits}
        return {name: named[name] for name in sorted(named)[:MOST_NAMES]}

    def contexts(self) -> Iterator[Context]:
        """The circumstances that may matter: none, each alone, each pair, and all of them."""
        items = tuple(self.circumstances.items())
        yield ()
        yield from ((one,) for one in items)
        yield from ((first, second) for at, first in enumerate(items) for second in items[at + 1 :])
        if len(items) > 2:
            yield items


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
