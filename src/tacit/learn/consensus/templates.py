"""Makes one call with slots of the steps of a column: equal text stays, different text becomes a slot.

The call most similar to the others is the model and is compared word by word. A slot holds the value of each attempt;
`template_parameters` decides which slots are one parameter. A text that differs entirely, such as the body of an edit, is
left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from tacit.learn.consensus.step_columns import AttemptStep, DraftSource, StepColumn, step_similarity
from tacit.text.tool_calls import DESCRIBING, Effect, ToolKind

ENOUGH = 3
"""Attempts from which text is generalised. With two, it is unknown which one is the exception."""
_TOKEN = re.compile(r"\{\w+\}|(?<![A-Za-z0-9])v(?=\d+\.\d)|\d+(?:\.\d+)+|[A-Za-z0-9]+|\s+|.", re.DOTALL)
_HOLE = "\x00"
_GLUE = re.compile(r"[_\-./]+")
_QUOTES = "\"'"
_MAX_VALUE = 80
"""Characters of a parameter's value. Larger: parts of documents become parameters; smaller: long messages are left out."""
_MAX_SLOTS = 4
"""Unnamed slots of one text. Larger: procedures with many parameters; smaller: more texts are left to the task."""
_MIN_FIXED = 0.5
"""The share of a text that must be equal. Larger: more texts are left to the task; smaller: more are mostly slots."""
_MIN_MATCHING = 0.75
"""The share of the other attempts that must have a word for it to stay. At 1, one exception would make it a slot."""
_MISSING = object()


