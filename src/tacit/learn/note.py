"""What distilling one trajectory gives: candidates for the gate, and notes for a person.

A note is true whether or not anything may be learned. It never becomes a skill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tacit.domain.candidate import Candidate
from tacit.domain.outline import Outline


class NoteKind(StrEnum):
    """What a note tells."""

    RECOVERED_ERROR = "recovered_error"
    WORKING_COMMAND = "working_command"
    CORRECTION = "correction"
    HELD = "held"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One true thing about a trajectory, worth telling a person."""

    kind: NoteKind
    text: str
    step: int | None = None
    """The step that shows it; none for what is said of the whole."""
    detail: Mapping[str, str] = field(default_factory=dict)
    """The same in parts, for those who want to sort or count: `reason`, `command`, `ok`, `failed`, `signature`, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """All that one trajectory gives."""

    outline: Outline
    """What mining compares with other attempts."""
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def held(self) -> tuple[str, ...]:
        """Why there is no procedure; empty if there is one."""
        return tuple(note.detail["reason"] for note in self.notes if note.kind is NoteKind.HELD)
