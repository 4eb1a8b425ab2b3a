"""Signals and their fusion: how well does a version fit, and how well has it served? Pure.

Relevance is the share of the query's information (rare words weigh more) found in the skill, and of the skill's subject
found in the query. It decides whether anything is said at all; reliability and recency only order what is relevant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tacit.domain.skill import SkillContent
from tacit.text.words import term_set, terms

WEIGHTS = {"relevance": 0.3, "match": 0.3, "reliability": 0.3, "recency": 0.1}
"""`match` is the full-text score beside the best hit's; it orders better than relevance, but cannot say when to be silent."""
SUBJECT_SHARE, QUERY_SHARE = 0.35, 0.65
BODY_WEIGHT = 0.6
"""A word found only in the body says less than one in name or description."""
MAX_QUERY_TERMS = 24
"""Long requests are judged by their rarest words."""
HALF_LIFE_DAYS = 90.0
RECENCY_FLOOR = 0.1


UNKNOWN_WORD, UNKNOWN_VALUE = 0.6, 0.25
"""A word that no skill contains is a doubt; a value that none contains (a name, a number, a quotation) is hardly one."""

_QUOTED = re.compile(r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|'[^'\n]{2,80}'|[“«][^”»\n]{1,80}[”»]|\S*[\d_#/@]\S*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rarity:
    """How telling each term is, from the number of stored versions that contain it."""

    frequency: Mapping[str, int]
    documents: int
    values: frozenset[str] = frozenset()
    """Terms of the query that stand for values rather than words."""

    @classmethod
    def for_query(cls, text: str, frequency: Mapping[str, int], documents: int) -> Rarity:
        """Tell words and values of a query apart: what is quoted, or holds a digit or a sign, is a value."""
        values = frozenset(term for quoted in _QUOTED.findall(text) for term in terms(quoted))
        return cls(frequency=frequency, documents=documents, values=values)

    def of(self, term: str) -> float:
        """Inverse document frequency, less for what no skill contains at all."""
        seen = self.frequency.get(term, 0)
        idf = math.log(1 + (self.documents - seen + 0.5) / (seen + 0.5))
        if seen:
            return idf
        return idf * (UNKNOWN_VALUE if term in self.values else UNKNOWN_WORD)


def relevance(query_terms: frozenset[str], content: SkillContent, rarity: Rarity) -> tuple[float, list[str]]:
    """How well the words meet, from 0 to 1, and the most telling shared words."""
    asked = sorted(query_terms, key=lambda term: (-rarity.of(term), term))[:MAX_QUERY_TERMS]
    if not asked:
        return 0.0, []
    subject = term_set(f"{content.name} {content.description} {' '.join(content.tags)} {content.signature}")
    examples = [term_set(example) for example in content.example_queries]
    rest = term_set(" ".join([content.body, *(step.text for step in content.steps)]))
    rest = rest.union(*examples)
    found = sum(rarity.of(t) * (1.0 if t in subject else BODY_WEIGHT if t in rest else 0.0) for t in asked)
    query_share = found / sum(rarity.of(term) for term in asked)
    subject_share = max(_covered(part, query_terms, rarity) for part in (term_set(content.name), subject, *examples))
    shared = [term for term in asked if term in subject or term in rest]
    return QUERY_SHARE * query_share + SUBJECT_SHARE * subject_share * min(1.0, 2 * query_share), shared


def recency(last_at: datetime, now: datetime) -> float:
    """Fade with age: half after 90 days, never below a tenth."""
    days = max(0.0, (now - last_at).total_seconds() / 86_400)
    return float(max(RECENCY_FLOOR, 0.5 ** (days / HALF_LIFE_DAYS)))


def fuse(signals: Mapping[str, float]) -> float:
    """Weigh the signals into one score."""
    return sum(weight * signals[name] for name, weight in WEIGHTS.items())


def _covered(part: frozenset[str], query_terms: frozenset[str], rarity: Rarity) -> float:
    total = sum(rarity.of(term) for term in part)
    return sum(rarity.of(term) for term in part & query_terms) / total if total else 0.0
