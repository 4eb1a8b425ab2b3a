"""Origins of what somebody writes over an earlier version: only what they changed is theirs. Pure.

Entries of lists each have an origin (``cases.0``, ``pitfalls.2``), but for lists of many small things, which have one
together (``cues``, ``after``, ``surroundings``): the lowest of their entries'.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from tacit.domain.identity import plain
from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import SkillContent, SkillVersion, said_in
from tacit.text.borrowing import Heard, texts_in

_TOGETHER = frozenset({"cues", "after", "surroundings"})


def origins_of_edit(
    content: SkillContent, writer: Origin, before: Sequence[SkillVersion], *, named: Sequence[SkillVersion] = ()
) -> dict[str, Origin]:
    """Give each field its origin: the writer's where it is new, and the earlier one, never raised, where it was kept.

    What repeats a less trusted field in other dress is no more trusted than that: rewording raises nothing, nor does
    putting together with others. `named` are the versions of skills that this one names as its parts or as what it extends.
    """
    earlier: dict[str, Origin] = {}
    for version in before:
        for field, value in _fields(version.content).items():
            origin = origin_at(version.origins, field)
            earlier[value] = lowest((origin, earlier.get(value, origin)))
    lower = _by_origin((*before, *named), below=writer)
    said = said_in(content)
    found: dict[str, Origin] = {}
    for field, value in _fields(content).items():
        origin = writer if writer is Origin.EXTERNAL else earlier.get(value, writer)
        if value not in earlier:
            texts = list(texts_in(plain(said.get(field))))
            origin = next((each for each, heard in lower.items() if any(map(heard.lender, texts))), origin)
        name = field.partition(".")[0]
        path = name if name in _TOGETHER else field
        found[path] = lowest((origin, found.get(path, origin)))
    return found


def _by_origin(versions: Sequence[SkillVersion], *, below: Origin) -> dict[Origin, Heard[str]]:
    """What the versions say, for every origin below one, the lowest first: as texts that nobody above it vouches for."""
    written = [
        (origin_at(version.origins, field), text)
        for version in versions
        for field, value in said_in(version.content).items()
        for text in texts_in(plain(value))
    ]
    written.sort(key=lambda entry: entry[0].rank)  # of a text in two places the lower origin counts
    found: dict[Origin, Heard[str]] = {}
    for origin in sorted({each for each, _ in written if each.rank < below.rank}, key=lambda each: each.rank):
        found[origin] = Heard()
        for each, text in written:
            found[origin].add(text, text, vouched=each.rank > origin.rank)
    return found


def origin_at(origins: Mapping[str, Origin], field: str) -> Origin:
    """Origin of a field, or the lowest among its parts, whichever is less trusted; unknown counts as external.

    An entry without an origin of its own has that of what it belongs to.
    """
    known = [origin for path, origin in origins.items() if path == field or path.startswith(f"{field}.")]
    while not known and "." in field:
        field = field.rpartition(".")[0]
        known = [origins[field]] if field in origins else []
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
