"""Compare the capabilities that a skill needs with those that a caller allows. Pure, with a cache.

A category that an allowance does not name allows nothing. Values may be patterns (`*.example.com`, `/srv/data/*`); a
program includes all its arguments, and a folder all its files. A command is a program, or a program and what it runs
(`git push`, `npx prettier`): `python3` allows any Python, `prettier` does not allow `npx prettier`. A prefix (`sudo`) must
be allowed by itself. Paths inside the workspace are no need.
"""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from tacit.domain.errors import Mistake
from tacit.domain.skill import Capabilities, SkillContent
from tacit.domain.trust import ResourceUse
from tacit.text.resource_uses import find_resource_uses, needs

CATEGORIES = tuple(field.name for field in dataclasses.fields(Capabilities))
_KEPT = 2048


@dataclass(frozen=True, slots=True, eq=False)
class HashedContent:
    """A content that is compared by its hash, as a key for caches."""

    content: SkillContent
    hash: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedContent) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)


@lru_cache(maxsize=_KEPT)
def needed_capabilities(keyed: HashedContent) -> Capabilities:
    """Return what a content uses, as capabilities."""
    return needs(keyed.content, resource_uses(keyed))


@lru_cache(maxsize=_KEPT)
def resource_uses(keyed: HashedContent) -> tuple[ResourceUse, ...]:
    """Return every place in a content that uses something outside of it."""
    return find_resource_uses(keyed.content)


def beyond(needs: Capabilities, allowed: Capabilities) -> Capabilities:
    """Return the needs that are not allowed."""
    return _picked(
        lambda name: (
            value
            for value in getattr(needs, name)
            if not any(_COVERS[name](each, value) for each in getattr(allowed, name))
        )
    )


def added(now: Capabilities, before: Capabilities) -> Capabilities:
    """Return the values that were not there before."""
    return _picked(lambda name: (value for value in getattr(now, name) if value not in getattr(before, name)))


def _picked(pick: Callable[[str], Iterable[str]]) -> Capabilities:
    return Capabilities(**{name: tuple(pick(name)) for name in CATEGORIES})


def narrowed(outer: Capabilities | None, inner: Capabilities | None) -> Capabilities | None:
    """Return what both allow; None allows everything."""
    if outer is None or inner is None:
        return inner if outer is None else outer
    both = (added(inner, beyond(inner, outer)), added(outer, beyond(outer, inner)))
    return _picked(lambda name: dict.fromkeys(value for each in both for value in getattr(each, name)))


def capabilities_text(capabilities: Capabilities, *, most: int = 4) -> str:
    """Return capabilities as text: `hosts a, b; commands git`; empty for none."""
    parts = []
    for name in CATEGORIES:
        values = getattr(capabilities, name)
        if values:
            more = f" and {len(values) - most} more" if len(values) > most else ""
            parts.append(f"{name} {', '.join(values[:most])}{more}")
    return "; ".join(parts)


def parse_allowance(texts: Iterable[str]) -> Capabilities:
    """Parse an allowance from texts such as `hosts=api.example.com,*.example.org`; raises `Mistake`."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().casefold()
        if name not in CATEGORIES or not equals:
            hint = f"CATEGORY=VALUE, such as commands=git; the categories are {', '.join(CATEGORIES)}"
            raise Mistake(f"cannot read the allowance {text!r}", code="invalid_allowance", hint=hint)
        found.setdefault(name, []).extend(value.strip() for value in values.split(",") if value.strip())
    return Capabilities(**{name: tuple(dict.fromkeys(values)) for name, values in found.items()})


def allowance(allowed: Capabilities | Sequence[str] | None) -> Capabilities | None:
    """Return what a caller allows, parsed if it is text; None stays None, which allows everything."""
    if allowed is None or isinstance(allowed, Capabilities):
        return allowed
    return parse_allowance([allowed] if isinstance(allowed, str) else allowed)


def _host(allowed: str, value: str) -> bool:
    allowed, value = allowed.casefold(), value.casefold()
    return fnmatchcase(value, allowed) or (":" not in allowed and fnmatchcase(value.partition(":")[0], allowed))


def _path(allowed: str, value: str) -> bool:
    inside = posixpath.normpath(value.replace("\\", "/"))  # `/srv/data/../../etc` is in /etc
    if ".." in inside.split("/"):
        return allowed == "*"
    folder = posixpath.normpath(allowed)
    return inside == folder or inside.startswith(folder.rstrip("/") + "/") or fnmatchcase(inside, allowed)


def _command(allowed: str, value: str) -> bool:
    words = allowed.split()
    return value.split()[: len(words)] == words or fnmatchcase(value, allowed)


_COVERS: Mapping[str, Callable[[str, str], bool]] = {
    "hosts": _host,
    "reads": _path,
    "writes": _path,
    "commands": _command,
    "secrets": lambda allowed, value: fnmatchcase(value, allowed),
    "effects": lambda allowed, value: fnmatchcase(value, allowed),
}
