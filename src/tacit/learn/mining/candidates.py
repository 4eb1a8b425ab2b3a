"""Writes a pattern and its statistics as a candidate: steps, parameters, cases, cues, order, spans and origins.

The steps are the readings that conditions and parameters need, then the calls of the pattern.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment, Grade
from tacit.domain.scope import Scope
from tacit.domain.skill import (
    ENDS_TASK_TAG,
    MADE_BY_MINING,
    Case,
    Condition,
    Cue,
    Kind,
    Parameter,
    Provenance,
    SkillContent,
    SkillStep,
)
from tacit.domain.trajectory import Role, Span
from tacit.learn.mining.call_patterns import CallPattern
from tacit.learn.mining.general_calls import GeneralCall
from tacit.learn.mining.group_data import GroupData
from tacit.learn.parameters import fill
from tacit.learn.values import PLACEHOLDER, FieldOrigins, Timeline, action_spans, first_free
from tacit.learn.wording import MAX_DESCRIPTION, MAX_NAME, call_text, code, shorten, slug, tool_title
from tacit.text.cues import words_of
from tacit.text.facts import TASK
from tacit.text.tool_calls import leaves, tool_call

MADE_BY = f"{MADE_BY_MINING}/1"
MAX_READINGS = 4
"""Reading steps of a skill. Larger: more calls per task (`bench/telecom.py` counts them); smaller: values go missing."""
MAX_EXAMPLES = 8
_MAX_EXAMPLE = 300
"""Example queries of a skill, and characters of each: they help retrieval and fill the skill."""
_SPANS = 5
_MAX_SOURCES = 100
"""Spans per field and attempts per skill that are stored as grounds."""
_MAX_CHECKS = 1
"""Optional steps at the end that check the goal; each costs the agent a call."""
_MAX_SHOWN_CUES = 6
"""Cue words in the description."""
_GRADES = (Grade.MACHINE, Grade.HUMAN, Grade.SELF)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternStatistics:
    """What the attempts of a group show about a pattern."""

    cases: tuple[Case, ...] = ()
    cues: tuple[Cue, ...] = ()
    after: tuple[str, ...] = ()
    """Names of the skills that come before."""
    goal: tuple[Condition, ...] = ()
    """What shows that the task is done."""
    ends_task: bool = False
    """Whether it ends the task, such as a hand-over: no success made another pattern as well."""


def is_mined(provenance: Provenance) -> bool:
    """Whether a version was mined from many attempts."""
    return provenance.made_by.startswith(MADE_BY.partition("/")[0])


def name_of(pattern: CallPattern, *, whole: bool = False) -> str:
    """Return the name of a pattern's skill: the words of its tools (with servers if `whole`) and its fixed values."""
    words: list[str] = []
    for tool, fixed in pattern.tokens[:2]:
        words += ["and"] if words else []
        words += [*(tool if whole else tool_title(tool)).split(), *(value for _, value in fixed)]
    return slug(words) or "procedure"


def free_name(name: str, taken: set[str], *, fuller: str = "") -> str:
    """Return and reserve the first free name: the name, the fuller one, or the name with a number."""
    numbered = (name[: MAX_NAME - 6].rstrip("-") + f"-{number}" for number in count(2))
    free = next(one for one in chain([name, *([fuller] if fuller else [])], numbered) if one not in taken)
    taken.add(free)
    return free


