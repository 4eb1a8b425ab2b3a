"""Words written apart or together: a request, and what an index knows → the terms to look for, each with a weight.

"alarm clock" also finds alarmclock, "keychain" key and chain, and a word that nothing kept has is looked for as the beginning
or the end of longer ones: phone in cellphone. All on the side of the query, so nothing stored depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from tacit.text.words import STOP_WORDS, stem, terms

Count = Callable[[Sequence[str]], Mapping[str, int]]
"""Terms → in how many rows each occurs; those that occur in none may be left out."""
Longer = Callable[[Sequence[str]], Mapping[str, int]]
"""Words → index terms that `holds` one of them, with their counts; the most common ones are enough."""

SHORTEST_PART = 3
"""Letters of the shortest part that a word is taken apart into."""
MAX_LONGER = 16
"""How many longer terms are taken at most for all strange words of a request."""

_USUAL = 1.0
_HALF = 0.5
_UNUSUAL = 0.25
_MAX_PAIRS = 400
_MAX_STRANGE = 8
_SHORTEST_STRANGER = 4

_LETTERS = re.compile(r"[^\W\d_]{2,}")


def expand(text: str, count: Count, *, longer: Longer | None = None) -> dict[str, float]:
    """Terms to look for and how much each counts. The terms of the text itself count 1, unless a compound stands for them."""
    pairs = joined(text)
    weights = dict.fromkeys(terms(text), 1.0)
    known = count([*weights, *pairs])
    spoken_for: set[str] = set()
    for compound, parts in pairs.items():
        if not known.get(compound) or compound in weights:
            continue
        if all(known[compound] >= known.get(part, 0) for part in parts):  # this is how they are usually written here
            weights[compound] = _USUAL
            weights.update((part, _HALF) for part in parts if part in weights)
            spoken_for |= parts
        else:
            weights[compound] = _UNUSUAL
    strange = [term for term in weights if _may_be_compound(term) and not known.get(term) and term not in spoken_for]
    for term, weight in _of_strangers(strange[:_MAX_STRANGE], count, longer):
        weights.setdefault(term, weight)
    return weights


def joined(text: str) -> dict[str, frozenset[str]]:
    """Each two neighbouring words written as one → the terms of the two. Unless it is the second, neither is a stop word."""
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


def holds(term: str, word: str) -> bool:
    """Whether a longer term begins or ends with a word, and the rest of it may be a word as well."""
    return len(term) - len(word) >= SHORTEST_PART and (term.startswith(word) or term.endswith(word))


def _of_strangers(strange: Sequence[str], count: Count, longer: Longer | None) -> Iterable[tuple[str, float]]:
    """What words stand for that the index does not know: two words that it knows, or else longer ones."""
    if not strange:
        return
    splits = {word: list(_splits(word)) for word in strange}
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
        yield from ((term, _HALF) for term in sorted(found, key=lambda term: (-found[term], term))[:MAX_LONGER])


def _splits(word: str) -> Iterable[tuple[str, str]]:
    for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        yield stem(word[:at]), stem(word[at:])


def _may_be_compound(term: str) -> bool:
    return len(term) >= _SHORTEST_STRANGER and term.isascii() and term.isalpha()
