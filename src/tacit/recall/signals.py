"""The signals of ranking: how well words and errors match, how fresh and proven a version is. Pure; loads nothing heavy.

`shared` is the part of the query's information (rare words weigh more) found in the skill, and of the skill's subject found in
the query. An error is met by its signature: the same one, or one that shares most of its telling words. How signals are
weighted against each other is decided by `WEIGHTS`.
"""

from __future__ import annotations

import math
import re
from itertools import islice

from tacit.domain.reach import breadth
from tacit.store import lexical_search
from tacit.text.words import joined_words, query_terms, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

CANDIDATE_HITS = 20
"""How many hits are weighed for one query."""
SUBJECT_SHARE, QUERY_SHARE = 0.35, 0.65
BODY_WEIGHT = 0.6
"""A word found only in the body says less than one in name or description."""
MOST_EXAMPLES = 32
"""So many of a skill's example queries are looked at."""
LEAST_EXAMPLE = 2
"""Terms of the shortest example query that is compared: single words are no requests."""
USUAL_WORTH = 4.5
"""Nats that a word is worth of which nothing is known but that the query lacks it."""
MAX_QUERY_TERMS = 24
"""A long request is matched by its rarest words."""
MUCH = 64.0
"""Evidence by words, in nats, that stands for a relevance of 1: at the usual threshold three or four rare words."""
BEHIND_BEST = 0.4
"""The part of the best skill's relevance that another one needs: what is far behind on a clear question is something else."""
WORDS_BEHIND_BEST = 0.25
"""The part of the best skill's evidence by words that another one needs to be given for much that is shared."""
HALF_LIFE_DAYS = 90.0
RECENCY_FLOOR = 0.1
IMPORTANCE = {"norm": 0.8, "preference": 0.8}
USUAL_IMPORTANCE = 0.5
"""What a person corrected or decided matters more than what an agent found out."""
NEAR_ERROR = 0.5
"""Two errors are near if they share at least this part of what both say."""

UNKNOWN_WORD, UNKNOWN_VALUE = 0.6, 0.25
"""A word that no skill contains is a doubt; a value that none contains (a name, a number, a quotation) is hardly one."""

_QUOTED = re.compile(
    r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|'[^'\n]{2,80}'|[“«][^”»\n]{1,80}[”»]|(?<!\S)[^\s\d_#/@]*+[\d_#/@]\S*+"
)
_WORDS = re.compile(r"[^\s\"'`(),;]+")
_NAME = re.compile(r"\A(?=\S*[A-Za-z])(?=\S*\d)|[A-Z]{3}|[a-z][A-Z]|[A-Za-z][_./\\:-][A-Za-z]|\A--?[A-Za-z]")
"""With letters and digits, with three capitals in a row or one after a small letter, with a sign between letters, a flag."""
_MASK = re.compile(r"<[a-z]+>")
_SECONDS_PER_DAY = 86_400


class _Kept(dict):  # type: ignore[type-arg]
    """Term → number, worked out when it is first asked for."""

    def __init__(self, work_out: Callable[[str], float]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, term: str) -> float:
        found = self[term] = self._work_out(term)
        return found


