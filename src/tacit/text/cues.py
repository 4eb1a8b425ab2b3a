"""Features of a task's text (words and pairs of words), and how strongly cues with these features indicate a skill.

Learning and recall both use them, so that a cue means the same to both. Identifiers and numbers are left out, since they
differ from task to task. A feature counts less in a long text, so that long tasks do not match everything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

from tacit.domain.skill import Cue
from tacit.text.words import terms

PAIR = 0.5
"""Weight of a pair of words relative to a word: pairs are more exact but rarer."""
_TOKEN = re.compile(r"\S+")
_PARTICULAR = re.compile(r"[\d@]")
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+\b")
"""A capitalised word within a sentence is a name, which does not indicate other tasks."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SHORT_FORM = re.compile(r"['’](?:s|t|d|m|ll|re|ve)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"(?<=[.?!])\s+|[;\n]+\s*|。")
_COUNTS = dict(
    zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13), strict=True), both=2
)
_COUNT = re.compile(rf"\b(?:{'|'.join(_COUNTS)}|[2-9]|1\d)\b(?![.:/%-])", re.IGNORECASE)
_LIST_SEPARATOR = re.compile(r",? and |, ")
_NAME_LIST = re.compile(r"\b[A-Z]\w+(?:, [A-Z]\w+)*,? and [A-Z]\w+")
_MAX_WORDS = 1000
_MAX_TEXT = 20_000
_HEAVIEST = 10.0
"""The largest weight that counts; learned weights are smaller."""
_LONG_NUMBER = 4
"""A number of so many digits is probably an identifier, not a count."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, stemmed, without stop words, identifiers, names and numbers."""
    common = _TOKEN.sub(lambda token: " " if _PARTICULAR.search(token[0]) else token[0], text[:_MAX_TEXT])
    plain = _NAME.sub(" ", _SHORT_FORM.sub("", common))
    return [piece for word in _LETTERS.findall(plain) for piece in _pieces(word)][:_MAX_WORDS]


def features(text: str) -> dict[str, float]:
    """Return the words and pairs of words (adjacent or one apart) of a text, each with its value."""
    return _valued(words_of(text))


def strength(cues: Iterable[Cue], present: Mapping[str, float]) -> float:
    """Return how strongly features match cues: about 1 where the skill was always needed, 0 where never."""
    return sum(_weight(cue) * present.get(cue.term, 0.0) if cue.term else _weight(cue) for cue in cues)


def spoken(cues: Iterable[Cue], present: Mapping[str, float]) -> float:
    """Return the part of the strength that comes from the words, without the bias."""
    return sum(_weight(cue) * present.get(cue.term, 0.0) for cue in cues if cue.term)


def first_mention(cues: Iterable[Cue], text: str) -> float:
    """Return the position of the strongest cue in a text, from 0 (beginning) to 1; 1 if there is none."""
    words = words_of(text)
    present = _valued(words)
    weights = {cue.term: cue.weight * present[cue.term] for cue in cues if cue.term in present and cue.weight > 0}
    if not weights:
        return 1.0
    strongest = min(weights, key=lambda term: (-weights[term], term))
    return words.index(strongest.split()[0]) / len(words)


def clauses(text: str) -> list[str]:
    """Split a text into sentences, also at semicolons and line ends."""
    return list(filter(str.strip, _CLAUSE_END.split(text)))


def identifiers(text: str) -> list[str]:
    """Return identifiers with at least four digits, in order, without repeats: `#W1234`, `INC-00017`."""
    found = (word.strip(".,;:!?()[]{}'\"") for word in _TOKEN.findall(text[:_MAX_TEXT]) if _PARTICULAR.search(word))
    return list(dict.fromkeys(word for word in found if sum(map(str.isdigit, word)) >= _LONG_NUMBER))


def count_of(clause: str) -> int:
    """Return how many things a clause names: a number in words or digits, a list of names, identifiers of one shape; else 1."""
    counted = [int(word) if word.isdigit() else _COUNTS[word.lower()] for word in _COUNT.findall(clause)]
    listed = [1 + len(_LIST_SEPARATOR.findall(names[0])) for names in _NAME_LIST.finditer(clause)]
    shapes = Counter(map(shape, identifiers(clause)))
    return max([*counted, *listed, *shapes.values()], default=1)


def shape(identifier: str) -> str:
    """Return the shape of an identifier: two orders have the same shape, an order and a postcode do not."""
    return re.sub(r"\d", "0", identifier)


def _weight(cue: Cue) -> float:
    return max(-_HEAVIEST, min(_HEAVIEST, cue.weight)) if cue.weight == cue.weight else 0.0


def _valued(words: list[str]) -> dict[str, float]:
    found = dict.fromkeys(words, 1.0)
    for apart in (1, 2):
        for first, second in zip(words, words[apart:], strict=False):
            found.setdefault(f"{first} {second}", PAIR)
    size = sum(value * value for value in found.values())
    return {term: value / size**0.25 for term, value in found.items()}


@lru_cache(maxsize=8192)
def _pieces(word: str) -> tuple[str, ...]:
    """Return the terms of a word; for an identifier such as `startEngine` only its parts."""
    found = terms(word)
    return tuple(found[:-1] if len(found) > 1 and word.isascii() else found)


_MEANINGS = {
    "auth": "authenticate",
    "calc": "calculate",
    "cat": "contents, concatenate",
    "cd": "change directory, change folder, go directory, go folder",
    "cfg": "configuration, configure",
    "chmod": "permissions",
    "chown": "owner",
    "cmp": "compare",
    "cp": "copy, duplicate",
    "del": "delete",
    "df": "disk space",
    "diff": "difference, compare",
    "dir": "directory, folder",
    "du": "disk usage, size",
    "grep": "search, pattern",
    "img": "image",
    "info": "information",
    "ln": "link",
    "ls": "list",
    "mkdir": "make directory, make folder, create directory, create folder, new directory, new folder",
    "msg": "message",
    "mv": "move, rename",
    "ps": "processes",
    "pwd": "current directory, current folder, working directory",
    "rm": "remove, delete",
    "rmdir": "remove directory, remove folder, delete directory, delete folder",
    "wc": "count",
}


def means_any(word: str, words: AbstractSet[str]) -> bool:
    """Whether `words` (as `words_of` returns them) contain a word, or all words of something it stands for."""
    return word in words or any(meant <= words for meant in _meanings(word))


@cache
def _meanings(word: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words_of(each)) for each in _MEANINGS.get(word, "").split(", ") if each)
