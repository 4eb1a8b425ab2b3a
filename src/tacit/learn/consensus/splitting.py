"""Steps that do several things → one unit for each, where another attempt did those things one by one.

`git add -A && git commit` of one attempt is two steps of another; several edits in one call are several edits. A line is
left whole where a part leans on another: redirections, variables, scripts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tacit.learn.actions import Action, action_of
from tacit.learn.consensus.alignment import DESCRIBING, Source, Unit, unit_of
from tacit.text.shell import without_heredocs

_TEXT_KEYS = ("command", "cmd", "script")


def taken_apart(sources: Sequence[Source]) -> list[list[Unit]]:
    """The units of each attempt; a line of commands is split where another attempt took one of its parts by itself."""
    alone: dict[Hashable, set[int]] = {}
    for source in sources:
        for unit in source.units:
            if len(unit.labels) == 1 and unit.sort == "run":
                alone.setdefault(unit.labels[0], set()).add(unit.source)
    return [[part for unit in source.units for part in _parts(unit, alone, source)] for source in sources]


def _parts(unit: Unit, alone: Mapping[Hashable, set[int]], source: Source) -> list[Unit]:
    edits = unit.arguments.get("edits")
    if unit.sort == "write" and isinstance(edits, list) and len(edits) > 1:
        return [_part(unit, "edits", [edit], part=at, source=source) for at, edit in enumerate(_edits(unit))]
    apart = any(alone.get(label, set()) - {unit.source} for label in unit.labels)
    if unit.sort != "run" or len(unit.labels) < 2 or not apart:
        return [unit]
    key = next((key for key in _TEXT_KEYS if isinstance(unit.arguments.get(key), str)), "")
    pieces = _pieces(unit.action) if key else []
    if len(pieces) < 2:
        return [unit]
    return [_part(unit, key, piece, part=at, source=source) for at, piece in enumerate(pieces)]


def _edits(unit: Unit) -> list[Any]:
    return list(unit.action.step.arguments["edits"])


def _part(unit: Unit, key: str, value: Any, *, part: int, source: Source) -> Unit:
    """One of the things that a call did, as a call of its own."""
    typed = {name: other for name, other in unit.action.step.arguments.items() if name not in DESCRIBING}
    step = dataclasses.replace(unit.action.step, arguments={**typed, key: value})
    general = source.general.arguments(step.arguments)
    action = action_of(step, unit.action.workspace)
    made = unit_of(action, general, source=unit.source, number=unit.number, own=source.own)
    return dataclasses.replace(made, part=part)


def _pieces(action: Action) -> list[str]:
    """The commands of a line that could have been typed one by one; none where one leans on another."""
    if "\n" in action.command.strip() or without_heredocs(action.command) != action.command:
        return []
    pieces: list[str] = []
    pipe: list[str] = []
    for command in action.commands:
        if command.connector not in ("&&", ";", "|", "") or command.outputs or command.assignments:
            return []
        if command.program == "cd":
            continue
        pipe.append(command.text)
        if command.connector != "|":
            elsewhere = command.directory and command.directory.rstrip("/") != action.workspace.rstrip("/")
            pieces.append((f"cd {command.directory} && " if elsewhere else "") + " | ".join(pipe))
            pipe = []
    return pieces
