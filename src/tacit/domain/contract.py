"""Contracts with the environment: what a skill requires, and what of that was found in one place at one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a skill takes for granted."""

    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Paths below the project."""
    targets: tuple[str, ...] = ()
    """Targets that a file of the project defines: `make release`, `npm run build`."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.programs or self.files or self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRequirements:
    """The requirements that were found; what is missing is not in it. Stored as the text of a remark."""

    programs: Mapping[str, str] = field(default_factory=dict)
    """Name → version, empty where the program does not report one."""
    files: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
