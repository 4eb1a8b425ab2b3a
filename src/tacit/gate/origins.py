"""Origins of what somebody writes over an earlier version: only what they changed is theirs. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import SkillContent, SkillVersion


def origins_of_edit(content: SkillContent, writer: Origin, before: Sequence[SkillVersion]) -> dict[str, Origin]:
    """Give each field its origin: the writer's where it is new, and the earlier one, never raised, where it was kept."""
    earlier: dict[str, Origin] = {}
    for version in before:
        for field, value in _fields(version.content).items():
            origin = _origin(version, field)
            earlier[value] = lowest((origin, earlier.get(value, origin)))
    kept = {field: earlier[value] for field, value in _fields(content).items() if value in earlier}
    if writer is Origin.EXTERNAL:
        kept = dict.fromkeys(kept, Origin.EXTERNAL)
    return dict.fromkeys(_fields(content), writer) | kept


def _origin(version: SkillVersion, field: str) -> Origin:
    """Origin of a field, or the lowest among its parts, whichever is less trusted; unknown counts as external."""
    known = [origin for path, origin in version.origins.items() if path == field or path.startswith(f"{field}.")]
    return lowest(known)


def _fields(content: SkillContent) -> dict[str, str]:
    """Every field that says something, as path → its text; entries of lists each for themselves."""
    found: dict[str, str] = {}
    for field in dataclasses.fields(content):
        value = getattr(content, field.name)
        if isinstance(value, tuple):
            found |= {f"{field.name}.{index}": repr(item) for index, item in enumerate(value)}
        elif value != field.default:
            found[field.name] = repr(value)
    return found
