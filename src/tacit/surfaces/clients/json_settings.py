"""Entries of a JSON settings file: put into its text and taken out, so that whatever is not Tacit's keeps its every byte.

Comments are read where the client reads them; positions are then those in the text with blanks for the comments. Some clients
ignore a file with a comment as a whole, and all of them one with a trailing comma, so such a file is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.domain.errors import Mistake
from tacit.surfaces.clients.text_edits import TextDraft

_BLANK = re.compile(r"[\s\ufeff]*")
_DECODER = json.JSONDecoder()
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMENT_BEHIND = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\n]*?\*/)")


class InvalidJson(Mistake):
    """The text is not JSON; the message says in which line."""


def parse(text: str, *, comments: bool = False) -> Any:
    """Return the document; an empty text is an empty object."""
    text = _plain(text) if comments else text
    try:
        return json.loads(text.removeprefix("\ufeff")) if text.strip("\ufeff \t\r\n") else {}
    except (ValueError, RecursionError) as error:
        line, why = (error.lineno, error.msg) if isinstance(error, json.JSONDecodeError) else (1, str(error))
        allowed = "no trailing commas" if comments else "no comments and no trailing commas"
        hint = f"correct the file first (the client allows {allowed}); nothing was changed"
        raise InvalidJson(f"line {line}: it is not JSON ({why})", code="not_json", hint=hint) from error


@lru_cache(maxsize=8)
def _plain(text: str) -> str:
    """The text with blanks for its comments, so that every position stays."""
    return _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"\S", " ", found[0]), text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsEntry:
    """One value that belongs into a settings file."""

    at: tuple[str, ...]
    """The names that lead to the object or list which holds it."""
    value: Any
    key: str = ""
    """Its name; empty for an item of a list."""
    is_ours: Callable[[Any], bool]
    """Whether a value found there is one that Tacit wrote, perhaps in another version."""

    @property
    def name(self) -> str:
        """What the record calls it."""
        message = self.key or (self.value if isinstance(self.value, str) else "")
        return ".".join(self.at) + (f": {message}" if message else "")


@dataclass(frozen=True, slots=True)
class SettingsEntries:
    """All entries of one file."""

    entries: tuple[SettingsEntry, ...]
    comments: bool = False
    """Whether the client reads comments."""

    @property
    def unmistakable(self) -> list[str]:
        """The entries that nobody else would write; a plain rule may be the person's own."""
        return [entry.name for entry in self.entries if not isinstance(entry.value, str)]

    def is_complete(self, text: str) -> bool:
        """Whether every entry is there as it should be."""
        document = parse(text, comments=self.comments)
        return all(_has(document, entry) for entry in self.entries)

    def names(self, text: str) -> list[str]:
        """The entries that are there, whatever their state."""
        parse(text, comments=self.comments)
        return [entry.name for entry in self.entries if _ours(text, entry)]

    def put(self, draft: TextDraft) -> list[str]:
        """Add what is missing and return its names."""
        added = []
        for entry in self.entries:
            document = parse(draft.text, comments=self.comments)
            # Where the file has something else, nothing is written: a list for an object, or a foreign value of the name.
            for depth in range(len(entry.at) + 1):
                found = value_at(document, entry.at[:depth])
                wanted = list if depth == len(entry.at) and not entry.key else dict
                if found is not None and not isinstance(found, wanted):
                    name, sort = (
                        ".".join(entry.at[:depth]) or "the document",
                        "a list" if wanted is list else "an object",
                    )
                    raise Mistake(f"{name} is not {sort}", code="wrong_type")
            taken = value_at(document, (*entry.at, entry.key)) if entry.key else None
            if taken is not None and not _says(taken, entry.value):
                name = ".".join((*entry.at, entry.key))
                raise Mistake(f"{name} is there already and is not Tacit's", code="not_ours")
            if not _has(document, entry):
                _add(draft, entry)
                added.append(entry.name)
        return added

    def take(self, text: str, names: Collection[str] | None) -> str:
        """Remove these entries, or all that are Tacit's, and the lists and objects that this leaves empty."""
        parse(text, comments=self.comments)
        for entry in self.entries:
            if names is None or entry.name in names:
                while ours := _ours(text, entry):
                    text = _prune(_cut(text, *ours[0]), entry.at)
        return text

    def meaning(self, text: str) -> Any:
        """What a text says to a reader of JSON; what is empty says nothing."""
        return _lean(parse(text, comments=self.comments))

    @property
    def by_hand(self) -> str:
        """Under which names to look."""
        return f"what names tacit under {' and '.join(dict.fromkeys(entry.at[0] for entry in self.entries))}"


def value_at(document: Any, names: Collection[str]) -> Any:
    """Return the value that names lead to; `None` if there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _lean(value: Any) -> Any:
    """The value without the objects and lists in it that hold nothing."""
    if isinstance(value, dict):
        lean = {key: _lean(each) for key, each in value.items()}
        return {key: each for key, each in lean.items() if each not in ({}, [])}
    return [_lean(each) for each in value] if isinstance(value, list) else value


def _has(document: Any, entry: SettingsEntry) -> bool:
    holder = value_at(document, entry.at)
    if entry.key:
        return isinstance(holder, dict) and entry.key in holder and _says(holder[entry.key], entry.value)
    return isinstance(holder, list) and entry.value in holder


def _says(found: Any, wanted: Any) -> bool:
    """Whether a value is the one wanted; a client may have added members of its own."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(found.get(key) == value for key, value in wanted.items())
    return bool(found == wanted)


