"""Finding past attempts: the terms to look for, what each is worth, and the attempts found, best first. Pure.

Both stores search alike by it; where the rows and the counts come from is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TypeVar

from tacit.domain.ports import Episode, FoundEpisode
from tacit.store.lexical_search import EPISODE_WEIGHTS, distinct, rarity, score
from tacit.text.compounds import Count, Longer, expand

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


def as_found(episode: Episode, lexical: float) -> FoundEpisode:
    """An attempt together with how well it matches."""
    return FoundEpisode(**{field.name: getattr(episode, field.name) for field in fields(episode)}, lexical=lexical)
