"""Papers: parses what a person typed, and asks arXiv and Semantic Scholar for the record of a paper.

Accepted are `arxiv:2601.01234v2`, `cs/0112017`, `doi:10.…`, `s2:…`, `CorpusId:…`, the web addresses of the same, any other
`https:` address, and else a path. Answers of the services are checked field by field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

from tacit.domain.errors import Mistake, NotFound, Outage
from tacit.features.research.fetcher import Fetcher

_NEW = r"\d{4}\.\d{4,5}(?:v\d{1,3})?"
_OLD = r"[a-z][a-z-]*(?:\.[A-Za-z-]{2,})?/\d{7}(?:v\d{1,3})?"
_ARXIV = re.compile(rf"(?:arxiv:\s*)?({_NEW})|arxiv:\s*({_OLD})|({_OLD})", re.IGNORECASE)
_ARXIV_PATH = re.compile(rf"/(?:abs|pdf|html|format)/({_NEW}|{_OLD})(?:\.pdf)?/?", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:\s*)?(10\.\d{4,9}/\S+)", re.IGNORECASE)
_SCHOLAR = re.compile(r"(?:s2:|S2PaperId:)?([0-9a-f]{40})", re.IGNORECASE)
_CORPUS = re.compile(r"(?:s2:)?CorpusId:(\d{1,12})", re.IGNORECASE)


class PaperSourceKind(StrEnum):
    """What kind of source was named."""

    ARXIV = "arxiv"
    DOI = "doi"
    SCHOLAR = "s2"
    ADDRESS = "address"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class PaperSource:
    """A source, and its name there."""

    sort: PaperSourceKind
    value: str

    def __str__(self) -> str:
        return (
            self.value if self.sort in (PaperSourceKind.ADDRESS, PaperSourceKind.FILE) else f"{self.sort}:{self.value}"
        )


def parse_source(text: str) -> PaperSource:
    """Parse a source; anything that matches nothing else is a file. Raises `Mistake` for an invalid address."""
    text = text.strip()
    if re.match(r"https?://", text, re.IGNORECASE):
        return _addressed(text)
    if found := _CORPUS.fullmatch(text):
        return PaperSource(PaperSourceKind.SCHOLAR, f"CorpusId:{found[1]}")
    if found := _SCHOLAR.fullmatch(text):
        return PaperSource(PaperSourceKind.SCHOLAR, found[1].lower())
    if found := _DOI.fullmatch(text):
        return PaperSource(PaperSourceKind.DOI, found[1])
    if found := _ARXIV.fullmatch(text):
        return PaperSource(PaperSourceKind.ARXIV, found[1] or found[2] or found[3])
    return PaperSource(PaperSourceKind.FILE, text)


def _addressed(text: str) -> PaperSource:
    """Return the paper that an address of arXiv, DOI or Semantic Scholar means; else the address."""
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise Mistake(
            f"{text!r} is not a web address: {error}", code="invalid_url", hint="write https://host/path"
        ) from error
    host, path = (parts.hostname or "").removeprefix("www.").removeprefix("export."), unquote(parts.path)
    if host == "arxiv.org" and (found := _ARXIV_PATH.fullmatch(path)):
        return PaperSource(PaperSourceKind.ARXIV, found[1])
    if host in ("doi.org", "dx.doi.org") and (found := _DOI.fullmatch(path.lstrip("/"))):
        return PaperSource(PaperSourceKind.DOI, found[1])
    if host == "semanticscholar.org" and (found := re.search(r"/([0-9a-f]{40})/?$", path)):
        return PaperSource(PaperSourceKind.SCHOLAR, found[1])
    return PaperSource(PaperSourceKind.ADDRESS, text)


LONGEST_TITLE = 300
LONGEST_ABSTRACT = 10_000
MOST_AUTHORS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper as a service describes it."""

    title: str
    authors: tuple[str, ...] = ()
    year: int = 0
    abstract: str = ""
    venue: str = ""
    evidence_type: str = "preprint"
    citations: int = 0
    pdf_url: str = ""
    """Where everybody may read it; empty if it is not open."""
    identifiers: Mapping[str, str] = field(default_factory=dict)


def as_line(text: object, most: int) -> str:
    """Return a text of a service on one line, cut to a length; empty if it is not a text."""
    return re.sub(r"\s+", " ", text).strip()[:most] if isinstance(text, str) else ""


def digits_as_count(text: str) -> int:
    """Return a count from plain digits; 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0


def as_count(value: object, most: int) -> int:
    """Return a count or year of a service; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else 0


_ATOM_NAMESPACE = "{http://www.w3.org/2005/Atom}"
_ARXIV_NAMESPACE = "{http://arxiv.org/schemas/atom}"
_FEED_BYTES = 1 << 20


def arxiv_paper(fetcher: Fetcher, base_url: str, identifier: str) -> Paper:
    """Ask arXiv for one paper; raises `NotFound` if it is unknown."""
    url = f"{base_url.rstrip('/')}/api/query?id_list={quote(identifier, safe='/')}&max_results=1"
    entry = _parse_entry(fetcher.get(url, max_bytes=_FEED_BYTES).data, identifier)
    named = re.sub(r"^https?://arxiv\.org/abs/", "", _child_text(entry, f"{_ATOM_NAMESPACE}id"))
    venue, doi = _child_text(entry, f"{_ARXIV_NAMESPACE}journal_ref"), _child_text(entry, f"{_ARXIV_NAMESPACE}doi")
    authors = (
        as_line(each.findtext(f"{_ATOM_NAMESPACE}name"), 200)
        for each in entry.findall(f"{_ATOM_NAMESPACE}author")[:MOST_AUTHORS]
    )
    published = _child_text(entry, f"{_ATOM_NAMESPACE}published")
    return Paper(
        title=as_line(_child_text(entry, f"{_ATOM_NAMESPACE}title"), LONGEST_TITLE),
        authors=tuple(name for name in authors if name),
        year=digits_as_count(published[:4]),
        abstract=as_line(_child_text(entry, f"{_ATOM_NAMESPACE}summary"), LONGEST_ABSTRACT),
        venue=as_line(venue, 200),
        evidence_type="peer-reviewed" if venue else "preprint",
        pdf_url=f"{base_url.rstrip('/')}/pdf/{quote(named or identifier, safe='/')}",
        identifiers={"arxiv": named or identifier} | ({"doi": as_line(doi, 200)} if doi else {}),
    )


