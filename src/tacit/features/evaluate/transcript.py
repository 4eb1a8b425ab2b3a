"""The transcript of a run (`words.jsonl`): what was asked and which calls were made, to explain differences in a report.

No figure depends on it: without it, reports list exercises by id. It contains pieces of the user's work, so texts are
short, secrets are redacted before cutting, and only the owner can read the file. Lines that cannot be parsed are skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tacit.domain.errors import Refusal
from tacit.features.evaluate.actors.stepping import STOPPED
from tacit.features.evaluate.comparison import DONE_ANSWER, ConstantAnswer, constant_answer, correct_tools
from tacit.features.evaluate.run_record import TRANSCRIPT, RowKey, key_of, open_file
from tacit.features.evaluate.suite import AttemptScore, Exercise, ResultRow, World
from tacit.features.evaluate.tool import Turn
from tacit.text.redaction import redact, redact_value
from tacit.text.safe_markdown import one_line

NOTHING = "nothing"
_TEXT_MAX = 160
_CALLS_MAX = 60
_ARGUMENT = 72
_SCANNED_MAX = 20_000
"""Only this much of a longer text is scanned; secrets are redacted in all of it before it is cut further."""
_DROPPED_TAIL = 10_000
"""This much of the end of a cut text is dropped: a secret may begin there whose end is gone."""
_BUDGET = 100_000
"""Characters and values that are scanned in all arguments of one call."""
_DEPTH_MAX = 32
_BITS_MAX = 1024
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class CallDivergence:
    """The first call in which two attempts at one exercise differ, and what was asked."""

    asked: str = ""
    reference: str = ""
    arm: str = ""


@dataclass(frozen=True, slots=True)
class RunTranscript:
    """What was asked and done in a run; empty if the record has no transcript."""

    asked: Mapping[str, str] = field(default_factory=dict)
    """Exercise → the beginning of its task."""
    right: Mapping[str, str] = field(default_factory=dict)
    """Exercise → the right next tool; empty if nothing is left to do."""
    did: Mapping[RowKey, Sequence[str]] = field(default_factory=dict)
    """Attempt → its calls and how it ended."""

    def constant_answer(self, rows: Sequence[ResultRow]) -> ConstantAnswer | None:
        """Return the success of a constant answer; None if it is not defined for these rows."""
        return constant_answer(rows, self.right)

    def divergences(self, rows: Sequence[ResultRow], *, reference: str) -> dict[tuple[str, str], CallDivergence]:
        """Return the first difference from the reference by arm and exercise, for the first seed with different
        outcomes."""
        success = {key_of(row): row.score.success for row in rows}
        found = {(row.arm, row.exercise): CallDivergence(self.asked.get(row.exercise, "")) for row in rows}
        for arm, seed, exercise in sorted(success, reverse=True):
            here, there = (arm, seed, exercise), (reference, seed, exercise)
            if there in success and success[there] != success[here]:
                did = _first_difference(self.did.get(there, ()), self.did.get(here, ()))
                found[arm, exercise] = CallDivergence(self.asked.get(exercise, ""), *did)
        return found


class TranscriptWriter:
    """The transcript file, open for writing. A context manager; the run's lock must be held."""

    def __init__(self, folder: Path, exercises: Iterable[Exercise], *, reset: bool = False) -> None:
        """Open or create the file; adds the tasks that it does not have yet."""
        self._file: BinaryIO = open_file(folder / TRANSCRIPT, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode=0o600)
        if reset:
            self._file.truncate(0)
        known = read_transcript(folder).asked
        new = [each for each in exercises if each.key not in known]
        right = correct_tools(new)
        self._write({"exercise": each.key, "task": shorten(each.task), "right": right[each.key]} for each in new)

    def __enter__(self) -> TranscriptWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, attempts: Iterable[tuple[RowKey, Sequence[str]]]) -> None:
        """Add the calls of attempts."""
        self._write(
            {"exercise": exercise, "arm": arm, "seed": seed, "did": list(did[:_CALLS_MAX])}
            for (arm, seed, exercise), did in attempts
        )

    def _write(self, lines: Iterable[Mapping[str, Any]]) -> None:
        # A newline comes first, so that a torn line before it does no harm.
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
    """Read the transcript of a run; empty if the file is missing, unreadable or not a regular file."""
    asked: dict[str, str] = {}
    right: dict[str, str] = {}
    did: dict[RowKey, Sequence[str]] = {}
    with suppress(OSError, Refusal), open_file(folder / TRANSCRIPT, os.O_RDONLY) as file:
        for data in file:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                line = msgspec.json.decode(data, type=_Line)
                if line.arm:
                    did[line.arm, line.seed, line.exercise] = line.did
                else:
                    asked[line.exercise], right[line.exercise] = line.task, line.right
    return RunTranscript(asked, right, did)


