"""Binds the arguments of a call that several successful attempts made to the places where their values come from.

Per argument the place that explains most calls is kept: the words of the task, or a part of an earlier answer. Constant
values stay. An unexplained value becomes a parameter without a source. Values that may be personal (names, addresses, ids)
are kept only if several independent tasks share them.

    task "line 555-1", get_lines() → [{"id": "L1", "phone": "555-1"}, …], refuel(line_id="L1", gigabytes=2)
    task "line 555-7", get_lines() → [{"id": "L9", "phone": "555-7"}, …], refuel(line_id="L9", gigabytes=2)
      ->  refuel(line_id={line_id}, gigabytes=2), where `line_id` is `id where phone in task` in the answer of `get_lines`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, pairwise
from typing import Any

from tacit.domain.skill import Parameter
from tacit.domain.trajectory import Span
from tacit.learn.mining.argument_sources import (
    AnswerValue,
    ArgumentSource,
    KnownBeforeCall,
    Occurrence,
    Used,
    argument_at,
    known_before,
    refine_source,
    sources_of,
)
from tacit.learn.mining.call_patterns import root_of
from tacit.learn.values import EMAIL, first_free
from tacit.text.value_lookup import FREE, TASK, one_of, shape_of, value_text, values_of_shape

__all__ = ["GeneralCall", "Occurrence", "generalise_call"]

SEVERAL = 3
"""Independent tasks from which a shared value counts as general. Smaller: values of one person enter skills.

`bench/binding.py` watches the numbers below: values bound to the right place, and how many values a place offers.
"""
_MAX_OCCURRENCES = 120
"""Calls that are compared per argument; it bounds the time."""
_MAJORITY = 0.5
"""The share of calls that must give an argument, and that a source must explain. Smaller: rare sources win by chance."""
_MAX_CHOICES = 8
"""Values of an argument that are listed as choices. Larger: names and amounts look like choices."""
_MIN_COVERED = 0.9
"""The share of an argument's values that the choices must cover. Smaller: an open set looks like a few choices."""
_MAX_SPANS = 12
"""Spans that are stored per parameter."""
_MAX_ROWS = 50
"""Records of a list argument whose fields are collected."""
_MAX_LISTED = 200
"""Values of one list that are compared; a longer one is a document."""
_MAX_DEPTH = 6
"""Levels of nested arguments that are looked into."""
_MAX_REFINED = 10
"""Sources that are refined per argument. Larger: slower, since refining is the expensive part."""
_NEAR_COVERAGE = 0.2
"""The coverage that a source may lack compared with the best one and still be refined. 0: only the best is tried."""
_ECHO = 0.05
"""The penalty of a place that repeats what its own call was given. 0: a value is bound to its echo, not to its source."""
_EXACT = 0.3
"""The bonus of a place that leaves no choice. Larger: exact places win even if they explain fewer calls."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralCall:
    """A general call: arguments with ``{name}``, and their parameters.

    A list of records is one record whose parameters are lists.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    """Parameter → the spans that its value came from."""


def generalise_call(occurrences: Sequence[Occurrence]) -> GeneralCall:
    """Find where the arguments of a call come from; all occurrences call one tool."""
    calls = _weighted_calls(_sample(occurrences))
    if not calls:
        return GeneralCall()
    arguments: dict[str, Any] = {}
    parameters: list[Parameter] = []
    spans: dict[str, tuple[Span, ...]] = {}
    taken: set[str] = set()
    for path in _paths(calls):
        used = [(call, value) for call in calls if (value := argument_at(call.arguments, path)) is not None]
        if sum(call.weight for call, _ in used) <= _MAJORITY * sum(call.weight for call in calls):
            continue  # rarely given: optional and left out
        literal = _constant(used, rows="[]" in path)
        if literal is not None and not (
            any(map(_is_record_value, _values_of(literal))) and _best_source(_values_per_call(used))
        ):
            _set_path(arguments, path, literal)
            continue
        name = _parameter_name(path, taken)
        parameter, found = _parameter(name, used)
        parameters.append(parameter)
        spans[name] = tuple(dict.fromkeys(found))[:_MAX_SPANS]
        _set_path(arguments, path, f"{{{name}}}")
    return GeneralCall(
        arguments=_in_call_order(arguments, calls[0].arguments), parameters=tuple(parameters), spans=spans
    )


# --- the calls ------------------------------------------------------------------------------------------------------


