"""Tasks with the skills that successful runs of them used → per skill the words that speak for and against it.

Least squares on the features of `text.cues`, drawn not towards nothing but towards the words of the skill's own name: with
little evidence the name speaks, with much the evidence does. Texts made of words that many tasks share teach less than
others, so that one task run often does not outvote the rest. The strongest cues are kept and fitted once more by themselves.
It does not choose skills for a task (`recall.plan`), and knows nothing of failures: only what worked is to be passed in.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.skill import Cue
from tacit.text.cues import features, words_of

MAX_CUES = 40
"""Cues kept per skill, the bias among them."""
_CAUTION = 1.0
"""How much evidence it takes to move a weight away from where the name put it."""
_NAMED = 0.5
"""What a word of a skill's name weighs before any evidence, if no other skill's name has it."""
_MOST_ROUNDS, _LEAST_ROUNDS, _VISITS = 12, 3, 10_000
"""How often all samples are gone through: the more there are, the fewer rounds, since they then say the same again."""
_ENOUGH = 0.025
"""An error smaller than this is not worked on."""
_RARE = 0.001
"""Share of the texts below which a term is too rare to be a cue."""


@dataclass(frozen=True, slots=True)
class _Sample:
    values: Mapping[str, float]
    used: frozenset[int]
    weight: float


def learn_cues(
    samples: Sequence[tuple[str, Sequence[str]]], *, called: Mapping[str, str] | None = None
) -> dict[str, tuple[Cue, ...]]:
    """Learn the cues of every skill named in the samples: (task text, names of the skills used, in order).

    A run that needed none of the skills belongs to the samples too, with no names. `called` gives the words a skill
    starts from, such as the names of its tools; without it the skill's own name is taken.
    """
    names = sorted({name for _, used in samples for name in used})
    if not names:
        return {}
    rows = _rows(samples, {name: at for at, name in enumerate(names)})
    total = sum(row.weight for row in rows)
    usual = [sum(row.weight for row in rows if at in row.used) / total for at in range(len(names))]
    prior = _prior([(called or {}).get(name, name) for name in names])
    learned = _fit(rows, usual, prior)
    return {name: _cues(rows, at, usual=usual[at], weights=learned[at]) for at, name in enumerate(names)}


def _rows(samples: Sequence[tuple[str, Sequence[str]]], index: Mapping[str, int]) -> list[_Sample]:
    """The samples as features, weighing as much as is new in them. A pair of words met once says no more than its words."""
    found = [features(text) for text, _ in samples]
    seen = Counter(term for values in found for term in values)
    least = _RARE * len(samples)
    kept_terms = {term for term, count in seen.items() if count >= least and (count > 1 or " " not in term)}
    rows = []
    for values, (_, used) in zip(found, samples, strict=True):
        kept = {term: value for term, value in values.items() if term in kept_terms}
        weight = sum(1 / seen[term] for term in values) / len(values) if values else 1.0
        rows.append(_Sample(kept, frozenset(index[name] for name in used), weight))
    return rows


def _prior(called: Sequence[str]) -> list[dict[str, float]]:
    """The words of each skill's name, weighing less the more of the other skills share them."""
    words = [tuple(dict.fromkeys(words_of(name))) for name in called]
    sharing = Counter(word for each in words for word in each)
    most = math.log1p(len(called))
    return [{word: _NAMED * math.log1p(len(called) / sharing[word]) / most for word in each} for each in words]


def _fit(
    rows: Sequence[_Sample], usual: Sequence[float], prior: Sequence[Mapping[str, float]]
) -> list[dict[str, float]]:
    """All weights of all skills at once, by dual coordinate steps in a fixed order: one row after the other."""
    weights: dict[str, dict[int, float]] = defaultdict(dict)
    for at, named in enumerate(prior):
        for word, value in named.items():
            weights[word][at] = value
    paid: list[dict[int, float]] = [{} for _ in rows]
    for _ in range(min(_MOST_ROUNDS, max(_LEAST_ROUNDS, _VISITS // len(rows)))):
        worst = 0.0
        for row, mine in zip(rows, paid, strict=True):
            caution = _CAUTION / row.weight
            size = sum(value * value for value in row.values.values()) + caution
            reached = list(usual)
            for term, value in row.values.items():
                for at, weight in weights.get(term, {}).items():
                    reached[at] += weight * value
            for at, value in enumerate(reached):
                error = (at in row.used) - value - caution * mine.get(at, 0.0)
                if abs(error) < _ENOUGH:
                    continue
                worst = max(worst, abs(error))
                change = error / size
                mine[at] = mine.get(at, 0.0) + change
                for term, part in row.values.items():
                    known = weights[term]
                    known[at] = known.get(at, 0.0) + change * part
        if not worst:
            break
    learned: list[dict[str, float]] = [{} for _ in usual]
    for term, known in weights.items():
        for at, weight in known.items():
            learned[at][term] = weight
    return learned


def _cues(rows: Sequence[_Sample], at: int, *, usual: float, weights: Mapping[str, float]) -> tuple[Cue, ...]:
    """The strongest weights of one skill, fitted once more without the others."""
    kept = sorted(weights, key=lambda term: (-abs(weights[term]), term))[: MAX_CUES - 1]
    column = {term: number for number, term in enumerate(kept)}
    squares = [[_CAUTION * (i == j) for j in range(len(kept))] for i in range(len(kept))]
    missing = [0.0] * len(kept)
    for row in rows:
        here = [(column[term], value) for term, value in row.values.items() if term in column]
        error = (at in row.used) - usual - sum(weights[kept[i]] * value for i, value in here)
        for i, value in here:
            missing[i] += row.weight * value * error
            for j, other in here:
                squares[i][j] += row.weight * value * other
    steps = _solved(squares, missing)
    final = {term: round(weights[term] + step, 2) for term, step in zip(kept, steps, strict=True)}
    strongest = sorted((term for term in final if final[term]), key=lambda term: (-abs(final[term]), term))
    return Cue(term="", weight=round(usual, 2)), *(Cue(term=term, weight=final[term]) for term in strongest)


def _solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """Solve a symmetric positive definite system; the diagonal makes it one, so no pivoting is needed."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i, lead in enumerate(rows):
        for line in rows[i + 1 :]:
            if factor := line[i] / lead[i]:
                for j in range(i, size + 1):
                    line[j] -= factor * lead[j]
    found = [0.0] * size
    for i in range(size - 1, -1, -1):
        known = sum(rows[i][j] * found[j] for j in range(i + 1, size))
        found[i] = (rows[i][size] - known) / rows[i][i]
    return found
