"""Likeness: is what was read the same work as one that is known, or another of the same name? Pure.

Identifiers tell it where a service says them; what a file says of itself anybody can write. The text tells it, and so does
the place, where that is an address or a path below the project. A file's bare name does not: every folder has its README.
Then the two must have a good part of their sentences in common.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tacit import gate
from tacit.domain.candidate import Decision, Finding, Relation, Verdict
from tacit.domain.document import REFERENCES, Document, Passage
from tacit.domain.errors import NotFound, Refusal
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.origin import Origin
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import Stored
from tacit.features.research.document_sources import DocumentDetails, Papers, gather
from tacit.features.research.documents.document_passages import opening_sentences
from tacit.features.research.documents.pdf import Progress
from tacit.gate.content_checks import TEXT_DIGEST
from tacit.render.validation import NAME_LENGTH_MAX, skill_name
from tacit.text.near_duplicates import overlap

if TYPE_CHECKING:
    from tacit.api import Tacit

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
    return overlap(_sentences(some), _sentences(others))


def _sentences(passages: Iterable[Passage]) -> set[str]:
    return {part.strip() for passage in passages for part in _SENTENCE_END.split(passage.text) if part.strip()}


def _bare(identifier: str) -> str:
    """An identifier without its version: a new version of a paper is the same paper."""
    return re.sub(r"v\d{1,3}$", "", identifier).lower()


_MAX_PLACES = 20
"""Places of withheld passages that a record names; of more it only gives the count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A passage that is not quoted, and why."""

    passage: Passage
    findings: tuple[Finding, ...]

    @property
    def where(self) -> str:
        """Its page or line; where there is neither its number, from 1."""
        page, line = self.passage.first_page, self.passage.line
        return f"p. {page}" if page else f"line {line}" if line else f"passage {self.passage.index + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of a document."""

    verdict: Verdict
    document: Document
    held: Stored | None = None
    """The version as it stands; nothing where the gate turned it away."""
    replaces: Stored | None = None
    """The version before it, where it is the next one of a document that is quoted."""
    withheld: tuple[Withheld, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether it was not known before, word for word."""
        return self.held is not None and self.verdict.relation is not Relation.REINFORCE


class Research:
    """The room of documents."""

    def __init__(self, memory: Tacit, papers: Papers | None = None) -> None:
        self._memory = memory
        self._given = papers

    @cached_property
    def _papers(self) -> Papers:
        return self._given or Papers.by(self._memory.context.config.research)

    def add(
        self,
        source: str,
        *,
        by: str,
        approve: bool = False,
        details: DocumentDetails | None = None,
        progress: Progress | None = None,
    ) -> Added:
        """Read a document and keep it as a reference. `approve` is a person's yes to quoting it; else it waits for one.

        `source` is a path, `arxiv:…`, `doi:…`, `s2:…`, or an https address, which is fetched only with `approve`.
        """
        details = details or DocumentDetails()
        project = self._memory.context.project
        gathered = gather(
            source, lambda: self._papers, details=details, anywhere=approve, project=project, progress=progress
        )
        document, withheld, unnamed = _quotable(gathered.document)
        known = self._known(document)
        if known is not None and is_same_text(known.version.content.metadata, document):
            document = _as_known(document, known, details)
        name = known.version.name if known else self._free_name(document.title)
        content = content_of(document, name=name, withheld=withheld)
        with self._memory.context.store.transaction():
            verdict = self._memory.propose(
                content, by=by, origin=Origin.EXTERNAL, revises=known, source=document.source
            )
            held = self._keep(verdict, document, by=by if approve else "")
        is_next = known is not None and held is not None and known.version.id != held.version.id
        return Added(
            verdict=verdict,
            document=document,
            held=held,
            replaces=known if is_next and known is not None and known.status in RECALLABLE else None,
            withheld=withheld,
            notes=(*gathered.notes, *unnamed),
        )

    def _keep(self, verdict: Verdict, document: Document, *, by: str) -> Stored | None:
        """Put the passages beside their version, and carry out a person's yes where nothing grave was found."""
        if verdict.decision is Decision.REJECT or not verdict.version_id:
            return None
        store = self._memory.context.store
        held = store.version(verdict.version_id)
        if held.version.content.metadata.get(TEXT_DIGEST) == document.text_digest():
            store.passages.put(verdict.version_id, document.passages)
        if by and held.status is Status.CANDIDATE:
            self._memory.review(
                verdict.version_id,
                gate.Review.APPROVE,
                by=by,
                reason="added for quoting",
                content_hash=held.version.hash,
            )
        return store.version(verdict.version_id)

    def documents(self, *, every: bool = False) -> list[Stored]:
        """The newest version of each document, by name; with `every` those too that are no longer, or not yet, quoted."""
        newest: dict[str, Stored] = {}
        for held in self._memory.context.store.catalogue(kinds={Kind.REFERENCE}):
            if TEXT_DIGEST in held.version.content.metadata and (every or held.status in RECALLABLE):
                newest[held.skill.id] = held
        return sorted(newest.values(), key=lambda held: held.version.name)

    def document(self, reference: str) -> tuple[Stored, list[Passage]]:
        """One document with its passages."""
        held = self._memory.version(reference)
        if TEXT_DIGEST not in held.version.content.metadata:
            raise NotFound(f"`{held.version.name}` is no document", hint="see `tacit research list --all`")
        return held, self._memory.context.store.passages.of(held.version.id)

    def remove(self, reference: str, *, by: str, reason: str = "") -> Transition:
        """Take a document out of use: it is not quoted any more, and can be brought back; `purge` removes it for good."""
        held, _ = self.document(reference)
        if held.status in RECALLABLE:
            return self._memory.review(held.version.id, gate.Review.RETIRE, by=by, reason=reason)
        if held.status in (Status.CANDIDATE, Status.QUARANTINED):
            return self._memory.review(held.version.id, gate.Review.REJECT, by=by, reason=reason)
        raise Refusal(f"`{held.version.name}` is {held.status} already", hint="nothing to remove")

    def _known(self, document: Document) -> Stored | None:
        """The newest version of the same document, if it was added before."""
        here = [
            held
            for held in self._memory.context.store.catalogue(kinds={Kind.REFERENCE})
            if held.skill.scope == self._memory.context.scope and self._is_same(held, document)
        ]
        return max(here, key=lambda held: held.sequence, default=None)

    def _is_same(self, held: Stored, document: Document) -> bool:
        passages = self._memory.context.store.passages.of
        return is_same_work(held.version.content.metadata, document, lambda: passages(held.version.id))

    def _free_name(self, title: str) -> str:
        """A name that no other skill of this scope has."""
        store, scope = self._memory.context.store, self._memory.context.scope
        wanted = skill_name(title)
        name, number = wanted, 2
        while any(held.skill.scope == scope for held in store.catalogue(name=name)):
            name = f"{wanted[: NAME_LENGTH_MAX - 4].rstrip('-')}-{number}"
            number += 1
        return name


def content_of(document: Document, *, name: str, withheld: Sequence[Withheld] = ()) -> SkillContent:
    """The record of a document: what it is found by, and what binds its passages to it. No path of a machine is in it."""
    details = {
        "title": document.title,
        "authors": "; ".join(document.authors),
        "year": str(document.year or ""),
        "evidence_type": document.evidence_type,
        "citations": str(document.citations),
        "pages": str(document.pages or ""),
        "source": document.source,
        "text_digest": document.text_digest(),
        "withheld": _places(withheld),
        **{key: document.identifiers.get(key, "") for key in IDENTIFIERS},
    }
    opening = opening_sentences(document.abstract or next(_telling(document.passages), ""))
    title = document.title if document.title.endswith((".", "!", "?")) else f"{document.title}."
    return SkillContent(
        kind=Kind.REFERENCE,
        name=name,
        description=f"{title} {opening}".strip(),
        metadata={KEY + key: value for key, value in details.items() if value},
    )


def _places(withheld: Sequence[Withheld]) -> str:
    """What of a document is not quoted, in few words and none of its own: whoever approves the rest must know."""
    record = [f"{each.where} ({each.findings[0].rule})" for each in withheld[:_MAX_PLACES]]
    return f"{len(withheld)}: {', '.join(record)}" + (", …" if len(withheld) > _MAX_PLACES else "") if withheld else ""


def _as_known(document: Document, known: Stored, details: DocumentDetails) -> Document:
    """The same text from another file, as its record has it, but for what was said of it now: a copy is nothing new."""
    if is_from_record(document):
        return document  # what the services tell of a paper may have changed
    record = known.version.content.metadata
    authors = tuple(name for name in record.get(KEY + "authors", "").split("; ") if name)
    pages, year, cited = (_count(record, key) for key in ("pages", "year", "citations"))
    return replace(
        document,
        title=details.title or record.get(KEY + "title", document.title),
        authors=details.authors or authors,
        year=details.year or year,
        evidence_type=details.evidence_type or record.get(KEY + "evidence_type", document.evidence_type),
        citations=cited,
        pages=pages,
        source=record.get(KEY + "source", document.source),
        identifiers={key: record[KEY + key] for key in IDENTIFIERS if record.get(KEY + key)},
    )


def _count(record: Mapping[str, str], key: str) -> int:
    text = record.get(KEY + key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0


def _telling(passages: Sequence[Passage]) -> Iterator[str]:
    return (passage.text for passage in passages if passage.section != REFERENCES)


def _quotable(document: Document) -> tuple[Document, tuple[Withheld, ...], tuple[str, ...]]:
    """The document without what must not be quoted, the passages that are left away, and what to tell of headings.

    The abstract goes with the passages if it is among them. A heading that must not be told is taken from its passages.
    """
    withheld: list[Withheld] = []
    kept: list[Passage] = []
    unnamed: Counter[str] = Counter()
    for passage in document.passages:
        if found := gate.unquotable(passage.text):
            withheld.append(Withheld(passage=replace(passage, section=_safe_section(passage)), findings=found))
        elif against := gate.unnameable(passage):
            unnamed[f"{against[0].message} ({against[0].rule})"] += 1
            kept.append(replace(passage, section=""))
        else:
            kept.append(passage)
    if not kept:
        first = withheld[0].findings[0]
        raise Refusal(
            f"no passage of {document.title!r} may be quoted: {first.rule}: {first.message}", hint="look at it"
        )
    abstract = "" if document.abstract and gate.unquotable(document.abstract) else document.abstract
    notes = tuple(f"quoted without their heading, passages: {count}; it {why}" for why, count in unnamed.items())
    return replace(document, passages=tuple(kept), abstract=abstract), tuple(withheld), notes


def _safe_section(passage: Passage) -> str:
    """The name of a section where it may be told by itself."""
    return "" if gate.unquotable(passage.section) else passage.section
