"""Turns slots of several calls into the parameters of a procedure: one for all places that change together.

Slots with equal values in every attempt are one parameter. A value that never varies is no parameter unless it came from an
answer: external text does not enter the skill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.domain.skill import Parameter
from tacit.domain.trajectory import Origin, Span
from tacit.learn.consensus.step_columns import DraftSource, StepColumn
from tacit.learn.consensus.templates import ENOUGH, Slot, Template, Text
from tacit.learn.parameters import Binding, Generalisation, role_of
from tacit.learn.values import EMAIL, PLACEHOLDER, ValueSighting, first_free, type_of
from tacit.text.tool_calls import ToolKind, leaves
from tacit.text.value_lookup import TASK, shape_of

_GENERIC = frozenset({"value", "number", "id"})
_PRIVATE_NAMES = frozenset(
    {"email", "phone", "address", "user", "username", "customer", "account", "name", "token", "key"}
)
_PATH_KEYS = frozenset({"file_path", "filePath", "path", "absolute_path", "notebook_path", "filename"})
_WORKSPACE = Parameter(name="workspace", description="the project's root folder", type="path")


@dataclass(slots=True)
class _Group:
    """Slots with one value."""

    values: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    calls: dict[int, int] = field(default_factory=dict)
    """Attempt → the step whose call first had it."""
    places: dict[int, ValueSighting | None] = field(default_factory=dict)
    parameter: Parameter | None = None

    def takes(self, slot: Slot) -> bool:
        shared = self.values.keys() & slot.values.keys()
        if not shared or any(self.values[at] != str(slot.values[at]) for at in shared):
            return False
        return len(shared) > 1 or any(slot.names.get(at) and self.names.get(at) == slot.names[at] for at in shared)

    def add(self, slot: Slot, calls: Mapping[int, int]) -> None:
        self.slots.append(slot)
        for at, value in slot.values.items():
            self.values.setdefault(at, str(value))
            self.calls.setdefault(at, calls[at])
        self.names.update({at: name for at, name in slot.names.items() if at not in self.names})

    def attempts_from(self, origin: Origin) -> list[int]:
        """Return the attempts in which the value was first seen in a text of this origin."""
        return sorted(at for at, place in self.places.items() if place is not None and place.origin is origin)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a procedure, and how to put them into calls and texts."""

    sources: Sequence[DraftSource]
    groups: tuple[_Group, ...]

    @property
    def all(self) -> tuple[Parameter, ...]:
        """Return the parameters in order of first use, without the workspace."""
        return tuple(group.parameter for group in self.groups if group.parameter is not None)

    def drop_unused(self, texts: Sequence[str]) -> None:
        """Remove parameters that occur in none of the texts."""
        for group in self.groups:
            if group.parameter is not None and not any(f"{{{group.parameter.name}}}" in text for text in texts):
                group.parameter = None

    def arguments_of(self, template: Template) -> dict[str, Any]:
        """Return the arguments of a call with parameters in place."""
        names = {id(slot): group.parameter for group in self.groups for slot in group.slots}
        return {key: _fill_slots(value, names) for key, value in template.arguments.items()}

    def general(self, source: int, *, stated: bool = False) -> Generalisation:
        """Return how to put the parameters into a text of one attempt; `stated`: only those its task names."""
        bindings = [
            Binding(parameter=group.parameter, original=value, place=ValueSighting(Origin.USER, 0, "text"))
            for group in self.groups
            if group.parameter is not None
            and (len(value := group.values.get(source, "")) > 1 or value.isdigit())
            and (source in group.attempts_from(Origin.USER) or not (stated or group.attempts_from(Origin.EXTERNAL)))
        ]
        return Generalisation(tuple(bindings), self.sources[source].trajectory.environment.workspace)

    def spans(self) -> Iterator[tuple[Span, ...]]:
        """Return the spans of each parameter."""
        for group in self.groups:
            if group.parameter is None:
                continue
            found: list[Span] = []
            for at in sorted(group.values):
                place, trajectory = group.places.get(at), self.sources[at].trajectory.id
                if place is None:
                    found.append(Span(trajectory, group.calls[at], "arguments"))
                else:  # the name of a bound parameter comes from the tool, not from the answer
                    part = "tool" if place.origin is Origin.EXTERNAL else place.part
                    found.append(Span(trajectory, place.step, part))
            yield tuple(dict.fromkeys(found))


def workspace_parameter(arguments: Sequence[Mapping[str, Any]]) -> Parameter | None:
    """Return the parameter for the project's folder, if a call names it."""
    texts = (str(value) for mapping in arguments for _, value in leaves(mapping))
    return _WORKSPACE if any("{workspace}" in text for text in texts) else None


def parameters_of(
    columns: Sequence[StepColumn], templates: Sequence[Template], sources: Sequence[DraftSource]
) -> Parameters:
    """Group the slots of the calls and name the parameters."""
    groups: list[_Group] = []
    for column, template in zip(columns, templates, strict=True):
        calls = {step.source: step.action.index for step in reversed(column.steps)}
        for slot in template.slots:
            group = next((found for found in groups if found.takes(slot)), None)
            if group is None:
                group = _Group()
                groups.append(group)
            group.add(slot, calls)
    taken = {"workspace"} | {name for template in templates for name in _literal_names(template)}
    for group in groups:
        group.places = {at: _value_source(group, at, sources[at]) for at in group.values}
    # Values of the task are named first.
    for group in sorted(groups, key=lambda found: (not found.attempts_from(Origin.USER), -len(found.names))):
        if _is_parameter(group, sources):
            group.parameter = _parameter_of(group, sources, templates, taken)
    return Parameters(sources, tuple(groups))


