"""A value, the task's words and the calls' texts → a name for the parameter that the value becomes.

`due_date` in "adds column `due_date`" is a column; `invoices` in "ALTER TABLE invoices" is a table. Where nothing names
it, its shape does; else it is a `value`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.learn.tokens import EMAIL, URL, type_of

_NOUNS = frozenset(
    "column table field file folder directory branch tag version target endpoint route url user username name "
    "email order item product service package module library class function method variable key flag option port "
    "host command model index view page component issue ticket project database schema type date month year "
    "number amount count address city state country phone currency language locale region bucket topic queue "
    "environment namespace pod container image job label title migration script customer account plan line "
    "invoice category role group team channel device app application query test suite fixture setting parameter "
    "argument header repository repo commit release milestone event metric dashboard alert template theme color "
    "size status message link domain default limit timeout".split()
)
_LINKING = frozenset("called named the a an new my our this that is as of".split())
_SQL = {"TABLE": "table", "COLUMN": "column", "INDEX": "index", "INTO": "table", "FROM": "table", "UPDATE": "table",
        "JOIN": "table", "DATABASE": "database", "SCHEMA": "schema", "VIEW": "view", "ROLE": "role"}  # fmt: skip
_NO_KEYS = frozenset("http https int str float bool string number boolean integer".split())
_SHORT_FLAGS = {"m": "message", "b": "branch"}
_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:[-+.]?[a-z]+[\d.]*)?")
_BY_TYPE = {"id": "id", "integer": "number", "number": "number"}


def role_of(value: str, task: str, *, calls: Sequence[str]) -> str:
    """Name the role that a value plays."""
    return _unmistakable(value) or _in_task(value, task) or _in_calls(value, calls) or _by_shape(value)


def _unmistakable(value: str) -> str:
    if EMAIL.fullmatch(value):
        return "email"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return "date"
    return "url" if URL.fullmatch(value) else ""


def _in_task(value: str, task: str) -> str:
    """The noun beside the value where the person names it."""
    for match in re.finditer(re.escape(value), task, re.IGNORECASE):
        before = re.findall(r"[A-Za-z]+", task[max(0, match.start() - 60) : match.start()].rsplit(".", 1)[-1])
        while before and before[-1].lower() in _LINKING:
            before.pop()
        if before and before[-1].lower() in _NOUNS:
            return str(before[-1]).lower()
        after = re.match(r"[`'\"”’»]?\s+([a-z]+)", task[match.end() : match.end() + 40])
        if after and after[1] in _NOUNS:
            return str(after[1])
    return ""


def _in_calls(value: str, calls: Sequence[str]) -> str:
    """The flag, key or SQL word before the value where the agent used it."""
    quoted = rf"[\"'`]?{re.escape(value)}(?!\w)"
    for text in calls:
        if value not in text:
            continue
        short = re.search(rf"(?<!\S)-[a-z]{{0,2}}([mb])\s+{quoted}", text)
        if short:
            return _SHORT_FLAGS[str(short[1])]
        if re.search(rf"(?<![\w.]){re.escape(value)}(?:\[[\w,]+\])?\s?(?:==|>=|~=|@\^?|@~?)\s?v?[\d{{]", text):
            return "package"
        flag = re.search(rf"(?<!\S)--?([a-zA-Z][\w-]+)(?:=|\s+){quoted}", text)
        if flag:
            return str(flag[1])
        word = re.search(rf"\b({'|'.join(_SQL)})\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{quoted}", text)
        if word:
            return _SQL[str(word[1])]
        key = re.search(rf"\b([A-Za-z]\w*)[\"']?\s?[:=]\s?{quoted}", text)
        if key and len(key[1]) > 1 and key[1].lower() not in _NO_KEYS:
            return str(key[1])
    return ""


def _by_shape(value: str) -> str:
    kind = type_of(value)
    if _VERSION.fullmatch(value):
        return "version"
    if kind == "path":
        return "file" if "." in value.rsplit("/", 1)[-1] else "path"
    return _BY_TYPE.get(kind, "value")
