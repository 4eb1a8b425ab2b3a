"""A person's decision is bound to the exact content, and follows the lifecycle."""

from __future__ import annotations

import pytest

from tacit.domain.coded_reason import coded
from tacit.domain.errors import IllegalTransition, Mistake, StaleVersion
from tacit.domain.lifecycle import Status
from tacit.gate import Review, decide
from tacit.gate.findings import GateReason
from tests.raising import raises
from tests.unit.making import NOW, content, stored


@pytest.mark.parametrize(
    ("before", "decision", "after"),
    [
        (Status.CANDIDATE, "approve", Status.TRIAL),
        (Status.QUARANTINED, "approve", Status.TRIAL),
        (Status.CANDIDATE, "reject", Status.REJECTED),
        (Status.QUARANTINED, "reject", Status.REJECTED),
        (Status.TRIAL, "retire", Status.RETIRED),
        (Status.TRUSTED, "retire", Status.RETIRED),
        (Status.STALE, "retire", Status.RETIRED),
        (Status.RETIRED, "restore", Status.TRIAL),
        (Status.STALE, "restore", Status.TRIAL),
        (Status.REJECTED, "reopen", Status.CANDIDATE),
        (Status.TRIAL, "reopen", Status.CANDIDATE),
    ],
)
def test_a_decision_becomes_the_transition_that_carries_it_out(before, decision, after):
    held = stored(status=before)
    made = decide(held, decision, by="ann", at=NOW, reason="looks right", content_hash=held.version.hash)
    assert (made.before, made.after, made.by, made.reason) == (before, after, "ann", "looks right")
    assert (made.version_id, made.content_hash, made.at) == (held.version.id, held.version.hash, NOW)


@pytest.mark.parametrize(
    ("before", "decision", "code"),
    [
        (Status.TRIAL, "approve", "already_approved"),
        (Status.TRUSTED, "approve", "already_approved"),
        (Status.REJECTED, "approve", "illegal_transition"),
        (Status.TRIAL, "reject", "illegal_transition"),
        (Status.RETIRED, "reject", "illegal_transition"),
        (Status.CANDIDATE, "retire", "illegal_transition"),
        (Status.CANDIDATE, "restore", "not_restorable"),
        (Status.REJECTED, "restore", "not_restorable"),
        (Status.TRIAL, "restore", "not_restorable"),
        (Status.QUARANTINED, "reopen", "illegal_transition"),
    ],
)
def test_a_decision_that_the_lifecycle_does_not_allow_is_refused_with_a_next_step(before, decision, code):
    with raises(IllegalTransition, code) as refused:
        decide(stored(status=before), decision, by="ann", at=NOW)
    assert refused.value.hint


def test_a_decision_on_other_content_than_was_seen_is_refused():
    seen, now = stored(status=Status.CANDIDATE), stored(content(body="changed"), status=Status.CANDIDATE)
    with raises(StaleVersion, "stale_version") as refused:
        decide(now, Review.APPROVE, by="ann", at=NOW, content_hash=seen.version.hash)
    assert now.version.id in refused.value.hint


@pytest.mark.parametrize("by", ["", "  "])
def test_a_decision_needs_a_name(by):
    with raises(Mistake, "reviewer_missing"):
        decide(stored(status=Status.CANDIDATE), "approve", by=by, at=NOW)


def test_an_unknown_decision_is_a_mistake_that_names_the_known_ones():
    with raises(Mistake, "unknown_decision") as refused:
        decide(stored(), "bless", by="ann", at=NOW)
    assert all(decision in refused.value.hint for decision in Review)


def test_a_decision_without_a_reason_says_who_decided():
    assert decide(stored(status=Status.CANDIDATE), "approve", by="ann", at=NOW).reason == str(
        coded(GateReason.DECIDED_BY_PERSON, decision="approve")
    )