def _sample(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Return at most this many calls, spread over all of them, independent of their order."""
    ordered = sorted(occurrences, key=lambda one: (one.trajectory.id, one.step.index))
    # Some logs omit arguments: a call without any, where others have some, is no evidence.
    ordered = [one for one in ordered if one.step.arguments] or ordered
    if len(ordered) <= _MAX_OCCURRENCES:
        return ordered
    return [ordered[index * len(ordered) // _MAX_OCCURRENCES] for index in range(_MAX_OCCURRENCES)]


def _weighted_calls(occurrences: Sequence[Occurrence]) -> list[KnownBeforeCall]:
    """Return the calls with what was known before each; attempts at one task share one weight."""
    groups = _task_groups(occurrences)
    sizes = Counter(groups)
    calls = [known_before(one) for one in occurrences]
    for call, group in zip(calls, groups, strict=True):
        call.weight, call.group = 1 / sizes[group], group
    return calls


def _task_groups(occurrences: Sequence[Occurrence]) -> list[int]:
    """Return which calls belong to one task: same name or words, or a shared id."""
    parent = {index: index for index in range(len(occurrences))}
    first: dict[tuple[str, str], int] = {}
    for index, one in enumerate(occurrences):
        marks = [("task", one.task or " ".join(one.trajectory.task.text.casefold().split()))]
        if not one.task:
            values = (
                value
                for path in _argument_paths(one.step.arguments)
                for value in _values_of(argument_at(one.step.arguments, path))
            )
            marks += [
                ("id", value_text(value))
                for value in values
                if _is_record_value(value) and shape_of(str(value)) != "<date>"
            ]
        for mark in marks:
            parent[root_of(parent, index)] = root_of(parent, first.setdefault(mark, index))
    return [root_of(parent, index) for index in parent]


def _paths(calls: Sequence[KnownBeforeCall]) -> list[Path]:
    """Return the paths of all arguments."""
    found = {path for call in calls for path in _argument_paths(call.arguments)}
    inner = {path[:length] for path in found for length in range(1, len(path))}
    return sorted(found - inner)  # an empty list where another call has records


def _argument_paths(arguments: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    """Yield the paths of all arguments; a list of records continues behind `[]` as one record."""
    for name, value in arguments.items():
        path = (*above, str(name))
        rows = value[:_MAX_ROWS] if isinstance(value, list | tuple) and len(above) < _MAX_DEPTH else ()
        if isinstance(value, Mapping) and value and len(above) < _MAX_DEPTH:
            yield from _argument_paths(value, path)
        elif rows and all(isinstance(row, Mapping) and row for row in rows):
            yield from dict.fromkeys(inner for row in rows for inner in _argument_paths(row, (*path, "[]")))
        else:
            yield path


def _set_path(arguments: dict[str, Any], path: Path, value: Any) -> None:
    place: Any = arguments
    for name, following in pairwise(path):
        place = place[0] if name == "[]" else place.setdefault(name, [{}] if following == "[]" else {})
    place[path[-1]] = value


def _in_call_order(arguments: dict[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the order of the calls."""
    places = {str(name): place for place, name in enumerate(typed)}
    return dict(sorted(arguments.items(), key=lambda item: (places.get(item[0], len(places)), item[0])))


def _parameter_name(path: Path, taken: set[str]) -> str:
    """Return the argument's own name, prefixed by the name around it where two would be equal."""
    words = [re.sub(r"\W+", "_", part).strip("_") or "value" for part in path if part != "[]"]
    longer = ("_".join(words[start:]) for start in range(len(words) - 1, -1, -1))
    name = next((name for name in longer if name not in taken), "") or first_free(words[-1], taken)
    taken.add(name)
    return name


# --- one argument ---------------------------------------------------------------------------------------------------


def _parameter(name: str, used: Sequence[tuple[KnownBeforeCall, Any]]) -> tuple[Parameter, list[Span]]:
    """Decide where the value of an argument comes from; return the parameter and the spans that show it."""
    per_call = _values_per_call(used)
    kind = _json_type([value for _, value in used])
    best = _best_source(per_call)
    choices = _choices(per_call)
    shape, task_score, in_task = _task_source(per_call, choices)
    parameter = Parameter(name=name, type=kind, example=choices[0] if choices else "")
    if best is not None and (not shape or _source_score(best) >= task_score):
        spans = [
            Span(call.occurrence.trajectory.id, found.step, "observation")
            for call, found in _holding_answers(best, per_call)
        ]
        text = f"`{best.path}` in the answer of `{best.tool}`" if best.path != "." else f"the answer of `{best.tool}`"
        where = " where " + " and ".join(map(str, best.rules)) if best.rules else ""
        parameter = replace(parameter, reading=best.tool, key=best.key, description=text + where, example="")
        return parameter, spans
    if shape:
        detail = f", one of {', '.join(choices)}" if choices else f", written like `{shape}`" if shape != FREE else ""
        description = f"{_as_words(name)} named in the task{detail}"
        parameter = replace(parameter, reading=TASK, key=shape, description=description)
        spans = [call.span_of_words(values[0]) for call, values in compress(per_call, in_task)]
        return parameter, spans
    seen = f"; seen: {', '.join(choices)}" if choices else ""
    own = [Span(call.occurrence.trajectory.id, call.occurrence.step.index, "arguments") for call, _ in used]
    return replace(parameter, description=f"{_as_words(name)}{seen}"), own


def _best_source(used: Used) -> ArgumentSource | None:
    """Return the place in earlier answers that explains most; among near equals the one with the fewest values."""
    found = [source for source in sources_of(used, at_least=_MAJORITY) if source.coverage > _MAJORITY]
    if not found:
        return None
    near = [source for source in found if source.coverage >= found[0].coverage - _NEAR_COVERAGE]
    near.sort(key=lambda source: (-_source_score(source), source.order, source.tool, source.path))
    tried = [refine_source(source, used) for source in near[:_MAX_REFINED]]
    return min(tried, key=lambda source: (-round(_source_score(source), 3), source.order, source.tool, source.key))


def _source_score(source: ArgumentSource) -> float:
    return source.coverage + _EXACT * source.exact - _ECHO * source.echo


def _task_source(used: Used, choices: Sequence[str]) -> tuple[str, float, list[bool]]:
    """Return the shape of the value in the task, its score as a place, and for which calls it was named."""
    in_task = [all(call.stated(value) for value in values) for call, values in used]
    total = sum(call.weight for call, _ in used) or 1.0
    stated = list(compress(used, in_task))
    share = sum(call.weight for call, _ in stated) / total
    if share <= _MAJORITY:
        return "", 0.0, in_task
    shape = (
        one_of(choices) if choices else shape_of(*dict.fromkeys(str(value) for _, values in stated for value in values))
    )
    exact = sum(
        call.weight
        for call, values in stated
        if set(map(value_text, values_of_shape(call.task_text, shape))) == set(map(value_text, values))
    )
    return shape, share + _EXACT * exact / total, in_task


def _holding_answers(source: ArgumentSource, used: Used) -> Iterator[tuple[KnownBeforeCall, AnswerValue]]:
    """Yield the calls whose value the source held, each with the earliest answer that held it."""
    for call, values in used:
        wanted = {value_text(value) for value in values}
        found = [answer for answer in source.answer_values(call) if value_text(answer.leaf.value) in wanted]
        if found:
            yield call, min(found, key=lambda answer: answer.step)


# --- values ---------------------------------------------------------------------------------------------------------


def _constant(used: Sequence[tuple[KnownBeforeCall, Any]], *, rows: bool) -> Any | None:
    """Return the one value of all calls, or of all rows of its list, if enough tasks share it."""
    values = [one for _, value in used for one in value] if rows else [value for _, value in used]
    if len({repr(value) for value in values}) != 1:
        return None
    value = values[0]
    return value if _is_general(value, [call for call, _ in used]) else None


def _choices(used: Used) -> tuple[str, ...]:
    """Return the few values of an argument, the most frequent first; none where it has many."""
    groups: dict[str, list[KnownBeforeCall]] = {}
    for call, values in used:
        for value in values:
            groups.setdefault(str(value), []).append(call)
    words = {
        value: calls for value, calls in groups.items() if value and '"' not in value and not _is_record_value(value)
    }
    general = [value for value, calls in words.items() if _is_general(value, calls)]
    covered = sum(len(groups[value]) for value in general)
    if not 2 <= len(general) <= _MAX_CHOICES or covered < _MIN_COVERED * sum(map(len, groups.values())):
        return ()
    return tuple(sorted(general, key=lambda value: (-len(groups[value]), value)))


def _is_general(value: Any, calls: Sequence[KnownBeforeCall]) -> bool:
    """Whether a value may be part of a skill: several tasks share it, or several attempts and it is not personal."""
    tasks = len({call.group for call in calls})
    if tasks >= SEVERAL:
        return True
    texts = [str(one) for one in _values_of(value)]
    if (
        (value and not texts)
        or any(_is_record_value(one) for one in _values_of(value))
        or any(map(_contains_name, texts))
    ):
        return False
    task_text = any(call.stated(text) for call in calls for text in texts)
    return len({call.occurrence.trajectory.id for call in calls}) >= SEVERAL and (tasks > 1 or not task_text)


def _is_record_value(value: Any) -> bool:
    """Whether a value looks like that of one person or record: an id, an address, a long number."""
    if not isinstance(value, str):
        return isinstance(value, int) and abs(value) > 9_999
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    return bool(EMAIL.search(value) or re.search(r"\d{3}", value) or (digits > 1 and digits >= letters))


def _contains_name(text: str) -> bool:
    """Whether a text contains a possible name: a capitalised word inside a sentence."""
    words = re.findall(r"[^\W\d_]+", text)
    return any(word[0].isupper() and word != "I" for word in (words if len(words) < 3 else words[1:]))


def _values_per_call(used: Sequence[tuple[KnownBeforeCall, Any]]) -> list[tuple[KnownBeforeCall, Sequence[Any]]]:
    return [(call, _values_of(value)) for call, value in used if _values_of(value)]


def _values_of(value: Any) -> list[Any]:
    """Return the values of an argument; none for nested records."""
    values = list(value[:_MAX_LISTED]) if isinstance(value, list | tuple) else [value]
    return [] if any(isinstance(one, Mapping | list | tuple) or one is None for one in values) else values


def _json_type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds <= {list, tuple}:
        return "array"
    if kinds <= {bool}:
        return "boolean"
    if kinds <= {int}:
        return "integer"
    if kinds <= {int, float}:
        return "number"
    return "object" if any(issubclass(kind, Mapping) for kind in kinds) else "string"


def _as_words(name: str) -> str:
    return name.replace("_", " ")
