"""A hit and what is known of it → an item with all its signals, its score and the reasons. Pure; decides nothing.

Example: a skill shares words worth 30 nats with the task and an identifier worth 8, is close to it in meaning (cosine 0.3), and
was not measured yet (0.5). By `signals.WEIGHTS` meaning adds 42 to the match score, words 30, the identifier 8, reliability 4,
and the same scope 1. The sum, 85, is shown as 0.82 (`signals.SCALE`).

Words used here: *cases* are situations that call for a skill (see `recall.plan`). A *feature* is something in a query's state
that can be compared with a skill, such as the command that was run.

A query's state may hold `error` and `command` (the output of a failing call, and what was run), `last_action` (a tool or
command), `files` (paths being worked on), `environment` (such as `{"os": "linux"}`), `readings` (a tool's name → its latest
answer) and `holds` (a condition's text or check → whether it holds). Other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from string import punctuation
from typing import Any

from tacit.domain.evidence import Reliability
from tacit.domain.selection import Item, LeftOut, Plan, Query
from tacit.domain.skill import Condition, SkillContent
from tacit.domain.stored import Hit, StoredVersion
from tacit.evidence.reliability import reliability_score
from tacit.evidence.skill_usage import importance_of
from tacit.recall import reasons
from tacit.recall.plan import SAME_TASK_MIN
from tacit.recall.signals import (
    QueryTerms,
    Rarity,
    SkillTerms,
    combined_score,
    error_similarity,
    example_similarity,
    identifiers_in,
    known_query_terms,
    prominence,
    relevance_of,
    scope_proximity,
    term_overlap,
    vector_weight,
    word_signals,
)
from tacit.store.lexical_search import VERSION_WEIGHTS, score, version_words
from tacit.text.cues import words_of
from tacit.text.facts import gathered, holds
from tacit.text.similarity import jaccard
from tacit.text.words import terms

CLOSE_MEANING_MIN = 0.25
"""From this cosine on a skill is close in meaning: it is given as a reason, and counts as a match in other scopes."""
MAX_FILES = 50
MAX_STATE_CHARACTERS = 100_000
"""Limits of what is read from a query's state, which a caller may fill without bound: its files, and the characters of an
error, an answer or a name."""
MAX_INTEGER_BITS = 256
"""A longer whole number is ignored: Python refuses to write out very long ones."""


@dataclass(frozen=True)
class Situation:
    """A query's state after reading: its known fields, with values of the expected types."""

    error: str = ""
    command: str = ""
    last_action: str = ""
    files: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, bool] = field(default_factory=dict)
    """A condition's text or check → whether it holds."""

    @cached_property
    def features(self) -> dict[str, frozenset[str]]:
        """What can be compared with a skill: a name for each feature → its terms."""
        found = {
            "last action": frozenset(terms(_program_of(self.last_action))),
            "command": frozenset(terms(_program_of(self.command))),
            "files": frozenset(term for path in self.files for term in terms(path.rsplit("/", 1)[-1])),
            "environment": frozenset(terms(" ".join(self.environment.values()))),
        }
        return {name: words for name, words in found.items() if words}

    @cached_property
    def known(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Tool → the facts that it answered."""
        return gathered((tool, "", answer) for tool, answer in self.readings.items())

    @property
    def words(self) -> list[str]:
        """All its terms, each once, and the tools that were read: a skill names those that its cases ask."""
        return sorted(frozenset(terms(" ".join(self.readings))).union(*self.features.values()))


def read_situation(state: Mapping[str, Any]) -> Situation:
    """Read a query's state; values of an unexpected type are ignored."""
    files = state.get("files") or ()
    if isinstance(files, str):
        files = (files,)
    return Situation(
        error=_bounded_text(state.get("error")),
        command=_bounded_text(state.get("command")),
        last_action=_bounded_text(state.get("last_action")),
        files=tuple(filter(None, map(_bounded_text, files[:MAX_FILES]))) if isinstance(files, Sequence) else (),
        environment={key: _bounded_text(value) for key, value in _string_keys(state.get("environment")).items()},
        readings={key: _bounded_text(value) for key, value in _string_keys(state.get("readings")).items()},
        conditions={key: value for key, value in _string_keys(state.get("holds")).items() if isinstance(value, bool)},
    )


def situation_match(situation: Situation, content: SkillContent, words: frozenset[str]) -> tuple[float, list[str]]:
    """Return the share of the situation's features that a skill mentions, and which; `words` are all terms of the skill.

    A precondition that is known to hold counts as one more feature that matches.
    """
    features = situation.features
    met = [name for name, found in features.items() if found & words]
    held = [condition for condition in content.preconditions if _holds(condition, situation) is True]
    compared = len(features) + bool(held)
    if not compared:
        return 0.0, []
    return (len(met) + bool(held)) / compared, [*met, *(["what must hold"] if held else [])]


def violated_precondition(situation: Situation, content: SkillContent) -> str:
    """Return the text of a precondition that is known not to hold; empty if there is none.

    Where every case of the skill has a condition that is known not to hold, it returns `reasons.NO_CASE`.
    """
    false = next((c.text or c.check for c in content.preconditions if _holds(c, situation) is False), "")
    if false or not content.cases:
        return false
    open_cases = [case for case in content.cases if all(_holds(c, situation) is not False for c in case.conditions)]
    return "" if open_cases else reasons.NO_CASE


def fitting_case(situation: Situation, content: SkillContent, task: str) -> bool:
    """Return whether what was read shows a case of the skill: all its conditions hold, one of them by a reading."""
    known = situation.known
    return bool(known) and any(
        all(holds(condition, known, task=task) is True for condition in case.conditions)
        and any(condition.reading in known for condition in case.conditions)
        for case in content.cases
    )


def _holds(condition: Condition, situation: Situation) -> bool | None:
    for name in (condition.check, condition.text):
        if name and name in situation.conditions:
            return situation.conditions[name]
    if not condition.reading or not situation.readings or condition.when:
        return None
    return holds(condition, situation.known)


def _program_of(command: str) -> str:
    """A tool, or the program of a command with its subcommand."""
    return " ".join(command.split()[:2])


def _bounded_text(value: Any) -> str:
    if isinstance(value, str):
        return value[:MAX_STATE_CHARACTERS]
    is_number = isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= MAX_INTEGER_BITS)
    return str(value) if is_number else ""


