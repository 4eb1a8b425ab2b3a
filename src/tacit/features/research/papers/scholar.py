"""Semantic Scholar: an identifier → what its Graph API says of the paper: venue, sort of publication, citations, open file."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tacit.domain.errors import NotFound, Outage
from tacit.features.research.papers.fetching import Fetcher
from tacit.features.research.papers.naming import Named, Source
from tacit.features.research.papers.paper import LONGEST_ABSTRACT, LONGEST_TITLE, MOST_AUTHORS, Paper, line, number

_FIELDS = "title,abstract,year,venue,authors,citationCount,publicationTypes,publicationVenue,openAccessPdf,externalIds"
_ANSWER_BYTES = 4 << 20
_REVIEWED = frozenset(
    {"JournalArticle", "Conference", "Review", "MetaAnalysis", "ClinicalTrial", "CaseReport", "Study"}
)
_BOOKS = frozenset({"Book", "BookSection"})
_PREFIXES = {Named.ARXIV: "ARXIV:", Named.DOI: "DOI:", Named.SCHOLAR: ""}
_LATEST_YEAR = 2200


def scholar_paper(fetcher: Fetcher, base_url: str, source: Source) -> Paper:
    """Ask for one paper; raises `NotFound` where Semantic Scholar does not know it."""
    value = source.value.split("v")[0] if source.sort is Named.ARXIV else source.value
    name = quote(f"{_PREFIXES[source.sort]}{value}", safe=":/.")
    url = f"{base_url.rstrip('/')}/graph/v1/paper/{name}?fields={_FIELDS}"
    try:
        said = _answer(fetcher.get(url, most_bytes=_ANSWER_BYTES).data)
    except NotFound:
        raise NotFound(f"Semantic Scholar knows no paper {source}", hint="check the identifier") from None
    return _paper(said, source)


def _paper(said: dict[str, Any], source: Source) -> Paper:
    external = said.get("externalIds")
    identifiers = {"s2": line(said.get("paperId"), 40)}
    for key, name in (("ArXiv", "arxiv"), ("DOI", "doi")):
        identifiers[name] = line(external.get(key), 200) if isinstance(external, dict) else ""
    people = said.get("authors")
    named = (
        [line(each.get("name"), 200) for each in people if isinstance(each, dict)] if isinstance(people, list) else []
    )
    file = said.get("openAccessPdf")
    venue = line(said.get("venue"), 200)
    title = line(said.get("title"), LONGEST_TITLE)
    if not title:
        raise Outage(f"Semantic Scholar says nothing of {source}", hint="try again later", retryable=True)
    return Paper(
        title=title,
        authors=tuple(name for name in named[:MOST_AUTHORS] if name),
        year=number(said.get("year"), _LATEST_YEAR),
        abstract=line(said.get("abstract"), LONGEST_ABSTRACT),
        venue=venue,
        evidence_type=_evidence_type(said.get("publicationTypes"), venue),
        citations=number(said.get("citationCount"), 10_000_000),
        pdf_url=line(file.get("url"), 2000) if isinstance(file, dict) else "",
        identifiers={name: value for name, value in identifiers.items() if value},
    )


def _evidence_type(types: object, venue: str) -> str:
    """What sort of evidence it is; a paper that lies at arXiv alone is a preprint, whatever it is called."""
    named = {each for each in types if isinstance(each, str)} if isinstance(types, list) else set()
    if named & _BOOKS:
        return "book"
    if venue and "arxiv" not in venue.lower() and (named & _REVIEWED or not named):
        return "peer-reviewed"
    return "preprint"


def _answer(data: bytes) -> dict[str, Any]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Outage("Semantic Scholar's answer cannot be read", hint="try again later", retryable=True) from error
    if not isinstance(said, dict):
        raise Outage("Semantic Scholar's answer is of another form", hint="try again later", retryable=True)
    return said
