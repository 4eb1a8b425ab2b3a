"""What survives: the store on a SQLite file. It fetches and keeps; it decides nothing.

The store is loaded when it is first used, so that a hook's index (`store.hook_index`) does not load it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tacit.store.sqlite_store import Store

__all__ = ["Store", "open_store"]


def open_store(path: str | Path, *, home: Path | None = None) -> Store:
    """Open the store in a file, creating or upgrading it where needed; ``:memory:`` gives one that dies with the process.

    With a home, the newest link of the audit chain is also noted there, outside the file.
    """
    from tacit.store.audit import Anchors
    from tacit.store.sqlite_store import Store

    return Store(path, anchors=Anchors(home) if home else None)


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module 'tacit.store' has no attribute {name!r}")
    from tacit.store.sqlite_store import Store

    return Store
