"""The text of a JSON file, comments and trailing commas allowed → a tree that knows where each value stands.

Reads only. `entries` edits the text by these positions, so that whatever it does not touch keeps its every byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.domain.errors import Mistake

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
