"""The table of statuses: every step that is not in it is refused."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import UTC, datetime

import pytest

from tacit.domain.errors import IllegalTransition
from tacit.domain.lifecycle import LIFECYCLE, RECALLABLE, Status, Transition, check_transition
from tests.raising import raises

EDGES = {
    (None, "candidate"), (None, "quarantined"), (None, "rejected"), (None, "trial"),
    ("candidate", "trial"), ("candidate", "quarantined"), ("candidate", "rejected"),
    ("quarantined", "trial"), ("quarantined", "rejected"),
    ("rejected", "candidate"), ("rejected", "quarantined"),
    ("trial", "trusted"), ("trial", "stale"), ("trial", "retired"), ("trial", "quarantined"), ("trial", "candidate"),
    ("trusted", "trial"), ("trusted", "stale"), ("trusted", "retired"), ("trusted", "quarantined"), ("trusted", "candidate"),
    ("stale", "trial"), ("stale", "retired"), ("stale", "quarantined"),
    ("retired", "trial"), ("retired", "stale"),
}  # fmt: skip
EVERY_STEP = list(itertools.product([None, *Status], Status))


def test_the_table_is_the_one_that_was_agreed():
    assert {(before, after) for before, afters in LIFECYCLE.items() for after in afters} == EDGES


def test_every_status_has_a_row():
    assert set(LIFECYCLE) == {None, *Status}


@pytest.mark.parametrize(("before", "after"), [step for step in EVERY_STEP if step in EDGES])
def test_a_step_of_the_table_is_allowed(before, after):
    check_transition(before, after)


@pytest.mark.parametrize(("before", "after"), [step for step in EVERY_STEP if step not in EDGES])
def test_a_step_outside_the_table_is_refused_and_the_legal_ones_are_named(before, after):
    with raises(IllegalTransition, "illegal_transition") as refused:
        check_transition(before, after)
    assert refused.value.message.endswith(f" {after}")
    assert all(status in refused.value.hint for status in LIFECYCLE[before])


def test_the_refusal_says_where_a_version_stands_and_what_it_may_become():
    for before, now, allowed in (
        (Status.QUARANTINED, "quarantined", "rejected, trial"),
        (None, "new", "candidate, quarantined, rejected, trial"),
    ):
        with raises(IllegalTransition, "illegal_transition") as refused:
            check_transition(before, Status.TRUSTED)
        assert {now, "trusted"} <= set(refused.value.message.split())
        assert now in refused.value.hint
        assert refused.value.hint.endswith(f": {allowed}")


def test_only_trial_and_trusted_can_be_recalled():
    assert {Status.TRIAL, Status.TRUSTED} == RECALLABLE


def test_trust_is_earned_in_trial_only():
    assert [before for before, afters in LIFECYCLE.items() if Status.TRUSTED in afters] == [Status.TRIAL]


def test_nothing_is_a_dead_end():
    assert all(LIFECYCLE[status] for status in Status)


def test_what_was_rejected_or_retired_is_never_recallable_in_one_step_without_a_decision():
    assert not LIFECYCLE[Status.REJECTED] & RECALLABLE
    assert LIFECYCLE[Status.RETIRED] & RECALLABLE == {Status.TRIAL}


def test_a_transition_that_was_kept_keeps_its_id():
    at = datetime(2026, 3, 1, tzinfo=UTC)
    made = Transition(version_id="v", content_hash="h", before=None, after=Status.TRIAL, reason="r", by="ann", at=at)
    kept = dataclasses.replace(made, reason="other words")
    assert made.id.startswith("x_")
    assert kept.id == made.id
