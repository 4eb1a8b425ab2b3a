"""The text of a SKILL.md → its front matter and its body, and what is wrong with it. Knows nothing of what the fields mean.

Every scalar stays a string (``version: 1.0`` is "1.0"). The front matter lies between the first line and the next line
that is exactly ``---``, so the same three characters inside a value or the body do no harm. A byte order mark and
CRLF line ends are accepted; a file whose first line ends in CRLF is taken to use it throughout. Anchors, aliases and
tags are refused: a skill has no use for them and a bomb is made of them. Reading never raises for a bad document; it
returns the problems, each with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from tacit.domain.errors import InvalidSkill

_Node = Any
"""A node of YAML. The library is loaded where something is parsed: that takes longer than all else here."""
Plain = str | list["Plain"] | dict[str, "Plain"]
BYTES_MAX = 1 << 20
FRONT_CHARACTERS_MAX = 1 << 18
"""A YAML parser reads about a megabyte in two seconds, and a folder holds many skills."""
DEPTH_MAX = 8
NODES_MAX = 2000


# --- problems -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of a skill, and what to do about it. No reader can work around a `fatal` one."""

    rule: str
    message: str
    field: str = ""
    severity: Literal["error", "warning"] = "error"
    line: int | None = None
    hint: str = ""
    fatal: bool = False

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.message}" + (f" ({self.hint})" if self.hint else "")


def invalid(source: str, problems: Iterable[Problem]) -> InvalidSkill:
    """Return one error for a whole skill, with every problem in it; the first error is the headline."""
    listed = sorted(problems, key=lambda problem: (problem.severity, not problem.fatal))
    more = f" (and {len(listed) - 1} more)" if len(listed) > 1 else ""
    place = f"{source}:{listed[0].line}" if listed[0].line else source
    lines = tuple(f"{source}: {problem}" for problem in listed)
    rules = tuple(problem.rule for problem in listed)
    return InvalidSkill(f"{place}: {listed[0].message}{more}", problems=lines, rules=rules, hint=listed[0].hint)


def too_large(what: str, limit: int) -> Problem:
    """Return the problem of a text beyond its size limit."""
    hint = "move detail into files under references/"
    return Problem(rule="size", message=f"{what} is larger than {limit >> 10} KiB", hint=hint, fatal=True)


def half_character(field: str, line: int | None) -> Problem:
    """Return the problem of a text with a lone surrogate: it cannot be written as UTF-8, nor sent as JSON."""
    shown = field.encode("utf-8", "backslashreplace").decode()
    message = f"{shown} holds a lone surrogate character, so it has no UTF-8 form"
    hint = "remove the escape, one of \\ud800 to \\udfff"
    return Problem(rule="encoding", message=message, field=shown, line=line, hint=hint, fatal=True)


_SURROGATE = re.compile("[\ud800-\udfff]")


def holds_surrogate(value: object) -> bool:
    """Whether a text, or one inside lists, tuples and maps, holds half a character, which has no UTF-8 form."""
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(holds_surrogate(each) for pair in value.items() for each in pair)
    return isinstance(value, list | tuple) and any(map(holds_surrogate, value))


# --- writing --------------------------------------------------------------------------------------------------------

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


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """One value of the front matter, the line it starts on, and whether it was written as a block (``|`` or ``>``)."""

    data: Plain
    line: int
    block: bool = False


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
    fields, problems = _read_fields(front)
    if fields is None and problems[0].rule == "yaml":
        fields, again = _read_fields(_with_loose_values_quoted(front))
        if fields is not None:
            problems = [replace(problems[0], fatal=False, hint="put quotes around the value"), *again]
    return (None if fields is None else FrontMatter(fields, body)), problems


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


_LOOSE = re.compile(r"^(?P<indent> *)(?P<key>[^\s:#'\"\-\[{][^:]*):[ \t]+(?P<value>\S.*)$")
_FLOW = re.compile(r"\[.*\]|\{.*\}")


def _with_loose_values_quoted(front: str) -> str:
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


