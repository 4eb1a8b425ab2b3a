"""A document as it was read: its passages, and what is known of the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.domain.identity import digest
from tacit.domain.stored import Passage

EVIDENCE_TYPES = ("peer-reviewed", "book", "preprint", "informal")


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
