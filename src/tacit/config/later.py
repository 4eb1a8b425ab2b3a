"""Modules that are loaded when they are first used, so that a short command does not wait for what it never does."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module until something of it is asked for. Import the module itself where only types are checked."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
