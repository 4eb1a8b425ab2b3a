"""Index terms of a text in any language, query expansion for compounds, and an estimate of tokens.

The full-text index, queries and similarity measures use the same terms. Identifiers are kept whole and also split
(``makeMigration``, ``make_migration`` → make, migration). Scripts without blanks (Chinese, Japanese, Korean, Thai) become
overlapping pairs of characters. "alarm clock" also finds alarmclock, and "keychain" key and chain; this happens in the
query only, so nothing stored depends on it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it its just me my "
    "no not of on or our please should so some than that the their them then there these they this to up us use used using "
    "was we were what when where which while who will with would you your".split()
)

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0971-\u0df3\u0e00-\u0e4e\u0e80-\u0ece\u0f71-\u0fbc"
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u1dc0-\u1dff\u3099\u309a\ua8e0-\ua8ff"
)
"""Accents and vowel signs: part of a word, but not letters for regular expressions."""
_PIECE = rf"(?:[^\W_]++|[{_MARKS}]++)++"
_WORD = rf"{_PIECE}(?:[_'’.\-]{_PIECE})*"
_ASCII_PIECE = re.compile(r"[A-Za-z0-9]++")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]++(?:[_'.\-][A-Za-z0-9]++)*")
"""The same for ASCII text, twice as fast; the other patterns are compiled on first use."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0002fa1f]+"
_MAX_TERM = 64
_SHORT_TEXT = 500
BYTES_PER_TOKEN = 4
TOKENS_MAX = 10**9
"""More tokens than any single text has."""


def terms(text: str, *, keep_stop_words: bool = False) -> list[str]:
    """Split text into normalised terms, in order, with repeats."""
    found: list[str] = []
    words = _ASCII_WORD.findall(text) if text.isascii() else re.findall(_WORD, unicodedata.normalize("NFKC", text))
    for word in words:
        found.extend(_usual(word) if len(word) <= _MAX_TERM else _terms_of(word))
    return [term for term in found if term and (keep_stop_words or term not in STOP_WORDS)]


def query_terms(text: str) -> list[str]:
    """Return the terms of a query, without the remains of contractions ("Peter's", "don't")."""
    return terms(re.sub(r"(?<=[A-Za-z])['’](?:s|t|d|m|ll|re|ve)\b", " ", text))


def term_set(text: str) -> frozenset[str]:
    """Return the distinct terms of a text, without stop words."""
    return _short_term_set(text) if len(text) <= _SHORT_TEXT else _long_term_set(text)


@lru_cache(maxsize=4096)
def _short_term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))  # sentences are compared with each other again and again


@lru_cache(maxsize=128)
def _long_term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))  # a new skill is compared with each of its neighbours


