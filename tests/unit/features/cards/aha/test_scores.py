"""Scores, priorities and candidates, as the files' readers know them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tacit.features.cards.card import Backport, Card, CardStatus, Recommendation, Signal, SignalKind
from tacit.features.cards.scores import (
    artifact_hint,
    backported_ids,
    counted,
    is_candidate,
    priority,
    score_of,
    scores,
)
from tests.unit.making import NOW


def card(key: str = "aha_1", **fields: Any) -> Card:
    return Card(key=key, at=NOW, title="T", ts="", **fields)


def signal(number: int, kind: str, target: str = "aha_1") -> Signal:
    return Signal(key=f"sig_{number}", at=NOW, ts="", kind=SignalKind(kind), target=target)


def test_each_kind_of_signal_has_its_weight_and_is_told() -> None:
    kinds = ["aha_used", "aha_used", "aha_recalled", "aha_reinforced", "aha_promoted", "aha_backported"]
    score = score_of(SignalKind(kind) for kind in kinds)
    assert score.total == 1 + 4 + 1 + 1 + 1 + 2
    assert score.explanation == (
        "Score 10 = base 1 + aha_used×2 (4) + aha_recalled×1 (1) + aha_reinforced×1 (1) + aha_promoted×1 (1)"
        " + aha_backported×1 (2)"
    )
    assert score.counts["aha_used"] == 2


def test_a_card_that_nothing_happened_to_scores_one() -> None:
    score = scores(["aha_1"], [])["aha_1"]
    assert (score.total, score.explanation, score.shows_use) == (1, "Score 1 = base 1", False)


def test_signals_of_others_and_of_recommendations_count_for_nothing() -> None:
    found = scores(
        ["aha_1"], [signal(1, "aha_used", "aha_2"), signal(2, "rec_used", "rec_1"), signal(3, "aha_recalled")]
    )
    assert {key: score.total for key, score in found.items()} == {"aha_1": 2}


@pytest.mark.parametrize(
    ("impact", "points"),
    [
        ({"speed": "high", "quality": "low"}, 31), ({"speed": " HIGH ", "quality": "medium"}, 32), ({}, 0),
        ({"quality": "high"}, 3), ({"speed": "immense"}, 0), ({"speed": "low"}, 10),
    ],
)  # fmt: skip
def test_speed_weighs_ten_times_quality(impact: Mapping[str, str], points: int) -> None:
    assert priority(Recommendation(key="rec_1", at=NOW, ts="", title="T", expected_impact=impact)) == points


@pytest.mark.parametrize(
    ("kinds", "fields", "is_one"),
    [
        ([], {}, False),
        (["aha_used"], {}, True),
        (["aha_reinforced"], {}, True),
        (["aha_recalled"] * 2, {}, False),
        (["aha_recalled"] * 3, {}, True),
        ([], {"status": CardStatus.ACCEPTED}, False),
        (["aha_used"], {"shareable": False}, False),
        (["aha_used"], {"status": CardStatus.REJECTED}, False),
        (["aha_used"], {"status": CardStatus.DEPRECATED}, False),
        (["aha_used"], {"status": CardStatus.BACKPORTED}, False),
        (["aha_used"], {"key": "aha_done"}, False),
    ],
)
def test_a_candidate_is_shareable_proven_and_not_done(kinds: list[str], fields: dict[str, Any], is_one: bool) -> None:
    score = score_of(SignalKind(kind) for kind in kinds)
    assert is_candidate(card(**fields), score, {"aha_done"}) is is_one


def test_a_card_that_a_person_accepted_is_a_candidate_and_one_that_only_says_so_is_none() -> None:
    accepted, score = card(status=CardStatus.ACCEPTED), score_of([])
    assert is_candidate(accepted, score, (), is_reviewed=True)
    assert not is_candidate(accepted, score, ())
    assert not is_candidate(card(), score, (), is_reviewed=True)


def backport(number: int, **fields: Any) -> Backport:
    return Backport(key=f"slbp_{number}", at=NOW, ts="", target_skill="s", target_path="s", **fields)


def test_what_an_applied_backport_holds_is_done_unless_it_was_undone() -> None:
    cards = [card("aha_1", status=CardStatus.BACKPORTED), card("aha_2")]
    ported = [
        backport(1, requested=("aha_2",), applied=True),
        backport(2, requested=("aha_3",), result=("aha_3", "aha_4"), applied=True),
        backport(3, requested=("aha_5",), applied=False),
        backport(4, requested=("aha_6",), applied=True, undone=True),
    ]
    assert backported_ids(cards, ported) == {"aha_1", "aha_2", "aha_3", "aha_4"}


@pytest.mark.parametrize(
    ("tags", "hint"),
    [
        (["sql-query"], "template"), (["Template", "schema"], "template"), (["schema"], "reference-file"),
        (["tooling"], "script"), (["docs"], "skill-md-snippet"), (["http"], "reference-file"), ([], "reference-file"),
    ],
)  # fmt: skip
def test_tags_hint_at_what_a_card_might_become(tags: list[str], hint: str) -> None:
    assert artifact_hint(tags) == hint


def test_a_backport_that_was_undone_counts_no_longer_and_one_that_stands_does() -> None:
    def told(target: str, kind: SignalKind) -> Signal:
        return Signal(key=f"sig_{target}_{kind}", at=NOW, ts="", kind=kind, target=target)

    signals = [told(key, SignalKind.AHA_BACKPORTED) for key in ("aha_1", "aha_2", "aha_3")]
    signals.append(told("aha_1", SignalKind.AHA_USED))
    ported = [
        backport(1, requested=("aha_1", "aha_2"), applied=True, undone=True),
        backport(2, requested=("aha_2",), applied=True),
        backport(3, requested=("aha_1",), applied=False),
    ]
    left = [(each.target, each.kind) for each in counted(signals, ported)]
    assert left == [("aha_2", "aha_backported"), ("aha_3", "aha_backported"), ("aha_1", "aha_used")]
