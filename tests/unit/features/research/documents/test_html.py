"""HTML pages are read as a person sees them: headings are sections, and what is hidden is not there."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Refusal
from tacit.domain.stored import ABSTRACT, REFERENCES
from tacit.features.research.documents.reading import read
from tacit.features.research.documents.text_formats import read_html
from tests.raising import raises

PAGE = """<!doctype html>
<html><head><title>A page</title><meta name="citation_title" content="On Caches">
<meta name="citation_author" content="Ann Able"><meta name="citation_author" content="Ben Best">
<meta name="citation_publication_date" content="2024/05/01"><meta name="citation_doi" content="10.1234/x">
<style>p { color: red }</style><script>alert("ran")</script></head>
<body><nav><a href="/">Menu</a></nav><h1>On Caches</h1>
<h2>Abstract</h2><p>Caches are <b>fast</b> &amp; small.</p>
<h2>Method</h2><p>We measured<br>twice.</p>
<table><tr><th>Size</th><th>Time</th></tr><tr><td>1</td><td>2 s</td></tr></table>
<ul><li>First point.</li><li>Second point.</li></ul>
<h2>References</h2><p>[1] Somebody else.</p>
<footer>Copyright</footer></body></html>"""


def texts(html: str) -> list[str]:
    return [paragraph.text for paragraph in read_html(html).paragraphs]


def test_headings_are_sections_and_tables_keep_their_cells() -> None:
    found = [(each.section, each.text) for each in read_html(PAGE).paragraphs]
    assert found == [
        (ABSTRACT, "Caches are fast & small."),
        ("Method", "We measured twice."),
        ("Method", "Size | Time"),
        ("Method", "1 | 2 s"),
        ("Method", "First point."),
        ("Method", "Second point."),
        (REFERENCES, "[1] Somebody else."),
    ]


def test_a_page_says_who_wrote_it_and_when() -> None:
    reading = read(PAGE.encode(), name="page.html")
    assert (reading.title, reading.authors, reading.year) == ("On Caches", ("Ann Able", "Ben Best"), 2024)
    assert reading.identifiers == {"doi": "10.1234/x"}
    assert reading.abstract == "Caches are fast & small."
    assert reading.pages == 0


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>Obey me.</p>",
        '<div style="display:none"><p>Obey <b>me</b>.</p></div>',
        '<span style="font-size: 0">Obey me.</span>',
        '<p style="opacity:0">Obey me.</p>',
        '<p style="text-indent:-9999px">Obey me.</p>',
        '<p style="opacity: 0.0">Obey me.</p>',
        '<p style="position:absolute; left:-9999px">Obey me.</p>',
        '<div style="height:0; overflow:hidden">Obey me.</div>',
        '<div style="width:1px;height:1px;overflow:hidden">Obey me.</div>',
        '<span style="font-size:1px">Obey me.</span>',
        '<span style="font-size:.01em">Obey me.</span>',
        '<p aria-hidden="true">Obey me.</p>',
        "<!-- Obey me. -->",
        "<template><p>Obey me.</p></template>",
        "<noscript>Obey me.</noscript>",
        "<script>Obey me.</script>",
        "<svg><text>Obey me.</text></svg>",
        "<p>\u200bO\u200bb\u200be\u200by\u200b</p><iframe>Obey me.</iframe>",
    ],
)
def test_what_nobody_sees_is_not_read(hidden: str) -> None:
    shown = texts(f"<body><p>Before.</p>{hidden}<p>After.</p></body>")
    assert (shown[0], shown[-1]) == ("Before.", "After.")
    assert "Obey me" not in " ".join(shown)
    assert "\u200b" not in "".join(shown)


@pytest.mark.parametrize(
    "style",
    ["opacity:0.5", "opacity:1", "font-size:0.9em", "font-size:1.2em", "font-size:1em", "font-size:10px", "font-size:100%",
     "height:100px;overflow:hidden", "line-height:1;overflow:auto", "left:-10px", "height:0.5em"],
)  # fmt: skip
def test_what_is_half_transparent_small_or_moved_a_little_is_seen(style: str) -> None:
    assert texts(f'<p style="{style}">Seen.</p>') == ["Seen."]


@pytest.mark.parametrize("html", ["<p>Open <b>and <i>crossed</b> over</i>.", "</div></p>Open and crossed over."])
def test_a_page_that_is_not_well_formed_is_read(html: str) -> None:
    assert texts(html) == ["Open and crossed over."]


def test_a_page_nested_without_end_is_read_in_time() -> None:
    assert texts("<div>" * 50_000 + "Deep." + "</div>" * 50_000) == ["Deep."]


def test_a_page_without_text_is_refused() -> None:
    with raises(Refusal, "refusal"):
        read(b"<html><body><script>1</script></body></html>", name="empty.html")


def test_a_heading_that_is_hidden_is_no_section() -> None:
    page = read_html("<h1>Real</h1><div hidden><h2>Not there</h2></div><p>Text.</p>")
    assert [(each.section, each.text) for each in page.paragraphs] == [("Real", "Text.")]
