"""Makes the calls of a procedure from the columns of like attempts: equal text stays, text that differs becomes a parameter.

    git tag v1.2.0    git tag v1.3.0    git tag v2.0.0    →    git tag v{version}

The call of a column that is most similar to the others is compared with them word by word. Places whose values change
together are one parameter. A text that differs entirely, such as the body of an edit, is left to the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from tacit.domain.skill import Parameter
from tacit.domain.trajectory import Origin, Span
from tacit.learn.like_steps import AttemptStep, DraftSource, StepColumn, step_similarity
from tacit.learn.parameters import Binding, Generalisation, identifier, role_of
from tacit.learn.values import EMAIL, PLACEHOLDER, ValueSighting, first_free, type_of
from tacit.text.tool_calls import DESCRIBING, PATHS, Effect, ToolKind, leaves
from tacit.text.value_lookup import TASK, shape_of

_TOKEN = re.compile(
    rf"\{{\w+\}}|{EMAIL.pattern}|"
    r"(?<!\S)--?[A-Za-z]+(?:-[A-Za-z]+)*(?!\w)|(?<![A-Za-z0-9])v(?=\d+\.\d)|\d+(?:\.\d+)+|[A-Za-z0-9]+|\s+|.",
    re.DOTALL,
)
_GLUE = re.compile(r"[_\-./]+")
_COMPOUND = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)+")
_QUOTES = "\"'"
_PROSE = re.compile(r"[^\S\n\r]|[\w,.:;!?#-]")
"""What may stand between two words of one quoted text that is a value as a whole."""
_BORDERS = re.compile(r"(?<!\w)'|'(?!\w)|[\"`()\[\]{}]")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_ENDING = re.compile(r"\.[a-z]\w{0,4}")
_MAX_VALUE = 80
"""Characters of a parameter's value. Larger: parts of documents become parameters; smaller: long messages are left out."""
_MAX_SLOTS = 4
"""Slots of one text that no task names. Larger: procedures with many parameters; smaller: more texts are left to the task."""
_MIN_FIXED = 0.5
"""The share of a text that must be equal. Larger: more texts are left to the task; smaller: more are mostly slots."""
_MIN_MATCHING = 0.75
"""The share of the other attempts that must have a word for it to stay. At 1, one exception would make it a slot."""
_GENERIC = frozenset({"value", "number", "id"})
_PRIVATE_NAMES = frozenset("email phone address user username customer account name token key".split())


@dataclass(slots=True, eq=False)
class Slot:
    """A place in a call where attempts differ."""

    values: dict[int, str]
    """Attempt → its value there."""
    key: str
    """The argument that contains it."""
    argument_of_tool: bool
    """Whether it is the whole argument of a plain tool."""

    @property
    def is_long(self) -> bool:
        """Whether a value is too long for a parameter."""
        return any(len(value) > _MAX_VALUE or "\n" in value for value in self.values.values())


_Pieces = list[str | Slot]
"""A text as fixed pieces and slots."""


@dataclass(slots=True)
class SharedParameter:
    """The slots that change together."""

    values: dict[int, str]
    calls: dict[int, int]
    """Attempt → the step whose call first had the value."""
    slots: list[Slot]
    places: dict[int, ValueSighting] = field(default_factory=dict)
    """Attempt → where its value was first seen, if in the task or in an answer."""
    parameter: Parameter = Parameter(name="")

    def attempts_from(self, origin: Origin) -> list[int]:
        """Return the attempts whose value came from a text of this origin."""
        return sorted(at for at, place in self.places.items() if place.origin is origin)


@dataclass(slots=True, kw_only=True)
class CallTemplate:
    """The call of a column, in pieces wherever its text may differ."""

    model: AttemptStep
    arguments: dict[str, Any] = field(default_factory=dict)
    """What is the same in all attempts."""
    pieces: dict[str, _Pieces] = field(default_factory=dict)
    """The arguments with slots."""
    compared: bool = False
    """Whether another attempt made the same call."""
    open_ended: bool = False
    """Whether texts that differ entirely were left out."""
    examples: set[str] = field(default_factory=set)
    """Arguments whose commands differ too much: the model's own is kept, with the values that are known as parameters."""

    @property
    def slots(self) -> list[Slot]:
        """The places where attempts differ, in order."""
        return [piece for pieces in self.pieces.values() for piece in pieces if isinstance(piece, Slot)]


