"""How pieces come into files and out again: what a person wrote stays, and broken files are told, not guessed at."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.domain.errors import Mistake, StoreOutage
from tacit.features.cards.backport.bundle import put_back, rollback_decisions
from tacit.features.cards.backport.edit_plan import (
    BackportStamp,
    KnowledgePiece,
    block_print,
    brief,
    full,
    plan_edits,
    plan_removal,
)
from tacit.features.cards.backport.markers import BLOCK_END, CARD_END, card_ids, is_safe_id, read_markers
from tacit.features.cards.backport.targets import Target, TargetKind, fingerprint
from tests.raising import raises

STAMP = BackportStamp(backport_id="slbp_20260102T030405Z_0a1b2c", generated_at="2026-01-02T03:04:05Z")
LATER = BackportStamp(backport_id="slbp_20260103T030405Z_ffffff", generated_at="2026-01-03T03:04:05Z")
AGENTS = Target(kind=TargetKind.INSTRUCTIONS, name="AGENTS.md", path="AGENTS.md", main="AGENTS.md")
PAGE = Target(kind=TargetKind.PAGE, name="page.md", path="page.md", main="page.md")
SKILL = Target(
    kind=TargetKind.SKILL, name="s", path="s", main="s/SKILL.md", reference="s/references/self-learning-aha.md"
)
ONE = KnowledgePiece(
    id="aha_one", title="One", when="Always", problem="It broke.", steps=("Mend it", "Look again"), tags=("a", "b")
)
TWO = KnowledgePiece(id="aha_two", title="Two")
TEXTS = st.one_of(
    st.sampled_from(
        [b"", b"\n", b"# A", b"# A\n", b"# A\r\n", b"# A\r\nb", b"\xef\xbb\xbf# A\n", b"a\n\n\n", b"a\rb\r", b"\r\n"]
    ),
    st.text(alphabet=st.sampled_from(list("ab#\n\r \t-é\u2028")), max_size=40).map(str.encode),
)


def _after(target: Target, text: bytes | None, *pieces: KnowledgePiece, stamp: BackportStamp = STAMP) -> bytes:
    (change,) = plan_edits(target, {target.main: text}, pieces, stamp=stamp).changes
    assert change.after is not None
    return change.after


@settings(max_examples=150)
@given(TEXTS, st.sampled_from([AGENTS, PAGE]))
def test_a_text_keeps_its_bytes_and_gets_them_all_back(text: bytes, target: Target) -> None:
    once = _after(target, text, ONE)
    twice = _after(target, once, TWO, stamp=LATER)
    assert once.startswith(text)
    assert card_ids(twice.decode()) == ["aha_one", "aha_two"]
    assert put_back(rollback_decisions(once, twice), twice) == once
    assert put_back(rollback_decisions(text, once), once) == text
    if text and not text.endswith(b"\n"):
        assert not twice.endswith(b"\n")


@settings(max_examples=150)
@given(TEXTS, st.sampled_from([AGENTS, PAGE]))
def test_by_its_markers_a_piece_goes_and_the_text_around_it_stays(text: bytes, target: Target) -> None:
    once = _after(target, text, ONE)
    twice = _after(target, once, TWO, stamp=LATER)
    (change,) = plan_removal(target, {target.main: twice}, STAMP.backport_id, replaced={}, created=())
    assert change.after is not None
    assert card_ids(change.after.decode()) == ["aha_two"]
    assert change.after.startswith(text)
    (last,) = plan_removal(target, {target.main: change.after}, LATER.backport_id, replaced={}, created=())
    assert (last.after or b"").split() == text.split()


def test_what_a_piece_says_is_laid_out_for_people() -> None:
    assert full(ONE, "slbp_x").split("\n") == [
        "<!-- self-learning:aha:start id=aha_one backport_id=slbp_x -->",
        "## One",
        "- **ID:** `aha_one`",
        "- **When to use:** Always",
        "- **Tags:** a, b",
        "",
        "**Problem**",
        "",
        "It broke.",
        "",
        "**Solution**",
        "- Mend it",
        "- Look again",
        "",
        CARD_END,
        "",
    ]
    assert brief(ONE, "slbp_x").split("\n")[1:4] == ["- **One**: Always", "  - Mend it", "  - Look again"]
    assert brief(KnowledgePiece(id="x", title="", problem="a\n# b\n\n```\ncode"), "slbp_x").split("\n")[1:-2] == [
        "- **(untitled)**",
        "  - a",
        "    # b",
        "",
        "    ```",
        "    code",
        "    ```",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!-- b --> c", "a &lt;!-- b --&gt; c"),
        ("# not a heading", "\\# not a heading"),
        ("- not a list", "\\- not a list"),
        ("> not a quotation", "\\> not a quotation"),
        ("---", "\\---"),
        ("**ID:** `x`", r"\*\*ID:\*\* `x`"),
        ("[a]: http://elsewhere.example", "\\[a]: http://elsewhere.example"),
        ("zero\u200bwidth", "zerowidth"),
        ("plain `code` -- here", "plain `code` -- here"),
    ],
)
def test_signs_that_would_act_lose_their_effect(text: str, shown: str) -> None:
    assert f"- {shown}\n" in full(KnowledgePiece(id="x", title="t", steps=(text,)), "slbp_x")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"a\n{BLOCK_END}\n", "is not opened"),
        ("<!-- self-learning:backport:start id=x -->\n", "is not closed"),
        (f"{BLOCK_END}\n<!-- self-learning:backport:start id=x -->\n", "closed before it is opened"),
        (f"<!-- self-learning:backport:start id=x -->\n{BLOCK_END}\n" * 2, "more than one block"),
        ("<!-- self-learning:aha:start id=x -->\ntext\n", "piece x is not closed"),
        (f"{CARD_END}\n", "closed that was not opened"),
        (f"<!-- self-learning:aha:start id=x -->\n{CARD_END}\n" * 2, "stands there twice"),
        (
            f"<!-- self-learning:aha:start id=x -->\n<!-- self-learning:aha:start id=y -->\n{CARD_END}\n",
            "piece x is not closed",
        ),
    ],
)
def test_broken_markers_are_told_and_nothing_is_planned(text: str, why: str) -> None:
    with raises(Mistake, "broken_markers") as caught:
        plan_edits(AGENTS, {AGENTS.main: text.encode()}, [ONE], stamp=STAMP)
    assert "AGENTS.md" in caught.value.message
    assert any(why in problem for problem in read_markers(text).problems)


@pytest.mark.parametrize("text", ["# A\n\n```sh\nmake\n", "# A\n<!-- never closed\n", "~~~~\n~~~\n"])
def test_nothing_is_put_behind_a_text_that_ends_within_something(text: str) -> None:
    with raises(Mistake, "unclosed_end"):
        plan_edits(AGENTS, {AGENTS.main: text.encode()}, [ONE], stamp=STAMP)


@pytest.mark.parametrize("data", [b"\xff\xfea\x00", b"a\x00b", b"caf\xe9", b"x" * (5 << 20)])
def test_what_is_no_text_is_no_target(data: bytes) -> None:
    with pytest.raises(Mistake):
        plan_edits(AGENTS, {AGENTS.main: data}, [ONE], stamp=STAMP)


def test_a_skill_whose_block_was_removed_by_hand_gets_it_again() -> None:
    held = {SKILL.main: b"# S\n", SKILL.reference: None}
    done = {change.path: change.after for change in plan_edits(SKILL, held, [ONE], stamp=STAMP).changes}
    again = plan_edits(SKILL, {SKILL.main: b"# S\n", SKILL.reference: done[SKILL.reference]}, [ONE], stamp=LATER)
    assert [change.path for change in again.changes] == [SKILL.main]
    assert (again.skill_change, again.added) == ("appended_block", ())


def test_a_reference_file_without_a_header_gets_one() -> None:
    held = {SKILL.main: b"# S\n", SKILL.reference: b"# Notes of ours\n"}
    text = plan_edits(SKILL, held, [ONE], stamp=STAMP).reference
    assert text.split()[:2] == ["<!--", "self-learning:aha-file"]
    assert "\n-->\n\n# Notes of ours\n\n<!-- self-learning:aha:start id=aha_one" in text


def test_only_a_block_that_nobody_touched_is_written_anew() -> None:
    text = _after(AGENTS, b"", ONE)
    newer = KnowledgePiece(id="aha_one", title="One", steps=("Other",))
    known = {"aha_one": block_print(brief(ONE, STAMP.backport_id))}
    held = {AGENTS.main: text}
    assert plan_edits(AGENTS, held, [newer], stamp=LATER, refresh=True, written=known).refreshed == ("aha_one",)
    edited = {AGENTS.main: text.replace(b"Mend it", b"Mind it")}
    planned = plan_edits(AGENTS, edited, [newer], stamp=LATER, refresh=True, written=known)
    assert (planned.by_hand, planned.refreshed, planned.changes) == (("aha_one",), (), ())


def test_windows_line_ends_do_not_make_a_block_an_edited_one() -> None:
    text = _after(AGENTS, b"# A\r\n", ONE)
    assert plan_edits(AGENTS, {AGENTS.main: text}, [ONE], stamp=LATER, refresh=True).changes == ()


@pytest.mark.parametrize("identity", ["aha_1", "s_0f", "a", "A.b-c_d"])
def test_ids_that_markers_hold(identity: str) -> None:
    assert is_safe_id(identity)
    assert card_ids(full(KnowledgePiece(id=identity, title="t"), "slbp_x")) == [identity]


@pytest.mark.parametrize("identity", ["", "a b", "a-", "-a", "a.", "a>b", "é", "a\n", "x" * 200])
def test_ids_that_markers_do_not_hold(identity: str) -> None:
    assert not is_safe_id(identity)


def test_a_way_back_that_leads_elsewhere_is_told() -> None:
    way = rollback_decisions(b"one\n", b"two\n") | {"was": fingerprint(b"three\n")}
    with raises(StoreOutage, "store_outage"):
        put_back(way, b"two\n")


def test_the_way_back_of_a_new_file_is_its_removal() -> None:
    assert put_back(rollback_decisions(None, b"new\n"), b"new\n") is None
