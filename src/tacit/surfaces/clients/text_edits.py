"""A file's text while pieces are put into it: every insertion is noted, so that taking them out gives the old text back.

Knows nothing of what it holds. `Draft` goes forward, `without` goes back.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.errors import Mistake

Insertion = tuple[int, str]
"""Where it stands in the finished text, and the text."""
_TOO_SHORT_TO_SEARCH = 12


@dataclass(slots=True)
class TextDraft:
    """A text that only grows."""

    text: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    """From where to where something was put in, in order, without overlap."""

    @property
    def newline(self) -> str:
        """The line ending that the text uses."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def insert(self, at: int, text: str) -> None:
        """Put a text in, and move what stands behind it."""
        self.text = self.text[:at] + text + self.text[at:]
        grown, moved = (at, at + len(text)), []
        for start, end in self.spans:
            if end < at:
                moved.append((start, end))
            elif start > at:
                moved.append((start + len(text), end + len(text)))
            else:  # it touches: the two become one
                grown = (min(start, grown[0]), max(end + len(text), grown[1]))
        self.spans = sorted([*moved, grown])

    @property
    def insertions(self) -> tuple[Insertion, ...]:
        """All that was put in."""
        return tuple((start, self.text[start:end]) for start, end in self.spans)


def without(text: str, insertions: Sequence[Insertion]) -> str | None:
    """Take insertions out again; `None` if one of them cannot be found beyond doubt."""
    for at, inserted in reversed(insertions):
        if text[at : at + len(inserted)] != inserted:
            if len(inserted) < _TOO_SHORT_TO_SEARCH or text.count(inserted) != 1:
                return None
            at = text.index(inserted)  # noqa: PLW2901  (it has moved)
        text = text[:at] + text[at + len(inserted) :]
    return text


WRITTEN_BY = "Written by `tacit init`"
"""Stands in every file that is Tacit's from the first line to the last."""
HASH_END = "# tacit: end"


