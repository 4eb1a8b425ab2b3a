"""A task's text → weighted features (words and pairs of words); cues and features → how strongly a skill is called for.

Learning and recall both stand on these, so that a cue means the same to both. Identifiers and numbers are left out: they
differ from task to task. A feature's value falls with the length of the text, so that long tasks do not call for everything.
What a cue weighs is learned elsewhere; nothing here needs a table of a whole corpus.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from tacit.domain.skill import Cue
from tacit.text.words import terms

PAIR = 0.5
"""What a pair of words counts beside a word: pairs say more exactly what is meant, but are met more seldom."""
_TOKEN = re.compile(r"\S+")
_PARTICULAR = re.compile(r"[\d@]")
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+\b")
"""A word with a capital in the middle of a sentence names somebody or something; that is no sign for other tasks."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SHORT_FORM = re.compile(r"['’](?:s|t|d|m|ll|re|ve)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"(?<=[.?!])\s+|[;\n]+\s*|。")
_MAX_WORDS = 1000
_MAX_TEXT = 20_000
_HEAVIEST = 10.0
"""More than any fit gives; a heavier cue was written by hand to push the others aside."""
_LONG_NUMBER = 4
"""Digits from which on a number is likely to name something rather than to count it."""


def words_of(text: str) -> list[str]:
    """The words of a text in order, stemmed; without stop words, identifiers, names and numbers."""
    plain = _NAME.sub(" ", _SHORT_FORM.sub("", _TOKEN.sub(_without_particulars, text[:_MAX_TEXT])))
    return [piece for word in _LETTERS.findall(plain) for piece in _pieces(word)][:_MAX_WORDS]


def features(text: str) -> dict[str, float]:
    """The words and pairs of words (next to each other, or one apart) of a text, each with its value."""
    return _valued(words_of(text))


def strength(cues: Iterable[Cue], present: Mapping[str, float]) -> float:
    """How strongly features call for what the cues belong to: about 1 where it was always needed, 0 where never."""
    return sum(_weight(cue) * present.get(cue.term, 0.0) if cue.term else _weight(cue) for cue in cues)


def spoken(cues: Iterable[Cue], present: Mapping[str, float]) -> float:
    """How much of a strength the words themselves give: without what holds for any task."""
    return sum(_weight(cue) * present.get(cue.term, 0.0) for cue in cues if cue.term)


def place(cues: Iterable[Cue], text: str) -> float:
    """Where in the text the strongest cue for a skill stands, from 0 (its beginning) to 1; 1 where there is none."""
    words = words_of(text)
    present = _valued(words)
    weights = {cue.term: cue.weight * present[cue.term] for cue in cues if cue.term in present and cue.weight > 0}
    if not weights:
        return 1.0
    strongest = min(weights, key=lambda term: (-weights[term], term))
    return words.index(strongest.split()[0]) / len(words)


def clauses(text: str) -> list[str]:
    """The sentences of a text, and their parts where semicolons or lines part them."""
    return [clause for clause in _CLAUSE_END.split(text) if clause.strip()]


def identifiers(text: str) -> list[str]:
    """What a text names by a number of at least four digits, in order and without repeats: `#W1234`, `INC-00017`."""
    found = (word.strip(".,;:!?()[]{}'\"") for word in _TOKEN.findall(text[:_MAX_TEXT]) if _PARTICULAR.search(word))
    return list(dict.fromkeys(word for word in found if sum(map(str.isdigit, word)) >= _LONG_NUMBER))


def shape(identifier: str) -> str:
    """An identifier without its particular digits: two orders have one shape, an order and a postcode two."""
    return re.sub(r"\d", "0", identifier)


def _weight(cue: Cue) -> float:
    return max(-_HEAVIEST, min(_HEAVIEST, cue.weight)) if cue.weight == cue.weight else 0.0


def _without_particulars(token: re.Match[str]) -> str:
    return " " if _PARTICULAR.search(token[0]) else token[0]


def _valued(words: list[str]) -> dict[str, float]:
    found = dict.fromkeys(words, 1.0)
    for apart in (1, 2):
        for first, second in zip(words, words[apart:], strict=False):
            found.setdefault(f"{first} {second}", PAIR)
    size = sum(value * value for value in found.values())
    return {term: value / size**0.25 for term, value in found.items()}


@lru_cache(maxsize=8192)
def _pieces(word: str) -> tuple[str, ...]:
    """The terms of a word; an identifier such as `startEngine` gives its parts, not itself."""
    found = terms(word)
    return tuple(found[:-1] if len(found) > 1 and word.isascii() else found)
