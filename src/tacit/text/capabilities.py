"""What one may touch beside what another would: needs and an allowance → what goes beyond it. Pure but for its memory.

A category that an allowance does not name allows nothing of it. Values may be patterns (`*.example.com`, `/srv/data/*`); a
program covers all that it is called with, and a folder what lies in it. A command is its program, or the program and
what it runs (`git push`, `npx prettier`, `python3 -m unittest`): `python3` allows Python of any kind, `prettier` does not
allow `npx prettier`. What stands before a command (`sudo`) must be allowed by itself. Paths inside the workspace are no need.
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
from tacit.domain.trust import Touch
from tacit.text import touches

CATEGORIES = tuple(field.name for field in dataclasses.fields(Capabilities))
_KEPT = 2048


@dataclass(frozen=True, slots=True, eq=False)
class HashedContent:
    """A content that is the same as another if its hash is: what was found out about it need not be found again."""

    content: SkillContent
    hash: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedContent) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)


@lru_cache(maxsize=_KEPT)
def needed(keyed: HashedContent) -> Capabilities:
    """What a content touches, as capabilities."""
    return touches.needs(keyed.content, touched(keyed))


@lru_cache(maxsize=_KEPT)
def touched(keyed: HashedContent) -> tuple[Touch, ...]:
    """Every place in a content that touches something."""
    return touches.touches(keyed.content)


def beyond(needs: Capabilities, allowed: Capabilities) -> Capabilities:
    """What of the needs is not allowed."""
    return Capabilities(
        **{
            name: tuple(
                value
                for value in getattr(needs, name)
                if not any(_COVERS[name](each, value) for each in getattr(allowed, name))
            )
            for name in CATEGORIES
        }
    )


def added(now: Capabilities, before: Capabilities) -> Capabilities:
    """What is named now and was not before, word for word."""
    return Capabilities(
        **{
            name: tuple(value for value in getattr(now, name) if value not in getattr(before, name))
            for name in CATEGORIES
        }
    )


def united(several: Iterable[Capabilities]) -> Capabilities:
    """All that any of them names, each once."""
    found = list(several)
    return Capabilities(
        **{name: tuple(dict.fromkeys(value for each in found for value in getattr(each, name))) for name in CATEGORIES}
    )


def narrowed(outer: Capabilities | None, inner: Capabilities | None) -> Capabilities | None:
    """What both allow; who says nothing allows all."""
    if outer is None or inner is None:
        return inner if outer is None else outer
    covered = (added(inner, beyond(inner, outer)), added(outer, beyond(outer, inner)))
    return united(covered)


def capabilities_text(capabilities: Capabilities, *, most: int = 4) -> str:
    """What is named, in words: `hosts a, b; commands git`; empty for nothing."""
    parts = []
    for name in CATEGORIES:
        values = getattr(capabilities, name)
        if values:
            more = f" and {len(values) - most} more" if len(values) > most else ""
            parts.append(f"{name} {', '.join(values[:most])}{more}")
    return "; ".join(parts)


def parse_allowance(texts: Iterable[str]) -> Capabilities:
    """Read what is allowed from texts such as `hosts=api.example.com,*.example.org`; what none names is not allowed."""
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
    """What a caller allows, read from words where it came as words; nothing stays nothing, which means all."""
    if allowed is None or isinstance(allowed, Capabilities):
        return allowed
    return parse_allowance([allowed] if isinstance(allowed, str) else allowed)


def _host(allowed: str, value: str) -> bool:
    allowed, value = allowed.casefold(), value.casefold()
    return fnmatchcase(value, allowed) or (":" not in allowed and fnmatchcase(value.partition(":")[0], allowed))


def _path(allowed: str, value: str) -> bool:
    inside = posixpath.normpath(value.replace("\\", "/"))  # `/srv/data/../../etc` lies in /etc
    if ".." in inside.split("/"):
        return allowed == "*"
    folder = posixpath.normpath(allowed)
    return inside == folder or inside.startswith(folder.rstrip("/") + "/") or fnmatchcase(inside, allowed)


def _command(allowed: str, value: str) -> bool:
    words = allowed.split()
    return value.split()[: len(words)] == words or fnmatchcase(value, allowed)


def _word(allowed: str, value: str) -> bool:
    return fnmatchcase(value, allowed)


_COVERS: Mapping[str, Callable[[str, str], bool]] = {
    "hosts": _host,
    "reads": _path,
    "writes": _path,
    "commands": _command,
    "secrets": _word,
    "effects": _word,
}
