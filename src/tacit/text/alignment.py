"""Aligns sequences: the pairs in order with the greatest total score, and columns over several sequences.

Generic over what is aligned: callers pass a score per pair, or a similarity function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

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
    for i in rest:
        columns = _joined(columns, sequences[i], pair(columns, sequences[i])[1])
    return columns


def _joined(columns: Sequence[list[T]], items: Sequence[T], pairs: Mapping[int, int]) -> list[list[T]]:
    """Add one sequence to the columns: paired items join a column, the others get a column of their own."""
    merged: list[list[T]] = []
    waiting = 0
    for number, column in enumerate(columns):
        if number not in pairs:
            merged.append(column)
            continue
        merged += [[item] for item in items[waiting : pairs[number]]]
        waiting = pairs[number] + 1
        merged.append([*column, items[pairs[number]]])
    return merged + [[item] for item in items[waiting:]]
