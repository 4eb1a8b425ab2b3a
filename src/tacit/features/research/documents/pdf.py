"""PDF pages: text pieces from a confined process → lines in reading order.

The file is never opened by a viewer, so that its scripts, actions and attachments do not run. Pieces on one baseline make a
line; distant ones are cells of a table. Two columns are read one after the other. What repeats at the top or bottom of many
pages is left out.
"""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Any

from tacit.domain.errors import Mistake, Refusal
from tacit.features.research.documents.confined_process import ReadingLimits, answers, overtaxed

INSTALL = "pip install 'tacit[research]', or in a checkout: pip install '.[research]'"
Progress = Callable[[int, int], None]
"""Called with the number of pages read, and of all pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """Some text as drawn: left end, baseline from below, and estimated width."""

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
    """One page, from 1, with all its text."""

    number: int
    width: float
    height: float
    pieces: tuple[TextPiece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdf:
    """The content of a PDF file."""

    pages: tuple[Page, ...]
    title: str = ""
    author: str = ""
    outline: tuple[tuple[str, int], ...] = ()
    unread: tuple[int, ...] = ()
    """Pages that could not be read."""
    unseen: tuple[int, ...] = ()
    """Pages with invisible text, which was left out."""
    recognised: tuple[int, ...] = ()
    """Scanned pages with an invisible text layer over the picture."""


def read_pages_of_pdf(
    data: bytes, *, name: str, limits: ReadingLimits, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Return the answers of the process; raises `Refusal` if the file cannot be read or is encrypted."""
    if importlib.util.find_spec("pypdf") is None:
        raise Mistake("PDF files need the extra `research`", code="missing_extra", hint=INSTALL)
    if len(data) > limits.input_mb << 20:
        hint = "split it, or add the part that you cite"
        raise Refusal(f"{name} is larger than {limits.input_mb} MB", code="file_too_large", hint=hint)
    answers_read: list[dict[str, Any]] = []
    total = done = 0
    for answer in answers("pdf_process.py", data, name=name, limits=limits):
        if "refused" in answer:
            raise _refusal(name, str(answer["refused"]), detail=str(answer.get("detail", "")), limits=limits)
        total = int(answer.get("pages", total))
        if "page" in answer:
            done += 1
            if progress is not None:
                progress(done, total)
        answers_read.append(answer)
    return answers_read