@dataclass(slots=True, eq=False)
class Slot:
    """A place in a call where attempts differ, or whose value came from the task or an answer."""

    values: dict[int, Any]
    """Attempt → its value there."""
    names: dict[int, str]
    """Attempt → the parameter of its draft there."""
    literal: str
    """The model's text there, used if the slot is no parameter."""
    key: str = ""
    """The argument that contains it."""
    whole_argument: bool = False
    """Whether it is the whole argument."""
    original: Any = None
    """The model's value with its type, where the slot is a parameter of its draft."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text argument as a sequence of fixed pieces and slots."""

    pieces: tuple[str | Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The call of a column."""

    model: AttemptStep
    arguments: Mapping[str, Any]
    """The model's arguments, with a `Text` or `Slot` for what may differ."""
    open_ended: bool = False
    """Whether texts that differ entirely were left out."""
    slots: tuple[Slot, ...] = ()


def template_of(column: StepColumn, sources: Sequence[DraftSource]) -> Template:
    """Make one call of the steps of a column."""
    model = _model_step(column, newest=len(sources) < ENOUGH)
    others = [step for step in column.steps if step is not model and _comparable(step, model)]
    builder = _TemplateBuilder(model, sources)
    arguments: dict[str, Any] = {}
    for key, value in model.arguments.items():
        others_values = {step.source: step.arguments.get(key, _MISSING) for step in others}
        if key in DESCRIBING:
            same = sum(other == value for other in others_values.values()) + 1
            if not others or same * 2 > len(others) + 1:
                arguments[key] = value
            continue
        generalised = builder.generalise_value(value, others_values, key=key)
        if generalised is not _MISSING:
            arguments[key] = generalised
    return Template(model=model, arguments=arguments, open_ended=builder.left_out, slots=tuple(builder.slots))


def _comparable(step: AttemptStep, model: AttemptStep) -> bool:
    """Whether the arguments are comparable, even of another client's tool."""
    if step.action.step.tool == model.action.step.tool:
        return True
    ours, theirs = ({key for key in one.arguments if key not in DESCRIBING} for one in (model, step))
    return step.action.kind is model.action.kind is not ToolKind.FUNCTION and ours == theirs


def _model_step(column: StepColumn, *, newest: bool) -> AttemptStep:
    if newest:
        return max(column.steps, key=lambda step: step.key)
    tools = [step.action.step.tool for step in column.steps]
    usual = [step for step in column.steps if tools.count(step.action.step.tool) == max(map(tools.count, tools))]
    return max(
        usual, key=lambda step: (round(sum(step_similarity(step, other) for other in column.steps), 6), step.key)
    )


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    name: str = ""

    @property
    def key(self) -> str:
        return _HOLE if self.name else self.text


@dataclass(slots=True)
class _TemplateBuilder:
    """Compares the arguments of the model step with those of the others, and collects the slots."""

    model: AttemptStep
    sources: Sequence[DraftSource]
    slots: list[Slot] = field(default_factory=list)
    left_out: bool = False

    @property
    def enough_attempts(self) -> bool:
        """Whether there are enough attempts to see what differs."""
        return len(self.sources) >= ENOUGH

    def generalise_value(self, value: Any, others_values: Mapping[int, Any], *, key: str) -> Any:
        """Return one argument with slots; `_MISSING` if it differs entirely."""
        if isinstance(value, Mapping):
            parts = {
                name: self.generalise_value(item, _parts_at(others_values, name), key=str(name))
                for name, item in value.items()
            }
            return {name: item for name, item in parts.items() if item is not _MISSING}
        if isinstance(value, list | tuple):
            items = [
                self.generalise_value(item, _parts_at(others_values, at), key=key) for at, item in enumerate(value)
            ]
            return [item for item in items if item is not _MISSING]
        if isinstance(value, str):
            return self._generalise_text(
                value, {at: text for at, text in others_values.items() if isinstance(text, str)}, key=key
            )
        values = {
            self.model.source: value,
            **{at: other for at, other in others_values.items() if other is not _MISSING},
        }
        if not self.enough_attempts or len({str(other) for other in values.values()}) == 1:
            return value
        return self._add_slot(Slot(values=values, names={}, literal=str(value), key=key, whole_argument=True))

    def _generalise_text(self, text: str, others_values: Mapping[int, str], *, key: str) -> Any:
        mine = _tokens(text, self.sources[self.model.source])
        theirs = {at: _tokens(other, self.sources[at]) for at, other in others_values.items()}
        pieces = self._pieces(mine, theirs, key=key)
        open_slots = [piece for piece in pieces if isinstance(piece, Slot) and not self._is_stated(piece)]
        fixed = sum(len(piece.strip()) for piece in pieces if isinstance(piece, str))
        varied = sum(len(slot.literal) for slot in open_slots)
        # The first words of a command say what it does; other texts may keep too little.
        little = self.model.action.kind is not ToolKind.SHELL and fixed < _MIN_FIXED * (fixed + varied)
        too_much = len(open_slots) > _MAX_SLOTS or (varied and little)
        if open_slots and (too_much or any(_is_long(slot) for slot in open_slots)):
            return self._differing_text(text, mine, theirs, key=key)
        for piece in pieces:
            if isinstance(piece, Slot):
                self._add_slot(piece)
        return Text(tuple(pieces))

    def _is_stated(self, slot: Slot) -> bool:
        """Whether the value is already a parameter, or each attempt's task names its own."""
        return bool(slot.names) or all(
            self.sources[at].timeline.stated(str(value)) is not None for at, value in slot.values.items()
        )

    def _differing_text(self, text: str, mine: list[_Token], theirs: Mapping[int, list[_Token]], *, key: str) -> Any:
        """Decide about a text of which little stays."""
        action = self.model.action
        if action.kind is ToolKind.FILE and action.effect is Effect.WRITE and key not in ("file_path", "path"):
            self.left_out = True
            return _MISSING
        if action.kind is ToolKind.SHELL:
            return Text(tuple(self._unchanged_pieces(mine, key=key)))
        values: dict[int, Any] = {
            self.model.source: _raw_text(mine),
            **{at: _raw_text(tokens) for at, tokens in theirs.items()},
        }
        if any(len(value) > _MAX_VALUE or "\n" in value for value in values.values()):
            self.left_out = True
            return _MISSING
        return self._add_slot(Slot(values=values, names={}, literal=text, key=key, whole_argument=True))

    def _unchanged_pieces(self, tokens: Sequence[_Token], *, key: str) -> list[str | Slot]:
        """Return the model's text with only its own parameters."""
        at = self.model.source
        return [
            self._add_slot(Slot(values={at: token.text}, names={at: token.name}, literal=token.text, key=key))
            if token.name
            else token.text
            for token in tokens
        ]

    def _add_slot(self, slot: Slot) -> Slot:
        self.slots.append(slot)
        return slot

    def _pieces(self, mine: Sequence[_Token], theirs: Mapping[int, Sequence[_Token]], *, key: str) -> list[str | Slot]:
        matches = {at: _matching_tokens(mine, tokens) for at, tokens in theirs.items()}
        needed = len(theirs) * _MIN_MATCHING
        anchors = [i for i in range(len(mine)) if sum(i in found for found in matches.values()) >= needed]
        regions = self._regions(mine, anchors) if self.enough_attempts else []
        pieces: list[str | Slot] = []
        at = 0
        while at < len(mine):
            region = next((found for found in regions if found[0] == at), None)
            if region:
                pieces.append(self._open_slot(region, mine, theirs=theirs, matches=matches, key=key))
                at = region[1]
            else:
                token = mine[at]
                pieces.append(
                    self._bound_slot(at, mine, theirs, matches=matches, key=key) if token.name else token.text
                )
                at += 1
        return [piece for piece in pieces if piece != ""]

    def _regions(self, mine: Sequence[_Token], anchors: Sequence[int]) -> list[tuple[int, int]]:
        """Return runs of the model's words that differ in others; runs within one word or quoted text are one."""
        fixed = frozenset(anchors)
        regions: list[tuple[int, int]] = []
        for at, token in enumerate(mine):
            if at in fixed or token.name:
                continue
            start = regions[-1][0] if regions and self._runs_on(mine, regions[-1][1], at) else at
            if regions and start == regions[-1][0]:
                regions.pop()
            regions.append((start, at + 1))
        return regions

    def _runs_on(self, mine: Sequence[_Token], end: int, start: int) -> bool:
        between = mine[end:start]
        if any(token.name for token in between):
            return False
        text = "".join(token.text for token in between)
        if not text or _GLUE.fullmatch(text):
            return True
        before = "".join(token.text for token in mine[:end])
        return any(before.count(quote) % 2 and quote not in text for quote in _QUOTES) and "\n" not in text

    def _open_slot(
        self,
        region: tuple[int, int],
        mine: Sequence[_Token],
        *,
        theirs: Mapping[int, Sequence[_Token]],
        matches: Mapping[int, Mapping[int, int]],
        key: str,
    ) -> str | Slot:
        """Return a slot for a differing run; plain text where too few attempts have a value."""
        start, end = region
        literal = _raw_text(mine[start:end])
        values: dict[int, Any] = {self.model.source: literal}
        names: dict[int, str] = {}
        for at, tokens in theirs.items():
            found = matches[at]
            first = 0 if start == 0 else found[start - 1] + 1 if start - 1 in found else None
            last = len(tokens) if end == len(mine) else found.get(end)
            if first is not None and last is not None and first < last:
                values[at] = _raw_text(tokens[first:last])
                names.update({at: tokens[first].name} if last == first + 1 and tokens[first].name else {})
        present = {at: value for at, value in values.items() if value.strip()}
        flags = any(value.lstrip().startswith("-") for value in present.values())
        if (
            not literal.strip()
            or (flags and not names)
            or len(present) * 2 <= len(theirs) + 1
            or len(set(present.values())) < 2
        ):
            return literal
        return Slot(
            values=present, names=names, literal=literal, key=key, whole_argument=(start, end) == (0, len(mine))
        )

    def _bound_slot(
        self,
        at: int,
        mine: Sequence[_Token],
        theirs: Mapping[int, Sequence[_Token]],
        *,
        matches: Mapping[int, Mapping[int, int]],
        key: str,
    ) -> Slot:
        """Return a slot where the model's draft has a parameter."""
        values: dict[int, Any] = {self.model.source: mine[at].text}
        names = {self.model.source: mine[at].name}
        for source, tokens in theirs.items():
            found = matches[source]
            if at in found:
                values[source] = tokens[found[at]].text
                names[source] = tokens[found[at]].name
                continue
            first = 0 if at == 0 else found[at - 1] + 1 if at - 1 in found else None
            last = len(tokens) if at + 1 == len(mine) else found.get(at + 1)
            if (
                first is not None
                and last is not None
                and first < last
                and len(_raw_text(tokens[first:last])) <= _MAX_VALUE
            ):
                values[source] = _raw_text(tokens[first:last])
        original = self.sources[self.model.source].bindings[mine[at].name].original
        whole_argument = len(mine) == 1
        return Slot(
            values=values, names=names, literal=mine[at].text, key=key, whole_argument=whole_argument, original=original
        )


def _parts_at(others_values: Mapping[int, Any], name: Any) -> dict[int, Any]:
    """Return the parts of the others' values at the same key or position."""
    found: dict[int, Any] = {}
    for at, value in others_values.items():
        if isinstance(value, Mapping):
            found[at] = value.get(name, _MISSING)
        elif isinstance(value, list | tuple) and isinstance(name, int) and name < len(value):
            found[at] = value[name]
    return found


def _tokens(text: str, source: DraftSource) -> list[_Token]:
    """Split a text into words, blanks and signs; a parameter is one word with its value."""
    bindings = source.bindings
    found: list[_Token] = []
    for piece in _TOKEN.findall(text):
        name = piece[1:-1]
        known = piece.startswith("{") and name != "workspace" and name in bindings
        found.append(_Token(bindings[name].text, name) if known else _Token(piece))
    return found


def _matching_tokens(mine: Sequence[_Token], theirs: Sequence[_Token]) -> dict[int, int]:
    matcher = SequenceMatcher(a=[token.key for token in mine], b=[token.key for token in theirs], autojunk=False)
    return {block.a + step: block.b + step for block in matcher.get_matching_blocks() for step in range(block.size)}


def _raw_text(tokens: Sequence[_Token]) -> str:
    return "".join(token.text for token in tokens)


def _is_long(slot: Slot) -> bool:
    return any(len(str(value)) > _MAX_VALUE or "\n" in str(value) for value in slot.values.values())
