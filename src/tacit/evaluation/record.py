"""The record of a run: a folder with `run.json`, which says what is measured, and `rows.jsonl`, one line per attempt.

Rows are appended as they come and are on disk before the next attempts begin. A run that was killed goes on where it was: a
line that was torn in the middle is dropped and attempted again. One run at a time writes into a folder, and a folder holds one
measurement: another suite, another agent, other arms or another memory are refused. Nothing is computed here.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from tacit.application.placing import swap_in
from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.evaluation.suite import Arm, Row

FORMAT = 1
RUN, ROWS, LOCK = "run.json", "rows.jsonl", ".lock"
Key = tuple[str, int, str]
"""Arm, seed and exercise: what is attempted once."""
_TOLD = {
    "suite": "suite",
    "suite_hash": "exercises of the suite",
    "arms": "arms",
    "agent": "agent",
    "memory": "memory",
    "form_hash": "form of conversation",
    "states": "states that exercises begin in",
    "set_aside": "exercises that are set aside",
}
_SHOWN = 60
_COUNT_MAX = 1 << 53
"""Greater numbers are not the same any more once they are computed with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a run measures, so that nothing else is mixed with it."""

    suite: str
    suite_hash: str
    arms: tuple[Arm, ...]
    agent: str
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
    format: int = FORMAT

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
        return [
            f"another {what}: {_said(getattr(other, name))} there, {_said(getattr(self, name))} here"
            for name, what in _TOLD.items()
            if getattr(self, name) != getattr(other, name)
        ]


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
            self.rows = _mended(folder / ROWS, self.header)
            self._file = (folder / ROWS).open("ab")
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
        self._file.write(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += rows

    def as_run(self) -> Run:
        """What there is so far."""
        return Run(header=self.header, rows=tuple(self.rows), folder=self.folder)

    def _settled(self, header: Header) -> Header:
        path = self.folder / RUN
        if path.exists():
            before = _header(path)
            if unlike := header.unlike(before):
                raise Refusal(
                    f"{self.folder} holds another run: {'; '.join(unlike)}",
                    hint="give a folder of its own (--out), or repeat the run that is there",
                )
            header = replace(header, seeds=max(header.seeds, before.seeds))
        elif (self.folder / ROWS).exists():
            raise Refusal(f"{self.folder} has rows, but nothing says of what", hint="give another folder (--out)")
        swap_in(path, msgspec.json.format(msgspec.json.encode(header), indent=1) + b"\n", mode=0o644)
        return header


def key_of(row: Row) -> Key:
    """What a row is the attempt at."""
    return (row.arm, row.seed, row.exercise)


def read_run(folder: Path) -> Run:
    """A run as it lies there, complete or not; a torn last line is left out, and nothing is changed."""
    path = folder / RUN
    if not path.is_file():
        raise NotFound(f"no run in {folder}: {RUN} is missing", hint="`tacit eval run … --out FOLDER` makes one")
    header = _header(path)
    rows, _ = _rows(folder / ROWS, header)
    return Run(header=header, rows=tuple(rows), folder=folder)


def _header(path: Path) -> Header:
    try:
        header = msgspec.json.decode(path.read_bytes(), type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Mistake(f"{path} cannot be read: {error}", hint="give the folder of a run, or another one") from error
    if header.format != FORMAT:
        raise Mistake(f"{path} has format {header.format}, not {FORMAT}", hint="read it with the version that wrote it")
    return header


def _rows(path: Path, header: Header) -> tuple[list[Row], int]:
    """All whole rows, and how many bytes they take."""
    data = path.read_bytes() if path.exists() else b""
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
        if key_of(row) in rows:
            raise Mistake(f"{path} line {number} repeats an earlier attempt", hint="remove one of both lines")
        rows[key_of(row)] = row
    return list(rows.values()), len(whole)


def _is_possible(row: Row) -> bool:
    """Whether its counts are counts that can be computed with."""
    counts = (row.context_tokens, row.output_tokens, row.score.steps, row.score.retries)
    return all(0 <= count < _COUNT_MAX for count in counts)


def _mended(path: Path, header: Header) -> list[Row]:
    """The whole rows; what was torn behind them is cut off, so that the next row begins on a line of its own."""
    rows, whole = _rows(path, header)
    if path.exists() and path.stat().st_size > whole:
        os.truncate(path, whole)
    return rows


def _locked(path: Path) -> BinaryIO:
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise Refusal(
            f"another run is writing into {path.parent}", hint="wait for it, or give another folder (--out)"
        ) from error
    return file


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(arm.name for arm in value)
    text = f"{len(value)} of them" if isinstance(value, dict) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
