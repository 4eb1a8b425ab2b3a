"""The structured fields of a skill ↔ Markdown sections that people and agents read. Pure text; no front matter.

Nine fields are written as sections, each a list: example queries ("When to use"), cases ("When"), parts ("Made of"),
what it comes after, parameters, preconditions, steps, postconditions and pitfalls. What belongs to an item beside its
text stands below it as ``- label: value``::

    ## Steps
    1. Write the migration
       - tool: Bash {"command":"make migration name={name}"}

Reading takes what people make of it: other bullets, blank lines between items, renumbered steps. A line that is no
item belongs to the item before it. A heading that is none of ours, and what follows it, is returned as `rest`, so
nothing a person wrote is lost. Texts that Markdown cannot carry exactly (odd blanks, a line that looks like a label)
are the caller's matter: `is_exact` tells which fields those are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.skill import Condition, Parameter, Pitfall, SkillContent, SkillStep
from tacit.render import conditions
from tacit.text.safe_markdown import inert_json

HEADINGS = {
    "example_queries": "When to use",
    "cases": "When",
    "sub_skills": "Made of",
    "after": "Comes after",
    "parameters": "Parameters",
    "preconditions": "Before you start",
    "steps": "Steps",
    "postconditions": "Check",
    "pitfalls": "Pitfalls",
}
_NUMBERED = frozenset({"steps", "sub_skills"})
_FIELD_OF = {title.casefold(): name for name, title in HEADINGS.items()}
_HEADING = re.compile(r"#{1,2}[ \t]+(.*?)[ \t#]*$")
_ITEM = re.compile(r" ?(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_DETAIL = re.compile(r" ?[-*+][ \t]+(\w+):[ \t]*(.*)$", re.DOTALL)
_NAME = re.compile(r"`([^`]+)`")
_PARAMETER = re.compile(r"(?P<tick>`?)(?P<name>[^`:\n]+)(?P=tick)(?::[ \t]+(?P<description>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ListItem:
    """One list item: its text and the labelled values below it."""

    text: str
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """What was read: the fields, each section's own text, and everything that belongs to no section."""

    fields: Mapping[str, tuple[Any, ...]]
    written: Mapping[str, str]
    rest: str


def instructions(content: SkillContent) -> str:
    """The text that tells an agent what to do: the body, then the sections."""
    return "\n\n".join(part for part in (content.body, write(content)) if part.strip())


def write(content: SkillContent) -> str:
    """Write all structured fields of a content as sections."""
    found = ((name, getattr(content, name)) for name in HEADINGS)
    return "\n\n".join(f"## {HEADINGS[name]}\n{write_items(name, values)}" for name, values in found if values)


def write_items(name: str, values: Sequence[Any]) -> str:
    """Write the list of one field, without its heading."""
    lines: list[str] = []
    for number, value in enumerate(values, 1):
        entry = _FORMS[name][0](value)
        marker = f"{number}. " if name in _NUMBERED else "- "
        indent = " " * len(marker)
        lines.extend(_indented(marker, entry.text))
        for label, detail in entry.details.items():
            lines.extend(indent + line if line else "" for line in _indented("- ", f"{label}: {detail}"))
    return "\n".join(lines)


def _indented(marker: str, text: str) -> Iterator[str]:
    first, *others = text.split("\n")
    yield marker + first
    yield from (" " * len(marker) + line if line else "" for line in others)


def is_exact(name: str, values: tuple[Any, ...]) -> bool:
    """Whether reading the written list gives these very values back."""
    found = read(f"## {HEADINGS[name]}\n{write_items(name, values)}".rstrip())
    return not found.rest and found.fields.get(name, ()) == values


def is_as_written(name: str, values: tuple[Any, ...], *, found: Found) -> bool:
    """Whether a section still stands as these values were written."""
    return found.written.get(name, "").rstrip() == write_items(name, values).rstrip()


def read(text: str) -> Found:
    """Read sections back."""
    lines_of: dict[str, list[str]] = {}
    rest: list[str] = []
    current, fence = rest, ""
    for line in text.split("\n"):
        heading = _HEADING.match(line)
        name = _FIELD_OF.get(heading[1].casefold()) if heading else None
        if name:  # even within a fence: items are indented, so one left open ends with its section
            current, fence = lines_of.setdefault(name, []), ""
            continue
        current = rest if heading and not fence else current
        current.append(line)
        fence = _fence_after(line, fence)
    return Found(
        fields={name: _values(name, lines) for name, lines in lines_of.items()},
        written={name: "\n".join(lines).strip("\n") for name, lines in lines_of.items()},
        rest="\n".join(rest).strip(),
    )


def _fence_after(line: str, fence: str) -> str:
    """The code fence that is open after this line, or nothing."""
    mark = line.lstrip(" -*+0123456789.)")[:3]
    if fence:
        return "" if mark == fence else fence
    return mark if mark in ("```", "~~~") else ""


