"""What the models of the consolidation experiment answered → rows of a run, scored by the suites as if an agent had acted.

Two readings of the same questions. **Free**: the model writes what it wants; a call or an end that cannot be read is wrong. Where
an answer was cut before its call was whole, its tool counts and its arguments do not. **Given**: the form is given and the model
only chooses the tool, in questions whose right answer is a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _consolidation_run import ANSWERS, CHOICES

from tacit.features.evaluate.conversation import is_done, parse_tool_call
from tacit.features.evaluate.suite import AttemptScore, Exercise, ResultRow
from tacit.features.evaluate.suites.next_call import NextCallSuite

_BEGUN = re.compile(r'<tool_call>\s*\{\s*"name":\s*"([^"]+)"')
Suites = Mapping[str, tuple[NextCallSuite, Sequence[Exercise]]]


class Answers:
    """Rows by set of prompts and adapter."""

    def __init__(self, rows: Mapping[tuple[str, str], list[ResultRow]]) -> None:
        self._rows = rows

    @classmethod
    def free(cls, suites: Suites, folders: Sequence[Path]) -> Answers:
        """What was written freely."""
        return cls._read(suites, folders, ANSWERS, _scored_freely)

    @classmethod
    def given(cls, suites: Suites, folders: Sequence[Path]) -> Answers:
        """Which tool was chosen where the form was given."""
        return cls._read(suites, folders, CHOICES, _scored_choice)

    def rows(self, asked: str, adapter: str = "", *, arm: str, seed: int = 0) -> list[ResultRow]:
        """The rows of one set under one adapter, named as an arm."""
        return [replace(row, arm=arm, seed=seed) for row in self._rows.get((asked, adapter), ())]

    @property
    def adapters(self) -> set[str]:
        """The adapters that answered, the bare model apart."""
        return {adapter for _, adapter in self._rows if adapter}

    def every(self) -> list[ResultRow]:
        """All rows."""
        return [row for rows in self._rows.values() for row in rows]

    @classmethod
    def _read(cls, suites: Suites, folders: Sequence[Path], name: str, scored: Any) -> Answers:
        known = {suite: {each.key: each for each in exercises} for suite, (_, exercises) in suites.items()}
        found: dict[tuple[str, str], dict[str, ResultRow]] = {}
        for said in _lines(folders, name):
            suite = said["set"].partition("/")[0]
            exercise = known[suite][said["exercise"]]
            if score := scored(suites[suite][0], exercise, said):
                row = ResultRow(
                    suite=suite,
                    arm="",
                    seed=0,
                    exercise=exercise.key,
                    group=exercise.group,
                    score=score,
                    context_tokens=said.get("context_tokens", 0),
                    output_tokens=said.get("output_tokens", 0),
                    seconds=said.get("seconds", 0.0),
                )
                found.setdefault((said["set"], said["adapter"]), {})[exercise.key] = row
        return cls({key: list(rows.values()) for key, rows in found.items()})


def _scored_freely(suite: NextCallSuite, exercise: Exercise, said: Mapping[str, Any]) -> AttemptScore:
    world, text = suite.begin(exercise), said["text"]
    if is_done(text):
        world.finish()
    elif call := parse_tool_call(text):
        world.call(call.tool, **{name: value for name, value in call.arguments.items() if name != "self"})
    elif begun := begun_call(text):
        world.call(begun)
    return world.score()


def _scored_choice(suite: NextCallSuite, exercise: Exercise, said: Mapping[str, Any]) -> AttemptScore | None:
    if not exercise.answer:
        return None
    world = suite.begin(exercise)
    world.call(said["tool"])
    return replace(world.score(), exact=None)


def begun_call(text: str) -> str:
    """The tool of a call that need not be whole; empty where none begins."""
    begun = _BEGUN.match(text.strip())
    return begun[1] if begun else ""


def _lines(folders: Sequence[Path], name: str) -> Iterator[dict[str, Any]]:
    for folder in folders:
        with (folder / name).open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
