"""What an agent may see of a world it acts in: the task, the tools, the answers to its own calls. Types only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tacit.domain.tool import Tool


class Environment(Protocol):
    """A world with one task in it."""

    @property
    def task(self) -> str:
        """What is asked, and what is known about it."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What may be called."""

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool: its answer, and whether that is an error."""

    def abstain(self, reason: str) -> None:
        """End the attempt: no procedure is known for what was seen."""