def candidate_of(pattern: CallPattern, statistics: PatternStatistics, data: GroupData, *, name: str) -> Candidate:
    """Write a pattern as a candidate."""
    field_origins = FieldOrigins(load=data.trajectory)
    steps, parameters = _StepWriter(pattern, statistics, data, field_origins).steps_and_parameters()
    sources = data.sample(list(pattern.made))
    tasks = task_spans(data, sources)
    for path in ("name", "description", "tags", "category", "surroundings"):
        field_origins.add_spans(path, _tool_spans(pattern, data, sources))
    _add_origins(statistics, data, field_origins, sources)
    for number in range(len(statistics.cases)):  # the description lists the cases
        field_origins.add_spans("description", field_origins.spans.get(f"cases.{number}", ()))
    examples = examples_of(data, sources)
    for number in range(len(examples)):
        field_origins.add_spans(f"example_queries.{number}", tasks[:_SPANS])
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name=name,
        description=_description(pattern, statistics, examples, of=len(data.group.successes)),
        tags=(*dict.fromkeys(pattern.tools), *([ENDS_TASK_TAG] if statistics.ends_task else [])),
        example_queries=examples,
        steps=steps,
        parameters=parameters,
        postconditions=() if statistics.ends_task else statistics.goal,
        cases=statistics.cases,
        cues=statistics.cues,
        after=statistics.after,
        surroundings=surroundings_of(pattern.tools, data.toolsets),
    )
    return Candidate(
        content=content,
        scope=Scope(),
        origins=field_origins.origins,
        provenance=Provenance(
            trajectory_ids=tuple(list(pattern.made)[:_MAX_SOURCES]), grounding=field_origins.spans, made_by=MADE_BY
        ),
        assessment=weakest([data.assessment(identity) for identity in sources]),
    )


class _StepWriter:
    """Writes the steps of a pattern: readings in the order of the attempts, then its calls."""

    def __init__(
        self, pattern: CallPattern, statistics: PatternStatistics, data: GroupData, field_origins: FieldOrigins
    ) -> None:
        self._pattern, self._data, self._field_origins = pattern, data, field_origins
        self._general_calls = data.general_calls(pattern)
        asked = [condition.reading for case in statistics.cases for condition in case.conditions]
        asked += [parameter.reading for general in self._general_calls for parameter in general.parameters]
        self._readings = _needed_readings(data, asked)
        order = _reading_order(data)
        goal = dict.fromkeys(condition.reading for condition in statistics.goal if not statistics.ends_task)
        # The step that checks the result is written only where its reading takes an argument.
        self._checks = [tool for tool in goal if tool in order and data.general_reading(tool).arguments][:_MAX_CHECKS]
        self._parameters: dict[str, Parameter] = {}
        self._steps: list[SkillStep] = []

    def steps_and_parameters(self) -> tuple[tuple[SkillStep, ...], tuple[Parameter, ...]]:
        """Return the steps and their parameters."""
        for tool in self._readings:
            self._add_call(tool, self._data.general_reading(tool), self._places_of_reading(tool))
        for number, (tool, fixed) in enumerate(self._pattern.tokens):
            general = self._general_calls[number]
            arguments = {**general.arguments, **{key: self._fixed_value(number, key) for key, _ in fixed}}
            general = dataclasses.replace(general, arguments=arguments)
            self._add_call(tool, general, self._places_of_call(number))
        for tool in self._checks:
            self._add_call(tool, self._data.general_reading(tool), self._places_of_reading(tool))
            self._steps[-1] = dataclasses.replace(self._steps[-1], optional=True)
        return tuple(self._steps), tuple(self._parameters.values())

    def _add_call(self, tool: str, general: GeneralCall, places: Sequence[tuple[str, int]]) -> None:
        """Add a step and its parameters; `places` are the calls in the attempts."""
        renamed: dict[str, str] = {}  # name in the general call → placeholder in the skill
        used = {name for _, value in leaves(general.arguments) for name in PLACEHOLDER.findall(str(value))}
        for parameter in general.parameters:
            placeholder = f"{{{parameter.name}}}"
            if parameter.name in used or any(placeholder in other.key for other in general.parameters):
                name = self._keep_parameter(parameter, renamed, general.spans[parameter.name])
                renamed[parameter.name] = f"{{{name}}}"
        arguments = fill(general.arguments, renamed)
        number = len(self._steps)
        self._steps.append(
            SkillStep(text=f"{tool_title(tool)}: {code(call_text(tool, arguments))}", tool=tool, arguments=arguments)
        )
        spans = self._spans(places, arguments)
        self._field_origins.add_spans(f"steps.{number}", spans)
        self._field_origins.add_spans(f"steps.{number}.arguments", spans)

    def _keep_parameter(self, parameter: Parameter, renamed: Mapping[str, str], spans: Sequence[Span]) -> str:
        """Add a parameter and return its name; one with the same source keeps the name it has."""
        wanted = dataclasses.replace(parameter, key=fill(parameter.key, renamed))
        for name, known in self._parameters.items():
            if dataclasses.replace(wanted, name=name) == known or (
                (known.reading, known.key) == (wanted.reading, wanted.key) and known.reading not in ("", TASK)
            ):
                return name
        name = first_free(parameter.name, self._parameters)
        self._field_origins.add_spans(f"parameters.{len(self._parameters)}", spans[:_SPANS])
        self._parameters[name] = dataclasses.replace(wanted, name=name)
        return name

    def _fixed_value(self, number: int, key: str) -> Any:
        """Return the value with its type; the token holds it only as text."""
        identity, times = next(iter(self._pattern.made.items()))
        return self._data.outlines[identity].moves[times[0][number]].arguments[key]

    def _places_of_call(self, number: int) -> list[tuple[str, int]]:
        return [
            (identity, self._data.outlines[identity].moves[self._pattern.made[identity][0][number]].index)
            for identity in self._data.sample(list(self._pattern.made))[:_SPANS]
        ]

    def _places_of_reading(self, tool: str) -> list[tuple[str, int]]:
        return _reading_places(tool, self._data, self._data.sample(list(self._pattern.made)))

    def _spans(self, places: Sequence[tuple[str, int]], arguments: Mapping[str, Any]) -> list[Span]:
        """Return the spans of the calls, and of observations that literal values were copied from."""
        spans: list[Span] = []
        for identity, index in places:
            trajectory = self._data.trajectory(identity)
            action = tool_call(self._data.step(identity, index), trajectory.environment.workspace)
            spans += action_spans(action, Timeline(trajectory), arguments=arguments)
        return spans


