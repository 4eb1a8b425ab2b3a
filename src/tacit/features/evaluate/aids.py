"""The aid of each arm: a memory and an exercise → the text before the task.

Aids are deterministic, and only the oracle's looks at the answer. Nothing is stored in the memory, so no arm changes what
another one finds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tacit import render as application
from tacit.domain.evidence import Reliability
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import Kind
from tacit.domain.stored import StoredVersion
from tacit.features.evaluate.conversation import attempt_messages
from tacit.features.evaluate.leakage import PastAttempt
from tacit.features.evaluate.suite import Aid, AidKind, Exercise
from tacit.features.evaluate.tool import Turn, turns_of
from tacit.text.similarity import jaccard
from tacit.text.words import estimate_tokens, term_set

if TYPE_CHECKING:
    from tacit.api import Tacit

FROM_MEMORY = frozenset({AidKind.SKILLS, AidKind.TRAJECTORY, AidKind.KNOWLEDGE, AidKind.PLACEBO})
"""Kinds of aids that need a memory."""
RECALLED = 3
BUDGET_TOKENS = 1500
_FOUND_EPISODES = 50
_SKILL_KINDS = tuple(kind for kind in Kind if kind is not Kind.REFERENCE)
_SOLVED = "A similar task that was solved before:"
_ORACLE = "The right procedure for this task:"
_NOTHING_LEFT = "The right procedure for this task: nothing is left to do."
_ENOUGH, _TOO_MUCH = 0.8, 1.2
"""A placebo has between these shares of the length of the right skills."""


class Aids:
    """Makes aids from one memory; without a memory only the empty aid and the oracle's."""

    def __init__(
        self,
        memory: Tacit | None = None,
        *,
        k: int = RECALLED,
        budget_tokens: int = BUDGET_TOKENS,
        irrelevant: Tacit | None = None,
    ) -> None:
        """At most `k` skills are recalled, within the token budget.

        Placebos come from `irrelevant`, a memory of other work, if given: in a small library even the least fitting skill
        may fit a little.
        """
        self.memory = memory
        self._irrelevant = irrelevant or memory
        self._k = k
        self._budget_tokens = budget_tokens
        self._made: dict[tuple[AidKind, str, tuple[str, ...]], Aid] = {}

    def sized(self, *, k: int = 0, budget_tokens: int = 0) -> Aids:
        """Return aids from the same memory with other limits; 0 keeps a limit."""
        if not k and not budget_tokens:
            return self
        return Aids(self.memory, k=k or self._k, budget_tokens=budget_tokens or self._budget_tokens)

    def aid(self, kind: AidKind, exercise: Exercise) -> Aid:
        """Return the aid of this kind for an exercise; empty if the memory has nothing that fits."""
        if kind is AidKind.ORACLE:
            return oracle(exercise)
        if kind is AidKind.NONE or self.memory is None:
            return Aid(kind=kind)
        tools = tuple(tool.name for tool in exercise.tools)
        key = (kind, exercise.task, tools)
        if key not in self._made:
            make = {AidKind.TRAJECTORY: self._trajectory, AidKind.PLACEBO: self._placebo}.get(kind)
            task, memory = exercise.task, self.memory
            self._made[key] = make(memory, task, tools) if make else self._recalled(memory, task, tools, kind)
        return self._made[key]

    def contents(self) -> str:
        """Return a hash of what the memory holds; memories that learned the same have the same hash."""
        if self.memory is None:
            return ""
        store = self.memory.context.store
        known = sorted((stored.version.hash, str(stored.status)) for stored in store.catalogue())
        return digest([known, sorted(episode.id for episode in store.episodes())])

    def head(self) -> str:
        """Return the last entry of the audit chain, which changes with every write."""
        links = self.memory.context.store.history(limit=1) if self.memory else []
        return links[-1].hash if links else ""

    def past(self) -> list[PastAttempt]:
        """Return all attempts in the memory; pruned ones have no turns."""
        if self.memory is None:
            return []
        found, store = [], self.memory.context.store
        for episode in store.episodes():
            turns = () if episode.pruned else tuple(turns_of(store.trajectory(episode.id)))
            found.append(PastAttempt(id=episode.id, session_id=episode.session_id, task=episode.task, turns=turns))
        return found

    def _recalled(self, memory: Tacit, task: str, tools: tuple[str, ...], kind: AidKind = AidKind.SKILLS) -> Aid:
        """Return recalled skills, or passages of documents, which can be read whatever tools there are."""
        is_knowledge = kind is AidKind.KNOWLEDGE
        selection = memory.recall(
            task,
            k=self._k,
            budget_tokens=self._budget_tokens,
            kinds=(Kind.REFERENCE,) if is_knowledge else _SKILL_KINDS,
            tools=None if is_knowledge else tools or None,
            keep=False,
        )
        items = (*selection.items, *selection.standing)
        text = _framed([item.text for item in items], task)
        standing = (item.version_id for item in selection.standing)
        return Aid(kind=kind, text=text, sources=(*selection.version_ids, *standing))

    def _trajectory(self, memory: Tacit, task: str, tools: tuple[str, ...]) -> Aid:
        """Return the most similar verified success, unchanged."""
        del tools
        for found in memory.archive.episodes(task, limit=_FOUND_EPISODES):
            if not found.assessment.verified_success or found.superseded or found.pruned:
                continue
            trajectory = memory.context.store.trajectory(found.id)
            if turns := turns_of(trajectory):
                text = _shown(trajectory.task.text, turns, self._budget_tokens)
                calls = tuple(turn.call for turn in turns)
                return Aid(kind=AidKind.TRAJECTORY, text=text, sources=(found.id,), calls=calls)
        return Aid(kind=AidKind.TRAJECTORY)

    def _placebo(self, memory: Tacit, task: str, tools: tuple[str, ...]) -> Aid:
        """Return the least fitting skills, about as long as the right ones; empty if those are empty."""
        right = self._recalled(memory, task, tools)
        wanted = estimate_tokens(right.text) - application.frame_tokens()
        asked = term_set(task)
        chosen: list[tuple[str, str]] = []
        taken = 0
        for _, version_id, text, tokens in sorted(
            (jaccard(asked, words), version_id, text, tokens)
            for version_id, words, text, tokens in self._shelf
            if version_id not in right.sources
        ):
            if taken + tokens <= wanted * _TOO_MUCH:
                chosen.append((version_id, text))
                taken += tokens
            if taken >= wanted * _ENOUGH:
                break
        text = _framed([text for _, text in chosen], task)
        return Aid(kind=AidKind.PLACEBO, text=text, sources=tuple(version_id for version_id, _ in chosen))

    @cached_property
    def _shelf(self) -> list[tuple[str, frozenset[str], str, int]]:
        """Every recallable skill: version id, words, text and tokens."""
        assert self._irrelevant is not None
        current: dict[str, StoredVersion] = {}
        for stored in self._irrelevant.context.store.catalogue(statuses=RECALLABLE, kinds=_SKILL_KINDS):
            known = current.get(stored.skill.id)
            if known is None or known.sequence < stored.sequence:
                current[stored.skill.id] = stored
        shelf = []
        for stored in current.values():
            content = stored.version.content
            source = application.source_line(stored.version)
            text = application.render_item(content, status=stored.status, reliability=Reliability(), source=source)
            words = term_set(" ".join([content.name, content.description, *(step.text for step in content.steps)]))
            shelf.append((stored.version.id, words, text, estimate_tokens(text)))
        return shelf


def oracle(exercise: Exercise) -> Aid:
    """Return the answer as a list of tools without arguments; empty if no answer is known."""
    calls = exercise.answer
    if not calls:
        return Aid(kind=AidKind.ORACLE, text=_NOTHING_LEFT if exercise.turns else "")
    listed = "\n".join(f"{number}. {call.tool}" for number, call in enumerate(calls, start=1))
    return Aid(kind=AidKind.ORACLE, text=f"{_ORACLE}\n{listed}", calls=calls)


def _shown(task: str, turns: Sequence[Turn], budget_tokens: int) -> str:
    """Format as many of the first turns as the budget allows."""
    for count in range(len(turns), 0, -1):
        messages = attempt_messages(task, (), turns[:count], ended=count == len(turns))
        text = "\n".join([_SOLVED, *(message.content for message in messages[1:])])
        if estimate_tokens(text) <= budget_tokens:
            return text
    return ""


def _framed(texts: Sequence[str], task: str) -> str:
    """Frame texts as recall does, with an id that depends on the task only, so that every run shows the same."""
    return application.render_selection(texts, number=hashlib.sha256(task.encode("utf-8", "replace")).hexdigest()[:16])
