"""The rules of the Agent Skills specification, as functions from fields or content to problems. Reads no files.

Errors break the specification; warnings are its recommendations, and damage in what Tacit keeps under `metadata`.
Every check runs, so that a person mends a skill in one go.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from tacit.domain.skill import SkillContent, SkillFile
from tacit.render.frontmatter import Field, Problem
from tacit.text.words import estimate_tokens

NAME_LENGTH_MAX = 64
FALLBACK = "skill"

# Latin letters that carry no separable mark, so that decomposition alone does not bring them to ASCII.
_FOLDED = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}


def normal_name(text: str) -> str:
    """The form in which names are compared: trimmed and NFKC."""
    return unicodedata.normalize("NFKC", text.strip())


def name_faults(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield rule, message and next step for each way in which a normalised name breaks the rule."""
    fix = f"rename it to {skill_name(name)!r}, its folder too"
    if len(name) > NAME_LENGTH_MAX:
        yield "name-length", f"the name has {len(name)} characters, at most {NAME_LENGTH_MAX} are allowed", fix
    if name != name.lower():
        yield "name-case", f"the name {name!r} is not all lower case", fix
    if name.startswith("-") or name.endswith("-"):
        yield "name-edge", f"the name {name!r} starts or ends with a hyphen", fix
    if "--" in name:
        yield "name-hyphens", f"the name {name!r} has two hyphens in a row", fix
    if strange := sorted({c for c in name if not (c.isalnum() or c == "-")}):
        shown = " ".join(repr(c) for c in strange)
        yield "name-characters", f"the name {name!r} holds {shown}; letters, digits and hyphens are allowed", fix


def skill_name(text: str) -> str:
    """Make a valid name from free text: ASCII where its letters fold to it, cut between words, never empty."""
    words: list[str] = []
    length = 0
    for word in _words(text):
        length += len(word) + bool(words)
        if length > NAME_LENGTH_MAX:
            break
        words.append(word)
    if words:
        return "-".join(words)
    return next(_words(text), FALLBACK)[:NAME_LENGTH_MAX]


def _words(text: str) -> Iterator[str]:
    lowered = unicodedata.normalize("NFKC", text).casefold()
    folded = "".join(_fold(character) for character in unicodedata.normalize("NFC", lowered))
    kept = "".join(c if c.isalnum() and c == c.lower() else "-" for c in unicodedata.normalize("NFKC", folded))
    yield from (word for word in re.split("-+", kept) if word)


def _fold(character: str) -> str:
    if character in _FOLDED:
        return _FOLDED[character]
    bare = "".join(c for c in unicodedata.normalize("NFKD", character) if unicodedata.category(c) != "Mn")
    return bare if bare.isascii() else character


DESCRIPTION_LENGTH_MAX = 1024
COMPATIBILITY_LENGTH_MAX = 500
BODY_LINES_MAX = 500
BODY_TOKENS_MAX = 5000
FIELDS = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
SKIPPED_NAMES = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", ".DS_Store"})
"""Never part of a skill: neither searched nor bundled."""


def text_of(field: Field | None) -> str:
    """The text of a field; block scalars lose the line end that their notation adds. Not text → empty."""
    if field is None or not isinstance(field.data, str):
        return ""
    return field.data.strip() if field.block else field.data


def check_fields(fields: Mapping[str, Field], *, directory: str) -> list[Problem]:
    """Check the whole front matter; `directory` is the folder's name, or empty where there is none."""
    return [
        *_check_name(fields.get("name"), directory),
        *_check_texts(fields),
        *_check_metadata(fields.get("metadata")),
        *(
            _problem("unknown-key", key, field, f"the key {key!r} is not part of the format", "move it under metadata")
            for key, field in fields.items()
            if key not in FIELDS
        ),
    ]


def _problem(rule: str, name: str, field: Field | None, message: str, hint: str, *, fatal: bool = False) -> Problem:
    return Problem(rule=rule, message=message, field=name, line=field.line if field else 2, hint=hint, fatal=fatal)


def _check_name(field: Field | None, directory: str) -> Iterator[Problem]:
    name = normal_name(text_of(field))
    if not name:
        message = "there is no name" if field is None else "the name is empty or not text"
        hint = f"add 'name: {directory or 'my-skill'}'"
        yield _problem("name-missing", "name", field, message, hint, fatal=not directory)
        return
    for rule, message, hint in name_faults(name):
        yield _problem(rule, "name", field, message, hint)
    if directory and normal_name(directory) != name:
        message = f"the name {name!r} is not that of its folder, {directory!r}"
        yield _problem("name-directory", "name", field, message, "rename one of the two")


