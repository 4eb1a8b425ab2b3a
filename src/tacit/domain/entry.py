"""The ledger: what is noted beside skills, in appended entries. Entries with one key are versions of one thing; the last holds.

Cards, recommendations, signals, moments, a person's choices and forecasts are entries. None of them changes the status of a
skill, and none is ever shown to an agent as an instruction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeVar

from tacit.domain.identity import content_id, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger, of one of the sorts below it; never used by itself."""

    SORT: ClassVar[str] = ""
    """The name that a sort is kept under; never changes."""

    key: str
    """What the entry is a version of."""
    at: datetime
    by: str = ""
    session_id: str = ""
    sources: tuple[str, ...] = ()
    """Ids of versions, trajectories, uses and entries that it rests on; it goes when one of the first three is purged."""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self.content_id())

    def content_id(self) -> str:
        """Compute the id from all other fields, ignoring what the `id` field says."""
        said = {name: value for name, value in plain(self).items() if name != "id"}
        return content_id("e", (self.SORT, said))


E = TypeVar("E", bound=Entry)


def latest(entries: Iterable[E]) -> dict[str, E]:
    """Key → its last entry, in the order in which the keys first came."""
    return {entry.key: entry for entry in entries}
