"""arXiv's and Semantic Scholar's answers become papers, or an error that says why not."""

from __future__ import annotations

import json

import pytest

from tacit.domain.errors import NotFound, Outage
from tacit.features.research.fetcher import Fetcher
from tacit.features.research.papers import arxiv_paper, parse_source, scholar_paper
from tests.raising import raises
from tests.unit.features.research.services import ERROR, NOBODY, Services, atom, record


def asking(services: Services) -> Fetcher:
    return Fetcher(trusted=(services.url,), pause_s=0, sleep=lambda seconds: None, timeout_s=5)


def test_an_arxiv_entry_is_a_preprint_with_an_open_file(services: Services) -> None:
    services.says("/api/query", atom("2601.01234v2"))
    paper = arxiv_paper(asking(services), services.url, "2601.01234")
    assert (paper.title, paper.authors, paper.year) == ("Cases in Sections", ("Ann Able", "Ben Best"), 2026)
    assert paper.abstract == "We show that a case is kept. It is then found again."
    assert (paper.evidence_type, paper.identifiers) == ("preprint", {"arxiv": "2601.01234v2"})
    assert paper.pdf_url == f"{services.url}/pdf/2601.01234v2"
    assert services.asked == ["/api/query?id_list=2601.01234&max_results=1"]


def test_an_entry_with_a_journal_was_reviewed(services: Services) -> None:
    more = "<arxiv:journal_ref>J. Cases 3 (2026)</arxiv:journal_ref><arxiv:doi>10.1234/cases</arxiv:doi>"
    services.says("/api/query", atom("cs/0112017", more))
    paper = arxiv_paper(asking(services), services.url, "cs/0112017")
    assert (paper.evidence_type, paper.venue) == ("peer-reviewed", "J. Cases 3 (2026)")
    assert paper.identifiers == {"arxiv": "cs/0112017", "doi": "10.1234/cases"}


@pytest.mark.parametrize("entry", ["", ERROR])
def test_a_paper_that_arxiv_does_not_know_is_not_found(services: Services, entry: str) -> None:
    services.says("/api/query", (200, {}, NOBODY.format(entry=entry).encode()))
    with raises(NotFound, "unknown_paper"):
        arxiv_paper(asking(services), services.url, "9999.99999")


BOMB = '<?xml version="1.0" encoding="{code}"?><!DOCTYPE x [<!ENTITY a "b">]><feed>&a;</feed>'


@pytest.mark.parametrize("code", ["utf-8", "utf-16", "utf-16-le", "latin-1"])
def test_a_document_type_is_refused_in_whatever_encoding(services: Services, code: str) -> None:
    services.says("/api/query", (200, {}, BOMB.format(code=code).encode(code)))
    with pytest.raises(Outage):
        arxiv_paper(asking(services), services.url, "2601.01234")


def test_an_entry_of_no_year_that_can_be_read_has_none(services: Services) -> None:
    status, headers, feed = atom("2601.01234v2")
    services.says("/api/query", (status, headers, feed.replace(b"<published>2026", "<published>²²²²".encode())))
    assert arxiv_paper(asking(services), services.url, "2601.01234").year == 0


@pytest.mark.parametrize("answer", [b"<html>", b'<?xml version="1.0" encoding="none"?><feed/>', b"\xff\xfe\x00", b""])
def test_an_answer_that_is_no_feed_is_an_outage(services: Services, answer: bytes) -> None:
    services.says("/api/query", (200, {}, answer))
    with pytest.raises(Outage):
        arxiv_paper(asking(services), services.url, "2601.01234")


def test_a_record_of_semantic_scholar_has_venue_and_citations(services: Services) -> None:
    services.says("/graph/v1/paper/DOI:10.1234/cases", record(openAccessPdf={"url": "https://x.example/p.pdf"}))
    paper = scholar_paper(asking(services), services.url, parse_source("doi:10.1234/cases"))
    assert (paper.citations, paper.evidence_type, paper.year) == (42, "peer-reviewed", 2026)
    assert paper.identifiers == {"s2": "a" * 40, "arxiv": "2601.01234", "doi": "10.1234/cases"}
    assert paper.pdf_url == "https://x.example/p.pdf"


@pytest.mark.parametrize(
    ("types", "venue", "sort"),
    [
        (["JournalArticle"], "J", "peer-reviewed"),
        (["JournalArticle"], "arXiv.org", "preprint"),
        (None, "Proc. of Cases", "peer-reviewed"),
        (["Conference"], "", "preprint"),
        (["Book"], "Press", "book"),
        (["News"], "Daily", "preprint"),
        ("nonsense", 5, "preprint"),
    ],
)
def test_the_sort_of_evidence_follows_from_where_it_appeared(
    services: Services, types: object, venue: object, sort: str
) -> None:
    services.says("/graph", record(publicationTypes=types, venue=venue))
    assert scholar_paper(asking(services), services.url, parse_source("s2:" + "a" * 40)).evidence_type == sort


def test_a_version_of_arxiv_is_asked_for_as_the_paper(services: Services) -> None:
    services.says("/graph/v1/paper/ARXIV:2601.01234?", record())
    scholar_paper(asking(services), services.url, parse_source("arxiv:2601.01234v2"))
    assert services.asked[0].startswith("/graph/v1/paper/ARXIV:2601.01234?fields=title,abstract")


def test_strange_values_are_left_out(services: Services) -> None:
    strange = record(
        year="soon", citationCount=-3, authors=[1, {"name": None}, {"name": "Ann"}], openAccessPdf="x", externalIds=[]
    )
    services.says("/graph", strange)
    paper = scholar_paper(asking(services), services.url, parse_source("CorpusId:7"))
    assert (paper.year, paper.citations, paper.authors, paper.pdf_url) == (0, 0, ("Ann",), "")


@pytest.mark.parametrize("answer", [b"[]", b"{", b'{"title": null}', json.dumps({"title": {"a": 1}}).encode()])
def test_an_answer_that_is_no_record_is_an_outage(services: Services, answer: bytes) -> None:
    services.says("/graph", (200, {}, answer))
    with pytest.raises(Outage):
        scholar_paper(asking(services), services.url, parse_source("CorpusId:7"))


def test_a_paper_that_nobody_knows_is_not_found(services: Services) -> None:
    with raises(NotFound, "unknown_paper"):
        scholar_paper(asking(services), services.url, parse_source("doi:10.9999/none"))
