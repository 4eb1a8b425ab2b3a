"""What goes wrong while reading, and how a reader goes on: a place in a source → an error that names it.

A reader yields trajectories, problems and the place to go on from in one stream; `Parts` turns that stream into the
stream that the reader port promises, whose `next` raises a problem and may be called again. Nothing here decides
whether to go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.session import Mark
from tacit.domain.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a source something stands: a file or a document, and its line if it has lines."""

    source: str
    line: int | None = None

    @property
    def whole_source(self) -> str:
        """The source, a file with its whole path: what is kept must be found again from any folder."""
        path = Path(self.source)
        return str(path.resolve()) if path.is_file() else self.source

    def problem(self, what: str, *, hint: str) -> InvalidTrajectory:
        """Say what is wrong here and what to do next."""
        where = self.source if self.line is None else f"{self.source}, line {self.line}"
        return InvalidTrajectory(f"{where}: {what}", hint=hint)


Part = Trajectory | InvalidTrajectory | Mark


class Parts(Iterator[Trajectory]):
    """Trajectories of one source; a problem is raised in its turn, and the next call goes on behind it."""

    def __init__(self, parts: Iterator[Part]) -> None:
        self.mark: Mark | None = None
        """Once all is read: where the attempt begins that is still open, if the source can grow."""
        self._parts = parts

    def __next__(self) -> Trajectory:
        part = next(self._parts)
        while isinstance(part, Mark):
            self.mark = part
            part = next(self._parts)
        if isinstance(part, InvalidTrajectory):
            raise part
        return part
