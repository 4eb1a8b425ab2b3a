"""Passages begin and end with sentences, overlap a little, keep to their section, and lose nothing."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from tacit.features.research.documents.document_passages import OVERLAP, PAGES, SIZE, passages_of
from tacit.features.research.documents.document_sections import Paragraph


def prose(count: int, seed: int = 1) -> list[str]:
    dice = random.Random(seed)
    return [f"Sentence {n} says {'very ' * dice.randrange(2, 20)}much." for n in range(count)]


def test_passages_are_of_one_size_and_overlap_by_whole_sentences() -> None:
    said = prose(200)
    passages = passages_of([Paragraph(text=" ".join(said), section="S", page=1)])
    assert len(passages) > 5
    assert all(
        len(each.text) <= SIZE and each.text.startswith("Sentence ") and each.text.endswith(".") for each in passages
    )
    assert all(len(each.text) >= SIZE - 140 for each in passages[:-1])
    for before, after in itertools.pairwise(passages):
        shared = next(n for n in range(OVERLAP, 0, -1) if before.text.endswith(after.text[:n]))
        assert OVERLAP - 140 <= shared <= OVERLAP


def test_no_passage_goes_over_a_heading() -> None:
    passages = passages_of([Paragraph(text="One.", section="A"), Paragraph(text="Two.", section="B")])
    assert [(each.index, each.section, each.text) for each in passages] == [(0, "A", "One."), (1, "B", "Two.")]


def test_short_pages_are_not_cited_in_heaps() -> None:
    pages = [Paragraph(text=f"A slide with few words, number {page}.", page=page) for page in range(1, 30)]
    passages = passages_of(pages)
    assert all(each.last_page - each.first_page < PAGES for each in passages)
    assert {page for each in passages for page in (each.first_page, each.last_page)} == set(range(1, 30))


def test_abbreviations_end_no_sentence() -> None:
    text = "See e.g. the work of J. Doe et al. in Fig. 3 for this. " * 60
    assert all(each.text.endswith("for this.") for each in passages_of([Paragraph(text=text)]))


def test_a_word_parted_between_pages_is_whole_again() -> None:
    parts = [Paragraph(text="It was meas-", page=1), Paragraph(text="ured here.", page=2, continues=True)]
    [passage] = passages_of(parts)
    assert (passage.text, passage.first_page, passage.last_page) == ("It was measured here.", 1, 2)


def test_a_text_without_any_end_is_cut_all_the_same() -> None:
    passages = passages_of([Paragraph(text="x" * 5000)])
    assert "".join(each.text for each in passages) == "x" * 5000
    assert max(len(each.text) for each in passages) == SIZE


paragraphs = st.lists(
    st.builds(
        Paragraph,
        text=st.text(st.sampled_from("ab .!?\n-Z。"), min_size=1, max_size=400).filter(str.strip),
        section=st.sampled_from(["", "A", "B"]),
        page=st.just(1),
        continues=st.booleans(),
    ),
    max_size=12,
)


@given(paragraphs)
def test_nothing_is_lost_and_nothing_is_longer_than_a_passage(given_ones: list[Paragraph]) -> None:
    passages = passages_of(given_ones)
    assert all(0 < len(each.text) <= SIZE + 1 and each.text.strip() for each in passages)
    assert [each.index for each in passages] == list(range(len(passages)))
    letters = {c for each in given_ones for c in each.text if c.isalnum()}
    assert letters == {c for each in passages for c in each.text if c.isalnum()}
