"""PDF: bytes → what a confined process tells of each page, or a refusal that says what is wrong; that → pieces of text.

The file is never opened by a program that shows it, so what it would do there (scripts, actions, attachments) does not
happen. What is told is only put into form here (`whole`); `layout` puts it in order.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tacit.domain.errors import Mistake, Refusal
from tacit.features.research.documents.confined import Limits, answers, overtaxed

__all__ = ["INSTALL", "Limits", "Page", "Pdf", "Piece", "Progress", "pages_told", "whole"]

INSTALL = "pip install 'tacit[research]', or in a checkout: pip install '.[research]'"
Progress = Callable[[int, int], None]
"""Told how many pages are read, of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some text as it was drawn: its left end, its baseline counted upwards, its width as far as it is known."""

    x: float
    y: float
    width: float
    size: float
    bold: bool
    turn: int
    """Quarter turns to the left."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, from 1, with all that is drawn on it as text."""

    number: int
    width: float
    height: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdf:
    """A file as it was read."""

    pages: tuple[Page, ...]
    title: str = ""
    author: str = ""
    outline: tuple[tuple[str, int], ...] = ()
    unread: tuple[int, ...] = ()
    """Pages that could not be read."""
    unseen: tuple[int, ...] = ()
    """Pages with text that nobody sees, which was left out."""
    recognised: tuple[int, ...] = ()
    """Pages whose text lies unseen on a picture, as in scans that a program recognised the text of."""


def pages_told(data: bytes, *, name: str, limits: Limits, progress: Progress | None = None) -> list[dict[str, Any]]:
    """What the process tells of a file; raises `Refusal` where it cannot be read, or where nobody may read it."""
    if importlib.util.find_spec("pypdf") is None:
        raise Mistake("PDF files need the extra `research`", hint=INSTALL)
    if len(data) > limits.input_mb << 20:
        raise Refusal(f"{name} is larger than {limits.input_mb} MB", hint="split it, or add the part that you cite")
    told: list[dict[str, Any]] = []
    total = done = 0
    for answer in answers("pdf_process.py", data, name=name, limits=limits):
        if "refused" in answer:
            raise _refusal(name, str(answer["refused"]), detail=str(answer.get("detail", "")), limits=limits)
        total = int(answer.get("pages", total))
        if "page" in answer:
            done += 1
            if progress is not None:
                progress(done, total)
        told.append(answer)
    return told


def whole(told: Iterable[dict[str, Any]], *, name: str) -> Pdf:
    """A file as the process told it; raises `Refusal` where no page has text."""
    pages: list[Page] = []
    last: dict[str, Any] = {}
    marked: dict[str, list[int]] = {"unseen": [], "recognised": []}
    for answer in told:
        if "page" in answer:
            pages.append(_page(answer))
            for mark, numbers in marked.items():
                if answer.get(mark):
                    numbers.append(pages[-1].number)
        elif "end" in answer:
            last = answer
    unread = tuple(int(number) for number, _ in last["unread"])
    if not any(page.pieces for page in pages):
        if unread:
            hint = "get a whole copy of the file"
            raise Refusal(f"no page of {name} can be read: {last['unread'][0][1]}", hint=hint)
        raise Refusal(
            f"{name} holds no text on any of its pages ({len(pages)}); scans hold pictures only",
            hint="run it through a program that recognises text (such as ocrmypdf), then add the result",
        )
    info = last["info"]
    outline = tuple((str(title), int(number)) for title, number in last["outline"])
    return Pdf(
        pages=tuple(pages),
        title=info.get("Title", "").strip(),
        author=info.get("Author", "").strip(),
        outline=outline,
        unread=unread,
        unseen=tuple(marked["unseen"]),
        recognised=tuple(marked["recognised"]),
    )


def _page(told: dict[str, Any]) -> Page:
    pieces = tuple(
        Piece(x=x, y=y, width=width, size=size, bold=bool(bold), turn=turn, text=text)
        for x, y, width, size, bold, turn, text in told["pieces"]
    )
    return Page(number=told["page"], width=told["width"], height=told["height"], pieces=pieces)


def _refusal(name: str, why: str, *, limits: Limits, detail: str = "") -> Refusal:
    more = f" ({detail})" if detail else ""
    match why:
        case "encrypted":
            return Refusal(f"{name} opens only with a password", hint="save a copy without one, and add that")
        case "cipher":
            return Refusal(f"{name} is encrypted in a way that cannot be read here{more}", hint=INSTALL)
        case "pages":
            return Refusal(f"{name} says it has {detail} pages; {limits.pages} are the most", hint="split it")
        case _:
            damaged = f"{name} is no PDF that can be read: it is damaged or cut off{more}"
            return overtaxed(name, why, limits) or Refusal(damaged, hint="get a whole copy")
