"""Learns, per skill, the task words that speak for and against it, from successful runs.

Ridge regression on the features of `text.cues`, towards initial weights of the words of the skill's name: with little evidence
the name decides, with much the evidence does. Texts of common words count less, so that a frequent task does not dominate.
The strongest cues are kept.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.skill import Cue
from tacit.text.cues import features, words_of

MAX_CUES = 40
"""Cues kept per skill, including the bias. Larger: larger skills. `score_retail` and `score_bfcl` watch these numbers."""
_RIDGE = 1.0
"""The regularisation: larger, and it takes more evidence to move a weight away from its initial value."""
_NAMED = 0.5
"""The initial weight of a word of a skill's name, if no other name contains it. 0: names say nothing."""
_MOST_ROUNDS, _LEAST_ROUNDS, _VISITS = 12, 3, 10_000
"""Passes over all samples: fewer for more samples, which repeat each other."""
_ENOUGH = 0.025
"""Smaller errors are ignored. Larger: faster and less exact."""
_RARE = 0.001
"""Terms in a smaller share of the texts are no cues."""


@dataclass(frozen=True, slots=True)
class _Sample:
    features: Mapping[str, float]
    used: frozenset[int]
    """The skills that were used, by number."""
    weight: float


def learn_cues(
    samples: Sequence[tuple[str, Sequence[str]]], *, called: Mapping[str, str] | None = None
) -> dict[str, tuple[Cue, ...]]:
    """Learn the cues of every skill in the samples: (task text, names of the skills used, in order).

    A run without any of the skills is a sample too, with no names. `called` gives the initial words of a skill, such as its
    tools; the default is its name.
    """
    names = sorted({name for _, used in samples for name in used})
    if not names:
        return {}
    rows = _weighted_samples(samples, {name: at for at, name in enumerate(names)})
    total = sum(row.weight for row in rows)
    usual = [sum(row.weight for row in rows if at in row.used) / total for at in range(len(names))]
    prior = _prior([(called or {}).get(name, name) for name in names])
    learned = _fit(rows, bias=usual, initial=prior)
    return {name: _cues(learned[at], usual=usual[at]) for at, name in enumerate(names)}


def _weighted_samples(samples: Sequence[tuple[str, Sequence[str]]], index: Mapping[str, int]) -> list[_Sample]:
    """Return the samples as features; the more other texts share a text's words, the less it weighs.

    Rare terms and word pairs of a single text are left out.
    """
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
    """Return the words of each skill's name, weighted less if other skills share them."""
    words = [tuple(dict.fromkeys(words_of(name))) for name in called]
    sharing = Counter(word for each in words for word in each)
    most = math.log1p(len(called))
    return [{word: _NAMED * math.log1p(len(called) / sharing[word]) / most for word in each} for each in words]


def _fit(
    samples: Sequence[_Sample], *, bias: Sequence[float], initial: Sequence[Mapping[str, float]]
) -> list[dict[str, float]]:
    """Fit all weights of all skills by dual coordinate descent in a fixed order."""
    weights: dict[str, dict[int, float]] = defaultdict(dict)
    for skill, words in enumerate(initial):
        for word, weight in words.items():
            weights[word][skill] = weight
    duals: list[dict[int, float]] = [{} for _ in samples]
    for _ in range(min(_MOST_ROUNDS, max(_LEAST_ROUNDS, _VISITS // len(samples)))):
        largest_error = 0.0
        for sample, dual in zip(samples, duals, strict=True):
            ridge = _RIDGE / sample.weight
            norm = sum(value * value for value in sample.features.values()) + ridge
            predicted = list(bias)
            for term, value in sample.features.items():
                for skill, weight in weights.get(term, {}).items():
                    predicted[skill] += weight * value
            for skill, prediction in enumerate(predicted):
                error = (skill in sample.used) - prediction - ridge * dual.get(skill, 0.0)
                if abs(error) < _ENOUGH:
                    continue
                largest_error = max(largest_error, abs(error))
                change = error / norm
                dual[skill] = dual.get(skill, 0.0) + change
                for term, value in sample.features.items():
                    weights[term][skill] = weights[term].get(skill, 0.0) + change * value
        if not largest_error:
            break
    return [
        {term: by_skill[skill] for term, by_skill in weights.items() if skill in by_skill} for skill in range(len(bias))
    ]


def _cues(weights: Mapping[str, float], *, usual: float) -> tuple[Cue, ...]:
    """Return the bias and the strongest weights of one skill, the strongest first."""
    rounded = {term: round(weight, 2) for term, weight in weights.items()}
    strongest = sorted((term for term in rounded if rounded[term]), key=lambda term: (-abs(rounded[term]), term))
    return Cue(term="", weight=round(usual, 2)), *(
        Cue(term=term, weight=rounded[term]) for term in strongest[: MAX_CUES - 1]
    )
