"""Records that are appended once and never changed: verdicts, approvals, uses, evidence, remarks, ledger entries, tombstones
and manifests of backups.

Each record is a sealed row and a link of the audit chain. Adding the same record twice keeps it once; a different record
under a known id is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice, takewhile
from typing import Any, TypeVar

from tacit.domain.archive import Manifest, Tombstone
from tacit.domain.candidate import Verdict
from tacit.domain.evidence import Evidence, Use
from tacit.domain.ledger import About, E, LedgerEntry, Remark, StoredEntry
from tacit.domain.trust import Approval
from tacit.store import invariants
from tacit.store.audit import Audit, AuditNote, record_path
from tacit.store.connection import Connection, StoreDamaged, reads, writes
from tacit.store.encoding import aware, clean
from tacit.store.rows import Columns, Records, Values, same_names

T = TypeVar("T")

Record = Verdict | Approval | Use | Evidence | Remark | LedgerEntry | Tombstone | Manifest
"""What a store appends and never changes."""
TOMBSTONES_SINCE = 6
"""The schema that added tombstones and backups."""
USE_KEYS_SINCE = 7
"""The schema that added the index of uses."""
_REMARK_SUBJECTS = ("versions", "skills")


VERDICTS_SEARCHED = 10_000
"""Verdicts after a time in which those about one attempt are looked for."""
LAST_ROW = (1 << 63) - 1


class AppendedRecords(Records[T]):
    """One table of appended records. `owner` gives what a row belongs to, as the audit chain names it."""

    def __init__(
        self, connection: Connection, audit: Audit, table: str, *, kind: type[T], columns: Columns,
        note: Callable[[T], AuditNote], owner: Callable[[Values], str] | None = None, first_wins: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(connection, table, kind=kind, columns=columns)
        self._audit = audit
        self._note = note
        self._owner = owner
        self._first_wins = first_wins

    def append(self, value: T) -> bool:
        """Keep a record; False if it is known. Unless the first wins, a different record under its id is refused."""
        note, columns = self._note(value), self.columns_of(value)
        aware(note.at)
        known = self.find(columns["id"])
        if known is None:
            row = self.add(columns)
            self._audit.append(note, record=self.path(row), digest=row["seal"])
        elif not self._first_wins and known["record"] != columns["record"]:
            raise invariants.id_is_taken(type(value).__name__.lower(), columns["id"])
        return known is None

    def path(self, row: Values) -> str:
        """The audit chain's name for a row."""
        owner = [self._owner(row)] if self._owner else []
        return record_path(self.table, *owner, row["id"])

    def all(self) -> list[T]:
        """Every record, oldest first."""
        return [self.value(row) for row in self.among(self.all_numbers())]

    def owned(self, condition: str, *values: Any, owners: Sequence[str]) -> list[Values]:
        """The rows that meet a condition; raises unless they are exactly those that the audit chain knows of the owners."""
        rows = self.among(self.numbers(condition, *values))
        self._audit.check_complete(self.table, *owners, found={self.path(row) for row in rows})
        return rows


class EntryRecords(AppendedRecords[LedgerEntry]):
    """Ledger entries. The row names the sort, so that an entry can be checked and purged without its own type."""

    def columns_of(self, value: LedgerEntry) -> Values:
        """The entry as columns."""
        return {**super().columns_of(value), "sort": value.SORT}

    def value(self, row: Values, kind: type[LedgerEntry] | None = None) -> LedgerEntry:
        """Read the entry in a row, as its own type or with what every sort has."""
        entry = super().value(row, kind or StoredEntry)
        return replace(entry, sort=row["sort"]) if isinstance(entry, StoredEntry) else entry


