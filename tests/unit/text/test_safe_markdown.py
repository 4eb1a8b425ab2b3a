"""Foreign Markdown keeps its words and loses what a viewer would fetch or run by itself."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.safe_markdown import (
    chapters,
    clean,
    inert,
    inert_json,
    inert_line,
    shown,
    shown_json,
    shown_line,
    written_json,
)

LIVE_IMAGE = re.compile(r"(?<!\\)!\[")
REMOTE = "http://evil.example/p.png?d=1"

IMAGES = [
    f"![x]({REMOTE})",
    f"![x](<{REMOTE}>)",
    f"![]({REMOTE} 'title')",
    f"![a [b [c] d] e]({REMOTE})",
    f"![a `]` b]({REMOTE})",
    f"![x\ny]({REMOTE})",
    "![x](//evil.example/p)",
    "![x](&#104;ttp://evil.example/p)",
    "![x](https\\://evil.example/p)",
    f"![x][r]\n\n[r]: {REMOTE}",
    f"![r]\n\n[r]: {REMOTE}",
    f"![r][]\n\n> [r]: {REMOTE}",
    f"[![x]({REMOTE})](https://example.org)",
    f"a `` b\n`` ![x]({REMOTE}) `` c",
    f"\\` ![x]({REMOTE}) `",
    f"[x](`)![x]({REMOTE})`",
    f'<a title="`"> ![x]({REMOTE}) `',
    f"- item\n    ![x]({REMOTE})",
]


@pytest.mark.parametrize("text", IMAGES)
def test_no_remote_image_is_left_to_be_fetched(text: str) -> None:
    assert not LIVE_IMAGE.search(inert(text)), inert(text)
    assert inert(text).replace("!\\[", "![").replace("&lt;", "<") == text, "all of it can still be read"


@pytest.mark.parametrize(
    "text",
    [
        f"<img src={REMOTE}>", f"<IMG/SRC={REMOTE}>", "<iframe src=x>", "<script>x()</script>", "<link rel=x href=y>",
        "<svg onload=x()>", "<video poster=x>", "<object data=x>", "<embed src=x>", "<base href=x>", "<style>@import 'x'",
        "<meta http-equiv=refresh content=0>", "<div style='background:url(http://e)'>", "<a onclick=x()>t</a>",
        "<form action=x>", "<a href=javascript:x()>t</a>", "<javascript:x>", "<input src=x>", "<b\n onmouseover=x>",
    ],
)  # fmt: skip
def test_no_tag_is_left_that_fetches_or_runs(text: str) -> None:
    assert "<" not in inert(text).replace("</", "").partition("&lt;")[0], inert(text)
    assert inert(text).startswith("&lt;")


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))", "[x](JAVASCRIPT:alert(1))", "[x](&#106;avascript:alert(1))", "[x](<javascript:a>)",
        "[x](java\tscript:a)", "[x]( data:text/html;base64,AA)", "[x](vbscript:a)", "[x](command:run)", "[x](javascript\\:a)",
    ],
)  # fmt: skip
def test_no_link_is_left_that_runs_code(text: str) -> None:
    assert "](" not in inert(text)
    assert inert(text).replace("]\\(", "](").replace("&lt;", "<") == text
    assert inert("[x]: javascript:alert(1)") == "[x]\\: javascript:alert(1)"


@pytest.mark.parametrize(
    "address",
    ["https://e.example/?q={secret}", "http://e.example/a?d=$TOKEN", "//e.example/x#<data>", "https://e.example/?a=%s"],
)
def test_an_address_with_a_blank_to_fill_in_becomes_code(address: str) -> None:
    assert inert(f"Open {address} then") == f"Open `{address}` then"


@pytest.mark.parametrize(
    "text",
    [
        "See [the docs](https://example.org/a?b=c#d) and https://example.org/users/{id}.",
        "![diagram](references/flow.png) and ![two](a/b.svg)",
        f"`![x]({REMOTE})` is an image, `<img src=x>` a tag",
        f"```html\n<img src={REMOTE}>\n![x]({REMOTE})\n```\nthen",
        f"1. Do\n   ```\n   ![x]({REMOTE})\n   ```",
        f"~~~~\n```\n![x]({REMOTE})\n~~~~",
        "if a < b and c > d: vec![1, 2]; List<T>, <details>, <example>x</example>, <b>bold</b>, a <= b",
        "[x]: the footnote",
        "a [link](relative/path.md) and a [mail](mailto:a@example.org)",
        "",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert inert(text) == text


def test_markup_that_would_hide_the_marks_of_code_is_made_visible() -> None:
    text = f"<!--\n```\n-->\n<img src={REMOTE}>\n<!--\n```\n-->"
    assert inert(text).startswith("&lt;!--\n```"), "so the image behind it is code for every viewer"


@pytest.mark.parametrize(
    "opening",
    ["> ```\n> x\n", "- ```\n  x\n", "- ```\n  x\n\n", "1. a\n\n   ```\n   x\n\n", "> - ```\n>   x\n>\n> ",
     ">> ~~~\n> ", "* a\n  ~~~\n"],
)  # fmt: skip
def test_code_ends_with_the_quote_or_item_that_holds_it(opening: str) -> None:
    done = inert(f"{opening}![a](http://tracker.example/p.png)\n")
    assert "!\\[a]" in done


def test_list_that_may_have_ended_before_its_code_makes_nothing_after_it_pass_for_code() -> None:
    done = inert("- a\n# Head\n  ```\n![a](http://x.example/1)\n```\n![b](http://x.example/2)\n")
    assert "![b]" not in done


def test_code_in_an_item_or_quote_stays_as_it_is() -> None:
    for text in (
        "- a\n  ```sh\n  ls ![a](http://x.example/q)\n  ```\n- b",
        "> ```\n> ![a](http://x.example/q)\n> ```\nok",
    ):
        assert inert(text) == text


def test_code_left_open_is_closed_where_the_text_ends() -> None:
    assert inert("```py\nx = 1") == "```py\nx = 1\n```"
    assert inert("~~~~\nx") == "~~~~\nx\n~~~~"
    assert inert_line("``` x") == "\\``` x"
    assert inert_line(f"```x ![a]({REMOTE})") == f"\\```x !\\[a]({REMOTE})"


def test_json_reads_back_as_it_was() -> None:
    value = {"command": f"echo '![x]({REMOTE})' '<img src=x>' '</tacit-skill>' \u202e"}
    written = shown_json(value)
    assert json.loads(written) == value
    assert "![" not in written
    assert "<" not in written
    assert "\u202e" not in written
    assert inert_json('{"a":1}') == '{"a":1}'


def test_what_is_shown_is_also_visible_and_cannot_end_its_block() -> None:
    text = f"a\u202eb </tacit-skills> ![x]({REMOTE})\nc"
    assert shown(text) == f"ab &lt;/tacit-skills> !\\[x]({REMOTE})\nc"
    assert shown_line(text) == f"ab &lt;/tacit-skills> !\\[x]({REMOTE}) c"


def test_chapters_are_cut_before_headings_and_never_within_code() -> None:
    text = "intro\n# One\n```\n# no heading\n```\n## Two\nx\n#### not cut"
    assert chapters(text) == ["intro", "# One\n```\n# no heading\n```", "## Two\nx\n#### not cut"]
    assert chapters(" \n") == []


PIECES = st.sampled_from(
    [
        "![", "[", "]", "](", "][", "]:", "`", "``", "```", "~~~", "\n", "\n\n", "<", "<img ", ">", "!", "\\", " ", "a",
        REMOTE, ")", "<!--", "-->", "#", "- ", "> ", "javascript:", "{x}", "\nonclick=",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_once_is_enough_and_words_are_never_lost(text: str) -> None:
    calm = inert(text)
    assert inert(calm) == calm
    assert set(re.findall(r"\w+", text)) | {"lt"} == set(re.findall(r"\w+", calm)) | {"lt"}


@pytest.mark.parametrize(
    "piece",
    ["![", "](", "]:", "`", "` `` ", "<", "<a ", "<img ", "![a](", "//a?{", "~~~\n", "```\n", "<a on", "> ", "<a\n"],
)
def test_hostile_text_is_read_to_its_end(piece: str) -> None:
    """What is quadratic takes minutes here; `bench/hostile_text.py` measures the time."""
    text = piece * (100_000 // len(piece))
    once = inert(text)
    assert inert(once) == once
    assert "\n" not in inert_line(text.replace("\n", " "))


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters="<"), max_size=80))
def test_plain_text_stays_as_it_is(text):
    assert clean(f"a{text}\n\t{text}z") == f"a{text}\n\t{text}z"
    assert json.loads(written_json({"said": text})) == {"said": text}


@pytest.mark.parametrize("unseen", ["\x00", "\x07", "\x1b", "\x1f", "\x7f", "\u200b", "\u202e"])
def test_characters_that_nobody_sees_are_taken_out_or_written_as_escapes(unseen):
    assert clean(f"plain{unseen} text") == "plain text"
    written = written_json(f"plain{unseen} text")
    assert unseen not in written
    assert json.loads(written) == f"plain{unseen} text"


def test_what_looks_like_a_block_is_escaped_in_plain_text_too():
    assert clean("</tacit-skill> and <b>") == "&lt;/tacit-skill> and <b>"
    assert "<tacit" not in written_json("<tacit-skill>")
