"""The figures of a skill and its history."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.evidence import Evidence, Following, Grade, Outcome, Use
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.store import open_store
from tests.unit.making import NOW


class Clock:
    """A clock that goes on by a minute whenever it is looked at."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture
def loop() -> Iterator[Tacit]:
    store = open_store(":memory:")
    with Tacit(store, clock=Clock()) as made:
        yield made


def approved(loop: Tacit, name: str = "release", **fields: object) -> str:
    steps = tuple(
        SkillStep(text=f"Run `{one}`", tool="Bash", arguments={"command": one}) for one in ("make build", "make push")
    )
    made = SkillContent(kind=Kind.PROCEDURE, name=name, description=f"How to {name} the app.", steps=steps)
    version_id = loop.propose(made, by="ann", origin=Origin.USER).version_id
    loop.review(
        version_id, "approve", by="ann", ticked=[each.key for each in loop.reviews.examine(version_id).external_values]
    )
    return version_id


def test_an_unused_skill_has_empty_figures(loop: Tacit) -> None:
    approved(loop)
    (record,) = loop.archive.records()
    assert (record.shown, record.worked, record.failed, record.followed) == (0, 0, 0, {})
    assert not record.reliability.known
    assert record.lift.success is None
    assert record.used_at is None


def test_uses_results_and_how_runs_stood_to_it_are_counted(loop: Tacit) -> None:
    version_id = approved(loop)
    for number, outcome in enumerate(("success", "success", "failure")):
        given = loop.recall(f"release the app number {number}", model="opus")
        loop.record(given.use_id, outcome=outcome, grade=Grade.HUMAN, by="ann")
    given = loop.recall("release the app once more")
    loop.record(given.use_id, outcome="success", by="agent")
    ignored = Evidence(
        version_id=version_id, outcome=Outcome.SUCCESS, grade=Grade.MACHINE, at=loop.context.now(), use_id="u_x",
        following=Following.IGNORED,
    )  # fmt: skip
    loop.context.store.add(ignored)
    held = Use(version_ids=(version_id,), task="x", at=loop.context.now(), held_back=True, shares=(0.2,))
    loop.context.store.add(held)
    (record,) = loop.archive.records(["release"])
    assert (record.shown, record.held_back, record.worked, record.failed, record.claimed) == (4, 1, 2, 1, 1)
    assert record.followed == {Following.IGNORED: 1}
    assert list(record.models) == ["opus"]


def test_what_the_caller_says_was_followed_counts_as_followed(loop: Tacit) -> None:
    version_id = approved(loop)
    given = loop.recall("release the app")
    loop.record(given.use_id, outcome="success", grade=Grade.HUMAN, followed=[version_id], by="ann")
    assert loop.record(loop.recall("release it").use_id, outcome="success", grade=Grade.HUMAN, by="ann")
    (record,) = loop.archive.records(["release"])
    assert record.followed == {Following.FOLLOWED: 1}


def test_the_most_used_comes_first(loop: Tacit) -> None:
    approved(loop, "archive")
    approved(loop, "release")
    loop.recall("release the app", k=1)
    assert [record.stored.version.name for record in loop.archive.records()] == ["release", "archive"]


def test_a_life_tells_versions_moves_results_and_remarks_in_order(loop: Tacit) -> None:
    version_id = approved(loop)
    for number in range(3):
        given = loop.recall(f"release the app number {number}")
        loop.record(given.use_id, outcome="success", grade=Grade.HUMAN, by="ann")
    loop.reviews.pin("release", by="ann", reason="the only one")
    loop.reviews.pin("release", by="ann", off=True)
    loop.review(version_id, "retire", by="ann", reason="no longer needed here")
    reported = [(event.what, event.count, event.by) for event in loop.archive.life("release")]
    assert reported == [
        ("version 1 made: candidate", 1, "ann"),
        ("candidate → trial", 1, "ann"),
        ("success (human-verified)", 3, "ann"),
        ("pinned", 1, "ann"),
        ("no longer pinned", 1, "ann"),
        ("trial → retired", 1, "ann"),
    ]
    assert loop.archive.life("release")[-1].why == "no longer needed here"
