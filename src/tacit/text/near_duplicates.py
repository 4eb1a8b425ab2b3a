"""How alike two texts or two sequences are, from 0 to 1. Pure measures; thresholds belong to those who decide."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

from tacit.text.words import term_set


def jaccard(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> float:
    """Shared share of two sets; two empty sets are not alike, since nothing shows it."""
    union = left | right
    return len(left & right) / len(union) if union else 0.0


def text_similarity(left: str, right: str) -> float:
    """Jaccard similarity of the terms of two texts."""
    return jaccard(term_set(left), term_set(right))


def shared_subsequence(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(right) + 1)
    for a in left:
        diagonal = 0
        for j, b in enumerate(right, start=1):
            diagonal, row[j] = row[j], diagonal + 1 if a == b else max(row[j], row[j - 1])
    return row[-1]


def order_similarity(left: Sequence[Hashable], right: Sequence[Hashable]) -> float:
    """Dice measure of the longest common subsequence: same things in the same order gives 1."""
    total = len(left) + len(right)
    return 2 * shared_subsequence(left, right) / total if total else 0.0
