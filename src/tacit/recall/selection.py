"""Selection: hits and what is known of them → ranked items within a hard token budget, or an explained abstention. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from string import punctuation

from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Hit, Stored
from tacit.domain.selection import Item, LeftOut, Plan, Query, Selection
from tacit.domain.skill import SkillContent
from tacit.memory.lexical import version_words
from tacit.recall.filters import current_only, obstacle, unshadowed
from tacit.recall.ranking import Asked, Rarity, Said, fits, fuse, nearness, order, recency, relevance
from tacit.text.cues import words_of
from tacit.text.similarity import jaccard
from tacit.text.words import estimate_tokens, terms

KIN = 0.5
"""Tasks that share this part of their words, names and numbers aside, are of one kind."""
NEAREST = 3
"""How many near misses an abstention names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What recall is told about the hits."""

    rarity: Rarity
    reliability: Mapping[str, Reliability]
    rank: Callable[[Reliability], float]
    last_used_at: Mapping[str, datetime] = field(default_factory=dict)
    signature: str = ""
    """Of the error that the query's state tells of."""
    plan: Plan = Plan()
    """What the words of the task call for."""
    task: str = ""
    tools: frozenset[str] | None = None
    """Those at hand, where that is known."""
    lacking: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Composites with parts that cannot be done here → the tools that are missing."""


Render = Callable[[Item, int], str]
"""Writes an item as the agent sees it in at most so many tokens; empty if that is too little."""


def select(
    query: Query, hits: Sequence[Hit], known: Known, *, render: Render, now: datetime, min_relevance: float
) -> Selection:
    """Choose what to give for a query."""
    eligible, left_out = _eligible(query, [hit.stored for hit in hits], known)
    best = max((hit.lexical for hit in hits), default=0.0) or 1.0
    by_id = {hit.stored.version.id: hit for hit in hits}
    asked = Asked(terms(query.text), known.rarity)
    spelling = _spelling(query.text)
    scored = [_score(asked, spelling, by_id[stored.version.id], known, best=best, now=now) for stored in eligible]
    places = {chosen.version_id: place for place, chosen in enumerate(known.plan.chosen)}
    last = len(places)
    scored.sort(key=lambda item: (places.get(item.version_id, last), order(item.signals, item.version_id)))
    relevant = [item for item in scored if item.version_id in places or _fits(item, min_relevance)]
    if known.plan.lacking:  # what is called for cannot be done here, and the next best would do something else
        relevant = [item for item in relevant if item.version_id not in known.plan.strengths]
    if not relevant:
        reason = known.plan.reason if known.plan.lacking else _why_nothing(scored, left_out)
        return Selection(query=query, left_out=tuple(_nearest(scored) + left_out), reason=reason)
    items, over = _within_budget(relevant, query, render)
    if not items:
        reason = "the best match does not fit into the token budget" if query.k > 0 else "none was asked for"
        return Selection(query=query, left_out=tuple(over + left_out), reason=reason)
    below = [_left_out(item, "less relevant") for item in scored if item not in relevant]
    tokens = sum(item.tokens for item in items)
    left = tuple(over + below + left_out)
    return Selection(query=query, items=tuple(items), left_out=left, tokens=tokens, plan=_given(known.plan, items))


def _given(plan: Plan, items: Sequence[Item]) -> Plan:
    """The plan as far as what it is made of is given: it never speaks of a skill that nobody can see."""
    shown = {item.version_id for item in items}
    missing = [chosen.name for chosen in plan.chosen if chosen.version_id not in shown]
    if not missing:
        return plan
    return dataclasses.replace(
        plan,
        chosen=tuple(chosen for chosen in plan.chosen if chosen.version_id in shown),
        steps=tuple(step for step in plan.steps if step.version_id in shown),
        reason=f"left out of what the task calls for: {', '.join(f'`{name}`' for name in missing)}",
    )


def _fits(item: Item, min_relevance: float) -> bool:
    return fits(item.version.content.kind, item.signals["relevance"], min_relevance)


def _eligible(query: Query, stored: Sequence[Stored], known: Known) -> tuple[list[Stored], list[LeftOut]]:
    recallable = [item for item in stored if item.status in RECALLABLE]
    candidates, left_out = unshadowed(s for s in current_only(recallable) if s.skill.scope.contains(query.scope))
    passed: list[Stored] = []
    for item in candidates:
        why = obstacle(item, query) or _incomplete(item, known) or _unreliable(item, query, known)
        if why:
            left_out.append(LeftOut(version_id=item.version.id, name=item.version.name, reason=why))
        else:
            passed.append(item)
    return passed, left_out


def _incomplete(stored: Stored, known: Known) -> str:
    lacking = known.lacking.get(stored.version.id)
    return f"its parts need {', '.join(lacking)}, not at hand" if lacking else ""


def _unreliable(stored: Stored, query: Query, known: Known) -> str:
    if query.min_reliability is None:
        return ""
    measured = known.reliability.get(stored.version.id, Reliability())
    if measured.low >= query.min_reliability:
        return ""
    told = f"at least {measured.low:.0%}" if measured.known else "not known yet"
    return f"reliability is {told}, {query.min_reliability:.0%} was asked for"


def _score(asked: Asked, spelling: Mapping[str, str], hit: Hit, known: Known, *, best: float, now: datetime) -> Item:
    stored, version = hit.stored, hit.stored.version
    fit, shared = relevance(asked, _said(hit))
    near = nearness(known.signature, version.content.signature, known.rarity)
    measured = known.reliability.get(version.id, Reliability())
    last_at = known.last_used_at.get(version.id, version.created_at)
    called = known.plan.strengths.get(version.id, 0.0)
    signals = {
        "relevance": max(fit, near, min(1.0, called), _kinship(known, version.content)),
        "match": hit.lexical / best,
        "reliability": known.rank(measured),
        "recency": recency(last_at.timestamp(), now.timestamp()),
        **({"signature": near} if near else {}),
        **({"cues": called} if called else {}),
    }
    named = ", ".join(dict.fromkeys(spelling.get(term, term) for term in shared[:6]))
    reasons = (
        _answers(near) if near else f"matches {named}" if shared else "no shared words",
        _reliability_reason(measured),
        f"{version.content.kind} at {stored.skill.scope}, {stored.status}",
    )
    return Item(
        version=version,
        status=stored.status,
        score=fuse(signals),
        signals=signals,
        reasons=reasons,
        text="",
        tokens=0,
        reliability=measured,
    )


def _kinship(known: Known, content: SkillContent) -> float:
    """How far a task is of the kind that a skill was learned from, where readings or parts decide whether it is needed.

    All skills of such a kind share its words, so that none of the words is rare. Who has just the tools that a skill with
    cases works with can look whether it is needed.
    """
    if not (content.cases or content.sub_skills):
        return 0.0
    words = _words(known.task)
    alike = max((jaccard(words, _words(example)) for example in content.example_queries), default=0.0)
    at_hand = bool(content.cases) and known.tools is not None and {step.tool for step in content.steps} <= known.tools
    return alike if alike >= KIN else KIN if at_hand else 0.0


@lru_cache(maxsize=1024)
def _words(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


def _said(hit: Hit) -> Said:
    """What a version says, from the terms that are kept of it; only its small parts are split anew."""
    content = hit.stored.version.content
    name, description, body, _ = hit.words or version_words(content)
    subject = [*description, *terms(" ".join([*content.tags, content.signature]))]
    return Said(name, subject, examples=[terms(example) for example in content.example_queries], rest=body)


def _answers(near: float) -> str:
    return "answers this very error" if near >= 1.0 else f"answers a similar error ({near:.0%} of the words)"


def _spelling(text: str) -> dict[str, str]:
    """Term → the query's own word for it: reasons name words, not stems."""
    return {term: word.strip(punctuation) for word in reversed(text.split()) for term in terms(word)}


