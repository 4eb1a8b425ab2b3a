"""Lines become paragraphs under their headings; title, abstract and references are told from the rest."""

from __future__ import annotations

import pytest

from tacit.domain.stored import ABSTRACT, REFERENCES
from tacit.features.research.documents.document_sections import body_of, section_name
from tacit.features.research.documents.pdf import TextLine


def lines(*told: tuple[str, float, bool], page: int = 1) -> list[TextLine]:
    """Lines from the top down, each with its size and whether it is bold."""
    return [
        TextLine(text=text, page=page, x=72, y=700 - 14 * n, end=400, size=size, bold=bold)
        for n, (text, size, bold) in enumerate(told)
    ]


def plain(*texts: str) -> list[tuple[str, float, bool]]:
    return [(text, 10, False) for text in texts]


FILLER = plain(*["some words that go on and on until the line ends"] * 6)


def found(told: list[TextLine], outline: list[tuple[str, int]] | None = None) -> list[tuple[str, str]]:
    return [(each.section, each.text) for each in body_of(told, outline or []).paragraphs]


@pytest.mark.parametrize(
    ("heading", "size", "bold", "section"),
    [
        ("2 Method", 10, True, "2 Method"),
        ("A Bold Heading", 10, True, "A Bold Heading"),
        ("A large heading", 13, False, "A large heading"),
        ("Introduction", 10, False, "Introduction"),
        ("IV. RESULTS", 10, True, "IV. RESULTS"),
        ("ABSTRACT", 10, False, ABSTRACT),
        ("7. References", 12, True, REFERENCES),
        ("Bibliography", 10, False, REFERENCES),
        ("3.2.1 A small point.", 10, True, "3.2.1 A small point."),
    ],
)
def test_a_heading_begins_a_section(heading: str, size: float, bold: bool, section: str) -> None:
    told = lines(("A Title", 20, True), *FILLER, (heading, size, bold), *plain("Its text stands here."))
    assert found(told)[-1] == (section, "Its text stands here.")


@pytest.mark.parametrize(
    ("text", "size", "bold"),
    [
        ("some bold words in the middle of a sentence", 10, True),
        ("A bold sentence that ends here.", 10, True),
        ("We return to the introduction", 10, False),
        ("12", 14, True),
        ("word " * 30, 13, True),
    ],
)
def test_what_only_looks_a_little_like_a_heading_is_text(text: str, size: float, bold: bool) -> None:
    told = lines(*FILLER, (text.strip(), size, bold), *plain("Its text stands here."))
    assert found(told)[-1][0] == ""


def test_an_outline_names_headings_that_nothing_else_shows() -> None:
    told = lines(*FILLER, *plain("How it was done", "Its text stands here."))
    assert found(told)[-1][0] == ""
    assert found(told, [("2. How it was done", 1)])[-1] == ("How it was done", "Its text stands here.")
    assert found(told, [("How it was done", 2)])[-1][0] == ""


def test_an_abstract_may_begin_in_its_own_line() -> None:
    told = lines(*plain("Abstract— We show this.", "It is true."), *FILLER)
    assert found(told)[0][0] == ABSTRACT
    assert found(told)[0][1].startswith("We show this. It is true.")


def test_the_largest_lines_of_the_first_page_are_the_title() -> None:
    body = body_of(lines(("On the Keeping", 20, False), ("of Cases", 20, False), *FILLER))
    assert body.title == "On the Keeping of Cases"
    assert "Keeping" not in body.paragraphs[0].text


def test_a_text_of_one_size_has_no_title() -> None:
    assert body_of(lines(*FILLER)).title == ""
    assert body_of([]).paragraphs == ()


def test_a_gap_and_a_page_end_a_paragraph() -> None:
    first = lines(*plain("One goes on", "and ends."))
    apart = [TextLine(text="Two.", page=1, x=72, y=600, end=400, size=10)]
    after = lines(*plain("Three."), page=2)
    body = body_of([*first, *apart, *after])
    assert [(each.text, each.page) for each in body.paragraphs] == [
        ("One goes on and ends.", 1),
        ("Two.", 1),
        ("Three.", 2),
    ]
    assert [each.continues for each in body.paragraphs] == [False, False, False]


def test_a_sentence_that_a_page_cuts_goes_on() -> None:
    body = body_of([*lines(*plain("It goes")), *lines(*plain("on here."), page=2)])
    assert [each.continues for each in body.paragraphs] == [False, True]


@pytest.mark.parametrize(
    ("heading", "name"),
    [("  3. Results:", "3. Results:"), ("I. Abstract", ABSTRACT), ("Summary", ABSTRACT), ("REFERENCES", REFERENCES),
     ("References to other systems that were looked at before", "References to other systems that were looked at before")],
)  # fmt: skip
def test_sections_have_one_name_each(heading: str, name: str) -> None:
    assert section_name(heading) == name
