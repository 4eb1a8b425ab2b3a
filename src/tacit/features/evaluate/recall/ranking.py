"""One ranked list and the grades of what is right → how good the ranking is. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def rank_of_first(ranked: Sequence[str], grades: Mapping[str, float]) -> int | None:
    """At which place, from 1, the first right one stands; nothing where none does."""
    return next((place for place, one in enumerate(ranked, start=1) if grades.get(one, 0.0) > 0), None)


def hit(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """1 if the first one is right, else 0."""
    return float(rank_of_first(ranked[:1], grades) == 1)


def recall_at(ranked: Sequence[str], grades: Mapping[str, float], *, k: int = 5) -> float:
    """Which part of all right ones is among the first k."""
    right = {one for one, grade in grades.items() if grade > 0}
    return len(right.intersection(ranked[:k])) / len(right) if right else 0.0


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """One over the place of the first right one; 0 where none is found."""
    place = rank_of_first(ranked, grades)
    return 1 / place if place else 0.0


def ndcg_at(ranked: Sequence[str], grades: Mapping[str, float], *, k: int = 10) -> float:
    """Grades found among the first k, each worth less the later it comes, as a part of what the best order would give."""
    found = math.fsum(grades.get(one, 0.0) / math.log2(place + 1) for place, one in enumerate(ranked[:k], start=1))
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    ideal = math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(best, start=1))
    return found / ideal if ideal else 0.0
