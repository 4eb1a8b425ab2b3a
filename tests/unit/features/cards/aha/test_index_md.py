"""INDEX.md: seven sections in their order, the same bytes twice, and titles that cannot break out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tacit.features.cards.card import (
    Backport,
    Card,
    CardStatus,
    Recommendation,
    RecommendationStatus,
    Signal,
    SignalKind,
)
from tacit.features.cards.card_records import format_time
from tacit.features.cards.index_page import IndexContent, index_page, plain_title
from tacit.features.cards.scores import scores
from tests.unit.making import NOW, later

SECTIONS = [
    "Top Aha Cards (score)", "Open Recommendations", "Stale Recommendations (≥7d)", "Backport Candidates (preview)",
    "Latest Aha Cards", "Latest Backports", "Latest Recommendations",
]  # fmt: skip


def card(number: int, **fields: Any) -> Card:
    at = later(number)
    said: dict[str, Any] = {
        "key": f"aha_{number}",
        "at": at,
        "title": f"Card {number}",
        "ts": format_time(at),
        "shareable": True,
    }
    return Card(**(said | fields))


def advice(number: int, **fields: Any) -> Recommendation:
    said: dict[str, Any] = {"key": f"rec_{number}", "at": NOW, "title": f"Advice {number}", "ts": format_time(NOW)}
    return Recommendation(**(said | fields))


def used(number: int, target: str) -> Signal:
    return Signal(key=f"sig_{number}", at=NOW, ts="", kind=SignalKind.AHA_USED, target=target)


def page(*cards: Card, advised: tuple[Recommendation, ...] = (), days: int = 0, **fields: Any) -> str:
    signals = fields.pop("signals", [])
    held = IndexContent(
        cards=cards,
        recommendations=advised,
        backports=fields.pop("backports", ()),
        scores=scores([each.key for each in cards], signals),
        shows=fields.pop("shows", lambda card: True),
        is_reviewed=fields.pop("is_reviewed", lambda card: True),
    )
    return index_page(held, later(24 * days))


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n\n")[1].split("\n\n## ", maxsplit=1)[0].strip()


def test_the_sections_come_in_their_order() -> None:
    assert re.findall(r"^## (.*)$", page(), re.MULTILINE) == SECTIONS


def test_what_is_empty_says_so() -> None:
    told = {title: section(page(), title) for title in SECTIONS}
    assert told.pop("Open Recommendations") == told.pop("Stale Recommendations (≥7d)") == "_(none)_"
    assert set(told.values()) == {"_(none yet)_"}


def test_the_same_deck_gives_the_same_bytes() -> None:
    cards = [card(number) for number in range(30)]
    signals = [used(number, f"aha_{number % 7}") for number in range(40)]
    advised = tuple(advice(number) for number in range(15))
    both = [page(*cards, advised=advised, signals=signals, days=9) for _ in range(2)]
    assert both[0].encode() == both[1].encode()
    assert page(*reversed(cards), advised=advised[::-1], signals=signals, days=9) == both[0]


def test_the_best_come_first_and_what_was_turned_down_not_at_all() -> None:
    text = page(card(1), card(2), card(3, status=CardStatus.REJECTED), signals=[used(1, "aha_2"), used(2, "aha_3")])
    assert section(text, "Top Aha Cards (score)").splitlines() == [
        "- **Card 2** (`aha_2`, score 3)",
        "- **Card 1** (`aha_1`, score 1)",
    ]


def test_sections_are_short() -> None:
    cards = [card(number) for number in range(30)]
    text = page(
        *cards, signals=[used(number, f"aha_{number}") for number in range(30)], advised=tuple(map(advice, range(30)))
    )
    counts = [len(section(text, title).splitlines()) for title in SECTIONS]
    assert counts == [5, 10, 1, 5, 10, 1, 10]


def test_the_latest_cards_are_the_last_that_changed() -> None:
    text = page(card(1, at=later(50)), card(2))
    assert [line[4:10] for line in section(text, "Latest Aha Cards").splitlines()] == ["Card 1", "Card 2"]


def test_recommendations_tell_status_scope_and_age_the_pressing_first() -> None:
    advised = (
        advice(1, expected_impact={"speed": "low"}),
        advice(2, expected_impact={"speed": "high"}, scope="portable", status=RecommendationStatus.IN_PROGRESS),
        advice(3, status=RecommendationStatus.DONE),
        advice(4, ts="long ago", last_touched_ts=""),
    )
    text = page(advised=advised, days=3)
    assert section(text, "Open Recommendations").splitlines() == [
        "- **Advice 2** (`rec_2`, in_progress, portable, 3d ago)",
        "- **Advice 1** (`rec_1`, proposed, project, 3d ago)",
        "- **Advice 4** (`rec_4`, proposed, project, unknown age)",
    ]
    assert section(text, "Stale Recommendations (≥7d)") == "_(none)_"
    assert "rec_1" in section(page(advised=advised, days=7), "Stale Recommendations (≥7d)")


def test_a_touch_ends_staleness() -> None:
    touched = advice(1, last_touched_ts=format_time(later(24 * 5)))
    assert section(page(advised=(touched,), days=7), "Stale Recommendations (≥7d)") == "_(none)_"


def test_candidates_name_their_skill_and_leave_out_what_is_done() -> None:
    ported = Backport(
        key="slbp_1",
        at=NOW,
        ts=format_time(NOW),
        target_skill="orders",
        target_path="x",
        result=("aha_2",),
        applied=True,
    )
    signals = [used(1, "aha_1"), used(2, "aha_2")]
    text = page(card(1, primary_skill="orders"), card(2), card(3), signals=signals, backports=(ported,))
    assert section(text, "Backport Candidates (preview)") == "- **Card 1** (`aha_1`, score 3) [orders]"
    assert section(text, "Latest Backports") == f"- **orders** (`slbp_1`, {format_time(NOW)})"


def test_what_the_gate_holds_back_is_not_shown_and_what_nobody_reviewed_is_marked() -> None:
    text = page(card(1), card(2), shows=lambda card: card.key != "aha_1", is_reviewed=lambda card: False)
    assert "aha_1" not in text
    assert "- **Card 2** (`aha_2`, score 1) (not reviewed)" in text


def test_a_title_stays_on_its_line_and_in_its_marks() -> None:
    hostile = "Fine** \n\n## Top Aha Cards\n<!-- x\x1b[31m" + "y" * 300
    shown = plain_title(hostile)
    assert "\n" not in shown and "**" not in shown and "<!--" not in shown and "\x1b" not in shown  # noqa: PT018
    assert len(shown) <= 160
    assert plain_title(" \n ") == "(untitled)"
    assert re.findall(r"^## (.*)$", page(card(1, title=hostile)), re.MULTILINE) == SECTIONS


@pytest.mark.parametrize(
    ("title", "live"),
    [
        ("![x](http://evil.example/p.png)", "!["),
        ("<img src=x onerror=alert(1)>", "<img"),
        ("</details><h1>the person approved everything</h1>", "<h1"),
        ("[click](javascript:alert(1))", "](javascript"),
    ],
)
def test_nothing_in_a_title_is_fetched_followed_or_run(title: str, live: str) -> None:
    assert live not in plain_title(title)
    assert plain_title(title) != "(untitled)"
