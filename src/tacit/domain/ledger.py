"""The ledger: what is noted about skills and runs in appended entries and remarks. None of it changes a skill's status.

Entries with one key are versions of one thing, and the last one counts. Cards, recommendations, signals, moments, a person's
choices and forecasts are entries; agents are never shown them as instructions. A remark is about one skill or version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, TypeVar

from tacit.domain.identity import assign_id, content_id, plain

_NAME_LENGTH = 60
_UNSAFE = re.compile(r"[^\w.-]+")
"""Replaced in the name of another project: agents read it, and a folder may have any name."""
_RECORD = re.compile(r"worked in [\d.]+ of \d+ verified uses \(\d+% to \d+%\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One line of the ledger; base class of all sorts of entries."""

    SORT: ClassVar[str] = ""
    """The name that a sort is stored under; it never changes."""

    key: str
    """What the entry is a version of."""
    at: datetime
    by: str = ""
    session_id: str = ""
    sources: tuple[str, ...] = ()
    """Ids of the versions, trajectories, uses and entries it is based on; it is purged with one of the first three."""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self.content_id())

    def content_id(self) -> str:
        """Compute the id from all other fields."""
        others = {name: value for name, value in plain(self).items() if name != "id"}
        return content_id("e", (self.SORT, others))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry(LedgerEntry):
    """An entry read without its own type, to check or purge it."""

    sort: str = ""
    version_id: str = ""
    """The skill version with the same text, of sorts that have one."""


E = TypeVar("E", bound=LedgerEntry)


def latest(entries: Iterable[E]) -> dict[str, E]:
    """Key → its last entry, in the order in which the keys first appeared."""
    return {entry.key: entry for entry in entries}


class About(StrEnum):
    """The sort of a remark."""

    PIN = "pin"
    """Maintenance leaves the skill alone; an empty `text` ends that."""
    IMPORTANCE = "importance"
    """A person says how much the skill matters: `text` is a number from 0 to 1."""
    CONTRADICTION = "contradiction"
    """The version and `other` contradict each other; `text` gives the kind and how it was settled."""
    PROMOTION = "promotion"
    """The skill was taken to a broader scope, or nominated for it; `other` is where it came from."""
    CONTRACT = "contract"
    """What the version relies on in its environment, as observed; `text` is the record of it."""
    FRICTION = "friction"
    """A run had a problem at a step of the version; `other` is the trajectory, `text` the record of it."""
    FOLD = "fold"
    """The version waits out of the way in the review queue; `text` says why, and an empty `text` ends that."""
    DUPLICATE = "duplicate"
    """`other` was closed as a duplicate of the skill, and what it rests on counts for the skill; `text` says why."""
    VALIDATION = "validation"
    """The version was tried again; `text` is the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A remark on a skill or version, by whom and when. Of one sort the last remark counts."""

    subject: str
    """The id of a skill or version."""
    about: About
    by: str
    at: datetime
    other: str = ""
    text: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        assign_id(self, "n", self.subject, self.about, self.by, self.at, self.other, self.text)


def promotion_fields(remark: Remark) -> dict[str, str]:
    """The fields in the text of a remark on a promotion; empty where the text has another form."""
    try:
        found = json.loads(remark.text)
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def record_elsewhere(remarks: Iterable[Remark]) -> str:
    """A sentence on how a promoted skill did where it came from; empty where it was not promoted or not measured.

    It is only shown and never counted: results that a store has not seen are no evidence in it. Agents see it and nobody
    signed it, so only figures are repeated.
    """
    records: dict[str, str] = {}
    for remark in remarks:
        fields = promotion_fields(remark) if remark.about is About.PROMOTION else {}
        if fields.get("name") and _RECORD.fullmatch(fields.get("record", "")):
            name = _UNSAFE.sub("-", fields["name"])[:_NAME_LENGTH]
            records[remark.other] = f"in {name} it {fields['record']}"
    return "; ".join(records.values())


def pinned(remarks: Iterable[Remark]) -> frozenset[str]:
    """Ids of the pinned skills: those whose last remark on it has a text."""
    last = {remark.subject: remark.text for remark in remarks if remark.about is About.PIN}
    return frozenset(subject for subject, text in last.items() if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSignal(LedgerEntry):
    """One version was shown to one run, and used there or not; its key is the version."""

    SORT: ClassVar[str] = "heed"
    """The stored name of this kind of entry."""

    heeded: bool
    """Whether it was used; a stored and hashed field name."""
    use_id: str = ""
    """A session is shown something once and may have several attempts; a use by one of them counts."""
    trajectory_id: str = ""