def _string_keys(value: Any) -> Mapping[str, Any]:
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else {}


@dataclass(frozen=True, kw_only=True)
class RecallContext:
    """What is known about the query and the hits."""

    rarity: Rarity
    reliability: Mapping[str, Reliability]
    usage: Mapping[str, tuple[int, datetime, float]] = field(default_factory=dict)
    """Version → how often it was confirmed and used, when last, and how important it is."""
    signature: str = ""
    """Of the error in the query's state."""
    situation: Situation = Situation()
    plan: Plan = Plan()
    """What the words of the task call for."""
    unusable_parts: Mapping[str, LeftOut] = field(default_factory=dict)
    """Composites that may not be given because of their parts, by version, and why."""
    quoted: Sequence[Item] = ()
    """Documents with what is quoted of them, the best first."""
    document_relevance: Mapping[str, float] = field(default_factory=dict)
    """Documents that were searched → the relevance of their best passage."""
    unweighed: Sequence[StoredVersion] = ()
    """Norms that hold here beyond those that are weighed."""


class Weigher:
    """Weighs the hits of one query."""

    def __init__(self, query: Query, context: RecallContext, *, now: datetime) -> None:
        self._query = query
        self._context = context
        self._now = now.timestamp()
        self._scope = str(query.scope)
        found = known_query_terms(query.text, context.rarity.frequency)
        self.query_terms = QueryTerms(found, context.rarity, identifiers=identifiers_in(query.text))
        self._vector_weight = vector_weight(len(self.query_terms.terms))

    @cached_property
    def _spelling(self) -> dict[str, str]:
        """Term → the query's own word for it: reasons name words, not stems."""
        return {term: word.strip(punctuation) for word in reversed(self._query.text.split()) for term in terms(word)}

    @cached_property
    def _task_words(self) -> frozenset[str]:
        return frozenset(words_of(self._query.text))

    def weigh(self, hit: Hit) -> Item:
        """Return one hit with all its signals."""
        version, context = hit.stored.version, self._context
        words = hit.words or version_words(version.content)
        skill_words = skill_terms(version.content, words)
        overlap, matched = term_overlap(self.query_terms, skill_words)
        word_score = hit.lexical or score(self.query_terms.worth, words, weights=VERSION_WEIGHTS)
        alike = example_similarity(self.query_terms, skill_words)
        error_alike = error_similarity(context.signature, version.content.signature, context.rarity)
        measured = context.reliability.get(version.id, Reliability())
        usual = 0, version.created_at, importance_of(version)
        reinforced, last_at, importance = context.usage.get(version.id, usual)
        cue_strength = context.plan.strengths.get(version.id, 0.0)
        situation_share, features = self._situation_match(version.content, words)
        by_state = fitting_case(context.situation, version.content, self._query.text)
        by_match = relevance_of(overlap, word_score, meaning=hit.semantic)
        signals = {
            "relevance": max(
                by_match, error_alike, min(1.0, cue_strength), by_state, self._task_similarity(version.content)
            ),
            **word_signals(self.query_terms, word_score, words),
            "reliability": reliability_score(measured),
            "prominence": prominence(importance, last_at.timestamp(), self._now, reinforced=reinforced),
            "scope": scope_proximity(str(hit.stored.skill.scope), self._scope),
            **({"example": alike} if alike else {}),
            **({"meaning": self._vector_weight * max(0.0, hit.semantic)} if hit.semantic is not None else {}),
            **({"state": max(by_state, situation_share)} if by_state or situation_share else {}),
            **({"signature": error_alike} if error_alike else {}),
            **({"cues": cue_strength} if cue_strength else {}),
        }
        why = (
            reasons.error_match(error_alike) if error_alike else self._match_reason(matched, hit.semantic),
            *([reasons.situation_match(features or [reasons.CASE_SHOWN])] if features or by_state else []),
            reasons.reliability_reason(measured),
            reasons.standing(version.content.kind, hit.stored.skill.scope, hit.stored.status),
        )
        return Item(
            version=version,
            status=hit.stored.status,
            score=combined_score(signals),
            signals=signals,
            reasons=why,
            text="",
            tokens=0,
            reliability=measured,
        )

    def _match_reason(self, matched: Sequence[str], meaning: float | None) -> str:
        words = list(dict.fromkeys(self._spelling.get(term, term) for term in matched[:6]))
        return reasons.matched_words(words, meaning if meaning is not None and meaning >= CLOSE_MEANING_MIN else None)

    def _situation_match(self, content: SkillContent, words: Sequence[Sequence[str]]) -> tuple[float, list[str]]:
        if self._context.situation == Situation():
            return 0.0, []
        tools = terms(" ".join(step.tool for step in content.steps))
        return situation_match(self._context.situation, content, frozenset(tools).union(*words))

    def _task_similarity(self, content: SkillContent) -> float:
        """Return how similar the task is to those that a skill was learned from; only for skills with cases or parts.

        Skills that were split from one kind of task all share its words, so no word is rare and term overlap finds none of
        them. If all tools of a skill with cases are available, the agent can ask them whether it is needed, so such a skill is
        relevant whatever the words are.
        """
        if not (content.cases or content.sub_skills):
            return 0.0
        alike = max((jaccard(self._task_words, _words(example)) for example in content.example_queries), default=0.0)
        tools = self._query.tools
        used = {step.tool for step in content.steps}
        usable = bool(content.cases and used) and tools is not None and used <= set(tools)
        return alike if alike >= SAME_TASK_MIN else SAME_TASK_MIN if usable else 0.0


def skill_terms(content: SkillContent, words: Sequence[Sequence[str]]) -> SkillTerms:
    """Return a version's terms by field, from the stored ones; only its small fields are tokenized again."""
    name, description, body, _ = words
    subject = [*description, *terms(" ".join([*content.tags, content.signature]))]
    return SkillTerms(name, subject, examples=(terms(example) for example in content.example_queries), rest=body)


@lru_cache(maxsize=1024)
def _words(text: str) -> frozenset[str]:
    return frozenset(words_of(text))
