"""Text → index terms, for any language and any punctuation; and an estimate of tokens.

The same terms feed the full-text index, the query and the similarity measures, so what is stored and what is asked
always meet. Identifiers are kept whole and also split (``makeMigration``, ``make_migration`` → make, migration).
Scripts without blanks (Chinese, Japanese, Korean, Thai) become overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it its just me my "
    "no not of on or our please should so some than that the their them then there these they this to up us use used using "
    "was we were what when where which while who will with would you your".split()
)

_WORD = re.compile(r"[^\W_]+(?:[_'’.\-][^\W_]+)*", re.UNICODE)
_PIECE = re.compile(r"[^\W_]+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0002fa1f]+"
)
_MAX_TERM = 64
CHARACTERS_PER_TOKEN = 4


def terms(text: str, *, keep_stop_words: bool = False) -> list[str]:
    """Split text into normalised terms, in order, with repeats."""
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text)):
        found.extend(_terms_of(match.group()))
    return found if keep_stop_words else [term for term in found if term not in STOP_WORDS]


def term_set(text: str) -> frozenset[str]:
    """The distinct terms of a text, without stop words."""
    return frozenset(terms(text))


def estimate_tokens(text: str) -> int:
    """Estimate how many model tokens a text takes; errs on the high side for scripts without blanks."""
    unspaced = sum(len(run) for run in _UNSPACED.findall(text))
    return unspaced + -(-(len(text) - unspaced) // CHARACTERS_PER_TOKEN)


def stem(word: str) -> str:
    """Strip common English endings; crude, but the same for index and query."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending, replacement, minimum in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= minimum:
            return _undouble(word[: -len(ending)] + replacement)
    return word


_ENDINGS = (
    ("ations", "ate", 3), ("ation", "ate", 3), ("ments", "ment", 3), ("ingly", "", 3), ("iness", "y", 3), ("ies", "y", 2),
    ("ions", "", 3), ("sses", "ss", 1), ("ing", "", 3), ("ion", "", 4), ("ers", "er", 3), ("ed", "", 3), ("es", "", 3),
    ("ss", "ss", 1), ("us", "us", 1), ("s", "", 3), ("e", "", 3),
)  # fmt: skip


def _undouble(word: str) -> str:
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _terms_of(word: str) -> Iterable[str]:
    pieces = [piece for part in _PIECE.findall(word) for piece in _CAMEL.split(part) if piece]
    for piece in pieces:
        yield from _normal(piece)
    if len(pieces) > 1:
        whole = "".join(pieces).casefold()
        if not _UNSPACED.search(whole):
            yield whole[:_MAX_TERM]


def _normal(piece: str) -> Iterable[str]:
    folded = piece.casefold()
    rest = 0
    for run in _UNSPACED.finditer(folded):
        if run.start() > rest:
            yield folded[rest : run.start()][:_MAX_TERM]
        characters = run.group()
        yield from (characters[i : i + 2] for i in range(max(1, len(characters) - 1)))
        rest = run.end()
    if rest < len(folded):
        word = _strip_marks(folded[rest:])[:_MAX_TERM]
        yield word if word in STOP_WORDS else stem(word)


def _strip_marks(word: str) -> str:
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if unicodedata.category(c) != "Mn"))