def _is_parameter(group: _Group, sources: Sequence[DraftSource]) -> bool:
    """Whether a value differs between tasks, is an address, or came from an answer."""
    same = len(set(group.values.values())) == 1
    known = len(group.values) >= ENOUGH or (len(sources) >= ENOUGH and len(group.values) == len(sources))
    personal = any(EMAIL.search(value) for value in group.values.values())
    return personal or bool(group.attempts_from(Origin.EXTERNAL)) or not (same and known)


def _value_source(group: _Group, at: int, source: DraftSource) -> ValueSighting | None:
    """Return where a value came from: the draft's binding, or the task; nothing if the agent chose it."""
    bound = source.bindings.get(group.names.get(at, ""))
    if bound is not None:
        return bound.place
    return source.timeline.stated(group.values[at], before=group.calls[at])


def _parameter_of(
    group: _Group, sources: Sequence[DraftSource], templates: Sequence[Template], taken: set[str]
) -> Parameter:
    """Return the parameter of a group: from an answer, from the task, or chosen by the agent."""
    name = _free_name(_role_name(group, sources, templates), taken)
    words = re.sub(r"_\d+$", "", name).replace("_", " ")
    stated, bound = group.attempts_from(Origin.USER), group.attempts_from(Origin.EXTERNAL)
    newest = group.values[max(group.values)]
    personal = bool(EMAIL.search(newest)) or name in _PRIVATE_NAMES or re.search(r"\d{6}", newest)
    parameter = Parameter(name=name, type=_type(group, sources))
    if bound:
        tool = _answering_tool(group, sources, bound)
        description = f"from the result of `{tool}`" if tool else f"{words} from an earlier answer"
        return replace(parameter, description=description, reading=tool)
    if len(stated) * 2 <= len(group.values):
        example = "" if personal or _was_copied(group, sources) else newest
        return replace(parameter, description=f"{words}: differs from task to task", example=example)
    parameter = replace(
        parameter, description=f"{words} named in the task", example="" if personal else group.values[stated[-1]]
    )
    if all(group.values[at].casefold() in sources[at].timeline.user_text.casefold() for at in stated):
        return replace(parameter, reading=TASK, key=shape_of(*(group.values[at] for at in stated)))
    return parameter


def _was_copied(group: _Group, sources: Sequence[DraftSource]) -> bool:
    """Whether an answer contained it before the agent used it."""
    newest = max(group.values)
    return sources[newest].timeline.copied(group.values[newest], before=group.calls[newest]) is not None


def _answering_tool(group: _Group, sources: Sequence[DraftSource], bound: Sequence[int]) -> str:
    """Return the tool whose answers held the value, if it was always the same."""
    tools = set()
    for at in bound:
        place = group.places[at]
        steps = sources[at].trajectory.steps
        tools.add(next((step.tool for step in steps if place is not None and step.index == place.step), ""))
    return tools.pop() if len(tools) == 1 else ""


def _role_name(group: _Group, sources: Sequence[DraftSource], templates: Sequence[Template]) -> str:
    """Return the name that most attempts suggest."""
    votes: list[str] = []
    for at in sorted(group.values):
        if group.names.get(at):
            votes.append(re.sub(r"_\d+$", "", group.names[at]))
        else:
            typed = [str(leaf) for step in sources[at].steps for _, leaf in leaves(step.action.step.arguments)]
            votes.append(role_of(group.values[at], sources[at].timeline.user_text, calls=typed))
    telling = [vote for vote in votes if vote.lower() not in _GENERIC]
    if telling:
        return max(telling, key=lambda vote: (telling.count(vote), -telling.index(vote)))
    calls = {
        id(slot) for template in templates if template.model.action.kind is ToolKind.FUNCTION for slot in template.slots
    }
    for slot in group.slots:
        if slot.whole_argument and slot.key and id(slot) in calls:
            return slot.key
        if slot.key in _PATH_KEYS:
            return "name"
    return votes[0]


def _type(group: _Group, sources: Sequence[DraftSource]) -> str:
    kinds: list[str] = []
    for at, value in sorted(group.values.items()):
        bound = sources[at].bindings.get(group.names.get(at, ""))
        kinds.append(bound.parameter.type if bound else type_of(value))
    return kinds[0] if len(set(kinds)) == 1 else "string"


def _free_name(wish: str, taken: set[str]) -> str:
    name = re.sub(r"\W+|__+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", wish)).strip("_").lower()
    chosen = first_free(name if name[:1].isalpha() else "value", taken)
    taken.add(chosen)
    return chosen


def _literal_names(template: Template) -> Iterator[str]:
    """Yield names in braces that occur in the call and are no parameters."""
    for _, leaf in leaves(template.arguments):
        if isinstance(leaf, Text):
            yield from PLACEHOLDER.findall("".join(piece for piece in leaf.pieces if isinstance(piece, str)))


def _fill_slots(value: Any, names: Mapping[int, Parameter | None]) -> Any:
    if isinstance(value, Mapping):
        return {key: _fill_slots(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fill_slots(item, names) for item in value]
    if isinstance(value, Text):
        only = value.pieces[0] if len(value.pieces) == 1 else ""
        if isinstance(only, Slot) and names.get(id(only)) is None and only.original is not None:
            return only.original  # a number that never varies stays a number
        return "".join(piece if isinstance(piece, str) else _slot_text(piece, names) for piece in value.pieces)
    return _slot_text(value, names) if isinstance(value, Slot) else value


def _slot_text(slot: Slot, names: Mapping[int, Parameter | None]) -> str:
    parameter = names.get(id(slot))
    return f"{{{parameter.name}}}" if parameter is not None else slot.literal
