"""Safe output: no stored text can act on a terminal, and no character is hidden.

Everything printed for people goes through a console that replaces control and invisible characters and makes no links; the
colours are our own. Programs get JSON in which such characters are escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tacit.domain.identity import plain

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


def one_line(text: str, width: int = 80) -> str:
    """Return a text as one printable line, cut to a width."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def to_json(document: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return one JSON document; control and hidden characters are escapes, so it reads back unchanged."""
    text = json.dumps(plain(document), indent=indent, ensure_ascii=ascii_only)
    return text if text.isascii() else _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)
