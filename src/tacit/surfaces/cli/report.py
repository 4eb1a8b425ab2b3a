"""Reports, defined once: a report's columns give both the JSON document and the table.

A command builds plain rows, names their columns, and passes both to `CommandContext.report`. Text that fits no table is given
as lines. `ALIASES` keeps the JSON keys of the last release next to the ones that replaced them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table as RichTable

from tacit.domain.identity import plain

Row = TypeVar("Row")
ReportPart = RenderableType | None
"""A line with markup, a table or another renderable; None prints nothing."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One value of a row: its JSON key, how to get it, and its heading in the table."""

    key: str
    value: Callable[[Row], Any]
    heading: str = ""
    """Empty: only programs get this column."""
    text: Callable[[Row], str] | None = None
    """The cell with markup, where it differs from the value."""

    def cell(self, row: Row) -> str:
        """Return the cell for people."""
        if self.text is not None:
            return self.text(row)
        value = self.value(row)
        return "" if value is None else safe(str(value))


class Columns(Generic[Row]):
    """The columns of a kind of row."""

    def __init__(self, *columns: Column[Row]) -> None:
        self._columns = columns

    def documents(self, rows: Iterable[Row]) -> list[dict[str, Any]]:
        """Return the rows as JSON objects."""
        return [self.document(row) for row in rows]

    def document(self, row: Row) -> dict[str, Any]:
        """Return one row as a JSON object."""
        return {column.key: column.value(row) for column in self._columns if column.key}

    def table(self, rows: Iterable[Row]) -> RichTable:
        """Return the rows as a table."""
        table = RichTable(box=None, padding=(0, 2, 0, 0))
        shown = [column for column in self._columns if column.heading]
        for column in shown:
            table.add_column(column.heading, overflow="fold")
        for row in rows:
            table.add_row(*(column.cell(row) for column in shown))
        return table


def fields(value: object, *names: str) -> dict[str, Any]:
    """Return attributes of an object as a JSON object, also those that have their default."""
    return {name: getattr(value, name) for name in names}


def pairs(rows: Mapping[str, str]) -> RichTable:
    """Return a table of names and values; the values are markup."""
    table = RichTable(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(f"[bold]{name}[/bold]", value)
    return table


def print_parts(console: Console, parts: Iterable[ReportPart]) -> None:
    """Print parts; a line is not wrapped, so that it can be copied."""
    for part in parts:
        if part is not None:
            console.print(part, soft_wrap=isinstance(part, str))


Path = tuple[str, ...]
ALIASES: Mapping[str, Sequence[tuple[Path, str, str]]] = {
    "learn": (
        (("captured",), "confirmed", "vouched"),
        (("model",), "new_candidates", "news"),
        (("model",), "rewritten", "worded"),
        (("projects", "*", "captured"), "confirmed", "vouched"),
        (("projects", "*", "model"), "new_candidates", "news"),
        (("projects", "*", "model"), "rewritten", "worded"),
    ),
    "tend": ((("cares", "*"), "effect", "would"),),
    "promote": (
        (("prospects", "*"), "fulfilled", "there"),
        (("promoted",), "objections", "against"),
        (("promoted",), "gates", "passages"),
        (("promoted", "gates", "*"), "fulfilled", "there"),
    ),
    "doctor": ((("findings", "*"), "message", "told"),),
}
"""Command → the plain keys and the keys of the last release: the path of the object, the new key, the old key.

See docs/reference/json-aliases.md. A list is written as `*`. The old keys go with the next release.
"""


def with_aliases(document: Any, command: str) -> Any:
    """Return a document with the old keys of its command next to the new ones."""
    aliases = ALIASES.get(command)
    if not aliases:
        return document
    reduced = plain(document)
    for path, new, old in aliases:
        for found in _objects(reduced, path):
            if new in found:
                found.setdefault(old, found[new])
    return reduced


def _objects(document: Any, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects at a path of a document."""
    if not path:
        if isinstance(document, dict):
            yield document
        return
    first, *rest = path
    if first == "*":
        inner = document if isinstance(document, list) else []
    else:
        inner = [document[first]] if isinstance(document, dict) and first in document else []
    for each in inner:
        yield from _objects(each, tuple(rest))


_HIDDEN_CHARACTERS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
_UNSAFE = re.compile(f"[{_HIDDEN_CHARACTERS}]|(?<![^\x00-\x7f])\ufe0f")
"""Control characters, direction marks, tags, fillers, joiners and half characters; the emoji style where it styles nothing."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class PlainConsole(Console):
    """A console that prints any text as plain text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments to print; only the console's own may move the cursor."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control:
                yield segment
                continue
            if style is not None and style.link:
                style = style.update_link(None)
            yield Segment(clean(text), style)


def clean(text: str) -> str:
    """Return a text that is safe to print: each control or hidden character is replaced by a visible mark."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_REPLACEMENT, text)


def safe(text: str) -> str:
    """Return markup that prints a stored text as it is."""
    return escape(clean(text))


def one_line(text: str, width: int = 80) -> str:
    """Return a text as one printable line, cut to a width."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def to_json(document: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return one JSON document; control and hidden characters are escapes, so it reads back unchanged."""
    text = json.dumps(plain(document), indent=indent, ensure_ascii=ascii_only)
    return text if text.isascii() else _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)