def _values(name: str, lines: Sequence[str]) -> tuple[Any, ...]:
    _, build, labels = _FORMS[name]
    return tuple(build(entry) for entry in _entries(lines, labels))


def _entries(lines: Sequence[str], labels: frozenset[str]) -> Iterator[ListItem]:
    items: list[list[str]] = []
    width, fence = 0, ""
    for line in lines:
        marker = None if fence else _ITEM.match(line)
        fence = _fence_after(line, fence)
        if marker:
            width = marker.end()
            items.append([line[width:]])
        elif items:
            blanks = len(line) - len(line.lstrip(" "))
            items[-1].append(line[min(width, blanks) :])
        elif line.strip():
            items.append([line])
    for item in items:
        yield _entry(item, labels)


def _entry(lines: list[str], labels: frozenset[str]) -> ListItem:
    text = lines[:1]
    details: dict[str, list[str]] = {}
    label = ""
    for line in lines[1:]:
        match = _DETAIL.match(line)
        if match and match[1].casefold() in labels - details.keys():
            label = match[1].casefold()
            details[label] = [match[2]]
        elif label and (line.startswith("  ") or not line.strip()):
            details[label].append(line[2:])
        else:
            label = ""
            text.append(line)
    return ListItem("\n".join(text).strip(), {name: "\n".join(found).strip() for name, found in details.items()})


def _write_step(step: SkillStep) -> ListItem:
    details = {}
    if step.tool or step.arguments:
        arguments = inert_json(json.dumps(dict(step.arguments), ensure_ascii=False, separators=(",", ":")))
        details["tool"] = f"{step.tool} {arguments}" if step.arguments else step.tool
    if step.optional:
        details["optional"] = "yes"
    return ListItem(step.text, details)


def _read_step(entry: ListItem) -> SkillStep:
    call = entry.details.get("tool", "")
    at = call.find("{") if call.endswith("}") else -1
    tool, arguments = (call, {}) if at < 0 else (call[:at], _arguments(call[at:]))
    if at >= 0 and not arguments:
        tool = call  # no JSON after all: keep the words rather than lose them
    tool = tool if tool == call and at >= 0 else tool.removesuffix(" ")
    optional = entry.details.get("optional", "").casefold() in ("yes", "true")
    return SkillStep(text=entry.text, tool=tool, arguments=arguments, optional=optional)


def _arguments(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_parameter(parameter: Parameter) -> ListItem:
    text = f"`{parameter.name}`" + (f": {parameter.description}" if parameter.description else "")
    details = {"type": parameter.type} if parameter.type != "string" else {}
    if place := conditions.write_place(parameter):
        details["from"] = place
    return ListItem(text, details | ({"example": parameter.example} if parameter.example else {}))


def _read_parameter(entry: ListItem) -> Parameter:
    match = _PARAMETER.fullmatch(entry.text)
    reading, key = conditions.read_place(entry.details["from"]) if "from" in entry.details else ("", "")
    return Parameter(
        name=match["name"] if match else entry.text,
        description=(match["description"] or "") if match else "",
        type=entry.details.get("type", "string"),
        example=entry.details.get("example", ""),
        reading=reading,
        key=key,
    )


def _write_condition(condition: Condition) -> ListItem:
    return ListItem(conditions.write_condition(condition), {"check": condition.check} if condition.check else {})


def _read_condition(entry: ListItem) -> Condition:
    return conditions.read_condition(entry.text, check=entry.details.get("check", ""))


def _write_pitfall(pitfall: Pitfall) -> ListItem:
    return ListItem(conditions.write_pitfall(pitfall), {"kind": pitfall.kind} if pitfall.kind else {})


def _read_pitfall(entry: ListItem) -> Pitfall:
    return conditions.read_pitfall(entry.text, kind=entry.details.get("kind", ""))


def _read_name(entry: ListItem) -> str:
    named = _NAME.fullmatch(entry.text)
    return named[1] if named else entry.text


def _read_text(entry: ListItem) -> str:
    return entry.text


_NO_LABELS: frozenset[str] = frozenset()
_FORMS: dict[str, tuple[Callable[[Any], ListItem], Callable[[ListItem], Any], frozenset[str]]] = {
    "example_queries": (ListItem, _read_text, _NO_LABELS),
    "cases": (
        lambda case: ListItem(conditions.write_case(case)),
        lambda entry: conditions.read_case(entry.text),
        _NO_LABELS,
    ),
    "sub_skills": (ListItem, _read_name, _NO_LABELS),
    "after": (ListItem, _read_name, _NO_LABELS),
    "parameters": (_write_parameter, _read_parameter, frozenset({"type", "from", "example"})),
    "preconditions": (_write_condition, _read_condition, frozenset({"check"})),
    "steps": (_write_step, _read_step, frozenset({"tool", "optional"})),
    "postconditions": (_write_condition, _read_condition, frozenset({"check"})),
    "pitfalls": (_write_pitfall, _read_pitfall, frozenset({"kind"})),
}
"""Field → how an item is written, how it is read, and the labels below it."""
