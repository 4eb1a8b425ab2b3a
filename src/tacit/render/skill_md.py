"""The text of a SKILL.md ↔ `SkillContent`, strict or lenient when read. No file access.

Where each field goes:

- ``name description license compatibility allowed-tools`` are top-level fields of the format.
- The body is the person's or distiller's Markdown. Where a skill has structure (example queries, cases, parts,
  parameters, conditions, steps, pitfalls), a marker line follows the body and then one Markdown section per field (see
  `sections`).
- Everything else of ours stands under `metadata` with the prefix ``tacit-``, as text or compact JSON, where it differs
  from its default; cues are there only, for they are numbers that nobody reads as prose. Foreign metadata stays as it
  is, and so does a damaged value of ours, which is reported.

**The text wins.** Steps, their tool calls and conditions are read from the Markdown that a person sees, so an edit there
is an edit of the skill, and nothing hidden in the front matter can differ from it. Only where Markdown cannot carry a
field exactly is it also kept in `metadata`; that copy counts while its section still reads as it was written, and is
dropped once somebody has changed the section. Unknown sections after the marker become part of the body; without the
marker all text is body and there is no structure. So an untouched export has the same content hash, and an edited one
differs by exactly that edit.

Reading strictly raises on any breach of the specification. Reading leniently warns, and raises only for what cannot be
worked around: no front matter, unreadable YAML, no description, more than a megabyte. Unknown top-level keys are then
kept under `metadata`. Writing never fails, so that a person can always look at a skill; whether the text may leave as
a valid file is checked by `skill_folder.files`.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from tacit.domain.identity import plain
from tacit.domain.skill import Capabilities, Cue, Kind, SkillContent
from tacit.render.frontmatter import (
    Field,
    FrontMatter,
    Plain,
    Problem,
    half_character,
    holds_surrogate,
    invalid,
    read_document,
    write_mapping,
)
from tacit.render.sections import HEADINGS, is_as_written, is_exact, read, write
from tacit.render.validation import FIELDS, check_body, check_fields, normal_name, text_of

PREFIX = "tacit-"
ASKED_TOOLS = "tacit-asked-tools"
"""The key of all tools that a skill asks for, where `allowed-tools` names fewer."""
MARKER = "<!-- tacit: the sections below are read back as structure -->"
STAMPS = ("skill-id", "version-id")
"""What an export may say about itself beside the content, to find its skill again."""
_TEXTS = ("category", "signature", "extends", "person")
T = TypeVar("T")
_MARKER_LINE = re.compile(rf"^{re.escape(MARKER)}[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A content read from text, what was odd about it, and the stamp of the export it came from."""

    content: SkillContent
    warnings: tuple[Problem, ...] = ()
    stamp: Mapping[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()
    """Order and encoding of bundled files where those are not the usual ones."""
    unlocked: tuple[str, ...] = ()
    """The tools that the file unlocks in a client that reads it."""


def parse(text: str, *, strict: bool, directory: str = "", source: str = "SKILL.md") -> Parsed:
    """Read a SKILL.md. `directory` is the name of its folder, `source` what errors call it."""
    parsed, problems = examine(text, directory=directory)
    if parsed is None or (strict and any(problem.severity == "error" for problem in problems)):
        raise invalid(source, problems)
    return parsed


def examine(text: str, *, directory: str = "") -> tuple[Parsed | None, list[Problem]]:
    """Read a SKILL.md as far as it can be read, with every problem in it; nothing raises."""
    document, problems = read_document(text)
    if document is None:
        return None, problems
    problems = problems + check_fields(document.fields, directory=directory) + check_body(document.body.strip())
    if any(problem.fatal for problem in problems):
        return None, problems
    parsed, damage = _interpret(document, directory)
    problems += damage
    if halves := list(_half_characters(parsed, document)):
        return None, problems + halves
    warnings = tuple(replace(problem, severity="warning") for problem in problems)
    return replace(parsed, warnings=warnings), problems


def _half_characters(parsed: Parsed, document: FrontMatter) -> Iterator[Problem]:
    """Lone surrogates in the body, or spelt as escapes in JSON: in a tool's arguments, or in Tacit's own metadata."""
    own_line = document.fields["metadata"].line if "metadata" in document.fields else None
    for name, value in plain(parsed.content).items():
        if holds_surrogate(value):
            place = document.fields.get(name.replace("_", "-"))
            yield half_character(name, place.line if place else own_line)
    if holds_surrogate([*parsed.stamp.values(), *parsed.files]):
        yield half_character("metadata", own_line)


def render(
    content: SkillContent, *, stamp: Mapping[str, str] | None = None, unlocked: Collection[str] | None = None
) -> str:
    """Write a content as a SKILL.md, strictly valid if `check_content` finds no error in it.

    Of the tools that it asks for, `allowed-tools` names only those in `unlocked`, since clients let a skill use those.
    """
    tools = content.allowed_tools
    if unlocked is not None:
        tools = tuple(tool for tool in tools if tool in unlocked and split_tools(tool) == (tool,))
    metadata = {PREFIX + key: value for key, value in (stamp or {}).items() if key in STAMPS}
    metadata |= dict(_own_pairs(content))
    if tools != content.allowed_tools:
        metadata[ASKED_TOOLS] = _compact(content.allowed_tools)
        metadata.pop(PREFIX + "allowed-tools", None)
    metadata |= {key: value for key, value in content.metadata.items() if not key.startswith(PREFIX)}
    front = write_mapping(_top_level(replace(content, allowed_tools=tools)))
    if metadata:
        front += "metadata:\n" + write_mapping(metadata.items(), indent="  ")
    body = _written_body(content)
    return f"---\n{front}---\n" + (f"\n{body}\n" if body else "")


def _top_level(content: SkillContent) -> Iterator[tuple[str, str]]:
    yield "name", content.name
    yield "description", content.description
    if content.license:
        yield "license", content.license
    if content.compatibility:
        yield "compatibility", content.compatibility
    if content.allowed_tools:
        yield "allowed-tools", " ".join(content.allowed_tools)


def _own_pairs(content: SkillContent) -> Iterator[tuple[str, str]]:
    if content.kind is not Kind.PROCEDURE:
        yield "tacit-kind", content.kind.value
    for name in _TEXTS:
        if value := getattr(content, name):
            yield PREFIX + name, value
    if content.tags:
        yield "tacit-tags", _compact(content.tags)
    if content.cues:
        yield "tacit-cues", _compact([[cue.term, cue.weight] for cue in content.cues])
    if content.surroundings:
        yield "tacit-surroundings", _compact(content.surroundings)
    if content.capabilities != Capabilities():
        yield "tacit-capabilities", _compact(content.capabilities)
    if content.portable:
        yield "tacit-portable", "true"
    if not content.shareable:
        yield "tacit-shareable", "false"
    yield from _exact_pairs(content)


def _exact_pairs(content: SkillContent) -> Iterator[tuple[str, str]]:
    """What the visible text cannot carry exactly; nothing of this is there for an ordinary skill."""
    for name in HEADINGS:
        if not is_exact(name, getattr(content, name)):
            yield PREFIX + name.replace("_", "-"), _compact(getattr(content, name))
    if split_tools(" ".join(content.allowed_tools)) != content.allowed_tools:
        yield "tacit-allowed-tools", _compact(content.allowed_tools)
    _, margins = _trim(content.body)
    if any(margins):
        yield "tacit-body-margins", _compact(margins)
    if clashing := {key: value for key, value in content.metadata.items() if key.startswith(PREFIX)}:
        yield "tacit-metadata", _compact(clashing)
    listed = [(file.path, file.encoding) for file in content.files]
    if listed != sorted(listed) or any(
        _looks_like_text(file.content) for file in content.files if file.encoding == "base64"
    ):
        yield "tacit-files", _compact(listed)


def _compact(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def _looks_like_text(content: str) -> bool:
    try:
        base64.b64decode(content).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _trim(text: str) -> tuple[str, tuple[str, str]]:
    """Cut blank lines in front and all blanks at the end, and say what was cut."""
    end = len(text.rstrip())
    core = re.sub(r"\A(?:[^\S\n]*\n)+", "", text[:end])
    return core, (text[: end - len(core)], text[end:])


def _written_body(content: SkillContent) -> str:
    core, _ = _trim(content.body)
    sections = write(content)
    if not sections and not _MARKER_LINE.search(core):
        return core
    return "\n\n".join(part for part in (core, MARKER, sections) if part)


class _OwnMetadata:
    """Takes Tacit's values out of a metadata map; what stays is foreign."""

    def __init__(self, metadata: Mapping[str, str], *, line: int) -> None:
        self.foreign = dict(metadata)
        self.problems: list[Problem] = []
        self._line = line

    def take(self, key: str, read: Callable[[str], T], otherwise: T) -> T:
        """Take one value out; a damaged one counts as absent, is reported, and stays."""
        name = PREFIX + key.replace("_", "-")
        try:
            value = read(self.foreign[name]) if name in self.foreign else otherwise
        except (ValueError, RecursionError) as error:
            message = f"the metadata value of {name!r} cannot be read: {error}"
            hint = "correct it, or delete the line"
            self.problems.append(
                Problem(
                    rule="own-metadata",
                    message=message,
                    field="metadata",
                    severity="warning",
                    line=self._line,
                    hint=hint,
                )
            )
            return otherwise
        self.foreign.pop(name, None)
        return value


def _json_of(kind: Any) -> Callable[[str], Any]:
    """Return a reader of JSON text as this type, in which unknown keys are an error."""

    def read_json(text: str) -> Any:
        found = json.loads(text)
        value = msgspec.convert(found, type=kind)
        if not _holds_all(asdict(_Box(value))["value"], found):
            raise ValueError("it has unknown keys")
        return value

    return read_json


@dataclass(frozen=True, slots=True)
class _Box:
    value: Any


def _holds_all(value: Any, found: Any) -> bool:
    """Whether every key that was found is part of the value."""
    if isinstance(found, dict):
        return all(key in value and _holds_all(value[key], item) for key, item in found.items())
    return not isinstance(found, list) or all(map(_holds_all, value, found))


@cache
def _field_types() -> dict[str, Any]:
    return get_type_hints(SkillContent)


def _flag(text: str) -> bool:
    if text.casefold() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.casefold() == "true"


def _margins(text: str) -> tuple[str, str]:
    found: tuple[str, str] = msgspec.convert(json.loads(text), type=tuple[str, str])
    if "".join(found).strip():
        raise ValueError("not two texts of blanks")
    return found


def _cues(text: str) -> tuple[Cue, ...]:
    found = msgspec.convert(json.loads(text), type=list[tuple[str, float]])
    if not all(math.isfinite(weight) for _, weight in found):
        raise ValueError("a weight is not a finite number")
    return tuple(Cue(term=term, weight=weight) for term, weight in found)


def _interpret(document: FrontMatter, directory: str) -> tuple[Parsed, list[Problem]]:
    fields = document.fields
    mine = _OwnMetadata(_metadata(fields), line=fields["metadata"].line if "metadata" in fields else 2)
    stamp = {key: value for key in STAMPS if (value := mine.take(key, str, ""))}
    body, structure = _read_body(document.body, mine)
    files = mine.take("files", _json_of(tuple[tuple[str, str], ...]), ())
    unlocked = _tools(fields.get("allowed-tools"), mine)
    asked: tuple[str, ...] = mine.take(ASKED_TOOLS.removeprefix(PREFIX), _json_of(tuple[str, ...]), ())
    known: dict[str, Any] = structure | {
        "kind": mine.take("kind", Kind, Kind.PROCEDURE),
        "portable": mine.take("portable", _flag, False),
        "shareable": mine.take("shareable", _flag, True),
        "allowed_tools": asked if set(unlocked) <= set(asked) else unlocked,
        "cues": mine.take("cues", _cues, tuple[Cue, ...]()),
    }
    known |= {name: mine.take(name, str, "") for name in _TEXTS}
    for name, default in (("capabilities", Capabilities()), ("tags", ()), ("surroundings", ())):
        known[name] = mine.take(name, _json_of(_field_types()[name]), default)
    clashing: dict[str, str] = mine.take("metadata", _json_of(dict[str, str]), {})
    content = SkillContent(
        name=normal_name(text_of(fields.get("name"))) or normal_name(directory),
        description=text_of(fields["description"]),
        license=_text(fields.get("license")),
        compatibility=text_of(fields.get("compatibility")),
        body=body,
        metadata=mine.foreign | clashing,
        **known,
    )
    return Parsed(content=content, stamp=stamp, files=files, unlocked=unlocked), mine.problems


def _metadata(fields: Mapping[str, Field]) -> dict[str, str]:
    """The metadata map with unknown top-level keys beside it, all as text."""
    given = fields["metadata"].data if "metadata" in fields else {}
    found = {key: _flat(value) for key, value in given.items()} if isinstance(given, dict) else {}
    for key, value in fields.items():
        if key not in FIELDS:
            found.setdefault(key, _text(value))
    return found


def _text(found: Field | None) -> str:
    return text_of(found) if found is None or isinstance(found.data, str) else _flat(found.data)


def _flat(value: Plain) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def split_tools(text: str) -> tuple[str, ...]:
    """Split the value of `allowed-tools` at blanks outside parentheses; commas between tools are forgiven."""
    found: list[str] = []
    current, depth = "", 0
    for character in text:
        depth += (character == "(") - (character == ")" and depth > 0)
        if depth == 0 and (character.isspace() or character == ","):
            found.append(current)
            current = ""
        else:
            current += character
    return tuple(tool for tool in (*found, current) if tool)


def _tools(found: Field | None, mine: _OwnMetadata) -> tuple[str, ...]:
    exact: tuple[str, ...] = mine.take("allowed-tools", _json_of(tuple[str, ...]), ())
    if found is None:
        return ()
    if isinstance(found.data, list):
        return tuple(_flat(item) for item in found.data)
    shown = text_of(found)
    return exact if exact and " ".join(exact) == shown else split_tools(shown)


def _read_body(text: str, mine: _OwnMetadata) -> tuple[str, dict[str, Any]]:
    lead, trail = mine.take("body-margins", _margins, ("", ""))
    exact: dict[str, tuple[Any, ...]] = {name: mine.take(name, _json_of(_field_types()[name]), ()) for name in HEADINGS}
    markers = list(_MARKER_LINE.finditer(text))
    # Parts had no section of their own once, only metadata; a file from then still says what it is made of.
    formerly = {"sub_skills": exact["sub_skills"]} if exact["sub_skills"] else {}
    if not markers:
        return lead + _trim(text)[0] + trail, formerly
    found = read(text[markers[-1].end() :])
    structure: dict[str, Any] = formerly | dict(found.fields)
    for name, values in exact.items():
        if values and is_as_written(name, values, found=found):
            structure[name] = values
    core = "\n\n".join(part for part in (_trim(text[: markers[-1].start()])[0], found.rest) if part)
    return lead + core + trail, structure