def hash_begin(about: str = "") -> str:
    """The line before a block in a file whose comments begin with `#`; `about` tells several blocks of one file apart."""
    return f"# tacit: begin{about and ' '}{about}. {WRITTEN_BY}"


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    """Lines between two marks."""

    body: str
    begin: str = f"<!-- tacit: begin. {WRITTEN_BY}; `tacit uninstall` removes it. -->"
    end: str = "<!-- tacit: end -->"
    key: str = ""
    """What the block sets in a YAML file; set elsewhere in it, it would be set twice."""

    @property
    def _pattern(self) -> re.Pattern[str]:
        begin = re.escape(f"{self.begin.split('.')[0]}. {WRITTEN_BY}")
        return re.compile(rf"(?:\r?\n)?^{begin}.*?^{re.escape(self.end)}[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)

    def is_complete(self, text: str) -> bool:
        """Whether the block is there as it should be."""
        return self._lines in text.replace("\r\n", "\n")

    def names(self, text: str) -> list[str]:
        """What is there of it."""
        return ["block"] if self._pattern.search(text) else []

    def put(self, draft: TextDraft) -> list[str]:
        """Add the block behind everything else."""
        if self.key and re.search(rf"(?m)^{re.escape(self.key)}\s*:", draft.text):
            hint = f"add this yourself, and nothing else is needed: {self.body}"
            raise Mistake(f"{self.key} is there already and is not Tacit's", code="not_ours", hint=hint)
        _append(draft, self._lines)
        return ["block"]

    def take(self, text: str, names: Collection[str] | None) -> str:
        """Remove the block and the empty line before it."""
        return text if names is not None and "block" not in names else self._pattern.sub("", text)

    def meaning(self, text: str) -> Any:
        """What a text says, whatever its white space."""
        return text.split()

    @property
    def by_hand(self) -> str:
        """Where it begins and ends."""
        return f"the lines from `{self.begin.split('.')[0]}` to `{self.end}`"

    @property
    def _lines(self) -> str:
        return f"{self.begin}\n{self.body.strip()}\n{self.end}\n"


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table of a TOML file. It carries no end mark: programs that edit TOML move comments."""

    name: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def header(self) -> str:
        """The line that the table begins with."""
        return f"[{'.'.join(self.name)}]"

    def is_complete(self, text: str) -> bool:
        """Whether the table is there as it should be."""
        found, wanted = self._found(text), tomllib.loads("\n".join(self.lines))
        return isinstance(found, dict) and all(found.get(key) == value for key, value in wanted.items())

    def names(self, text: str) -> list[str]:
        """What is there of it."""
        found = self._found(text)
        ours = "tacit" in str(found) and re.search(rf"^\s*{re.escape(self.header)}", text, re.M)
        return ["table"] if found is not None and ours else []

    def put(self, draft: TextDraft) -> list[str]:
        """Add the table behind everything else."""
        if self._found(draft.text) is not None:
            raise Mistake(f"{self.header} is there already and is not Tacit's", code="not_ours")
        _append(draft, "\n".join((self.header, *self.lines)) + "\n")
        if not self.is_complete(draft.text):
            raise Mistake(f"{self.header} cannot be added to this file", code="not_addable", hint="add it by hand")
        return ["table"]

    def take(self, text: str, names: Collection[str] | None) -> str:
        """Remove the table's header and keys, the tables below it, and the empty line before it."""
        if not self.names(text) or (names is not None and "table" not in names):
            return text
        name = r"\s*\.\s*".join(map(re.escape, self.name))
        keys = r"(?:^[ \t]*(?!\[)[^\s#][^\n]*(?:\n|\Z))*"
        return re.sub(
            rf"(?:^[ \t]*\r?\n)?^[ \t]*\[\s*{name}\s*(?:\.[^\]]*)?\][^\n]*(?:\n|\Z){keys}", "", text, flags=re.M
        )

    def meaning(self, text: str) -> Any:
        """What a text says to a reader of TOML; a `ValueError` if it is none."""
        return tomllib.loads(text)

    @property
    def by_hand(self) -> str:
        """The table's name."""
        return f"the table {self.header}"

    def _found(self, text: str) -> Any:
        try:
            value: Any = tomllib.loads(text.removeprefix("\ufeff"))
        except tomllib.TOMLDecodeError as error:
            hint = "mend the file first; nothing was changed"
            raise Mistake(f"it is no TOML: {error}", code="not_toml", hint=hint) from error
        for name in self.name:
            value = value.get(name) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file of Tacit's own."""

    text: str
    is_kept_current: bool = False
    """Whether other commands write it anew: then whatever they wrote is as it should be."""

    def is_complete(self, text: str) -> bool:
        """Whether the file is as it should be."""
        return text == self.text or (self.is_kept_current and WRITTEN_BY in text)

    def names(self, text: str) -> list[str]:
        """Whether it is there, and Tacit's."""
        return ["file"] if WRITTEN_BY in text else []

    def put(self, draft: TextDraft) -> list[str]:
        """Write the file, where there is none."""
        if draft.text.strip():
            hint = "move it away; nothing was changed"
            raise Mistake("it is there already and is not Tacit's", code="not_ours", hint=hint)
        draft.insert(0, self.text)
        return ["file"]

    def take(self, text: str, names: Collection[str] | None) -> str:
        """Empty it, if it is Tacit's."""
        return "" if WRITTEN_BY in text and (names is None or "file" in names) else text

    def meaning(self, text: str) -> Any:
        """The text itself."""
        return text

    @property
    def by_hand(self) -> str:
        """All of it."""
        return "the file"


def _append(draft: TextDraft, lines: str) -> None:
    text, newline = draft.text, draft.newline
    gap = "" if not text.strip("\ufeff") else newline if text.endswith("\n") else newline * 2
    draft.insert(len(text), gap + lines.replace("\n", newline))
