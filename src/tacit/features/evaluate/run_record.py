"""The record of a run: a folder with `run.json` (what is measured) and `rows.jsonl` (one line per attempt).

Rows are on disk before the next attempts begin, so an interrupted run continues; a torn last line is dropped. A folder holds
one measurement, written by one process at a time. Every row has a seal over itself and what the run measures, which detects
edited or copied lines; it protects against accidents, not against somebody who computes seals. A folder may come from a
cloned repository, so links, pipes and devices are refused.
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
from typing import Any, BinaryIO

import msgspec

from tacit.config.files import open_plain
from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.domain.identity import digest
from tacit.features.evaluate.actors.external import without_interpreters
from tacit.features.evaluate.suite import Arm, ResultRow
from tacit.render.safe_files import is_link, shown, swap_in

FORMAT = 1
RUN, ROWS, TRANSCRIPT, LOCK = "run.json", "rows.jsonl", "words.jsonl", ".lock"
SEEDS_MAX = 1000
"""The number of seeds is not part of the seal, because more may follow; a wrong one would never end."""
RowKey = tuple[str, int, str]
"""Arm, seed and exercise: each is attempted once."""
_PARTS = {
    "suite": "suite",
    "suite_hash": "exercises",
    "arms": "arms",
    "agent": "agent",
    "agent_files": "files of the agent",
    "memory": "memory",
    "form_hash": "prompt format",
    "states": "initial states of exercises",
    "set_aside": "excluded exercises",
}
"""Field of the header that must stay the same → its name in messages."""
_EXERCISES = ("suite", "suite_hash")
_IMPLIED = {"agent_files": ("agent",), "suite_hash": ("suite",), "states": _EXERCISES, "set_aside": _EXERCISES}
"""Differences that follow from another difference and are not reported beside it."""
_HASHES = ("suite_hash", "memory", "form_hash")
"""Fields whose values mean nothing to people."""
_MADE_OF_FILES = ("command:", "python:")
"""Prefixes of agents that are files on this machine."""
_NOT_PLAIN = (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO)
_NAMED_MAX = 3
_SEAL_LENGTH = 16
_VALUE_LENGTH = 60
_COUNT_MAX = 1 << 53
"""Larger numbers lose digits in floating point."""


@dataclass(frozen=True, slots=True)
class Limitation:
    """Something that a run did not measure or check, or that limits what its figures mean."""

    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class RunHeader:
    """What a run measures; a folder with another header is another run."""

    suite: str
    suite_hash: str
    arms: tuple[Arm, ...]
    agent: str
    agent_files: Mapping[str, str] = field(default_factory=dict)
    """File of the agent → its hash; empty if the agent is not made of files."""
    memory: str = ""
    """A hash of what the memory holds; empty if no arm uses a memory."""
    form_hash: str = ""
    seeds: int = 1
    states: Mapping[str, str] = field(default_factory=dict)
    """Exercise → hash of the state that every attempt at it begins in."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Exercise → its task; empty in runs of earlier versions."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Exercise → why it is excluded."""
    sealed: bool = False
    """Whether every row has a seal; runs of earlier versions have none."""
    format: int = FORMAT

    @cached_property
    def mark(self) -> str:
        """A hash of everything that is measured; the number of seeds is left out because more may follow."""
        return digest(replace(self, seeds=1))

    def seal(self, row: ResultRow) -> str:
        """Return the seal that a row of this run must have."""
        return digest([self.mark, row])[-_SEAL_LENGTH:]

    @property
    def watched(self) -> list[str]:
        """The files of the agent whose change would be noticed; interpreters are not among them."""
        return without_interpreters(self.agent_files)

    @property
    def remarks(self) -> list[Limitation]:
        """What was not checked in this run."""
        found = []
        if not self.sealed:
            message = (
                "The rows have no seals (an earlier version wrote them, or they were removed): edits go unnoticed."
            )
            found.append(Limitation("no_seals", message))
        if self.set_aside:
            count = "1 exercise is" if len(self.set_aside) == 1 else f"{len(self.set_aside)} exercises are"
            message = f"{count} excluded in every arm, because an aid gives the answer away (listed in run.json)."
            found.append(Limitation("excluded_exercises", message))
        if self.agent.startswith(_MADE_OF_FILES) and not self.watched:
            found.append(Limitation("agent_not_watched", "No file of this agent is watched: changes go unnoticed."))
        return found

    def foreign_parts(self, row: ResultRow) -> str:
        """Name what of a row does not belong to this run; empty if all of it does."""
        known = {
            f"suite {row.suite!r}": row.suite == self.suite,
            f"arm {row.arm!r}": row.arm in {arm.name for arm in self.arms},
            f"seed {row.seed}": 0 <= row.seed < self.seeds,
            f"exercise {row.exercise!r}": row.exercise in self.states and row.exercise not in self.set_aside,
            f"task {row.group!r}": self.groups.get(row.exercise, row.group) == row.group,
        }
        return ", ".join(what for what, is_known in known.items() if not is_known)

    def differences(self, other: RunHeader) -> dict[str, str]:
        """Return what another run measures differently: field → description. More seeds are no difference."""
        found: dict[str, str] = {}
        for name, what in _PARTS.items():
            there, here = getattr(other, name), getattr(self, name)
            unknown = name == "agent_files" and not other.sealed  # earlier versions did not record files
            if there != here and not unknown and not found.keys() & _IMPLIED.get(name, ()):
                found[name] = what if name in _HASHES else f"{what} ({_difference(there, here)})"
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What was measured, and all rows so far."""

    header: RunHeader
    rows: tuple[ResultRow, ...]
    folder: Path

    @property
    def wanted(self) -> int:
        """The number of rows of the complete run."""
        return (len(self.header.states) - len(self.header.set_aside)) * len(self.header.arms) * self.header.seeds

    @property
    def complete(self) -> bool:
        """Whether every attempt was made."""
        return len(self.rows) >= self.wanted


