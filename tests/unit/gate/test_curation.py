"""Pins, invalidation and undo through a memory: decided by a person, kept with the reason, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.errors import Mistake
from tacit.domain.ledger import pinned
from tacit.domain.lifecycle import Status
from tacit.domain.origin import Origin
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.store import open_store
from tests.raising import raises
from tests.unit.making import NOW


@pytest.fixture
def loop() -> Iterator[Tacit]:
    store = open_store(":memory:")
    seconds = iter(range(10_000))

    def clock() -> datetime:
        return NOW + timedelta(seconds=next(seconds))

    with Tacit(store, clock=clock) as made:
        yield made


def skill(*commands: str) -> SkillContent:
    steps = tuple(SkillStep(text=f"Run `{one}`", tool="Bash", arguments={"command": one}) for one in commands)
    return SkillContent(kind=Kind.PROCEDURE, name="release", description="Release the app.", steps=steps)


def written(loop: Tacit, *commands: str, revises: bool = False) -> str:
    before = loop.version("release") if revises else None
    return loop.propose(skill(*commands), by="ann", origin=Origin.USER, revises=before).version_id


def approve(loop: Tacit, version_id: str) -> None:
    ticked = [literal.key for literal in loop.reviews.examine(version_id).literals]
    loop.review(version_id, "approve", by="ann", ticked=ticked)


def test_an_approval_can_be_undone_once(loop: Tacit) -> None:
    first = written(loop, "make build", "make push")
    approve(loop, first)
    loop.reviews.undo("release", by="ann")
    assert loop.version(first).status is Status.CANDIDATE
    with raises(Mistake, "already_undone"):
        loop.reviews.undo("release", by="ann")


def test_undoing_the_approval_of_an_edit_makes_the_version_before_current_again(loop: Tacit) -> None:
    first = written(loop, "make build", "make push")
    approve(loop, first)
    second = written(loop, "make all", "make push", revises=True)
    approve(loop, second)
    assert loop.version("release").version.id == second
    loop.reviews.undo("release", by="ann")
    assert loop.version("release").version.id == first


def test_a_new_version_that_nobody_has_looked_at_can_be_undone(loop: Tacit) -> None:
    approve(loop, written(loop, "make build", "make push"))
    second = written(loop, "make all", "make push", revises=True)
    loop.reviews.undo("release", by="ann")
    assert loop.version(second).status is Status.REJECTED


@pytest.mark.parametrize(("decision", "back"), [("retire", Status.TRIAL), ("reject", Status.CANDIDATE)])
def test_a_retirement_and_a_rejection_can_be_undone(loop: Tacit, decision: str, back: Status) -> None:
    first = written(loop, "make build", "make push")
    if decision == "retire":
        approve(loop, first)
    loop.review(first, decision, by="ann")
    loop.reviews.undo("release", by="ann")
    assert loop.version(first).status is back


def test_a_roll_back_is_undone_as_one(loop: Tacit) -> None:
    first = written(loop, "make build", "make push")
    approve(loop, first)
    second = written(loop, "make all", "make push", revises=True)
    approve(loop, second)
    loop.reviews.rollback(first, by="ann")
    assert loop.version("release").version.id == first
    loop.reviews.undo("release", by="ann")
    assert loop.version("release").version.id == second


def test_what_is_invalid_leaves_recall_with_all_that_waits_and_can_be_brought_back(loop: Tacit) -> None:
    first = written(loop, "make build", "make push")
    approve(loop, first)
    second = written(loop, "make all", "make push", revises=True)
    loop.reviews.invalidate("release", by="ann", reason="the registry is gone")
    assert [loop.version(each).status for each in (first, second)] == [Status.RETIRED, Status.REJECTED]
    assert loop.recall("release the app").abstained
    assert "registry is gone" in loop.context.store.transitions(first)[-1].reason
    loop.review(first, "restore", by="ann")
    assert loop.version(first).status is Status.TRIAL


def test_an_invalidation_needs_a_reason_and_something_in_use(loop: Tacit) -> None:
    first = written(loop, "make build", "make push")
    with raises(Mistake, "reason_missing"):
        loop.reviews.invalidate("release", by="ann", reason=" ")
    loop.review(first, "reject", by="ann")
    with raises(Mistake, "not_in_use"):
        loop.reviews.invalidate("release", by="ann", reason="wrong")


def test_a_pin_stands_until_it_is_taken_out(loop: Tacit) -> None:
    held = loop.version(written(loop, "make build", "make push"))
    assert not pinned(loop.context.store.remarks(held.skill.id))
    loop.reviews.pin("release", by="ann", reason="the only one that works")
    assert pinned(loop.context.store.remarks(held.skill.id))
    with raises(Mistake, "already_pinned"):
        loop.reviews.pin("release", by="ann")
    loop.reviews.pin("release", by="ann", off=True)
    assert not pinned(loop.context.store.remarks(held.skill.id))
    with raises(Mistake, "not_pinned"):
        loop.reviews.pin("release", by="ann", off=True)
