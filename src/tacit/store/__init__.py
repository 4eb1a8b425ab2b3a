"""What survives: the store on a SQLite file. It fetches and keeps; it decides nothing.

The store is loaded when it is first opened, so that a hook's index (`store.hook_index`) does not load it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from tacit.domain.ports import Store

__all__ = ["open_store"]


def open_store(path: str | Path, *, home: Path | None = None) -> Store:
    """Open the store in a file, creating or upgrading it where needed; ``:memory:`` gives one that dies with the process.

    With a home, the newest link of the audit chain is also noted there, outside the file.
    """
    from tacit.store.anchors import Anchors
    from tacit.store.sqlite_store import SqliteStore

    return SqliteStore(path, anchors=Anchors(home) if home else None)
