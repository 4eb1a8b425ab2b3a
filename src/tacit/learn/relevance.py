"""The actions of a successful attempt → those that the success rests on: dead ends, repeats and idle looking left out.

Errs towards keeping: what changed something stays, and so does a reading that a later call took a value from. It adds
nothing, reorders nothing and merges nothing, so every step that remains is one that somebody took.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence

from tacit.learn.actions import Action, Effect, Family, essential, leaves, same_call
from tacit.learn.timeline import Timeline
from tacit.learn.tokens import particular, run_specific
from tacit.text.tools import plain_name

_WHOLE_FILE = frozenset({"write", "write_file", "create", "create_file"})

_LISTING = frozenset({"ls", "glob", "grep"})
_SHOWING = frozenset({"cat", "head", "tail", "sed", "bat"})


def rests_on(actions: Sequence[Action], timeline: Timeline) -> tuple[Action, ...]:
    """The actions that the outcome rests on, in order."""
    worked = [action for action in actions if action.worked]
    worked = _without_undone(_without_overwritten(worked))
    worked = _last_checks_only(worked)
    writes = any(action.effect is not Effect.READ for action in worked)
    calls = _Calls(worked)
    used = _Used(timeline)
    opening = _opening_for_edit(worked)
    kept: list[Action] = []
    for at in range(len(worked) - 1, -1, -1):
        action = worked[at]
        if action.effect is not Effect.READ or (not writes and action.family is Family.CALL):
            keep = writes or calls.first(at) == at
        else:
            keep = at in opening or calls.confirms(at) or used.takes_from(action)
        if keep:
            kept.append(action)
            used.waiting.append(action)
    return tuple(reversed(kept))


class _Calls:
    """Which actions are the same call, found without comparing each with each."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = actions
        self._last_write = max((i for i, action in enumerate(actions) if action.effect is Effect.WRITE), default=-1)
        self._groups: dict[int, list[int]] = {}
        alike: dict[Hashable, list[list[int]]] = {}
        for at, action in enumerate(actions):
            groups = alike.setdefault(_rough(action), [])
            group = next((found for found in groups if same_call(actions[found[0]].step, action.step)), None)
            if group is None:
                group = []
                groups.append(group)
            group.append(at)
            self._groups[at] = group

    def first(self, at: int) -> int:
        """The first action that is this call."""
        return self._groups[at][0]

    def confirms(self, at: int) -> bool:
        """A reading after the last change that answers otherwise than it did before: it shows the effect."""
        action, group = self._actions[at], self._groups[at]
        if action.family is not Family.CALL or at < self._last_write or group[-1] != at or group[0] == at:
            return False
        return self._actions[group[0]].step.observation != action.step.observation


def _rough(action: Action) -> Hashable:
    """Equal for equal calls; seldom equal for others."""
    plain = (str, int, float)
    arguments = essential(action.step).items()
    return action.step.tool, frozenset((key, value if isinstance(value, plain) else None) for key, value in arguments)


class _Used:
    """The answers that later calls took a value from."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.waiting: list[Action] = []
        """Kept actions whose values have not been looked up yet."""
        self._any: set[int] = set()
        self._specific: set[int] = set()

    def takes_from(self, action: Action) -> bool:
        """Whether a later call uses a value that was first seen in this answer."""
        while self.waiting:
            self._look_up(self.waiting.pop())
        if action.index in self._specific or action.index not in self._any:
            return action.index in self._specific
        # A name found by looking around is written into the later steps; only if another run would find another name,
        # because the search depends on the task or the value is an id, does the search belong to the procedure.
        return action.family is Family.CALL or _depends_on_task(action, self._timeline)

    def _look_up(self, action: Action) -> None:
        for value in _values(action):
            place = self._timeline.first_seen(value, before=action.index)
            if place is not None and place.part == "observation":
                self._any.add(place.step)
                if run_specific(value):
                    self._specific.add(place.step)


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
        kept.append(action)
    return kept[::-1]


def _without_undone(actions: Sequence[Action]) -> list[Action]:
    """Drop an edit and the later edit that took it back."""
    edits: dict[tuple[str, str, str], deque[int]] = {}
    for at, action in enumerate(actions):
        if edit := _edit(action):
            edits.setdefault(edit, deque()).append(at)
    dropped: set[int] = set()
    for at, action in enumerate(actions):
        edit = _edit(action)
        if edit is None or at in dropped or edit[1] == edit[2]:
            continue
        back = edits.get((edit[0], edit[2], edit[1]), deque())
        while back and (back[0] <= at or back[0] in dropped):
            back.popleft()
        if back:
            dropped |= {at, back.popleft()}
    return [action for at, action in enumerate(actions) if at not in dropped]


def _edit(action: Action) -> tuple[str, str, str] | None:
    old, new = action.step.arguments.get("old_string"), action.step.arguments.get("new_string")
    return (action.path, old, new) if isinstance(old, str) and isinstance(new, str) else None


def _last_checks_only(actions: Sequence[Action]) -> list[Action]:
    """Of a check that was run several times, keep the last run."""
    kept: list[Action] = []
    seen: set[str] = set()
    for action in reversed(actions):
        if action.effect is Effect.CHECK and action.family is Family.SHELL:
            if action.label in seen:
                continue
            seen.add(action.label)
        kept.append(action)
    return kept[::-1]


def _depends_on_task(action: Action, timeline: Timeline) -> bool:
    typed = "\n".join(str(value) for _, value in leaves(essential(action.step)))
    return any(piece in typed for piece in timeline.named)


def _values(action: Action) -> tuple[str, ...]:
    if action.family is Family.CALL:
        texts = (str(value) for _, value in leaves(action.step.arguments) if not isinstance(value, bool))
        return tuple(text for text in texts if len(text) >= 3 or text.isdigit())
    text = "\n".join(str(value) for _, value in leaves(essential(action.step)))
    return particular(text)


def _opening_for_edit(actions: Sequence[Action]) -> frozenset[int]:
    """The last look into each file before its first change."""
    first_edit: dict[str, int] = {}
    for at, action in enumerate(actions):
        if action.effect is Effect.WRITE and action.path:
            first_edit.setdefault(action.path, at)
    last_look: dict[str, int] = {}
    for at, action in enumerate(actions):
        last_look.update({path: at for path in _looked_into(action, first_edit) if at < first_edit[path]})
    return frozenset(last_look.values())


def _looked_into(action: Action, paths: Mapping[str, int]) -> list[str]:
    if action.effect is not Effect.READ:
        return []
    if action.family is Family.FILE:
        return [action.path] if action.path in paths and plain_name(action.step.tool) not in _LISTING else []
    shown = tuple(
        command.operands[-1] for command in action.commands if command.program in _SHOWING and command.operands
    )
    return [path for path in paths if path.endswith(shown)] if shown else []
