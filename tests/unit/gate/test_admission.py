"""Attempts captured again with trusted outcomes give the same skills as if they had been trusted at once."""

from __future__ import annotations

import tacit
from tacit.domain.candidate import GateDecision
from tests.unit.features.evaluate.test_learning_to_act import episodes

SHOWN = [("power",), ("valve",), ("water",)] * 4


def contents(memory: tacit.Tacit) -> set[str]:
    return {stored.version.hash for stored in memory.reviews.waiting()}


def test_what_was_captured_without_trust_is_learned_from_again_with_it() -> None:
    documents = episodes(SHOWN)
    at_once, late = tacit.open(":memory:"), tacit.open(":memory:")
    at_once.capture(tacit.read(documents), trust_outcomes=True)
    at_once.learn()
    late.capture(tacit.read(documents))
    doubted = late.learn()
    assert contents(late) < contents(at_once)
    assert doubted.trajectories == len(documents)
    captured = late.capture(tacit.read(documents), trust_outcomes=True)
    assert (captured.added, captured.known, captured.vouched) == ((), len(documents), len(documents))
    assert late.learn().trajectories == len(documents)
    assert contents(late) == contents(at_once)
    verdicts = late.context.store.verdicts(trajectory_id=late.context.store.episodes()[0].id)
    assert any(verdict.decision is GateDecision.REJECT and "unverified" in verdict.reasons for verdict in verdicts)
    assert list(late.archive.verify()) == []


def test_what_is_vouched_for_already_is_not_learned_from_again() -> None:
    documents = episodes(SHOWN)
    memory = tacit.open(":memory:")
    memory.capture(tacit.read(documents), trust_outcomes=True)
    memory.learn()
    for trust in (True, False):
        captured = memory.capture(tacit.read(documents), trust_outcomes=trust)
        assert (captured.known, captured.vouched) == (len(documents), 0)
        assert memory.learn().trajectories == 0
