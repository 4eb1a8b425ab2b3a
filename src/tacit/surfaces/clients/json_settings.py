"""The text of a JSON file, comments and trailing commas allowed → a tree that knows where each value stands.

Reads only. `entries` edits the text by these positions, so that whatever it does not touch keeps its every byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.domain.errors import Mistake
from tacit.surfaces.clients.text_edits import TextDraft

_BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)")
_DEEPEST = 200


class InvalidJson(Mistake):
    """The text is not JSON; the message says in which line."""


@dataclass(slots=True)
class JsonNode:
    """One value: what it is, from where to where it stands, and what it holds."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int = 0
    value: Any = None
    """A scalar's value."""
    parts: list[JsonMember] = field(default_factory=list)
    """What an object or array holds, in the order of the file."""

    def get(self, key: str) -> JsonNode | None:
        """The member of that name; of several the last one, as every JSON reader has it."""
        return next((part.node for part in reversed(self.parts) if part.key == key), None)

    def plain(self) -> Any:
        """The value as Python has it."""
        if self.kind == "object":
            return {part.key: part.node.plain() for part in self.parts}
        return [part.node.plain() for part in self.parts] if self.kind == "array" else self.value


@dataclass(slots=True)
class JsonMember:
    """A member of an object or an item of an array, and the comma behind it, if there is one."""

    key: str
    start: int
    node: JsonNode
    comma: int | None = None

    @property
    def end(self) -> int:
        """Where the value ends."""
        return self.node.end


def parse(text: str) -> JsonNode:
    """Read a whole document. An empty text is an empty object that stands nowhere."""
    at = blank(text, 0)
    if at == len(text):
        return JsonNode("object", start=at, end=at)
    root = _value(text, at, 0)
    rest = blank(text, root.end)
    if rest < len(text):
        raise _unreadable(text, rest, "something follows the end of the document")
    return root


def blank(text: str, at: int) -> int:
    """Where the next token begins: behind white space and comments."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def comments(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The comments in a stretch of the text that holds nothing else but white space and commas."""
    return re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL).finditer(text, start, end)


def is_strict(text: str) -> bool:
    """Whether a reader that knows no comments could read it."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return False
    return True


def line_of(text: str, at: int) -> int:
    """The number of the line that a position lies in."""
    return text.count("\n", 0, at) + 1


def _value(text: str, at: int, depth: int) -> JsonNode:
    if depth > _DEEPEST:
        raise _unreadable(text, at, "it is nested too deeply")
    if text.startswith(("{", "["), at):
        return _container(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if not found:
        raise _unreadable(text, at, "a value was expected")
    try:
        value = json.loads(found.group())
    except ValueError as error:
        raise _unreadable(text, at, str(error)) from error
    return JsonNode("scalar", at, found.end(), value=value)


def _container(text: str, at: int, depth: int) -> JsonNode:
    kind: Literal["object", "array"] = "object" if text[at] == "{" else "array"
    closing = "}" if kind == "object" else "]"
    node = JsonNode(kind, at)
    at = blank(text, at + 1)
    while not text.startswith(closing, at):
        part = _part(text, at, node, depth)
        node.parts.append(part)
        at = blank(text, part.end)
        if text.startswith(",", at):
            part.comma = at
            at = blank(text, at + 1)
        elif not text.startswith(closing, at):
            raise _unreadable(text, at, f"a comma or {closing} was expected")
    node.end = at + 1
    return node


def _part(text: str, at: int, holder: JsonNode, depth: int) -> JsonMember:
    if holder.kind == "array":
        return JsonMember("", at, _value(text, at, depth + 1))
    found = _STRING.match(text, at)
    if not found:
        raise _unreadable(text, at, "a name in double quotes was expected")
    try:
        key = json.loads(found.group())
    except ValueError as error:
        raise _unreadable(text, at, str(error)) from error
    colon = blank(text, found.end())
    if not text.startswith(":", colon):
        raise _unreadable(text, colon, "a colon was expected")
    return JsonMember(key, at, _value(text, blank(text, colon + 1), depth + 1))


def _unreadable(text: str, at: int, why: str) -> InvalidJson:
    return InvalidJson(f"line {line_of(text, at)}: {why}", hint="mend the file first; nothing was changed")


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

    @property
    def unmistakable(self) -> list[str]:
        """The entries that nobody else would write; a plain rule may be the person's own."""
        return [entry.name for entry in self.entries if not isinstance(entry.value, str)]

    def is_complete(self, text: str) -> bool:
        """Whether every entry is there as it should be."""
        root = parse(text)
        return all(_has(_find(root, entry.at), entry) for entry in self.entries)

    def names(self, text: str) -> list[str]:
        """The entries that are there, whatever their state."""
        root = parse(text)
        return [entry.name for entry in self.entries if _ours(_find(root, entry.at), entry)]

    def put(self, draft: TextDraft) -> list[str]:
        """Add what is missing and return its names."""
        added = []
        for entry in self.entries:
            root = parse(draft.text)
            _check_way(draft.text, root, entry)
            if not _has(_find(root, entry.at), entry):
                _add(draft, root, entry)
                added.append(entry.name)
        return added

    def take(self, text: str, names: Collection[str] | None) -> str:
        """Remove these entries, or all that are Tacit's, and the lists and objects that this leaves empty."""
        for entry in self.entries:
            if names is None or entry.name in names:
                while ours := _ours(_find(parse(text), entry.at), entry):
                    text = _cut(text, *ours[0])
                    text = _prune(text, entry.at)
        return text

    def is_taken(self, text: str, expected: str) -> bool:
        """Whether a text says what another one says, for a reader of JSON; what is empty says nothing."""
        try:
            return bool(_lean(parse(text).plain()) == _lean(parse(expected).plain()))
        except Mistake:
            return False

    @property
    def by_hand(self) -> str:
        """Under which names to look."""
        return f"what names tacit under {' and '.join(dict.fromkeys(entry.at[0] for entry in self.entries))}"


