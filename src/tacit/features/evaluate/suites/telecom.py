"""Telecom: repair a customer's phone in tau2-bench's world, through a driver given by path.

The driver is a Python file with `TelecomEnv` and `load_episodes`; it needs a checkout of the benchmark. Every world is a
copy of one environment with its own state. Tasks have the same wording and differ in what is broken; their ids say what is
broken, so agents do not see them. DATA has `dev_ids.json` and `episodes.jsonl`.
"""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suite import AttemptScore, Exercise
from tacit.features.evaluate.tool import Call, Tool, Turn
from tacit.ingest.sources import read

_MODULE = "tacit_telecom_driver"


class TelecomWorld:
    """One customer's phone and account."""

    def __init__(self, exercise: Exercise, environment: Any, *, max_calls: int) -> None:
        """`environment` is at the start of the exercise and belongs to this world alone."""
        self.task: str = exercise.task
        self.tools: Sequence[Tool] = exercise.tools
        self.turns: list[Turn] = []
        self._exercise = exercise
        self._environment = environment
        self._left = max_calls
        self._ended = ""

    @property
    def over(self) -> bool:
        """Whether the attempt was ended, the customer was transferred, or no call is left."""
        return bool(self._ended) or self._left <= 0 or self._environment._over

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool; errors are in the answer."""
        if self.over:
            return "the attempt is over", True
        self._left -= 1
        try:
            text, failed = self._environment.call(tool, **arguments)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            # a model may give arguments that the world does not check: its call failed
            text, failed = f"Error: {error}", True
        self.turns.append(Turn(call=Call(tool=tool, arguments=arguments), observation=text, failed=failed))
        return text, failed

    def finish(self) -> None:
        """End the attempt."""
        self._ended = self._ended or "finished"

    def abstain(self, reason: str) -> None:
        """End the attempt because no procedure is known."""
        self._ended = self._ended or "abstained"
        self._environment.abstain(reason)

    def score(self) -> AttemptScore:
        """Return whether the phone works and the customer was not transferred needlessly."""
        result = self._environment.score()
        needed = {call.tool for call in self._exercise.answer}
        reading = {tool.name for tool in self.tools if tool.read_only}
        changes = [turn.call.tool for turn in self.turns if turn.call.tool not in reading]
        last = self._ended or ("out of calls" if self._left <= 0 else "stopped")
        if result.needless_transfer:
            last = "handed over needlessly"
        return AttemptScore(
            success=bool(result.success),
            steps=len(self.turns),
            retries=_retries(self.turns),
            first_right=changes[0] in needed if changes else None,
            abstained=self._ended == "abstained",
            detail=f"{last}; {len(changes)} changes, {sum(turn.failed for turn in self.turns)} errors",
        )

    def state(self) -> str:
        """Return a hash of the phone, the account and the calls so far."""
        world = self._environment._env
        calls = [(turn.call.tool, dict(turn.call.arguments)) for turn in self.turns]
        result = [world.get_db_hash(), world.get_user_db_hash(), calls, self._ended]
        return hashlib.sha256(json.dumps(result, default=str).encode()).hexdigest()[:16]


class TelecomSuite:
    """The dev tasks, and the training episodes."""

    name = "telecom"

    def __init__(self, data: Path, *, driver: Path, checkout: Path | None = None, max_calls: int = 0) -> None:
        """Without `checkout` the driver looks where its documentation says; `max_calls` cannot exceed its limit."""
        self._data = data
        self.driver = _loaded(driver)
        self._environment = _started(self.driver, checkout)
        most = int(getattr(self.driver, "MAX_CALLS", 80))
        self._max_calls = min(max_calls, most) if max_calls > 0 else most
        self.tools = tuple(_tool(result) for result in self._environment.tools())
        self._ids = {f"{self.name}-{at:03d}": each for at, each in enumerate(_ids(data / "dev_ids.json"))}

    @cached_property
    def _exercises(self) -> tuple[Exercise, ...]:
        return tuple(self._exercise(key, identity) for key, identity in self._ids.items())

    def exercises(self) -> Sequence[Exercise]:
        """Return one exercise per task, in the order of the file."""
        return self._exercises

    def begin(self, exercise: Exercise) -> TelecomWorld:
        """Return a world as it is when the customer calls."""
        environment = copy.copy(self._environment)  # `reset` replaces the state; tasks and documentation are shared
        environment.reset(self._ids[exercise.key])
        return TelecomWorld(exercise, environment, max_calls=self._max_calls)

    def training_trajectories(self) -> list[Trajectory]:
        """Return episodes of other tasks with verified outcomes, successes and failures."""
        path = self._data / "episodes.jsonl"
        if not path.is_file():
            hint = "give the folder with the suite's files by --data"
            raise NotFound(f"no such file: {path}", code="no_data", hint=hint)
        return list(read(path))

    def _exercise(self, key: str, identity: str) -> Exercise:
        probe = copy.copy(self._environment)
        try:
            result = probe.reset(identity)
        except KeyError:
            hint = "use the commit that the driver's documentation names"
            raise Mistake(f"the checkout has no task {key}", code="other_checkout", hint=hint) from None
        right = probe._gold(identity)
        return Exercise(
            key=key,
            group=key,
            task=f"{result['complaint']}\n{result['known_info']}".strip(),
            tools=self.tools,
            answer=tuple(Call(tool=call.name, arguments=dict(call.arguments)) for call in right),
        )


def _retries(turns: Sequence[Turn]) -> int:
    """Count calls of a tool whose last call had failed."""
    failed: dict[str, bool] = {}
    count = 0
    for turn in turns:
        count += failed.get(turn.call.tool, False)
        failed[turn.call.tool] = turn.failed
    return count


def _loaded(path: Path) -> ModuleType:
    if not path.is_file():
        raise NotFound(f"no telecom driver at {path}", code="no_driver", hint="give it by --option driver=PATH")
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise Mistake(f"{path} is not a Python file", code="bad_driver", hint="the driver is telecom_env.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module  # its classes look up their own module
    spec.loader.exec_module(module)
    if not hasattr(module, "TelecomEnv"):
        raise Mistake(f"{path} has no TelecomEnv", code="bad_driver", hint="the driver is telecom_env.py")
    return module


def _started(driver: ModuleType, checkout: Path | None) -> Any:
    try:
        return driver.TelecomEnv(checkout)
    except ImportError as error:
        hint = "install the packages that the driver's documentation names"
        raise Mistake(f"the telecom driver cannot start: {error}", code="driver_not_started", hint=hint) from error
    except RuntimeError as error:
        hint = "give a checkout by --option checkout=PATH, or TAU2_BENCH"
        raise Mistake(f"the telecom driver cannot start: {error}", code="driver_not_started", hint=hint) from error


def _ids(path: Path) -> list[str]:
    if not path.is_file():
        raise NotFound(f"no such file: {path}", code="no_data", hint="give the folder with the suite's files by --data")
    try:
        return [str(each) for each in json.loads(path.read_text("utf-8"))["ids"]]
    except (ValueError, KeyError, TypeError) as error:
        raise Mistake(f"{path} has no list of ids: {error}", code="bad_data", hint="fetch the file again") from error


def _tool(result: Mapping[str, Any]) -> Tool:
    parameters = result.get("parameters", {})
    required = tuple(parameters.get("required", ()))
    return Tool(
        name=result["name"],
        description=result.get("description", ""),
        required=required,
        optional=tuple(name for name in parameters.get("properties", {}) if name not in required),
        read_only=bool(result["read_only"]),
    )
