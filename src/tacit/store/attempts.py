"""Finding past attempts: the terms to look for, what each is worth, and the attempts found, best first. Pure.

Both stores search alike by it; where the rows and the counts come from is theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TypeVar

from tacit.domain.ports import Episode, FoundEpisode
from tacit.store.lexical import EPISODE_WEIGHTS, distinct, rarity, score
from tacit.text.compounds import Count, Longer, expand, holds

_T = TypeVar("_T")


def wanted(asked: str | Sequence[str], count: Count, longer: Longer) -> dict[str, float]:
    """Terms to look for, with weights: those of a request and what may be meant by them, or terms as they are."""
    if isinstance(asked, str):
        return expand(asked, count, longer=longer)
    return dict.fromkeys(distinct(asked), 1.0)


def worth(weights: Mapping[str, float], counts: Mapping[str, int], total: int) -> dict[str, float]:
    """What each term that occurs at all adds to a score."""
    return {
        term: weight * rarity(counts[term], total, term=term)
        for term, weight in weights.items()
        if counts.get(term, 0) > 0
    }


def match(query: Mapping[str, float], words: Sequence[Sequence[str]]) -> float:
    """How well an attempt's words match."""
    return score(query, words, weights=EPISODE_WEIGHTS)


def best(found: Iterable[tuple[_T, float]], *, limit: int) -> list[tuple[_T, float]]:
    """The best matches of those given newest first: newer first among equals."""
    ranked = sorted((each for each in found if each[1] > 0), key=lambda each: -each[1])
    return ranked[: max(0, limit)]


def search(
    asked: str | Sequence[str], documents: Mapping[str, Sequence[Sequence[str]]], *, hidden: Collection[str], limit: int
) -> list[tuple[str, float]]:
    """Search words by id, oldest first, that are all at hand; what is hidden counts but is not found."""
    counts = Counter(term for words in documents.values() for term in {term for field in words for term in field})

    def longer(words: Sequence[str]) -> dict[str, int]:
        return {term: counts[term] for term in counts if term.isascii() and any(holds(term, word) for word in words)}

    weights = wanted(asked, lambda _: counts, longer)
    query = worth(weights, counts, len(documents))
    shown = [(identity, words) for identity, words in list(documents.items())[::-1] if identity not in hidden]
    return best(((identity, match(query, words)) for identity, words in shown), limit=limit)


def as_found(episode: Episode, lexical: float) -> FoundEpisode:
    """An attempt together with how well it matches."""
    return FoundEpisode(**{field.name: getattr(episode, field.name) for field in fields(episode)}, lexical=lexical)
