"""Pins, invalidation and undo: decided by a person, stored with the reason, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.errors import Mistake
from tacit.domain.ledger import pinned
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.gate.findings import GateReason, stored_sentence
from tacit.gate.review_rules import has_reason
from tacit.store import open_store
from tests.raising import raises
from tests.unit.making import NOW


@pytest.fixture
def memory() -> Iterator[Tacit]:
    store = open_store(":memory:")
    seconds = iter(range(10_000))

    def clock() -> datetime:
        return NOW + timedelta(seconds=next(seconds))

    with Tacit(store, clock=clock) as made:
        yield made


def skill(*commands: str) -> SkillContent:
    steps = tuple(SkillStep(text=f"Run `{one}`", tool="Bash", arguments={"command": one}) for one in commands)
    return SkillContent(kind=Kind.PROCEDURE, name="release", description="Release the app.", steps=steps)


def written(memory: Tacit, *commands: str, revises: bool = False) -> str:
    before = memory.version("release") if revises else None
    return memory.propose(skill(*commands), by="ann", origin=Origin.USER, revises=before).version_id


def approve(memory: Tacit, version_id: str) -> None:
    ticked = [each.key for each in memory.reviews.examine(version_id).external_values]
    memory.review(version_id, "approve", by="ann", ticked=ticked)


def test_an_approval_can_be_undone_once(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    approve(memory, first)
    memory.reviews.undo("release", by="ann")
    assert memory.version(first).status is Status.CANDIDATE
    with raises(Mistake, "already_undone"):
        memory.reviews.undo("release", by="ann")


def test_undoing_the_approval_of_an_edit_makes_the_version_before_current_again(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    approve(memory, first)
    second = written(memory, "make all", "make push", revises=True)
    approve(memory, second)
    assert memory.version("release").version.id == second
    memory.reviews.undo("release", by="ann")
    assert memory.version("release").version.id == first


def test_a_new_version_that_nobody_has_looked_at_can_be_undone(memory: Tacit) -> None:
    approve(memory, written(memory, "make build", "make push"))
    second = written(memory, "make all", "make push", revises=True)
    memory.reviews.undo("release", by="ann")
    assert memory.version(second).status is Status.REJECTED


@pytest.mark.parametrize(("decision", "back"), [("retire", Status.TRIAL), ("reject", Status.CANDIDATE)])
def test_a_retirement_and_a_rejection_can_be_undone(memory: Tacit, decision: str, back: Status) -> None:
    first = written(memory, "make build", "make push")
    if decision == "retire":
        approve(memory, first)
    memory.review(first, decision, by="ann")
    memory.reviews.undo("release", by="ann")
    assert memory.version(first).status is back


def test_undo_gives_a_stale_version_back_as_stale_and_a_trusted_one_on_trial(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    approve(memory, first)
    move(memory, first, Status.TRUSTED)
    memory.review(first, "retire", by="ann")
    memory.reviews.undo("release", by="ann")
    assert memory.version(first).status is Status.TRIAL
    move(memory, first, Status.STALE)
    memory.review(first, "retire", by="ann")
    memory.reviews.undo("release", by="ann")
    assert memory.version(first).status is Status.STALE


@pytest.mark.parametrize("after", [Status.CANDIDATE, Status.QUARANTINED])
def test_a_withdrawn_approval_comes_back_only_by_a_new_approval(memory: Tacit, after: Status) -> None:
    first = written(memory, "make build", "make push")
    approve(memory, first)
    move(memory, first, after)
    with raises(Mistake, "approval_withdrawn"):
        memory.reviews.undo("release", by="ann")
    assert memory.version(first).status is after


def test_a_decision_needs_the_name_of_a_person_in_undo_too(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    with raises(Mistake, "reviewer_missing"):
        memory.reviews.undo("release", by=" ")
    assert memory.version(first).status is Status.CANDIDATE


def move(memory: Tacit, version_id: str, after: Status) -> None:
    change = memory.version(version_id).transition_to(after, "r", by="tacit.test", at=memory.context.now())
    memory.context.store.add_transition(change)


def test_a_roll_back_is_undone_as_one(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    approve(memory, first)
    second = written(memory, "make all", "make push", revises=True)
    approve(memory, second)
    memory.reviews.rollback(first, by="ann")
    assert memory.version("release").version.id == first
    memory.reviews.undo("release", by="ann")
    assert memory.version("release").version.id == second


def test_what_is_invalid_leaves_recall_with_all_that_waits_and_can_be_brought_back(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    approve(memory, first)
    second = written(memory, "make all", "make push", revises=True)
    memory.reviews.invalidate("release", by="ann", reason="the registry is gone")
    assert [memory.version(each).status for each in (first, second)] == [Status.RETIRED, Status.REJECTED]
    assert memory.recall("release the app").abstained
    assert "registry is gone" in memory.context.store.transitions(first)[-1].reason
    memory.review(first, "restore", by="ann")
    assert memory.version(first).status is Status.TRIAL


def test_an_invalidation_of_several_versions_is_undone_as_one(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    approve(memory, first)
    second = written(memory, "make all", "make push", revises=True)
    memory.reviews.invalidate("release", by="ann", reason="the registry is gone")
    assert {move.version_id for move in memory.reviews.undoable("release")} == {first, second}
    memory.reviews.undo("release", by="ann")
    assert [memory.version(each).status for each in (first, second)] == [Status.TRIAL, Status.CANDIDATE]
    with raises(Mistake, "already_undone"):
        memory.reviews.undoable("release")


def test_an_invalidation_needs_a_reason_and_something_in_use(memory: Tacit) -> None:
    first = written(memory, "make build", "make push")
    with raises(Mistake, "reason_missing"):
        memory.reviews.invalidate("release", by="ann", reason=" ")
    memory.review(first, "reject", by="ann")
    with raises(Mistake, "not_in_use"):
        memory.reviews.invalidate("release", by="ann", reason="wrong")


def test_a_pin_stands_until_it_is_taken_out(memory: Tacit) -> None:
    held = memory.version(written(memory, "make build", "make push"))
    assert not pinned(memory.context.store.remarks(held.skill.id))
    memory.reviews.pin("release", by="ann", reason="the only one that works")
    assert pinned(memory.context.store.remarks(held.skill.id))
    with raises(Mistake, "already_pinned"):
        memory.reviews.pin("release", by="ann")
    memory.reviews.pin("release", by="ann", off=True)
    assert not pinned(memory.context.store.remarks(held.skill.id))
    with raises(Mistake, "not_pinned"):
        memory.reviews.pin("release", by="ann", off=True)


@pytest.mark.parametrize(
    "reason",
    ["undone: the build is green again", "undone", "rolled back to last week's way", "invalid", "policy: fine"],
)
def test_a_person_s_words_are_never_read_as_a_code(memory: Tacit, reason: str) -> None:
    first = written(memory, "make build", "make push")
    memory.review(first, "reject", by="ann", reason=reason)
    move = memory.context.store.transitions(first)[-1]
    assert stored_sentence(move.reason) == reason
    assert not any(has_reason(move, code) for code in GateReason if code is not GateReason.PERSONS_WORDS)
    [undone] = memory.reviews.undo("release", by="ann")
    assert has_reason(undone, GateReason.UNDONE)
    assert memory.version(first).status is Status.CANDIDATE


def test_an_old_sentence_is_still_read_as_its_code(memory: Tacit) -> None:
    first = memory.version(written(memory, "make build", "make push"))
    move = first.transition_to(Status.REJECTED, "undone: approve by a person", by="ann", at=NOW)
    assert has_reason(move, GateReason.UNDONE)


def test_a_secret_in_the_reason_of_a_pin_is_not_stored(memory: Tacit) -> None:
    approve(memory, written(memory, "make build", "make push"))
    key = "AKIA" + "QYLPMN5HJXKWVTZB"
    assert key not in memory.reviews.pin("release", by="ann", reason=f"needs {key}").text
