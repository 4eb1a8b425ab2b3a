"""The signals of ranking: how well words and errors match, how fresh and proven a version is. Pure; loads nothing heavy.

`term_overlap` is the part of the query's information (rare words weigh more) found in the skill, and of the skill's subject
found in the query. An error matches by its signature: the same one, or one that shares most of its rare words. `match_score`
adds the signals in `WEIGHTS` (decision 26; docs/lab.md, "how are words, examples and meaning weighed").

The signals `words` and `names` (so called in `--json`) are the information in the matched words and identifiers, in *nats*: a
word that occurs in one of N texts is worth about log N nats.
"""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import islice

from tacit.domain.reach import WITHIN, breadth
from tacit.store import lexical_search
from tacit.text.words import joined_words, terms
from tacit.text.words import query_terms as terms_of_query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

CANDIDATE_HITS = 20
"""How many hits are weighed for one query: ranking reads all their words."""
SUBJECT_SHARE, QUERY_SHARE = 0.35, 0.65
BODY_WEIGHT = 0.6
"""A word found only in the body counts less than one in name or description."""
MAX_EXAMPLES = 32
"""How many of a skill's example queries are compared: recall must stay fast for skills with hundreds of them."""
MIN_EXAMPLE_TERMS = 2
"""The fewest terms of an example query that is compared: a single word is not a request."""
UNMATCHED_TERM_NATS = 4.5
"""What a word of an example query is worth, in nats, if the query does not contain it: its rarity was not looked up."""
MAX_QUERY_TERMS = 24
"""A long request is matched by its rarest words."""
CLEAR_MATCH_NATS = 64.0
"""Nats by words that count like a relevance of 1: at the usual threshold that takes three or four rare words."""
SHARE_OF_BEST_MIN = 0.4
"""The share of the best skill's relevance that another one needs: far behind a clear match, it is about something else."""
WORD_SHARE_OF_BEST_MIN = 0.25
"""The share of the best skill's nats by words that another one needs to be relevant by words alone."""
HALF_LIFE_DAYS = 90.0
PROMINENCE_MIN = 0.01
"""A lower prominence, which only a person can cause, counts as this."""
RECENCY_FLOOR = 0.1
USUAL_PROMINENCE = 0.5
"""Of what an agent found out today; twice as much adds a unit to the match score, half as much takes one away."""
SIMILAR_ERROR_MIN = 0.5
"""Two errors are similar if they share at least this part of their rarity-weighted words."""
UNKNOWN_WORD, UNKNOWN_VALUE = 0.6, 0.25
"""Factors on the rarity of a query's term that no skill contains. A missing word makes it less likely that a skill fits; a
missing value (a name, a number, a quotation) says little about that."""
IDENTIFIERS = "names"
"""The signal of matched identifiers, by its name in `--json`: numbers, paths and other words that name one thing."""
WEIGHTS = {
    "words": 1.0,
    IDENTIFIERS: 1.0,
    "example": 40.0,
    "meaning": 140.0,
    "state": 6.0,
    "reliability": 8.0,
    "prominence": 2.0,
    "scope": 1.0,
}
"""What one unit of each signal adds to the match score. `words` and `names` come in nats, the others go from 0 to 1 (a
prominence may be more, and counts by its doublings (`contributions`)."""
CHANCE_NATS_RANGE = (10.0, 50.0)
"""How many nats words may share by chance, for long and for short queries. Of a match worth that much, half counts."""
SHORT_QUERY_TERMS = 10
"""One vector represents the meaning of a query of at most so many terms; for a longer one the weight of meaning falls in
proportion (measured in docs/lab.md)."""
SCALE = 50.0
"""This match score is shown as 0.63 (1 − 1/e)."""
WORD_LOG_ODDS = (-2.77, 4.06, 0.17)
"""The log odds that a skill fits, given its words: a constant, the weight of the term overlap, and the weight of log(1 + the
word score)."""
FULL_SHARE_NATS = 5.0
"""Words that are worth less than this count proportionally less: one rare word is worth more, three everyday words less."""
MEANING_LOG_ODDS = (-4.2, 10.0)
"""The log odds that a skill fits, given its meaning: a constant, and the weight of the cosine."""

