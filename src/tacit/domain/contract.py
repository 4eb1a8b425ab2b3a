"""Contracts with the surroundings: what a skill relies on, and what was found of that in one place at one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliance:
    """What a skill takes for granted."""

    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Paths below the project."""
    targets: tuple[str, ...] = ()
    """Goals that a file of the project defines: `make release`, `npm run build`."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at."""
        return not (self.programs or self.files or self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What was found of it; what is missing is not in it."""

    programs: Mapping[str, str] = field(default_factory=dict)
    """Name → its version, empty where it tells none."""
    files: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
