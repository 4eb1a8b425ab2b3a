"""What survives: the store on a SQLite file, and the same contract in plain memory. Fetches and keeps; decides nothing.

Stores are loaded when they are first asked for, so that a quick look (`sqlite.glance`) does not load them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tacit.domain.ports import Store
    from tacit.store.volatile import VolatileStore

__all__ = ["VolatileStore", "open_store"]


def open_store(path: str | Path, *, home: Path | None = None) -> Store:
    """Open the store in a file, creating or upgrading it where needed; ``:memory:`` gives one that dies with the process.

    With a home, the newest link of the audit chain is noted there as well, outside the file.
    """
    from tacit.store.anchors import Anchors
    from tacit.store.sqlite.store import SqliteStore

    return SqliteStore(path, anchors=Anchors(home) if home else None)


def __getattr__(name: str) -> Any:
    if name != "VolatileStore":
        raise AttributeError(f"module 'tacit.store' has no attribute {name!r}")
    from tacit.store.volatile import VolatileStore

    return VolatileStore
