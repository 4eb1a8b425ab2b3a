"""Ten PDF files of known content: every sentence is cited with its page, or the file is refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tacit.domain.errors import Refusal
from tacit.domain.stored import ABSTRACT, REFERENCES, Passage
from tacit.features.research.documents.reading import DocumentReading, read
from tests.raising import raises
from tests.unit.features.research.documents.made_documents import DOCUMENTS, Made
from tests.unit.features.research.documents.pdf_files import Run, column, pdf

SMALL = sorted(set(DOCUMENTS) - {"three_hundred_pages"})


def reading(made: Made, name: str = "made") -> DocumentReading:
    return read(made.data, name=f"{name}.pdf")


def misplaced(sentences: Mapping[str, int], passages: tuple[Passage, ...]) -> dict[str, int]:
    """Sentences that no passage has, or one that is cited with other pages, or with more than two."""
    texts = [(" ".join(passage.text.split()), passage) for passage in passages]
    wrong: dict[str, int] = {}
    for sentence, page in sentences.items():
        near = [passage for text, passage in texts if abs(passage.first_page - page) <= 2 and sentence in text]
        if not near or any(not each.first_page <= page <= each.last_page <= each.first_page + 1 for each in near):
            wrong[sentence] = page
    return wrong


@pytest.mark.parametrize("name", [name for name in SMALL if not DOCUMENTS[name]().refused])
def test_every_sentence_is_cited_with_its_page(name: str) -> None:
    made = DOCUMENTS[name]()
    read_as = reading(made, name)
    assert made.sentences
    assert misplaced(made.sentences, read_as.passages) == {}


@pytest.mark.parametrize("name", [name for name in SMALL if DOCUMENTS[name]().refused])
def test_what_cannot_be_read_is_refused_with_the_reason(name: str) -> None:
    made = DOCUMENTS[name]()
    with pytest.raises(Refusal) as refused:
        reading(made, name)
    assert name in refused.value.message
    assert refused.value.hint


def test_three_hundred_pages_keep_their_numbers() -> None:
    made = DOCUMENTS["three_hundred_pages"]()
    told: list[tuple[int, int]] = []
    read_as = read(made.data, name="long.pdf", progress=lambda done, total: told.append((done, total)))
    assert read_as.pages == 300
    assert misplaced(made.sentences, read_as.passages) == {}
    assert told == [(page, 300) for page in range(1, 301)]


def test_columns_are_read_one_after_the_other() -> None:
    made = DOCUMENTS["two_columns"]()
    whole = " ".join(" ".join(passage.text.split()) for passage in reading(made).passages)
    places = [whole.index(sentence) for sentence in made.sentences if made.sentences[sentence] == 1]
    assert len(places) == 38
    assert places == sorted(places)


def test_lines_drawn_in_parts_are_no_columns() -> None:
    """As where a ligature comes from another font, at the same place of every line."""
    said, rest = "Each line of this text was drawn in", "parts that begin at one place."
    runs = [Run(x, 700 - 12 * n, part) for n in range(12) for x, part in ((72, f"{said} "), (231.2, rest))]
    text = read(pdf([runs]), name="parts.pdf").passages[0].text
    assert text == " ".join([f"{said} {rest}"] * 12)


def test_columns_of_other_baselines_are_read_one_after_the_other() -> None:
    left, right = (
        " ".join(f"{side} sentence number {n} stands in its column." for n in range(12)) for side in ("Left", "Right")
    )
    runs = [*column(left, x=72, top=700, width=222), *column(right, x=318, top=695, width=222)]
    assert read(pdf([runs]), name="two.pdf").passages[0].text == f"{left}\n{right}"


def test_a_table_keeps_its_rows() -> None:
    text = "\n".join(passage.text for passage in reading(DOCUMENTS["table"]()).passages)
    assert "Method | Recall | Time\nbaseline | 0.61 | 12 s\ncached | 0.83 | 4 s\nboth | 0.88 | 5 s" in text


def test_ligatures_become_letters() -> None:
    text = reading(DOCUMENTS["ligatures"]()).passages[0].text
    assert text.startswith("The final office workflow is efficient and offers five affine flows.")


def test_sections_abstract_and_references_are_told_apart() -> None:
    read_as = reading(DOCUMENTS["sections"]())
    assert read_as.title == "Cases in Sections"
    assert read_as.authors == ("Ann Able", "Ben Best")
    assert [passage.section for passage in read_as.passages] == [
        ABSTRACT,
        "1 Introduction",
        "2 Method",
        "3 Results",
        REFERENCES,
    ]
    assert [passage.first_page for passage in read_as.passages] == [1, 1, 2, 3, 4]
    assert read_as.abstract == read_as.passages[0].text


def test_what_stands_on_every_page_is_no_text() -> None:
    text = " ".join(passage.text for passage in reading(DOCUMENTS["sections"]()).passages)
    assert "Ann and Ben" not in text
    assert "Cases in Sections" not in text
    long = reading(DOCUMENTS["single_column"]())
    assert "In case 1 " in long.passages[0].text  # what is on one page only stays


def test_words_parted_at_the_end_of_a_line_are_whole_again() -> None:
    method = next(each for each in reading(DOCUMENTS["sections"]()).passages if each.section == "2 Method")
    assert "It was measured with a well-known clock, as measured before." in method.text


def test_a_sentence_over_two_pages_is_one_and_cites_both() -> None:
    first = [*column("Some words to begin with. The protocol was changed in", x=72, top=700, width=468)]
    second = [*column("spring and never again. The rest follows.", x=72, top=700, width=468)]
    passages = read(pdf([first, second]), name="over.pdf").passages
    assert [(each.first_page, each.last_page) for each in passages] == [(1, 2)]
    assert "The protocol was changed in spring and never again." in passages[0].text


def test_a_title_is_the_largest_text_where_the_file_names_none() -> None:
    runs = [
        Run(72, 730, "On the Largest Words", 20),
        *column("A text begins here and goes on.", x=72, top=680, width=400),
    ]
    made = pdf([runs], title="Microsoft Word - draft7.doc")
    read_as = read(made, name="x.pdf")
    assert read_as.title == "On the Largest Words"
    assert "Largest" not in read_as.passages[0].text


def test_the_stamp_on_the_margin_names_the_paper_and_is_no_text() -> None:
    said = "The text of the paper stands here, and there is more of it than of the stamp."
    stamp = b"BT /F1 20 Tf 0 1 -1 0 30 200 Tm (arXiv:2601.01234v2  [cs.DB]  5 Jan 2026) Tj ET\n"
    drawn = b"".join(run.operators() for run in column(said, x=72, top=700, width=400))
    read_as = read(pdf([stamp + drawn]), name="x.pdf")
    assert read_as.identifiers == {"arxiv": "2601.01234v2"}
    assert [passage.text for passage in read_as.passages] == [said]


def test_a_page_turned_on_its_side_is_read_the_way_it_is_written() -> None:
    lines = ["First line of the table.", "Second line of the table."]
    drawn = "".join(f"BT /F1 10 Tf 0 1 -1 0 {100 + 14 * n} 72 Tm ({line}) Tj ET\n" for n, line in enumerate(lines))
    assert read(pdf([drawn.encode()]), name="x.pdf").passages[0].text == " ".join(lines)


def test_pages_that_are_missing_are_no_guess() -> None:
    made = pdf([column("One.", x=72, top=700, width=400), column("Two.", x=72, top=700, width=400)])
    with raises(Refusal, "damaged_file"):
        read(made.replace(b"/Count 2", b"/Count 3"), name="x.pdf")


def test_a_pdf_by_name_alone_is_refused() -> None:
    with raises(Refusal, "not_a_pdf"):
        read(b"hello", name="paper.pdf")
