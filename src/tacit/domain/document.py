"""Documents and their passages, which are cited. A document is a skill of kind reference; its version has the passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.domain.identity import digest

ABSTRACT = "Abstract"
"""The section of a summary, whatever the document calls it."""
REFERENCES = "References"
"""The section that lists other works; stored, but not content of the document."""
EVIDENCE_TYPES = ("peer-reviewed", "book", "preprint", "informal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of a document's text, with its place."""

    index: int
    text: str
    section: str = ""
    first_page: int = 0
    last_page: int = 0
    """From 1; 0 where the document has no pages."""
    line: int = 0
    """Of the file, from 1, where it has lines and no pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it was read."""

    title: str
    passages: tuple[Passage, ...]
    source: str
    """Where it came from: a file's name, an address, `arxiv:…`."""
    authors: tuple[str, ...] = ()
    year: int = 0
    abstract: str = ""
    evidence_type: str = "informal"
    """`peer-reviewed`, `book`, `preprint` or `informal`."""
    citations: int = 0
    pages: int = 0
    identifiers: Mapping[str, str] = field(default_factory=dict)
    """Such as `arxiv`, `doi`, `s2`."""

    def text_digest(self) -> str:
        """Return the digest that binds the passages to the document's skill."""
        return digest(self.passages)
