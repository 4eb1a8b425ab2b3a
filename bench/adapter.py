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
        """Learn from successes and failures; the documents say which is which."""
        self.memory.capture(tacit.read(documents), trust_outcomes=True)
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
        selection = self.memory.recall(text, k=k, tools=tools, budget_tokens=100_000)
        return [
            {
                "id": item.version.content.metadata.get("id", item.version_id),
                "name": item.name,
                "score": item.score,
                "steps": [step.tool for step in item.steps if step.tool],
                "sources": list(item.version.provenance.trajectory_ids),
            }
            for item in selection.items
        ]

    def _approve(self) -> None:
        for stored in self.memory.waiting():
            self.memory.review(stored.version.id, "approve", by="bench", content_hash=stored.version.hash)
