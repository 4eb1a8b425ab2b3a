"""Reads the document that a source names: a file, an address, or a paper. Stores nothing.

The record of a paper comes from arXiv and Semantic Scholar; its text if it is open, else only its abstract. If one service does
not answer, that is noted, as long as there is something to quote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.config.settings import ResearchSettings
from tacit.domain.errors import Mistake, NotFound, NotPermitted, Outage, Refusal, TacitError
from tacit.domain.stored import ABSTRACT, Passage
from tacit.features.research.document import EVIDENCE_TYPES, Document
from tacit.features.research.documents.pdf import Progress
from tacit.features.research.documents.reading import read
from tacit.features.research.fetcher import Fetched, Fetcher, origin
from tacit.features.research.papers import Paper, PaperSource, PaperSourceKind, arxiv_paper, parse_source, scholar_paper

FILE_MB = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDetails:
    """Details that override those of the document itself."""

    title: str = ""
    authors: tuple[str, ...] = ()
    year: int = 0
    evidence_type: str = ""

    def __post_init__(self) -> None:
        if self.evidence_type and self.evidence_type not in EVIDENCE_TYPES:
            hint = f"use one of: {', '.join(EVIDENCE_TYPES)}"
            raise Mistake(f"unknown evidence type {self.evidence_type!r}", code="unknown_evidence_type", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A document, and notes on how it was read."""

    document: Document
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """Access to papers and addresses."""

    settings: ResearchSettings
    fetcher: Fetcher

    @classmethod
    def by(cls, settings: ResearchSettings) -> Papers:
        """Return access with the services of the settings."""
        services = (origin(settings.arxiv_url), origin(settings.scholar_url))
        return cls(settings=settings, fetcher=Fetcher(trusted=services))

    def fetch(self, url: str) -> Fetched:
        """Fetch a file."""
        return self.fetcher.get(url, max_bytes=FILE_MB << 20)


def gather(
    text: str,
    papers: Callable[[], Papers],
    *,
    details: DocumentDetails,
    anywhere: bool,
    project: Path | None = None,
    progress: Progress | None = None,
) -> Gathered:
    """Read a document. Addresses other than those of the two services are fetched only with `anywhere`.

    A file in the folder `project` is named by its path from there (`./docs/intro.md`), any other by its bare name.
    """
    source = parse_source(text)
    if source.sort is PaperSourceKind.ARXIV and Path(text).exists():
        source = PaperSource(PaperSourceKind.FILE, text)
    match source.sort:
        case PaperSourceKind.FILE:
            path = Path(source.value).expanduser()
            found = _from_file(path, progress, source=_source_name(path, project))
        case PaperSourceKind.ADDRESS:
            if not anywhere:
                hint = "save the file and add that, or let a person add the address"
                raise NotPermitted("only a person may fetch an address", code="person_only", hint=hint)
            fetched = papers().fetch(source.value)
            found = _read_document(fetched, name=_file_name(fetched.url), source=source.value, progress=progress)
        case _:
            found = _from_record(source, papers(), anywhere=anywhere, progress=progress)
    return replace(found, document=_with_details(found.document, details))


def _with_details(document: Document, details: DocumentDetails) -> Document:
    return replace(
        document,
        title=details.title or document.title,
        authors=details.authors or document.authors,
        year=details.year or document.year,
        evidence_type=details.evidence_type or document.evidence_type,
    )


def _source_name(path: Path, project: Path | None) -> str:
    """Return the name of a file in a record, without folders outside the project."""
    whole = path.resolve()
    if project is not None and whole.is_relative_to(project.resolve()):
        return f"./{whole.relative_to(project.resolve()).as_posix()}"
    return path.name


def _from_file(path: Path, progress: Progress | None, *, source: str) -> Gathered:
    if not path.is_file():
        raise NotFound(
            f"no such file: {path}", hint="give a file, an https address, or an identifier such as arxiv:2601.01234"
        )
    with path.open("rb") as stream:
        data = stream.read((FILE_MB << 20) + 1)
    if len(data) > FILE_MB << 20:
        hint = "split it, or add the part that you cite"
        raise Refusal(f"{path.name} is larger than {FILE_MB} MB", code="file_too_large", hint=hint)
    fetched = Fetched(data=data, media_type="", url="")
    return _read_document(fetched, name=path.name, source=source, progress=progress)