_QUOTED = re.compile(
    r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|'[^'\n]{2,80}'|[“«][^”»\n]{1,80}[”»]|(?<!\S)[^\s\d_#/@]*+[\d_#/@]\S*+"
)
_WORDS = re.compile(r"[^\s\"'`(),;]+")
_IDENTIFIER = re.compile(r"\A(?=\S*[A-Za-z])(?=\S*\d)|[A-Z]{3}|[a-z][A-Z]|[A-Za-z][_./\\:-][A-Za-z]|\A--?[A-Za-z]")
"""With letters and digits, with three capitals in a row or one after a small letter, with a sign between letters, a flag."""
_MASK = re.compile(r"<[a-z]+>")
_SECONDS_PER_DAY = 86_400


class Rarity:
    """How informative each term is, from the number of stored versions that contain it.

    `values` are the terms of the query that stand for values rather than words.
    """

    __slots__ = ("_idf_of_one", "corpus_size", "frequency", "idf", "values")

    def __init__(
        self, *, frequency: Mapping[str, int], corpus_size: int, values: AbstractSet[str] = frozenset()
    ) -> None:
        self.frequency = frequency
        self.corpus_size = corpus_size
        self.values = values
        self._idf_of_one = self._library_idf(1)
        self.idf: Callable[[str], float] = cache(self._idf)
        """Nats of a term: as in a large library, times a factor below 1 where several skills here contain it, or none does."""

    @classmethod
    def for_query(cls, text: str, frequency: Mapping[str, int], corpus_size: int) -> Rarity:
        """Tell words and values of a query apart: what is quoted, or holds a digit or a sign, is a value."""
        values = frozenset(term for quoted in _QUOTED.findall(text) for term in terms(quoted))
        return cls(frequency=frequency, corpus_size=corpus_size, values=values)

    def total(self, some: Iterable[str]) -> float:
        """Return the nats of several terms together, independent of their order."""
        return math.fsum(map(self.idf, some))

    def _idf(self, term: str) -> float:
        seen = self.frequency.get(term, 0)
        if seen:
            return lexical_search.rarity(1, self.corpus_size, term=term) * self._library_idf(seen) / self._idf_of_one
        doubt = UNKNOWN_VALUE if term in self.values else UNKNOWN_WORD
        return lexical_search.rarity(0, self.corpus_size, term=term) * doubt

    def local_idf(self, some: Iterable[str]) -> float:
        """Return the nats of several terms by this library alone: errors consist of everyday words, and these must count."""
        return math.fsum(map(self._local_idf, some))

    def _local_idf(self, term: str) -> float:
        seen = self.frequency.get(term, 0)
        return self._library_idf(seen) * (1.0 if seen else UNKNOWN_VALUE if term in self.values else UNKNOWN_WORD)

    def _library_idf(self, seen: int) -> float:
        return math.log(1 + (max(seen, self.corpus_size) - seen + 0.5) / (seen + 0.5))


class QueryTerms:
    """A query's terms, the rarest of them, their rarity, and what each is worth in nats where it is found.

    `identifiers` are those of its terms that name one particular thing: they are not found by chance.
    """

    __slots__ = ("chance", "identifiers", "rarest", "rarity", "terms", "total", "worth")

    def __init__(self, found: Iterable[str], rarity: Rarity, *, identifiers: AbstractSet[str] = frozenset()) -> None:
        self.terms = frozenset(found)
        self.identifiers = self.terms & identifiers
        self.chance = chance_nats(len(self.terms))
        self.rarity = rarity
        self.rarest = sorted(self.terms, key=lambda term: (-rarity.idf(term), term))[:MAX_QUERY_TERMS]
        counts, corpus_size = rarity.frequency, rarity.corpus_size
        self.worth = {term: lexical_search.rarity(counts.get(term, 0), corpus_size, term=term) for term in self.terms}
        self.total = math.fsum(self.worth.values())


def known_query_terms(text: str, frequencies: Mapping[str, int]) -> list[str]:
    """Return the terms of a request, and pairs of its words written as one ("back up" → "backup") where some skill has that."""
    return [*terms_of_query(text), *(term for term in joined_words(text) if frequencies.get(term))]


def identifiers_in(text: str) -> frozenset[str]:
    """The terms of a text that are names or codes, whole: `ECONNRESET`, `KB5034414`, `--no-deps`, `src/app.py`, `makeUser`."""
    whole = (terms(word) for word in _WORDS.findall(text) if _IDENTIFIER.search(word.strip(".:!?")))
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
        self.examples = [frozenset(example) for example in islice(examples, MAX_EXAMPLES)]
        self.rest = frozenset(rest).union(*self.examples)


