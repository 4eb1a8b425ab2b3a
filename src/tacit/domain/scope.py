"""How far a skill reaches: team → session → project → organisation → global, narrow to broad."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tacit.domain.errors import Mistake
from tacit.domain.reach import WITHIN, reaches


class Level(StrEnum):
    """One rung of the ladder; narrower shadows broader."""

    TEAM = "team"
    SESSION = "session"
    PROJECT = "project"
    ORGANISATION = "organisation"
    GLOBAL = "global"

    @property
    def breadth(self) -> int:
        """0 for the narrowest level, rising."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Scope:
    """A level and the name of the team, session, project or organisation it stands for (none for global)."""

    level: Level = Level.PROJECT
    key: str = ""

    def __str__(self) -> str:
        return f"{self.level}:{self.key}" if self.key else str(self.level)

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Read ``project:invoices`` or ``global``."""
        level, _, key = text.partition(":")
        try:
            return cls(Level(level.strip()), key.strip())
        except ValueError:
            known = ", ".join(Level)
            hint = f"use LEVEL or LEVEL:NAME with a level of {known}"
            raise Mistake(f"unknown scope {text!r}", code="unknown_scope", hint=hint) from None

    def of_agents(self, session: str) -> Scope:
        """Where the agents of a session ask from that runs in this scope; the scope itself without a session."""
        return Scope(Level.TEAM, f"{session}{WITHIN}{self}") if session.strip() else self

    @property
    def around(self) -> Scope:
        """What is around the session that is asked from; the scope itself where none is."""
        _, _, outside = self.key.partition(WITHIN) if self.level is Level.TEAM else ("", "", "")
        return Scope.parse(outside) if outside else self

    def contains(self, other: Scope) -> bool:
        """Whether something kept at this scope may be seen from `other`. A scope without a name stands for any of its level."""
        return reaches(str(self), str(other))
