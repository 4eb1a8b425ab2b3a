"""The actions of a successful attempt → those that the success rests on: dead ends, repeats and idle looking left out.

Errs towards keeping: what changed something stays, and so does a reading that a later call took a value from. It adds
nothing, reorders nothing and merges nothing, so every step that remains is one that somebody took.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.synthesis.actions import Action, Effect, Family, essential, leaves, plain_name, same_call
from tacit.synthesis.timeline import Timeline
from tacit.synthesis.tokens import named, particular, run_specific

_WHOLE_FILE = frozenset({"write", "write_file", "create", "create_file"})


def rests_on(actions: Sequence[Action], timeline: Timeline) -> tuple[Action, ...]:
    """The actions that the outcome rests on, in order."""
    worked = [action for action in actions if action.worked]
    worked = _without_undone(_without_overwritten(worked))
    worked = _last_checks_only(worked)
    writes = any(action.effect is not Effect.READ for action in worked)
    kept: list[Action] = []
    for at in range(len(worked) - 1, -1, -1):
        action = worked[at]
        if action.effect is not Effect.READ or (not writes and action.family is Family.CALL):
            keep = writes or not _repeats_earlier(worked, at)
        else:
            keep = _confirms(worked, at) or _contributes(action, kept, timeline=timeline) or _opens_for_edit(worked, at)
        if keep:
            kept.insert(0, action)
    return tuple(kept)


def _without_overwritten(actions: Sequence[Action]) -> list[Action]:
    """Drop changes to a file that was written anew as a whole later on."""
    kept: list[Action] = []
    rewritten: set[str] = set()
    for action in reversed(actions):
        changes_file = action.family is Family.FILE and action.effect is Effect.WRITE and action.path
        if changes_file and action.path in rewritten:
            continue
        if changes_file and plain_name(action.step.tool) in _WHOLE_FILE:
            rewritten.add(action.path)
        kept.insert(0, action)
    return kept


def _without_undone(actions: Sequence[Action]) -> list[Action]:
    """Drop an edit and the later edit that took it back."""
    dropped: set[int] = set()
    for i, first in enumerate(actions):
        for second in actions[i + 1 :]:
            if first.index not in dropped and second.index not in dropped and _takes_back(first, second):
                dropped |= {first.index, second.index}
    return [action for action in actions if action.index not in dropped]


def _takes_back(first: Action, second: Action) -> bool:
    old, new = first.step.arguments.get("old_string"), first.step.arguments.get("new_string")
    if first.path != second.path or not isinstance(old, str) or not isinstance(new, str) or old == new:
        return False
    return second.step.arguments.get("old_string") == new and second.step.arguments.get("new_string") == old


def _last_checks_only(actions: Sequence[Action]) -> list[Action]:
    """Of a check that was run several times, keep the last run."""
    kept: list[Action] = []
    seen: set[str] = set()
    for action in reversed(actions):
        if action.effect is Effect.CHECK and action.family is Family.SHELL:
            if action.label in seen:
                continue
            seen.add(action.label)
        kept.insert(0, action)
    return kept


def _repeats_earlier(actions: Sequence[Action], at: int) -> bool:
    return any(same_call(earlier.step, actions[at].step) for earlier in actions[:at])


def _confirms(actions: Sequence[Action], at: int) -> bool:
    """A reading after the last change that answers otherwise than it did before: it shows the effect."""
    action = actions[at]
    if action.family is not Family.CALL or any(later.effect is Effect.WRITE for later in actions[at + 1 :]):
        return False
    if any(same_call(later.step, action.step) for later in actions[at + 1 :]):
        return False
    earlier = [other for other in actions[:at] if same_call(other.step, action.step)]
    return bool(earlier) and earlier[0].step.observation != action.step.observation


def _contributes(action: Action, later: Sequence[Action], *, timeline: Timeline) -> bool:
    """Whether a later call uses a value that was first seen in this answer."""
    # A name found by looking around is written into the later steps; only if another run would find another name,
    # because the search depends on the task or the value is an id, does the search belong to the procedure.
    explores = action.family is not Family.CALL
    depends = not explores or _depends_on_task(action, timeline)
    for other in later:
        for value in _values(other):
            if not depends and not run_specific(value):
                continue
            place = timeline.first_seen(value, before=other.index)
            if place is not None and place.step == action.index and place.part == "observation":
                return True
    return False


def _depends_on_task(action: Action, timeline: Timeline) -> bool:
    typed = "\n".join(str(value) for _, value in leaves(essential(action.step)))
    return any(piece in typed for piece in named(timeline.user_text))


def _values(action: Action) -> tuple[str, ...]:
    if action.family is Family.CALL:
        texts = (str(value) for _, value in leaves(action.step.arguments) if not isinstance(value, bool))
        return tuple(text for text in texts if len(text) >= 3 or text.isdigit())
    text = "\n".join(str(value) for _, value in leaves(essential(action.step)))
    return particular(text)


def _opens_for_edit(actions: Sequence[Action], at: int) -> bool:
    """The last look into a file before its first change."""
    action = actions[at]
    edits = [i for i, other in enumerate(actions) if other.effect is Effect.WRITE and other.path]
    for path in {actions[i].path for i in edits}:
        first_edit = next(i for i in edits if actions[i].path == path)
        if at < first_edit and _looks_into(action, path):
            return not any(_looks_into(other, path) for other in actions[at + 1 : first_edit])
    return False


def _looks_into(action: Action, path: str) -> bool:
    if action.effect is not Effect.READ:
        return False
    if action.family is Family.FILE:
        return action.path == path and plain_name(action.step.tool) not in ("ls", "glob", "grep")
    return any(command.program in ("cat", "head", "tail", "sed", "bat") and path.endswith(command.operands[-1])
               for command in action.commands if command.operands)  # fmt: skip
