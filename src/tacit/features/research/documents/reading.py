"""Reads a file: its kind is detected, a confined process extracts the text, and the result is title, abstract and passages.

The first bytes decide the kind of a file; its name and the server's media type only if they do not. Nothing is fetched.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from tacit.domain.errors import Mistake, Refusal
from tacit.domain.stored import ABSTRACT, REFERENCES, Passage
from tacit.features.research.documents.confined_process import ReadingLimits, answers, overtaxed
from tacit.features.research.documents.document_passages import passages_of
from tacit.features.research.documents.document_sections import Paragraph, body_of
from tacit.features.research.documents.pdf import Pdf, Progress, lines_of, read_pages_of_pdf
from tacit.features.research.documents.text_formats import read_html, read_markdown

TEXT_MB = 20
LONGEST_TITLE = 300
LONGEST_ABSTRACT = 10_000
_PDF_WITHIN = 1024
_TEXTS = frozenset({"md", "markdown", "mdown", "txt", "text", "rst", ""})
_PAGES = frozenset({"html", "htm", "xhtml"})
_LOOKED_AT = 4096
_NO_TITLE = re.compile(
    r"^(?:untitled.*|microsoft word.*|.*\.(?:docx?|tex|dvi|indd|pdf|rtf|odt)|\W*|title|paper)$", re.I
)
_ARXIV = re.compile(r"arXiv:((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?)")
_DOI = re.compile(r"(?:doi\.org/|doi:?\s*)(10\.\d{4,9}/[^\s\"<>]+[^\s\"<>.,;)])", re.IGNORECASE)
_YEAR = re.compile(r"\b(1[89]\d\d|20\d\d)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReading:
    """The content of a file."""

    title: str
    passages: tuple[Passage, ...]
    authors: tuple[str, ...] = ()
    year: int = 0
    abstract: str = ""
    pages: int = 0
    identifiers: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Notes for a person: missing pages, hidden text."""


class Sort(StrEnum):
    """The kind of a file."""

    PDF = "pdf"
    HTML = "html"
    TEXT = "text"


def sort_of(data: bytes, *, name: str, media_type: str = "") -> Sort:
    """Return the kind of a file; raises `Mistake` for an unknown kind, `Refusal` for a file that is not what it claims."""
    if b"%PDF-" in data[:_PDF_WITHIN]:
        return Sort.PDF
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if len(data) > TEXT_MB << 20:
        hint = "add the part that you cite"
        raise Refusal(f"{name} is larger than {TEXT_MB} MB of text", code="file_too_large", hint=hint)
    if suffix == "pdf" or "pdf" in media_type:
        hint = "get a complete copy of the file"
        raise Refusal(f"{name} is not a PDF: it does not begin like one", code="not_a_pdf", hint=hint)
    if _begins_like_html(data[:_LOOKED_AT]) or "html" in media_type or suffix in _PAGES:
        return Sort.HTML
    if suffix in _TEXTS or media_type.startswith("text/"):
        return Sort.TEXT
    raise Mistake(
        f"{name} has an unknown format",
        code="unknown_format",
        hint="add a PDF, an HTML page, or a Markdown or text file",
    )


def read_text(sort: Sort, data: bytes, *, name: str) -> DocumentReading:
    """Read an HTML page or a text; raises `Refusal` if there is nothing to quote, `Mistake` if it is not text."""
    text = _decoded(data, name)
    return _from_html(text, name) if sort is Sort.HTML else _from_markdown(text, name)


