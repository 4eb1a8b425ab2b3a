"""A trajectory and what is known of its outcome → its outline: the moves, and the readings before and after them.

Only plain tool calls are told as moves and readings; work in a shell or in files has calls that no other attempt repeats,
and is compared as drafts (see `consensus`). The errors of both are kept. Judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.domain.evidence import Assessment
from tacit.domain.outline import Move, Outline, Reading
from tacit.domain.trajectory import Trajectory
from tacit.learn.actions import Action, Effect, Family, actions_of, delegates, essential
from tacit.learn.courses import course_of
from tacit.learn.wording import shorten
from tacit.text.facts import facts
from tacit.text.redaction import redact

MAX_TASK = 4_000
MAX_MOVES = 60
MAX_READINGS = 60
MAX_FACTS = 160
_MAX_ARGUMENTS = 2_000


def outline_of(trajectory: Trajectory, assessment: Assessment) -> Outline:
    """Outline one attempt."""
    actions = actions_of(trajectory)
    course = course_of(trajectory, actions)
    success = True if assessment.verified_success else False if assessment.verified_failure else None
    moves, readings = _parts(actions) if is_plain(actions) else ((), ())
    return Outline(
        trajectory_id=trajectory.id,
        task=shorten(trajectory.task.text, MAX_TASK),
        success=success,
        session_id=trajectory.session_id,
        project=trajectory.task.project,
        moves=moves,
        readings=readings,
        course=course,
    )


def is_plain(actions: Sequence[Action]) -> bool:
    """Whether an attempt was made with plain tool calls alone, apart from looking at files."""
    changes = [action for action in actions if action.effect is not Effect.READ]
    # A look without an answer is a call somebody wrote down, not a file that was read.
    called = any(action.family is Family.CALL or not action.step.observation for action in actions)
    return called and all(action.family is Family.CALL and not delegates(action) for action in changes)


def _parts(actions: Sequence[Action]) -> tuple[tuple[Move, ...], tuple[Reading, ...]]:
    calls = [action for action in actions if action.family is not Family.SHELL]
    changes = any(action.effect is not Effect.READ for action in calls)
    moves: list[Move] = []
    readings: list[Reading] = []
    for action in calls:
        # A look whose answer nobody kept, or the last one where nothing was changed, was the point of the task.
        looks = action.effect is Effect.READ and action.step.observation
        if not looks or (not changes and action is calls[-1]):
            moves.append(_move(action))
        elif action.worked:
            readings.append(_reading(action, after=len(moves)))
    return tuple(moves[:MAX_MOVES]), tuple(readings[:MAX_READINGS])


def _move(action: Action) -> Move:
    return Move(index=action.index, tool=action.step.tool, arguments=_arguments(action), worked=action.worked)


def _reading(action: Action, *, after: int) -> Reading:
    kept = dict(list(facts(action.step.observation).items())[:MAX_FACTS])
    if "\\u" in action.step.observation:  # written in escapes, a secret passes for something else until it is read
        kept = {key: tuple(redact(value).text for value in values) for key, values in kept.items()}
    return Reading(index=action.index, tool=action.step.tool, arguments=_arguments(action), facts=kept, after=after)


def _arguments(action: Action) -> Mapping[str, Any]:
    """The arguments, if they are not a document of their own."""
    arguments = essential(action.step)
    return arguments if len(json.dumps(arguments, default=str)) <= _MAX_ARGUMENTS else {}
