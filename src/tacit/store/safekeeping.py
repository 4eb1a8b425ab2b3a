"""What vouches for a volatile store: backups to a file, which checks itself. Nothing of it is anchored.

A part of `volatile.VolatileStore`, beside `custody`.
"""

from __future__ import annotations

from pathlib import Path

from tacit.domain.errors import Mistake
from tacit.domain.ports import Damage
from tacit.domain.safekeeping import Anchor, Manifest
from tacit.store.held import Held, Part, reread


class Safekeeping(Part):
    """The part of a volatile store that writes copies of it."""

    _state: Held
    _depth: int

    def backup(self, path: Path) -> Manifest:
        """Write all of it to a store on disk, which checks itself."""
        from tacit.store.sqlite.store import SqliteStore

        with self._open():
            if self._depth:
                raise Mistake("a backup cannot be taken inside a transaction", hint="finish the transaction first")
            copy = SqliteStore(":memory:")
            try:
                for again in self._state.log:
                    again(copy)
                manifest = copy.backup(path)
            finally:
                copy.close()
            self.keep_manifest(manifest)
            return manifest

    def backups(self) -> list[Manifest]:
        """The backups that were made, oldest first; of several at one place the last."""
        with self._open():
            return list(self._state.backups.values())

    def keep_manifest(self, manifest: Manifest) -> None:
        """Note a backup."""
        with self.transaction():
            kept = reread(manifest)
            if self._state.backups.get(kept.path or kept.id) != kept:
                self._state.backups[kept.path or kept.id] = kept
                self._note("backup", manifest.id, value=kept, actor="tacit", at=manifest.purged_at or manifest.at)
                self._state.log.append(lambda store: store.keep_manifest(kept))

    def anchored(self) -> Anchor | None:
        """Nothing: what is only in memory is not anchored."""
        with self._open():
            return None

    def check_quickly(self) -> list[Damage]:
        """Nothing: there is no file that could be damaged."""
        return []

    def check_anchor(self) -> list[Damage]:
        """Nothing: what is only in memory is not anchored."""
        return []
