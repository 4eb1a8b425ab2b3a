"""Which backups were made: one sealed and audited row per backup; and the manifest of a copy, as rows and beside its file.

A manifest beside a backup names no machine's paths; only the store that made it knows where it lies.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tacit.domain.errors import StoreOutage
from tacit.domain.identity import plain
from tacit.domain.safekeeping import Anchor, Manifest
from tacit.store.audit import Audit, Note, record_path
from tacit.store.connection import Connection, damaged
from tacit.store.encoding import Unreadable, aware, clean, unpack
from tacit.store.rows import Records, Values
from tacit.store.seals import seal_of

TABLE = "backups"
SUFFIX = ".manifest.json"
_COUNTED = (
    "trajectories", "skills", "versions", "approvals", "verdicts", "uses", "evidence", "remarks", "entries", "passages",
    "tombstones", "audit",
)  # fmt: skip
_MOST_BYTES = 1024 * 1024
_NAME_BYTES_MAX = 255


class Backups:
    """The table `backups`."""

    def __init__(self, connection: Connection, audit: Audit) -> None:
        self.rows = Records(connection, TABLE, kind=Manifest, derive=_of_manifest, columns=("id",))
        self._audit = audit

    def add(self, manifest: Manifest, *, by: str = "tacit") -> None:
        """Keep that a backup was made; the same one at the same place is kept once."""
        if self.rows.find(manifest.id) is None:
            row = self.rows.add(self.rows.columns_of(manifest))
            path = record_path(TABLE, manifest.id)
            note = Note(
                action="backup", subject=manifest.id, record=path, actor=by, at=aware(manifest.purged_at or manifest.at)
            )
            self._audit.append(note, digest=row["seal"])

    def all(self) -> list[Manifest]:
        """Every backup, oldest first; of several at one place the last."""
        found = [self.rows.value(self.rows.at(seq)) for seq in self.rows.all_numbers()]
        return list({manifest.path or manifest.id: manifest for manifest in found}.values())


def head_of(connection: Connection) -> tuple[int, str]:
    """Number and hash of the newest link of the audit chain."""
    rows = connection.run("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
    return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")


def identity_of(connection: Connection) -> str:
    """The id that a store got when it was made; raises if it is not as it was written."""
    rows = connection.run("SELECT seq, id, seal FROM identity")
    if len(rows) != 1 or rows[0][2] != seal_of("identity", rows[0][:2]):
        raise damaged(connection.path, "the store's id", "does not fit its seal")
    return str(rows[0][1])


def anchor_of(connection: Connection, *, at: datetime) -> Anchor:
    """The store's newest link, to be noted outside of it."""
    sequence, head = head_of(connection)
    return Anchor(store_id=identity_of(connection), sequence=sequence, head=head, at=at)


def holds_anchor(connection: Connection, anchor: Anchor) -> bool:
    """Whether this is the store that an anchor was noted of, and its chain still has that link."""
    if identity_of(connection) != anchor.store_id:
        return False
    found = connection.single("SELECT hash FROM audit WHERE seq = ?", anchor.sequence)
    return anchor.sequence == 0 or found == anchor.head


def describe(connection: Connection, file: Path, *, at: datetime) -> Manifest:
    """The manifest of a copy: what its file is, and what it holds."""
    sequence, head = head_of(connection)
    counts = {table: int(connection.single(f"SELECT count(*) FROM {table}")) for table in _COUNTED}
    return Manifest(
        sha256=file_hash(file),
        bytes=file.stat().st_size,
        schema=int(connection.single("PRAGMA user_version")),
        store_id=identity_of(connection),
        sequence=sequence,
        head=head,
        at=aware(at),
        counts=counts,
    )


def file_hash(file: Path) -> str:
    """SHA-256 of a file's bytes."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def manifest_path(backup: Path) -> Path:
    """Where the manifest of a backup lies: beside it, under its name as far as that leaves room for more."""
    name = os.fsencode(backup.name)
    if len(name) + len(SUFFIX) > _NAME_BYTES_MAX:
        return backup.with_name(hashlib.sha256(name).hexdigest()[:32] + SUFFIX)
    return backup.with_name(backup.name + SUFFIX)


def write_manifest(backup: Path, manifest: Manifest) -> None:
    """Write it beside the backup, whole or not at all."""
    target = manifest_path(backup)
    temporary = target.with_name(f".{secrets.token_hex(8)}.part")
    text = json.dumps(plain(replace(manifest, path="")), indent=2, sort_keys=True)
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        hint = "the backup itself is complete; remove it and try again where there is space"
        raise StoreOutage(f"cannot write the manifest {target.name}: {error.strerror}", hint=hint) from error
    finally:
        temporary.unlink(missing_ok=True)


def read_manifest(backup: Path) -> Manifest | None:
    """The manifest beside a backup, if there is one; raises `Unreadable` for one that is none."""
    try:
        with manifest_path(backup).open("rb") as file:
            data = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error
    return unpack(data, Manifest)


def differences(manifest: Manifest, found: Manifest, *, names: Sequence[str] = ()) -> list[str]:
    """In what a copy is not what its manifest says."""
    asked = names or ("sha256", "bytes", "schema", "store_id", "sequence", "head", "counts")
    return [name for name in asked if getattr(manifest, name) != getattr(found, name)]


def _of_manifest(manifest: Manifest) -> Values:
    return {"id": clean(manifest.id)}