def estimate_tokens(text: str) -> int:
    """Estimate the model tokens of a text; non-ASCII letters count more, scripts without blanks most."""
    if text.isascii():
        return -(-len(text) // BYTES_PER_TOKEN)
    rest, unspaced = re.sub(_UNSPACED, "", text), sum(len(run) for run in re.findall(_UNSPACED, text))
    return unspaced + -(-len(rest.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def credible_tokens(reported: object, *, otherwise: int) -> int:
    """Return a reported number of tokens, or `otherwise` if it is not credible."""
    if isinstance(reported, int) and not isinstance(reported, bool) and 0 <= reported < TOKENS_MAX:
        return reported
    return otherwise


def stem(word: str) -> str:
    """Strip common English endings until none is left; crude, but the same for index and query."""
    while len(word) >= 4 and word.isascii() and word.isalpha():
        shorter = word
        for ending, replacement, minimum in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= minimum:
                shorter = word[: -len(ending)] + replacement
                if len(shorter) > 3 and shorter[-1] == shorter[-2] and shorter[-1] not in "aeiouls":
                    shorter = shorter[:-1]
                shorter = shorter[:-1] if shorter.endswith("e") and len(shorter) > 4 else shorter
                break
        if shorter == word:
            break
        word = shorter
    return word


_ENDINGS = (
    ("ations", "ate", 3), ("ation", "ate", 3), ("ments", "ment", 3), ("ingly", "", 3), ("iness", "y", 3), ("ies", "y", 2),
    ("ions", "", 3), ("sses", "ss", 1), ("ing", "", 3), ("ion", "", 4), ("ers", "er", 3), ("ed", "", 3), ("es", "", 3),
    ("ss", "ss", 1), ("us", "us", 1), ("s", "", 3), ("e", "", 3),
)  # fmt: skip


@lru_cache(maxsize=32_768)
def _usual(word: str) -> tuple[str, ...]:
    """Return the terms of a word of usual length, cached."""
    return tuple(_terms_of(word))


def _terms_of(word: str) -> Iterable[str]:
    parts = _ASCII_PIECE.findall(word) if word.isascii() else re.findall(_PIECE, word)
    pieces = [piece for part in parts for piece in _CAMEL.split(part) if piece]
    for piece in pieces:
        yield from _normal(piece)
    if len(pieces) > 1 and (word.isascii() or not re.search(_UNSPACED, word)):
        yield _word("".join(pieces).casefold())


def _normal(piece: str) -> Iterable[str]:
    folded = piece.casefold()
    if folded.isascii():
        yield _word(folded)
        return
    rest = 0
    for run in re.finditer(_UNSPACED, folded):
        if run.start() > rest:
            yield _word(folded[rest : run.start()])
        characters = run.group()
        yield from (characters[i : i + 2] for i in range(max(1, len(characters) - 1)))
        rest = run.end()
    if rest < len(folded):
        yield _word(folded[rest:])


def _word(folded: str) -> str:
    """Return a word as it is indexed: without accents, cut to length, stemmed."""
    if not folded.isascii():  # the vowel signs of Indic and similar scripts stay
        decomposed = unicodedata.normalize("NFD", folded)
        kept = "".join(c for c in decomposed if c >= "\u0900" or unicodedata.category(c) != "Mn")
        folded = unicodedata.normalize("NFC", kept)
    word = folded[:_MAX_TERM]
    return word if word in STOP_WORDS else stem(word)


CountTerms = Callable[[Sequence[str]], Mapping[str, int]]
"""Returns in how many rows each term occurs; terms without rows may be left out."""
FindLonger = Callable[[Sequence[str]], Mapping[str, int]]
"""Returns the most common index terms of which a word is a part (`is_part_of_compound`), with their counts."""

SHORTEST_PART = 3
"""Letters of the shortest part of a compound."""
LONGER_TERMS_MAX = 16
"""Longer terms that are added for all unknown words of a query."""

_USUAL = 1.0
_HALF = 0.5
_UNUSUAL = 0.25
"""Weights of a compound and its parts: full for the spelling that is usual here, half for the other, a quarter for a compound
that is rarer than its parts. Without compounds NDCG on past attempts falls from 0.65 to 0.49 (docs/lab.md)."""
_MAX_PAIRS = 400
_MAX_STRANGE = 8
_SHORTEST_STRANGER = 4
"""Bounds of the time: pairs of words, and words without a match that are taken apart; a shorter one is an abbreviation."""

_LETTERS = re.compile(r"[^\W\d_]{2,}")


def expand_query(text: str, count: CountTerms, *, longer: FindLonger | None = None) -> dict[str, float]:
    """Return the terms to search for with their weights. Terms of the text count 1, unless a compound replaces them."""
    pairs = joined_words(text)
    weights = dict.fromkeys(terms(text), 1.0)
    known = count([*weights, *pairs])
    spoken_for: set[str] = set()
    for compound, parts in pairs.items():
        if not known.get(compound) or compound in weights:
            continue
        if all(known[compound] >= known.get(part, 0) for part in parts):  # this is the usual spelling here
            weights[compound] = _USUAL
            weights.update((part, _HALF) for part in parts if part in weights)
            spoken_for |= parts
        else:
            weights[compound] = _UNUSUAL
    unknown = [term for term in weights if not known.get(term) and term not in spoken_for]
    strange = [term for term in unknown if len(term) >= _SHORTEST_STRANGER and term.isascii() and term.isalpha()]
    for term, weight in _substitutes(strange[:_MAX_STRANGE], count, longer):
        weights.setdefault(term, weight)
    return weights


def joined_words(text: str) -> dict[str, frozenset[str]]:
    """Return adjacent words joined into one → the terms of both; the first is no stop word."""
    found: dict[str, frozenset[str]] = {}
    words = list(_LETTERS.finditer(text))[: _MAX_PAIRS + 1]
    for left, right in pairwise(words):
        first, second = left[0].casefold(), right[0].casefold()
        if first in STOP_WORDS or not text[left.end() : right.start()].isspace():
            continue
        compound = terms(first + second)
        if len(compound) == 1:
            found[compound[0]] = frozenset(terms(f"{first} {second}"))
    return found


def is_part_of_compound(term: str, word: str) -> bool:
    """Whether a longer term begins or ends with a word, and the rest of it may be a word as well."""
    return len(term) - len(word) >= SHORTEST_PART and (term.startswith(word) or term.endswith(word))


def _substitutes(strange: Sequence[str], count: CountTerms, longer: FindLonger | None) -> Iterable[tuple[str, float]]:
    """Yield replacements for words that the index does not have: two known words, or else longer terms."""
    if not strange:
        return
    splits = {
        word: [(stem(word[:at]), stem(word[at:])) for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)]
        for word in strange
    }
    known = count([half for pairs in splits.values() for pair in pairs for half in pair])
    whole = []
    for word, pairs in splits.items():
        best = max(pairs, key=lambda pair: min(known.get(half, 0) for half in pair), default=())
        if best and all(known.get(half) for half in best):
            yield from ((half, _HALF) for half in best)
        else:
            whole.append(word)
    if longer is not None and whole:
        found = longer(whole)
        yield from ((term, _HALF) for term in sorted(found, key=lambda term: (-found[term], term))[:LONGER_TERMS_MAX])
