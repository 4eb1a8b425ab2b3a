"""The audit chain: each link is the hash of a change and of the link before it.

Links hold times, names, ids and digests, never content, so that the chain still checks after content was purged. It also
knows which records must exist, so that a vanished row is reported as damage and not as an unknown id.

A chain inside a file proves nothing against a rewrite of the whole file. So the newest link is also kept as an anchor in the
person's home: one file per store, written when a changed store is closed. Whoever may write both can still change both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tacit.config.files import write_atomically
from tacit.config.signers import anchor_file
from tacit.domain.archive import Anchor
from tacit.domain.errors import NotFound
from tacit.domain.identity import canonical, plain
from tacit.domain.stored import AuditEntry
from tacit.store.connection import Connection, StoreDamaged
from tacit.store.encoding import clean, stamp
from tacit.store.rows import Rows, Values
from tacit.store.seals import seal_of

_COLUMNS = "seq, at, actor, action, subject, record, digest, previous, hash"
_END = "\U0010ffff"
GENESIS = ""
"""What the first link covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditNote:
    """A change as the chain records it: what was done, to what, by whom and when."""

    action: str
    subject: str
    at: datetime
    actor: str = "tacit"


class AuditLink(NamedTuple):
    """One change as a link of the chain: the row of the table."""

    sequence: int
    at: str
    actor: str
    action: str
    subject: str
    record: str
    """Path of the record, such as ``versions/s_1/v_1``: table, owner if any, id."""
    digest: str
    """Of the record that the change left."""
    previous: str
    """The hash of the link before it."""
    hash: str = ""

    def computed_hash(self) -> str:
        """The hash of the change together with the link before it."""
        change = {name: getattr(self, name) for name in self._fields if name not in ("previous", "hash")}
        return hashlib.sha256(self.previous.encode("ascii", "replace") + canonical(change)).hexdigest()

    def entry(self) -> AuditEntry:
        """The link as callers see it."""
        return AuditEntry(
            sequence=self.sequence,
            at=datetime.fromisoformat(self.at),
            actor=self.actor,
            action=self.action,
            subject=self.subject,
            digest=self.digest,
            hash=self.hash,
        )


def record_path(table: str, *ids: str) -> str:
    """The chain's name for a record: table, owner if any, id."""
    return "/".join((table, *(clean(part).replace("%", "%25").replace("/", "%2F") for part in ids)))


