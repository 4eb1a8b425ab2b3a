"""Naming: what a person typed → which paper, address or file is meant. Pure; asks nobody.

`arxiv:2601.01234v2`, `cs/0112017`, `doi:10.…`, `s2:…`, `CorpusId:…`, the addresses of the same, any other `https:` address,
and else a path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from tacit.domain.errors import Mistake

_NEW = r"\d{4}\.\d{4,5}(?:v\d{1,3})?"
_OLD = r"[a-z][a-z-]*(?:\.[A-Za-z-]{2,})?/\d{7}(?:v\d{1,3})?"
_ARXIV = re.compile(rf"(?:arxiv:\s*)?({_NEW})|arxiv:\s*({_OLD})|({_OLD})", re.IGNORECASE)
_ARXIV_PATH = re.compile(rf"/(?:abs|pdf|html|format)/({_NEW}|{_OLD})(?:\.pdf)?/?", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:\s*)?(10\.\d{4,9}/\S+)", re.IGNORECASE)
_SCHOLAR = re.compile(r"(?:s2:|S2PaperId:)?([0-9a-f]{40})", re.IGNORECASE)
_CORPUS = re.compile(r"(?:s2:)?CorpusId:(\d{1,12})", re.IGNORECASE)


class Named(StrEnum):
    """What sort of thing was named."""

    ARXIV = "arxiv"
    DOI = "doi"
    SCHOLAR = "s2"
    ADDRESS = "address"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Source:
    """What was named, and how it is called there."""

    sort: Named
    value: str

    def __str__(self) -> str:
        return self.value if self.sort in (Named.ADDRESS, Named.FILE) else f"{self.sort}:{self.value}"


def parse_source(text: str) -> Source:
    """Tell what was named; whatever is nothing else is a file. Raises `Mistake` for an address that is none."""
    text = text.strip()
    if re.match(r"https?://", text, re.IGNORECASE):
        return _addressed(text)
    if found := _CORPUS.fullmatch(text):
        return Source(Named.SCHOLAR, f"CorpusId:{found[1]}")
    if found := _SCHOLAR.fullmatch(text):
        return Source(Named.SCHOLAR, found[1].lower())
    if found := _DOI.fullmatch(text):
        return Source(Named.DOI, found[1])
    if found := _ARXIV.fullmatch(text):
        return Source(Named.ARXIV, found[1] or found[2] or found[3])
    return Source(Named.FILE, text)


def _addressed(text: str) -> Source:
    """The paper that an address of arXiv, DOI or Semantic Scholar leads to; else the address."""
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise Mistake(f"{text!r} is no address: {error}", hint="write https://host/path") from error
    host, path = (parts.hostname or "").removeprefix("www.").removeprefix("export."), unquote(parts.path)
    if host == "arxiv.org" and (found := _ARXIV_PATH.fullmatch(path)):
        return Source(Named.ARXIV, found[1])
    if host in ("doi.org", "dx.doi.org") and (found := _DOI.fullmatch(path.lstrip("/"))):
        return Source(Named.DOI, found[1])
    if host == "semanticscholar.org" and (found := re.search(r"/([0-9a-f]{40})/?$", path)):
        return Source(Named.SCHOLAR, found[1])
    return Source(Named.ADDRESS, text)
