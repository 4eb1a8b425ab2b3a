"""The markers around graduated knowledge: how they are written and found in a text.

They are those of the aha-card workflow, so that all its tools find them. A marker counts only on a line of its own and outside
code blocks, so that a page that explains markers has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

BLOCK_END = "<!-- self-learning:backport:end -->"
CARD_END = "<!-- self-learning:aha:end -->"
REFERENCE = "references/self-learning-aha.md"
_ID = r"[A-Za-z0-9_.-]+"
_BLOCK_START = re.compile(r"<!--\s*self-learning:backport:start(?:\s+id=(?P<id>\S+))?\s*-->")
_BLOCK_END = re.compile(r"<!--\s*self-learning:backport:end\s*-->")
_CARD_START = re.compile(
    rf"<!--\s*self-learning:aha:start\s+id=(?P<id>{_ID})(?:\s+backport_id=(?P<backport>{_ID}))?\s*-->"
)
_CARD_END = re.compile(r"<!--\s*self-learning:aha:end\s*-->")
_HOOK = re.compile(r"<!--\s*self-learning:hook:(?:start|end)\b[^\n]*?-->")
_HEADER = re.compile(r"<!--\s*self-learning:aha-file[ \t]*\r?\n(?P<body>.*?)\r?\n-->[ \t]*(?:\r?\n)*", re.DOTALL)
_LEGACY = re.compile(r"-\s+\*\*ID:\*\*\s+`([^`]+)`")
_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^\r\n]*)")
_SAFE_ID = re.compile(r"\w(?:[\w.-]*\w)?", re.ASCII)


def is_safe_id(identity: str) -> bool:
    """Whether an id can stand in a marker and is read back whole."""
    return len(identity) <= 128 and _SAFE_ID.fullmatch(identity) is not None


def block_start(backport_id: str) -> str:
    """The marker that opens the block of a target."""
    return f"<!-- self-learning:backport:start id={backport_id} -->"


def card_start(identity: str, backport_id: str) -> str:
    """The marker that opens one piece of knowledge."""
    return f"<!-- self-learning:aha:start id={identity} backport_id={backport_id} -->"


def header(backport_id: str, generated_at: str, ids: Sequence[str]) -> str:
    """The comment at the head of a reference file."""
    fields = (f"backport_id={backport_id}", f"generated_at={generated_at}", f"card_ids={','.join(ids)}")
    return "\n".join(("<!-- self-learning:aha-file", *fields, "-->", "", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class CardBlock:
    """One piece of knowledge in a text, from the line of its opening marker to the end of its closing one."""

    id: str
    backport_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """What a text holds by its markers."""

    opening: tuple[int, int] | None = None
    """Where the first opening marker of a block stands, without its line end."""
    block: tuple[int, int] | None = None
    """The whole block, with the end of its last line."""
    closing: int = 0
    """Where the line of its closing marker begins."""
    backport_ids: tuple[str, ...] = ()
    has_start: bool = False
    has_end: bool = False
    cards: tuple[CardBlock, ...] = ()
    hooks: int = 0
    """Old markers of hooks, which only a person can remove."""
    problems: tuple[str, ...] = ()
    """Why the markers cannot be relied on."""
    open_end: str = ""
    """What the text ends within, so that nothing can be put behind it."""


def header_span(text: str) -> tuple[int, int] | None:
    """Where the header comment of a reference file stands, with the blank lines behind it."""
    found = _HEADER.match(text, len(text) - len(text.lstrip()))
    return found.span() if found else None


def header_meta(text: str) -> dict[str, str]:
    """What the header comment of a reference file says."""
    found = _HEADER.search(text)
    pairs = (line.partition("=") for line in found["body"].splitlines()) if found else ()
    return {name.strip(): value.strip() for name, sign, value in pairs if sign and name.strip()}


def card_ids(text: str) -> list[str]:
    """Ids of the pieces in a reference file; of one without markers, by its older form."""
    found = [card.id for card in read_markers(text).cards]
    return list(dict.fromkeys(found or _LEGACY.findall(text)))


def read_markers(text: str) -> Markers:
    """Find all markers of a text."""
    reader, at = _Reader(), 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        reader.take(at, end, text[at:end])
        at = end
    return reader.finished()


class _Reader:
    """Goes through the lines of one text. Within a piece nothing but its end is looked for: its text is data."""

    def __init__(self) -> None:
        self._fence = ""
        self._card: tuple[int, re.Match[str]] | None = None
        self._starts: list[tuple[int, int, str]] = []
        self._ends: list[tuple[int, int]] = []
        self._cards: list[CardBlock] = []
        self._hooks = 0
        self._problems: list[str] = []
        self._outside: list[str] = []

    def take(self, start: int, end: int, line: str) -> None:
        """Look at one line."""
        bare = line.strip()
        if self._card is not None:
            if self._in_card(start, end, bare):
                return
        elif self._in_code(line):
            return
        self._outside.append(line)
        if not bare.startswith("<!--"):
            return
        if opened := _BLOCK_START.fullmatch(bare):
            at = start + line.index("<!--")
            self._starts.append((at, at + len(bare), opened["id"] or ""))
        elif _BLOCK_END.fullmatch(bare):
            self._ends.append((start, end))
        elif opened := _CARD_START.fullmatch(bare):
            self._card = (start, opened)
        elif _CARD_END.fullmatch(bare):
            self._problems.append("a piece is closed that was not opened")
        elif _HOOK.fullmatch(bare):
            self._hooks += 1

    def _in_card(self, start: int, end: int, bare: str) -> bool:
        """Whether the line belongs to the piece that is open."""
        assert self._card is not None
        at, opened = self._card
        if _CARD_END.fullmatch(bare):
            found = CardBlock(id=opened["id"], backport_id=opened["backport"] or "", start=at, end=end)
            self._cards.append(found)
            self._card = None
        elif _CARD_START.fullmatch(bare) or _BLOCK_END.fullmatch(bare) or _BLOCK_START.fullmatch(bare):
            self._problems.append(f"the piece {opened['id']} is not closed")
            self._card = None
            return False
        return True

    def _in_code(self, line: str) -> bool:
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence["mark"].startswith(self._fence) and not fence["info"].strip():
                self._fence = ""
            return True
        if fence and not (fence["mark"][0] == "`" and "`" in fence["info"]):
            self._fence = fence["mark"]
        return bool(self._fence)

    def finished(self) -> Markers:
        """What was found in the whole text."""
        if self._card is not None:
            self._problems.append(f"the piece {self._card[1]['id']} is not closed")
        outside = "".join(self._outside)
        within = "a comment" if outside.rfind("<!--") > outside.rfind("-->") else ""
        ids = [card.id for card in self._cards]
        self._problems += [f"the piece {one} stands there twice" for one in dict.fromkeys(ids) if ids.count(one) > 1]
        return Markers(
            opening=self._starts[0][:2] if self._starts else None,
            block=self._block(),
            closing=self._ends[0][0] if self._ends else 0,
            backport_ids=tuple(identity for _, _, identity in self._starts if identity),
            has_start=bool(self._starts),
            has_end=bool(self._ends),
            cards=tuple(self._cards),
            hooks=self._hooks,
            problems=tuple(self._problems),
            open_end="a block of code" if self._fence else within,
        )

    def _block(self) -> tuple[int, int] | None:
        if len(self._starts) > 1 or len(self._ends) > 1:
            self._problems.append("there is more than one block")
            return None
        if bool(self._starts) != bool(self._ends):
            self._problems.append(f"the block is not {'closed' if self._starts else 'opened'}")
            return None
        if not self._starts:
            return None
        (start, _, _), (closing, end) = self._starts[0], self._ends[0]
        if closing < start:
            self._problems.append("the block is closed before it is opened")
            return None
        return start, end
