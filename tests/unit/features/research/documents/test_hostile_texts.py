"""Texts and pages that are made to keep their reader busy: what is ours reads them in one go, and the rest ends at a limit.

Each hostile text is read by a process with a limit of processor time that a reader which goes back again and again passes by
hours; one that goes through its input once needs a small part of it.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from tacit.domain.errors import Mistake, Refusal
from tacit.features.research.documents.confined_process import ReadingLimits
from tacit.features.research.documents.document_passages import SIZE, passages_of
from tacit.features.research.documents.document_sections import (
    LONGEST_NAME,
    Paragraph,
    body_of,
    joined,
    section_name,
    vocabulary,
)
from tacit.features.research.documents.pdf import Page, TextPiece, lines_of
from tacit.features.research.documents.reading import Sort, read, sort_of
from tests.raising import raises
from tests.unit.features.research.documents.pdf_files import Run, pdf

GENEROUS = ReadingLimits(cpu_s=30, wall_s=240)

HOSTILE = {
    "comments_before_a_text": ("x.md", b"<!---->" * 200_000 + b"\n# T\n\nText.\n"),
    "comments_before_nothing": ("x.md", b"<!---->\n" * 500 + b"Text. <html"),
    "cells_without_end": ("x.html", b"<html>" + b"<td>x" * 200_000),
    "blanks_in_a_paragraph": ("x.html", b"<html><p>a" + b" " * 2_000_000 + b"b</p>"),
    "lines_of_blanks": ("x.html", b"<html><p>a" + b" \n" * 1_000_000 + b"b</p>"),
    "authors_without_end": (
        "x.html", b"<html>" + b"".join(b"<meta name=author content=a%d>" % n for n in range(100_000)) + b"<p>Text.",
    ),
    "dots_without_end": ("x.md", b"a" + b"." * 1_000_000 + b"b"),
    "dots_and_quotes": ("x.md", b".'\")" * 300_000 + b"b"),
    "letters_and_hyphens": ("x.md", b"ab-\n" * 300_000),
    "a_heading_of_one_line": ("x.md", b"# " + b"1.1" * 400_000 + b"\n\nText.\n"),
    "blanks_behind_a_mark": ("x.md", b"#" + b" " * 1_000_000 + b"\nText.\n"),
    "paragraphs_without_end": ("x.md", b"a\n\n" * 300_000),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_text_that_is_made_to_take_long_is_read_in_one_go(name: str) -> None:
    file, data = HOSTILE[name]
    assert read(data, name=file, limits=GENEROUS).passages


@pytest.mark.parametrize("data", [b"<html>" + b"<!--" * 400_000, b"<html><p>x" + b"<a " * 400_000])
def test_what_keeps_the_parser_of_pages_busy_ends_within_the_limit(data: bytes) -> None:
    """How long it is busy depends on the version of the parser; the process that reads has its limit."""
    before = getrusage(RUSAGE_CHILDREN).ru_utime
    with suppress(Refusal):
        read(data, name="x.html", limits=ReadingLimits(cpu_s=1, wall_s=60))
    assert getrusage(RUSAGE_CHILDREN).ru_utime - before < 5  # processor time that the limit allows, and a start


def test_a_pdf_with_one_endless_word_is_read() -> None:
    made = pdf([[Run(72, 700, "a" * 100_000), Run(72, 680, "b-" * 50_000)]])
    assert read(made, name="x.pdf", limits=GENEROUS).passages


def test_a_page_of_a_hundred_thousand_pieces_on_one_line_is_put_together_once() -> None:
    pieces = tuple(TextPiece(x=n, y=0, width=1, size=10, bold=False, turn=0, text="ab") for n in range(100_000))
    [line] = lines_of([Page(number=1, width=1, height=1, pieces=pieces)])
    assert line.text == "ab" * 100_000
    assert body_of([line]).paragraphs[0].text == line.text


COUNTED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
sys.path[:0] = {path!r}
{code}
print("done")
"""
PACKAGE = "tacit.features.research.documents"


@pytest.mark.parametrize(
    "code",
    [
        f"from {PACKAGE}.document_sections import joined; joined(['ab-'] * 300_000, set())",
        f"from {PACKAGE}.document_sections import joined; joined(['a' * 50 + '-', 'B'] * 150_000, set())",
        f"from {PACKAGE}.document_sections import vocabulary; vocabulary(['a' * 3_000_000, 'b-' * 1_000_000])",
        f"from {PACKAGE}.document_passages import passages_of; from {PACKAGE}.document_sections import Paragraph; "
        "passages_of([Paragraph(text='ab-', page=1, continues=True)] * 300_000)",
        f"from {PACKAGE}.document_passages import passages_of; from {PACKAGE}.document_sections import Paragraph; "
        "passages_of([Paragraph(text='?!' * 1_000_000 + 'x')])",
        "from tacit.features.research.documents.reading import sort_of; sort_of(b'<!---->' * 1_000 + b'x', name='x.md')",
    ],
)
def test_the_work_of_a_reader_grows_with_its_input_alone(code: str) -> None:
    path = [folder for folder in sys.path if folder]
    program = COUNTED.format(path=path, code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout == "done\n", done.stderr[-300:]


def test_no_passage_lies_within_another() -> None:
    """Short sentences before long ones would each begin a passage of their own."""
    text = " ".join([*(["I. "[:2] + "x." for _ in range(100)]), "w" * (SIZE - 10) + "."] * 20)
    found = passages_of([Paragraph(text=text)])
    assert sum(len(each.text) for each in found) < 2 * len(text)
    for before, after in pairwise(found):
        assert after.text not in before.text


def test_a_parted_word_is_whole_also_where_its_parts_are_lines() -> None:
    assert joined(["an inter-", "na-", "tional", "matter"], set()) == "an international matter"
    assert vocabulary(["a well-known inter-", "x" * 300 + "-"]) >= {"a", "well-known"}


@pytest.mark.parametrize(
    ("data", "sort"),
    [
        (b"\xef\xbb\xbf <?xml version='1.0'?>\n<!-- a -->\n<!-- b --><!DOCTYPE HTML><p>", Sort.HTML),
        (b"<!-- a --><html lang='en'>", Sort.HTML),
        (b"<!-- never closed <html>", Sort.TEXT),
        (b"<!-- a --> # Not a page: <html>", Sort.TEXT),
        (b"<htmlish>", Sort.TEXT),
        (b"%PDF-1.5", Sort.PDF),
    ],
)
def test_what_a_file_is_its_beginning_tells(data: bytes, sort: Sort) -> None:
    assert sort_of(data, name="x.txt") is sort


def test_a_long_heading_is_cut() -> None:
    assert section_name("Method") == "Method"
    told = section_name("A very long heading " * 20)
    assert len(told) <= LONGEST_NAME == 60
    assert told.endswith("…")


def test_what_the_process_finds_wrong_is_told_as_it_is() -> None:
    with raises(Mistake, "mistake"):
        read(b"a\0b", name="x.md")
    with raises(Refusal, "refusal") as refused:
        read(b"<html></html>", name="x.html")
    assert refused.value.hint


def test_a_text_that_needs_too_much_memory_is_refused() -> None:
    with raises(Refusal, "reading_limit"):
        read(b"a b. " * 3_000_000, name="x.md", limits=ReadingLimits(memory_mb=64))