class SharedCalls:
    """The calls of all columns with common parameters."""

    def __init__(self, columns: Sequence[StepColumn], sources: Sequence[DraftSource]) -> None:
        self.sources = sources
        tokens = _own_compounds(sources)
        self.templates = [_TemplateBuilder(column, sources, tokens).template for column in columns]
        self.shared: list[SharedParameter] = []
        for column, template in zip(columns, self.templates, strict=True):
            self._share(template.slots, {step.source: step.action.index for step in reversed(column.steps)})
        taken = {"workspace", *(name for each in self.templates for name in PLACEHOLDER.findall(str(each.arguments)))}
        for shared in self.shared:
            shared.places = {at: place for at in shared.values if (place := self._place(shared, at))}
        for shared in sorted(self.shared, key=lambda each: not each.attempts_from(Origin.USER)):  # tasks name first
            shared.parameter = self._parameter(shared, taken)

    def _share(self, slots: Sequence[Slot], calls: Mapping[int, int]) -> None:
        """Add each slot to the parameter with the same values in at least two attempts, or as a new one."""
        for slot in slots:
            for known in self.shared:
                both = known.values.keys() & slot.values.keys()
                if len(both) > 1 and all(known.values[at] == slot.values[at] for at in both):
                    break
            else:
                known = SharedParameter({}, {}, [])
                self.shared.append(known)
            known.slots.append(slot)
            known.values = slot.values | known.values
            known.calls = {at: calls[at] for at in slot.values} | known.calls

    def arguments(self, number: int) -> dict[str, Any]:
        """Return the arguments of a call with its parameters in place; of a call without another the values that are known."""
        template = self.templates[number]
        names = {id(slot): f"{{{shared.parameter.name}}}" for shared in self.shared for slot in shared.slots}
        filled = {
            key: "".join(piece if isinstance(piece, str) else names[id(piece)] for piece in template.pieces[key])
            if key in template.pieces
            else value
            for key, value in template.arguments.items()
        }
        own = template.examples if template.compared else filled.keys()
        known = self.general(template.model.source).arguments if own else None
        return {key: known(value) if known and key in own else value for key, value in filled.items()}

    def drop_unused(self, arguments: Sequence[Mapping[str, Any]]) -> None:
        """Remove parameters that none of these arguments has."""
        used = {name for each in arguments for _, leaf in leaves(each) for name in PLACEHOLDER.findall(str(leaf))}
        self.shared = [shared for shared in self.shared if shared.parameter.name in used]

    def general(self, source: int, *, stated: bool = False) -> Generalisation:
        """Return how to put the parameters into a text of one attempt; `stated`: only those that its task names."""
        bindings = [
            Binding(parameter=shared.parameter, original=value, place=ValueSighting(Origin.USER, 0, "text"))
            # Of equal values the last counts, so those that tasks name come last.
            for shared in sorted(self.shared, key=lambda each: len(each.attempts_from(Origin.USER)))
            if (len(value := shared.values.get(source, "")) > 1 or value.isdigit())
            and (source in shared.attempts_from(Origin.USER) or not (stated or shared.attempts_from(Origin.EXTERNAL)))
        ]
        return Generalisation(tuple(bindings), self.sources[source].trajectory.environment.workspace)

    def spans(self, shared: SharedParameter) -> Iterator[Span]:
        """Yield the spans of a parameter; the name of one from an answer comes from the tool, not from the answer."""
        for at in sorted(shared.values):
            place = shared.places.get(at)
            part = "arguments" if place is None else "tool" if place.origin is Origin.EXTERNAL else place.part
            yield Span(self.sources[at].trajectory.id, place.step if place else shared.calls[at], part)

    def _place(self, shared: SharedParameter, at: int) -> ValueSighting | None:
        """Return the task or, for an argument of a plain tool, the answer that a value came from."""
        timeline, before = self.sources[at].timeline, shared.calls[at]
        if place := timeline.stated(shared.values[at], before=before):
            return place
        place = timeline.first_seen(shared.values[at], before=before)
        from_answer = place is not None and place.origin is Origin.EXTERNAL
        return place if from_answer and any(slot.argument_of_tool for slot in shared.slots) else None

    def _parameter(self, shared: SharedParameter, taken: set[str]) -> Parameter:
        """Return the parameter: from an answer, from the task, or chosen by the agent."""
        name = first_free(identifier(self._role(shared)), taken)
        taken.add(name)
        words = re.sub(r"_\d+$", "", name).replace("_", " ")
        stated, answered = shared.attempts_from(Origin.USER), shared.attempts_from(Origin.EXTERNAL)
        newest = max(shared.values)
        value = shared.values[newest]
        kinds = {type_of(each) for each in shared.values.values()}
        parameter = Parameter(name=name, type=kinds.pop() if len(kinds) == 1 else "string")
        if answered:
            tools = {step.tool for at in answered for step in self._steps_at(at, shared.places[at].step)}
            tool = tools.pop() if len(tools) == 1 else ""
            source = f"from the result of `{tool}`" if tool else f"{words} from an earlier answer"
            return replace(parameter, description=source, reading=tool)
        personal = EMAIL.search(value) or name in _PRIVATE_NAMES or re.search(r"\d{6}", value)
        copied = self.sources[newest].timeline.copied(value, before=shared.calls[newest]) is not None
        if len(stated) * 2 <= len(shared.values):
            example = "" if personal or copied else value
            return replace(parameter, description=f"{words}: differs from task to task", example=example)
        known = [shared.values[at] for at in stated]
        parameter = replace(parameter, description=f"{words} named in the task", example="" if personal else known[-1])
        if all(shared.values[at].casefold() in self.sources[at].timeline.user_text.casefold() for at in stated):
            parameter = replace(parameter, reading=TASK, key=shape_of(*known))
        return parameter

    def _steps_at(self, source: int, index: int) -> Iterator[Any]:
        return (step for step in self.sources[source].trajectory.steps if step.index == index)

    def _role(self, shared: SharedParameter) -> str:
        """Return the name that most attempts suggest."""
        for slot in shared.slots:
            if slot.argument_of_tool:
                return slot.key
        votes = [
            role_of(
                value,
                self.sources[at].timeline.user_text,
                calls=self.sources[at].typed,
                values={each.values.get(at, "") for each in self.shared},
            )
            for at, value in sorted(shared.values.items())
        ]
        telling = [vote for vote in votes if vote.lower() not in _GENERIC]
        if telling:
            return max(telling, key=lambda vote: (telling.count(vote), -telling.index(vote)))
        return "name" if any(slot.key in PATHS for slot in shared.slots) else votes[0]


