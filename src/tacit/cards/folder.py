"""The card workflow's folder on disk: five growing JSONL files, INDEX.md, and a lock beside them.

Lines are only ever appended, each by one write; a torn last line is closed before the next is written. Lines that cannot
be read stay where they are and are told. What the lines mean is `application.aha.records`' to say.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from tacit.application.aha.records import FILES, Record, entry_of
from tacit.domain.bookmark import Bookmark, Mark
from tacit.domain.entry import Entry
from tacit.domain.errors import Mistake, StoreOutage

BELOW = Path(".agent-skills", "self-learning", "v1", "users")
"""Where the folders of all users lie, below a repository or a home."""
INDEX = "INDEX.md"
BUNDLES = Path("exports", "backports")
_LONGEST_LINE, _LARGEST_FILE = 1 << 20, 1 << 27
_IN_STEP = Mark(line=1)


@dataclass(frozen=True, slots=True)
class Read:
    """What a folder holds: entries of each sort in the order of their lines, and what could not be read."""

    entries: Mapping[type[Entry], Sequence[Record]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folder:
    """One user's folder; it need not be there."""

    path: Path
    within: Path | None = None
    """The folder that it must really lie in, whatever links say."""

    @property
    def exists(self) -> bool:
        """Whether it is there; one that leads elsewhere by a link is refused."""
        if not self.path.is_dir():
            return False
        if self.within is not None:
            inside = self.within.resolve()
            if self.path.resolve() != inside / self.path.relative_to(self.within):
                raise Mistake(f"{self.path} leads elsewhere by a link", hint="make it a folder of its own")
        return True

    def make(self) -> None:
        """Create it, with the place of bundles."""
        try:
            (self.path / BUNDLES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreOutage(f"cannot create {self.path}: {error.strerror}", hint="check permissions") from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from writing here; waits for them. The lock ends with the process, however that ends."""
        path = self.path.with_name(f".{self.path.name}.lock")
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def bookmark(self, *, in_step: bool = True) -> Bookmark:
        """How its files stand now; with `in_step` off, a mark that says they must be read whatever they look like."""
        found = [state for name in FILES.values() if (state := _state(self.path / name))]
        size, modified = sum(each.st_size for each in found), max((each.st_mtime_ns for each in found), default=0)
        return Bookmark(path=str(self.path), size=size, modified_ns=modified, mark=_IN_STEP if in_step else Mark())

    def read(self, *, by: str, at: datetime) -> Read:
        """Read all files; what cannot be understood is told by file and line."""
        problems: list[str] = []
        entries = {sort: list(self._entries(sort, name, (by, at), problems)) for sort, name in FILES.items()}
        return Read(entries, tuple(problems))

    def _entries(self, sort: type[Any], name: str, told: tuple[str, datetime], problems: list[str]) -> Iterator[Record]:
        for number, line in enumerate(self._lines(name, problems), start=1):
            if not line.strip():
                continue
            try:
                yield entry_of(sort, _object(line), by=told[0], at=told[1])
            except (ValueError, RecursionError, Mistake) as error:
                why = error.message if isinstance(error, Mistake) else _why(error)
                problems.append(f"{name} line {number}: {why}; it stays in the file and is not used")

    def _lines(self, name: str, problems: list[str]) -> list[bytes]:
        state = _state(self.path / name)
        if state is None:
            return []
        if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST_FILE:
            problems.append(f"{name} is no ordinary file, or too large; it is not used")
            return []
        return (self.path / name).read_bytes().split(b"\n")

    def append(self, sort: type[Entry], lines: Iterable[Mapping[str, Any]]) -> int:
        """Add lines to the file of a sort; returns how many bytes that were."""
        written = 0
        path = self.path / FILES[sort]
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                size = os.fstat(file).st_size
                torn = b"\n" if size and os.pread(file, 1, size - 1) != b"\n" else b""
                for line in lines:
                    written += _write(file, torn + _encoded(line))
                    torn = b""
            finally:
                os.close(file)
        except OSError as error:
            raise StoreOutage(
                f"cannot write {path}: {error.strerror}", hint="what was recorded is in the store"
            ) from error
        return written

    def write_index(self, text: str) -> bool:
        """Put INDEX.md in place at once; False if it said this already."""
        path, data = self.path / INDEX, text.encode("utf-8", "replace")
        state = _state(path)
        if state and stat.S_ISREG(state.st_mode) and state.st_size == len(data) and path.read_bytes() == data:
            return False
        handle, name = tempfile.mkstemp(prefix=f".{INDEX}.", dir=self.path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return True


def _state(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > _LONGEST_LINE:
        raise Mistake("longer than a megabyte")
    found = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    if not isinstance(found, dict):
        raise Mistake("no JSON object")
    return found


def _no_number(name: str) -> NoReturn:
    raise Mistake(f"{name} is no JSON")


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "no UTF-8 text"
    return "nested too deeply" if isinstance(error, RecursionError) else "no JSON, or only a part of it"


def _encoded(line: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(line, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half a character is an escape, or the other tool could not read the file at all
        text = json.dumps(line).encode("ascii")
    return text + b"\n"


def _write(file: int, data: bytes) -> int:
    """One write per line, so that lines of two writers do not mix; a short write is finished."""
    done = os.write(file, data)
    while done < len(data):
        done += os.write(file, data[done:])
    return done