class RunRecord:
    """A run's folder, open for writing. A context manager: it holds a lock."""

    def __init__(self, folder: Path, header: RunHeader) -> None:
        """Open or create the folder; continues the run in it if that is the same one."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        with ExitStack() as opened:
            self._lock = opened.enter_context(_locked(folder / LOCK))
            self.header = self._write_header(header)
            self._file = opened.enter_context(open_file(folder / ROWS, os.O_RDWR | os.O_APPEND | os.O_CREAT))
            self._file.seek(0)
            data = self._file.read()
            self.rows, whole = _parse_rows(data, folder / ROWS, self.header)
            if len(data) > whole:  # an incomplete last line: the next row starts a new one
                self._file.truncate(whole)
            opened.pop_all()  # keeps the lock until the record is closed

    def __enter__(self) -> RunRecord:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._lock.close()

    @property
    def done(self) -> set[RowKey]:
        """What was attempted."""
        return {key_of(row) for row in self.rows}

    def append(self, rows: Sequence[ResultRow]) -> None:
        """Add rows; they are on disk when this returns."""
        if odd := [row.exercise for row in rows if not _has_valid_counts(row)]:
            hint = "tokens and steps are whole numbers from 0 on"
            raise Mistake(f"the agent reports impossible numbers for {odd[0]}", code="impossible_counts", hint=hint)
        for row in rows:  # the seal is the last field of a line
            self._file.write(msgspec.json.encode(row)[:-1] + f',"seal":"{self.header.seal(row)}"}}\n'.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += rows

    def result(self) -> RunResult:
        """Return the run so far."""
        return RunResult(header=self.header, rows=tuple(self.rows), folder=self.folder)

    def _write_header(self, header: RunHeader) -> RunHeader:
        path = self.folder / RUN
        before = _read_header(path)
        for name in (ROWS, TRANSCRIPT) if before is None else ():  # files of this name may belong to something else
            if _has_content(self.folder / name):
                hint = "pass another folder (--out)"
                raise Refusal(f"{self.folder} has {name} but no {RUN}", code="foreign_files", hint=hint)
        if before and not _has_content(self.folder / ROWS):
            before = None  # it failed before the first attempt, so there is nothing to mix with
        if before:
            if differences := header.differences(before):
                message = f"{self.folder} holds another run; it differs in: {'; '.join(differences.values())}"
                hint = "pass another folder (--out), or repeat the run that is there"
                raise Refusal(message, code="other_run", hint=hint)
            header = replace(header, seeds=max(header.seeds, before.seeds), sealed=before.sealed)
        else:
            header = replace(header, sealed=True)
        swap_in(path, msgspec.json.format(msgspec.json.encode(header), indent=1) + b"\n", mode=0o644)
        return header


def _has_content(path: Path) -> bool:
    """Whether a file has content, or is a link."""
    return is_link(path) or (path.exists() and path.stat().st_size > 0)


def key_of(row: ResultRow) -> RowKey:
    """Return arm, seed and exercise of a row."""
    return (row.arm, row.seed, row.exercise)


def read_run(folder: Path) -> RunResult:
    """Read a run, complete or not; a torn last line is ignored, and nothing is changed."""
    header = _read_header(folder / RUN)
    if header is None:
        hint = "`tacit eval run … --out FOLDER` makes one"
        raise NotFound(f"no run in {folder}: {RUN} is missing", code="no_run", hint=hint)
    rows, _ = _parse_rows(_read_bytes(folder / ROWS) or b"", folder / ROWS, header)
    return RunResult(header=header, rows=tuple(rows), folder=folder)


def _read_header(path: Path) -> RunHeader | None:
    data = _read_bytes(path)
    if data is None:
        return None
    try:
        header = msgspec.json.decode(data, type=RunHeader)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        hint = "pass the folder of a run, or another one"
        raise Mistake(f"{path} cannot be read: {error}", code="bad_run_header", hint=hint) from error
    if header.format != FORMAT:
        hint = "read it with the version that wrote it"
        raise Mistake(f"{path} has format {header.format}, not {FORMAT}", code="other_format", hint=hint)
    if not 1 <= header.seeds <= SEEDS_MAX:
        hint = f"restore the file; the number is 1 to {SEEDS_MAX}"
        raise Mistake(f"{path} has an impossible number of seeds", code="bad_run_header", hint=hint)
    return header


def _parse_rows(data: bytes, path: Path, header: RunHeader) -> tuple[list[ResultRow], int]:
    """Return all complete rows, and how many bytes they take."""
    whole = data[: data.rfind(b"\n") + 1]
    rows: dict[RowKey, ResultRow] = {}
    for number, line in enumerate(whole.splitlines(), start=1):
        row = _parse_row(line, f"{path} line {number}", header)
        if key_of(row) in rows:
            hint = "remove one of both lines"
            raise Mistake(f"{path} line {number} repeats an earlier attempt", code="row_repeated", hint=hint)
        rows[key_of(row)] = row
    return list(rows.values()), len(whole)


def _parse_row(line: bytes, where: str, header: RunHeader) -> ResultRow:
    again = "remove that line; the same command attempts it again"
    try:
        row = msgspec.json.decode(line, type=ResultRow)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Mistake(f"{where} is not a row: {error}", code="bad_row", hint=again) from error
    if not _has_valid_counts(row):
        raise Mistake(f"{where} has impossible numbers", code="impossible_counts", hint=again)
    if foreign := header.foreign_parts(row):
        message = f"{where} does not belong to this run: {RUN} does not know its {foreign}"
        raise Mistake(message, code="foreign_row", hint="remove that line, or repeat the run in another folder")
    if header.sealed and msgspec.json.decode(line, type=_Seal).seal != header.seal(row):
        message = f"{where} or {RUN} was changed after it was written: the seal does not match"
        raise Mistake(message, code="seal_broken", hint=f"restore both files; or {again}")
    return row


@dataclass(frozen=True, slots=True)
class _Seal:
    """The part of a line that is not the row."""

    seal: str = ""


def _has_valid_counts(row: ResultRow) -> bool:
    counts = (row.context_tokens, row.output_tokens, row.score.steps, row.score.retries)
    return all(0 <= count < _COUNT_MAX for count in counts)


def _read_bytes(path: Path) -> bytes | None:
    with suppress(FileNotFoundError, NotADirectoryError), open_file(path, os.O_RDONLY) as file:
        return file.read()
    return None


def open_file(path: Path, flags: int, *, mode: int = 0o666) -> BinaryIO:
    """Open a file of a record; links, pipes and devices are refused."""
    try:
        return os.fdopen(open_plain(path, flags, mode=mode), "a+b" if flags & os.O_RDWR else "rb")
    except OSError as error:
        if error.errno not in _NOT_PLAIN:
            raise
        message = f"{shown(path)} is not a regular file: {error.strerror}"
        hint = "remove it after looking at it, or use another folder (`tacit eval run … --out FOLDER`)"
        raise Refusal(message, code="not_a_regular_file", hint=hint) from error


def _locked(path: Path) -> BinaryIO:
    file = open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        hint = "wait for it, or pass another folder (--out)"
        raise Refusal(f"another run writes into {path.parent}", code="run_locked", hint=hint) from error
    return file


def _difference(there: Any, here: Any) -> str:
    """Describe how two values differ: the parts that differ, or both values."""
    if isinstance(there, Mapping):
        names = sorted(name for name in {*there, *here} if there.get(name) != here.get(name))
        more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
        return f"{', '.join(names[:_NAMED_MAX])}{more}"
    if not isinstance(there, tuple):
        return f"{_cut(there)} there, {_cut(here)} here"
    were, are = (", ".join(arm.name for arm in arms) for arms in (there, here))
    return f"{_cut(were)} there, {_cut(are)} here" if were != are else f"{_cut(are)}, with other settings"


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}…"
