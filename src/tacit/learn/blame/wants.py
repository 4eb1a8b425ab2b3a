"""What the person said in successful attempts and which effects followed → which effects words call for.

A naive Bayes model per effect over the words that tell most; pure counting, linear in the texts it is given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tacit.domain.trajectory import Role, Trajectory
from tacit.learn.blame.effects import Deeds
from tacit.text.words import term_set

_LEAST_RUNS = 3
"""Fewer successes with a word, or with an effect, say nothing about either."""
_TELLING_WORDS = 25
_MOST_WORDS = 4000
_MOST_EFFECTS = 64
_DEPENDENCE = 0.5
"""Words of one text say partly the same, so only half of their summed weight counts."""

_Text = tuple[frozenset[str], frozenset[str]]
"""The words of a run, and its effects."""


def said(trajectory: Trajectory) -> str:
    """All that the person said, the task first."""
    words = [step.text for step in trajectory.steps if step.role is Role.USER]
    return "\n".join(words if trajectory.task.text in words else [trajectory.task.text, *words])


class Wants:
    """Learned from successes: words → how likely each effect is needed."""

    def __init__(self, runs: Sequence[Deeds]) -> None:
        """Count words and effects of successful runs."""
        self._texts = {run.trajectory.id: _text(run) for run in runs}
        texts = list(self._texts.values())
        self._total = len(texts)
        words = Counter(word for words, _ in texts for word in sorted(words))
        self._words = {word: n for word, n in words.most_common(_MOST_WORDS) if n >= _LEAST_RUNS}
        effects = Counter(what for _, done in texts for what in sorted(done)).most_common(_MOST_EFFECTS)
        self._effects = {what: n for what, n in sorted(effects) if n >= _LEAST_RUNS}
        self._inside = {what: self._telling(what, texts) for what in self._effects}

    def likely(self, text: str, *, without: Sequence[Deeds] = ()) -> Mapping[str, float]:
        """Each effect with the probability that a task with these words needs it; as if some runs had not been seen."""
        words = term_set(text)
        gone = [self._texts[run.trajectory.id] for run in without if run.trajectory.id in self._texts]
        total = self._total - len(gone)
        likely: dict[str, float] = {}
        for what, inside in self._inside.items():
            less = [seen for seen, done in gone if what in done]
            count = self._effects[what] - len(less)
            logit = math.log((count + 1) / (total - count + 1))
            for word in (word for word in inside if word in words):
                here = inside[word] - sum(word in seen for seen in less)
                seen_in = self._words[word] - sum(word in seen for seen, _ in gone)
                logit += _DEPENDENCE * _weight(here, seen_in, count=count, total=total)
            likely[what] = 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
        return likely

    def _telling(self, what: str, texts: Sequence[_Text]) -> dict[str, int]:
        """The words that tell most for or against an effect, with the number of its runs that have them."""
        inside = Counter(word for words, done in texts if what in done for word in words)
        count = self._effects[what]
        strength = {
            word: abs(_weight(inside[word], n, count=count, total=self._total)) * math.sqrt(n)
            for word, n in self._words.items()
        }
        order = sorted(strength, key=lambda word: (-strength[word], word))
        return {word: inside[word] for word in order[:_TELLING_WORDS]}


def _text(run: Deeds) -> _Text:
    return term_set(said(run.trajectory)), frozenset(deed.what for deed in run.worked)


def _weight(inside: int, everywhere: int, *, count: int, total: int) -> float:
    """How much a word speaks for an effect: the logarithm of how much more often it stands where the effect is."""
    return math.log((inside + 0.5) / (count + 1)) - math.log((everywhere - inside + 0.5) / (total - count + 1))
