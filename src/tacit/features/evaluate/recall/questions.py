"""Lines of JSON, or a CSV table → questions with the labels of what is right for them. Every fault is told with its line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tacit.domain.errors import Mistake
from tacit.domain.skill import Kind

SHOWN_FAULTS = 5
HIGHEST_GRADE = 1_000_000
KNOWN_FIELDS = frozenset({"query", "relevant", "tools", "state", "kinds", "id", "note"})
_FORM = '{"query": "what is asked", "relevant": ["name of a skill"]}, with "relevant": [] where nothing should come'
_TABLE_FORM = (
    '"what is asked","name of a skill;name of another", with nothing behind the comma where nothing should come'
)
STATE_FIELDS = frozenset({"error", "command", "last_action", "files", "environment", "readings", "holds"})
"""What recall reads of a state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, the labels (names or ids) of what is right with their grades, and the situation it is asked in."""

    text: str
    relevant: Mapping[str, float] = field(default_factory=dict)
    """Empty: nothing should come."""
    tools: tuple[str, ...] | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[Kind, ...] | None = None
    line: int = 0
    """Where it stands in the file; 0 for none."""


def read_questions(text: str, *, source: str = "the questions", table: bool = False) -> list[Question]:
    """Read all questions of a text: JSON lines, or a CSV table whose labels are parted by `;`."""
    found: list[Question] = []
    faults: list[str] = []
    form = _TABLE_FORM if table else _FORM
    text = text.removeprefix("\ufeff")
    for line, read in _table(text, source) if table else _lines(text):
        try:
            found.append(_question(read(), line))
        except (ValueError, RecursionError) as error:
            faults.append(f"line {line}: {_plainly(error)}")
    if faults:
        more = f"; and {len(faults) - SHOWN_FAULTS} more" if len(faults) > SHOWN_FAULTS else ""
        raise Mistake(f"{source}: {'; '.join(faults[:SHOWN_FAULTS])}{more}", hint=f"a line reads: {form}")
    if not found:
        raise Mistake(f"{source} has no questions", hint=f"write one line for each: {form}")
    return found


def _lines(text: str) -> Iterator[tuple[int, Callable[[], Any]]]:
    # Not splitlines(): JSON may hold other line separators within a string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, partial(json.loads, line)


def _table(text: str, source: str) -> Iterator[tuple[int, Callable[[], Any]]]:
    rows = _rows(text, source)
    _, names = next(rows, (1, [""]))
    columns = [name.strip() for name in names]
    if missing := sorted({"query", "relevant"} - set(columns)):
        told = f"{source} line 1 names no column {' and '.join(missing)}"
        others = [mark for sign, mark in ((";", "semicolons"), ("\t", "tabs")) if any(sign in name for name in names)]
        parted = f", parted by commas and not by {others[0]}" if others else ""
        raise Mistake(told, hint=f"the first line names the columns: query,relevant{parted}")
    if doubled := next((name for name in columns if name and columns.count(name) > 1), ""):
        raise Mistake(f"{source} line 1 names the column {doubled} twice", hint="leave one of them out")
    for line, row in rows:
        yield line, partial(_cells, columns, row)


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not empty, with the line that it begins in."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            told = f"{source} line {line} is no row of a CSV table: {error}"
            hint = f"close each quote, double those within a text, and cut long texts; a line reads: {_TABLE_FORM}"
            raise Mistake(told, hint=hint) from error
        if row:
            yield line, row


def _cells(columns: list[str], row: list[str]) -> dict[str, Any]:
    if len(row) > len(columns):
        raise ValueError(f"{len(row)} columns, where line 1 names {len(columns)}; a text with a comma stands in quotes")
    cells = dict(zip(columns, row, strict=False))
    if "relevant" not in cells:
        raise ValueError(
            "the column `relevant` is missing; a comma with nothing behind it says that nothing should come"
        )
    told = {name: _parted(cells[name]) for name in ("tools", "kinds") if cells.get(name)}
    return {"query": cells.get("query"), "relevant": _parted(cells["relevant"]), **told}


def _parted(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";") if part.strip()]


def _question(row: Any, line: int) -> Question:
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    if unknown := sorted(set(row) - KNOWN_FIELDS):
        raise ValueError(f"it has an unknown field {unknown[0]!r}")
    text = row.get("query")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("`query` is missing or empty")
    if "relevant" not in row:
        raise ValueError("`relevant` is missing")
    state = row.get("state") or {}
    if not isinstance(state, dict):
        raise ValueError("`state` is no JSON object")
    if unknown := sorted(set(state) - STATE_FIELDS):
        raise ValueError(f"`state` has an unknown field {unknown[0]!r}; there are {', '.join(sorted(STATE_FIELDS))}")
    kinds = _names(row, "kinds")
    return Question(
        text=text,
        relevant=_grades(row["relevant"]),
        tools=_names(row, "tools"),
        state=state,
        kinds=None if kinds is None else tuple(_kind(name) for name in kinds),
        line=line,
    )


def _grades(given: Any) -> dict[str, float]:
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list):
        given = {label: 1.0 for label in given if _is_label(label)}
    if not isinstance(given, dict):
        raise ValueError("`relevant` is neither a list of names nor an object of names and grades")
    grades: dict[str, float] = {}
    for label, grade in given.items():
        if isinstance(grade, bool) or not isinstance(grade, int | float) or not 0 <= grade <= HIGHEST_GRADE:
            raise ValueError(f"the grade of {label!r} is no number from 0 up to {HIGHEST_GRADE}")
        if _is_label(label) and grade > 0:
            grades[label.strip()] = float(grade)
    return grades


def _is_label(label: Any) -> bool:
    if not isinstance(label, str) or not label.strip():
        raise ValueError("`relevant` holds something that is no name")
    return True


def _names(row: Mapping[str, Any], part: str) -> tuple[str, ...] | None:
    given = row.get(part)
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ValueError(f"`{part}` is no list of names")
    return tuple(given)


def _kind(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        raise ValueError(f"{name!r} is no kind; there are {', '.join(Kind)}") from None


def _plainly(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "no JSON that can be read (nested too deeply)"
    return f"no JSON ({error.msg})" if isinstance(error, json.JSONDecodeError) else str(error)
