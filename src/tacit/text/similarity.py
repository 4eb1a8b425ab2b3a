"""How similar two texts, sets or sequences are, which of many to compare at all, and which items correspond. Pure.

Thresholds belong to the callers. `NeighbourIndex` keeps comparisons few: it returns those that share most of what is rare.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from tacit.text.words import term_set


def jaccard(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> float:
    """Return the shared part of two sets, from 0 to 1; two empty sets give 0, since nothing shows that they are alike."""
    union = left | right
    return len(left & right) / len(union) if union else 0.0


def overlap(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> float:
    """Return the part of the smaller set that the other one has as well."""
    return len(left & right) / max(1, min(len(left), len(right)))


def text_similarity(left: str, right: str) -> float:
    """Return the Jaccard similarity of the terms of two texts."""
    return jaccard(term_set(left), term_set(right))


def order_similarity(left: Sequence[Hashable], right: Sequence[Hashable]) -> float:
    """Return the Dice measure of the longest common subsequence: the same things in the same order give 1."""
    row = [0] * (len(right) + 1)
    for a in left:
        diagonal = 0
        for j, b in enumerate(right, start=1):
            diagonal, row[j] = row[j], diagonal + 1 if a == b else max(row[j], row[j - 1])
    total = len(left) + len(right)
    return 2 * row[-1] / total if total else 0.0


class NeighbourIndex:
    """For items given by their features: which earlier ones share most of what is rare."""

    def __init__(self, features: Sequence[AbstractSet[Hashable]], *, holders_max: int) -> None:
        """Count the features; over each of them an item meets at most `holders_max` others, the newest."""
        self._features = features
        self.frequency = Counter(feature for own in features for feature in own)
        self._holders: dict[Hashable, deque[int]] = defaultdict(lambda: deque(maxlen=holders_max))

    def nearest(self, number: int, count: int) -> list[int]:
        """Return the earlier items that share most. Ask in the order of the numbers."""
        shared: dict[int, float] = defaultdict(float)
        for feature in self._features[number]:
            for other in self._holders[feature]:
                shared[other] += self.weight(feature)
            self._holders[feature].append(number)
        return heapq.nlargest(count, shared, key=lambda other: (shared[other], -other))

    def weight(self, feature: Hashable) -> float:
        """Return how much it counts to share a feature: the rarer, the more."""
        return math.log1p(len(self._features) / self.frequency[feature])


T = TypeVar("T")

_LEAST_SCORE = 0.05
"""The score of a barely similar pair: low, so that two of them do not outweigh one clear match."""


def best_pairs(scores: Sequence[Sequence[float]]) -> tuple[float, dict[int, int]]:
    """Pair rows with columns, in order, so that the total score is greatest; a score of 0 is no match.

    Returns the total, and row → column. Of several best pairings it takes the earliest.
    """
    rows, columns = len(scores), len(scores[0]) if scores else 0
    table = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        row, below, score = table[i], table[i + 1], scores[i]
        for j in range(columns - 1, -1, -1):
            taken = score[j] + below[j + 1] if score[j] > 0 else 0.0
            row[j] = max(taken, below[j], row[j + 1])
    pairs: dict[int, int] = {}
    i = j = 0
    while i < rows and j < columns:
        if scores[i][j] > 0 and table[i][j] == scores[i][j] + table[i + 1][j + 1]:
            pairs[i] = j
            i, j = i + 1, j + 1
        elif table[i][j] == table[i + 1][j]:
            i += 1
        else:
            j += 1
    return table[0][0], pairs


def mean_similarity(item: T, column: Sequence[T], similarity: Callable[[T, T], float]) -> float:
    """Return how similar an item is to those of a column, on average; 0 for an empty column."""
    return sum(similarity(item, other) for other in column) / len(column) if column else 0.0


def align_sequences(
    sequences: Sequence[Sequence[T]], similarity: Callable[[T, T], float], *, least_similarity: float
) -> list[list[T]]:
    """Put the items of several sequences into columns; the order within each sequence is kept.

    Progressive: starts with the sequence most similar to all others and adds the rest by their similarity to it.
    """

    def pair(columns: Sequence[Sequence[T]], items: Sequence[T]) -> tuple[float, dict[int, int]]:
        return best_pairs([[score(column, item) for item in items] for column in columns])

    def score(column: Sequence[T], item: T) -> float:
        above = mean_similarity(item, column, similarity) - least_similarity + _LEAST_SCORE
        return above if above >= _LEAST_SCORE else 0.0

    def overlap(left: Sequence[T], right: Sequence[T]) -> float:
        total = len(left) + len(right)
        return 2 * pair([[item] for item in left], right)[0] / total if total else 0.0

    numbers = range(len(sequences))
    overlaps = {(i, j): overlap(sequences[i], sequences[j]) for i in numbers for j in range(i + 1, len(sequences))}
    totals = [sum(value for both, value in overlaps.items() if i in both) for i in numbers]
    centre = max(numbers, key=lambda i: (totals[i], -i))
    rest = sorted((i for i in numbers if i != centre), key=lambda i: (-overlaps[min(i, centre), max(i, centre)], i))
    columns = [[item] for item in sequences[centre]]
    for i in rest:  # paired items join a column, the others get a column of their own
        items, pairs = sequences[i], pair(columns, sequences[i])[1]
        merged: list[list[T]] = []
        waiting = 0
        for number, column in enumerate(columns):
            if number not in pairs:
                merged.append(column)
                continue
            merged += [[item] for item in items[waiting : pairs[number]]]
            waiting = pairs[number] + 1
            merged.append([*column, items[pairs[number]]])
        columns = merged + [[item] for item in items[waiting:]]
    return columns
