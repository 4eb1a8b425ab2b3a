"""What was asked and what was done, in words, beside the figures of a run: written while it runs, read by who tells of it.

No comparison hangs on this file: who removes it has the same figures, told by ids. It holds pieces of the work, so it is
kept short, secrets are taken out before anything is cut, and nobody else may read it. What cannot be read is passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec

from tacit.domain.errors import Refusal
from tacit.features.evaluate.floors import Floor, floor_of, right_answers
from tacit.features.evaluate.record import WORDS, Key, key_of, open_file
from tacit.features.evaluate.suite import Exercise, Row
from tacit.text.fence import one_line
from tacit.text.redaction import redact, redact_value

NOTHING = "nothing"
_LONGEST = 160
_CALLS_MAX = 60
_ARGUMENT = 72
_LOOKED_AT = 20_000
"""Of a longer text only so much is looked at; secrets are found in all of it before the text is cut further."""
_UNSURE = 10_000
"""Of a text that was cut, so much of its end is never told: a secret may have begun there whose end is gone."""
_ROOM = 100_000
"""Characters and values that are looked at in all arguments of a call together."""
_DEEPEST = 32
_BITS_MAX = 1024
_MORE = "…"


@dataclass(frozen=True, slots=True)
class Apart:
    """Where two attempts at one exercise part: what was asked, and the first call in which they differ."""

    asked: str = ""
    reference: str = ""
    arm: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """What a run has in words; empty where its record has none."""

    asked: Mapping[str, str] = field(default_factory=dict)
    """Exercise → the beginning of its task."""
    right: Mapping[str, str] = field(default_factory=dict)
    """Exercise → the tool that is to be called next; empty where nothing is left to do."""
    did: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    """Attempt → its calls, and how it ended."""

    def floor(self, rows: Sequence[Row]) -> Floor | None:
        """What always the same answer would earn; nothing where one answer is no attempt, or not every answer is known."""
        return floor_of(rows, self.right)

    def apart(self, rows: Sequence[Row], *, reference: str) -> dict[tuple[str, str], Apart]:
        """Arm and exercise → where it parts from the reference, of the first seed that gave both another outcome."""
        success = {key_of(row): row.score.success for row in rows}
        found = {(row.arm, row.exercise): Apart(self.asked.get(row.exercise, "")) for row in rows}
        for arm, seed, exercise in sorted(success, reverse=True):
            here, there = (arm, seed, exercise), (reference, seed, exercise)
            if there in success and success[there] != success[here]:
                did = _parting(self.did.get(there, ()), self.did.get(here, ()))
                found[arm, exercise] = Apart(self.asked.get(exercise, ""), *did)
        return found


class WordsFile:
    """The file of words while a run writes into it. Use it as a context, and only where the run's lock is held."""

    def __init__(self, folder: Path, exercises: Iterable[Exercise], *, anew: bool = False) -> None:
        """Open the file, or make it; says of each exercise what is asked, if that is not there yet."""
        self._file: BinaryIO = open_file(folder / WORDS, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode=0o600)
        if anew:
            self._file.truncate(0)
        known = read_words(folder).asked
        new = [each for each in exercises if each.key not in known]
        right = right_answers(new)
        self._write({"exercise": each.key, "task": shortened(each.task), "right": right[each.key]} for each in new)

    def __enter__(self) -> WordsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, attempts: Iterable[tuple[Key, Sequence[str]]]) -> None:
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


def read_words(folder: Path) -> Words:
    """The words of a run, as far as they are there: what is no plain file, or may not be read, holds none."""
    asked: dict[str, str] = {}
    right: dict[str, str] = {}
    did: dict[Key, Sequence[str]] = {}
    for line in _lines(folder / WORDS):
        if line.arm:
            did[line.arm, line.seed, line.exercise] = line.did
        else:
            asked[line.exercise], right[line.exercise] = line.task, line.right
    return Words(asked, right, did)


def shortened(text: str) -> str:
    """A text as it is kept: its beginning on one line, without secrets."""
    return _cut(_flat(text), _LONGEST)


def worded(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call as it is kept."""
    # All arguments together, since one may tell of another that it is a secret: {"name": "DB_PASSWORD", "value": …}.
    plain = redact_value(_Plain().copy(arguments)).value
    told = (_flat(f"{name}={json.dumps(value, ensure_ascii=False)}") for name, value in plain.items())
    return shortened(f"{_flat(tool)}({', '.join(_cut(each, _ARGUMENT) for each in told)})")


def _parting(reference: Sequence[str], arm: Sequence[str]) -> tuple[str, str]:
    """The first place where two lists differ; their ends where they do not."""
    if not reference or not arm:
        return (reference or [""])[0], (arm or [""])[0]
    for number, (one, other) in enumerate(zip_longest(reference, arm, fillvalue=NOTHING), start=1):
        if one != other:
            place = f"{number}. " if number > 1 else ""
            return f"{place}{one}", f"{place}{other}"
    return reference[-1], arm[-1]


def _lines(path: Path) -> list[_Line]:
    found = []
    with suppress(OSError, Refusal), open_file(path, os.O_RDONLY) as file:
        for line in file:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                found.append(msgspec.json.decode(line, type=_Line))
    return found


class _Plain:
    """Arguments of any kind and size → a copy that is small and known to JSON; what is too much is left out."""

    def __init__(self) -> None:
        self._room = _ROOM

    def copy(self, value: Any, depth: int = 0) -> Any:
        """A value as far as there is room for it."""
        self._room -= 1
        if self._room <= 0 or depth > _DEEPEST:
            return _MORE
        if isinstance(value, Mapping):
            return {self._one(key): self.copy(value[key], depth + 1) for key in self._fitting(value)}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.copy(each, depth + 1) for each in self._fitting(value)]
        return self._one(value)

    def _fitting(self, values: Iterable[Any]) -> Iterator[Any]:
        return takewhile(lambda _: self._room > 0, values)

    def _one(self, value: Any) -> str | int | float | None:
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return value if value.bit_length() <= _BITS_MAX else _MORE
        text = value if isinstance(value, str) else _said(value)
        self._room -= min(len(text), _LOOKED_AT)
        return _part(text) if self._room > 0 else _MORE


def _said(value: Any) -> str:
    """A value of a kind that JSON does not know: bytes as they are written, of anything else its kind."""
    if isinstance(value, bytes | bytearray):  # one more than is looked at, so that the text is known to be cut
        return str(value[: _LOOKED_AT + 1])
    return type(value).__name__


def _part(text: str) -> str:
    """A text, or of a long one a part that holds no piece of a secret."""
    if len(text) <= _LOOKED_AT:
        return text
    return redact(text[:_LOOKED_AT]).text[:-_UNSURE] + _MORE


def _flat(text: str) -> str:
    """A text on one line without secrets; what cannot be seen may have parted one, so it is looked for twice."""
    flat = one_line(redact(_part(text)).text)
    return redact(flat).text.encode("utf-8", "replace").decode()


def _cut(text: str, longest: int) -> str:
    """The beginning of a text that holds no secret any more."""
    return text if len(text) <= longest else f"{text[: longest - 1]}{_MORE}"
