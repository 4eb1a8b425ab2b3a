"""Anchors: the newest link of a store's audit chain, kept in the person's home, outside the store's file.

A chain inside a file proves nothing against a rewrite of the whole file. There is one file per store, written when a store
that was changed is closed. Whoever may write both the store and the home can still change both.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.config.files import write_atomically
from tacit.domain.archive import Anchor
from tacit.domain.identity import plain
from tacit.store.audit import head_of
from tacit.store.backup import identity_of
from tacit.store.connection import Connection

FOLDER = "anchors"


class Anchors:
    """The anchors below one folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

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
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._path(store), text + "\n", mode=0o600)

    def _path(self, store: str) -> Path:
        name = hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()[:32]
        return self._folder / f"{name}.json"


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
