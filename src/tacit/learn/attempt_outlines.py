"""Reduces one attempt to an outline: its moves and readings, which calls failed, what was tried, and what worked.

Outlines are small and can be stored and compared (`mining`). A fix is named by a key that is the same in every session:
what was done, without its values. Only plain tool calls become moves and readings; shell and file work is compared as
drafts (`consensus`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from tacit.domain.evidence import Assessment
from tacit.domain.outline import Course, Failure, Move, Outline, Reading, Tried
from tacit.domain.trajectory import Trajectory
from tacit.learn.recovery import Means, Recovery, passing, tries_after, went_wrong
from tacit.learn.wording import shorten
from tacit.text.error_signatures import error_signature
from tacit.text.facts import facts
from tacit.text.redaction import redact
from tacit.text.shell import Command
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, essential, tool_calls

AGAIN = "again"
"""The key for "no fix": the same call again, with nothing in between."""
INSTALL, INSTEAD = "install with ", "instead "
"""Prefixes of fix keys."""
_WORD = re.compile(r"[a-z][a-z-]+")


def failure_course(trajectory: Trajectory, actions: Sequence[ToolCall] | None = None) -> Course:
    """Reduce one attempt; `actions` are its tool calls, if already known."""
    actions = tool_calls(trajectory) if actions is None else actions
    telling = [action for action in actions if action.kind is not ToolKind.FILE]
    surely = [action for action in telling if action.surely_worked]
    worked = {digest: action.index for action in surely for digest in (_exact_key(action), _form_key(action))}
    followed = Counter(
        f"{one.label} > {two.label}" for one, two in pairwise(actions) if one.kind is ToolKind.FUNCTION and one.worked
    )
    return Course(
        trajectory_id=trajectory.id,
        session=trajectory.parent_session_id or trajectory.session_id or trajectory.id,
        task=_digest(" ".join(trajectory.task.text.casefold().split())),
        at=trajectory.started_at,
        failures=tuple(_failures(actions)),
        worked=worked,
        followed=dict(followed),
    )


def recovery_at(trajectory: Trajectory, failure: Failure, tried: Tried) -> Recovery | None:
    """Find the recovery of a course in its trajectory; nothing if it is not there."""
    actions = tool_calls(trajectory)
    at = next((at for at, action in enumerate(actions) if action.index == failure.step), None)
    tries = _tries_of_failure(actions, at) if at is not None else ()
    return next((one for one in tries if one.worked.index == tried.step and _fix_key(one) == tried.fix), None)


def _failures(actions: Sequence[ToolCall]) -> Iterator[Failure]:
    for at, action in enumerate(actions):
        if action.kind is ToolKind.FILE or action.delegates or not went_wrong(action):
            continue
        signature = error_signature(action.step.observation, command=action.command)
        tried = tuple(
            Tried(fix=_fix_key(one), step=one.worked.index, worked=one.worked.surely_worked)
            for one in _tries_of_failure(actions, at)
            if one.means is not Means.REWORKED
        )
        if signature:
            yield Failure(
                step=action.index,
                call=action.label,
                exact=_exact_key(action),
                form=_form_key(action),
                signature=signature,
                plain=action.kind is ToolKind.FUNCTION,
                passing=passing(action),
                tried=tried,
            )


def _tries_of_failure(actions: Sequence[ToolCall], at: int) -> Iterator[Recovery]:
    yield from tries_after(actions, at)
    yield from _replacement(actions, at)


def _replacement(actions: Sequence[ToolCall], at: int) -> Iterator[Recovery]:
    """Return the next call if it is another plain tool with the same effect."""
    failed, after = actions[at], actions[at + 1 : at + 2]
    for later in after:
        alike = later.kind is failed.kind is ToolKind.FUNCTION and later.effect is failed.effect
        if alike and later.step.tool != failed.step.tool and not later.delegates:
            yield Recovery(failed=failed, worked=later, means=Means.REPLACED)


def _fix_key(recovery: Recovery) -> str:
    """Return what was done, without values that differ between sessions."""
    if recovery.means is Means.TRANSIENT:
        return AGAIN
    if recovery.means is Means.REPLACED:
        return f"{INSTEAD}{recovery.worked.label}"
    if recovery.installed:
        return f"{INSTALL}{(*recovery.enablers, recovery.worked)[0].label}"
    first = " and ".join(sorted(_enabler_text(action) for action in recovery.enablers))
    if recovery.means is Means.ENABLED:
        return f"after {first}"
    return f"after {first}, {_variation(recovery)}" if first else _variation(recovery)


def _enabler_text(action: ToolCall) -> str:
    return ", ".join(" ".join([*_command_verb(command), *sorted(set(command.flags))]) for command in action.programs)


def _command_verb(command: Command) -> list[str]:
    """Return what a command does; for an unknown program its first operand, if that is a bare word."""
    bare = command.operands[:1] if not command.subcommand and _WORD.fullmatch("".join(command.operands[:1])) else ()
    return [command.label, *bare]


def _variation(recovery: Recovery) -> str:
    """Return how the call that worked differs from the one that failed."""
    failed, worked = recovery.failed, recovery.worked
    if failed.kind is ToolKind.FUNCTION:
        before, after = essential(failed.step.arguments), essential(worked.step.arguments)
        return f"with {sorted(after.keys() - before.keys())} without {sorted(before.keys() - after.keys())}"
    if recovery.wrapped:
        return f"as {recovery.wrapped}"
    if recovery.replaced:
        return f"{INSTEAD}{worked.label}"
    flags = [{flag for command in action.programs for flag in command.flags} for action in (failed, worked)]
    gained, lost = sorted(flags[1] - flags[0]), sorted(flags[0] - flags[1])
    if not gained and not lost and worked.label == failed.label:
        gained = sorted(set(worked.command.split()) - set(failed.command.split()))
    return f"as {worked.label} with {gained} without {lost}"


def _exact_key(action: ToolCall) -> str:
    if action.kind is ToolKind.SHELL:
        command = " ".join(action.command.split())
        return _digest(command.replace(action.workspace, "{workspace}") if action.workspace else command)
    return _digest(f"{action.step.tool} {json.dumps(essential(action.step.arguments), sort_keys=True, default=str)}")


def _form_key(action: ToolCall) -> str:
    """Return programs and flags of a command, or a tool with the names of its arguments."""
    if action.kind is ToolKind.SHELL:
        return _digest(f"$ {[[command.label, *sorted(command.flags)] for command in action.programs]}")
    return _digest(f"{action.step.tool} of {sorted(essential(action.step.arguments))}")


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


MAX_TASK = 4_000
MAX_MOVES = 60
MAX_READINGS = 60
MAX_FACTS = 160
_MAX_ARGUMENTS = 2_000


def outline_of(trajectory: Trajectory, assessment: Assessment) -> Outline:
    """Outline one attempt."""
    actions = tool_calls(trajectory)
    course = failure_course(trajectory, actions)
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
        course=course,
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