class _TemplateBuilder:
    """Compares the model's arguments with those of the other steps of a column."""

    def __init__(self, column: StepColumn, sources: Sequence[DraftSource], tokens: Sequence[re.Pattern[str]]) -> None:
        self._sources, self._tokens = sources, tokens
        model = _model_step(column)
        self._source, self._kind = model.source, model.action.kind
        self._writes_file = self._kind is ToolKind.FILE and model.action.effect is Effect.WRITE
        same_tool = [step for step in column.steps if step.action.step.tool == model.action.step.tool]
        others = {step.source: self._typed(step) for step in same_tool if step is not model}
        self.template = CallTemplate(model=model, compared=bool(others))
        for key, value in self._typed(model).items():
            theirs = {at: arguments[key] for at, arguments in others.items() if key in arguments}
            same = sum(other == value for other in theirs.values())
            # Of a sentence for people, the usual one stays, or none.
            if same == len(theirs) or (key in DESCRIBING and 2 * same >= len(others)):
                self.template.arguments[key] = value
            elif key not in DESCRIBING:
                self._add_pieces(key, value, theirs)

    def _typed(self, step: AttemptStep) -> Mapping[str, Any]:
        """Return what was typed, with the project's folder as a parameter."""
        arguments: Mapping[str, Any] = self._sources[step.source].folder.arguments(step.action.step.arguments)
        return arguments

    def _add_pieces(self, key: str, value: Any, theirs: Mapping[int, Any]) -> None:
        """Add an argument that differs: with slots, as an example, or not at all where it differs entirely."""
        pieces = None
        if isinstance(value, str) and (self._kind is not ToolKind.FUNCTION or re.search(r"\s", value)):
            pieces = self._slotted(value, {at: text for at, text in theirs.items() if isinstance(text, str)}, key)
            if pieces is None and self._kind is ToolKind.SHELL:
                self.template.open_ended = True
                self.template.examples.add(key)
                self.template.arguments[key] = value
                return
        if pieces is None:
            whole = {self._source: str(value), **{at: str(other) for at, other in theirs.items()}}
            slot = Slot(whole, key, argument_of_tool=self._kind is ToolKind.FUNCTION)
            if slot.is_long or (self._writes_file and key not in PATHS):
                self.template.open_ended = True
                return
            pieces = [slot]
        self.template.arguments[key] = "".join(piece for piece in pieces if isinstance(piece, str))
        self.template.pieces[key] = pieces

    def _slotted(self, text: str, theirs: Mapping[int, str], key: str) -> _Pieces | None:
        """Return a text with slots; nothing where too little of it is equal."""
        mine = self._tokens[self._source].findall(text)
        words = {at: self._tokens[at].findall(other) for at, other in theirs.items()}
        for whole_quotes in (False, True):  # unless the tasks name all that differs, a quoted text is one value
            pieces = self._pieces(mine, words, key, whole_quotes=whole_quotes)
            unstated = [piece for piece in pieces if isinstance(piece, Slot) and not self._is_stated(piece)]
            if not unstated:
                break
        fixed = sum(len(piece.strip()) for piece in pieces if isinstance(piece, str))
        varied = sum(len(slot.values[self._source]) for slot in unstated)
        # The first words of a command say what it does; other texts may keep too little.
        little = varied and self._kind is not ToolKind.SHELL and fixed < _MIN_FIXED * (fixed + varied)
        too_different = len(unstated) > _MAX_SLOTS or little or any(slot.is_long for slot in unstated)
        cut = any(not _is_balanced(value) for p in pieces if isinstance(p, Slot) for value in p.values.values())
        return None if too_different or cut else pieces

    def _is_stated(self, slot: Slot) -> bool:
        """Whether each attempt's task names its own value."""
        return all(self._sources[at].timeline.stated(value) is not None for at, value in slot.values.items())

    def _pieces(
        self, mine: Sequence[str], theirs: Mapping[int, Sequence[str]], key: str, *, whole_quotes: bool
    ) -> _Pieces:
        """Split the model's words into those that stay and slots."""
        matches = {at: _matching_tokens(mine, tokens) for at, tokens in theirs.items()}
        needed = len(theirs) * _MIN_MATCHING
        fixed = frozenset(i for i in range(len(mine)) if sum(i in found for found in matches.values()) >= needed)
        pieces: _Pieces = []
        at = 0
        for start, until in self._regions(mine, fixed, whole_quotes=whole_quotes):
            end, values = until, self._values_between(mine, theirs, matches, start, until)
            if any("/" in value for value in values.values()) and _ENDING.fullmatch("".join(mine[until : until + 2])):
                end = until + 2  # a path is one value with its ending
                values = self._values_between(mine, theirs, matches, start, end)
            pieces += mine[at:start]
            pieces.append(self._slot(values, len(theirs) + 1, key, whole=(start, end) == (0, len(mine))))
            at = end
        return [*pieces, *mine[at:]]

    def _values_between(
        self,
        mine: Sequence[str],
        theirs: Mapping[int, Sequence[str]],
        matches: Mapping[int, Mapping[int, int]],
        start: int,
        end: int,
    ) -> dict[int, str]:
        """Return the model's words from `start` to `end`, and what each other attempt has in their place."""
        values = {self._source: "".join(mine[start:end])}
        for source, tokens in theirs.items():
            found = matches[source]
            first = 0 if start == 0 else found[start - 1] + 1 if start - 1 in found else None
            last = len(tokens) if end == len(mine) else found.get(end)
            if first is not None and last is not None and first < last:
                values[source] = "".join(tokens[first:last])
        return values

    def _regions(self, mine: Sequence[str], fixed: frozenset[int], *, whole_quotes: bool) -> list[tuple[int, int]]:
        """Return the runs of words that differ; runs within one value are one."""
        regions: list[tuple[int, int]] = []
        for at in (at for at in range(len(mine)) if at not in fixed):
            joined = bool(regions) and self._is_one_value(mine, regions[-1], at, whole_quotes=whole_quotes)
            regions.append((regions.pop()[0] if joined else at, at + 1))
        return regions

    def _is_one_value(self, mine: Sequence[str], before: tuple[int, int], at: int, *, whole_quotes: bool) -> bool:
        """Whether a word goes on with the words before it: one name, several words of the task, or one quoted text.

        Two values that the task names apart stay two: `s/old/new/`.
        """
        between = "".join(mine[before[1] : at])
        if not between:
            return True
        timeline = self._sources[self._source].timeline
        parts = "".join(mine[before[0] : before[1]]), mine[at]
        if (between.isspace() or _GLUE.fullmatch(between)) and timeline.stated(between.join(parts)) is not None:
            return True
        if _GLUE.fullmatch(between):
            return not all(timeline.stated(part) is not None for part in parts)
        quoted = "".join(mine[: before[1]])
        is_quoted = any(quoted.count(quote) % 2 for quote in _QUOTES)
        return whole_quotes and is_quoted and all(map(_PROSE.fullmatch, between))

    def _slot(self, values: Mapping[int, str], of: int, key: str, *, whole: bool) -> str | Slot:
        """Return a slot; the model's text where it is an option, or too few attempts have a value there."""
        present = {at: value for at, value in values.items() if value.strip()}
        options = any(value.lstrip().startswith("-") for value in present.values())
        if self._source not in present or options or 2 * len(present) <= of or len(set(present.values())) < 2:
            return values[self._source]
        return Slot(present, key, argument_of_tool=whole and self._kind is ToolKind.FUNCTION)


