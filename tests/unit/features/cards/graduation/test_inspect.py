"""Inspecting a target tells what its markers say, and never changes or guesses."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.features.cards.backport.edit_plan import BackportStamp, KnowledgePiece, plan_edits
from tacit.features.cards.backport.graduation import inspect_target
from tacit.features.cards.backport.markers import REFERENCE, header_meta, header_span, read_markers
from tacit.features.cards.backport.targets import Target, TargetKind

STAMP = BackportStamp(backport_id="slbp_20260102T030405Z_0a1b2c", generated_at="2026-01-02T03:04:05Z")
SKILL = Target(kind=TargetKind.SKILL, name="d", path="d", main="d/SKILL.md", reference=f"d/{REFERENCE}")
AGENTS = Target(kind=TargetKind.INSTRUCTIONS, name="AGENTS.md", path="AGENTS.md", main="AGENTS.md")
PIECES = [KnowledgePiece(id="aha_one", title="One"), KnowledgePiece(id="aha_two", title="Two")]


def _inspected(target: Target, **asked: str) -> dict[str, Any]:
    held = dict.fromkeys(target.files) | {target.main: b"# D\n"}
    done = {change.path: change.after for change in plan_edits(target, held, PIECES, stamp=STAMP).changes}
    return inspect_target(target, held | done, **asked)


def test_an_untouched_skill_holds_nothing() -> None:
    told = inspect_target(SKILL, {SKILL.main: b"# D\n", SKILL.reference: None})
    assert told["skill_md_markers"] == {"has_backport_start": False, "has_backport_end": False, "backport_ids": []}
    assert told["aha_reference"] == {
        "exists": False,
        "header_meta": {},
        "card_count": 0,
        "card_ids": [],
        "legacy_ids": False,
    }
    assert (told["found"], told["problems"], told["hook_markers"]) == ({}, [], 0)


@pytest.mark.parametrize("target", [SKILL, AGENTS])
def test_a_target_tells_its_backports_and_cards(target: Target) -> None:
    told = _inspected(target)
    assert told["skill_md_markers"]["backport_ids"] == [STAMP.backport_id]
    assert told["aha_reference"]["card_ids"] == ["aha_one", "aha_two"]
    assert told["by_backport"] == {STAMP.backport_id: ["aha_one", "aha_two"]}


def test_a_header_tells_who_wrote_the_file_and_when() -> None:
    meta = _inspected(SKILL)["aha_reference"]["header_meta"]
    assert meta == {
        "backport_id": STAMP.backport_id,
        "generated_at": STAMP.generated_at,
        "card_ids": "aha_one,aha_two",
    }
    assert _inspected(AGENTS)["aha_reference"]["header_meta"] == {}


@pytest.mark.parametrize(("asked", "found"), [("aha_two", True), ("aha_three", False)])
def test_a_card_is_looked_for_with_the_way_to_take_it_out(asked: str, found: bool) -> None:
    told = _inspected(SKILL, card_id=asked)
    assert told["requested"] == {"backport_id": None, "aha_id": asked}
    assert told["found"] == {"aha_id": found}
    assert any(f"id={asked}" in hint for hint in told["remove_instructions"])


@pytest.mark.parametrize(("asked", "found"), [(STAMP.backport_id, True), ("slbp_other", False)])
def test_a_backport_is_looked_for_with_the_way_to_take_it_out(asked: str, found: bool) -> None:
    told = _inspected(SKILL, backport_id=asked)
    assert told["found"] == {"backport_id": found}
    assert f"--undo {asked}`" in told["remove_instructions"][0]


def test_what_is_broken_is_told_with_its_file() -> None:
    held = {
        SKILL.main: b"<!-- self-learning:backport:start id=x -->\n",
        SKILL.reference: b"<!-- self-learning:aha:start id=y -->\n",
    }
    told = inspect_target(SKILL, held)
    assert told["problems"] == ["d/SKILL.md: the block is not closed", f"d/{REFERENCE}: the piece y is not closed"]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- self-learning:aha-file\nbackport_id=a\ncard_ids=x\n-->\n\n# T\n",
        "\n  <!--self-learning:aha-file\r\nbackport_id=a\r\ncard_ids=x\r\n-->\r\n\r\n# T\r\n",
    ],
)
def test_a_header_is_found_however_it_is_spaced(text: str) -> None:
    assert header_meta(text) == {"backport_id": "a", "card_ids": "x"}
    span = header_span(text)
    assert span is not None
    assert text[span[1] :].startswith("# T")


def test_a_header_in_the_middle_is_no_header_of_the_file() -> None:
    assert header_span("# T\n<!-- self-learning:aha-file\na=b\n-->\n") is None


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("<!--self-learning:backport:start   id=a-->\nx\n  <!-- self-learning:backport:end   -->\n", ("a",)),
        ("<!-- self-learning:backport:start -->\nx\n<!-- self-learning:backport:end -->", ()),
        ("text <!-- self-learning:backport:start id=a --> text\n", ()),
        ("    ```\n<!-- self-learning:backport:start id=a -->\n    ```\n", ()),
    ],
)
def test_markers_are_read_as_they_may_be_spaced(text: str, ids: tuple[str, ...]) -> None:
    marks = read_markers(text)
    assert (marks.backport_ids, marks.problems) == (ids, ())


def test_code_within_a_piece_never_hides_its_end() -> None:
    """As the other tool writes pieces, a text may leave a block of code open."""
    text = "<!-- self-learning:aha:start id=a -->\n```\n<!-- self-learning:aha:end -->\n<!-- self-learning:hook:start -->\n"
    marks = read_markers(text)
    assert ([card.id for card in marks.cards], marks.hooks, marks.open_end) == (["a"], 1, "")
