"""Reduces one attempt to an outline: its moves and readings, its calls with how they ended, and what the person wished for.

Outlines are small and can be stored and compared (`mining`, `fixes`, `project_facts`, `person_rules`). Only plain tool calls
become moves and readings; shell and file work is compared as drafts (`consensus`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.domain.evidence import Assessment
from tacit.domain.outline import Move, Outline, Reading
from tacit.domain.trajectory import Trajectory
from tacit.learn.call_records import call_records, keeps_folder
from tacit.learn.statements import wishes_of
from tacit.learn.wording import shorten
from tacit.text.facts import facts
from tacit.text.redaction import redact
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, essential, tool_calls

MAX_TASK = 4_000
MAX_MOVES = 60
MAX_READINGS = 60
MAX_FACTS = 160
_MAX_ARGUMENTS = 2_000
"""Characters of the task, calls of each sort, facts of one answer, and characters of one call's arguments that an outline
keeps. They bound its size: all outlines are held at once.
"""


def outline_of(trajectory: Trajectory, assessment: Assessment) -> Outline:
    """Outline one attempt."""
    actions = tool_calls(trajectory)
    success = True if assessment.verified_success else False if assessment.verified_failure else None
    moves, readings = _moves_and_readings(actions) if is_plain(actions) else ((), ())
    return Outline(
        trajectory_id=trajectory.id,
        task=shorten(trajectory.task.text, MAX_TASK),
        success=success,
        session_id=trajectory.session_id,
        project=trajectory.task.project,
        moves=moves,
        readings=readings,
        session=trajectory.parent_session_id or trajectory.session_id or trajectory.id,
        at=trajectory.started_at,
        calls=call_records(trajectory, actions),
        wishes=wishes_of(trajectory, actions),
        keeps_folder=keeps_folder(trajectory),
    )


def is_plain(actions: Sequence[ToolCall]) -> bool:
    """Whether an attempt used only plain tool calls, apart from reading files."""
    changes = [action for action in actions if action.effect is not Effect.READ]
    # A file read without an answer comes from a written plan, not from a run.
    called = any(action.kind is ToolKind.FUNCTION or not action.step.observation for action in actions)
    return called and all(action.kind is ToolKind.FUNCTION and not action.delegates for action in changes)


def _moves_and_readings(actions: Sequence[ToolCall]) -> tuple[tuple[Move, ...], tuple[Reading, ...]]:
    calls = [action for action in actions if action.kind is not ToolKind.SHELL]
    changes = any(action.effect is not Effect.READ for action in calls)
    moves: list[Move] = []
    readings: list[Reading] = []
    for action in calls:
        # A final reading, or one whose answer was not recorded, was the goal of the task.
        looks = action.effect is Effect.READ and action.step.observation
        if not looks or (not changes and action is calls[-1]):
            moves.append(_move(action))
        elif action.worked:
            readings.append(_reading(action, after=len(moves)))
    return tuple(moves[:MAX_MOVES]), tuple(readings[:MAX_READINGS])


def _move(action: ToolCall) -> Move:
    return Move(index=action.index, tool=action.step.tool, arguments=_arguments(action), worked=action.worked)


def _reading(action: ToolCall, *, after: int) -> Reading:
    kept = dict(list(facts(action.step.observation).items())[:MAX_FACTS])
    if "\\u" in action.step.observation:  # an escaped secret is recognised only after decoding
        kept = {key: tuple(redact(value).text for value in values) for key, values in kept.items()}
    return Reading(index=action.index, tool=action.step.tool, arguments=_arguments(action), facts=kept, after=after)


def _arguments(action: ToolCall) -> Mapping[str, Any]:
    """Return the arguments, unless they hold a document."""
    arguments = essential(action.step.arguments)
    return arguments if len(json.dumps(arguments, default=str)) <= _MAX_ARGUMENTS else {}
