"""A Python function as an agent: it is given the question as a mapping and returns its decision as one. Runs in this process.

What the function raises ends the run and is told with its place, since it is its author's to mend; so does a function that
gives no decision from the first question on. What was recorded until then stands.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.domain.errors import Mistake, NotFound, TacitError
from tacit.features.evaluate.actors.exchange import Circumstances, Patience, decided, worded
from tacit.features.evaluate.actors.lockstep import MAX_CALLS, Decision, Question, attempt
from tacit.features.evaluate.suite import Aid, Arm, Spent, World

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
        self._patience = Patience(f"the agent {name}")

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
            return [self._patience.seen(decided(self._answered(each), each)) for each in asked]

        return attempt(worlds, aids, decide, max_calls=self._max_calls)

    def _answered(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        with _foreign(f"the agent {self.name}"):
            return self._answer(question)


@contextmanager
def _foreign(what: str) -> Iterator[None]:
    """Somebody else's code, which may raise whatever it likes: told as its author's mistake, with the place."""
    try:
        yield
    except TacitError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise Mistake(
            f"{what} raised {type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})",
            hint="mend the agent and give the same command again: what was recorded until here stands",
        ) from error


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
    beside = str(path.resolve().parent)
    if beside not in sys.path:  # as Python does for a script: what lies beside it can be imported
        sys.path.append(beside)
    with _foreign(f"{path.name}, when it was loaded,"):
        spec.loader.exec_module(module)
    return module


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NotFound(f"no module {error.name!r} to be imported", hint=_HINT) from error
