"""What was asked and what was done, in words, beside the figures of a run: written while it runs, read by who tells of it.

No comparison hangs on this file: who removes it has the same figures, told by ids. It holds pieces of the work, so it is
kept short, secrets are taken out before anything is cut, and nobody else may read it. What cannot be read is passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec

from tacit.domain.errors import Refusal
from tacit.domain.tool import Tool, Turn
from tacit.features.evaluate.actors.stepping import STOPPED
from tacit.features.evaluate.comparison import DONE_ANSWER, ConstantAnswer, constant_answer, correct_tools
from tacit.features.evaluate.run_record import TRANSCRIPT, RowKey, key_of, open_file
from tacit.features.evaluate.suite import AttemptScore, Exercise, ResultRow, World
from tacit.text.redaction import redact, redact_value
from tacit.text.safe_markdown import one_line

NOTHING = "nothing"
_TEXT_MAX = 160
_CALLS_MAX = 60
_ARGUMENT = 72
_SCANNED_MAX = 20_000
"""Of a longer text only so much is looked at; secrets are found in all of it before the text is cut further."""
_DROPPED_TAIL = 10_000
"""Of a text that was cut, so much of its end is never told: a secret may have begun there whose end is gone."""
_BUDGET = 100_000
"""Characters and values that are looked at in all arguments of a call together."""
_DEPTH_MAX = 32
_BITS_MAX = 1024
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class CallDivergence:
    """Where two attempts at one exercise part: what was asked, and the first call in which they differ."""

    asked: str = ""
    reference: str = ""
    arm: str = ""


@dataclass(frozen=True, slots=True)
class RunTranscript:
    """What a run has in words; empty where its record has none."""

    asked: Mapping[str, str] = field(default_factory=dict)
    """Exercise → the beginning of its task."""
    right: Mapping[str, str] = field(default_factory=dict)
    """Exercise → the tool that is to be called next; empty where nothing is left to do."""
    did: Mapping[RowKey, Sequence[str]] = field(default_factory=dict)
    """Attempt → its calls, and how it ended."""

    def constant_answer(self, rows: Sequence[ResultRow]) -> ConstantAnswer | None:
        """What always the same answer would earn; nothing where one answer is no attempt, or not every answer is known."""
        return constant_answer(rows, self.right)

    def divergences(self, rows: Sequence[ResultRow], *, reference: str) -> dict[tuple[str, str], CallDivergence]:
        """Arm and exercise → where it parts from the reference, of the first seed that gave both another outcome."""
        success = {key_of(row): row.score.success for row in rows}
        found = {(row.arm, row.exercise): CallDivergence(self.asked.get(row.exercise, "")) for row in rows}
        for arm, seed, exercise in sorted(success, reverse=True):
            here, there = (arm, seed, exercise), (reference, seed, exercise)
            if there in success and success[there] != success[here]:
                did = _first_difference(self.did.get(there, ()), self.did.get(here, ()))
                found[arm, exercise] = CallDivergence(self.asked.get(exercise, ""), *did)
        return found


class TranscriptWriter:
    """The file of words while a run writes into it. Use it as a context, and only where the run's lock is held."""

    def __init__(self, folder: Path, exercises: Iterable[Exercise], *, reset: bool = False) -> None:
        """Open the file, or make it; says of each exercise what is asked, if that is not there yet."""
        self._file: BinaryIO = open_file(folder / TRANSCRIPT, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode=0o600)
        if reset:
            self._file.truncate(0)
        known = read_transcript(folder).asked
        new = [each for each in exercises if each.key not in known]
        right = correct_tools(new)
        self._write({"exercise": each.key, "task": shorten(each.task), "right": right[each.key]} for each in new)

    def __enter__(self) -> TranscriptWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, attempts: Iterable[tuple[RowKey, Sequence[str]]]) -> None:
        """Keep what was done in attempts."""
        self._write(
            {"exercise": exercise, "arm": arm, "seed": seed, "did": list(did[:_CALLS_MAX])}
            for (arm, seed, exercise), did in attempts
        )

    def _write(self, lines: Iterable[Mapping[str, Any]]) -> None:
        # Each line begins on a line of its own, also behind one that was torn.
        self._file.write(b"".join(b"\n" + msgspec.json.encode(line) for line in lines))
        self._file.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    exercise: str
    task: str = ""
    right: str = ""
    arm: str = ""
    seed: int = 0
    did: tuple[str, ...] = ()


def read_transcript(folder: Path) -> RunTranscript:
    """The words of a run, as far as they are there: what is no plain file, or may not be read, holds none."""
    asked: dict[str, str] = {}
    right: dict[str, str] = {}
    did: dict[RowKey, Sequence[str]] = {}
    for line in _read_lines(folder / TRANSCRIPT):
        if line.arm:
            did[line.arm, line.seed, line.exercise] = line.did
        else:
            asked[line.exercise], right[line.exercise] = line.task, line.right
    return RunTranscript(asked, right, did)