class Audit:
    """Appends links and reads them, checking each hash."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(self, note: AuditNote, *, record: str, digest: str) -> None:
        """Add one link for a record and its digest, in the transaction of the change itself."""
        head = self._connection.single("SELECT max(seq) FROM audit")
        link = AuditLink(
            sequence=(head or 0) + 1,
            at=stamp(note.at),
            actor=clean(note.actor) or "tacit",
            action=clean(note.action),
            subject=clean(note.subject),
            record=record,
            digest=digest,
            previous=self.at(head).hash if head else GENESIS,
        )
        insert = f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.run(insert, *link._replace(hash=link.computed_hash()))

    def at(self, seq: int) -> AuditLink:
        """Read one link; raises if it does not fit its own hash."""
        try:
            rows = self._connection.run(f"SELECT {_COLUMNS} FROM audit WHERE seq = ?", seq)
        except StoreDamaged as error:
            raise self._damage(seq, error.code, error.detail) from error
        if not rows:
            raise self._damage(seq, "missing")
        link = AuditLink(*rows[0])
        texts = all(isinstance(value, str) for value in link[1:])
        if not texts or link.sequence != seq or link.computed_hash() != link.hash:
            raise self._damage(seq, "wrong_hash")
        return link

    def links(self, *, start: int = 1) -> Iterator[AuditLink]:
        """Read the chain from a link on; raises at the first that is missing, changed or out of order."""
        last = self._connection.single("SELECT max(seq) FROM audit") or 0
        if last != self._connection.single("SELECT count(*) FROM audit INDEXED BY audit_by_subject"):
            raise self._damage(last + 1, "missing")
        before = self.at(start - 1).hash if start > 1 else GENESIS
        for seq in range(start, last + 1):
            found = self.at(seq)
            if found.previous != before:
                raise self._damage(seq, "bad_chain_order")
            before = found.hash
            yield found

    def entries(self, subjects: frozenset[str] | None, *, limit: int | None) -> list[AuditEntry]:
        """The newest `limit` links, of these subjects if given, oldest first."""
        if limit is not None and limit <= 0:
            return []
        start = 1
        if subjects is None and limit is not None:
            last = self._connection.single("SELECT max(seq) FROM audit") or 0
            start = max(1, last - limit + 1)
        chosen = [found for found in self.links(start=start) if subjects is None or found.subject in subjects]
        return [found.entry() for found in (chosen[-limit:] if limit else chosen)]

    def existing(self, rows: Rows, identity: str, *, noun: str) -> Values:
        """Read the row with an id; raises if there is none."""
        row = rows.find(identity)
        if row is None:
            raise self.absent(rows.table, identity, noun=noun)
        return row

    def absent(self, table: str, identity: str, *, noun: str) -> Exception:
        """The error for an id without a row: unknown, or damage if the chain knows it."""
        own = record_path(identity)
        rows = self._connection.run("SELECT record, action FROM audit WHERE subject = ? ORDER BY seq", identity)
        latest = {str(record): str(action) for record, action in rows}
        for record, action in latest.items():
            if record.startswith(f"{table}/") and record.endswith(f"/{own}") and not is_gone(action):
                return StoreDamaged(self._connection.path, f"{table} {identity}", "missing")
        return NotFound(f"no {noun} has the id {identity!r}")

    def check_complete(self, table: str, *owners: str, found: set[str]) -> None:
        """Raise unless the rows found for these owners are exactly those that the chain knows."""
        self._compare(table, [record_path(table, owner) + "/" for owner in owners], found)

    def check_all(self, table: str, beginning: str, *, found: set[str]) -> None:
        """The same for all owners whose names begin with a text."""
        self._compare(table, [record_path(table, beginning)], found)

    def _compare(self, table: str, paths: list[str], found: set[str]) -> None:
        """Raise unless these are the records that the chain knows by names that begin so, without purged ones."""
        sql = (
            "SELECT record, action FROM json_each(?) AS path CROSS JOIN audit "
            "ON record >= path.value AND record < path.value || ? ORDER BY seq"
        )
        rows = self._connection.run(sql, json.dumps(paths), _END)
        latest = {str(record): str(action) for record, action in rows}
        known = {record for record, action in latest.items() if not is_gone(action)}
        for record in sorted(known ^ found):
            code = "missing" if record in known else "not_audited"
            raise StoreDamaged(self._connection.path, f"{table} {record.rsplit('/', 1)[-1]}", code)

    def _damage(self, seq: int, code: str, detail: str = "") -> StoreDamaged:
        return StoreDamaged(self._connection.path, f"audit {seq}", code, detail)


def is_gone(action: str) -> bool:
    """Whether a record may be missing after this action."""
    return action in ("purge", "restore")


def head_of(connection: Connection) -> tuple[int, str]:
    """Number and hash of the newest link."""
    rows = connection.run("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
    return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")


def identity_of(connection: Connection) -> str:
    """The id that a store got when it was made; raises if it is damaged."""
    rows = connection.run("SELECT seq, id, seal FROM identity")
    if len(rows) != 1 or rows[0][2] != seal_of("identity", rows[0][:2]):
        raise StoreDamaged(connection.path, "the store's id", "wrong_seal")
    return str(rows[0][1])


class Anchors:
    """The anchors below one home."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def read(self, store: str) -> tuple[Anchor, ...]:
        """The anchors of a store, any of which is enough; none where none was written. Raises `ValueError` for others."""
        try:
            text = self._path(store).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise ValueError(error.strerror or str(error)) from error
        try:
            found = tuple(map(_anchor, json.loads(text)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"it is not an anchor: {error}") from error
        if not found:
            raise ValueError("it is empty")
        return found

    def write(self, store: str, *anchors: Anchor) -> None:
        """Replace the anchors of a store; does nothing where the home cannot be written to.

        Two are written only while a store is being replaced, when either state may be found.
        """
        text = json.dumps([{"head": "", "sequence": 0, **plain(anchor)} for anchor in anchors], sort_keys=True)
        with suppress(OSError):
            path = self._path(store)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(path, text + "\n", mode=0o600)

    def knows(self, store: str) -> bool:
        """Whether a store was used from this home before."""
        return self._path(store).exists()

    def _path(self, store: str) -> Path:
        return Path(anchor_file(self._home, store))


def anchor_of(connection: Connection, *, at: datetime) -> Anchor:
    """The store's newest link, to be noted outside of it."""
    sequence, head = head_of(connection)
    return Anchor(store_id=identity_of(connection), sequence=sequence, head=head, at=at)


def holds_anchor(connection: Connection, anchor: Anchor) -> bool:
    """Whether this is the store that an anchor was written for, and its chain still has that link."""
    if identity_of(connection) != anchor.store_id:
        return False
    found = connection.single("SELECT hash FROM audit WHERE seq = ?", anchor.sequence)
    return anchor.sequence == 0 or found == anchor.head


def _anchor(found: Any) -> Anchor:
    sequence, head, store_id = found["sequence"], found["head"], found["store_id"]
    if not (isinstance(sequence, int) and isinstance(head, str) and isinstance(store_id, str)):
        raise TypeError("wrong types")
    return Anchor(sequence=sequence, head=head, store_id=store_id, at=datetime.fromisoformat(found["at"]))