# --- positions in the text; it is valid JSON here, or would be without its comments ----------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """A member of an object or an item of a list, and where it is in the text."""

    key: str
    start: int
    value_start: int
    end: int
    value: Any


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _parts(text: str, at: int) -> list[_Part]:
    """Return the parts of the object or list that begins at a position; nothing for another value."""
    text = _plain(text)
    parts: list[_Part] = []
    is_object = text[at] == "{"
    if not is_object and text[at] != "[":
        return parts
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # behind the colon
        value, end = _DECODER.raw_decode(text, at)
        parts.append(_Part(key, start, at, end, value))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return parts


def _find(text: str, names: Collection[str]) -> int | None:
    """Return where the value begins that names lead to. Of several members with one name the last counts."""
    text = _plain(text)
    at = _skip(text, 0)
    if at == len(text):
        return None
    for name in names:
        starts = [part.value_start for part in _parts(text, at) if part.key == name]
        if not starts:
            return None
        at = starts[-1]
    return at


def _ours(text: str, entry: SettingsEntry) -> list[tuple[int, _Part]]:
    """Return Tacit's own values with their holders: whole parts, or items of a list in a part that somebody added to."""
    holder = _find(text, entry.at)
    found: list[tuple[int, _Part]] = []
    for part in _parts(text, holder) if holder is not None else ():
        if entry.key and part.key != entry.key:
            continue
        if entry.is_ours(part.value):
            found.append((holder or 0, part))
        elif isinstance(part.value, dict):
            lists = [inner for inner in _parts(text, part.value_start) if isinstance(inner.value, list)]
            found += [
                (inner.value_start, item)
                for inner in lists
                for item in _parts(text, inner.value_start)
                if entry.is_ours({inner.key: [item.value]})
            ]
    return found


def _add(draft: TextDraft, entry: SettingsEntry) -> None:
    """Insert an entry, together with those objects and lists around it that are not there yet."""
    key, value, names = entry.key, entry.value, list(entry.at)
    if not key and _find(draft.text, names) is None:
        key, value = names.pop(), [value]
    while (holder := _find(draft.text, names)) is None and names:
        key, value = names.pop(), {key: value}
    text, newline = draft.text, draft.newline
    if holder is None:  # an empty file
        draft.insert(len(text), json.dumps({key: value}, indent=2, ensure_ascii=False) + "\n")
        return
    parts = _parts(text, holder)
    if parts:
        last, before = parts[-1], parts[-2].end if len(parts) > 1 else holder
        own_line = "\n" in text[before : last.start]
        indent = _indent(text, last.start) if own_line else None
        behind = _COMMENT_BEHIND.match(text, last.end) if own_line else None
        gap = " " if indent is None else newline + indent
        draft.insert(behind.end() if behind else last.end, gap + _written(draft, key, value, indent))
        draft.insert(last.end, ",")
    elif "\n" not in text.strip() and names:
        draft.insert(holder + 1, _written(draft, key, value, None))
    else:
        outer = _indent(text, holder)
        inner = outer + _indent_unit(text)
        tail = "" if "\n" in text[holder + 1 : _skip(text, holder + 1)] else newline + outer
        draft.insert(holder + 1, newline + inner + _written(draft, key, value, inner) + tail)


def _written(draft: TextDraft, key: str, value: Any, indent: str | None) -> str:
    name = json.dumps(key, ensure_ascii=False) + ": " if key else ""
    if indent is None:
        return name + json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(draft.text)).split("\n")
    return name + (draft.newline + indent).join(lines)


def _indent(text: str, at: int) -> str:
    """The white space that the line of this position begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """One level of the file's indentation."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _cut(text: str, holder: int, part: _Part) -> str:
    """Remove one part of a holder, with the comma that is not needed then."""
    parts = _parts(text, holder)
    index = parts.index(part)
    if index + 1 < len(parts):
        return text[: part.start] + text[_skip(text, _plain(text).index(",", part.end) + 1) :]
    kept = text[: part.start].rstrip() if index else text[: holder + 1]
    if index:
        comma = _plain(text).index(",", parts[index - 1].end)
        kept = kept[:comma] + kept[comma + 1 :]
    return kept + text[part.end :]


def _prune(text: str, names: tuple[str, ...]) -> str:
    """Remove an object or list that has become empty, and the one around it if that is empty then."""
    for depth in range(len(names), 0, -1):
        holder, start = _find(text, names[: depth - 1]), _find(text, names[:depth])
        if holder is None or start is None or _parts(text, start):
            return text
        same_name = [part for part in _parts(text, holder) if part.key == names[depth - 1]]
        if len(same_name) > 1:  # the other one would come to life
            return text
        text = _cut(text, holder, same_name[0])
    root = _skip(_plain(text), 0)
    return text if _parts(text, root) else text[: root + 1] + text[_skip(text, root + 1) :]
