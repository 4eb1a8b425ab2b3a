"""How far a growing file has been read, so that the next look goes on from there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place in a file that grows: everything before it has been read for good."""

    offset: int = 0
    """In bytes, at the beginning of a line."""
    line: int = 0
    """How many lines stand before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """How far a growing file has been taken in."""

    path: str
    size: int
    modified_ns: int
    """Size and time of the file when it was read: the same again means that there is nothing new."""
    mark: Mark = Mark()