def whole(answers_read: Iterable[dict[str, Any]], *, name: str) -> Pdf:
    """Return the file from the answers of the process; raises `Refusal` if no page has text."""
    pages: list[Page] = []
    last: dict[str, Any] = {}
    marked: dict[str, list[int]] = {"unseen": [], "recognised": []}
    for answer in answers_read:
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
            raise Refusal(f"no page of {name} can be read: {last['unread'][0][1]}", code="damaged_file", hint=hint)
        raise Refusal(
            f"{name} has no text on any of its {len(pages)} pages; scans contain only pictures",
            code="no_text",
            hint="run text recognition on it (such as ocrmypdf), then add the result",
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


def _page(answers_read: dict[str, Any]) -> Page:
    pieces = tuple(
        TextPiece(x=x, y=y, width=width, size=size, bold=bool(bold), turn=turn, text=text)
        for x, y, width, size, bold, turn, text in answers_read["pieces"]
    )
    return Page(number=answers_read["page"], width=answers_read["width"], height=answers_read["height"], pieces=pieces)


def _refusal(name: str, why: str, *, limits: ReadingLimits, detail: str = "") -> Refusal:
    more = f" ({detail})" if detail else ""
    match why:
        case "encrypted":
            return Refusal(
                f"{name} needs a password", code="encrypted_file", hint="save a copy without one, and add that"
            )
        case "cipher":
            return Refusal(f"{name} has an unsupported encryption{more}", code="encrypted_file", hint=INSTALL)
        case "pages":
            return Refusal(
                f"{name} has {detail} pages; at most {limits.pages} are read", code="too_many_pages", hint="split it"
            )
        case _:
            damaged = f"{name} is damaged or incomplete{more}"
            return overtaxed(name, why, limits) or Refusal(damaged, code="damaged_file", hint="get a complete copy")


_CELL = " | "
_SAME_LINE = 0.35
"""Baselines that differ by less than this part of the size are one line: an exponent stays in it."""
_CELL_GAP = 1.6
"""Pieces further apart than so many sizes are cells."""
_BLANK = 0.5
"""Pieces further apart than this are words apart, even where the reader saw no blank: widths are not always known."""
_GUTTER_GAP = 0.6
"""Columns lie at least so many sizes apart."""
_FULL = 0.55
"""Lines of a column fill at least this part of it, by the middle of them; cells of a table do not."""
_LEAST_LINES = 4
_EDGE_LINES = 2
_APART = 1.5
"""What stands so many sizes off the next line, at the edge of a page, may be a running header."""
_REPEATED = 0.35
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """One line of text on a page."""

    text: str
    page: int
    x: float
    y: float
    end: float
    size: float
    bold: bool = False
    cells: int = 1


def lines_of(pages: Sequence[Page]) -> list[TextLine]:
    """Return all lines of a document in reading order, without running headers and footers."""
    per_page = [_read(_upright(page), page.number) for page in pages]
    return list(_without_repeated(per_page))


def clean(text: str) -> str:
    """Return a text without ligatures, unusual blanks and invisible characters."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2010", "-")
    if not text.isprintable():
        text = "".join(c for c in text if c in "\n\t\r" or unicodedata.category(c) not in _UNSEEN)
    return re.sub(r"[^\S\n]+", " ", text).strip()


def _upright(page: Page) -> list[TextPiece]:
    """Return the pieces with the main direction of the page, turned upright."""
    written: Counter[int] = Counter()
    for piece in page.pieces:
        written[piece.turn] += len(piece.text)
    if not written:
        return []
    turn = written.most_common(1)[0][0]
    kept = [piece for piece in page.pieces if piece.turn == turn]
    match turn:
        case 1:
            return [replace(piece, x=piece.y, y=-piece.x) for piece in kept]
        case 2:
            return [replace(piece, x=-piece.x, y=-piece.y) for piece in kept]
        case 3:
            return [replace(piece, x=-piece.y, y=piece.x) for piece in kept]
        case _:
            return kept


def _read(pieces: Sequence[TextPiece], page: int) -> list[TextLine]:
    """Pieces, in the order in which they were drawn, as lines in the order of reading."""
    gutter = _gutter(pieces)
    lines = _lines(pieces, page, gutter)
    return lines if gutter is None else _by_columns(lines, gutter)


def _lines(pieces: Sequence[TextPiece], page: int, gutter: float | None) -> list[TextLine]:
    """Pieces as lines from top to bottom; a line ends where the next piece begins in another column."""
    rows: list[list[TextPiece]] = []
    for piece in sorted(pieces, key=lambda each: (-each.y, each.x)):
        if rows and abs(rows[-1][0].y - piece.y) <= _SAME_LINE * max(rows[-1][0].size, piece.size):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    found: list[TextLine] = []
    for row in rows:
        found += [_line(part, page) for part in _parts(sorted(row, key=lambda each: each.x), gutter)]
    return [line for line in found if line.text]


def _parts(row: Sequence[TextPiece], gutter: float | None) -> Iterable[list[TextPiece]]:
    """The pieces of a row on each side of the gutter, or all of them."""
    left = [piece for piece in row if gutter is None or piece.x < gutter - 1]
    right = list(row[len(left) :])
    return [part for part in (left, right) if part]


def _line(row: Sequence[TextPiece], page: int) -> TextLine:
    parts: list[str] = []
    end, cells, blank = row[0].x, 1, False
    for piece in row:
        shown = clean(piece.text)
        gap = piece.x - end
        if parts and gap > _CELL_GAP * piece.size:
            parts.append(_CELL)
            cells += 1
        elif parts and not blank and (gap > _BLANK * piece.size or piece.text[:1].isspace()):
            parts.append(" ")
        blank = piece.text[-1:].isspace()
        parts += [shown, " "] if blank else [shown] if shown else []
        end = piece.x + piece.width
    largest = max(row, key=lambda each: len(each.text))
    bold = sum(len(piece.text) for piece in row if piece.bold) > sum(len(piece.text) for piece in row) / 2
    return TextLine(
        text="".join(parts).strip(),
        page=page,
        x=row[0].x,
        y=row[0].y,
        end=end,
        size=largest.size,
        bold=bold,
        cells=cells,
    )


def _gutter(pieces: Sequence[TextPiece]) -> float | None:
    """Where the second column begins; nothing where the page has one."""
    if len(pieces) < 2 * _LEAST_LINES:
        return None
    left, right = min(piece.x for piece in pieces), max(piece.x + piece.width for piece in pieces)
    starts: Counter[int] = Counter(round(piece.x / 2) for piece in pieces)
    middle = (left + 0.35 * (right - left), left + 0.65 * (right - left))
    found = [
        (count + starts[place - 1] + starts[place + 1], 2.0 * place - 2)
        for place, count in starts.items()
        if middle[0] <= 2 * place <= middle[1]
    ]
    for count, place in sorted(found, reverse=True)[:3]:
        if count >= _LEAST_LINES and _parts_columns(pieces, place, left=left, right=right):
            return place
    return None


def _parts_columns(pieces: Sequence[TextPiece], place: float, *, left: float, right: float) -> bool:
    """Return whether lines fill both sides, are next to each other, and few go across."""
    sides: tuple[dict[int, list[TextPiece]], dict[int, list[TextPiece]]] = (defaultdict(list), defaultdict(list))
    for piece in pieces:
        sides[piece.x >= place - 1][round(piece.y)].append(piece)
    across = {
        y for y, row in sides[0].items() if max(each.x + each.width for each in row) > place + 0.2 * (right - place)
    }
    one = [row for y, row in sides[0].items() if y not in across]
    other = list(sides[1].values())
    if min(len(one), len(other)) < _LEAST_LINES or len(across) > max(len(one), len(other)):
        return False
    fills = [_extent(row) / (place - left) for row in one], [_extent(row) / (right - place) for row in other]
    heights = [row[0].y for row in one], [row[0].y for row in other]
    apart = min(heights[0]) > max(heights[1]) or min(heights[1]) > max(heights[0])
    if apart or not all(median(each) >= _FULL for each in fills):
        return False
    by_column = _drawn_by_column(pieces, place, across=across, rows=min(len(one), len(other)))
    return by_column or _lie_apart(sides, across)


def _drawn_by_column(pieces: Sequence[TextPiece], place: float, *, across: set[int], rows: int) -> bool:
    """Whether the page was drawn one column after the other."""
    drawn = [piece.x >= place - 1 for piece in pieces if round(piece.y) not in across]
    changes = sum(before != after for before, after in pairwise(drawn))
    return changes <= rows / 2


def _lie_apart(sides: tuple[dict[int, list[TextPiece]], dict[int, list[TextPiece]]], across: set[int]) -> bool:
    """Return whether there is a gap between the sides; a line that was drawn in two parts has none."""
    gaps = [
        min(each.x for each in sides[1][y]) - max(each.x + each.width for each in row) > _GUTTER_GAP * row[0].size
        for y, row in sides[0].items()
        if y in sides[1] and y not in across
    ]
    return not gaps or sum(gaps) > len(gaps) / 2


def _extent(row: Sequence[TextPiece]) -> float:
    return max(each.x + each.width for each in row) - min(each.x for each in row)


def _by_columns(lines: Sequence[TextLine], gutter: float) -> list[TextLine]:
    """The left lines, then the right ones, between those that go across."""
    ordered: list[TextLine] = []
    left: list[TextLine] = []
    right: list[TextLine] = []
    for line in lines:
        if line.x >= gutter - 1:
            right.append(line)
        elif line.end > gutter + 0.2 * (gutter - line.x):
            ordered += [*left, *right, line]
            left, right = [], []
        else:
            left.append(line)
    return [*ordered, *left, *right]


def _edges(lines: Sequence[TextLine]) -> set[int]:
    """The heights of what stands apart from the text, on top and at the foot of a page."""
    sizes = {round(line.y): line.size for line in lines}
    found: set[int] = set()
    for heights in (sorted(sizes, reverse=True), sorted(sizes)):
        for count, (outer, inner) in enumerate(pairwise(heights[: _EDGE_LINES + 1]), 1):
            if abs(outer - inner) > _APART * sizes[outer]:
                found.update(heights[:count])
                break
    return found


def _mark(line: TextLine) -> tuple[str, int]:
    """What makes two lines at the edges of pages the same: their words without numbers, and their height."""
    return re.sub(r"\b[ivxlc]+\b|\d+", "#", line.text.lower()), round(line.y / 6)


def _without_repeated(per_page: Sequence[Sequence[TextLine]]) -> Iterator[TextLine]:
    edges = [_edges(lines) for lines in per_page]
    seen: Counter[tuple[str, int]] = Counter()
    for lines, edge in zip(per_page, edges, strict=True):
        seen.update({_mark(line) for line in lines if round(line.y) in edge})
    least = max(3, _REPEATED * len(per_page))
    repeated = {mark for mark, count in seen.items() if count >= least}
    for lines, edge in zip(per_page, edges, strict=True):
        yield from (line for line in lines if round(line.y) not in edge or _mark(line) not in repeated)
