"""A hit and what is known of it → an item with all its signals, its score and the reasons. Pure; decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from string import punctuation

from tacit.domain.evidence import Reliability
from tacit.domain.ports import Hit, Stored
from tacit.domain.selection import Item, Plan, Query
from tacit.domain.skill import SkillContent, SkillVersion
from tacit.recall import fusion
from tacit.recall.ranking import (
    Asked,
    Rarity,
    Said,
    asked_terms,
    by_words,
    likeness,
    names_in,
    nearness,
    nearness_of_scope,
    prominence,
    shared,
)
from tacit.recall.state import Situation, fit
from tacit.store.lexical import VERSION_WEIGHTS, score, version_words
from tacit.text.cues import words_of
from tacit.text.similarity import jaccard
from tacit.text.words import terms

KIN = 0.5
"""Tasks that share this part of their words, names and numbers aside, are of one kind."""
CLOSE = 0.25
"""From this cosine on nearness in meaning is named among the reasons."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What recall is told about the query and the hits."""

    rarity: Rarity
    reliability: Mapping[str, Reliability]
    rank: Callable[[Reliability], float]
    last_used_at: Mapping[str, datetime] = field(default_factory=dict)
    reinforced: Mapping[str, int] = field(default_factory=dict)
    """How often verified attempts have confirmed a version."""
    signature: str = ""
    """Of the error that the query's state tells of."""
    situation: Situation = Situation()
    plan: Plan = Plan()
    """What the words of the task call for."""
    tools: frozenset[str] | None = None
    """Those at hand, where that is known."""
    lacking: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Composites with parts that cannot be done here → the tools that are missing."""
    barred: Mapping[str, str] = field(default_factory=dict)
    """Composites with parts that touch more than is allowed here → what that is."""
    cited: Sequence[Item] = ()
    """Documents with what is quoted of them, the best first."""
    documents: Mapping[str, float] = field(default_factory=dict)
    """Documents that were looked at → how relevant the best of their passages was."""
    renewed: Callable[[Collection[str]], Mapping[str, tuple[int, datetime]]] = lambda _: {}
    """Versions → how often each was confirmed and used, and when last, as far as that is more than the two above tell."""
    unweighed: Sequence[Stored] = ()
    """Norms that hold here beyond those that are weighed."""


class Scales:
    """Weighs the hits of one query."""

    def __init__(self, query: Query, known: Known, *, now: datetime) -> None:
        self._query = query
        self._known = known
        self._now = now.timestamp()
        self._scope = str(query.scope)
        found = asked_terms(query.text, known.rarity.frequency)
        self.asked = Asked(found, known.rarity, names=names_in(query.text))
        self._focus = fusion.focus(len(self.asked.terms))

    @cached_property
    def _spelling(self) -> dict[str, str]:
        """Term → the query's own word for it: reasons name words, not stems."""
        return {term: word.strip(punctuation) for word in reversed(self._query.text.split()) for term in terms(word)}

    @cached_property
    def _task_words(self) -> frozenset[str]:
        return frozenset(words_of(self._query.text))

    def weigh(self, hit: Hit) -> Item:
        """All that speaks for one hit."""
        version, known = hit.stored.version, self._known
        words = hit.words or version_words(version.content)
        saying = said(version.content, words)
        share, found = shared(self.asked, saying)
        found_nats = hit.lexical or score(self.asked.worth, words, weights=VERSION_WEIGHTS)
        alike = likeness(self.asked, saying)
        near = nearness(known.signature, version.content.signature, known.rarity)
        measured = known.reliability.get(version.id, Reliability())
        called = known.plan.strengths.get(version.id, 0.0)
        placed, features = self._placed(version.content, words)
        fits = fusion.relevance(share, found_nats, meaning=hit.semantic)
        signals = {
            "relevance": max(fits, near, min(1.0, called), self._kinship(version.content)),
            **by_words(self.asked, found_nats, words),
            "reliability": known.rank(measured),
            "prominence": self._prominence(version),
            "scope": nearness_of_scope(str(hit.stored.skill.scope), self._scope),
            **({"example": alike} if alike else {}),
            **({"meaning": self._focus * max(0.0, hit.semantic)} if hit.semantic is not None else {}),
            **({"state": placed} if placed else {}),
            **({"signature": near} if near else {}),
            **({"cues": called} if called else {}),
        }
        reasons = [
            _answers(near) if near else self._matches(found, hit.semantic),
            *([f"fits the situation: {', '.join(features)}"] if features else []),
            _reliability_reason(measured),
            f"{version.content.kind} at {hit.stored.skill.scope}, {hit.stored.status}",
        ]
        return Item(
            version=version,
            status=hit.stored.status,
            score=fusion.score(signals),
            signals=signals,
            reasons=tuple(reasons),
            text="",
            tokens=0,
            reliability=measured,
        )

    def renew(self, items: Sequence[Item], *, only: Collection[str]) -> list[Item]:
        """Items as prominent as their uses have made them; `only` those that may be given, for that reads the store."""
        known = self._known.renewed([item.version_id for item in items if item.version_id in only])
        return [self._renewed(item, *known[item.version_id]) if item.version_id in known else item for item in items]

    def _renewed(self, item: Item, reinforced: int, last_at: datetime) -> Item:
        now = prominence(item.version.content.kind, last_at.timestamp(), self._now, reinforced=reinforced)
        signals = {**item.signals, "prominence": now}
        return replace(item, signals=signals, score=fusion.score(signals))

    def _matches(self, found: Sequence[str], meaning: float | None) -> str:
        named = ", ".join(dict.fromkeys(self._spelling.get(term, term) for term in found[:6]))
        told = f"matches {named}" if found else "no shared words"
        return f"{told}; close in meaning ({meaning:.2f})" if meaning is not None and meaning >= CLOSE else told

    def _placed(self, content: SkillContent, words: Sequence[Sequence[str]]) -> tuple[float, list[str]]:
        if self._known.situation == Situation():
            return 0.0, []
        tools = terms(" ".join(step.tool for step in content.steps))
        return fit(self._known.situation, content, frozenset(tools).union(*words))

    def _prominence(self, version: SkillVersion) -> float:
        known = self._known
        last_at = known.last_used_at.get(version.id, version.created_at).timestamp()
        return prominence(version.content.kind, last_at, self._now, reinforced=known.reinforced.get(version.id, 0))

    def _kinship(self, content: SkillContent) -> float:
        """How far a task is of the kind that a skill was learned from, where readings or parts decide whether it is needed.

        All skills of such a kind share its words, so that none of the words is rare. Who has just the tools that a skill
        with cases works with can look whether it is needed.
        """
        if not (content.cases or content.sub_skills):
            return 0.0
        alike = max((jaccard(self._task_words, _words(example)) for example in content.example_queries), default=0.0)
        tools = self._known.tools
        used = {step.tool for step in content.steps}
        at_hand = bool(content.cases and used) and tools is not None and used <= tools
        return alike if alike >= KIN else KIN if at_hand else 0.0


def said(content: SkillContent, words: Sequence[Sequence[str]]) -> Said:
    """What a version says, from the terms that are kept of it; only its small parts are split anew."""
    name, description, body, _ = words
    subject = [*description, *terms(" ".join([*content.tags, content.signature]))]
    return Said(name, subject, examples=(terms(example) for example in content.example_queries), rest=body)


@lru_cache(maxsize=1024)
def _words(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


def _answers(near: float) -> str:
    return "answers this very error" if near >= 1.0 else f"answers a similar error ({near:.0%} of the words)"


def _reliability_reason(measured: Reliability) -> str:
    if not measured.known:
        return "not measured yet"
    return f"worked in {measured.low:.0%} to {measured.high:.0%} of verified uses ({measured.votes} of them)"
