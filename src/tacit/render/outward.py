"""A content → the form in which it leaves as files: the same, with nothing in it that a Markdown viewer fetches or runs.

What a person approved stays what is stored; only its copy for others is made inert (see `text.inert`), and almost no
content is changed by that. The form follows from the content alone, so an untouched copy is still known as that content.
Tool calls, names, metadata and files that are no Markdown are left as they are.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from tacit.domain.skill import SkillContent, SkillFile
from tacit.text.inert import inert, inert_line

T = TypeVar("T")
_MARKDOWN = (".md", ".markdown", ".mdx")
_KEPT = frozenset(
    "kind name category tags signature cues after sub_skills surroundings extends capabilities allowed_tools license "
    "metadata tool arguments type example reading key relation when step files".split()
)


def outward(content: SkillContent) -> SkillContent:
    """Give the form in which a content is written for others."""
    return replace(_calmed(content), files=tuple(_file(file) for file in content.files))


def is_copy(found: SkillContent, of: SkillContent) -> bool:
    """Whether a content that was read is another one, as it is or as it was written for others."""
    return found.hash() == of.hash() or found.hash() == outward(of).hash()


def _calmed(value: T) -> T:
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for field in fields(value):
        before = getattr(value, field.name)
        after = before if field.name in _KEPT else _text(before)
        if after != before:
            changed[field.name] = after
    return replace(value, **changed) if changed else value


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return inert(value) if "\n" in value else inert_line(value)
    return tuple(map(_text, value)) if isinstance(value, tuple) else _calmed(value)


def _file(file: SkillFile) -> SkillFile:
    if file.encoding != "utf-8" or not file.path.lower().endswith(_MARKDOWN):
        return file
    calm = inert(file.content)
    return file if calm == file.content else replace(file, content=calm)
