"""How a document and a place in it are cited, and the sentences that it opens with."""

from __future__ import annotations

from tacit.domain.stored import Passage
from tacit.features.research.documents.document_passages import cited, opening_sentences


def test_a_citation_names_authors_year_title_page_and_section() -> None:
    passage = Passage(index=0, text="x", section="2 Method", first_page=4, last_page=4)
    assert cited("On Caches", authors=("Ann",), year=2024, passage=passage) == "Ann (2024), On Caches, p. 4, § 2 Method"
    both = Passage(index=0, text="x", first_page=4, last_page=5)
    assert cited("On Caches", authors=("Ann", "Ben"), passage=both) == "Ann and Ben, On Caches, pp. 4–5"
    assert cited("On Caches", authors=("A", "B", "C"), year=1999) == "A, B and C (1999), On Caches"
    assert cited("On Caches", authors=("A", "B", "C", "D")) == "A et al., On Caches"
    assert cited("Guide", passage=Passage(index=0, text="x", line=12)) == "Guide, line 12"


def test_an_opening_is_whole_sentences_that_fit() -> None:
    assert (
        opening_sentences("One is short. Two is longer than that. Three.", most=40)
        == "One is short. Two is longer than that."
    )
    assert opening_sentences("No end at all") == "No end at all"
    assert opening_sentences("word " * 100, most=20) == "word word word…"
    assert opening_sentences("") == ""
