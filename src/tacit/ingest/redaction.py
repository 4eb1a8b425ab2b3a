"""A trajectory → the same without secrets, and how many of each kind were found. What counts as one is decided in `text`.

A step without secrets stays the very same object, and so does a trajectory without any.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tacit.domain.trajectory import Claim, Environment, Step, Task, Trajectory
from tacit.text.redaction import may_hold_secret, redact, redact_value

_Found = Counter[str]
_Part = TypeVar("_Part", Task, Claim, Environment, Step)
_TASK = ("text", "project", "by")
_CLAIM = ("result", "verified_by")
_ENVIRONMENT = ("client", "client_version", "model", "workspace", "branch")
_FRAME = (_TASK, _CLAIM, _ENVIRONMENT)
_PARTS = 8
_as_json = json.JSONEncoder(ensure_ascii=False, default=repr, skipkeys=True).encode


def redacted(trajectory: Trajectory) -> tuple[Trajectory, dict[str, int]]:
    """Take secrets out of every text, argument, observation and name; the id is that of the new content."""
    if not may_hold_secret(_whole_text(trajectory)):
        return trajectory, {}
    suspects = set(_suspects([_frame_text(trajectory), *map(_step_text, trajectory.steps)]))
    found: _Found = Counter()
    changes = _frame(trajectory, found) if 0 in suspects else {}
    steps = tuple(
        _step(step, found) if number in suspects else step for number, step in enumerate(trajectory.steps, start=1)
    )
    if not changes and all(new is old for new, old in zip(steps, trajectory.steps, strict=True)):
        return trajectory, {}
    return dataclasses.replace(trajectory, **changes, steps=steps, id=""), dict(found)


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


def _whole_text(trajectory: Trajectory) -> str:
    """All that is said in a trajectory, to be asked about once; most hold no secret."""
    texts = [_frame_text(trajectory)]
    given: list[Mapping[str, Any]] = []
    names: set[str] = set()
    for step in trajectory.steps:
        if step.text:
            texts.append(step.text)
        if step.observation:
            texts.append(step.observation)
        if step.arguments:
            given.append(step.arguments)
        names.update((step.tool, step.skill))
    return "\n".join((*texts, *names, _as_json(given)))


def _frame_text(trajectory: Trajectory) -> str:
    parts = (trajectory.task, trajectory.claim, trajectory.environment)
    texts = [getattr(part, name) for part, names in zip(parts, _FRAME, strict=True) if part for name in names]
    names = (trajectory.session_id, trajectory.parent_session_id)
    return "\n".join((*texts, *trajectory.environment.tools, *names, trajectory.reply))


def _step_text(step: Step) -> str:
    text = f"{step.text}\n{step.observation}" if step.observation else step.text
    if step.skill:
        text = f"{text}\n{step.skill}"
    if step.tool:
        text = f"{text}\n{step.tool}"
    return f"{text}\n{_as_json(step.arguments)}" if step.arguments else text


def _step(step: Step, found: _Found) -> Step:
    step = _with_texts(step, ("text", "observation", "tool", "skill"), found)
    arguments = _arguments(step.arguments, found) if step.arguments else step.arguments
    return step if arguments is step.arguments else dataclasses.replace(step, arguments=arguments)


def _frame(trajectory: Trajectory, found: _Found) -> dict[str, Any]:
    """What changes around the steps."""
    environment = _with_texts(trajectory.environment, _ENVIRONMENT, found)
    tools = tuple(_text(tool, found) for tool in environment.tools)
    if tools != environment.tools:
        environment = dataclasses.replace(environment, tools=tools)
    claim = trajectory.claim
    clean: dict[str, Any] = {
        "task": _with_texts(trajectory.task, _TASK, found),
        "claim": None if claim is None else _with_texts(claim, _CLAIM, found),
        "environment": environment,
        "session_id": _text(trajectory.session_id, found),
        "parent_session_id": _text(trajectory.parent_session_id, found),
        "reply": _text(trajectory.reply, found),
    }
    return {name: value for name, value in clean.items() if value is not getattr(trajectory, name)}


def _with_texts(part: _Part, names: tuple[str, ...], found: _Found) -> _Part:
    """The same part with these of its texts redacted; the very same object where nothing was found."""
    texts = {name: getattr(part, name) for name in names}
    clean = {name: _text(text, found) for name, text in texts.items() if text}
    changes: dict[str, Any] = {name: text for name, text in clean.items() if text is not texts[name]}
    return dataclasses.replace(part, **changes) if changes else part


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