def _reliability_reason(measured: Reliability) -> str:
    if not measured.known:
        return "not measured yet"
    return f"worked in {measured.low:.0%} to {measured.high:.0%} of verified uses ({measured.trials:.3g} weighed)"


def _within_budget(items: Sequence[Item], query: Query, render: Render) -> tuple[list[Item], list[LeftOut]]:
    chosen: list[Item] = []
    over: list[LeftOut] = []
    left = query.budget_tokens
    for item in items:
        if len(chosen) >= query.k:
            over.append(_left_out(item, f"only {query.k} were asked for"))
            continue
        text = render(item, left)
        tokens = estimate_tokens(text)
        if not text or tokens > left:
            over.append(_left_out(item, f"does not fit into the {max(0, left)} tokens left"))
            continue
        left -= tokens
        chosen.append(dataclasses.replace(item, text=text, tokens=tokens))
    return chosen, over


def _nearest(scored: Sequence[Item]) -> list[LeftOut]:
    nearest = sorted(scored, key=lambda item: (-item.signals["relevance"], item.version_id))[:NEAREST]
    return [_left_out(item, f"nearest, relevance {item.signals['relevance']:.2f}") for item in nearest]


def _left_out(item: Item, reason: str) -> LeftOut:
    return LeftOut(version_id=item.version_id, name=item.name, reason=reason, score=item.score)


def _why_nothing(scored: Sequence[Item], left_out: Sequence[LeftOut]) -> str:
    if scored:
        best = min(scored, key=lambda item: (-item.signals["relevance"], item.version_id))
        return f"nothing is close enough; the nearest, `{best.name}`, has relevance {best.signals['relevance']:.2f}"
    if left_out:
        return f"what matches may not be used here: `{left_out[0].name}` {left_out[0].reason}"
    return "no approved skill shares a word with this task"
