"""Signals and their fusion: how well does a version fit, and how well has it served? Pure, and quick to load.

Relevance is the share of the query's information (rare words weigh more) found in the skill, and of the skill's subject
found in the query. It decides whether anything is said at all; reliability and recency only order what is relevant.
An error is met by its signature: the same one, or one that shares most of its telling words.
"""

from __future__ import annotations

import math
import re

from tacit.text.words import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

CANDIDATE_HITS = 20
"""How many hits are weighed for one query."""
WEIGHTS = {"relevance": 0.3, "match": 0.3, "reliability": 0.3, "recency": 0.1}
"""`match` is the full-text score beside the best hit's; it orders better than relevance, but cannot say when to be silent."""
SUBJECT_SHARE, QUERY_SHARE = 0.35, 0.65
BODY_WEIGHT = 0.6
"""A word found only in the body says less than one in name or description."""
MAX_QUERY_TERMS = 24
"""Long requests are judged by their rarest words."""
HALF_LIFE_DAYS = 90.0
RECENCY_FLOOR = 0.1
NEAR_ERROR = 0.5
"""Two errors are near if they share at least this part of what both say."""

UNKNOWN_WORD, UNKNOWN_VALUE = 0.6, 0.25
"""A word that no skill contains is a doubt; a value that none contains (a name, a number, a quotation) is hardly one."""

_QUOTED = re.compile(
    r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|'[^'\n]{2,80}'|[“«][^”»\n]{1,80}[”»]|(?<!\S)[^\s\d_#/@]*+[\d_#/@]\S*+"
)
_MASK = re.compile(r"<[a-z]+>")
_SECONDS_PER_DAY = 86_400


class Rarity:
    """How telling each term is, from the number of stored versions that contain it.

    `values` are the terms of the query that stand for values rather than words.
    """

    __slots__ = ("_known", "documents", "frequency", "values")

    def __init__(self, *, frequency: Mapping[str, int], documents: int, values: AbstractSet[str] = frozenset()) -> None:
        self.frequency = frequency
        self.documents = documents
        self.values = values
        self._known: dict[str, float] = {}

    @classmethod
    def for_query(cls, text: str, frequency: Mapping[str, int], documents: int) -> Rarity:
        """Tell words and values of a query apart: what is quoted, or holds a digit or a sign, is a value."""
        values = frozenset(term for quoted in _QUOTED.findall(text) for term in terms(quoted))
        return cls(frequency=frequency, documents=documents, values=values)

    def of(self, term: str) -> float:
        """Inverse document frequency, less for what no skill contains at all."""
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = self._of(term)
        return found

    def total(self, some: Iterable[str]) -> float:
        """What several terms tell together; the same in whatever order they come."""
        return math.fsum(map(self.of, some))

    def _of(self, term: str) -> float:
        seen = self.frequency.get(term, 0)
        idf = math.log(1 + (self.documents - seen + 0.5) / (seen + 0.5))
        if seen:
            return idf
        return idf * (UNKNOWN_VALUE if term in self.values else UNKNOWN_WORD)


class Asked:
    """A query's terms, the most telling of them, and how telling each is."""

    __slots__ = ("rarity", "telling", "terms")

    def __init__(self, asked: Iterable[str], rarity: Rarity) -> None:
        self.terms = frozenset(asked)
        self.rarity = rarity
        self.telling = sorted(self.terms, key=lambda term: (-rarity.of(term), term))[:MAX_QUERY_TERMS]


class Said:
    """The terms of a skill: of its name, its subject (name, description, tags, signature), its example queries, the rest."""

    __slots__ = ("examples", "name", "rest", "subject")

    def __init__(
        self,
        name: Iterable[str],
        subject: Iterable[str],
        *,
        examples: Iterable[Iterable[str]] = (),
        rest: Iterable[str] = (),
    ) -> None:
        self.name = frozenset(name)
        self.subject = self.name.union(subject)
        self.examples = [frozenset(example) for example in examples]
        self.rest = frozenset(rest).union(*self.examples)


def relevance(asked: Asked, said: Said) -> tuple[float, list[str]]:
    """How well the words meet, from 0 to 1, and the most telling shared words."""
    if not asked.telling:
        return 0.0, []
    of, subject, rest = asked.rarity.of, said.subject, said.rest
    found = sum(of(t) * (1.0 if t in subject else BODY_WEIGHT if t in rest else 0.0) for t in asked.telling)
    query_share = found / sum(of(term) for term in asked.telling)
    subject_share = max(_covered(part, asked) for part in (said.name, subject, *said.examples))
    shared = [term for term in asked.telling if term in subject or term in rest]
    return QUERY_SHARE * query_share + SUBJECT_SHARE * subject_share * min(1.0, 2 * query_share), shared


def nearness(signature: str, other: str, rarity: Rarity) -> float:
    """How alike two errors are: 1 for one signature, else the part of their telling words that they share; 0 if not near."""
    if not signature or not other:
        return 0.0
    if signature == other:
        return 1.0
    from tacit.text.signature import (  # for errors only; hooks load this module for every prompt
        missing_name,
        ran_out_of_time,
        without_name,
    )

    if ran_out_of_time(signature) or ran_out_of_time(other):
        return 0.0  # what is alike in them says nothing of the cause
    named = missing_name(other)
    if named and named != missing_name(signature):
        return 0.0  # a remedy for something else that was missing
    signature = signature if named else without_name(signature) or signature
    one, two = signature_terms(signature), signature_terms(other)
    both = rarity.total(one | two)
    share = rarity.total(one & two) / both if both else 0.0
    return min(share, 0.99) if share >= NEAR_ERROR else 0.0


def decisive(words: Iterable[str], rarity: Rarity) -> list[str]:
    """The rarest words of a signature that tell more than the others together: a near one shares at least one of them."""
    chosen: list[str] = []
    ordered = sorted(words, key=lambda term: (-rarity.of(term), term))
    while ordered and rarity.total(chosen) <= rarity.total(ordered):
        chosen.append(ordered.pop(0))
    return chosen


def signature_terms(signature: str) -> frozenset[str]:
    """The words of a signature, without its masks."""
    return frozenset(terms(_MASK.sub(" ", signature)))


def recency(last_at: float, now: float) -> float:
    """Fade with age, both in seconds: half after 90 days, never below a tenth."""
    days = max(0.0, (now - last_at) / _SECONDS_PER_DAY)
    return float(max(RECENCY_FLOOR, 0.5 ** (days / HALF_LIFE_DAYS)))


def fuse(signals: Mapping[str, float]) -> float:
    """Weigh the signals into one score."""
    return sum(weight * signals[name] for name, weight in WEIGHTS.items())


def fits(kind: str, relevance: float, min_relevance: float) -> bool:
    """Whether it is relevant enough. Conventions and tastes bear on more than their words say: half is enough for them."""
    return relevance >= (0.5 if kind in ("norm", "preference") else 1.0) * min_relevance


def order(signals: Mapping[str, float], identity: str) -> tuple[bool, float, str]:
    """Sorts what is given: what answers this very error first, then by score."""
    return signals.get("signature", 0.0) < 1.0, -fuse(signals), identity


def _covered(part: frozenset[str], asked: Asked) -> float:
    total = asked.rarity.total(part)
    return asked.rarity.total(part & asked.terms) / total if total else 0.0
