"""The process that reads a PDF: bytes on standard input → one JSON line per page on standard output. Run as a file, by itself.

It imports nothing of Tacit. Before a byte of the file is looked at, limits are set and a hook refuses whatever a reader
has no need of: starting programs, sockets, opening files other than the interpreter's own modules. First line of the input:
the limits and the module folders; the rest is the file. The last line of the output is the answer: `{"end": …}` or
`{"refused": …}`.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from collections.abc import Sequence
from typing import Any

Faults = tuple[type[Exception], ...]
Widths = dict[int, tuple[Any, dict[int, float]]]
"""By the identity of a font, which is kept with them so that no other one gets it."""

_REFUSED = (
    "ctypes.",
    "ftplib.",
    "http.client.",
    "os.",
    "pty.",
    "shutil.",
    "smtplib.",
    "socket.",
    "subprocess.",
    "urllib.",
)
_HARMLESS = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.putenv", "os.unsetenv"})
_ODD = (TypeError, KeyError, ValueError, AttributeError, IndexError, ArithmeticError)
"""What a font that is not as it should be brings about."""
_UNDRAWN = frozenset({3, 7})
"""Ways to set text that leave no trace on the page."""
_SMALLEST = 1.0
"""Points below which nobody reads a letter."""
_RECOGNISED = 4
"""So many times as much text as is seen lies on the picture of a scan."""
_DEEPEST = 10_000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Read one file, as the first line of the input says."""
    request = json.loads(sys.stdin.buffer.readline())
    sys.path.extend(request["modules"])
    limit(request)
    importlib.import_module("pypdf")  # before the hook: what it needs of the system is loaded here
    block_system_access([os.path.realpath(folder) for folder in sys.path if folder])
    try:
        _read(sys.stdin.buffer.read(), request)
    except MemoryError:
        tell({"refused": "memory"})
    except RecursionError:
        tell({"refused": "damaged", "detail": "it is nested too deeply"})


def limit(request: dict[str, Any]) -> None:
    """Set the limits of this process: they hold for the rest of its life."""
    mebi = 1 << 20
    wanted = [
        (resource.RLIMIT_CPU, request["cpu_s"]),
        (resource.RLIMIT_AS, request["memory_mb"] * mebi),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ]
    for what, asked in wanted:
        hard = resource.getrlimit(what)[1]
        most = asked if hard == resource.RLIM_INFINITY else min(asked, hard)
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # a system that does not know this limit still has the others and the clock
            continue