def _model_step(column: StepColumn) -> AttemptStep:
    """Return the step most similar to the others, among those of the usual tool."""
    tools = [step.action.step.tool for step in column.steps]
    usual = [step for step in column.steps if tools.count(step.action.step.tool) == max(map(tools.count, tools))]
    return max(
        usual, key=lambda step: (round(sum(step_similarity(step, other) for other in column.steps), 6), step.key)
    )


def _own_compounds(sources: Sequence[DraftSource]) -> list[re.Pattern[str]]:
    """Return, per attempt, how to split its texts: `api-gateway` is one word where this task alone names it."""
    tasks = [frozenset(_COMPOUND.findall(source.trajectory.task.text)) for source in sources]
    typed = [frozenset(_COMPOUND.findall("\n".join(source.typed))) for source in sources]
    patterns: list[re.Pattern[str]] = []
    for number, named in enumerate(tasks):
        others = frozenset().union(*(tasks[at] | typed[at] for at in range(len(sources)) if at != number))
        words = sorted(named - others, key=lambda word: (-len(word), word))
        own = "".join(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])|" for word in words)
        patterns.append(re.compile(own + _TOKEN.pattern, re.DOTALL))
    return patterns


def _is_balanced(value: str) -> bool:
    """Whether a value is not cut across a quote or bracket."""
    waiting: list[str] = []
    for sign in _BORDERS.findall(value):
        if waiting and waiting[-1] == _PAIRS.get(sign, sign):
            waiting.pop()
        else:
            waiting.append(sign)
    return not waiting


def _matching_tokens(mine: Sequence[str], theirs: Sequence[str]) -> dict[int, int]:
    blocks = SequenceMatcher(a=mine, b=theirs, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
