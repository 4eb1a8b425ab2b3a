"""Documents as references: added through the gate with their passages, listed, and removed.

Passages are checked one by one: those with grave findings are withheld and reported. A person who adds a document approves
quoting it; what an agent adds waits for review. Adding the same document again changes nothing, a changed one is the next
version. Two documents are the same work by an identifier of a service, by their text, or by their address or project path; a
bare file name proves nothing, so such texts must share a good part of their sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tacit.domain.candidate import Finding, GateDecision, Relation, Verdict
from tacit.domain.errors import NotFound, Refusal
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status, Transition
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import REFERENCES, TEXT_DIGEST, Passage, StoredVersion
from tacit.domain.trajectory import Origin
from tacit.features.research.document import Document
from tacit.features.research.document_sources import DocumentDetails, Papers, gather
from tacit.features.research.documents.document_passages import opening_sentences
from tacit.features.research.documents.pdf import Progress
from tacit.gate.content_checks import findings_against_quoting, findings_against_section_title
from tacit.gate.review_rules import PersonDecision
from tacit.render.validation import NAME_LENGTH_MAX, skill_name
from tacit.text.similarity import overlap

if TYPE_CHECKING:
    from tacit.api import Tacit

KEY = "document."
"""Prefix of every metadata key of a document."""
IDENTIFIERS = ("arxiv", "doi", "s2")
MIN_SHARED = 0.3
"""Share of the shorter text's sentences that two versions of one work have in common."""
_MAX_PLACES = 20
"""Places of withheld passages that a record lists; the rest is only counted."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A passage that is not quoted, and why."""

    passage: Passage
    findings: tuple[Finding, ...]

    @property
    def where(self) -> str:
        """Its page or line; if it has neither its number, from 1."""
        page, line = self.passage.first_page, self.passage.line
        return f"p. {page}" if page else f"line {line}" if line else f"passage {self.passage.index + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Result of adding a document."""

    verdict: Verdict
    document: Document
    stored: StoredVersion | None = None
    """The stored version; None where the gate rejected it."""
    replaces: StoredVersion | None = None
    """The version before it, if that is quoted."""
    withheld: tuple[Withheld, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether this exact document was not known before."""
        return self.stored is not None and self.verdict.relation is not Relation.REINFORCE


class Research:
    """The documents of a memory."""

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
        """Read a document and store it as a reference. With `approve`, a person allows quoting it; else it waits.

        `source` is a path, `arxiv:…`, `doi:…`, `s2:…`, or an https address, which is fetched only with `approve`.
        """
        details = details or DocumentDetails()
        project = self._memory.context.project
        gathered = gather(
            source, lambda: self._papers, details=details, anywhere=approve, project=project, progress=progress
        )
        document, withheld, heading_notes = _quotable(gathered.document)
        known = self._known(document)
        if known is not None and is_same_text(known.version.content.metadata, document):
            document = _with_known_record(document, known, details)
        name = known.version.name if known else self._unused_name(document.title)
        content = content_of(document, name=name, withheld=withheld)
        with self._memory.context.store.transaction():
            verdict = self._memory.propose(
                content, by=by, origin=Origin.EXTERNAL, revises=known, source=document.source
            )
            stored = self._store(verdict, document, by=by if approve else "")
        is_next = known is not None and stored is not None and known.version.id != stored.version.id
        return Added(
            verdict=verdict,
            document=document,
            stored=stored,
            replaces=known if is_next and known is not None and known.status in RECALLABLE else None,
            withheld=withheld,
            notes=(*gathered.notes, *heading_notes),
        )

    def _store(self, verdict: Verdict, document: Document, *, by: str) -> StoredVersion | None:
        """Store the passages with their version, and approve it for a person if it waits."""
        if verdict.decision is GateDecision.REJECT or not verdict.version_id:
            return None
        store = self._memory.context.store
        stored = store.version(verdict.version_id)
        if stored.version.content.metadata.get(TEXT_DIGEST) == document.text_digest():
            store.passages.put(verdict.version_id, document.passages)
        if by and stored.status is Status.CANDIDATE:
            content_hash, reason = stored.version.hash, "added for quoting"
            self._memory.review(
                verdict.version_id, PersonDecision.APPROVE, by=by, reason=reason, content_hash=content_hash
            )
        return store.version(verdict.version_id)

    def documents(self, *, every: bool = False) -> list[StoredVersion]:
        """Return the newest version of each document, by name; with `every` also those that are not quoted."""
        newest: dict[str, StoredVersion] = {}
        for stored in self._memory.context.store.catalogue(kinds={Kind.REFERENCE}):
            if TEXT_DIGEST in stored.version.content.metadata and (every or stored.status in RECALLABLE):
                newest[stored.skill.id] = stored
        return sorted(newest.values(), key=lambda stored: stored.version.name)

    def document(self, reference: str) -> tuple[StoredVersion, list[Passage]]:
        """Return one document with its passages."""
        try:
            stored = self._memory.version(reference)
        except NotFound as error:
            message, hint = f"no document {reference!r}", "see `tacit research list --all`"
            raise NotFound(message, code="not_a_document", hint=hint) from error
        if TEXT_DIGEST not in stored.version.content.metadata:
            message = f"`{stored.version.name}` is not a document"
            raise NotFound(message, code="not_a_document", hint="see `tacit research list --all`")
        return stored, self._memory.context.store.passages.of(stored.version.id)

    def remove(self, reference: str, *, by: str, reason: str = "") -> Transition:
        """Stop quoting a document; it can be restored, and `purge` deletes it."""
        stored, _ = self.document(reference)
        if stored.status in RECALLABLE:
            return self._memory.review(stored.version.id, PersonDecision.RETIRE, by=by, reason=reason)
        if stored.status in WAITING:
            return self._memory.review(stored.version.id, PersonDecision.REJECT, by=by, reason=reason)
        message = f"`{stored.version.name}` is {stored.status} already"
        raise Refusal(message, code="already_removed", hint="nothing to remove")

    def _known(self, document: Document) -> StoredVersion | None:
        """Return the newest version of the same document, if it was added before."""
        same = [
            stored
            for stored in self._memory.context.store.catalogue(kinds={Kind.REFERENCE})
            if stored.skill.scope == self._memory.context.scope and self._is_same(stored, document)
        ]
        return max(same, key=lambda stored: stored.sequence, default=None)

    def _is_same(self, stored: StoredVersion, document: Document) -> bool:
        passages = self._memory.context.store.passages.of
        return is_same_work(stored.version.content.metadata, document, lambda: passages(stored.version.id))

    def _unused_name(self, title: str) -> str:
        """Return a name that no other skill of this scope has."""
        store, scope = self._memory.context.store, self._memory.context.scope
        wanted = skill_name(title)
        name, number = wanted, 2
        while any(stored.skill.scope == scope for stored in store.catalogue(name=name)):
            name = f"{wanted[: NAME_LENGTH_MAX - 4].rstrip('-')}-{number}"
            number += 1
        return name


def content_of(document: Document, *, name: str, withheld: Sequence[Withheld] = ()) -> SkillContent:
    """Return the record of a document: what it is found by, and the digest of its passages. It names no path."""
    fields = {
        "title": document.title,
        "authors": "; ".join(document.authors),
        "year": str(document.year or ""),
        "evidence_type": document.evidence_type,
        "citations": str(document.citations),
        "pages": str(document.pages or ""),
        "source": document.source,
        "text_digest": document.text_digest(),
        "withheld": _withheld_places(withheld),
        **{key: document.identifiers.get(key, "") for key in IDENTIFIERS},
    }
    texts = (passage.text for passage in document.passages if passage.section != REFERENCES)
    opening = opening_sentences(document.abstract or next(texts, ""))
    title = document.title if document.title.endswith((".", "!", "?")) else f"{document.title}."
    return SkillContent(
        kind=Kind.REFERENCE,
        name=name,
        description=f"{title} {opening}".strip(),
        metadata={KEY + key: value for key, value in fields.items() if value},
    )


def is_same_work(
    metadata: Mapping[str, str], document: Document, known_passages: Callable[[], Iterable[Passage]]
) -> bool:
    """Return whether a record is of this document; its passages are read only where nothing else decides."""
    for key in IDENTIFIERS:
        known, named = metadata.get(KEY + key, ""), document.identifiers.get(key, "")
        if known and named:
            same = _without_version(known) == _without_version(named)
            return same and (is_from_record(document) or shared(known_passages(), document.passages) >= MIN_SHARED)
    if is_same_text(metadata, document):
        return True
    if (metadata.get(KEY + "source"), metadata.get(KEY + "title")) != (document.source, document.title):
        return False
    has_address = "/" in document.source or ":" in document.source
    return has_address or shared(known_passages(), document.passages) >= MIN_SHARED


def is_from_record(document: Document) -> bool:
    """Return whether a service identified the document."""
    return document.source.startswith(tuple(f"{key}:" for key in IDENTIFIERS))


def is_same_text(metadata: Mapping[str, str], document: Document) -> bool:
    """Return whether a record is of exactly this text."""
    return metadata.get(TEXT_DIGEST) == document.text_digest()


def shared(some: Iterable[Passage], others: Iterable[Passage]) -> float:
    """Return the share of the shorter text's sentences that the other text has too."""
    return overlap(_sentences(some), _sentences(others))


def _sentences(passages: Iterable[Passage]) -> set[str]:
    return {part.strip() for passage in passages for part in _SENTENCE_END.split(passage.text) if part.strip()}


def _without_version(identifier: str) -> str:
    """Return an identifier without its version: a new version of a paper is the same paper."""
    return re.sub(r"v\d{1,3}$", "", identifier).lower()


def _withheld_places(withheld: Sequence[Withheld]) -> str:
    """Return where passages are withheld, without their text: whoever approves the rest must know."""
    places = [f"{each.where} ({each.findings[0].rule})" for each in withheld[:_MAX_PLACES]]
    more = ", …" if len(withheld) > _MAX_PLACES else ""
    return f"{len(withheld)}: {', '.join(places)}{more}" if withheld else ""


def _with_known_record(document: Document, known: StoredVersion, details: DocumentDetails) -> Document:
    """Return a copy of a known text with the known record, except for the details that are given now."""
    if is_from_record(document):
        return document  # what the services say of a paper may have changed
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


def _quotable(document: Document) -> tuple[Document, tuple[Withheld, ...], tuple[str, ...]]:
    """Return the document without what must not be quoted, the withheld passages, and notes on headings.

    The abstract is removed with its passage. A heading that must not be shown is removed from its passages.
    """
    withheld: list[Withheld] = []
    kept: list[Passage] = []
    unnamed: Counter[str] = Counter()
    for passage in document.passages:
        if found := findings_against_quoting(passage.text):
            withheld.append(Withheld(passage=replace(passage, section=_safe_section(passage)), findings=found))
        elif against := findings_against_section_title(passage):
            unnamed[f"{against[0].message} ({against[0].rule})"] += 1
            kept.append(replace(passage, section=""))
        else:
            kept.append(passage)
    if not kept:
        first = withheld[0].findings[0]
        message = f"no passage of {document.title!r} may be quoted: {first.rule}: {first.message}"
        raise Refusal(message, code="nothing_quotable", hint="look at it")
    abstract = "" if document.abstract and findings_against_quoting(document.abstract) else document.abstract
    notes = tuple(f"quoted without their heading, passages: {count}; it {why}" for why, count in unnamed.items())
    return replace(document, passages=tuple(kept), abstract=abstract), tuple(withheld), notes


def _safe_section(passage: Passage) -> str:
    """Return the name of a section if it may be shown."""
    return "" if findings_against_quoting(passage.section) else passage.section
