"""A memory in which ann has decided before, so that something is expected of her."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from tacit.api import Tacit
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.features.people.decisions import People, review_question
from tacit.features.people.ledger_entries import Forecast
from tacit.store import open_store
from tests.unit.making import NOW

TAUGHT = 30


def memory(path: Path | None = None) -> Tacit:
    """A memory whose clock moves on a second with each look."""
    seconds = iter(range(1_000_000))

    def clock() -> datetime:
        return NOW + timedelta(seconds=next(seconds))

    return Tacit(open_store(str(path)) if path else open_store(":memory:"), clock=clock)


def lesson(name: str, text: str = "Run the linter before the tests.") -> SkillContent:
    """A lesson of some name."""
    return SkillContent(kind=Kind.LESSON, name=name, description=f"{text} ({name})", body=text)


def norm(name: str, text: str = "Name branches after their ticket.") -> SkillContent:
    """A norm of some name."""
    return SkillContent(kind=Kind.NORM, name=name, description=f"{text} ({name})", body=text)


def proposed(loop: Tacit, content: SkillContent, *, by: str = "ann", origin: Origin = Origin.USER) -> StoredVersion:
    """Put something before the gate that then waits."""
    verdict = loop.propose(content, by=by, origin=origin)
    return loop.version(verdict.version_id)


def taught(loop: Tacit, *, approve: StoredVersion, reject: StoredVersion | None = None, count: int = TAUGHT) -> None:
    """Let ann have decided many times on things like these, and forecasts of her have come true."""
    people = People(loop)
    for number in range(count):
        for stored, response in ((approve, "approve"), (reject, "reject")):
            if stored is not None:
                asked = review_question(loop.context.store, stored, "ann")
                people.decided(f"earlier {number} {response}", asked, response)
    for number in range(count):
        for response in ("approve", "reject") if reject else ("approve",):
            loop.context.store.add(
                Forecast(
                    key=f"long ago {number} {response}",
                    at=NOW,
                    person="ann",
                    sort=asked.sort,
                    posterior=response,
                    posterior_confidence=0.9,
                    guess=response,
                    score=0.97,
                    actual=response,
                )
            )
