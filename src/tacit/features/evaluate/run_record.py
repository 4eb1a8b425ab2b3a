"""The record of a run: a folder with `run.json`, which says what is measured, and `rows.jsonl`, one line per attempt.

Rows are appended as they come and are on disk before the next attempts begin. A run that was killed goes on where it was: a
line that was torn in the middle is dropped and attempted again. One run at a time writes into a folder, and a folder holds one
measurement: another suite, another agent, other arms or another memory are refused. Every row is sealed together with what
the run measures, so that a line that was edited or brought from elsewhere is told; this catches accidents, not whoever makes
seals anew. A folder may come with a repository that was cloned, so no file of it is a link, a pipe or a device. Nothing is
computed here.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec

from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.domain.identity import digest
from tacit.features.evaluate.actors.code import agents_own
from tacit.features.evaluate.suite import Arm, Row
from tacit.render.paths import is_link, shown
from tacit.render.placing import swap_in
from tacit.render.plain_files import open_plain

FORMAT = 1
RUN, ROWS, WORDS, LOCK = "run.json", "rows.jsonl", "words.jsonl", ".lock"
SEEDS_MAX = 1000
"""No run has more: the number is not sealed, since more seeds may follow, and a wrong one would be attempted for ever."""
UNSEALED = (
    "Whether the rows are as they were written is not known: they have no seals (an earlier version wrote them, or the seals "
    "were taken away)."
)
UNWATCHED = "No file of this agent is watched: a change of it goes unnoticed."
Key = tuple[str, int, str]
"""Arm, seed and exercise: what is attempted once."""
_TOLD = {
    "suite": "another suite",
    "suite_hash": "other exercises of the suite",
    "arms": "other arms",
    "agent": "another agent",
    "agent_files": "an agent whose files changed",
    "memory": "a memory that holds something else",
    "form_hash": "another form of conversation",
    "states": "exercises that begin in another state",
    "set_aside": "other exercises that are set aside",
}
_EXERCISES = ("suite", "suite_hash")
_FOLLOWS = {"agent_files": ("agent",), "suite_hash": ("suite",), "states": _EXERCISES, "set_aside": _EXERCISES}
"""What differs anyway where something else does."""
_HASHES = ("suite_hash", "memory", "form_hash")
"""What says nothing to people."""
_IN_FILES = ("command:", "python:")
"""How agents are named that are files on this machine."""
_NOT_PLAIN = (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO)
_NAMED = 3
_SEALED = 16
_SHOWN = 60
_COUNT_MAX = 1 << 53
"""Greater numbers are not the same any more once they are computed with."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a run measures, so that nothing else is mixed with it."""

    suite: str
    suite_hash: str
    arms: tuple[Arm, ...]
    agent: str
    agent_files: Mapping[str, str] = field(default_factory=dict)
    """File that the agent is made of → its hash; empty where it is made of none."""
    memory: str = ""
    """A fingerprint of what the memory holds; empty where no arm uses a memory."""
    form_hash: str = ""
    seeds: int = 1
    states: Mapping[str, str] = field(default_factory=dict)
    """Exercise → fingerprint of the state that every attempt at it begins in."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Exercise → the task that it belongs to; empty in runs of earlier versions."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Exercise → why nobody attempts it."""
    sealed: bool = False
    """Whether every row has a seal; runs of earlier versions have none."""
    format: int = FORMAT

    @cached_property
    def mark(self) -> str:
        """What stands in the seal of every row for all that is measured; more seeds may follow."""
        return digest(replace(self, seeds=1))

    def seal(self, row: Row) -> str:
        """What a row of this run has to carry, so that it is known to be as it was written."""
        return digest([self.mark, row])[-_SEALED:]

    @property
    def watched(self) -> list[str]:
        """The files whose change would be told; whatever only starts the agent, such as an interpreter, is none of it."""
        return agents_own(self.agent_files)

    @property
    def remarks(self) -> list[str]:
        """What nobody looked after, in words."""
        said = [] if self.sealed else [UNSEALED]
        if self.set_aside:
            count = "1 exercise was" if len(self.set_aside) == 1 else f"{len(self.set_aside)} exercises were"
            said.append(f"{count} set aside in every arm, since an aid gives the answer away (run.json says which).")
        if self.agent.startswith(_IN_FILES) and not self.watched:
            said.append(UNWATCHED)
        return said

    def stranger(self, row: Row) -> str:
        """In what a row is none of this run, in words; empty where it is one."""
        known = {
            f"suite {row.suite!r}": row.suite == self.suite,
            f"arm {row.arm!r}": row.arm in {arm.name for arm in self.arms},
            f"seed {row.seed}": 0 <= row.seed < self.seeds,
            f"exercise {row.exercise!r}": row.exercise in self.states and row.exercise not in self.set_aside,
            f"task {row.group!r}": self.groups.get(row.exercise, row.group) == row.group,
        }
        return ", ".join(what for what, is_known in known.items() if not is_known)

    def unlike(self, other: Header) -> list[str]:
        """In what another run differs, in words; more seeds are no difference."""
        told: dict[str, str] = {}
        for name, what in _TOLD.items():
            there, here = getattr(other, name), getattr(self, name)
            unknown = name == "agent_files" and not other.sealed  # earlier versions did not look at files
            if there != here and not unknown and not told.keys() & _FOLLOWS.get(name, ()):
                told[name] = what if name in _HASHES else f"{what}: {_apart(there, here)}"
        return list(told.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was measured, and all rows there are."""

    header: Header
    rows: tuple[Row, ...]
    folder: Path

    @property
    def wanted(self) -> int:
        """How many rows it has when it is complete."""
        return (len(self.header.states) - len(self.header.set_aside)) * len(self.header.arms) * self.header.seeds

    @property
    def complete(self) -> bool:
        """Whether every attempt was made."""
        return len(self.rows) >= self.wanted


class Record:
    """A run's folder while it is written into. Use it as a context: it holds a lock."""

    def __init__(self, folder: Path, header: Header) -> None:
        """Open the folder, or make it; goes on with what is there if that is the same run."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        with ExitStack() as opened:
            self._lock = opened.enter_context(_locked(folder / LOCK))
            self.header = self._settled(header)
            self._file = opened.enter_context(open_file(folder / ROWS, os.O_RDWR | os.O_APPEND | os.O_CREAT))
            self.rows = _mended(self._file, folder / ROWS, self.header)
            opened.pop_all()  # all went well, so the lock is held until the record is left

    def __enter__(self) -> Record:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._lock.close()

    @property
    def done(self) -> set[Key]:
        """What was attempted."""
        return {key_of(row) for row in self.rows}

    def append(self, rows: Sequence[Row]) -> None:
        """Keep rows; they are on disk when this returns."""
        if odd := [row.exercise for row in rows if not _is_possible(row)]:
            raise Mistake(f"the agent tells impossible numbers of {odd[0]}", hint="tokens and steps are counts")
        self._file.write(b"".join(_line(row, self.header) for row in rows))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += rows

    def as_run(self) -> Run:
        """What there is so far."""
        return Run(header=self.header, rows=tuple(self.rows), folder=self.folder)

    def _settled(self, header: Header) -> Header:
        path = self.folder / RUN
        before = _header(path)
        self._check_own(before)
        if before and not _holds(self.folder / ROWS):
            before = None  # it failed before anything was attempted: nothing is mixed with anything
        if before:
            if unlike := header.unlike(before):
                raise Refusal(
                    f"{self.folder} holds another run: {'; '.join(unlike)}",
                    hint="give a folder of its own (--out), or repeat the run that is there",
                )
            header = replace(header, seeds=max(header.seeds, before.seeds), sealed=before.sealed)
        else:
            header = replace(header, sealed=True)
        swap_in(path, msgspec.json.format(msgspec.json.encode(header), indent=1) + b"\n", mode=0o644)
        return header

    def _check_own(self, before: Header | None) -> None:
        """Refuse a folder in which somebody else's files bear the names of a record's."""
        for what, name in (("rows", ROWS), ("words", WORDS)):
            if before is None and _holds(self.folder / name):
                raise Refusal(f"{self.folder} has {what}, but nothing says of what", hint="give another folder (--out)")


def _holds(path: Path) -> bool:
    """Whether anything is in a file, or it leads elsewhere."""
    return is_link(path) or (path.exists() and path.stat().st_size > 0)


def key_of(row: Row) -> Key:
    """What a row is the attempt at."""
    return (row.arm, row.seed, row.exercise)


def read_run(folder: Path) -> Run:
    """A run as it lies there, complete or not; a torn last line is left out, and nothing is changed."""
    header = _header(folder / RUN)
    if header is None:
        raise NotFound(f"no run in {folder}: {RUN} is missing", hint="`tacit eval run … --out FOLDER` makes one")
    rows, _ = _rows(_data(folder / ROWS) or b"", folder / ROWS, header)
    return Run(header=header, rows=tuple(rows), folder=folder)


def _header(path: Path) -> Header | None:
    """What a folder says that it measures; nothing where there is no such file."""
    data = _data(path)
    if data is None:
        return None
    try:
        header = msgspec.json.decode(data, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Mistake(f"{path} cannot be read: {error}", hint="give the folder of a run, or another one") from error
    if header.format != FORMAT:
        raise Mistake(f"{path} has format {header.format}, not {FORMAT}", hint="read it with the version that wrote it")
    if not 1 <= header.seeds <= SEEDS_MAX:
        raise Mistake(f"{path} tells an impossible number of seeds", hint=f"bring it back as it was: 1 to {SEEDS_MAX}")
    return header


def _rows(data: bytes, path: Path, header: Header) -> tuple[list[Row], int]:
    """All whole rows, and how many bytes they take."""
    whole = data[: data.rfind(b"\n") + 1]
    rows: dict[Key, Row] = {}
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            row = msgspec.json.decode(line, type=Row)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Mistake(
                f"{path} line {number} is no row: {error}", hint="remove that line: it is attempted again"
            ) from error
        if not _is_possible(row):
            raise Mistake(
                f"{path} line {number} tells impossible numbers", hint="remove that line: it is attempted again"
            )
        if strange := header.stranger(row):
            raise Mistake(
                f"{path} line {number} is no attempt of this run: {RUN} does not know its {strange}",
                hint="remove that line, or measure anew in another folder",
            )
        if header.sealed and msgspec.json.decode(line, type=_Seal).seal != header.seal(row):
            raise Mistake(
                f"{path} line {number} is not as it was written, or {RUN} is not: its seal does not fit",
                hint="bring both files back as they were; or remove that line, and the same command attempts it again",
            )
        if key_of(row) in rows:
            raise Mistake(f"{path} line {number} repeats an earlier attempt", hint="remove one of both lines")
        rows[key_of(row)] = row
    return list(rows.values()), len(whole)


@dataclass(frozen=True, slots=True)
class _Seal:
    """What a line holds beside its row."""

    seal: str = ""


def _line(row: Row, header: Header) -> bytes:
    """A row as it is written: with its seal as the last field."""
    return msgspec.json.encode(row)[:-1] + f',"seal":"{header.seal(row)}"}}\n'.encode()


def _is_possible(row: Row) -> bool:
    """Whether its counts are counts that can be computed with."""
    counts = (row.context_tokens, row.output_tokens, row.score.steps, row.score.retries)
    return all(0 <= count < _COUNT_MAX for count in counts)


def _mended(file: BinaryIO, path: Path, header: Header) -> list[Row]:
    """The whole rows; what was torn behind them is cut off, so that the next row begins on a line of its own."""
    file.seek(0)
    data = file.read()
    rows, whole = _rows(data, path, header)
    if len(data) > whole:
        file.truncate(whole)
    return rows


def _data(path: Path) -> bytes | None:
    """All that a file of a record holds; nothing where there is none."""
    with suppress(FileNotFoundError, NotADirectoryError), open_file(path, os.O_RDONLY) as file:
        return file.read()
    return None


def open_file(path: Path, flags: int, *, mode: int = 0o666) -> BinaryIO:
    """Open a file of a record; what leads elsewhere would be overwritten there, and what never ends would be waited for."""
    try:
        return os.fdopen(open_plain(path, flags, mode=mode), "a+b" if flags & os.O_RDWR else "rb")
    except OSError as error:
        if error.errno not in _NOT_PLAIN:
            raise
        raise Refusal(
            f"{shown(path)} is no plain file of a record: {error.strerror}",
            hint="look at what it is; then remove it, or take another folder (`tacit eval run … --out FOLDER`)",
        ) from error


def _locked(path: Path) -> BinaryIO:
    file = open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise Refusal(
            f"another run is writing into {path.parent}", hint="wait for it, or give another folder (--out)"
        ) from error
    return file


def _apart(there: Any, here: Any) -> str:
    """In what two values differ: which of their parts, or both as they are."""
    if isinstance(there, Mapping):
        names = sorted(name for name in {*there, *here} if there.get(name) != here.get(name))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"{', '.join(names[:_NAMED])}{more}"
    if not isinstance(there, tuple):
        return f"{_cut(there)} there, {_cut(here)} here"
    were, are = (", ".join(arm.name for arm in arms) for arms in (there, here))
    return f"{_cut(were)} there, {_cut(are)} here" if were != are else f"{_cut(are)}, with other settings"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
