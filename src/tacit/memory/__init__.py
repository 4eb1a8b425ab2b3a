"""What survives: the store on a SQLite file, and the same contract in plain memory. Fetches and keeps; decides nothing."""

from __future__ import annotations

from pathlib import Path

from tacit.domain.ports import Store
from tacit.memory.volatile import VolatileStore

__all__ = ["VolatileStore", "open_store"]


def open_store(path: str | Path) -> Store:
    """Open the store in a file, creating or upgrading it where needed; ``:memory:`` gives one that dies with the process."""
    from tacit.memory.sqlite.store import SqliteStore

    return SqliteStore(path)
