"""Agent logs and hook journals in → trajectories out: one reader per client, discovery, and redaction.

Names are loaded when they are first used: hooks import `ingest.journal` and must not load the readers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tacit.ingest.sources import READERS, find_reader, passed_over, read, redacted

__all__ = ["READERS", "find_reader", "passed_over", "read", "redacted"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("tacit.ingest.sources"), name)
