"""Text on its way to a terminal, a pipe or a program: nothing in it may act, and nothing may hide.

Whatever is printed for people goes through a console that replaces every character which a terminal obeys or does not
show, and that makes no links; the colours are our own. Programs get JSON in which such characters are escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tacit.domain.identity import plain

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
_ACTING = re.compile(f"[{_UNSEEN}]|(?<![^\x00-\x7f])\ufe0f")
"""Controls, marks of direction, tags, fillers, joiners and halves of characters; the emoji style where it styles nothing."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class PlainConsole(Console):
    """Prints text as text, whoever wrote it and whoever forgot to clean it."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Give the pieces to be printed; only those of the console itself may move the cursor."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control:
                yield segment
                continue
            if style is not None and style.link:
                style = style.update_link(None)
            yield Segment(clean(text), style)


def clean(text: str) -> str:
    """Make a text safe to print: no escape sequences, no hidden characters, each one replaced by a visible mark."""
    return text if text.isascii() and text.isprintable() else _ACTING.sub(_REPLACEMENT, text)


def one_line(text: str, width: int = 80) -> str:
    """Cut a text to one printable line."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def to_json(document: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Write one JSON document; what acts or hides is an escape in it, so that it reads back as it was."""
    text = json.dumps(plain(document), indent=indent, ensure_ascii=ascii_only)
    return text if text.isascii() else _ACTING.sub(lambda found: json.dumps(found[0])[1:-1], text)
