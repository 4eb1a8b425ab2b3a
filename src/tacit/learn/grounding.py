"""Collects, field by field, which spans of the trajectory a candidate rests on, and hence who vouches for each field.

The origin of a field is the lowest origin of its spans. There is no way to state an origin that the spans do not give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tacit.domain.origin import Origin, lowest
from tacit.domain.trajectory import Role, Span, Trajectory
from tacit.learn.actions import Action, Family, leaves
from tacit.learn.timeline import Timeline
from tacit.learn.tokens import HOST, PATH, literals

_PARAMETER = re.compile(r"\{\w+\}")
_INSTALLERS = frozenset({"install", "add", "i", "get", "require", "ci"})


class Ledger:
    """Field path → spans, and the origins that follow."""

    def __init__(self, trajectory: Trajectory) -> None:
        """Open an empty ledger for one trajectory."""
        self._steps = trajectory.steps
        # Where an agent was started by another, what stands in the person's place is that other agent's.
        self._asker = Origin.AGENT if trajectory.parent_session_id else Origin.USER
        self._spans: dict[str, tuple[Span, ...]] = {}

    def rest(self, path: str, spans: Iterable[Span]) -> None:
        """Note that a field rests on these spans (beside those noted before)."""
        self._spans[path] = tuple(dict.fromkeys((*self._spans.get(path, ()), *spans)))

    @property
    def grounding(self) -> dict[str, tuple[Span, ...]]:
        """Every field with its spans."""
        return dict(self._spans)

    @property
    def origins(self) -> dict[str, Origin]:
        """Every field with the lowest origin of its spans."""
        return {path: lowest(self.origin_of(span) for span in spans) for path, spans in self._spans.items()}

    def origin_of(self, span: Span) -> Origin:
        """Who wrote this part of the trajectory; the task's own text, where no step states it, is the asker's."""
        step = self._steps[span.step] if 0 <= span.step < len(self._steps) else None
        if step is None or step.index != span.step:  # not numbered from nought on
            step = next((other for other in self._steps if other.index == span.step), None)
        if step is None:
            return self._asker if span.part == "text" else Origin.EXTERNAL
        return lowest((step.origin_of(span.part), self._asker)) if step.role is Role.USER else step.origin_of(span.part)


def action_spans(action: Action, timeline: Timeline, *, arguments: Any, workspace: str = "") -> tuple[Span, ...]:
    """The call itself, and every observation that a literal still standing in its `arguments` was copied from."""
    own = Span(timeline.trajectory_id, action.index, "arguments")
    copied: dict[Span, None] = {}
    for literal in dict.fromkeys(_literals(action, arguments, workspace=workspace)):
        place = timeline.copied(literal, before=action.index)
        if place is not None:
            copied.setdefault(timeline.span(place))
    return (own, *copied)


def _literals(action: Action, arguments: Any, *, workspace: str) -> Iterator[str]:
    """What would be dangerous if somebody outside had slipped it in."""
    for command in action.commands:
        if len(command.text) >= 8 and " " in command.text:
            yield command.text
        if command.subcommand.rsplit(" ", 1)[-1] in _INSTALLERS:
            yield from command.operands
    # A plain tool's values from earlier answers have become parameters; what is left is what the skill will say. In a
    # command or a file text the piece as it was typed counts, even if a part of it became a parameter.
    source = arguments if action.family is Family.CALL else action.step.arguments
    for _, value in leaves(source):
        if isinstance(value, str):
            text = _PARAMETER.sub("\n", value) if action.family is Family.CALL else value
            yield from (piece for piece in literals(text) if not is_inside(piece, workspace))


def is_inside(piece: str, workspace: str) -> bool:
    """Whether a piece is nothing but a path inside the workspace; what may as well be a host and its page is not."""
    if re.search(r"[\s@~$]|://|\.\.|^[\w-]+\.[\w.-]+/", piece) or HOST.match(piece):
        return False
    if piece.startswith("/"):
        return bool(workspace) and (piece == workspace or piece.startswith(workspace.rstrip("/") + "/"))
    return "/" in piece or bool(PATH.fullmatch(piece))