def _read_fields(front: str) -> tuple[dict[str, Field] | None, list[Problem]]:
    """Read the lines between the delimiters; without fields the one problem says why."""
    import yaml

    try:
        node = _loader()(front).get_single_node()
    except _Refused as refused:
        return None, [_yaml_problem("yaml-refused", refused.problem, refused.mark)]
    except yaml.MarkedYAMLError as error:
        what = error.problem or error.context or "unreadable"
        return None, [_yaml_problem("yaml", what, error.problem_mark or error.context_mark)]
    except yaml.YAMLError as error:  # a character that YAML does not allow: an offset instead of a mark
        offset = int(getattr(error, "position", 0))
        what = f"the character {front[offset : offset + 1]!r} is not allowed"
        return None, [replace(_yaml_problem("yaml", what, None), line=front.count("\n", 0, offset) + 2)]
    if node is None or node.id != "mapping":
        message = "the front matter is not a map of 'key: value' lines"
        hint = "it needs at least a name and a description"
        return None, [Problem(rule="not-a-map", message=message, line=2, hint=hint, fatal=True)]
    problems: list[Problem] = []
    fields: dict[str, Field] = {}
    for key, value in node.value:
        name = _key(key, fields, problems)
        block = getattr(value, "style", None) in ("|", ">")
        fields[name] = Field(_plain(value, problems), _line(key), block)
        problems += [half_character(name, line) for line in _half_characters(key, value)]
    return fields, problems


def _yaml_problem(rule: str, what: str, mark: Any) -> Problem:
    place, line = (f", column {mark.column + 1}", mark.line + 2) if mark else ("", 2)
    hint = "put the value in quotes; indent with blanks, not tabs" if rule == "yaml" else "write the value out in full"
    return Problem(rule=rule, message=f"the YAML cannot be read: {what}{place}", line=line, hint=hint, fatal=True)


class _Refused(Exception):
    """Valid YAML that a skill may not use."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem)
        self.problem, self.mark = problem, mark


@cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.BaseLoader):
        """Composes nodes without resolving types, and refuses what could grow or run."""

        depth = 0
        nodes = 0

        def compose_node(self, parent: _Node, index: object) -> _Node:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            self.depth += 1
            self.nodes += 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise _Refused("anchors and aliases (& and *) are not allowed", event.start_mark)
            if getattr(event, "tag", None):
                raise _Refused(f"the tag {event.tag!r} is not allowed", event.start_mark)
            if self.nodes > NODES_MAX:
                raise _Refused(f"there are more than {NODES_MAX} values", event.start_mark)
            if self.depth > DEPTH_MAX:
                raise _Refused(f"values are nested more than {DEPTH_MAX} deep", event.start_mark)
            node = super().compose_node(parent, index)  # type: ignore[arg-type]
            self.depth -= 1
            return node

    return Loader


def _half_characters(*nodes: _Node) -> Iterator[int]:
    """Yield the lines of the texts with a lone surrogate, which a YAML escape can spell."""
    for node in nodes:
        if node.id == "mapping":
            yield from _half_characters(*(each for pair in node.value for each in pair))
        elif node.id == "sequence":
            yield from _half_characters(*node.value)
        elif holds_surrogate(_joined(node)):
            yield _line(node)


def _joined(node: _Node) -> str:
    """Return the text of a scalar, with characters that JSON spells as two escapes put together."""
    text = str(node.value)
    if not holds_surrogate(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _plain(node: _Node, problems: list[Problem]) -> Plain:
    if node.id == "sequence":
        return [_plain(item, problems) for item in node.value]
    if node.id == "mapping":
        found: dict[str, Plain] = {}
        for key, value in node.value:
            found[_key(key, found, problems)] = _plain(value, problems)
        return found
    return _joined(node)


def _key(node: _Node, taken: Mapping[str, object], problems: list[Problem]) -> str:
    if node.id != "scalar":
        hint = "write 'key: value'"
        problems.append(Problem(rule="key", message="a key is not plain text", line=_line(node), hint=hint))
        return json.dumps(_plain(node, problems), ensure_ascii=False)
    name = _joined(node)
    if name in taken:
        message = f"the key {name!r} stands here a second time"
        hint = "keep one of the two; the later one counts"
        problems.append(Problem(rule="duplicate-key", message=message, field=name, line=_line(node), hint=hint))
    return name


def _line(node: _Node) -> int:
    return int(node.start_mark.line) + 2  # the front matter starts on line 2 of the file