class Rarity:
    """How informative each term is, from the number of stored versions that contain it.

    `values` are the terms of the query that stand for values rather than words.
    """

    __slots__ = ("_once", "documents", "frequency", "of", "values")

    def __init__(self, *, frequency: Mapping[str, int], documents: int, values: AbstractSet[str] = frozenset()) -> None:
        self.frequency = frequency
        self.documents = documents
        self.values = values
        self._once = self._counted(1)
        self.of: Callable[[str], float] = _Kept(self._of).__getitem__
        """What a term tells in a large library, less the more of this one's skills have it, or if none has it at all."""

    @classmethod
    def for_query(cls, text: str, frequency: Mapping[str, int], documents: int) -> Rarity:
        """Tell words and values of a query apart: what is quoted, or holds a digit or a sign, is a value."""
        values = frozenset(term for quoted in _QUOTED.findall(text) for term in terms(quoted))
        return cls(frequency=frequency, documents=documents, values=values)

    def total(self, some: Iterable[str]) -> float:
        """What several terms tell together; the same in whatever order they come."""
        return math.fsum(map(self.of, some))

    def _of(self, term: str) -> float:
        seen = self.frequency.get(term, 0)
        if seen:
            return lexical_search.rarity(1, self.documents, term=term) * self._counted(seen) / self._once
        doubt = UNKNOWN_VALUE if term in self.values else UNKNOWN_WORD
        return lexical_search.rarity(0, self.documents, term=term) * doubt

    def counted(self, some: Iterable[str]) -> float:
        """What several terms tell together by this library alone: errors are made of everyday words, which count in them."""
        return math.fsum(map(self._plain, some))

    def _plain(self, term: str) -> float:
        seen = self.frequency.get(term, 0)
        return self._counted(seen) * (1.0 if seen else UNKNOWN_VALUE if term in self.values else UNKNOWN_WORD)

    def _counted(self, seen: int) -> float:
        return math.log(1 + (max(seen, self.documents) - seen + 0.5) / (seen + 0.5))


class QueryTerms:
    """A query's terms, the most telling of them, how telling each is, and what each is worth in nats where it is found.

    `names` are those of its terms that name one particular thing: they are not found by chance.
    """

    __slots__ = ("chance", "names", "rarity", "telling", "terms", "total", "worth")

    def __init__(self, asked: Iterable[str], rarity: Rarity, *, names: AbstractSet[str] = frozenset()) -> None:
        self.terms = frozenset(asked)
        self.names = self.terms & names
        self.chance = chance_nats(len(self.terms))
        self.rarity = rarity
        self.telling = sorted(self.terms, key=lambda term: (-rarity.of(term), term))[:MAX_QUERY_TERMS]
        counts, documents = rarity.frequency, rarity.documents
        self.worth = {term: lexical_search.rarity(counts.get(term, 0), documents, term=term) for term in self.terms}
        self.total = math.fsum(self.worth.values())


def known_query_terms(text: str, known: Mapping[str, int]) -> list[str]:
    """The terms of a request, and what two of its words make written together, where some skill has that ("back up")."""
    return [*query_terms(text), *(term for term in joined_words(text) if known.get(term))]


def identifiers_in(text: str) -> frozenset[str]:
    """The terms of a text that are names or codes, whole: `ECONNRESET`, `KB5034414`, `--no-deps`, `src/app.py`, `makeUser`."""
    whole = (terms(word) for word in _WORDS.findall(text) if _NAME.search(word.strip(".:!?")))
    return frozenset(found[-1] for found in whole if found)


class SkillTerms:
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
        self.examples = [frozenset(example) for example in islice(examples, MOST_EXAMPLES)]
        self.rest = frozenset(rest).union(*self.examples)

    def requests(self) -> list[frozenset[str]]:
        """Those of its example queries that a query is compared with."""
        return [example for example in self.examples if len(example) >= LEAST_EXAMPLE]


def term_overlap(asked: QueryTerms, skill: SkillTerms) -> tuple[float, list[str]]:
    """How well the words meet, from 0 to 1, and the most telling shared words."""
    if not asked.telling:
        return 0.0, []
    of, subject, rest = asked.rarity.of, skill.subject, skill.rest
    found = sum(of(t) * (1.0 if t in subject else BODY_WEIGHT if t in rest else 0.0) for t in asked.telling)
    query_share = found / sum(of(term) for term in asked.telling)
    subject_share = max(_covered(part, asked) for part in (skill.name, subject, *skill.examples))
    words = [term for term in asked.telling if term in subject or term in rest]
    if not words:  # a long request, of which the rarest words alone were looked at
        words = sorted((subject | rest) & asked.terms, key=lambda term: (-asked.worth[term], term))
    return QUERY_SHARE * query_share + SUBJECT_SHARE * subject_share * min(1.0, 2 * query_share), words