def _needed_readings(data: GroupData, asked: Iterable[str]) -> list[str]:
    """Return the needed readings, and those that supply their arguments, in the order of the attempts."""
    order = _reading_order(data)
    needed: dict[str, None] = {}
    waiting = [tool for tool in dict.fromkeys(asked) if tool in order]
    while waiting and len(needed) < MAX_READINGS:
        tool = waiting.pop(0)
        if tool not in needed:
            needed[tool] = None
            waiting += [p.reading for p in data.general_reading(tool).parameters if p.reading in order]
    return sorted(needed, key=lambda tool: (order[tool], tool))


def _reading_order(data: GroupData) -> dict[str, float]:
    """Return each reading tool with its mean position among the readings of successes."""
    places: dict[str, list[int]] = {}
    for outline in data.group.successes:
        seen: set[str] = set()
        for at, reading in enumerate(outline.readings):
            if reading.tool not in seen:
                places.setdefault(reading.tool, []).append(at)
                seen.add(reading.tool)
    return {tool: sum(found) / len(found) for tool, found in places.items()}


def _add_origins(
    statistics: PatternStatistics, data: GroupData, field_origins: FieldOrigins, sources: Sequence[str]
) -> None:
    for number, case in enumerate(statistics.cases):
        for condition in case.conditions:
            field_origins.add_spans(f"cases.{number}", _condition_spans(condition, data, sources))
    for number, condition in enumerate(statistics.goal):
        field_origins.add_spans(f"postconditions.{number}", _condition_spans(condition, data, sources))
    if statistics.cues:
        field_origins.add_spans("cues", task_spans(data, sources))
    if statistics.after:
        field_origins.add_spans(
            "after", [Span(i, m.index, "tool") for i in sources[:_SPANS] for m in data.outlines[i].moves[:3]]
        )


def _condition_spans(condition: Condition, data: GroupData, sources: Sequence[str]) -> list[Span]:
    if condition.reading == TASK:
        return task_spans(data, sources)[:_SPANS]
    return [Span(identity, at, "observation") for identity, at in _reading_places(condition.reading, data, sources)]


