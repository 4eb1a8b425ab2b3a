"""YAML text → fields with their lines, every scalar a string. Anchors, aliases, tags and masses of values are refused.

Input is the text between the delimiters, output is fields and problems; nothing raises for bad input. What the fields
mean is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import yaml

from tacit.render.frontmatter_fields import Field, Plain, holds_surrogate
from tacit.render.problems import Problem, half_character

DEPTH_MAX = 8
NODES_MAX = 2000


def read_fields(front: str) -> tuple[dict[str, Field] | None, list[Problem]]:
    """Read the lines between the delimiters; without fields the one problem says why."""
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
        problems += [half_character(name, line) for line in _half_characters(key, value)]
    return fields, problems


def _half_characters(*nodes: yaml.Node) -> Iterator[int]:
    """The lines of the texts with a lone surrogate, which a YAML escape can spell."""
    for node in nodes:
        if isinstance(node, yaml.MappingNode):
            yield from _half_characters(*(each for pair in node.value for each in pair))
        elif isinstance(node, yaml.SequenceNode):
            yield from _half_characters(*node.value)
        elif holds_surrogate(_joined(node)):
            yield _line(node)


def _joined(node: yaml.Node) -> str:
    """The text of a scalar, with characters that JSON spells as two escapes put together."""
    text = str(node.value)
    if not holds_surrogate(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _plain(node: yaml.Node, problems: list[Problem]) -> Plain:
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, problems) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Plain] = {}
        for key, value in node.value:
            found[_key(key, found, problems)] = _plain(value, problems)
        return found
    return _joined(node)


def _key(node: yaml.Node, taken: Mapping[str, object], problems: list[Problem]) -> str:
    if not isinstance(node, yaml.ScalarNode):
        hint = "write 'key: value'"
        problems.append(Problem(rule="key", message="a key is not plain text", line=_line(node), hint=hint))
        return json.dumps(_plain(node, problems), ensure_ascii=False)
    name = _joined(node)
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
    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Refused(problem="anchors and aliases (& and *) are not allowed", problem_mark=mark)
        if getattr(event, "tag", None):
            raise _Refused(problem=f"the tag {event.tag!r} is not allowed", problem_mark=mark)
        self.depth += 1
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise _Refused(problem=f"there are more than {NODES_MAX} values", problem_mark=mark)
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
