"""Any source → trajectories: a file, a folder of files, or documents in memory, each by the reader that knows its format.

Formats are told by content. The built-in readers are asked first; readers of other packages (entry points in the group
`tacit.readers`) only if none of them knows the file, because looking for them is slow. Judges and redacts nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tacit.config.extensions import load_entry_points
from tacit.domain.errors import InvalidTrajectory, NotFound
from tacit.domain.ports import TrajectoryReader, TrajectoryStream
from tacit.domain.trajectory import Trajectory
from tacit.ingest.atif import AtifReader, from_documents
from tacit.ingest.claude_code import ClaudeCodeReader
from tacit.ingest.codex import CodexReader
from tacit.ingest.log_files import LOG_NAMES, Parts, Place, head_of, unreadable

OnProblem = Callable[[InvalidTrajectory], None]
Source = str | Path | Mapping[str, Any] | list[Any]

READERS: tuple[TrajectoryReader, ...] = (AtifReader(), ClaudeCodeReader(), CodexReader())
_GROUP = "tacit.readers"
_DOCUMENT_NAMES = (".json", ".json.gz")
_NO_LOGS_BELOW = frozenset({".git", ".tacit", ".venv", "__pycache__", "node_modules"})


def read(source: Source, *, on_problem: OnProblem | None = None) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, of all known files below a folder, or of ATIF documents in memory.

    A part that cannot be read goes to `on_problem`, and reading goes on behind it; without `on_problem` it is raised.
    In a folder, files that are no logs are passed over; a `.jsonl` file that no reader knows is a problem, and so is a
    pipe or a device of such a name.
    """
    if not isinstance(source, str | Path):
        return _reported([from_documents(source)], on_problem)
    path = Path(source)
    if not path.exists():
        raise NotFound(
            f"{path}: no such file or folder", code="path_not_found", hint="check the path for typing errors"
        )
    return _reported(_of_folder(path) if path.is_dir() else _of_file(path), on_problem)


def passed_over(root: Path) -> InvalidTrajectory | None:
    """What is wrong with the first JSON document below a folder that no reader knows; `read` goes past it silently."""
    for path in _files_below(root) if root.is_dir() else ():
        if path.name.endswith(_DOCUMENT_NAMES):
            try:
                find_reader(path)
            except InvalidTrajectory as problem:
                return problem
    return None


def find_reader(path: Path) -> TrajectoryReader:
    """Find who reads this file, by its first bytes; raises `InvalidTrajectory` if nobody does."""
    place = Place(str(path))
    if not path.is_file():
        raise place.problem(
            "not a regular file", code="not_a_regular_file", hint="write the output of a pipe to a file first"
        )
    try:
        head = head_of(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if not head.strip():
        hint = "leave it out, or copy it again from where it was written"
        raise place.problem("the file is empty, or damaged from its beginning", code="empty_file", hint=hint)
    reader = _knowing(READERS, head, path) or _knowing(_from_other_packages(), head, path)
    if reader is not None:
        return reader
    hint = f"known formats: {', '.join(reader.name for reader in READERS)}; other logs can be converted to ATIF"
    if b"\0" in head:
        raise place.problem("this is a binary file", code="binary_file", hint=hint)
    raise place.problem("this is no log in a known format", code="unknown_format", hint=hint)


def _knowing(readers: tuple[TrajectoryReader, ...], head: bytes, path: Path) -> TrajectoryReader | None:
    return next((reader for reader in readers if reader.recognises(head, path)), None)


def _of_file(path: Path) -> Iterator[TrajectoryStream]:
    try:
        yield find_reader(path).read(path)
    except InvalidTrajectory as problem:
        yield Parts(iter([problem]))


def _of_folder(root: Path) -> Iterator[TrajectoryStream]:
    for path in _files_below(root):
        try:
            reader = find_reader(path)
        except InvalidTrajectory as problem:
            if path.name.endswith(LOG_NAMES):
                yield Parts(iter([problem]))
        else:
            if not _is_read_with_another(path, reader, root=root):
                yield reader.read(path)


def _files_below(root: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(root):
        below[:] = sorted(set(below) - _NO_LOGS_BELOW)
        paths = sorted(Path(folder, name) for name in names)
        yield from (path for path in paths if path.exists())  # a link may lead nowhere


def _is_read_with_another(path: Path, reader: TrajectoryReader, *, root: Path) -> bool:
    """Return whether a session file below the same root is read with this one."""
    session = reader.session_file(path)
    if session is None or not session.is_relative_to(root):
        return False
    try:
        return find_reader(session) is reader
    except InvalidTrajectory:
        return False


def _reported(sources: Iterable[TrajectoryStream], on_problem: OnProblem | None) -> Iterator[Trajectory]:
    for trajectories in sources:
        while True:
            try:
                trajectory = next(trajectories, None)
            except InvalidTrajectory as problem:
                if on_problem is None:
                    raise
                on_problem(problem)
                continue
            if trajectory is None:
                break
            yield trajectory


@cache
def _from_other_packages() -> tuple[TrajectoryReader, ...]:
    built_in = {f"{type(reader).__module__}:{type(reader).__qualname__}" for reader in READERS}
    readers = [reader for _, reader in load_entry_points(_GROUP, kind="reader", skip=built_in, create=True)]
    return tuple(readers)
