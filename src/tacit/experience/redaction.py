"""A trajectory → the same without secrets, and how many of each kind were found. What counts as one is decided in `text`.

A step without secrets stays the very same object, and so does a trajectory without any.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tacit.domain.trajectory import Claim, Environment, Step, Task, Trajectory
from tacit.text.redaction import may_hold_secret, redact, redact_value

_Found = Counter[str]
_PARTS = 8
_as_json = json.JSONEncoder(ensure_ascii=False, default=repr, skipkeys=True).encode


def redacted(trajectory: Trajectory) -> tuple[Trajectory, dict[str, int]]:
    """Take secrets out of every text, argument and observation; the id is that of the new content."""
    suspects = set(_suspects([_frame_text(trajectory), *map(_step_text, trajectory.steps)]))
    if not suspects:
        return trajectory, {}
    found: _Found = Counter()
    task, claim, environment = trajectory.task, trajectory.claim, trajectory.environment
    if 0 in suspects:
        task, claim, environment = _task(task, found), _claim(claim, found), _environment(environment, found)
    same = task is trajectory.task and claim is trajectory.claim and environment is trajectory.environment
    steps = tuple(
        _step(step, found) if number in suspects else step for number, step in enumerate(trajectory.steps, start=1)
    )
    if same and all(new is old for new, old in zip(steps, trajectory.steps, strict=True)):
        return trajectory, {}
    clean = dataclasses.replace(trajectory, task=task, claim=claim, environment=environment, steps=steps, id="")
    return clean, dict(found)


def _suspects(texts: list[str], first: int = 0) -> Iterator[int]:
    """Number the texts that may hold a secret; to ask about many at once costs far less than about each."""
    if not may_hold_secret("\n".join(texts)):
        return
    if len(texts) == 1:
        yield first
        return
    size = -(-len(texts) // _PARTS)
    for start in range(0, len(texts), size):
        yield from _suspects(texts[start : start + size], first + start)


def _frame_text(trajectory: Trajectory) -> str:
    claim = trajectory.claim or Claim()
    return "\n".join((trajectory.task.text, claim.result, claim.verified_by, trajectory.environment.branch))


def _step_text(step: Step) -> str:
    if step.arguments:
        return f"{step.text}\n{step.observation}\n{_as_json(step.arguments)}"
    return f"{step.text}\n{step.observation}" if step.observation else step.text


def _step(step: Step, found: _Found) -> Step:
    text = _text(step.text, found) if step.text else ""
    observation = _text(step.observation, found) if step.observation else ""
    arguments = _arguments(step.arguments, found) if step.arguments else step.arguments
    if text is step.text and observation is step.observation and arguments is step.arguments:
        return step
    return dataclasses.replace(step, text=text, observation=observation, arguments=arguments)


def _task(task: Task, found: _Found) -> Task:
    text = _text(task.text, found)
    return task if text is task.text else dataclasses.replace(task, text=text)


def _claim(claim: Claim | None, found: _Found) -> Claim | None:
    if claim is None:
        return None
    result, verified_by = _text(claim.result, found), _text(claim.verified_by, found)
    if result is claim.result and verified_by is claim.verified_by:
        return claim
    return dataclasses.replace(claim, result=result, verified_by=verified_by)


def _environment(environment: Environment, found: _Found) -> Environment:
    # A branch is free text that people paste tokens into; the rest are names and versions.
    branch = _text(environment.branch, found)
    return environment if branch is environment.branch else dataclasses.replace(environment, branch=branch)


def _text(text: str, found: _Found) -> str:
    result = redact(text)
    if not result.found:
        return text
    found.update(result.found)
    return result.text


def _arguments(arguments: Mapping[str, Any], found: _Found) -> Mapping[str, Any]:
    result = redact_value(arguments)
    found.update(result.found)
    # Compared by content: a secret in a key is replaced without being counted.
    return arguments if result.value == arguments else dict(result.value)
