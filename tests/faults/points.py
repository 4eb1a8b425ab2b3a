"""Places where a process may die, counted: every statement, every commit, and every change of a file."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import apsw

_CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"})


class Points:
    """Counts the places where a process may die, and dies at the n-th."""

    def __init__(self, deadly: int, folder: Path) -> None:
        self.count = 0
        self._deadly = deadly
        self._folder = str(folder)

    def watch(self) -> None:
        """Look at every statement before it runs, every commit, and every change of a file."""
        apsw.connection_hooks.append(self._watch_connection)
        sys.addaudithook(self._see_event)

    def _watch_connection(self, connection: apsw.Connection) -> None:
        connection.set_exec_trace(lambda *_: self._pass())
        connection.set_commit_hook(lambda: not self._pass())

    def _see_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES and str(arguments[0]).startswith(self._folder):
            self._pass()

    def _pass(self) -> bool:
        self.count += 1
        if self.count == self._deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return True
