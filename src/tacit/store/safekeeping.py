"""What vouches for a store on SQLite: backups with manifests, checks of everything, and an anchor outside its file.

A part of `store.SqliteStore`, beside `custody`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tacit.domain.errors import StoreOutage
from tacit.domain.ports import Damage
from tacit.domain.safekeeping import Anchor, Manifest
from tacit.store.anchors import Anchors
from tacit.store.audit import Audit, Note, record_path
from tacit.store.backup import copy_store
from tacit.store.backups import Backups, anchor_of, describe, holds_anchor, identity_of, write_manifest
from tacit.store.connection import MEMORY, Connection, damaged
from tacit.store.integrity import Integrity
from tacit.store.migrations import Migration

ANCHORED = "the audit chain"


class Safekeeping:
    """The part of a store that lets others check it."""

    _connection: Connection
    _audit: Audit
    _backups: Backups
    _migrations: Sequence[Migration]
    _anchors: Anchors | None

    def backup(self, path: Path) -> Manifest:
        """Write a consistent, verified copy while others go on, and its manifest beside it."""
        target, made = Path(path), list[Manifest]()

        def check(copy: Path) -> None:
            made.append(replace(self._described(copy), path=str(target.resolve())))
            if not self._connection.read_only:
                with self._connection.writing():  # before it appears: a purge must know every copy there is
                    self._backups.add(made[0])

        with self._connection.outside("a backup"):
            alone = self._connection.path == MEMORY or self._connection.read_only
            copy_store(self._connection.raw if alone else self._connection.path, target, check=check)
            write_manifest(target, made[0])
        return made[0]

    def keep_manifest(self, manifest: Manifest) -> None:
        """Note a backup that was made or changed elsewhere."""
        with self._connection.writing():
            self._backups.add(manifest)

    def note_restored(self, *, by: str, at: datetime) -> None:
        """Tell in the chain that this store was put back from a backup."""
        with self._connection.writing():
            identity = identity_of(self._connection)
            record = record_path("restored", identity)
            self._audit.append(Note(action="restore", subject=identity, record=record, actor=by, at=at), digest="")

    def backups(self) -> list[Manifest]:
        """The backups that were made, oldest first; of several at one place the last."""
        with self._connection.reading():
            return self._backups.all()

    def anchored(self) -> Anchor | None:
        """The anchor that was noted of this store outside its file, if any; raises if it cannot be read."""
        return next(iter(self._noted()), None)

    def verify(self) -> Iterator[Damage]:
        """Check every row, the audit chain and the indexes, and that the chain still holds what was noted outside."""
        yield from Integrity(self._connection, self._migrations).damages()
        yield from self.check_anchor()

    def check_quickly(self) -> list[Damage]:
        """Check what can be checked in no time: the file's pages, the schema, the newest links, and the anchor."""
        return [*Integrity(self._connection, self._migrations).quick_damages(), *self.check_anchor()]

    def close(self) -> None:
        """Release the file; what was written is anchored first."""
        try:
            if self._connection.has_written:
                self._keep_anchor()
        finally:
            self._connection.close()

    def check_anchor(self) -> list[Damage]:
        """Whether the chain holds the link that was noted outside; nothing to say where none was."""
        try:
            noted = self._noted()
            with self._connection.reading():
                fits = not noted or any(holds_anchor(self._connection, anchor) for anchor in noted)
        except StoreOutage as error:
            return [Damage(subject=ANCHORED, problem=error.message)]
        if fits:
            return []
        problem = f"lacks link {noted[0].sequence}, which was noted outside the file: it was cut or rewritten"
        return [Damage(subject=ANCHORED, problem=problem)]

    def _noted(self) -> tuple[Anchor, ...]:
        if self._anchors is None or self._connection.path == MEMORY:
            return ()
        try:
            return self._anchors.read(self._connection.path)
        except ValueError as error:
            raise damaged(self._connection.path, "the anchor", f"cannot be used: {error}") from error

    def _keep_anchor(self, *, anew: bool = False) -> None:
        """Note the newest link outside, unless that would hide that the chain was cut or rewritten."""
        if self._anchors is None or self._connection.path == MEMORY:
            return
        with suppress(StoreOutage):  # `verify` tells of it
            noted = () if anew else self._noted()
            with self._connection.reading():
                if not noted or any(holds_anchor(self._connection, anchor) for anchor in noted):
                    self._anchors.write(self._connection.path, anchor_of(self._connection, at=datetime.now(UTC)))

    def _described(self, copy: Path) -> Manifest:
        connection = Connection(copy)
        try:
            for damage in Integrity(connection, self._migrations).damages():
                raise damaged(str(copy), damage.subject, damage.problem)
            with connection.reading():
                return describe(connection, copy, at=datetime.now(UTC))
        finally:
            connection.close()
