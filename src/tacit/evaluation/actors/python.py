"""A Python function as an agent: it is given the question as a mapping and returns its decision as one. Runs in this process.

What the function raises is its author's to see: it passes through, and ends the run. What was recorded until then stands.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.domain.errors import Mistake, NotFound
from tacit.evaluation.actors.exchange import Circumstances, decided, worded
from tacit.evaluation.actors.lockstep import MAX_CALLS, Decision, Question, attempt
from tacit.evaluation.suite import Aid, Arm, Spent, World

Answering = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_HINT = "python:my_agent.py:answer, or python:package.module:answer"


class PythonActor:
    """Acts by what a function says."""

    def __init__(
        self,
        answer: Answering,
        *,
        name: str = "python",
        adapter: bool = False,
        max_calls: int = MAX_CALLS,
        files: Mapping[str, str] | None = None,
    ) -> None:
        """`adapter` says that the function heeds the question's `adapter`; `files` are those that it was loaded from."""
        self.name = name
        self._answer = answer
        self._adapter = adapter
        self._max_calls = max_calls
        self._files = dict(files or {})

    def files(self) -> Mapping[str, str]:
        """What the function was loaded from, as it was then: later changes do not reach it."""
        return self._files

    def objection(self, arm: Arm) -> str:
        """An adapter is the function's own affair; it has to say that it has one."""
        return "this agent has no adapter" if arm.adapter and not self._adapter else ""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> Spent:
        """Attempt all worlds, one call in each at a time."""
        around = Circumstances(adapter=adapter, seed=seed)

        def decide(questions: Sequence[Question]) -> list[Decision]:
            asked = [worded(question, around) for question in questions]
            return [decided(self._answer(each), each) for each in asked]

        return attempt(worlds, aids, decide, max_calls=self._max_calls)


def load_function(place: str) -> Answering:
    """The function that `FILE.py:NAME` or `MODULE:NAME` names."""
    where, _, name = place.rpartition(":")
    if not where or not name:
        raise Mistake(f"{place!r} names no function", hint=_HINT)
    module = _from_file(Path(where)) if where.endswith(".py") else _imported(where)
    function = getattr(module, name, None)
    if not callable(function):
        raise NotFound(f"{where} has no function {name!r}", hint=_HINT)
    answering: Answering = function
    return answering


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise NotFound(f"no such file: {path}", hint=_HINT)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NotFound(f"no module {error.name!r} to be imported", hint=_HINT) from error