class RecordLog:
    """All tables of appended records."""

    def __init__(self, connection: Connection, audit: Audit, *, schema: int = USE_KEYS_SINCE) -> None:
        self._connection = connection
        self._audit = audit
        self.verdicts = AppendedRecords(
            connection, audit, "verdicts", kind=Verdict, columns=same_names("id", "version_id", "decision"),
            note=_verdict_note, owner=_version_owner,
        )  # fmt: skip
        self.approvals = AppendedRecords(
            connection, audit, "approvals", kind=Approval, columns=same_names("id", "version_id", "at"),
            note=lambda each: AuditNote(action="approval", subject=each.version_id, actor=each.by, at=each.at),
            owner=_version_owner,
        )  # fmt: skip
        self.uses = AppendedRecords(
            connection, audit, "uses", kind=Use, columns=same_names("id"),
            note=lambda each: AuditNote(action="use", subject=each.id, actor=each.surface, at=each.at),
        )  # fmt: skip
        self.evidence = AppendedRecords(
            connection, audit, "evidence", kind=Evidence, columns=same_names("id", "version_id", "at", "grade"),
            note=lambda each: AuditNote(
                action=f"evidence {each.outcome} {each.grade}", subject=each.version_id, actor=each.by, at=each.at
            ),
            owner=_version_owner,
        )  # fmt: skip
        self.remarks = AppendedRecords(
            connection, audit, "remarks", kind=Remark, columns=same_names("id", "subject", "about", "at"),
            note=lambda each: AuditNote(
                action=f"remark {each.about}", subject=each.subject, actor=each.by, at=each.at
            ),
            owner=lambda row: str(row["subject"]),
        )  # fmt: skip
        self.entries = EntryRecords(
            connection, audit, "entries", kind=LedgerEntry,
            columns={"id": "id", "sort": None, **same_names("key", "session_id", "at")},
            note=lambda each: AuditNote(action=f"entry {each.SORT}", subject=each.key, actor=each.by, at=each.at),
            owner=lambda row: _entry_owner(row["sort"], row["key"]),
        )  # fmt: skip
        self.tombstones = AppendedRecords(
            connection, audit, "tombstones", kind=Tombstone, columns=same_names("id"), first_wins=True,
            note=lambda each: AuditNote(action="tombstone", subject=each.id, actor=each.by, at=each.at),
        )  # fmt: skip
        self.backups = AppendedRecords(
            connection, audit, "backups", kind=Manifest, columns=same_names("id"), first_wins=True,
            note=lambda each: AuditNote(action="backup", subject=each.id, at=each.purged_at or each.at),
        )  # fmt: skip
        self._has_tombstones = schema >= TOMBSTONES_SINCE
        self._has_use_keys = schema >= USE_KEYS_SINCE

    @writes
    def add(self, record: Record) -> bool:
        """Append a record; False if this very one is known.

        Raises `StaleVersion` for an approval of other content than the version has, `GateRefusal` for a ledger entry that
        was purged. A tombstone keeps what was purged elsewhere out of this store too.
        """
        match record:
            case Use():
                seq = self.uses.next_seq()
                added = self.uses.append(record)
                if added:
                    self._add_use_keys(seq, record)
                return added
            case Verdict():
                return self.verdicts.append(record)
            case Approval():
                invariants.check_approval(record, content_hash=self._hash_of(record.version_id))
                return self.approvals.append(record)
            case Evidence():
                self._hash_of(record.version_id)
                return self.evidence.append(record)
            case Remark():
                if not self._subject_exists(record.subject):
                    errors = [
                        self._audit.absent(each, record.subject, noun="skill or version") for each in _REMARK_SUBJECTS
                    ]
                    raise next((error for error in errors if isinstance(error, StoreDamaged)), errors[0])
                return self.remarks.append(record)
            case LedgerEntry():
                invariants.check_entry(record, self.tombstone)
                return self.entries.append(record)
            case Tombstone():
                return self.tombstone(record.id) is None and self.tombstones.append(record)
            case Manifest():
                return self.backups.append(record)

    @reads
    def list_verdicts(
        self, *, trajectory_id: str = "", version_id: str = "", limit: int | None = None, since: datetime | None = None
    ) -> list[Verdict]:
        """The gate's verdicts, newest first; with `since` only those after that time.

        With `since` and `trajectory_id` only so many of the next verdicts are looked at: an attempt is learned from soon.
        """
        if version_id:
            asked = "version_id = ? AND version_id <> ''"  # so that SQLite uses the index on versions
            rows = self.verdicts.owned(asked, version_id, owners=[version_id])
            numbers = [row["seq"] for row in reversed(rows)]
        elif trajectory_id:
            first = self._first_verdict(since) if since else 0
            asked = "seq BETWEEN ? AND ? AND instr(record, ?)"
            last = first + VERDICTS_SEARCHED if since else LAST_ROW
            numbers = self.verdicts.numbers(asked, first, last, clean(trajectory_id).encode(), order="seq DESC")
        else:
            numbers = self.verdicts.all_numbers()[::-1]
        found = (self.verdicts.value(self.verdicts.at(seq)) for seq in numbers)
        recent = takewhile(lambda each: since is None or each.at >= since, found)
        chosen = (each for each in recent if not trajectory_id or trajectory_id in each.trajectory_ids)
        return list(islice(chosen, limit))

    def _first_verdict(self, since: datetime) -> int:
        """The number of the first verdict after a time, found by halves: verdicts are kept in the order of time."""
        [(low, high)] = self._connection.run("SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) + 1 FROM verdicts")
        while low < high:
            middle = (low + high) // 2
            [seq] = self.verdicts.numbers("seq >= ?", middle, order="seq LIMIT 1") or [high]
            if seq == high or self.verdicts.value(self.verdicts.at(seq)).at >= since:
                high = middle
            else:
                low = seq + 1
        return int(low)

    @reads
    def list_approvals(self, version_id: str) -> list[Approval]:
        """All approvals of a version, oldest first."""
        self._hash_of(version_id)
        rows = self.approvals.owned("version_id = ?", version_id, owners=[version_id])
        return [self.approvals.value(row) for row in rows]

    @reads
    def use(self, use_id: str) -> Use:
        """Fetch one use."""
        return self.uses.value(self._audit.existing(self.uses, use_id, noun="use"))

    @reads
    def list_uses(self, *, session_id: str = "", version_id: str = "", latest: int | None = None) -> list[Use]:
        """What was shown or held back, oldest first: in one session, of one version, or everything; or only the `latest`."""
        asked = [(kind, clean(owner)) for kind, owner in (("session", session_id), ("version", version_id)) if owner]
        # The index carries no seals: each use found is compared with its sealed record.
        sql = "SELECT use FROM use_keys WHERE sort = ? AND owner = ?"
        listed = [{row[0] for row in self._connection.run(sql, *key)} for key in asked]
        if asked:
            numbers = sorted(set.intersection(*listed))[-(latest or 0) :]
        else:
            numbers = self.uses.latest_numbers(latest) if latest else self.uses.all_numbers()
        rows = self.uses.among(numbers)
        found = [self.uses.value(row) for row in rows]
        for row, use in zip(rows, found, strict=True):
            if not use_keys(use).issuperset(asked):
                raise self.uses.damage(row["id"], "wrong_use_index")
        return found

    @reads
    def evidence_by_version(self, version_ids: Iterable[str], *, among: int | None = None) -> dict[str, list[Evidence]]:
        """Evidence by version, oldest first; with `among` only what is among so many of the newest results of all versions."""
        asked = list(dict.fromkeys(version_ids))
        listed = json.dumps([*map(clean, asked)])
        if among is None:
            rows = self.evidence.owned("version_id IN (SELECT value FROM json_each(?))", listed, owners=asked)
        else:
            wanted = {clean(version_id) for version_id in asked}
            latest = self.evidence.among(self.evidence.latest_numbers(among))
            rows = [row for row in latest if row["version_id"] in wanted]
        found: dict[str, list[Evidence]] = {clean(version_id): [] for version_id in asked}
        for row in sorted(rows, key=lambda row: (row["at"], row["seq"])):
            found[row["version_id"]].append(self.evidence.value(row))
        return {version_id: found[clean(version_id)] for version_id in asked}

    @reads
    def list_remarks(self, *subjects: str, about: About | None = None) -> list[Remark]:
        """Remarks, oldest first: on these skills and versions, or on everything; of one sort if given."""
        if subjects:
            wanted = json.dumps([clean(subject) for subject in subjects])
            rows = self.remarks.owned("subject IN (SELECT value FROM json_each(?))", wanted, owners=subjects)
        elif about is not None:
            rows = self.remarks.among(self.remarks.numbers("about = ?", str(about)))
        else:
            rows = self.remarks.among(self.remarks.all_numbers())
        found = [self.remarks.value(row) for row in rows]
        return [remark for remark in found if about in (None, remark.about)]

    @reads
    def list_entries(self, sort: type[E], *, key: str | Collection[str] = "", session_id: str = "") -> list[E]:
        """Ledger entries of one sort, oldest first: of one key or of several, or of one session."""
        if key:
            keys = [key] if isinstance(key, str) else list(key)
            asked = "sort = ? AND key IN (SELECT value FROM json_each(?))"
            owners = [_entry_owner(sort.SORT, each) for each in keys]
            rows = self.entries.owned(asked, sort.SORT, json.dumps([clean(each) for each in keys]), owners=owners)
        elif session_id:
            asked = "session_id = ? AND session_id <> '' AND sort = ?"  # so that SQLite uses the index on sessions
            rows = self.entries.among(self.entries.numbers(asked, clean(session_id), sort.SORT))
        else:
            rows = self.entries.among(self.entries.numbers("sort = ?", sort.SORT))
            paths = {self.entries.path(row) for row in rows}
            self._audit.check_all("entries", _entry_owner(sort.SORT, ""), found=paths)
        found = [self.entries.value(row, sort) for row in rows if row["sort"] == sort.SORT]
        return [entry for entry in found if isinstance(entry, sort) and session_id in ("", entry.session_id)]

    def all_entries(self) -> list[StoredEntry]:
        """What every sort of ledger entry has, of all entries."""
        return [entry for entry in self.entries.all() if isinstance(entry, StoredEntry)]

    def tombstone(self, identity: str) -> Tombstone | None:
        """The tombstone of an id or hash; raises if the audit chain knows one that is missing."""
        if not self._has_tombstones:
            return None
        row = self.tombstones.find(identity)
        if row is not None:
            return self.tombstones.value(row)
        if self._connection.single("SELECT 1 FROM audit WHERE record = ?", record_path("tombstones", identity)):
            raise StoreDamaged(self._connection.path, f"tombstones {identity}", "missing")
        return None

    @reads
    def list_tombstones(self, *identities: str) -> list[Tombstone]:
        """What stays of purged ids and content hashes: of these, or all, oldest first."""
        if identities:
            return [found for identity in identities if (found := self.tombstone(identity))]
        return self.tombstones.all() if self._has_tombstones else []

    @reads
    def list_backups(self) -> list[Manifest]:
        """The backups that were made, oldest first; of several at one place the last."""
        return list({manifest.path or manifest.id: manifest for manifest in self.backups.all()}.values())

    def check_approval(self, row: Values) -> None:
        """Raise unless an approval is of the content that its version has."""
        approval = self.approvals.value(row)
        if approval.content_hash != self._hash_of(approval.version_id):
            raise self.approvals.damage(row["id"], "wrong_content_approved")

    def check_remark(self, row: Values) -> None:
        """Raise unless a remark's row reads back and its subject exists."""
        if not self._subject_exists(self.remarks.value(row).subject):
            raise self.remarks.damage(row["id"], "unknown_subject")

    def check_use(self, row: Values) -> None:
        """Raise unless a use reads back and is indexed under exactly what it belongs to."""
        expected = use_keys(self.uses.value(row))
        if set(self._connection.run("SELECT sort, owner FROM use_keys WHERE use = ?", row["seq"])) != expected:
            raise self.uses.damage(row["id"], "wrong_use_index")

    def rebuild_use_keys(self) -> None:
        """Rebuild the index of uses by session and version."""
        self._connection.run("DELETE FROM use_keys")
        for seq in self.uses.all_numbers():
            self._add_use_keys(seq, self.uses.value(self.uses.at(seq)))

    def _add_use_keys(self, seq: int, use: Use) -> None:
        for key in sorted(use_keys(use)) if self._has_use_keys else ():
            self._connection.run("INSERT INTO use_keys (sort, owner, use) VALUES (?, ?, ?)", *key, seq)

    def _hash_of(self, version_id: str) -> str:
        found = self._connection.single("SELECT hash FROM versions WHERE id = ?", version_id)
        if found is None:
            raise self._audit.absent("versions", version_id, noun="version")
        return str(found)

    def _subject_exists(self, subject: str) -> bool:
        found = (self._connection.single(f"SELECT 1 FROM {table} WHERE id = ?", subject) for table in _REMARK_SUBJECTS)
        return any(found)


def use_keys(use: Use) -> set[tuple[str, str]]:
    """Everything a use is indexed under: "session" or "version", and an id."""
    owners = [("session", use.session_id), *(("version", version_id) for version_id in use.version_ids)]
    return {(kind, clean(owner)) for kind, owner in owners if owner}


def _entry_owner(sort: str, key: str) -> str:
    return f"{sort}/{key}"


def _version_owner(row: Values) -> str:
    return str(row["version_id"])


def _verdict_note(verdict: Verdict) -> AuditNote:
    """A verdict belongs to the history of its version, else of its first trajectory, else to its own."""
    subject = verdict.version_id or next(iter(verdict.trajectory_ids), verdict.id)
    return AuditNote(action=f"verdict {verdict.decision}", subject=subject, actor=verdict.decided_by, at=verdict.at)
