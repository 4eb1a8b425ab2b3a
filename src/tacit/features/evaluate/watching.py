"""A world under watch: what goes wrong inside it is told with its name, and what is done in it is noted. Changes nothing.

A world that breaks is a fault of the suite: the run ends there, what was recorded stands, and the error says where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tacit.domain.tool import Tool, Turn
from tacit.features.evaluate.actors.lockstep import STOPPED
from tacit.features.evaluate.floors import DONE
from tacit.features.evaluate.suite import Score, World
from tacit.features.evaluate.words import shortened, worded


class Watched:
    """A world that says which one it is when something in it raises, and what was done in it."""

    def __init__(self, world: World, name: str) -> None:
        """`name` is what an error is told to be of."""
        self._world = world
        self._name = name
        self.did: list[str] = []
        """What was called, and how it ended, in words."""

    @staticmethod
    @contextmanager
    def told(where: str) -> Iterator[None]:
        """Let an error pass, and note where it was."""
        try:
            yield
        except Exception as error:
            error.add_note(f"(in {where})")
            raise

    @property
    def task(self) -> str:
        """What is asked."""
        return self._world.task

    @property
    def tools(self) -> Sequence[Tool]:
        """What may be called."""
        return self._world.tools

    @property
    def turns(self) -> Sequence[Turn]:
        """What was done so far."""
        return self._world.turns

    @property
    def over(self) -> bool:
        """Whether nothing can be done any more."""
        return self._world.over

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool."""
        self.did.append(worded(tool, arguments))
        with self.told(self._name):
            return self._world.call(tool, **arguments)

    def abstain(self, reason: str) -> None:
        """End the attempt without a procedure."""
        self.did.append(shortened(reason if reason.startswith(STOPPED) else f"abstained: {reason}"))
        with self.told(self._name):
            self._world.abstain(reason)

    def finish(self) -> None:
        """End the attempt."""
        self.did.append(DONE)
        with self.told(self._name):
            self._world.finish()

    def score(self) -> Score:
        """What the attempt came to."""
        with self.told(self._name):
            return self._world.score()

    def state(self) -> str:
        """A fingerprint of what an attempt can change."""
        with self.told(self._name):
            return self._world.state()