def _read_document(fetched: Fetched, *, name: str, source: str, progress: Progress | None) -> Gathered:
    reading = read(fetched.data, name=name, media_type=fetched.media_type, progress=progress)
    document = Document(
        title=reading.title,
        passages=reading.passages,
        source=source,
        authors=reading.authors,
        year=reading.year,
        abstract=reading.abstract,
        pages=reading.pages,
        identifiers=reading.identifiers,
    )
    return Gathered(document=document, notes=reading.notes)


def _from_record(source: PaperSource, papers: Papers, *, anywhere: bool, progress: Progress | None) -> Gathered:
    paper, notes = _paper_record(source, papers)
    document = Document(
        title=paper.title,
        passages=(),
        source=str(source),
        authors=paper.authors,
        year=paper.year,
        abstract=paper.abstract,
        evidence_type=paper.evidence_type,
        citations=paper.citations,
        identifiers=paper.identifiers,
    )
    read, why = _open_text(paper, papers, anywhere=anywhere, progress=progress)
    if read is not None:
        document = replace(document, passages=read.document.passages, pages=read.document.pages)
        document = replace(document, abstract=paper.abstract or read.document.abstract)
        notes += read.notes
    notes += (why,) if why else ()
    return Gathered(document=_with_abstract(document), notes=notes)


def _paper_record(source: PaperSource, papers: Papers) -> tuple[Paper, tuple[str, ...]]:
    """Return the record from both services: Semantic Scholar adds citations and venues."""
    settings, fetcher = papers.settings, papers.fetcher
    if source.sort is not PaperSourceKind.ARXIV:
        return scholar_paper(fetcher, settings.scholar_url, source), ()
    paper = arxiv_paper(fetcher, settings.arxiv_url, source.value)
    try:
        known = scholar_paper(fetcher, settings.scholar_url, source)
    except (NotFound, Outage) as error:
        return paper, (f"citations are not known: {error.message}",)
    reviewed = known.evidence_type if paper.evidence_type == "preprint" else paper.evidence_type
    identifiers = {**known.identifiers, **paper.identifiers}
    return replace(
        paper,
        citations=known.citations,
        evidence_type=reviewed,
        venue=paper.venue or known.venue,
        identifiers=identifiers,
    ), ()


def _open_text(
    paper: Paper, papers: Papers, *, anywhere: bool, progress: Progress | None
) -> tuple[Gathered | None, str]:
    """Return the text of a paper if it is open; else why only the abstract is stored."""
    if not paper.pdf_url:
        return None, "the text is not open: only the abstract is stored"
    try:
        if not anywhere and origin(paper.pdf_url) not in papers.fetcher.trusted:
            why = "the text is at another address, which only a person may fetch: only the abstract is stored"
            return None, why
        fetched = papers.fetch(paper.pdf_url)
        return _read_document(fetched, name=_file_name(paper.pdf_url), source="", progress=progress), ""
    except TacitError as error:
        if not paper.abstract:
            raise
        return None, f"the text could not be read, only the abstract is stored: {error.message}"


def _with_abstract(document: Document) -> Document:
    """Return the document with its abstract as a passage; raise `Refusal` if there is no text at all."""
    if any(passage.section == ABSTRACT for passage in document.passages):
        return document
    if not document.abstract:
        if document.passages:
            return document
        hint = "get the file, and add that"
        raise Refusal(f"nothing of {document.title!r} is open", code="not_open", hint=hint)
    rest = (replace(passage, index=passage.index + 1) for passage in document.passages)
    return replace(document, passages=(Passage(index=0, text=document.abstract, section=ABSTRACT), *rest))


def _file_name(url: str) -> str:
    return url.partition("?")[0].rstrip("/").rpartition("/")[2] or "document"
