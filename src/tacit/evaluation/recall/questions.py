"""Lines of JSON, or a CSV table → questions with the labels of what is right for them. Every fault is told with its line."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.errors import Mistake
from tacit.domain.skill import Kind

SHOWN_FAULTS = 5
KNOWN_FIELDS = frozenset({"query", "relevant", "tools", "state", "kinds", "id", "note"})
_FORM = '{"query": "what is asked", "relevant": ["name of a skill"]}, with "relevant": [] where nothing should come'


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
    for line, row in _table(text, source) if table else _lines(text):
        try:
            found.append(_question(json.loads(row) if isinstance(row, str) else row, line))
        except ValueError as error:
            faults.append(f"line {line}: {_plainly(error)}")
    if faults:
        more = f"; and {len(faults) - SHOWN_FAULTS} more" if len(faults) > SHOWN_FAULTS else ""
        raise Mistake(f"{source}: {'; '.join(faults[:SHOWN_FAULTS])}{more}", hint=f"a line reads: {_FORM}")
    if not found:
        raise Mistake(f"{source} has no questions", hint=f"write one line for each: {_FORM}")
    return found


def _lines(text: str) -> Iterator[tuple[int, str | dict[str, Any]]]:
    # Not splitlines(): JSON may hold other line separators within a string.
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            yield number, line


def _table(text: str, source: str) -> Iterator[tuple[int, str | dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    columns = set(reader.fieldnames or ())
    if not {"query", "relevant"} <= columns:
        missing = " and ".join(sorted({"query", "relevant"} - columns))
        raise Mistake(f"{source} has no column {missing}", hint="its first line names the columns: query,relevant")
    for row in reader:
        cells: dict[str, Any] = {"query": row["query"], "relevant": _parted(row["relevant"])}
        if row.get("tools"):
            cells["tools"] = _parted(row["tools"])
        if row.get("kinds"):
            cells["kinds"] = _parted(row["kinds"])
        yield reader.line_num, cells


def _parted(cell: str | None) -> list[str]:
    return [part.strip() for part in (cell or "").split(";") if part.strip()]


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
        if isinstance(grade, bool) or not isinstance(grade, int | float) or not math.isfinite(grade) or grade < 0:
            raise ValueError(f"the grade of {label!r} is no number from 0 up")
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


def _plainly(error: ValueError) -> str:
    return f"no JSON ({error.msg})" if isinstance(error, json.JSONDecodeError) else str(error)
