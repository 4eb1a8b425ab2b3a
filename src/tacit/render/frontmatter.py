"""The text of a SKILL.md → its front matter and its body. Knows nothing of what the fields mean.

Every scalar stays a string (``version: 1.0`` is "1.0"). The front matter lies between the first line and the next line
that is exactly ``---``, so the same three characters inside a value or the body do no harm. A byte order mark and
CRLF line ends are accepted; a file whose first line ends in CRLF is taken to use it throughout. Anchors, aliases and
tags are refused: a skill has no use for them and a bomb is made of them. Reading never raises for a bad document; it
returns the problems, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tacit.render.problems import Problem
from tacit.render.yaml_values import Field, quote_loose_values

BYTES_MAX = 1 << 20
FRONT_CHARACTERS_MAX = 1 << 18
"""A YAML parser reads about a megabyte in two seconds, and a folder holds many skills."""


@dataclass(frozen=True, slots=True)
class Document:
    """A SKILL.md taken apart."""

    fields: Mapping[str, Field]
    body: str


def read_document(text: str) -> tuple[Document | None, list[Problem]]:
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
    return (None if fields is None else Document(fields, body)), problems


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
