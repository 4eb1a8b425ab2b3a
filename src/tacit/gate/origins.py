"""Origins of what somebody writes over an earlier version: only what they changed is theirs. Pure.

Entries of lists each have an origin (``cases.0``, ``pitfalls.2``), but for lists of many small things, which have one
together (``cues``, ``after``, ``surroundings``): the lowest of their entries'.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import SkillContent, SkillVersion

_TOGETHER = frozenset({"cues", "after", "surroundings"})


def origins_of_edit(content: SkillContent, writer: Origin, before: Sequence[SkillVersion]) -> dict[str, Origin]:
    """Give each field its origin: the writer's where it is new, and the earlier one, never raised, where it was kept."""
    earlier: dict[str, Origin] = {}
    for version in before:
        for field, value in _fields(version.content).items():
            origin = _origin(version, field)
            earlier[value] = lowest((origin, earlier.get(value, origin)))
    found: dict[str, Origin] = {}
    for field, value in _fields(content).items():
        origin = writer if writer is Origin.EXTERNAL else earlier.get(value, writer)
        name = field.partition(".")[0]
        path = name if name in _TOGETHER else field
        found[path] = lowest((origin, found.get(path, origin)))
    return found


def _origin(version: SkillVersion, field: str) -> Origin:
    """Origin of a field, or the lowest among its parts, whichever is less trusted; unknown counts as external.

    An entry without an origin of its own has that of its list.
    """
    known = [origin for path, origin in version.origins.items() if path == field or path.startswith(f"{field}.")]
    listed = version.origins.get(field.partition(".")[0])
    return lowest(known if known or listed is None else [listed])


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
