"""arXiv: an identifier → what its Atom API says of the paper. Its answer is parsed without entities or a document type."""

from __future__ import annotations

import re
from urllib.parse import quote
from xml.etree import ElementTree

from tacit.domain.errors import NotFound, Outage
from tacit.features.research.papers.fetching import Fetcher
from tacit.features.research.papers.paper import (
    LONGEST_ABSTRACT,
    LONGEST_TITLE,
    MOST_AUTHORS,
    Paper,
    line,
    whole_number,
)

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_FEED_BYTES = 1 << 20


def arxiv_paper(fetcher: Fetcher, base_url: str, identifier: str) -> Paper:
    """Ask for one paper; raises `NotFound` where arXiv does not know it."""
    url = f"{base_url.rstrip('/')}/api/query?id_list={quote(identifier, safe='/')}&max_results=1"
    entry = _entry(fetcher.get(url, most_bytes=_FEED_BYTES).data, identifier)
    named = re.sub(r"^https?://arxiv\.org/abs/", "", _said(entry, f"{_ATOM}id"))
    venue, doi = _said(entry, f"{_ARXIV}journal_ref"), _said(entry, f"{_ARXIV}doi")
    authors = (line(each.findtext(f"{_ATOM}name"), 200) for each in entry.findall(f"{_ATOM}author")[:MOST_AUTHORS])
    published = _said(entry, f"{_ATOM}published")
    return Paper(
        title=line(_said(entry, f"{_ATOM}title"), LONGEST_TITLE),
        authors=tuple(name for name in authors if name),
        year=whole_number(published[:4]),
        abstract=line(_said(entry, f"{_ATOM}summary"), LONGEST_ABSTRACT),
        venue=line(venue, 200),
        evidence_type="peer-reviewed" if venue else "preprint",
        pdf_url=f"{base_url.rstrip('/')}/pdf/{quote(named or identifier, safe='/')}",
        identifiers={"arxiv": named or identifier} | ({"doi": line(doi, 200)} if doi else {}),
    )


class _Builder(ElementTree.TreeBuilder):
    """Builds a tree of what declares nothing: a document type, in whatever encoding, ends the reading before its entities."""

    def doctype(self, name: str, pubid: str, system: str) -> None:
        raise Outage("arXiv's answer declares entities, which no answer of it needs", hint="check research.arxiv_url")


def _entry(data: bytes, identifier: str) -> ElementTree.Element:
    try:
        feed = ElementTree.fromstring(data, ElementTree.XMLParser(target=_Builder()))
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise Outage(f"arXiv's answer cannot be read: {error}", hint="try again later", retryable=True) from error
    entry = feed.find(f"{_ATOM}entry")
    if entry is None or "api/errors" in _said(entry, f"{_ATOM}id") or not _said(entry, f"{_ATOM}title"):
        raise NotFound(f"arXiv knows no paper {identifier!r}", hint="check the identifier, such as arxiv:2601.01234")
    return entry


def _said(entry: ElementTree.Element, name: str) -> str:
    return (entry.findtext(name) or "").strip()
