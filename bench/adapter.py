"""Tacit behind the protocol of retrieval scorers, on the public API only: learn from ATIF documents, recall tool names.

``class Adapter`` has ``learn(documents)``, ``recall(text, k, tools)`` and ``add_skills(skills)``. Everything that learning
holds for review is approved here, since no person sits in a benchmark.
"""

from __future__ import annotations

from typing import Any

import tacit


class Adapter:
    """A fresh memory that lives as long as the object."""

    def __init__(self) -> None:
        self.memory = tacit.open(":memory:")

    def learn(self, documents: list[dict[str, Any]]) -> None:
        """Learn from successes and failures; the documents say which is which, on the benchmark's word."""
        self.memory.capture(tacit.read([_vouched(document) for document in documents]), trust_outcomes=True)
        self.memory.learn()
        self._approve()

    def add_skills(self, skills: list[dict[str, Any]]) -> None:
        """Take in written skills."""
        for skill in skills:
            content = tacit.SkillContent(
                kind=tacit.Kind.PROCEDURE,
                name=skill["name"],
                description=skill["description"],
                body=skill["body"],
                metadata={"id": skill["id"]},
            )
            self.memory.propose(content, by="bench", origin=tacit.Origin.USER)
        self._approve()

    def recall(self, text: str, k: int, tools: list[str] | None = None) -> list[dict[str, Any]]:
        """Recall at most k skills, best first."""
        selection = self.memory.recall(text, k=max(k, 20), tools=tools, budget_tokens=100_000)
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
        return (self._composed(selection) + alone)[:k]

    @staticmethod
    def _composed(selection: tacit.Selection) -> list[dict[str, Any]]:
        """The plan that recall makes of several skills, as one item; every step belongs to a recalled version."""
        plan = selection.plan
        if not plan.steps:
            return []
        return [
            {
                "id": plan.chosen[0].version_id,
                "name": " + ".join(chosen.name for chosen in plan.chosen),
                "score": plan.chosen[0].strength,
                "steps": [step.tool for step in plan.steps if step.tool],
            }
        ]

    def _approve(self) -> None:
        for stored in self.memory.waiting():
            self.memory.review(stored.version.id, "approve", by="bench", content_hash=stored.version.hash)


def _vouched(document: dict[str, Any]) -> dict[str, Any]:
    """A document whose outcome names its verifier: reference answers come without one."""
    return {**document, "extra": {"verified_by": "the benchmark", **(document.get("extra") or {})}}