def word_signals(asked: QueryTerms, found: float, words: Sequence[Sequence[str]]) -> dict[str, float]:
    """What speaks for a skill of all its words that were found, worth `found` nats: names fully, words beyond chance."""
    names = {term: asked.worth[term] for term in asked.names}
    named = lexical_search.score(names, words, weights=lexical_search.VERSION_WEIGHTS) if names else 0.0
    found_words = {"words": beyond_chance(max(0.0, found - named), asked.chance)}
    return {**found_words, "names": named} if named else found_words


def example_similarity(asked: QueryTerms, skill: SkillTerms) -> float:
    """How alike the query and the nearest of a skill's example queries are: the part of what both say that they share."""
    return max((_alike(asked, request) for request in skill.requests()), default=0.0)


def error_similarity(signature: str, other: str, rarity: Rarity) -> float:
    """How alike two errors are: 1 for one signature, else the part of their telling words that they share; 0 if not near."""
    if not signature or not other:
        return 0.0
    if signature == other:
        return 1.0
    from tacit.text.error_signatures import missing_name, ran_out_of_time, without_name

    if ran_out_of_time(signature) or ran_out_of_time(other):
        return 0.0  # what is alike in them says nothing of the cause
    named = missing_name(other)
    if named and named != missing_name(signature):
        return 0.0  # a remedy for something else that was missing
    signature = signature if named else without_name(signature) or signature
    one, two = signature_terms(signature), signature_terms(other)
    both = rarity.counted(one | two)
    share = rarity.counted(one & two) / both if both else 0.0
    return min(share, 0.99) if share >= NEAR_ERROR else 0.0


def decisive(words: Iterable[str], rarity: Rarity) -> list[str]:
    """The rarest words of a signature that tell more than the others together: a near one shares at least one of them."""
    chosen: list[str] = []
    ordered = sorted(words, key=lambda term: (-rarity.counted([term]), term))
    while ordered and rarity.counted(chosen) <= rarity.counted(ordered):
        chosen.append(ordered.pop(0))
    return chosen


def signature_terms(signature: str) -> frozenset[str]:
    """The words of a signature, without its masks."""
    return frozenset(terms(_MASK.sub(" ", signature)))


def recency(last_at: float, now: float) -> float:
    """Fade with age, both in seconds: half after 90 days, never below a tenth."""
    days = max(0.0, (now - last_at) / _SECONDS_PER_DAY)
    return float(max(RECENCY_FLOOR, 0.5 ** (days / HALF_LIFE_DAYS)))


def prominence(kind: str, last_at: float, now: float, *, reinforced: int = 0) -> float:
    """Importance, faded with age, and more the more often attempts confirmed it; each doubling counts as much again."""
    return IMPORTANCE.get(kind, USUAL_IMPORTANCE) * recency(last_at, now) * (1.0 + math.log2(1 + max(0, reinforced)))


def scope_proximity(kept: str, asked: str) -> float:
    """1 for a skill of the very scope that is asked from, less the further it has come."""
    return max(0.0, 1.0 - 0.25 * abs(breadth(kept)[0] - breadth(asked)[0]))


def is_relevant(
    kind: str, signals: Mapping[str, float], min_relevance: float, *, best: Mapping[str, float] | None = None
) -> bool:
    """Whether it is relevant enough, or shares that much with a long request of which it cannot have a large part.

    `best` is the most that any skill reached: of relevance, and of nats by words. What is far behind that is not given.
    Conventions and tastes bear on more than their words say: half is enough for them.
    """
    least = (0.5 if kind in ("norm", "preference") else 1.0) * min_relevance
    most = best or {}
    if word_evidence(signals) >= max(MUCH * least, WORDS_BEHIND_BEST * word_evidence(most)):
        return True
    return signals["relevance"] >= max(least, BEHIND_BEST * most.get("relevance", 0.0))


