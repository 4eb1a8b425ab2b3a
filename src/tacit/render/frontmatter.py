"""The text of a SKILL.md → its front matter and its body. Knows nothing of what the fields mean.

Every scalar stays a string (``version: 1.0`` is "1.0"). The front matter lies between the first line and the next line
that is exactly ``---``, so the same three characters inside a value or the body do no harm. A byte order mark and
CRLF line ends are accepted; a file whose first line ends in CRLF is taken to use it throughout. Anchors, aliases and
tags are refused: a skill has no use for them and a bomb is made of them. Reading never raises for a bad document; it
returns the problems, each with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tacit.render.frontmatter_fields import Field
from tacit.render.problems import Problem

_LOOSE = re.compile(r"^(?P<indent> *)(?P<key>[^\s:#'\"\-\[{][^:]*):[ \t]+(?P<value>\S.*)$")

_FLOW = re.compile(r"\[.*\]|\{.*\}")


def quote_loose_values(front: str) -> str:
    """Quote the unquoted values of ``key: value`` lines, taking up indented lines that continue them."""
    lines = front.split("\n")
    done: list[str] = []
    at = 0
    while at < len(lines):
        match = _LOOSE.match(lines[at])
        start, at = at, at + 1
        if match is None:
            done.append(lines[start])
            continue
        while at < len(lines) and (lines[at].startswith(match["indent"] + " ") or not lines[at].strip()):
            at += 1
        if match["value"][0] in "\"'|>" or _FLOW.fullmatch(match["value"].strip()):
            done.extend(lines[start:at])
        else:
            whole = " ".join([match["value"].strip(), *(line.strip() for line in lines[start + 1 : at])]).rstrip()
            done.append(f"{match['indent']}{match['key']}: {scalar(whole)}")
    return "\n".join(done) + "\n"


_BARE = re.compile(r"[A-Za-z][\w./@+-]*(?: [\w./@+,;()'\"-]+)*", re.ASCII)
_TYPED = frozenset("y n yes no on off true false null nan inf".split())
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def scalar(text: str) -> str:
    """Write a string so that every YAML reader gives that very string back: bare, else single, else double quotes."""
    if _BARE.fullmatch(text) and text.lower() not in _TYPED:
        return text
    if not _UNPRINTABLE.search(text):
        return "'" + text.replace("'", "''") + "'"
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(text, ensure_ascii=False))


def write_mapping(pairs: Iterable[tuple[str, str]], *, indent: str = "") -> str:
    """Write string pairs as YAML lines."""
    return "".join(f"{_written_key(key, indent)}: {scalar(value)}\n" for key, value in pairs)


def _written_key(key: str, indent: str) -> str:
    written = scalar(key)
    # YAML ends an implicit key after 1024 characters.
    return f"{indent}{written}" if len(written) < 1000 else f"{indent}? {written}\n{indent}"


BYTES_MAX = 1 << 20
FRONT_CHARACTERS_MAX = 1 << 18
"""A YAML parser reads about a megabyte in two seconds, and a folder holds many skills."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A SKILL.md taken apart."""

    fields: Mapping[str, Field]
    body: str


def read_document(text: str) -> tuple[FrontMatter | None, list[Problem]]:
    """Take a SKILL.md apart; without a document the problems say why.

    YAML that cannot be read is read again with its loose values quoted; the fault is reported all the same.
    """
    if len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        return None, [too_large("SKILL.md", BYTES_MAX)]
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):
        text = text.replace("\r\n", "\n")
    parts = _split(text)
    if isinstance(parts, Problem):
        return None, [parts]
    front, body = parts
    if len(front) > FRONT_CHARACTERS_MAX:
        return None, [too_large("the front matter", FRONT_CHARACTERS_MAX)]
    from tacit.render.yaml_reading import read_fields  # the parser is loaded only where something is parsed

    fields, problems = read_fields(front)
    if fields is None and problems[0].rule == "yaml":
        fields, again = read_fields(quote_loose_values(front))
        if fields is not None:
            problems = [replace(problems[0], fatal=False, hint="put quotes around the value"), *again]
    return (None if fields is None else FrontMatter(fields, body)), problems


def too_large(what: str, limit: int) -> Problem:
    """The problem of a text beyond its size limit."""
    hint = "move detail into files under references/"
    return Problem(rule="size", message=f"{what} is larger than {limit >> 10} KiB", hint=hint, fatal=True)


def _split(text: str) -> tuple[str, str] | Problem:
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        message = "line 1 is not '---', so there is no front matter"
        hint = "begin the file with a line '---', then name and description, then another line '---'"
        return Problem(rule="frontmatter-missing", message=message, line=1, hint=hint, fatal=True)
    closing = re.search(r"^---[ \t]*$", rest, re.MULTILINE)
    if closing is None:
        message = "the front matter is not closed: no second line '---'"
        hint = "put a line '---' between the last field and the text"
        return Problem(rule="frontmatter-open", message=message, line=1, hint=hint, fatal=True)
    return rest[: closing.start()], rest[closing.end() + 1 :]
