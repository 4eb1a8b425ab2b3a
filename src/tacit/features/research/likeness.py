"""Likeness: is what was read the same work as one that is known, or another of the same name? Pure.

Identifiers tell it where a service says them; what a file says of itself anybody can write. The text tells it, and so does
the place, where that is an address or a path below the project. A file's bare name does not: every folder has its README.
Then the two must have a good part of their sentences in common.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from tacit.domain.document import Document, Passage
from tacit.gate.quoting import TEXT_DIGEST

KEY = "document."
"""Begins every key of a document's metadata."""
IDENTIFIERS = ("arxiv", "doi", "s2")
ALIKE = 0.3
"""The part of the shorter text's sentences that two versions of one work share at least."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def is_same_work(
    metadata: Mapping[str, str], document: Document, known_passages: Callable[[], Iterable[Passage]]
) -> bool:
    """Whether a record stands for this document; its passages are asked for only where nothing else tells."""
    for key in IDENTIFIERS:
        known, named = metadata.get(KEY + key, ""), document.identifiers.get(key, "")
        if known and named:
            same = _bare(known) == _bare(named)
            return same and (is_from_record(document) or shared(known_passages(), document.passages) >= ALIKE)
    if is_same_text(metadata, document):
        return True
    if (metadata.get(KEY + "source"), metadata.get(KEY + "title")) != (document.source, document.title):
        return False
    tells_where = "/" in document.source or ":" in document.source
    return tells_where or shared(known_passages(), document.passages) >= ALIKE


def is_from_record(document: Document) -> bool:
    """Whether a service told what it is."""
    return document.source.startswith(tuple(f"{key}:" for key in IDENTIFIERS))


def is_same_text(metadata: Mapping[str, str], document: Document) -> bool:
    """Whether a record stands for this very text."""
    return metadata.get(TEXT_DIGEST) == document.text_digest()


def shared(some: Iterable[Passage], others: Iterable[Passage]) -> float:
    """The part of the sentences of the shorter text that the other has as well."""
    one, other = _sentences(some), _sentences(others)
    return len(one & other) / max(1, min(len(one), len(other)))


def _sentences(passages: Iterable[Passage]) -> set[str]:
    return {part.strip() for passage in passages for part in _SENTENCE_END.split(passage.text) if part.strip()}


def _bare(identifier: str) -> str:
    """An identifier without its version: a new version of a paper is the same paper."""
    return re.sub(r"v\d{1,3}$", "", identifier).lower()