def best_of(some: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The highest relevance and the most evidence by words of all that was weighed."""
    weighed = list(some)
    relevance = max((signals["relevance"] for signals in weighed), default=0.0)
    return {"relevance": relevance, "words": max(map(word_evidence, weighed), default=0.0)}


def word_evidence(signals: Mapping[str, float]) -> float:
    """Evidence by words and names, in nats."""
    return signals.get("words", 0.0) + signals.get("names", 0.0)


def sort_key(signals: Mapping[str, float], identity: str) -> tuple[bool, float, str]:
    """Sorts what is given: what answers this very error first, then by evidence."""
    return signals.get("signature", 0.0) < 1.0, -total_evidence(signals), identity


def _alike(asked: QueryTerms, example: frozenset[str]) -> float:
    both = math.fsum(asked.worth[term] for term in example & asked.terms)
    return both / (asked.total + USUAL_WORTH * len(example - asked.terms)) if both else 0.0


def _covered(part: frozenset[str], asked: QueryTerms) -> float:
    total = asked.rarity.total(part)
    return asked.rarity.total(part & asked.terms) / total if total else 0.0


WEIGHTS = {
    "words": 1.0,
    "names": 1.0,
    "example": 40.0,
    "meaning": 140.0,
    "state": 6.0,
    "reliability": 8.0,
    "prominence": 1.5,
    "scope": 1.0,
}
"""Nats for one unit of each signal: `words` and `names` come in nats, the others from 0 to 1 (a prominence may be more)."""
CHANCES = (10.0, 50.0)
"""Nats by words that may be chance, at least and at most: so much counts half, less counts less, much counts fully."""
SHORT = 10
"""A query of so few terms has one meaning, which one vector tells, and a word that is found by chance is a large part of it."""
SCALE = 50.0
"""Evidence of so many nats gives a score of 0.63."""
BY_WORDS = (-2.77, 4.06, 0.17)
"""Log odds by words: a constant, for the share of what both say that they share, for the logarithm of nats by words."""
ENOUGH = 5.0
"""Nats by words below which a shared part says the less: one rare word is more, three everyday words are not."""
BY_MEANING = (-4.2, 10.0)
"""Log odds by meaning: a constant, and for the cosine."""


def contributions(signals: Mapping[str, float]) -> dict[str, float]:
    """What each signal adds to the evidence, in nats, the most first; those that add nothing are left away."""
    given = {name: weight * signals.get(name, 0.0) for name, weight in WEIGHTS.items()}
    return dict(sorted(((name, nats) for name, nats in given.items() if nats), key=lambda each: -each[1]))


def focus(asked: int) -> float:
    """How much of a query's meaning one vector can tell, from 0 to 1, by the number of its terms."""
    return min(1.0, SHORT / max(1, asked))


def chance_nats(asked: int) -> float:
    """How many nats by words may be chance, for a query of so many terms."""
    least, most = CHANCES
    return max(least, most * focus(asked) ** 2)


def beyond_chance(words: float, by_chance: float) -> float:
    """What counts of evidence by words."""
    return words * words / (words + by_chance)


def slope(words: float, by_chance: float) -> float:
    """How much the evidence grows with one more nat by words, where there are so many; never more than all of it."""
    return WEIGHTS["words"] * (1.0 - (by_chance / (by_chance + words)) ** 2)


def total_evidence(signals: Mapping[str, float]) -> float:
    """All signals together, in nats; those that were not asked for add nothing."""
    return math.fsum(weight * signals.get(name, 0.0) for name, weight in WEIGHTS.items())


def combined_score(signals: Mapping[str, float]) -> float:
    """The same from 0 to 1: who has more evidence has the higher score."""
    return -math.expm1(-max(0.0, total_evidence(signals)) / SCALE)


def relevance_of(share: float, words: float, *, meaning: float | None = None) -> float:
    """How likely it is that something fits: from the shared part of what both say, evidence by words, and the cosine."""
    constant, of_share, of_words = BY_WORDS
    enough = min(1.0, words / ENOUGH)  # a large part of a request that tells nothing is nothing
    word_signals = enough * _likely(constant + of_share * share + of_words * math.log1p(words))
    constant, of_cosine = BY_MEANING
    by_meaning = 0.0 if meaning is None else _likely(constant + of_cosine * meaning)
    return 1.0 - (1.0 - word_signals) * (1.0 - by_meaning)


def _likely(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))
