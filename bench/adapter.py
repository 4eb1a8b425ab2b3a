"""Tacit behind the protocol of retrieval scorers, on the public API only: learn from ATIF documents, recall tool names.

``class Adapter`` has ``learn(documents)``, ``recall(text, k, tools)`` and ``add_skills(skills)``. Everything that learning
holds for review is approved here, and all it asks for ticked, since no person sits in a benchmark. Asked for more items than a recall ever hands out,
it ranks the past attempts themselves: such a scorer compares ids of documents.
"""

from __future__ import annotations

import re
from typing import Any

import tacit

_A_RECALL = 20
"""More than anybody wants to be advised of at once."""


class Adapter:
    """A fresh memory that lives as long as the object."""

    def __init__(self) -> None:
        self.memory = tacit.open(":memory:")
        self._given: dict[str, int] = {}

    def learn(self, documents: list[dict[str, Any]]) -> None:
        """Learn from successes and failures; the documents say which is which, on the benchmark's word."""
        self._given = {document.get("trajectory_id", ""): place for place, document in enumerate(documents)}
        self.memory.capture(tacit.read([_vouched(document) for document in documents]), trust_outcomes=True)
        self.memory.learn()
        self._approve()

    def add_skills(self, skills: list[dict[str, Any]]) -> None:
        """Take in written skills."""
        for skill in skills:
            content = tacit.SkillContent(
                kind=tacit.Kind.PROCEDURE,
                name=skill["name"],
                description=skill["description"] or _first_words(skill["body"]),
                body=skill["body"],
                metadata={"id": skill["id"]},
            )
            self.memory.propose(content, by="bench", origin=tacit.Origin.USER)
        self._approve()

    def recall(self, text: str, k: int, tools: list[str] | None = None) -> list[dict[str, Any]]:
        """Recall at most k skills, best first; of a long list, past attempts come first."""
        attempts = self._attempts(text, k) if k > _A_RECALL and tools is None else []
        if len(attempts) == k:
            return attempts
        selection = self.memory.recall(text, k=max(k, _A_RECALL), tools=tools, budget_tokens=100_000)
        alone = [
            {
                "id": item.version.content.metadata.get("id", item.version_id),
                "name": item.name,
                "score": item.score,
                "steps": [step.tool for step in item.steps if step.tool],
                "sources": list(item.version.provenance.trajectory_ids),
            }
            for item in selection.items
        ]
        return (attempts + self._composed(selection) + alone)[:k]

    def _attempts(self, text: str, k: int) -> list[dict[str, Any]]:
        """Past attempts at tasks like this one; equals in the order in which they were given, as the reference does it."""
        found = [
            {"id": episode.session_id, "name": episode.task[:60], "score": episode.lexical, "steps": []}
            for episode in self.memory.archive.episodes(text, limit=k)
        ]
        return sorted(found, key=lambda item: (-round(item["score"], 9), self._given.get(item["id"], k)))

    @staticmethod
    def _composed(selection: tacit.Selection) -> list[dict[str, Any]]:
        """The plan that recall makes of several skills, as one item, and then its alternatives; all steps are of skills."""
        plan = selection.plan
        return [
            {
                "id": steps[0].version_id,
                "name": " + ".join(chosen.name for chosen in plan.chosen),
                "score": plan.chosen[0].strength,
                "steps": [step.tool for step in steps if step.tool],
            }
            for steps in (plan.steps, *plan.alternatives)
            if steps and plan.chosen
        ]

    def _approve(self) -> None:
        for stored in self.memory.reviews.waiting():
            ticked = [each.key for each in self.memory.reviews.examine(stored.version.id).external_values]
            self.memory.review(
                stored.version.id, "approve", by="bench", content_hash=stored.version.hash, ticked=ticked
            )


def _vouched(document: dict[str, Any]) -> dict[str, Any]:
    """A document with a verifier for its outcome, since reference answers come without one, and its tools where ATIF has them."""
    extra = {"verified_by": "the benchmark", **(document.get("extra") or {})}
    agent = document.get("agent") or {}
    if named := [{"function": {"name": name}} for name in extra.get("available_tools") or ()]:
        agent = {"tool_definitions": named, **agent}
    return {**document, "agent": agent, "extra": extra}


def _first_words(body: str) -> str:
    """What a skill without a description says first: its heading and first sentence. The gate admits none without."""
    text = re.sub(r"\A---\n.*?\n---\n", "", body, flags=re.DOTALL)
    lines = [line.strip("# ").strip() for line in text.splitlines() if line.strip("#- ").strip()]
    return ". ".join(lines[:2])[:300]