def shorten(text: str) -> str:
    """A text as it is kept: its beginning on one line, without secrets."""
    return _cut(_redacted_line(text), _TEXT_MAX)


def format_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as it is kept."""
    # All arguments together, since one may tell of another that it is a secret: {"name": "DB_PASSWORD", "value": …}.
    plain = redact_value(_BoundedCopy().copy(arguments)).value
    told = (_redacted_line(f"{name}={json.dumps(value, ensure_ascii=False)}") for name, value in plain.items())
    return shorten(f"{_redacted_line(tool)}({', '.join(_cut(each, _ARGUMENT) for each in told)})")


def _first_difference(reference: Sequence[str], arm: Sequence[str]) -> tuple[str, str]:
    """The first place where two lists differ; their ends where they do not."""
    if not reference or not arm:
        return (reference or [""])[0], (arm or [""])[0]
    for number, (one, other) in enumerate(zip_longest(reference, arm, fillvalue=NOTHING), start=1):
        if one != other:
            place = f"{number}. " if number > 1 else ""
            return f"{place}{one}", f"{place}{other}"
    return reference[-1], arm[-1]


def _read_lines(path: Path) -> list[_Line]:
    found = []
    with suppress(OSError, Refusal), open_file(path, os.O_RDONLY) as file:
        for line in file:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                found.append(msgspec.json.decode(line, type=_Line))
    return found


class _BoundedCopy:
    """Arguments of any kind and size → a copy that is small and known to JSON; what is too much is left out."""

    def __init__(self) -> None:
        self._budget = _BUDGET

    def copy(self, value: Any, depth: int = 0) -> Any:
        """A value as far as there is room for it."""
        self._budget -= 1
        if self._budget <= 0 or depth > _DEPTH_MAX:
            return _ELLIPSIS
        if isinstance(value, Mapping):
            return {self._scalar(key): self.copy(value[key], depth + 1) for key in self._while_budget_lasts(value)}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.copy(each, depth + 1) for each in self._while_budget_lasts(value)]
        return self._scalar(value)

    def _while_budget_lasts(self, values: Iterable[Any]) -> Iterator[Any]:
        return takewhile(lambda _: self._budget > 0, values)

    def _scalar(self, value: Any) -> str | int | float | None:
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return value if value.bit_length() <= _BITS_MAX else _ELLIPSIS
        text = value if isinstance(value, str) else _describe_value(value)
        self._budget -= min(len(text), _SCANNED_MAX)
        return _beginning(text) if self._budget > 0 else _ELLIPSIS


def _describe_value(value: Any) -> str:
    """A value of a kind that JSON does not know: bytes as they are written, of anything else its kind."""
    if isinstance(value, bytes | bytearray):  # one more than is looked at, so that the text is known to be cut
        return str(value[: _SCANNED_MAX + 1])
    return type(value).__name__


def _beginning(text: str) -> str:
    """A text, or of a long one a part that holds no piece of a secret."""
    if len(text) <= _SCANNED_MAX:
        return text
    return redact(text[:_SCANNED_MAX]).text[:-_DROPPED_TAIL] + _ELLIPSIS


def _redacted_line(text: str) -> str:
    """A text on one line without secrets; what cannot be seen may have parted one, so it is looked for twice."""
    flat = one_line(redact(_beginning(text)).text)
    return redact(flat).text.encode("utf-8", "replace").decode()


def _cut(text: str, longest: int) -> str:
    """The beginning of a text that holds no secret any more."""
    return text if len(text) <= longest else f"{text[: longest - 1]}{_ELLIPSIS}"


class WatchedWorld:
    """A world that says which one it is when something in it raises, and what was done in it."""

    def __init__(self, world: World, name: str) -> None:
        """`name` is what an error is told to be of."""
        self._world = world
        self._name = name
        self.did: list[str] = []
        """What was called, and how it ended, in words."""

    @staticmethod
    @contextmanager
    def errors_named(where: str) -> Iterator[None]:
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
        self.did.append(format_call(tool, arguments))
        with self.errors_named(self._name):
            return self._world.call(tool, **arguments)

    def abstain(self, reason: str) -> None:
        """End the attempt without a procedure."""
        self.did.append(shorten(reason if reason.startswith(STOPPED) else f"abstained: {reason}"))
        with self.errors_named(self._name):
            self._world.abstain(reason)

    def finish(self) -> None:
        """End the attempt."""
        self.did.append(DONE_ANSWER)
        with self.errors_named(self._name):
            self._world.finish()

    def score(self) -> AttemptScore:
        """What the attempt came to."""
        with self.errors_named(self._name):
            return self._world.score()

    def state(self) -> str:
        """A fingerprint of what an attempt can change."""
        with self.errors_named(self._name):
            return self._world.state()
