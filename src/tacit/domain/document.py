"""Documents and their passages: what is cited. A document is a skill of kind reference; its passages lie beside its version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.domain.identity import digest

ABSTRACT = "Abstract"
"""The section of a passage that sums its document up, whatever it is called there."""
REFERENCES = "References"
"""The section of what only lists other works: kept, and no content of its own."""
EVIDENCE_TYPES = ("peer-reviewed", "book", "preprint", "informal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of a document's text, with the place where it stands."""

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
        """What binds the passages to the content of the skill that stands for the document."""
        return digest(self.passages)
