"""What is quoted of documents: only where it is relevant, ranked with measure, of several things, in whole sentences."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import ABSTRACT, REFERENCES, FoundPassage, Passage, StoredVersion
from tacit.recall.passages import (
    DOCUMENT_TYPE_WEIGHTS,
    MAX_PASSAGES,
    MAX_PER_DOCUMENT,
    MAX_QUOTE_CHARACTERS,
    abstract_excerpt,
    abstract_of,
    document_prior,
    is_document,
    quote_documents,
    title_of,
)
from tests.unit.making import stored

LEAST = 0.18
QUESTION = "autovacuum freeze wraparound threshold"
ANSWER = "The autovacuum daemon must freeze tuples before wraparound; the threshold is an age of transactions."
CHATTER = "The committee met in spring and thanked its sponsors for the coffee that was served."


def paper(name: str = "vacuum", title: str = "Notes", **metadata: Any) -> SkillContent:
    told = {f"document.{key}": str(value) for key, value in {"title": title, "text_digest": "d", **metadata}.items()}
    return SkillContent(kind=Kind.REFERENCE, name=name, description=title, metadata=told)


def held(content: SkillContent) -> StoredVersion:
    return stored(content, status=Status.TRUSTED)


def found(content: SkillContent, *texts: str, section: str = "") -> list[FoundPassage]:
    where = held(content)
    return [
        FoundPassage(stored=where, passage=Passage(index=place, text=text, section=section), lexical=1.0)
        for place, text in enumerate(texts)
    ]


def names(question: str, *passages: FoundPassage) -> list[str]:
    return [item.name for item in quote_documents(question, passages, min_relevance=LEAST)[0]]


def test_what_answers_the_question_is_quoted_and_what_does_not_is_not():
    relevant, other = found(paper("vacuum"), ANSWER), found(paper("minutes"), CHATTER)
    items, best = quote_documents(QUESTION, [*relevant, *other], min_relevance=LEAST)
    assert [item.name for item in items] == ["vacuum"]
    assert [passage.text for passage in items[0].passages] == [ANSWER]
    assert best[relevant[0].stored.version.id] > 0.5 > best[other[0].stored.version.id]
    assert items[0].signals["words"] > 0


@pytest.mark.parametrize(
    "question",
    [
        "book a room for the spring meeting of the steering group",
        "serve breakfast",
        "thank whoever helped with the release notes and the party",
        "",
        "the of and",
    ],
)
def test_a_few_shared_words_are_chance_in_a_long_text(question):
    assert names(question, *found(paper(), f"{CHATTER} {ANSWER} " * 3)) == []


def test_more_is_asked_for_where_recall_is_to_be_silent_more_often():
    half = found(paper(), ANSWER.replace("wraparound", "").replace("threshold", ""))
    assert quote_documents(QUESTION, half, min_relevance=0.05)[0]
    assert not quote_documents(QUESTION, half, min_relevance=0.3)[0]


def test_a_certain_match_is_quoted_however_silent_recall_is_to_be():
    titled = found(paper(title=QUESTION), f"{ANSWER} {ANSWER}", section=QUESTION)
    relevance = max(quote_documents(QUESTION, titled, min_relevance=0.0)[1].values())
    assert bool(quote_documents(QUESTION, titled, min_relevance=0.9)[0]) == (relevance >= 0.9)


@pytest.mark.parametrize("citations", [0, 10, 10_000, 3_000_000])
@pytest.mark.parametrize("sort", DOCUMENT_TYPE_WEIGHTS)
def test_a_famous_paper_that_is_not_relevant_is_not_quoted(citations, sort):
    famous = found(paper("famous", citations=citations, evidence_type=sort), CHATTER)
    unknown = found(paper("unknown"), ANSWER)
    assert names(QUESTION, *famous, *unknown) == ["unknown"]
    assert names(QUESTION, *famous) == []


def test_fame_and_sort_are_worth_twice_as_much_relevance_at_most():
    best = document_prior(paper(evidence_type="peer-reviewed", citations=100_000))
    assert 1.9 < best / document_prior(paper(evidence_type="informal", citations=0)) <= 2.0


@pytest.mark.parametrize(
    ("better", "worse"), [("peer-reviewed", "book"), ("book", "preprint"), ("preprint", "informal")]
)
def test_of_equals_the_better_sort_of_document_comes_first(better, worse):
    one, two = (
        found(paper(worse, evidence_type=worse), ANSWER),
        found(paper(better, evidence_type=better), ANSWER + " "),
    )
    assert names(QUESTION, *one, *two)[0] == better


def test_of_equals_the_more_cited_comes_first():
    one, two = found(paper("rare", citations=1), ANSWER), found(paper("usual", citations=900), ANSWER)
    assert names(QUESTION, *one, *two)[0] == "usual"


@pytest.mark.parametrize("written", ["", "many", "-4", "1e9", "99999999999999999", "٣"])
def test_a_number_of_citations_that_is_none_counts_as_none(written):
    assert document_prior(paper(citations=written, evidence_type="preprint")) == 1.0


def test_a_document_of_an_unknown_sort_counts_as_informal():
    assert (
        document_prior(paper(evidence_type="oracle"))
        == document_prior(paper(evidence_type="informal"))
        == DOCUMENT_TYPE_WEIGHTS["informal"]
    )


def test_no_document_is_quoted_more_than_twice_and_no_answer_is_a_library():
    many = [ANSWER + f" Chapter {place} has more." for place in range(9)]
    (item,) = quote_documents(QUESTION, found(paper(), *many), min_relevance=LEAST)[0]
    assert len(item.passages) == MAX_PER_DOCUMENT
    papers = [each for place in range(9) for each in found(paper(f"paper-{place}"), *many)]
    assert sum(len(each.passages) for each in quote_documents(QUESTION, papers, min_relevance=LEAST)[0]) == MAX_PASSAGES


def test_of_two_passages_that_say_the_same_one_gives_way_to_something_new():
    new = "A long transaction holds the threshold back: autovacuum cannot freeze, and wraparound comes near."
    quoted = quote_documents(QUESTION, found(paper(), ANSWER, ANSWER + " ", new), min_relevance=LEAST)[0][0].passages
    assert {passage.text for passage in quoted} == {ANSWER, new}


def test_a_list_of_other_works_is_no_content():
    assert names(QUESTION, *found(paper(), ANSWER, section=REFERENCES)) == []


def test_the_order_in_which_passages_come_changes_nothing():
    passages = [*found(paper("one"), ANSWER, CHATTER), *found(paper("two"), ANSWER + " It is documented.")]
    assert (
        quote_documents(QUESTION, passages, min_relevance=LEAST)[0]
        == quote_documents(QUESTION, passages[::-1], min_relevance=LEAST)[0]
    )


def test_a_long_passage_is_quoted_in_whole_sentences_around_what_was_asked():
    long = " ".join([CHATTER] * 20 + [ANSWER] + [CHATTER] * 20)
    (item,) = quote_documents(QUESTION, found(paper(), long), min_relevance=LEAST)[0]
    (quoted,) = item.passages
    assert "autovacuum daemon must freeze" in quoted.text
    assert quoted.text.startswith("[…] ")
    assert quoted.text.endswith(" […]")
    assert len(quoted.text) <= MAX_QUOTE_CHARACTERS + len("[…] ") * 2
    assert quoted.text.strip("[…] ").startswith(("The committee", "The autovacuum"))


def test_one_endless_sentence_is_cut_between_words_and_marked():
    endless = "word " * 500 + QUESTION
    cut = abstract_excerpt(Passage(index=0, text=endless)).text
    assert len(cut) <= MAX_QUOTE_CHARACTERS + len(" […]")
    assert cut.endswith("word […]")


def test_the_abstract_stands_for_the_document_or_else_its_beginning():
    first, summary = Passage(index=0, text="Title page"), Passage(index=1, text="We show", section=ABSTRACT)
    assert abstract_of([first, summary]) == summary
    assert abstract_of([first]) == first
    assert abstract_of([]) is None


def test_only_a_reference_that_stands_for_a_document_is_one():
    assert is_document(paper())
    assert not is_document(SkillContent(kind=Kind.REFERENCE, name="a", description="b"))
    assert not is_document(SkillContent(kind=Kind.LESSON, name="a", description="b", metadata=paper().metadata))


def test_a_document_without_a_title_is_called_by_what_it_says_of_itself():
    assert title_of(paper(title="On vacuum")) == "On vacuum"
    bare = SkillContent(kind=Kind.REFERENCE, name="notes", description="Notes on vacuum\nmore")
    assert title_of(bare) == "Notes on vacuum"
    assert title_of(SkillContent(kind=Kind.REFERENCE, name="notes", description="")) == "notes"