def _lean(value: Any) -> Any:
    """The value without the objects and lists in it that hold nothing."""
    if isinstance(value, dict):
        lean = {key: _lean(each) for key, each in value.items()}
        return {key: each for key, each in lean.items() if each not in ({}, [])}
    return [_lean(each) for each in value] if isinstance(value, list) else value


def _find(root: JsonNode, at: tuple[str, ...]) -> JsonNode | None:
    node: JsonNode | None = root
    for name in at:
        node = node.get(name) if node and node.kind == "object" else None
    return node


def _has(holder: JsonNode | None, entry: SettingsEntry) -> bool:
    if holder is None:
        return False
    if entry.key:
        found = holder.get(entry.key) if holder.kind == "object" else None
        return found is not None and _says(found.plain(), entry.value)
    return any(part.node.plain() == entry.value for part in holder.parts)


def _says(found: Any, wanted: Any) -> bool:
    """Whether a value is the one wanted; a client may have added members of its own."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(found.get(key) == value for key, value in wanted.items())
    return bool(found == wanted)


def _ours(holder: JsonNode | None, entry: SettingsEntry) -> list[tuple[JsonNode, JsonMember]]:
    """Where Tacit's own values stand: whole parts, or one item of a list inside a part that somebody added to."""
    if holder is None:
        return []
    found: list[tuple[JsonNode, JsonMember]] = []
    for part in holder.parts:
        if entry.key and part.key != entry.key:
            continue
        if entry.is_ours(part.node.plain()):
            found.append((holder, part))
            continue
        for inner in part.node.parts if part.node.kind == "object" else ():
            items = inner.node.parts if inner.node.kind == "array" else ()
            found += [(inner.node, item) for item in items if entry.is_ours({inner.key: [item.node.plain()]})]
    return found


def _check_way(text: str, root: JsonNode, entry: SettingsEntry) -> None:
    """Refuse to write where the file has something else: a list for an object, or a foreign value of the same name."""
    node: JsonNode | None = root
    for depth in range(len(entry.at) + 1):
        wanted = "array" if depth == len(entry.at) and not entry.key else "object"
        if node is not None and node.kind != wanted:
            name = ".".join(entry.at[:depth]) or "the document"
            raise Mistake(
                f"line {line_of(text, node.start)}: {name} is no {'list' if wanted == 'array' else 'object'}",
                code="wrong_type",
            )
        if depth < len(entry.at):
            node = node.get(entry.at[depth]) if node else None
    taken = node.get(entry.key) if node and entry.key else None
    if taken is not None and not _says(taken.plain(), entry.value):
        where = f"line {line_of(text, taken.start)}"
        raise Mistake(
            f"{where}: {'.'.join((*entry.at, entry.key))} is there already and is not Tacit's", code="not_ours"
        )


def _add(draft: TextDraft, root: JsonNode, entry: SettingsEntry) -> None:
    """Insert an entry, together with those objects and lists around it that are not there yet."""
    key, value, at = entry.key, entry.value, list(entry.at)
    if not key:
        holder = _find(root, entry.at)
        if holder is None:
            key, value = at.pop(), [value]
    while (holder := _find(root, tuple(at))) is None:
        key, value = at.pop(), {key: value}
    if root.end == root.start:  # an empty file
        draft.insert(root.start, json.dumps({key: value}, indent=2, ensure_ascii=False) + "\n")
    elif holder.parts:
        _append(draft, root, holder, key, value)
    else:
        _fill(draft, root, holder, key, value)


