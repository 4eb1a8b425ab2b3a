"""A project with cards that a person approved, and targets to graduate into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.domain.trajectory import Origin
from tacit.features.cards.backport.graduation import BackportRequest, BackportResult, Graduation
from tacit.features.cards.card import Card, CardStatus
from tacit.features.cards.cards import Cards
from tests.unit.features.cards.making import USER, World

SKILL_MD = b"---\nname: deploy\ndescription: Deploys.\n---\n\n# Deploy\n\nDo it.\n"
WAIT: dict[str, Any] = {
    "title": "Stop the workers before migrating",
    "when_to_use": "A migration fails with a lock timeout",
    "problem": "Workers hold the table while the migration wants it.",
    "solution_steps": ("Stop the workers", "Run the migration"),
    "evidence": ("Held in three deployments",),
    "tags": ("deploy",),
    "scope": "portable",
}
PIN: dict[str, Any] = {
    "title": "Pin the base image by digest",
    "when_to_use": "A build breaks although nothing in it changed",
    "problem": "A tag of an image moves, and its libraries with it.",
    "solution_steps": ("Write the digest behind the name of the image",),
    "scope": "portable",
}


class Desk:
    """The project, its deck and its graduation, opened anew for each thing that is done."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.root = self.world.root
        self.skill = self.root / ".agents" / "skills" / "deploy"
        self.skill.mkdir(parents=True)
        (self.skill / "SKILL.md").write_bytes(SKILL_MD)

    @property
    def reference(self) -> Path:
        return self.skill / "references" / "self-learning-aha.md"

    @property
    def deck(self) -> Cards:
        return self.world.deck()

    @property
    def graduation(self) -> Graduation:
        return Graduation(self.world.memory, self.deck)

    def card(self, key: str = "aha_wait", *, approve: bool = True, **fields: Any) -> Card:
        """Keep a version of a card, and let a person approve its lesson."""
        self.world.clock.pass_by(seconds=1)
        deck = self.deck
        said = (WAIT if key != "aha_pin" else PIN) | {"shareable": True} | fields
        before = deck.cards().get(key)
        version = before.version_id if before else ""
        made = Card(key=key, at=deck.now(), by=USER, ts=deck.timestamp(), version_id=version, **said)
        made = deck.admit(made, origin=Origin.USER, by=USER)
        deck.add(made)
        if approve:
            self.world.clock.pass_by(seconds=1)
            self.world.memory.review(made.version_id, decision="approve", by=USER)
        return made

    def backport(self, *cards: str, target: Path | None = None, **asked: Any) -> BackportResult:
        self.world.clock.pass_by(seconds=1)
        return self.graduation.backport(BackportRequest(target=target or self.skill, cards=cards, **asked))

    def status(self, key: str) -> CardStatus:
        deck = self.deck
        deck.sync()
        return deck.cards()[key].status

    def files(self) -> dict[str, bytes]:
        """Everything in the project but what belongs to tools."""
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in found
            if not {".tacit", ".agent-skills"} & set(path.relative_to(self.root).parts)
        }


@pytest.fixture
def both(tmp_path: Path) -> Desk:
    """A desk over either store."""
    return Desk(tmp_path)


__all__ = ["PIN", "SKILL_MD", "WAIT", "Desk", "both"]