def term_overlap(query_terms: QueryTerms, skill: SkillTerms) -> tuple[float, list[str]]:
    """Return how well the words match, from 0 to 1, and the shared words, rarest first."""
    if not query_terms.rarest:
        return 0.0, []
    idf, subject, rest = query_terms.rarity.idf, skill.subject, skill.rest
    found = sum(idf(t) * (1.0 if t in subject else BODY_WEIGHT if t in rest else 0.0) for t in query_terms.rarest)
    query_share = found / sum(idf(term) for term in query_terms.rarest)
    subject_share = max(_covered(part, query_terms) for part in (skill.name, subject, *skill.examples))
    words = [term for term in query_terms.rarest if term in subject or term in rest]
    if not words:  # a long request, of which the rarest words alone were looked at
        words = sorted((subject | rest) & query_terms.terms, key=lambda term: (-query_terms.worth[term], term))
    return QUERY_SHARE * query_share + SUBJECT_SHARE * subject_share * min(1.0, 2 * query_share), words


def word_signals(query_terms: QueryTerms, found: float, words: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the signals of matched words that are worth `found` nats: identifiers count fully, words as far as
    they are more than chance."""
    worth = {term: query_terms.worth[term] for term in query_terms.identifiers}
    identified = lexical_search.score(worth, words, weights=lexical_search.VERSION_WEIGHTS) if worth else 0.0
    found_words = {"words": beyond_chance(max(0.0, found - identified), query_terms.chance)}
    return {**found_words, IDENTIFIERS: identified} if identified else found_words


def example_similarity(query_terms: QueryTerms, skill: SkillTerms) -> float:
    """Return how similar the query and the nearest of a skill's example queries are: the shared part of their information."""
    requests = (example for example in skill.examples if len(example) >= MIN_EXAMPLE_TERMS)
    return max((_request_similarity(query_terms, request) for request in requests), default=0.0)


def error_similarity(signature: str, other: str, rarity: Rarity) -> float:
    """Return how similar two errors are: 1 for one signature, else the shared part of their rare words; 0 if not similar."""
    if not signature or not other:
        return 0.0
    if signature == other:
        return 1.0
    from tacit.text.error_signatures import missing_name, ran_out_of_time, without_name

    if ran_out_of_time(signature) or ran_out_of_time(other):
        return 0.0  # all timeouts read alike, whatever the cause
    named = missing_name(other)
    if named and named != missing_name(signature):
        return 0.0  # a remedy for something else that was missing
    signature = signature if named else without_name(signature) or signature
    one, two = signature_terms(signature), signature_terms(other)
    both = rarity.local_idf(one | two)
    share = rarity.local_idf(one & two) / both if both else 0.0
    return min(share, 0.99) if share >= SIMILAR_ERROR_MIN else 0.0


def signature_terms(signature: str) -> frozenset[str]:
    """The words of a signature, without its masks."""
    return frozenset(terms(_MASK.sub(" ", signature)))


def recency(last_at: float, now: float) -> float:
    """Fade with age, both in seconds: half after 90 days, never below a tenth."""
    days = max(0.0, (now - last_at) / _SECONDS_PER_DAY)
    return float(max(RECENCY_FLOOR, 0.5 ** (days / HALF_LIFE_DAYS)))


def prominence(importance: float, last_at: float, now: float, *, reinforced: int = 0) -> float:
    """Importance, faded with age, times one more than how often attempts confirmed it."""
    return importance * recency(last_at, now) * (1 + max(0, reinforced))


def scope_proximity(skill_scope: str, query_scope: str) -> float:
    """Return 1 for a skill of the scope that is asked from, and less the broader or narrower its own scope is.

    What is kept for a session is no less near to its agents than what is kept for their project.
    """
    inner, _, around = query_scope.partition(WITHIN)
    steps = breadth(skill_scope)[0] - breadth(around or inner)[0]
    return max(0.0, 1.0 - 0.25 * (max(0, steps) if around else abs(steps)))


def is_relevant(
    kind: str, signals: Mapping[str, float], min_relevance: float, *, best: Mapping[str, float] | None = None
) -> bool:
    """Return whether a skill fits well enough to be given: by its relevance, or else by the nats of its words alone.

    The second way is for long requests, of which no skill shares a large part. Both ways a skill must reach the threshold, and
    a part of what the best skill reaches: `best` holds the highest relevance and the most nats by words of any skill.
    For norms and preferences half the threshold is enough: they apply to more tasks than their words name.
    """
    least = (0.5 if kind in ("norm", "preference") else 1.0) * min_relevance
    most = best or {}
    if word_match_nats(signals) >= max(CLEAR_MATCH_NATS * least, WORD_SHARE_OF_BEST_MIN * word_match_nats(most)):
        return True
    return signals["relevance"] >= max(least, SHARE_OF_BEST_MIN * most.get("relevance", 0.0))


def best_of(some: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the highest relevance and the most nats by words of all that was weighed."""
    weighed = list(some)
    relevance = max((signals["relevance"] for signals in weighed), default=0.0)
    return {"relevance": relevance, "words": max(map(word_match_nats, weighed), default=0.0)}


def word_match_nats(signals: Mapping[str, float]) -> float:
    """Return the nats of matched words and identifiers."""
    return signals.get("words", 0.0) + signals.get(IDENTIFIERS, 0.0)


def sort_key(signals: Mapping[str, float], identity: str) -> tuple[bool, float, str]:
    """Return a sort key: first what answers this very error, then by match score."""
    return signals.get("signature", 0.0) < 1.0, -match_score(signals), identity


def _request_similarity(query_terms: QueryTerms, example: frozenset[str]) -> float:
    both = math.fsum(query_terms.worth[term] for term in example & query_terms.terms)
    return both / (query_terms.total + UNMATCHED_TERM_NATS * len(example - query_terms.terms)) if both else 0.0


def _covered(part: frozenset[str], query_terms: QueryTerms) -> float:
    total = query_terms.rarity.total(part)
    return query_terms.rarity.total(part & query_terms.terms) / total if total else 0.0


def contributions(signals: Mapping[str, float]) -> dict[str, float]:
    """Return what each signal adds to the match score, the most first; signals that add nothing are omitted.

    As the weights are of logarithms, the prominence is a factor on how likely a skill fits: its doublings are added.
    """
    given = {name: weight * signals.get(name, 0.0) for name, weight in WEIGHTS.items()}
    times = max(signals.get("prominence", USUAL_PROMINENCE), PROMINENCE_MIN) / USUAL_PROMINENCE
    given["prominence"] = WEIGHTS["prominence"] * math.log2(times)
    return dict(sorted(((name, added) for name, added in given.items() if added), key=lambda each: -each[1]))


def vector_weight(term_count: int) -> float:
    """Return how much of a query's meaning one vector can represent, from 0 to 1, by the number of its terms."""
    return min(1.0, SHORT_QUERY_TERMS / max(1, term_count))


def chance_nats(term_count: int) -> float:
    """Return how many nats by words may be chance, for a query of so many terms."""
    least, most = CHANCE_NATS_RANGE
    return max(least, most * vector_weight(term_count) ** 2)


def beyond_chance(word_score: float, by_chance: float) -> float:
    """Return how much of a word score counts: nearly all of a high one, little of a low one, which may be chance."""
    return word_score * word_score / (word_score + by_chance)


def match_score(signals: Mapping[str, float]) -> float:
    """Return the sum of what the signals in `WEIGHTS` add; a missing signal adds nothing.

    `relevance`, `signature`, `cues` and `esteem` are not among them; the table in `recall` says what they do.
    """
    return math.fsum(contributions(signals).values())


def combined_score(signals: Mapping[str, float]) -> float:
    """Return the match score on a scale from 0 to 1, in the same order."""
    return -math.expm1(-max(0.0, match_score(signals)) / SCALE)


def relevance_of(overlap: float, word_score: float, *, meaning: float | None = None) -> float:
    """Return how likely a skill fits: from the term overlap, the word score, and the cosine."""
    constant, of_overlap, of_words = WORD_LOG_ODDS
    enough = min(1.0, word_score / FULL_SHARE_NATS)  # to share a large part of a request of everyday words means little
    by_words = enough * _likely(constant + of_overlap * overlap + of_words * math.log1p(word_score))
    constant, of_cosine = MEANING_LOG_ODDS
    by_meaning = 0.0 if meaning is None else _likely(constant + of_cosine * meaning)
    return 1.0 - (1.0 - by_words) * (1.0 - by_meaning)


def _likely(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))
