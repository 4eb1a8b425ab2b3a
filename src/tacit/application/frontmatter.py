"""The text of a SKILL.md ↔ its front matter and its body. Knows YAML, and nothing of what the fields mean.

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
from dataclasses import dataclass

import yaml

from tacit.application.problems import Problem

BYTES_MAX = 1 << 20
DEPTH_MAX = 8

Plain = str | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class Field:
    """One value of the front matter, the line it starts on, and whether it was written as a block (``|`` or ``>``)."""

    data: Plain
    line: int
    block: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A SKILL.md taken apart."""

    fields: Mapping[str, Field]
    body: str


def read_document(text: str, *, lenient: bool) -> tuple[Document | None, list[Problem]]:
    """Take a SKILL.md apart; without a document the problems say why. Lenient: quote loose values and try again."""
    if len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        return None, [too_large()]
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):
        text = text.replace("\r\n", "\n")
    parts = _split(text)
    if isinstance(parts, Problem):
        return None, [parts]
    front, body = parts
    fields, problems = _read_yaml(front)
    if fields is None and lenient and problems[0].rule == "yaml":
        fields, again = _read_yaml(quote_loose_values(front))
        if fields is not None:
            hint = "put quotes around the value"
            loose = problems[0]
            mended = Problem(
                rule="yaml-mended", message=f"{loose.message}; read as if quoted", line=loose.line, hint=hint
            )
            problems = [mended, *again]
    return (None if fields is None else Document(fields, body)), problems


def too_large() -> Problem:
    """The problem of a SKILL.md beyond the size limit."""
    hint = "move detail into files under references/"
    return Problem(rule="size", message=f"SKILL.md is larger than {BYTES_MAX} bytes", hint=hint, fatal=True)


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


def _read_yaml(front: str) -> tuple[dict[str, Field] | None, list[Problem]]:
    try:
        node = _Loader(front).get_single_node()
    except yaml.YAMLError as error:
        return None, [_yaml_problem(error, front)]
    if not isinstance(node, yaml.MappingNode):
        message = "the front matter is not a map of 'key: value' lines"
        hint = "it needs at least a name and a description"
        return None, [Problem(rule="not-a-map", message=message, line=2, hint=hint, fatal=True)]
    problems: list[Problem] = []
    fields: dict[str, Field] = {}
    for key, value in node.value:
        name = _key(key, fields, problems)
        block = isinstance(value, yaml.ScalarNode) and value.style in ("|", ">")
        fields[name] = Field(_plain(value, problems), _line(key), block)
    return fields, problems


def _plain(node: yaml.Node, problems: list[Problem]) -> Plain:
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, problems) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Plain] = {}
        for key, value in node.value:
            found[_key(key, found, problems)] = _plain(value, problems)
        return found
    return str(node.value)


def _key(node: yaml.Node, taken: Mapping[str, object], problems: list[Problem]) -> str:
    if not isinstance(node, yaml.ScalarNode):
        hint = "write 'key: value'"
        problems.append(Problem(rule="key", message="a key is not plain text", line=_line(node), hint=hint))
        return json.dumps(_plain(node, problems), ensure_ascii=False)
    name = str(node.value)
    if name in taken:
        message = f"the key {name!r} stands here a second time"
        hint = "keep one of the two; the later one counts"
        problems.append(Problem(rule="duplicate-key", message=message, field=name, line=_line(node), hint=hint))
    return name


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 2  # the front matter starts on line 2 of the file


class _Refused(yaml.MarkedYAMLError):
    """Valid YAML that a skill may not use."""


class _Loader(yaml.BaseLoader):
    """Composes nodes without resolving types, and refuses what could grow or run."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Refused(problem="anchors and aliases (& and *) are not allowed", problem_mark=mark)
        if getattr(event, "tag", None):
            raise _Refused(problem=f"the tag {event.tag!r} is not allowed", problem_mark=mark)
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise _Refused(problem=f"values are nested more than {DEPTH_MAX} deep", problem_mark=mark)
        node = super().compose_node(parent, index)  # type: ignore[arg-type]
        self.depth -= 1
        return node


def _yaml_problem(error: yaml.YAMLError, front: str) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "unreadable"
        line = mark.line + 2 if mark else 2
        rule = "yaml-refused" if isinstance(error, _Refused) else "yaml"
        column = f", column {mark.column + 1}" if mark else ""
    else:  # a character that YAML does not allow; PyYAML gives an offset instead of a mark
        offset = int(getattr(error, "position", 0))
        line, rule, column = front.count("\n", 0, offset) + 2, "yaml", ""
        what = f"the character {front[offset : offset + 1]!r} is not allowed"
    hint = "put the value in quotes; indent with blanks, not tabs" if rule == "yaml" else "write the value out in full"
    return Problem(rule=rule, message=f"the YAML cannot be read: {what}{column}", line=line, hint=hint, fatal=True)


_LOOSE = re.compile(r"^(?P<indent> *)(?P<key>[^\s:#'\"\-\[{][^:]*):[ \t]+(?P<value>\S.*)$")


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
        if match["value"][0] in "\"'|>":
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