def _reading_places(tool: str, data: GroupData, sources: Sequence[str]) -> list[tuple[str, int]]:
    """Return where a reading was taken: in these attempts, else in other successes."""
    for among in (sources, [outline.trajectory_id for outline in data.group.successes]):
        found = (
            (identity, reading.index)
            for identity in among
            for reading in data.outlines[identity].readings
            if reading.tool == tool
        )
        if taken := list(islice(found, _SPANS)):
            return taken
    return []


def task_spans(data: GroupData, sources: Sequence[str]) -> list[Span]:
    """Return the spans of the tasks."""
    spans = []
    for identity in sources:
        steps = data.trajectory(identity).steps
        spans.append(Span(identity, next((step.index for step in steps if step.role is Role.USER), -1), "text"))
    return spans


def _tool_spans(pattern: CallPattern, data: GroupData, sources: Sequence[str]) -> list[Span]:
    return [
        Span(identity, data.outlines[identity].moves[place].index, "tool")
        for identity in sources[:_SPANS]
        for place in pattern.made[identity][0]
    ]


def examples_of(data: GroupData, sources: Sequence[str]) -> tuple[str, ...]:
    """Return general task texts as example queries."""
    found: dict[str, None] = {}
    for identity in sources:
        found.setdefault(shorten(data.task_of(identity), _MAX_EXAMPLE))
        if len(found) == MAX_EXAMPLES:
            break
    return tuple(found)


def _cue_words(cues: Sequence[Cue], tasks: Sequence[str]) -> list[str]:
    """Return the strongest cues as the tasks spell them, not as stems."""
    spelling: dict[str, str] = {}
    for word in re.findall(r"[^\W\d_]+", " ".join(tasks)):
        for stem in words_of(word)[:1]:
            spelling.setdefault(stem, word.lower())
    strongest = sorted(cues, key=lambda cue: (-cue.weight, cue.term))
    found = dict.fromkeys(spelling[cue.term] for cue in strongest if cue.weight > 0 and cue.term in spelling)
    return list(found)[:_MAX_SHOWN_CUES]


def _description(pattern: CallPattern, statistics: PatternStatistics, tasks: Sequence[str], *, of: int) -> str:
    what = ", then ".join(
        tool_title(tool).lower() + "".join(f" ({value})" for _, value in fixed) for tool, fixed in pattern.tokens
    )
    sentences = [f"{what[:1].upper()}{what[1:]}."]
    if statistics.cases:
        sentences.append(f"Needed when {'; or when '.join(map(_case_text, statistics.cases[:3]))}.")
    words = _cue_words(statistics.cues, tasks)
    if words:
        sentences.append(f"Tasks that call for it speak of {', '.join(words)}.")
    sentences.append(f"Part of {pattern.support} of {of} successful attempts.")
    return shorten(" ".join(sentences), MAX_DESCRIPTION)


def _case_text(case: Case) -> str:
    return " and ".join(condition.text.rstrip(".") for condition in case.conditions)


def weakest(assessments: Sequence[Assessment]) -> Assessment | None:
    """Return the assessment with the lowest grade."""
    return max(assessments, key=lambda each: _GRADES.index(each.grade), default=None)


MAX_SURROUNDINGS = 60
"""Tools that are stored as usually available next to a skill's own."""
_NEARLY_ALL = 0.9
"""The share of tool sets that must contain such a tool. `score_bfcl` watches what follows from a missing one."""


def surroundings_of(own: Sequence[str], toolsets: Collection[AbstractSet[str]]) -> tuple[str, ...]:
    """Return the tools in nearly all tool sets that contain a pattern's own.

    Of many, those with the most similar names are kept: they come from one server.
    """
    around = [tools for tools in toolsets if tools >= set(own)]
    seen = Counter(tool for tools in around for tool in tools)
    usual = [tool for tool in sorted(seen) if seen[tool] >= _NEARLY_ALL * len(around) and tool not in own]
    usual.sort(key=lambda tool: -max(_shared_beginning(tool, mine) for mine in own))
    return tuple(sorted(usual[:MAX_SURROUNDINGS]))


def _shared_beginning(left: str, right: str) -> int:
    return next(
        (at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), min(len(left), len(right))
    )