def _begins_like_html(head: bytes) -> bool:
    """Return whether an HTML page begins here, after declarations and comments."""
    rest = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    while rest.startswith((b"<?xml", b"<!--")):
        _, end, rest = rest.partition(b"-->" if rest.startswith(b"<!--") else b">")
        if not end:
            return False
        rest = rest.lstrip()
    return re.match(rb"<(?:!doctype html|html\b)", rest, re.IGNORECASE) is not None


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise Mistake(
            f"{name} is not text", code="not_text", hint="add a PDF, an HTML page, or a Markdown or text file"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def read_pages(pdf: Pdf, *, name: str) -> DocumentReading:
    """Read the pages of a PDF; raises `Refusal` if there is nothing to quote."""
    lines = lines_of(pdf.pages)
    body = body_of(lines, pdf.outline)
    first = [piece.text for page in pdf.pages[:1] for piece in page.pieces]
    notes = [f"could not be read: page {_some(pdf.unread)}"] if pdf.unread else []
    if pdf.unseen:
        notes.append(f"left out invisible text: page {_some(pdf.unseen)}")
    if pdf.recognised:
        notes.append(f"read the text layer of scanned pages: page {_some(pdf.recognised)}")
    declared = pdf.title if pdf.title and not _NO_TITLE.match(pdf.title) else ""
    authors = tuple(part.strip() for part in re.split(r";|,| and ", pdf.author) if part.strip())
    answers_read = DocumentReading(
        title=declared or body.title,
        passages=(),
        authors=authors,
        pages=len(pdf.pages),
        identifiers=_identifiers(first),
        notes=tuple(notes),
    )
    return _completed(answers_read, body.paragraphs, name)


def _from_html(text: str, name: str) -> DocumentReading:
    page = read_html(text)
    dates = [int(found[0]) for date in page.declared.get("date", ()) if (found := _YEAR.search(date))]
    identifiers: dict[str, str] = {key: page.declared[key][0] for key in ("doi", "arxiv") if key in page.declared}
    answers_read = DocumentReading(
        title=page.title,
        passages=(),
        authors=page.declared.get("author", ()),
        year=dates[0] if dates else 0,
        identifiers=identifiers,
    )
    return _completed(answers_read, page.paragraphs, name)


def _from_markdown(text: str, name: str) -> DocumentReading:
    read = read_markdown(text)
    return _completed(DocumentReading(title=read.title, passages=()), read.paragraphs, name)


def _completed(declared: DocumentReading, paragraphs: Sequence[Paragraph], name: str) -> DocumentReading:
    """Add passages and abstract, and the file name if there is no title."""
    passages = passages_of(paragraphs)
    if not any(passage.section != REFERENCES for passage in passages):
        hint = "look at the file: it may be empty, or a list only"
        raise Refusal(f"{name} has no text to cite", code="nothing_to_cite", hint=hint)
    abstract = " ".join(each.text for each in paragraphs if each.section == ABSTRACT)[:LONGEST_ABSTRACT]
    stem = name.rpartition("/")[2].rpartition(".")[0] or name
    title = " ".join(declared.title.split()) or stem
    return replace(declared, title=title[:LONGEST_TITLE], passages=passages, abstract=abstract)


def _some(pages: Sequence[int]) -> str:
    return ", ".join(map(str, pages[:20])) + (" …" if len(pages) > 20 else "")


def _identifiers(texts: Sequence[str]) -> dict[str, str]:
    """Return identifiers on the first page: arXiv's stamp, a DOI."""
    found: dict[str, str] = {}
    for text in texts:
        for key, pattern in (("arxiv", _ARXIV), ("doi", _DOI)):
            if key not in found and (match := pattern.search(text)):
                found[key] = match[1]
    return found


def read(
    data: bytes,
    *,
    name: str,
    media_type: str = "",
    limits: ReadingLimits | None = None,
    progress: Progress | None = None,
) -> DocumentReading:
    """Read a file in confined processes; raises `Refusal` if it cannot be read, `Mistake` for an unknown kind."""
    limits = limits or ReadingLimits()
    sort = sort_of(data, name=name, media_type=media_type)
    if sort is Sort.PDF:
        answers_read = read_pages_of_pdf(data, name=name, limits=limits, progress=progress)
        data = b"\n".join(json.dumps(answer).encode() for answer in answers_read)
    asked = {"sort": sort, "name": name}
    last: dict[str, Any] = {}
    for last in answers("text_process.py", data, name=name, limits=limits, header_fields=asked):
        if "refused" in last:
            raise _refusal(name, last, limits)
    return _reading(last["reading"])


def _refusal(name: str, answer: dict[str, Any], limits: ReadingLimits) -> Refusal | Mistake:
    why, hint = str(answer["refused"]), str(answer.get("hint", ""))
    if why in ("Mistake", "Refusal"):
        return (Mistake if why == "Mistake" else Refusal)(str(answer["message"]), hint=hint)
    return overtaxed(name, why, limits) or Refusal(
        f"{name} cannot be read", code="damaged_file", hint="save it again, as plain text if necessary"
    )


def _reading(answers_read: dict[str, Any]) -> DocumentReading:
    fields = {field.name: answers_read[field.name] for field in dataclasses.fields(DocumentReading)}
    fields |= {name: tuple(answers_read[name]) for name in ("authors", "notes")}
    return DocumentReading(**fields | {"passages": tuple(Passage(**each) for each in answers_read["passages"])})
