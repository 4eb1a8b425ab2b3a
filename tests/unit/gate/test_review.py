"""A person's decision is bound to the exact content, and follows the lifecycle."""

from __future__ import annotations

import pytest

from tacit.domain.errors import IllegalTransition, Mistake, StaleVersion
from tacit.domain.lifecycle import Status
from tacit.gate import Review, decide
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
    ("before", "decision", "hint"),
    [
        (Status.TRIAL, "approve", "nothing to do"),
        (Status.TRUSTED, "approve", "nothing to do"),
        (Status.REJECTED, "approve", "candidate"),
        (Status.TRIAL, "reject", "retired"),
        (Status.RETIRED, "reject", "trial"),
        (Status.CANDIDATE, "retire", "trial"),
        (Status.CANDIDATE, "restore", "only what is retired"),
        (Status.REJECTED, "restore", "reopen"),
        (Status.TRIAL, "restore", "only what is retired"),
        (Status.QUARANTINED, "reopen", "trial"),
    ],
)
def test_a_decision_the_lifecycle_does_not_know_is_refused_with_what_it_does(before, decision, hint):
    with pytest.raises(IllegalTransition) as refused:
        decide(stored(status=before), decision, by="ann", at=NOW)
    assert hint in refused.value.hint


def test_a_decision_on_other_content_than_was_seen_is_refused():
    seen, now = stored(status=Status.CANDIDATE), stored(content(body="changed"), status=Status.CANDIDATE)
    with pytest.raises(StaleVersion, match="not what was reviewed") as refused:
        decide(now, Review.APPROVE, by="ann", at=NOW, content_hash=seen.version.hash)
    assert now.version.id in refused.value.hint


@pytest.mark.parametrize("by", ["", "  "])
def test_a_decision_needs_a_name(by):
    with pytest.raises(Mistake, match=r"^a review needs the name of the person who decides$") as refused:
        decide(stored(status=Status.CANDIDATE), "approve", by=by, at=NOW)
    assert refused.value.hint == "pass --by NAME (or by=…)"


def test_an_unknown_decision_is_a_mistake_that_names_the_known_ones():
    with pytest.raises(Mistake, match="unknown decision 'bless'") as refused:
        decide(stored(), "bless", by="ann", at=NOW)
    assert refused.value.hint == "use one of: approve, reject, retire, restore, reopen"


@pytest.mark.parametrize(
    ("status", "decision", "message", "hint"),
    [
        (Status.TRUSTED, "approve", "`add-a-migration` is already trusted", "nothing to do"),
        (Status.REJECTED, "restore", "`add-a-migration` is rejected, not retired", "reopen it instead"),
        (
            Status.TRIAL,
            "restore",
            "`add-a-migration` is trial, not retired",
            "only what is retired or stale can be restored",
        ),
    ],
)
def test_a_refusal_says_where_the_version_stands(status, decision, message, hint):
    with pytest.raises(IllegalTransition) as refused:
        decide(stored(status=status), decision, by="ann", at=NOW)
    assert (str(refused.value), refused.value.hint) == (message, hint)


def test_a_decision_without_a_reason_says_who_decided():
    assert decide(stored(status=Status.CANDIDATE), "approve", by="ann", at=NOW).reason == "approve by a person"
