"""`tacit recall --explain`: every skill that was weighed, with numbers that add up, safe to print."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tacit.domain.lifecycle import Status
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Scope
from tacit.domain.selection import Budget, Item, LeftOut, Query, Selection
from tacit.domain.skill import Kind, Skill
from tacit.recall.signals import WEIGHTS, combined_score, match_score
from tacit.surfaces.cli.recall import MOST, explained_parts, weighed
from tacit.surfaces.cli.report import print_parts
from tests.unit.store.samples import at, content, version_of

SIGNALS = {"relevance": 0.8, "words": 30.0, "meaning": 0.4, "reliability": 0.5}


def item(name: str, **signals: float) -> Item:
    made = content(name)
    held = {**SIGNALS, **signals}
    return Item(
        version=version_of(Skill.create(made, Scope(), at=at()), made),
        status=Status.TRIAL,
        score=combined_score(held),
        signals=held,
        reasons=("matches deploy", "not measured yet"),
        text="text",
        tokens=1,
    )


def left(name: str, reason: str, **signals: float) -> LeftOut:
    return LeftOut(
        code=ReasonCode.BELOW_THRESHOLD,
        version_id=f"v_{name}",
        name=name,
        reason=reason,
        score=combined_score(signals),
        signals=signals,
    )


GIVEN = Selection(
    query=Query(text="deploy"),
    items=(replace(item("first"), tied_with=("second",)), item("second", words=20.0)),
    standing=(item("always-so", words=0.0),),
    left_out=(
        left("weak", "less relevant", words=1.0),
        left("strong", "only 2 were asked for", words=15.0),
        left("barred", "is a norm"),
    ),
    confidence=0.8,
)


def shown(selection: Selection, *, width: int = 240) -> str:
    written = io.StringIO()
    print_parts(Console(file=written, color_system=None, width=width), explained_parts(selection))
    return written.getvalue()


def test_given_comes_first_then_the_rest_by_score_and_the_barred_last() -> None:
    rows = weighed(GIVEN)
    assert [row["name"] for row in rows] == ["first", "second", "always-so", "strong", "weak", "barred"]
    assert [row["given"] for row in rows] == [True, True, True, False, False, False]
    assert rows[-1]["evidence"] == {}


def test_the_nats_of_a_row_add_up_to_its_evidence() -> None:
    for row in weighed(GIVEN):
        assert sum(row["evidence"].values()) == pytest.approx(match_score(row["signals"]), abs=0.01)
        assert row["score"] == pytest.approx(combined_score(row["signals"]), abs=0.001)
        assert set(row["evidence"]) <= set(WEIGHTS)


def test_a_tie_is_named_in_the_result() -> None:
    assert weighed(GIVEN)[0]["why"].endswith(" second")
    assert "second" not in weighed(GIVEN)[1]["why"]


def test_a_person_sees_all_evidence_and_results() -> None:
    text = shown(GIVEN)
    assert "confidence 0.80" in text
    for shown_text in ("words", "meaning", "reliability", "only 2 were asked for", "matches deploy"):
        assert shown_text in text


WIDE = replace(
    GIVEN,
    items=(
        replace(
            item(
                "rotate-database-password-of-the-invoices", names=2.0, example=0.1, state=1.0, prominence=0.8, scope=1.0
            ),
            reasons=("matches password, database, change, billing and invoices",),
        ),
    ),
    left_out=(
        left("restore-postgres-backup", "does not fit into the 12 tokens left", words=4.0),
        left("elsewhere", "belongs to project:some-project-with-a-very-long-name"),
    ),
)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_in_a_narrow_terminal_no_result_is_cut(width: int) -> None:
    text = shown(WIDE, width=width)
    assert max(map(len, text.splitlines()[1:])) <= width
    together = "".join(text.split())
    for row in weighed(WIDE):
        assert "".join(row["why"].split()) in together


def test_an_abstention_is_explained() -> None:
    selection = replace(
        GIVEN, items=(), standing=(), reason="nothing is close enough", note="found by words alone: away"
    )
    text = shown(selection)
    assert selection.reason in text
    assert selection.note in text


def test_of_very_many_only_the_first_are_shown_to_a_person() -> None:
    many = tuple(left(f"skill-{number}", "less relevant", words=float(number + 1)) for number in range(MOST + 5))
    text = shown(replace(GIVEN, items=(), standing=(), left_out=many, reason="none"))
    assert "and 5 more" in text
    assert len(weighed(replace(GIVEN, items=(), standing=(), left_out=many))) == MOST + 5


def test_hostile_names_reach_no_terminal_as_they_are() -> None:
    hostile = left("[red]x[/red]\x1b]0;owned\x07", "because\x1b[2J [bold]", words=3.0)
    text = shown(replace(GIVEN, items=(), left_out=(hostile,), reason="[link]\x1b[31m"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]x[/red]" in text


def test_the_room_is_shown_for_each_kind_with_what_found_none() -> None:
    shares = (Budget(Kind.PROCEDURE, 1.0, 1400, 300, 2, 0), Budget(Kind.NORM, 0.25, 350, 340, 4, 3))
    lines = shown(replace(GIVEN, budgets=shares)).splitlines()
    heading = next(place for place, line in enumerate(lines) if line.startswith("kind"))
    assert lines[heading].split() == [
        "kind",
        "share",
        "tokens",
        "allowed",
        "tokens",
        "used",
        "given",
        "over",
        "budget",
    ]
    assert lines[heading + 1].split() == ["procedure", "100%", "1400", "300", "2", "0"]
    assert lines[heading + 2].split() == ["norm", "25%", "350", "340", "4", "3"]


def test_where_nothing_was_weighed_no_room_is_shown() -> None:
    assert "tokens allowed" not in shown(GIVEN)
