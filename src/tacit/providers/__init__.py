"""Language models behind one port: settings → a model that answers within its budget. Writes no prompt, learns nothing.

What the extra `llm` brings is imported when a model is opened, not before; and names are loaded when they are first used, so
that a hook can have an embedder without them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tacit.providers.budget import Budget, Limits, Price, ScriptedModel
    from tacit.providers.opening import open_model

_HOME = {
    "Budget": "tacit.providers.budget",
    "Limits": "tacit.providers.budget",
    "Price": "tacit.providers.budget",
    "ScriptedModel": "tacit.providers.budget",
    "open_model": "tacit.providers.opening",
}

__all__ = ["Budget", "Limits", "Price", "ScriptedModel", "open_model"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tacit.providers' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
