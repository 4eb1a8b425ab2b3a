"""Markdown and plain text: headings are sections, and a passage knows its line."""

from __future__ import annotations

from tacit.domain.errors import Mistake, Refusal
from tacit.domain.stored import ABSTRACT
from tacit.features.research.documents.reading import read
from tacit.features.research.documents.text_formats import read_markdown
from tests.raising import raises

TEXT = """---
title: not read
---
# A guide

First words
over two lines.

## Setup ##

```sh
# not a heading
make
```

Underlined
----------

Last words. <!-- hidden
over lines --> Seen.
"""


def test_headings_are_sections_and_lines_are_counted() -> None:
    read_as = read_markdown(TEXT)
    assert read_as.title == "A guide"
    assert [(each.section, each.line, each.text) for each in read_as.paragraphs] == [
        ("A guide", 6, "First words over two lines."),
        ("Setup", 12, "# not a heading\nmake"),
        ("Underlined", 19, "Last words. Seen."),
    ]


def test_passages_cite_lines_and_no_pages() -> None:
    passages = read(TEXT.encode(), name="guide.md").passages
    assert [(each.section, each.first_page, each.line) for each in passages] == [
        ("A guide", 0, 6),
        ("Setup", 0, 12),
        ("Underlined", 0, 19),
    ]


def test_an_abstract_is_found_by_its_heading() -> None:
    reading = read(b"# X\n\n## Abstract\n\nIn short.\n\n## More\n\nAt length.\n", name="x.md")
    assert reading.abstract == "In short."
    assert reading.passages[0].section == ABSTRACT


def test_plain_text_of_another_encoding_is_read() -> None:
    assert read("Müller misst.".encode("cp1252"), name="x.txt").passages[0].text == "Müller misst."
    assert read("Müller misst.".encode("utf-16"), name="x.txt").passages[0].text == "Müller misst."


def test_what_is_no_text_is_named_as_such() -> None:
    with raises(Mistake, "mistake"):
        read(b"\0\1\2", name="x.txt")
    with raises(Mistake, "unknown_format"):
        read(b"PK\3\4", name="x.docx")


def test_an_empty_file_is_refused() -> None:
    with raises(Refusal, "refusal"):
        read(b"", name="x.md")


def test_a_front_matter_that_never_ends_is_text() -> None:
    assert read_markdown("---\n\nwords").paragraphs[-1].text == "words"


def test_a_file_without_headings_is_called_after_its_name() -> None:
    assert read(b"Some words.", name="notes/field notes.txt").title == "field notes"