def shorten(text: str) -> str:
    """Return the beginning of a text on one line, without secrets."""
    return _cut(_redacted_line(text), _TEXT_MAX)


def format_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """Format a call, without secrets."""
    # All arguments are redacted together, since one may mark another as a secret: {"name": "DB_PASSWORD", "value": …}.
    plain = redact_value(_BoundedCopy().copy(arguments)).value
    parts = (_redacted_line(f"{name}={json.dumps(value, ensure_ascii=False)}") for name, value in plain.items())
    return shorten(f"{_redacted_line(tool)}({', '.join(_cut(each, _ARGUMENT) for each in parts)})")


def _first_difference(reference: Sequence[str], arm: Sequence[str]) -> tuple[str, str]:
    """Return the first place where two lists differ, or their ends."""
    if not reference or not arm:
        return (reference or [""])[0], (arm or [""])[0]
    for number, (one, other) in enumerate(zip_longest(reference, arm, fillvalue=NOTHING), start=1):
        if one != other:
            place = f"{number}. " if number > 1 else ""
            return f"{place}{one}", f"{place}{other}"
    return reference[-1], arm[-1]


class _BoundedCopy:
    """Copies arguments of any kind and size into a small value that JSON can hold."""

    def __init__(self) -> None:
        self._budget = _BUDGET

    def copy(self, value: Any, depth: int = 0) -> Any:
        """Return a copy of a value within the budget."""
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
        if isinstance(value, bytes | bytearray):  # one more than is scanned, so that the text counts as cut
            value = str(value[: _SCANNED_MAX + 1])
        text = value if isinstance(value, str) else type(value).__name__  # JSON does not know anything else
        self._budget -= min(len(text), _SCANNED_MAX)
        return _beginning(text) if self._budget > 0 else _ELLIPSIS


def _beginning(text: str) -> str:
    """Return a text, or the part of a long one that cannot contain a piece of a secret."""
    if len(text) <= _SCANNED_MAX:
        return text
    return redact(text[:_SCANNED_MAX]).text[:-_DROPPED_TAIL] + _ELLIPSIS


def _redacted_line(text: str) -> str:
    """Return a text on one line without secrets; redacted twice, because invisible characters may split a secret."""
    flat = one_line(redact(_beginning(text)).text)
    return redact(flat).text.encode("utf-8", "replace").decode()


def _cut(text: str, longest: int) -> str:
    """Return the beginning of a text that has no secrets."""
    return text if len(text) <= longest else f"{text[: longest - 1]}{_ELLIPSIS}"


class WatchedWorld:
    """Wraps a world: records what is done in it, and names it in errors."""

    def __init__(self, world: World, name: str) -> None:
        """`name` appears in errors."""
        self._world = world
        self._name = name
        self.task, self.tools = world.task, world.tools
        self.did: list[str] = []
        """The calls so far, and how the attempt ended."""

    @staticmethod
    @contextmanager
    def errors_named(where: str) -> Iterator[None]:
        """Add the place to an error that passes."""
        try:
            yield
        except Exception as error:
            error.add_note(f"(in {where})")
            raise

    @property
    def turns(self) -> Sequence[Turn]:
        """All turns so far."""
        return self._world.turns

    @property
    def over(self) -> bool:
        """Whether the attempt has ended."""
        return self._world.over

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool."""
        self.did.append(format_call(tool, arguments))
        with self.errors_named(self._name):
            return self._world.call(tool, **arguments)

    def abstain(self, reason: str) -> None:
        """End the attempt because no procedure is known."""
        self.did.append(shorten(reason if reason.startswith(STOPPED) else f"abstained: {reason}"))
        with self.errors_named(self._name):
            self._world.abstain(reason)

    def finish(self) -> None:
        """End the attempt."""
        self.did.append(DONE_ANSWER)
        with self.errors_named(self._name):
            self._world.finish()

    def score(self) -> AttemptScore:
        """Return the result."""
        with self.errors_named(self._name):
            return self._world.score()

    def state(self) -> str:
        """Return a hash of what an attempt can change."""
        with self.errors_named(self._name):
            return self._world.state()