def block_system_access(folders: Sequence[str]) -> None:
    """Refuse, from now on, whatever a reader has no need of; modules in these folders can still be loaded."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int) and not (flags or 0) & _WRITING:
                return
            named = os.path.realpath(os.fsdecode(path)) if isinstance(path, str | bytes) else ""
            if not (flags or 0) & _WRITING and any(named.startswith(folder + os.sep) for folder in folders):
                return
        elif not event.startswith(_REFUSED) or event in _HARMLESS:
            return
        raise PermissionError(f"reading a document does not need {event}")

    sys.addaudithook(refuse)


def _read(data: bytes, request: dict[str, Any]) -> None:
    import io
    import logging

    import pypdf
    from pypdf.errors import DependencyError, PyPdfError

    logging.disable(logging.CRITICAL)  # what it complains of while it repairs a file is of no use to anybody
    faults: Faults = (
        PyPdfError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        AssertionError,
        NotImplementedError,
    )
    faults += (ArithmeticError, OSError, UnicodeError, EOFError)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            return tell({"refused": "encrypted"})
        count, declared = len(reader.pages), _declared_count(reader)
    except DependencyError as error:
        return tell({"refused": "cipher", "detail": str(error)})
    except faults as error:
        return tell({"refused": "damaged", "detail": f"{type(error).__name__}: {error}"[:200]})
    if count > request["pages"]:
        return tell({"refused": "pages", "detail": str(count)})
    if count != declared:  # pages that are missing would shift the numbers of those behind them
        return tell({"refused": "damaged", "detail": f"{count} of {declared} pages are there"})
    tell({"pages": count})
    unread: list[list[Any]] = []
    widths: Widths = {}
    for number in range(count):
        try:
            tell(_page(reader.pages[number], number + 1, widths))
        except faults as error:
            unread.append([number + 1, f"{type(error).__name__}: {error}"[:200]])
            tell({"page": number + 1, "width": 0, "height": 0, "pieces": []})
    return tell({"end": True, "unread": unread, "info": _info(reader, faults), "outline": _outline(reader, faults)})


def _declared_count(reader: Any) -> int:
    return int(reader.root_object["/Pages"]["/Count"])


def _page(page: Any, number: int, widths: Widths) -> dict[str, Any]:
    """All pieces of text of a page: left end, baseline, width, size, whether bold, the quarter turn, and the text.

    What nobody sees on the page is left out and told as `unseen`. On a scan whose text was recognised all of that lies unseen
    on the picture of itself: there it is read, and told as `recognised`.
    """
    pieces: list[list[Any]] = []
    unseen: list[list[Any]] = []
    undrawn: list[list[Any]] = []
    box, pen = page.mediabox, _Pen()
    left, bottom, right, top = (float(each) for each in (box.left, box.bottom, box.right, box.top))

    def visit(text: str, cm: list[float], tm: list[float], font: Any, size: float) -> None:
        shown = text.replace("\n", "").strip("\r")
        is_drawn = pen.was_drawn()
        if not shown.strip():
            return
        a, b = tm[0] * cm[0] + tm[1] * cm[2], tm[0] * cm[1] + tm[1] * cm[3]
        x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = (a * a + b * b) ** 0.5 or 1.0
        name = str(font.get("/BaseFont", "")) if font else ""
        if id(font) not in widths:
            widths[id(font)] = font, _widths(font)
        height = abs(size) * scale
        known = widths[id(font)][1]
        length = sum(known.get(ord(c)) or _usual(c) for c in shown) * height
        turn = (1 if b > 0 else 3) if abs(b) > abs(a) else (0 if a >= 0 else 2)
        bold = any(mark in name.lower() for mark in ("bold", "black", "heavy", "cmbx", "semibold"))
        slack = max(right - left, top - bottom) if pen.placed else height  # places in what was placed are its own
        inside = left - slack <= x + length and x <= right + slack and bottom - slack <= y <= top + slack
        is_large = height >= _SMALLEST * (0.2 if pen.placed else 1)
        found = unseen if not (inside and is_large) else pieces if is_drawn else undrawn
        found.append([round(x, 1), round(y, 1), round(length, 1), round(height, 2), int(bold), turn, shown])

    page.extract_text(visitor_text=visit, visitor_operand_before=pen.follow)
    request = {"page": number, "width": float(box.width), "height": float(box.height), "pieces": pieces}
    if pen.placed and _length(undrawn) > _RECOGNISED * _length(pieces):
        return request | {"pieces": [*pieces, *undrawn], "recognised": True}
    return request | ({"unseen": True} if unseen or undrawn else {})


def _length(pieces: Sequence[Sequence[Any]]) -> int:
    return sum(len(piece[-1]) for piece in pieces)


class _Pen:
    """How text is drawn while a page is gone through: some modes draw nothing."""

    def __init__(self) -> None:
        self.placed = False
        """Whether a picture, or another drawing, is placed on the page."""
        self._mode = 0
        self._kept: list[int] = []
        self._drawn: list[bool] = []

    def follow(self, operator: Any, operands: Any, _cm: Any, _tm: Any) -> None:
        """Note one operator."""
        match operator:
            case b"Tr":
                self._mode = int(operands[0]) if operands else 0
            case b"q" if len(self._kept) < _DEEPEST:
                self._kept.append(self._mode)
            case b"Q" if self._kept:
                self._mode = self._kept.pop()
            case b"Tj" | b"TJ" | b"'" | b'"':
                self._drawn.append(self._mode not in _UNDRAWN)
            case b"Do" | b"INLINE IMAGE" | b"BI" | b"EI":
                self.placed = True
            case _:
                return

    def was_drawn(self) -> bool:
        """Whether any text since the last question was drawn; where none was noted, it was."""
        drawn, self._drawn = self._drawn, []
        return any(drawn) or not drawn


def _usual(character: str) -> float:
    """How wide a character is in most fonts, in parts of the size."""
    if character >= "\u2e80":
        return 1.0
    if character in "fijlrtI .,:;'|!()[]-":
        return 0.3
    return 0.75 if character in "mwMWQ%@" else 0.65 if character.isupper() else 0.48


def _widths(font: Any) -> dict[int, float]:
    """Width of characters in parts of the size, as far as the font says so."""
    try:  # what the reader itself measures with; where it is kept may change, and then the font is asked directly
        from pypdf.generic._font import Font

        known = Font.from_font_resource(font).character_widths
        return {ord(c): width / 1000 for c, width in known.items() if len(c) == 1 and 0 < width <= 2000}
    except (ImportError, *_ODD):
        pass
    try:
        first, widths = int(font["/FirstChar"]), [float(width) for width in font["/Widths"]]
    except _ODD:
        return {}
    return {first + place: width / 1000 for place, width in enumerate(widths[:256]) if 0 < width <= 2000}


def _info(reader: Any, faults: Faults) -> dict[str, str]:
    try:
        info = reader.metadata or {}
        return {name: str(info.get(f"/{name}", ""))[:500] for name in ("Title", "Author", "Subject")}
    except faults:
        return {}


def _outline(reader: Any, faults: Faults) -> list[list[Any]]:
    """Titles of the outline with their pages, in order; empty where there is none that can be read."""
    found: list[list[Any]] = []
    waiting: list[Any] = []
    try:
        waiting = [reader.outline]
        while waiting and len(found) < 2000:
            entry = waiting.pop()
            if isinstance(entry, list):
                waiting.extend(reversed(entry))
                continue
            number = reader.get_destination_page_number(entry)
            if number is not None and number >= 0:
                found.append([str(entry.title)[:200], number + 1])
    except faults:
        return found
    return found


def tell(document: dict[str, Any]) -> None:
    """Say one thing, on a line of its own."""
    sys.stdout.buffer.write(json.dumps(document, ensure_ascii=True).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
