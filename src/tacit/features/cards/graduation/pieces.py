"""One piece of proven knowledge → its Markdown between markers. What it says is data: nothing in it can end the markers.

Texts of several lines stand in a quotation or a list item, which ends with them whatever they hold; comment signs, headings,
link definitions and anything that a viewer fetches or runs lose their effect (see `text.inert`). Decides nothing about content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tacit.features.cards.graduation.markers import CARD_END, card_start
from tacit.text.inert import shown, shown_line

_STRUCTURE = re.compile(r"(?=#{1,6}(?:\s|$)|[>+*-](?:\s|$)|[=_*-]{2,}\s*$|\|)")
_DEFINITION = re.compile(r"^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)\[(?=[^\]\n]{1,1000}\]:)", re.MULTILINE)
_UNTITLED = "(untitled)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What graduates: a card, or a skill that was approved."""

    id: str
    title: str
    when: str = ""
    tags: tuple[str, ...] = ()
    problem: str = ""
    steps: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()


Writer = Callable[[Piece, str], str]
"""A piece and the id of its backport → its text with markers, ending in a line end."""


def full(piece: Piece, backport_id: str) -> str:
    """The whole piece, as a reference file or a page holds it."""
    return "\n".join((card_start(piece.id, backport_id), *_told(piece), "", CARD_END, ""))


def brief(piece: Piece, backport_id: str) -> str:
    """The piece as one bullet, as a file of instructions holds it, which every session pays for."""
    when = f": {line(piece.when)}" if piece.when.strip() else ""
    details = piece.steps or ((piece.problem,) if piece.problem.strip() else ())
    below = [f"  {each}".rstrip() for bullet in bullets(details) for each in bullet.split("\n")]
    told = [f"- **{line(piece.title) or _UNTITLED}**{when}", *below]
    return "\n".join((card_start(piece.id, backport_id), *told, CARD_END, ""))


def _told(piece: Piece) -> Iterator[str]:
    yield from (f"## {line(piece.title) or _UNTITLED}", f"- **ID:** `{piece.id}`")
    if piece.when.strip():
        yield f"- **When to use:** {line(piece.when)}"
    if tags := [text for tag in piece.tags if (text := line(tag))]:
        yield f"- **Tags:** {', '.join(tags)}"
    if piece.problem.strip():
        yield from ("", "**Problem**", "", quoted(piece.problem))
    for heading, texts in (("Solution", piece.steps), ("Evidence", piece.evidence), ("Gotchas", piece.gotchas)):
        if told := list(bullets(texts)):
            yield from ("", f"**{heading}**", *told)


def line(text: str) -> str:
    """A text on one line, without effects."""
    return _at_start(_unmarked(shown_line(text)))


def quoted(text: str) -> str:
    """A text as a paragraph if it is one line, else as a quotation, which holds whatever structure it has."""
    if "\n" not in (told := block(text)):
        return line(text)
    return "\n".join(f"> {each}".rstrip() for each in told.split("\n"))


def bullets(texts: Sequence[str]) -> Iterator[str]:
    """Texts as items of a list; further lines are indented, so that they belong to their item."""
    for text in texts:
        if told := block(text):
            first, *rest = (told if "\n" in told else line(text)).split("\n")
            yield "\n".join((f"- {_at_start(first)}", *(f"  {each}".rstrip() for each in rest)))


def block(text: str) -> str:
    """A text of any number of lines, without effects; it still needs something that holds its structure."""
    return _unmarked(shown(text)).strip()


def _unmarked(text: str) -> str:
    """Take from a text what could pass for a marker, a comment or a declaration, and from link definitions their reach."""
    text = text.replace("<!", "&lt;!").replace("<?", "&lt;?").replace("-->", "--&gt;").replace("--!>", "--!&gt;")
    return _DEFINITION.sub(r"\1\\[", text.replace("**ID:**", r"\*\*ID:\*\*"))


def _at_start(text: str) -> str:
    """Take from the start of a line what would make it a heading, a list, a quotation or a rule."""
    return "\\" + text if _STRUCTURE.match(text) else text
