"""Keeping: a document → a reference through the gate's door, its passages beside it; what is there; what is taken out again.

The passages are looked at one by one: what the checks find grave is withheld and told. A person who adds a document says yes
to quoting it; what an agent adds waits for one. The same document again adds nothing, a changed one is its next version.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from tacit import documents, gate
from tacit.application.names import NAME_LENGTH_MAX, skill_name
from tacit.config.settings import Config
from tacit.documents.pdf import Progress
from tacit.domain.candidate import Decision, Finding, Relation, Verdict
from tacit.domain.document import REFERENCES, Document, Passage
from tacit.domain.errors import NotFound, Refusal
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.origin import Origin
from tacit.domain.ports import Store, Stored
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, SkillContent
from tacit.gate.quoting import TEXT_DIGEST
from tacit.research.gathering import Papers, Said, gather

KEY = "document."
"""Begins every key of a document's metadata."""
_IDENTIFIERS = ("arxiv", "doi", "s2")


class Memory(Protocol):
    """The memory that documents are added to."""

    store: Store
    scope: Scope
    config: Config

    def propose(
        self,
        content: SkillContent,
        *,
        by: str,
        origin: Origin = Origin.AGENT,
        revises: Stored | None = None,
        source: str = "",
        scope: Scope | None = None,
    ) -> Verdict:
        """The one door."""

    def review(
        self,
        version_id: str,
        decision: gate.Review | str,
        *,
        by: str,
        reason: str = "",
        content_hash: str = "",
        ticked: Collection[str] = (),
    ) -> Transition:
        """Carry out a person's decision."""

    def version(self, reference: str) -> Stored:
        """Find a version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A passage that is not quoted, and why."""

    passage: Passage
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of a document."""

    verdict: Verdict
    document: Document
    held: Stored | None = None
    """The version as it stands; nothing where the gate turned it away."""
    withheld: tuple[Withheld, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether it was not known before, word for word."""
        return self.held is not None and self.verdict.relation is not Relation.REINFORCE


class Research:
    """The room of documents."""

    def __init__(self, memory: Memory, papers: Papers | None = None) -> None:
        self._memory = memory
        self._given = papers

    @cached_property
    def _papers(self) -> Papers:
        return self._given or Papers.by(self._memory.config.research)

    def add(
        self,
        source: str,
        *,
        by: str,
        approve: bool = False,
        said: Said | None = None,
        progress: Progress | None = None,
    ) -> Added:
        """Read a document and keep it as a reference. `approve` is a person's yes to quoting it; else it waits for one.

        `source` is a path, `arxiv:…`, `doi:…`, `s2:…`, or an https address, which is fetched only with `approve`.
        """
        gathered = gather(source, lambda: self._papers, said=said or Said(), anywhere=approve, progress=progress)
        document, withheld = _quotable(gathered.document)
        known = self._known(document)
        content = content_of(document, name=known.version.name if known else self._free_name(document.title))
        with self._memory.store.transaction():
            verdict = self._memory.propose(
                content, by=by, origin=Origin.EXTERNAL, revises=known, source=document.source
            )
            held = self._keep(verdict, document, by=by if approve else "")
        return Added(verdict=verdict, document=document, held=held, withheld=withheld, notes=gathered.notes)

    def _keep(self, verdict: Verdict, document: Document, *, by: str) -> Stored | None:
        """Put the passages beside their version, and carry out a person's yes where nothing grave was found."""
        if verdict.decision is Decision.REJECT or not verdict.version_id:
            return None
        store = self._memory.store
        held = store.version(verdict.version_id)
        if held.version.content.metadata.get(TEXT_DIGEST) == document.text_digest():
            store.put_passages(verdict.version_id, document.passages)
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
        for held in self._memory.store.catalogue(kinds={Kind.REFERENCE}):
            if TEXT_DIGEST in held.version.content.metadata and (every or held.status in RECALLABLE):
                newest[held.skill.id] = held
        return sorted(newest.values(), key=lambda held: held.version.name)

    def document(self, reference: str) -> tuple[Stored, list[Passage]]:
        """One document with its passages."""
        held = self._memory.version(reference)
        if TEXT_DIGEST not in held.version.content.metadata:
            raise NotFound(f"`{held.version.name}` is no document", hint="see `tacit research list --all`")
        return held, self._memory.store.passages(held.version.id)

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
            for held in self._memory.store.catalogue(kinds={Kind.REFERENCE})
            if held.skill.scope == self._memory.scope and _is_same(held.version.content.metadata, document)
        ]
        return max(here, key=lambda held: held.sequence, default=None)

    def _free_name(self, title: str) -> str:
        """A name that no other skill of this scope has."""
        store, scope = self._memory.store, self._memory.scope
        wanted = skill_name(title)
        name, number = wanted, 2
        while any(held.skill.scope == scope for held in store.catalogue(name=name)):
            name = f"{wanted[: NAME_LENGTH_MAX - 4].rstrip('-')}-{number}"
            number += 1
        return name


def content_of(document: Document, *, name: str) -> SkillContent:
    """The record of a document: what it is found by, and what binds its passages to it. No path of a machine is in it."""
    said = {
        "title": document.title,
        "authors": "; ".join(document.authors),
        "year": str(document.year or ""),
        "evidence_type": document.evidence_type,
        "citations": str(document.citations),
        "pages": str(document.pages or ""),
        "source": document.source,
        "text_digest": document.text_digest(),
        **{key: document.identifiers.get(key, "") for key in _IDENTIFIERS},
    }
    opening = documents.opening(document.abstract or next(_telling(document.passages), ""))
    title = document.title if document.title.endswith((".", "!", "?")) else f"{document.title}."
    return SkillContent(
        kind=Kind.REFERENCE,
        name=name,
        description=f"{title} {opening}".strip(),
        metadata={KEY + key: value for key, value in said.items() if value},
    )


def _telling(passages: Sequence[Passage]) -> Iterator[str]:
    return (passage.text for passage in passages if passage.section != REFERENCES)


def _quotable(document: Document) -> tuple[Document, tuple[Withheld, ...]]:
    """The document without the passages that must not be quoted; its abstract goes with them if it is among these."""
    withheld = tuple(
        Withheld(passage=passage, findings=found)
        for passage in document.passages
        if (found := gate.unquotable(passage.text))
    )
    gone = {each.passage.index for each in withheld}
    kept = tuple(passage for passage in document.passages if passage.index not in gone)
    if not kept:
        first = withheld[0].findings[0]
        raise Refusal(
            f"no passage of {document.title!r} may be quoted: {first.rule}: {first.message}", hint="look at it"
        )
    abstract = "" if document.abstract and gate.unquotable(document.abstract) else document.abstract
    return replace(document, passages=kept, abstract=abstract), withheld


def _is_same(metadata: Mapping[str, str], document: Document) -> bool:
    """Whether a record stands for this document: by an identifier, by its text, or by source and title."""
    for key in _IDENTIFIERS:
        known, named = metadata.get(KEY + key, ""), document.identifiers.get(key, "")
        if known and named:
            return _bare(known) == _bare(named)
    if metadata.get(TEXT_DIGEST) == document.text_digest():
        return True
    return (metadata.get(KEY + "source"), metadata.get(KEY + "title")) == (document.source, document.title)


def _bare(identifier: str) -> str:
    """An identifier without its version: a new version of a paper is the same paper."""
    return re.sub(r"v\d+$", "", identifier).lower()