class _NoDoctypeBuilder(ElementTree.TreeBuilder):
    """Refuses a document type, so that no entity is ever expanded."""

    def doctype(self, name: str, pubid: str, system: str) -> None:
        raise Outage("arXiv's answer declares entities", code="xml_entities", hint="check research.arxiv_url")


def _parse_entry(data: bytes, identifier: str) -> ElementTree.Element:
    try:
        feed = ElementTree.fromstring(data, ElementTree.XMLParser(target=_NoDoctypeBuilder()))
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise Outage(
            f"arXiv's answer cannot be read: {error}", code="invalid_answer", hint="try again later", retryable=True
        ) from error
    entry = feed.find(f"{_ATOM_NAMESPACE}entry")
    if (
        entry is None
        or "api/errors" in _child_text(entry, f"{_ATOM_NAMESPACE}id")
        or not _child_text(entry, f"{_ATOM_NAMESPACE}title")
    ):
        hint = "check the identifier, such as arxiv:2601.01234"
        raise NotFound(f"arXiv has no paper {identifier!r}", code="unknown_paper", hint=hint)
    return entry


def _child_text(entry: ElementTree.Element, name: str) -> str:
    return (entry.findtext(name) or "").strip()


_FIELDS = "title,abstract,year,venue,authors,citationCount,publicationTypes,publicationVenue,openAccessPdf,externalIds"
_ANSWER_BYTES = 4 << 20
_REVIEWED = frozenset(
    {"JournalArticle", "Conference", "Review", "MetaAnalysis", "ClinicalTrial", "CaseReport", "Study"}
)
_BOOKS = frozenset({"Book", "BookSection"})
_PREFIXES = {PaperSourceKind.ARXIV: "ARXIV:", PaperSourceKind.DOI: "DOI:", PaperSourceKind.SCHOLAR: ""}
_LATEST_YEAR = 2200


def scholar_paper(fetcher: Fetcher, base_url: str, source: PaperSource) -> Paper:
    """Ask Semantic Scholar for one paper; raises `NotFound` if it is unknown."""
    value = source.value.split("v")[0] if source.sort is PaperSourceKind.ARXIV else source.value
    name = quote(f"{_PREFIXES[source.sort]}{value}", safe=":/.")
    url = f"{base_url.rstrip('/')}/graph/v1/paper/{name}?fields={_FIELDS}"
    try:
        answer = _parse_answer(fetcher.get(url, max_bytes=_ANSWER_BYTES).data)
    except NotFound:
        raise NotFound(
            f"Semantic Scholar has no paper {source}", code="unknown_paper", hint="check the identifier"
        ) from None
    return _paper_from_answer(answer, source)


def _paper_from_answer(answer: dict[str, Any], source: PaperSource) -> Paper:
    external = answer.get("externalIds")
    identifiers = {"s2": as_line(answer.get("paperId"), 40)}
    for key, name in (("ArXiv", "arxiv"), ("DOI", "doi")):
        identifiers[name] = as_line(external.get(key), 200) if isinstance(external, dict) else ""
    people = answer.get("authors")
    named = (
        [as_line(each.get("name"), 200) for each in people if isinstance(each, dict)]
        if isinstance(people, list)
        else []
    )
    file = answer.get("openAccessPdf")
    venue = as_line(answer.get("venue"), 200)
    title = as_line(answer.get("title"), LONGEST_TITLE)
    if not title:
        raise Outage(
            f"Semantic Scholar says nothing of {source}", code="invalid_answer", hint="try again later", retryable=True
        )
    return Paper(
        title=title,
        authors=tuple(name for name in named[:MOST_AUTHORS] if name),
        year=as_count(answer.get("year"), _LATEST_YEAR),
        abstract=as_line(answer.get("abstract"), LONGEST_ABSTRACT),
        venue=venue,
        evidence_type=_evidence_type(answer.get("publicationTypes"), venue),
        citations=as_count(answer.get("citationCount"), 10_000_000),
        pdf_url=as_line(file.get("url"), 2000) if isinstance(file, dict) else "",
        identifiers={name: value for name, value in identifiers.items() if value},
    )


def _evidence_type(types: object, venue: str) -> str:
    """Return the kind of evidence; a paper that is only on arXiv is a preprint."""
    named = {each for each in types if isinstance(each, str)} if isinstance(types, list) else set()
    if named & _BOOKS:
        return "book"
    if venue and "arxiv" not in venue.lower() and (named & _REVIEWED or not named):
        return "peer-reviewed"
    return "preprint"


def _parse_answer(data: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Outage(
            "Semantic Scholar's answer cannot be read", code="invalid_answer", hint="try again later", retryable=True
        ) from error
    if not isinstance(answer, dict):
        raise Outage(
            "Semantic Scholar's answer is of another form",
            code="invalid_answer",
            hint="try again later",
            retryable=True,
        )
    return answer
