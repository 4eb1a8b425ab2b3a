"""What each field of a skill's content is for: one table, from which mining, origins and the checks take their lists."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, auto


class FieldRole(Flag):
    """What holds of a field. A field has several roles."""

    SCANNED = auto()
    """The checks read its text. Files are split and decoded separately; declared capabilities are compared, not read."""
    HAS_ORIGIN = auto()
    """It has an origin where it is filled."""
    ONE_ORIGIN = auto()
    """A list of many small entries, which have one origin together: the lowest of theirs."""
    MINED = auto()
    """Mining determines it."""
    DESCRIBES = auto()
    """Mining rewrites it only where no person wrote it."""
    INSTRUCTS = auto()
    """It tells an agent what to do, or when."""
    REQUEST = auto()
    """A person's request or circumstances: they say when a skill is used, not what to do."""
    OBSERVED = auto()
    """It describes what was observed."""
    EXECUTED = auto()
    """An agent carries it out."""
    LOCAL = auto()
    """Its text may tie a skill to one project; names of skills and tools and computed values do not."""
    RECORD = auto()
    """The record of a document has it: nothing in it could be followed."""


SCANNED, HAS_ORIGIN, ONE_ORIGIN, MINED, DESCRIBES, INSTRUCTS, REQUEST, OBSERVED, EXECUTED, LOCAL, RECORD = FieldRole
_TEXT = SCANNED | HAS_ORIGIN
FIELD_ROLES: Mapping[str, FieldRole] = {
    "kind": FieldRole(0),
    "name": _TEXT | LOCAL | RECORD,
    "description": _TEXT | DESCRIBES | LOCAL | RECORD,
    "category": _TEXT | DESCRIBES | RECORD,
    "tags": _TEXT | DESCRIBES | REQUEST | LOCAL | RECORD,
    "example_queries": _TEXT | DESCRIBES | REQUEST | LOCAL,
    "steps": _TEXT | MINED | INSTRUCTS | EXECUTED | LOCAL,
    "parameters": _TEXT | MINED | OBSERVED | EXECUTED | LOCAL,
    "preconditions": _TEXT | MINED | INSTRUCTS | OBSERVED | EXECUTED | LOCAL,
    "postconditions": _TEXT | MINED | INSTRUCTS | OBSERVED | EXECUTED | LOCAL,
    "signature": _TEXT | OBSERVED | LOCAL,
    "cases": _TEXT | MINED | INSTRUCTS | REQUEST | EXECUTED | LOCAL,
    "cues": _TEXT | ONE_ORIGIN | MINED | REQUEST,
    "pitfalls": _TEXT | MINED | INSTRUCTS | OBSERVED | LOCAL,
    "after": _TEXT | ONE_ORIGIN | MINED,
    "sub_skills": _TEXT | MINED,
    "surroundings": _TEXT | ONE_ORIGIN | MINED,
    "extends": _TEXT,
    "body": _TEXT | DESCRIBES | INSTRUCTS | LOCAL,
    "files": HAS_ORIGIN | LOCAL,
    "capabilities": HAS_ORIGIN,
    "allowed_tools": _TEXT,
    "license": _TEXT,
    "compatibility": _TEXT,
    "metadata": _TEXT | RECORD,
    "portable": FieldRole(0),
    "shareable": FieldRole(0),
    "person": LOCAL,
}
"""Field of `SkillContent` → its roles, in the order of the fields."""
ENTRY_NAMES: Mapping[str, str] = {
    "tags": "tag",
    "example_queries": "example query",
    "steps": "step",
    "parameters": "parameter",
    "preconditions": "precondition",
    "postconditions": "postcondition",
    "cases": "case",
    "cues": "cue",
    "pitfalls": "pitfall",
    "after": "predecessor",
    "sub_skills": "part",
    "surroundings": "tool at hand",
    "files": "file",
    "allowed_tools": "allowed tool",
}
"""Field that is a list → what a person calls one entry of it."""


def fields_with(role: FieldRole) -> tuple[str, ...]:
    """Return the fields that have a role, in the order of the table."""
    return tuple(name for name, roles in FIELD_ROLES.items() if role in roles)


def has_role(path: str, role: FieldRole) -> bool:
    """Whether the field of a path, such as `steps.2.arguments`, has a role."""
    return role in FIELD_ROLES.get(path.partition(".")[0], FieldRole(0))
