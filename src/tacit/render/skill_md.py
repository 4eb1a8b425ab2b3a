"""The text of a SKILL.md ↔ `SkillContent`, strict or lenient when read. No file access.

Where each field goes:

- ``name description license compatibility allowed-tools`` are top-level fields of the format.
- The body is the person's or distiller's Markdown. Where a skill has structure (example queries, cases, parts,
  parameters, conditions, steps, pitfalls), a marker line follows the body and then one Markdown section per field (see
  `sections`).
- Everything else of ours stands under `metadata` with the prefix ``tacit-`` (see `own_metadata`); cues are there only,
  for they are numbers that nobody reads as prose. Foreign metadata stays as it is.

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
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.domain.identity import plain
from tacit.domain.skill import Capabilities, Kind, SkillContent
from tacit.render import own_metadata as own
from tacit.render.frontmatter import FrontMatter, read_document, write_mapping
from tacit.render.frontmatter_fields import Field, Plain, holds_surrogate
from tacit.render.own_metadata import PREFIX, OwnMetadata
from tacit.render.problems import Problem, half_character, invalid
from tacit.render.sections import HEADINGS, is_as_written, is_exact, read, write
from tacit.render.tool_patterns import split_tools
from tacit.render.validation import FIELDS, check_body, check_fields, normal_name, text_of

MARKER = "<!-- tacit: the sections below are read back as structure -->"
STAMPS = ("skill-id", "version-id")
"""What an export may say about itself beside the content, to find its skill again."""
_MARKER_LINE = re.compile(rf"^{re.escape(MARKER)}[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A content read from text, what was odd about it, and the stamp of the export it came from."""

    content: SkillContent
    warnings: tuple[Problem, ...] = ()
    stamp: Mapping[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()
    """Order and encoding of bundled files where those are not the usual ones."""


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
    warnings = tuple(problem.as_warning() for problem in problems)
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


def render(content: SkillContent, *, stamp: Mapping[str, str] | None = None) -> str:
    """Write a content as a SKILL.md, strictly valid if `check_content` finds no error in it."""
    metadata = {PREFIX + key: value for key, value in (stamp or {}).items() if key in STAMPS}
    metadata |= dict(_own_pairs(content))
    metadata |= {key: value for key, value in content.metadata.items() if not key.startswith(PREFIX)}
    front = write_mapping(_top_level(content))
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
    for name in ("category", "signature", "extends", "person"):
        if value := getattr(content, name):
            yield PREFIX + name, value
    if content.tags:
        yield "tacit-tags", own.compact(content.tags)
    if content.cues:
        yield "tacit-cues", own.write_cues(content.cues)
    if content.surroundings:
        yield "tacit-surroundings", own.compact(content.surroundings)
    if content.capabilities != Capabilities():
        yield "tacit-capabilities", own.compact(content.capabilities)
    if content.portable:
        yield "tacit-portable", "true"
    if not content.shareable:
        yield "tacit-shareable", "false"
    yield from _exact_pairs(content)


def _exact_pairs(content: SkillContent) -> Iterator[tuple[str, str]]:
    """What the visible text cannot carry exactly; nothing of this is there for an ordinary skill."""
    for name in HEADINGS:
        if not is_exact(name, getattr(content, name)):
            yield _key(name), own.compact(getattr(content, name))
    if split_tools(" ".join(content.allowed_tools)) != content.allowed_tools:
        yield "tacit-allowed-tools", own.compact(content.allowed_tools)
    _, margins = _trim(content.body)
    if any(margins):
        yield "tacit-body-margins", own.compact(margins)
    if clashing := {key: value for key, value in content.metadata.items() if key.startswith(PREFIX)}:
        yield "tacit-metadata", own.compact(clashing)
    listed = [(file.path, file.encoding) for file in content.files]
    if listed != sorted(listed) or any(
        _looks_like_text(file.content) for file in content.files if file.encoding == "base64"
    ):
        yield "tacit-files", own.compact([list(pair) for pair in listed])


def _looks_like_text(content: str) -> bool:
    try:
        base64.b64decode(content).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _key(name: str) -> str:
    return PREFIX + name.replace("_", "-")


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


def _interpret(document: FrontMatter, directory: str) -> tuple[Parsed, list[Problem]]:
    fields = document.fields
    line = fields["metadata"].line if "metadata" in fields else 2
    mine = OwnMetadata(_metadata(fields), line=line)
    stamp = {key: value for key in STAMPS if (value := mine.take(key, str))}
    body, structure = _read_body(document.body, mine)
    files = mine.take("files", _read_files) or ()
    known: dict[str, Any] = structure | {
        "kind": mine.take("kind", own.read_kind) or Kind.PROCEDURE,
        "capabilities": mine.take("capabilities", own.read_capabilities) or Capabilities(),
        "portable": mine.take("portable", own.read_flag) or False,
        "shareable": mine.take("shareable", own.read_flag) is not False,
        "allowed_tools": _tools(fields.get("allowed-tools"), mine),
    }
    known |= {name: mine.take(name, str) or "" for name in ("category", "signature", "extends", "person")}
    known |= {name: mine.take(name, own.read_strings) or () for name in ("tags", "surroundings")}
    known["cues"] = mine.take("cues", own.read_cues) or ()
    clashing = mine.take("metadata", own.read_string_map) or {}
    content = SkillContent(
        name=normal_name(text_of(fields.get("name"))) or normal_name(directory),
        description=text_of(fields["description"]),
        license=_text(fields.get("license")),
        compatibility=text_of(fields.get("compatibility")),
        body=body,
        metadata=mine.foreign | clashing,
        **known,
    )
    return Parsed(content=content, stamp=stamp, files=files), mine.problems


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


def _tools(found: Field | None, mine: OwnMetadata) -> tuple[str, ...]:
    exact = mine.take("allowed-tools", own.read_strings)
    if found is None:
        return ()
    if isinstance(found.data, list):
        return tuple(_flat(item) for item in found.data)
    shown = text_of(found)
    return exact if exact and " ".join(exact) == shown else split_tools(shown)


def _read_body(text: str, mine: OwnMetadata) -> tuple[str, dict[str, Any]]:
    lead, trail = mine.take("body-margins", own.read_margins) or ("", "")
    exact = {name: mine.take(name, own.read_exact(name)) or () for name in HEADINGS}
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


def _read_files(text: str) -> tuple[tuple[str, str], ...]:
    found = json.loads(text)
    pairs = tuple(tuple(pair) for pair in found if isinstance(pair, list)) if isinstance(found, list) else ()
    if not all(len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in pairs):
        raise ValueError("not a list of path and encoding")
    return tuple((pair[0], pair[1]) for pair in pairs)