def _append(draft: TextDraft, root: JsonNode, holder: JsonNode, key: str, value: Any) -> None:
    """Put a part behind the last one."""
    text, last = draft.text, holder.parts[-1]
    before = holder.parts[-2].comma if len(holder.parts) > 1 else holder.start
    assert before is not None
    gap = text[before + 1 : last.start]
    own_line = "\n" in gap
    behind = last.end if last.comma is None else last.comma + 1
    aside = _comment_aside(text, behind)
    if own_line or aside is not None:
        gap = draft.newline + _indent(text, last.start)
    elif len(holder.parts) == 1 or gap.strip():
        gap = "" if len(holder.parts) > 1 and not gap else " "
    written = _written(draft, root, key, value, indent=_indent(text, last.start) if own_line else None)
    if last.comma is not None:
        draft.insert(aside or behind, gap + written + ",")
    elif aside is None:
        draft.insert(behind, "," + gap + written)
    else:  # the comma belongs to the value, the comment stays beside it
        draft.insert(aside, gap + written)
        draft.insert(behind, ",")


def _fill(draft: TextDraft, root: JsonNode, holder: JsonNode, key: str, value: Any) -> None:
    """Put the first part into an empty object or list."""
    text, close = draft.text, holder.end - 1
    at = max((c.end() for c in comments(text, holder.start + 1, close)), default=holder.start + 1)
    one_line = "\n" not in text[root.start : root.end] and holder is not root and at == holder.start + 1
    if one_line:
        draft.insert(at, _written(draft, root, key, value, indent=None))
        return
    outer = _indent(text, holder.start)
    inner = outer + _unit(text, root)
    tail = "" if "\n" in text[at:close] else draft.newline + outer
    draft.insert(at, draft.newline + inner + _written(draft, root, key, value, indent=inner) + tail)


def _written(draft: TextDraft, root: JsonNode, key: str, value: Any, *, indent: str | None) -> str:
    name = json.dumps(key, ensure_ascii=False) + ": " if key else ""
    if indent is None:
        return name + json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(draft.text, root)).split("\n")
    return name + (draft.newline + indent).join(lines)


def _unit(text: str, root: JsonNode) -> str:
    """One level of the file's indentation."""
    first = root.parts[0].start if root.parts else root.end
    unit = _indent(text, first) if "\n" in text[root.start : first] else ""
    return unit or "  "


def _indent(text: str, at: int) -> str:
    """The white space that the line of this position begins with."""
    line = text.rfind("\n", 0, at) + 1
    found = re.compile(r"[ \t]*").match(text, line)
    return found.group() if found else ""


def _comment_aside(text: str, at: int) -> int | None:
    """Where a comment ends that stands behind this position in the same line."""
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    found = re.compile(r"[ \t]*(?://[^\r\n]*|/\*.*?\*/)").match(text, at, line_end)
    return found.end() if found and not text[found.end() : line_end].strip() else None


def _cut(text: str, holder: JsonNode, part: JsonMember) -> str:
    """Remove one part and the comma that nobody needs then."""
    index = next(i for i, each in enumerate(holder.parts) if each is part)
    start, end = part.start, part.end if part.comma is None else part.comma + 1
    following = holder.parts[index + 1].start if index + 1 < len(holder.parts) else None
    if index == 0 and following is not None and not text[end:following].strip():
        return text[:start] + text[following:]
    while start > holder.start + 1 and text[start - 1].isspace():
        start -= 1
    if "//" in text[text.rfind("\n", 0, start) + 1 : start] and "\n" not in text[end : blank(text, end)]:
        start = part.start  # a comment may stand before it, and what follows must not become part of that
    cut = text[:start] + text[end:]
    comma = holder.parts[index - 1].comma if part.comma is None and index > 0 else None
    return cut if comma is None else cut[:comma] + cut[comma + 1 :]


def _prune(text: str, at: tuple[str, ...]) -> str:
    """Remove an object or list that has become empty, and the one around it if that is empty then."""
    for depth in range(len(at), 0, -1):
        root = parse(text)
        holder, node = _find(root, at[: depth - 1]), _find(root, at[:depth])
        if holder is None or node is None or node.parts or blank(text, node.start + 1) != node.end - 1:
            break
        twice = sum(part.key == at[depth - 1] for part in holder.parts) > 1  # the other one would come to life
        if twice or next(comments(text, node.start, node.end), None):
            break
        text = _cut(text, holder, next(part for part in reversed(holder.parts) if part.node is node))
    root = parse(text)
    inner = text[root.start + 1 : root.end - 1]
    return text if root.parts or inner.strip() else text[: root.start + 1] + text[root.end - 1 :]
