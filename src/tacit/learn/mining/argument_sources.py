"""Finds what was known before a call, and the places that held the values of its arguments.

`KnownBeforeCall` collects the user's messages and the answers before one call. `ArgumentSource` is a place shared by several
calls; `refine_source` adds conditions that select the right record. `general_calls` decides which places are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.text.tool_calls import leaves, tool_call
from tacit.text.value_lookup import Leaf, field_of, is_mentioned, leaves_of, stands_in, value_text

_MAX_ANSWERS = 60
"""The latest answers before a call that are searched. Larger: older sources are found; time grows with it."""
_MAX_FIELDS = 24
"""Fields of a record that are tried as conditions, the most frequent first. Larger: slower, more chance matches."""
_MAX_LEAVES = 1_500
"""Values of one answer that are compared."""
_MAX_VALUES = 6_000
"""Values of all answers before a call that are in memory at once."""
_WORD_VALUE = re.compile(r"[^\W\d_]+(?:[ _-][^\W\d_]+){0,3}")
_ODD_FIELD = re.compile(r'["{}\n]| = | and | where | in task')
_WORTH = 0.05
"""What a condition must add to the share of exact matches. Larger: fewer conditions, more values to choose from."""
_KEPT = 0.97
"""The share of explained calls that a condition must keep. Smaller: conditions that fail in some tasks."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One call in a successful attempt. `task` separates tasks with the same text."""

    trajectory: Trajectory
    step: Step
    task: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerValue:
    """One value in the answer of a tool."""

    leaf: Leaf
    step: int
    echo: bool
    """Whether the answering call was itself given this value under this name."""


