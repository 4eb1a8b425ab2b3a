"""Files of tasks with reference calls, as trajectories: JSON lines in, checked rows and verified attempts out.

A task with the calls that solve it is an attempt that is known to be right, though nobody saw what came back. What is held
out to be asked never is among what may be learned from.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.tool import Call
from tacit.domain.trajectory import Claim, Environment, Role, Step, Task, Trajectory
from tacit.text.words import terms

VERIFIED_BY = "reference calls"


def read_rows(path: Path, *, fields: Mapping[str, type]) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file (also .gz), each with these fields; every line that is not so is named."""
    if not path.is_file():
        raise NotFound(f"no such file: {path}", hint="give the folder with the suite's files by --data")
    opened = gzip.open if path.suffix == ".gz" else open
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                row = _parsed(line)
                wrong = _wrong(row, fields)
                problems += [f"line {number}: {wrong}"] if wrong else []
                rows += [] if wrong or row is None else [row]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Mistake(f"{path} cannot be read: {error}", hint="fetch the file again") from error
    if problems:
        told = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
        raise Mistake(f"{path} is not as expected: {told}", hint="compare it with the suite's documentation")
    if not rows:
        raise Mistake(f"{path} has no tasks", hint="fetch the file again")
    return rows


def parsed(text: str) -> Any:
    """What a JSON text says; `ValueError` where it is none, is too deep, or holds numbers that nobody can compute with."""
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def solved(key: str, text: str, calls: Iterable[Call], *, tools: Sequence[str] = (), project: str = "") -> Trajectory:
    """A task with its reference calls as an attempt that succeeded."""
    asked = Step(index=0, role=Role.USER, text=text)
    steps = [
        Step(index=index, role=Role.AGENT, tool=call.tool, arguments=call.arguments)
        for index, call in enumerate(calls, 1)
    ]
    return Trajectory(
        task=Task(text=text, project=project),
        steps=(asked, *steps),
        environment=Environment(client="reference", tools=tuple(tools)),
        claim=Claim(result="success", score=1.0, verified_by=VERIFIED_BY),
        session_id=key,
        source=key,
    )


def without_held_out(training: Iterable[Trajectory], held_out: Iterable[Trajectory]) -> list[Trajectory]:
    """What may be learned from: tasks whose words, in this order, are not held out."""
    kept_back = {tuple(terms(trajectory.task.text)) for trajectory in held_out}
    return [trajectory for trajectory in training if tuple(terms(trajectory.task.text)) not in kept_back]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        row = parsed(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number


def _wrong(row: Mapping[str, Any] | None, fields: Mapping[str, type]) -> str:
    if row is None:
        return "no JSON object"
    missing = [name for name, kind in fields.items() if not isinstance(row.get(name), kind)]
    return f"lacks {', '.join(missing)}" if missing else ""
