"""Anchors: the newest link of a store's audit chain, noted in the person's home, outside the store's file.

A chain inside a file proves nothing against somebody who rewrites the whole file. One file per store's path, written when a
store that was written to is closed; an anchor that the chain no longer holds is never overwritten. What a difference means is
the caller's business. Whoever may write both the store and the home can still change both.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.domain.identity import plain
from tacit.domain.safekeeping import Anchor

FOLDER = "anchors"


class Anchors:
    """The anchors below one folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def read(self, store: str) -> tuple[Anchor, ...]:
        """The anchors of the store in a file, any of which is enough; none where nothing was noted.

        Raises `ValueError` for what is unreadable.
        """
        try:
            text = self._path(store).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise ValueError(error.strerror or str(error)) from error
        try:
            found = tuple(map(_anchor, json.loads(text)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"it is no anchor: {error}") from error
        if not found:
            raise ValueError("it is empty")
        return found

    def write(self, store: str, *anchors: Anchor) -> None:
        """Note anchors in place of those before; a home that cannot be written to has none.

        Two are noted only while a store is being replaced, when it may be found as it was or as it will be.
        """
        text = json.dumps([{"head": "", "sequence": 0, **plain(anchor)} for anchor in anchors], sort_keys=True)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            target = self._path(store)
            temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
            try:
                handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    def _path(self, store: str) -> Path:
        name = hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()[:32]
        return self._folder / f"{name}.json"


def _anchor(found: Any) -> Anchor:
    sequence, head, store_id = found["sequence"], found["head"], found["store_id"]
    if not (isinstance(sequence, int) and isinstance(head, str) and isinstance(store_id, str)):
        raise TypeError("wrong types")
    return Anchor(sequence=sequence, head=head, store_id=store_id, at=datetime.fromisoformat(found["at"]))