@dataclass(slots=True)
class KnownBeforeCall:
    """What was known before one call."""

    occurrence: Occurrence
    task_text: str = ""
    user_messages: tuple[tuple[int, str], ...] = ()
    """The messages of the user, each with its step number."""
    answer_values: dict[tuple[str, str], list[AnswerValue]] = field(default_factory=dict)
    """Tool and path → the values there."""
    weight: float = 1.0
    group: int = 0
    """Calls of one group belong to one task."""
    _places: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    _stated: dict[str, bool] = field(default_factory=dict)
    _mentioned: dict[str, bool] = field(default_factory=dict)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the call."""
        return self.occurrence.step.arguments

    def stated(self, value: Any) -> bool:
        """Whether the user named a value."""
        text = str(value).strip()
        if text not in self._stated:
            self._stated[text] = stands_in(text, self.task_text)
        return self._stated[text]

    def mentioned(self, value: Any) -> bool:
        """Whether the user mentioned a value, if only by a part of its name."""
        text = str(value).strip()
        if text not in self._mentioned:
            self._mentioned[text] = is_mentioned(text, self.task_text)
        return self._mentioned[text]

    def places_of(self, values: Sequence[Any]) -> set[tuple[str, str]]:
        """Return the places that held all these values."""
        found = [self._places.get(value_text(value), set()) for value in values]
        return set.intersection(*found) if found else set()

    def span_of_words(self, value: Any) -> Span:
        """Return the message in which the user named a value."""
        step = next((index for index, text in self.user_messages if stands_in(value, text)), -1)
        return Span(self.occurrence.trajectory.id, step, "text")


def known_before(occurrence: Occurrence) -> KnownBeforeCall:
    """Collect what came before a call."""
    user_messages: list[tuple[int, str]] = []
    call = KnownBeforeCall(occurrence)
    before: list[Step] = []
    for step in occurrence.trajectory.steps:
        if step.index >= occurrence.step.index:
            break
        if step.role is Role.USER and step.text:
            user_messages.append((step.index, step.text))
        if step.is_action and tool_call(step).worked:
            before.append(step)
    texts = [text for _, text in user_messages]
    task = occurrence.trajectory.task.text
    call.task_text = "\n".join([task, *texts] if task not in texts else texts)
    call.user_messages = tuple(user_messages)
    left = _MAX_VALUES
    for step in reversed(before[-_MAX_ANSWERS:]):
        given = {(name, value_text(value)) for name, value in leaves(step.arguments)}
        found = leaves_of(step.observation, most=_MAX_LEAVES)[:left] if left else ()
        left -= len(found)
        for leaf in found:
            name = re.split(r"\.|\[\]", leaf.path.removesuffix("[]"))[-1]
            place, text = (step.tool, leaf.path), value_text(leaf.value)
            answer = AnswerValue(leaf=leaf, step=step.index, echo=(name, text) in given)
            call.answer_values.setdefault(place, []).append(answer)
            call._places.setdefault(text, set()).add(place)
    return call


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """A condition on a field of the record around a value: it is mentioned in the task, or a fixed value."""

    field: str
    value: str = ""

    def __str__(self) -> str:
        """Return the rule in the form that `value_lookup` parses."""
        return f'{self.field} = "{self.value}"' if self.value else f"{self.field} in task"

    def holds(self, leaf: Leaf, call: KnownBeforeCall) -> bool:
        """Whether the record around a value meets the rule."""
        found = field_of(leaf, self.field)
        if found is None:
            return False
        return value_text(found) == self.value if self.value else call.mentioned(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentSource:
    """A place, the share of calls it explains, and how often it leaves exactly the value used."""

    tool: str
    path: str
    rules: tuple[SelectionRule, ...] = ()
    coverage: float = 0.0
    exact: float = 0.0
    echo: float = 0.0
    order: float = 0.0

    @property
    def key(self) -> str:
        """The place in the form that `value_lookup` parses."""
        return self.path + (f" where {' and '.join(map(str, self.rules))}" if self.rules else "")

    def answer_values(self, call: KnownBeforeCall) -> list[AnswerValue]:
        """Return the values that the place offers in one attempt."""
        found = call.answer_values.get((self.tool, self.path), ())
        return [answer for answer in found if all(rule.holds(answer.leaf, call) for rule in self.rules)]


Used = Sequence[tuple[KnownBeforeCall, Sequence[Any]]]
"""The calls that had an argument, each with its value or the values of its list."""


def measure_source(tool: str, path: str, used: Used, *, rules: tuple[SelectionRule, ...] = ()) -> ArgumentSource:
    """Return a place with its weighted counts over some calls."""
    bare = ArgumentSource(tool=tool, path=path, rules=rules)
    total = sum(call.weight for call, _ in used) or 1.0
    covered = exact = echo = order = 0.0
    for call, values in used:
        answer_values = bare.answer_values(call)
        wanted, offered = (
            {value_text(value) for value in values},
            {value_text(answer.leaf.value) for answer in answer_values},
        )
        if not wanted <= offered:
            continue
        covered += call.weight
        if len(offered) > len(wanted):
            offered = {text for text in offered if call.stated(text)} or offered
        exact += call.weight * (offered == wanted)
        meant = [answer for answer in answer_values if value_text(answer.leaf.value) in wanted]
        echo += call.weight * all(answer.echo for answer in meant)
        order += call.weight * min(answer.step for answer in meant)
    return ArgumentSource(
        tool=tool,
        path=path,
        rules=rules,
        coverage=covered / total,
        exact=exact / total,
        echo=echo / covered if covered else 0.0,
        order=order / covered if covered else 0.0,
    )


def sources_of(used: Used, *, at_least: float) -> list[ArgumentSource]:
    """Return the places that explain at least this share of the calls, the best first."""
    total = sum(call.weight for call, _ in used) or 1.0
    counts: Counter[tuple[str, str]] = Counter()
    for call, values in used:
        for place in sorted(call.places_of(values)):
            counts[place] += call.weight  # type: ignore[assignment]
    likely = sorted(place for place, weight in counts.items() if weight / total >= at_least)
    found = [measure_source(tool, path, used) for tool, path in likely]
    return sorted(found, key=lambda source: (-source.coverage, -source.exact, source.tool, source.path))


def refine_source(source: ArgumentSource, used: Used) -> ArgumentSource:
    """Return a place with up to two conditions that leave fewer values and keep the right ones."""
    floor = source.coverage * _KEPT
    for _ in range(2):
        tried = [
            measure_source(source.tool, source.path, used, rules=(*source.rules, rule)) for rule in _rules(source, used)
        ]
        better = [one for one in tried if one.coverage >= floor and one.exact >= source.exact + _WORTH]
        if not better:
            break
        source = min(better, key=lambda one: (-round(one.exact, 3), -round(one.coverage, 3), one.key))
    return source


def _rules(source: ArgumentSource, used: Used) -> Iterator[SelectionRule]:
    """Yield conditions that the right records may have in common."""
    fields: dict[str, Counter[str]] = {}
    attempts: dict[tuple[str, str], set[str]] = {}
    for call, values in used:
        wanted = {value_text(value) for value in values}
        for answer in source.answer_values(call):
            if value_text(answer.leaf.value) not in wanted:
                continue
            for record in answer.leaf.records:
                for name, value in record.items():
                    if isinstance(value, dict | list) or value is None or _ODD_FIELD.search(name):
                        continue
                    fields.setdefault(name, Counter())[value_text(value)] += 1
                    if not call.stated(value):
                        attempts.setdefault((name, value_text(value)), set()).add(call.occurrence.trajectory.id)
    taken = {rule.field for rule in source.rules}
    usual = sorted(fields, key=lambda name: (-fields[name].total(), name))[:_MAX_FIELDS]
    for name in (name for name in usual if name not in taken):
        yield SelectionRule(name)
        text, _ = min(fields[name].items(), key=lambda item: (-item[1], item[0]))
        # Only words such as a status, never personal values.
        if _WORD_VALUE.fullmatch(text) and len(attempts.get((name, text), ())) >= 3:
            yield SelectionRule(name, text)


def argument_at(arguments: Any, path: tuple[str, ...]) -> Any | None:
    """Return the argument at a path of names, or None; behind `[]` the values of all records."""
    for place, name in enumerate(path):
        if name == "[]":
            rows = arguments if isinstance(arguments, list | tuple) else ()
            found = [value for row in rows if (value := argument_at(row, path[place + 1 :])) is not None]
            return found or None
        if not isinstance(arguments, Mapping) or name not in arguments:
            return None
        arguments = arguments[name]
    return arguments