def _check_texts(fields: Mapping[str, Field]) -> Iterator[Problem]:
    description, compatibility = fields.get("description"), fields.get("compatibility")
    if not text_of(description).strip():
        message = "there is no description" if description is None else "the description is empty or not text"
        hint = "add 'description: what it does, and when to use it'"
        yield _problem("description-missing", "description", description, message, hint, fatal=True)
    if compatibility and not text_of(compatibility).strip():
        message, hint = "the compatibility is empty or not text", "say what it needs, or leave the field out"
        yield _problem("compatibility-empty", "compatibility", compatibility, message, hint)
    for name, most in (("description", DESCRIPTION_LENGTH_MAX), ("compatibility", COMPATIBILITY_LENGTH_MAX)):
        if (length := len(text_of(fields.get(name)))) > most:
            message = f"the {name} has {length} characters, at most {most} are allowed"
            yield _problem(f"{name}-length", name, fields.get(name), message, "move detail into the body")
    for name, hint in (
        ("license", "write the licence's name, or the name of its file"),
        ("allowed-tools", "write tools separated by blanks, e.g. 'allowed-tools: Read Bash(git:*)'"),
    ):
        if name in fields and not isinstance(fields[name].data, str):
            yield _problem(name, name, fields[name], f"the value of {name} is not text", hint)


def _check_metadata(field: Field | None) -> Iterator[Problem]:
    if field is None or field.data == "":
        return
    if not isinstance(field.data, dict):
        hint = "write indented 'key: value' lines under it"
        yield _problem("metadata-map", "metadata", field, "metadata is not a map", hint)
        return
    for key, value in field.data.items():
        if not isinstance(value, str):
            message = f"the metadata value of {key!r} is not text"
            yield _problem("metadata-value", "metadata", field, message, "write it as one quoted text")


def check_body(body: str) -> list[Problem]:
    """Check the recommended size of the instructions."""
    lines, tokens = body.count("\n") + 1, estimate_tokens(body)
    if lines <= BODY_LINES_MAX and tokens <= BODY_TOKENS_MAX:
        return []
    message = f"the text has {lines} lines and about {tokens} tokens"
    hint = f"keep it below {BODY_LINES_MAX} lines and {BODY_TOKENS_MAX} tokens; move detail into references/"
    return [Problem(rule="body-size", message=message, field="body", severity="warning", hint=hint)]


def check_content(content: SkillContent) -> list[Problem]:
    """Check that a content can be written as a valid SKILL.md folder and read back unchanged."""
    written = {"name": Field(content.name, 2), "description": Field(content.description, 2)}
    if content.compatibility:
        written["compatibility"] = Field(content.compatibility, 2)
    problems = [replace(problem, line=None) for problem in check_fields(written, directory="")]
    if content.name != normal_name(content.name):
        hint = "apply NFKC and trim it"
        problems.append(Problem(rule="name-form", message="the name is not normalised", field="name", hint=hint))
    return problems + check_body(content.body) + list(_check_files(content.files))


def _check_files(files: tuple[SkillFile, ...]) -> Iterator[Problem]:
    taken: set[str] = set()
    folders = {str(parent) for file in files for parent in PurePosixPath(file.path).parents}
    for file in files:
        fault = path_fault(file.path)
        if not fault and file.path.casefold() == "skill.md":
            fault = "is the skill's own file"
        if not fault and (file.path in taken or file.path in folders):
            fault = "stands twice, or is both a file and a folder"
        taken.add(file.path)
        if fault:
            hint = "use a relative path such as references/guide.md"
            yield Problem(rule="file-path", message=f"the path {file.path!r} {fault}", field="files", hint=hint)
        if not _is_encoded(file):
            message = f"{file.path!r} is not in the encoding it states ({file.encoding})"
            hint = "use utf-8 for text and base64 for bytes"
            yield Problem(rule="file-encoding", message=message, field="files", hint=hint)


def path_fault(path: str) -> str:
    """Why a path may not name a file of a skill; empty if it may."""
    if not path or path.startswith(("/", "~")) or "\\" in path or (len(path) > 1 and path[1] == ":"):
        return "is not relative to the skill's folder"
    if not path.isprintable() or len(path.encode("utf-8", "surrogatepass")) > 1000:
        return "holds unprintable characters or is too long"
    parts = path.split("/")
    if any(part in ("", ".", "..") or len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts):
        return "leads out of the skill's folder or is not in its plain form"
    if hidden := SKIPPED_NAMES.intersection(parts):
        return f"lies in {sorted(hidden)[0]}, which is never part of a skill"
    return "is hidden" if any(part.startswith(".") for part in parts) else ""


def _is_encoded(file: SkillFile) -> bool:
    try:
        if file.encoding == "base64":
            return base64.b64encode(base64.b64decode(file.content, validate=True)).decode() == file.content
        file.content.encode("utf-8")
    except (binascii.Error, ValueError):
        return False
    return file.encoding == "utf-8"
