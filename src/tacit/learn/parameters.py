"""Replaces values in the calls of one attempt by parameters: `{name}` for what came from the task or an earlier answer.

A value that the user named keeps it as an example. A value from an earlier answer is bound to that tool without an example,
so that external text does not enter the skill. Other values stay. Filling in the values gives the original calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tacit.domain.skill import Parameter
from tacit.domain.trajectory import Origin
from tacit.learn.values import (
    EMAIL,
    URL,
    Timeline,
    ValueSighting,
    any_spelling,
    is_run_specific,
    quoted,
    type_of,
    whole_word,
)
from tacit.text.tool_calls import ToolCall, ToolKind, leaves
from tacit.text.words import STOP_WORDS

_NOUNS = frozenset(
    "column table field file folder directory branch tag version target endpoint route url user username name "
    "email order item product service package module library class function method variable key flag option port "
    "host command model index view page component issue ticket project database schema type date month year "
    "number amount count address city state country phone currency language locale region bucket topic queue "
    "environment namespace pod container image job label title migration script customer account plan line "
    "invoice category role group team channel device app application query test suite fixture setting parameter "
    "argument header repository repo commit release milestone event metric dashboard alert template theme color "
    "size status message link domain default limit timeout".split()
)
_ALSO_VERBS = frozenset(
    "release tag branch host index view label plan order email commit link test query group page".split()
)
"""Nouns that are the verb where a request begins with them: `Release paperclip`."""
_LINKING = frozenset("called named the a an new my our this that is as of".split())
_SQL = {"TABLE": "table", "COLUMN": "column", "INDEX": "index", "INTO": "table", "FROM": "table", "UPDATE": "table",
        "JOIN": "table", "DATABASE": "database", "SCHEMA": "schema", "VIEW": "view", "ROLE": "role"}  # fmt: skip
_NO_KEYS = frozenset("http https int str float bool string number boolean integer".split())
_SHORT_FLAGS = {"m": "message", "b": "branch", "n": "namespace"}
_WHOLE_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:[-+.]?[a-z]+[\d.]*)?")
_REACH = 120
"""How far before a value its flag, key or SQL word is looked for."""
_SHORT_FLAG = re.compile(r"(?<!\S)-[a-z]{0,2}([mb])\s+[\"'`]?$")
_NAMESPACE_FLAG = re.compile(r"\b(?:kubectl|helm)\s[^|;&]*\s-(n)\s+$")
_LONG_FLAG = re.compile(r"(?<!\S)--?([a-zA-Z][\w-]+)(?:=|\s+)[\"'`]?$")
_SQL_WORD = re.compile(rf"\b({'|'.join(_SQL)})\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?[\"'`]?$")
_KEY = re.compile(r"\b([A-Za-z]\w*)[\"']?\s?[:=]\s?[\"'`]?$")
_RESOURCE = re.compile(r"\b(deploy|deployment|statefulset|daemonset|job|pod|service)/$")
_VERSIONED = re.compile(r"(?:\[[\w,]+\])?\s?(?:==|>=|~=|@\^?|@~?)\s?v?[\d{]")
_INSIDE = re.compile(r"[\w.]")
_BY_TYPE = {"id": "id", "integer": "number", "number": "number"}


WORKSPACE = Parameter(name="workspace", description="the project's root folder", type="path")


def identifier(text: str) -> str:
    """Return a text as a parameter's name: `orderId` → `order_id`."""
    name = re.sub(r"\W+|__+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)).strip("_").lower()
    return name if name[:1].isalpha() else "value"


def role_of(value: str, task: str, *, calls: Sequence[str], values: Collection[str] = ()) -> str:
    """Name the role of a value; another value of the same run, such as the image in `ledger:2.4.1`, is no role."""
    found = _role_by_format(value) or _role_in_task(value, task) or _role_in_calls(value, calls)
    return found if found and found not in values else _role_by_shape(value)


def _role_by_format(value: str) -> str:
    if EMAIL.fullmatch(value):
        return "email"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return "date"
    return "url" if URL.fullmatch(value) else ""


def _role_in_task(value: str, task: str) -> str:
    """Return the noun next to the value in the user's text."""
    for match in re.finditer(re.escape(value), task, re.IGNORECASE):
        before = re.findall(r"[A-Za-z]+", task[max(0, match.start() - 60) : match.start()].rsplit(".", 1)[-1])
        while before and before[-1].lower() in _LINKING:
            before.pop()
        noun = before[-1].lower() if before else ""
        if noun in _NOUNS and (len(before) > 1 or noun not in _ALSO_VERBS):
            return str(noun)
        after = re.match(r"[`'\"”’»]?\s+([a-z]+)", task[match.end() : match.end() + 40])
        if after and after[1] in _NOUNS:
            return str(after[1])
    return ""


def _role_in_calls(value: str, calls: Sequence[str]) -> str:
    """Return the flag, key or SQL word before the value in the call."""
    for text in calls:
        places = list(_places(value, text))
        before = [text[max(0, at - _REACH) : at] for at in places]
        if short := _first(_SHORT_FLAG, before) or _first(_NAMESPACE_FLAG, before):
            return _SHORT_FLAGS[short]
        if any(_VERSIONED.match(text, at + len(value)) and not _INSIDE.search(text[:at][-1:]) for at in places):
            return "package"
        if flag := _first(_LONG_FLAG, before):
            return flag
        if word := _first(_SQL_WORD, before):
            return _SQL[word]
        if resource := _first(_RESOURCE, before):
            return "deployment" if resource == "deploy" else resource
        key = _first(_KEY, before)
        if len(key) > 1 and key.lower() not in _NO_KEYS:
            return key
    return ""


def _places(value: str, text: str) -> Iterator[int]:
    """Yield where a value stands in a text, not as the beginning of a longer word."""
    at = text.find(value)
    while at >= 0:
        if not re.match(r"\w", text[at + len(value) : at + len(value) + 1]):
            yield at
        at = text.find(value, at + 1)


def _first(pattern: re.Pattern[str], texts: Sequence[str]) -> str:
    return next((str(found[1]) for text in texts if (found := pattern.search(text))), "")


def _role_by_shape(value: str) -> str:
    kind = type_of(value)
    if _WHOLE_VERSION.fullmatch(value):
        return "version"
    if kind == "path":
        return "file" if "." in value.rsplit("/", 1)[-1] else "path"
    return _BY_TYPE.get(kind, "value")


_MAX_VALUE = 200  # a longer argument is content, not a value
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_FREE_TEXT = frozenset({"description", "explanation", "justification"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The value of a parameter."""

    parameter: Parameter
    original: Any
    place: ValueSighting

    @property
    def part(self) -> str:
        """The part of the step that its words come from: for a bound one the tool's name."""
        return self.place.part if self.stated else "tool"

    @property
    def text(self) -> str:
        """The value as text."""
        return str(self.original)

    @property
    def stated(self) -> bool:
        """Whether the value may be replaced inside longer texts: true of values that the user named."""
        return self.place.origin is not Origin.EXTERNAL


@dataclass(frozen=True, slots=True)
class Generalisation:
    """The parameters of some calls, and how to insert and remove them."""

    bindings: tuple[Binding, ...] = ()
    workspace: str = ""
    _whole: dict[tuple[type, Any], str] = field(init=False, repr=False, compare=False, default_factory=dict)
    _inside: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    _patterns: dict[bool, re.Pattern[str] | None] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Index the bindings by value."""
        for binding in self.bindings:
            self._whole.setdefault((type(binding.original), binding.original), binding.parameter.name)
            if binding.stated:
                self._inside[binding.text] = binding.parameter.name
        for folded in (False, True):
            self._patterns[folded] = _alternatives(self._inside, self.workspace, folded=folded)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in order of first use."""
        return tuple(binding.parameter for binding in self.bindings)

    @property
    def values(self) -> dict[str, Any]:
        """Parameter name → its value in this attempt."""
        return {binding.parameter.name: binding.original for binding in self.bindings}

    def arguments(self, value: Any) -> Any:
        """Put parameters into nested arguments."""
        if isinstance(value, Mapping):
            return {key: self.arguments(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.arguments(item) for item in value]
        name = self._whole.get((type(value), value)) if isinstance(value, Hashable) else None
        if name is not None:
            return f"{{{name}}}"
        return self.text(value) if isinstance(value, str) else value

    def text(self, text: str, *, folded: bool = False) -> str:
        """Put parameters into a text; `folded` ignores case, for prose."""
        names, pattern = self._inside, self._patterns[folded]
        if pattern is None:
            return text
        lower = {_letters(value): name for value, name in names.items()}
        return pattern.sub(lambda match: f"{{{names.get(match.group()) or lower[_letters(match.group())]}}}", text)


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """Put values in place of parameters; a text of one parameter alone becomes the value itself."""
    if isinstance(value, Mapping):
        return {key: fill(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, values) for item in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\{(\w+)\}", value)
    if whole and whole[1] in values:
        return values[whole[1]]
    return re.sub(r"\{(\w+)\}", lambda match: str(values[match[1]]) if match[1] in values else match.group(), value)


def generalise(actions: Sequence[ToolCall], timeline: Timeline, *, workspace: str = "") -> Generalisation:
    """Find what differs between uses in these calls."""
    finder = _Finder(actions, timeline, workspace=workspace)
    for action in actions:
        for key, leaf in leaves(action.step.arguments):
            if isinstance(leaf, bool) or key in _FREE_TEXT:
                continue
            if action.kind is ToolKind.FUNCTION and 0 < len(str(leaf)) <= _MAX_VALUE:
                finder.whole(action, leaf, key=key)
            if isinstance(leaf, str):
                finder.inside(action, leaf)
                finder.workspace(action, leaf)
    return Generalisation(tuple(finder.found.values()), workspace)


class _Finder:
    """Collects bindings, one per value, with distinct names."""

    def __init__(self, actions: Sequence[ToolCall], timeline: Timeline, *, workspace: str) -> None:
        self.timeline = timeline
        self._root = workspace
        self.found: dict[str, Binding] = {}
        self._typed = [str(leaf) for action in actions for _, leaf in leaves(action.step.arguments)]
        self._typed_whole = frozenset(self._typed)
        # Names that are taken: used already, or in braces in what was typed.
        self._taken = {name for text in self._typed for name in re.findall(r"\{(\w+)\}", text)}
        self._numbers: dict[str, int] = {}
        self._tools = {action.index: action.step.tool for action in actions}
        commands = {
            name
            for action in actions
            for command in action.commands
            for name in _command_names(command.label, command.text)
        }
        marked = frozenset(quoted(timeline.user_text))
        self._named = [
            piece
            for piece in timeline.named
            if piece not in commands
            and (piece in marked or _is_name_key(piece))
            and re.search(r"\w\w|\d", piece)  # a quoted sign or letter is literal
            and piece.casefold() not in STOP_WORDS
        ]

    def whole(self, action: ToolCall, leaf: Any, *, key: str) -> None:
        """Bind a plain tool's whole argument to its source."""
        text = str(leaf)
        if text in self.found or not text.strip():
            return
        place = self.timeline.first_seen(text, before=action.index)
        if place is None or place.origin in (Origin.AGENT, Origin.OPERATOR):
            return
        if place.origin is Origin.USER:
            self._add(leaf, place, wish=key)
        elif place.part == "observation" and self._bound(leaf, place, key=key):
            self._add(leaf, place, wish=key, source=self._tools.get(place.step, ""))

    def inside(self, action: ToolCall, leaf: str) -> None:
        """Bind values that the user named inside a longer text."""
        for piece in self._named:
            if piece in self.found or piece not in leaf or not value_pattern(piece, self._root).search(leaf):
                continue
            place = self.timeline.first_seen(piece, before=action.index)
            if place is not None and place.origin is Origin.USER:
                self._add(
                    piece, place, wish=role_of(piece, self.timeline.user_text, calls=self._typed, values=self._named)
                )

    def workspace(self, action: ToolCall, leaf: str) -> None:
        """Bind the folder of the attempt."""
        folder = self._root
        if len(folder) > 1 and folder not in self.found and value_pattern(folder).search(leaf):
            place = ValueSighting(Origin.AGENT, action.index, "arguments")
            self._add(folder, place, wish=WORKSPACE.name, description=WORKSPACE.description)

    def _bound(self, leaf: Any, place: ValueSighting, *, key: str) -> bool:
        """Whether the argument clearly is that answer's value, not a word that happens to occur there."""
        answer = self.timeline.observation(place.step)
        text = str(leaf)
        if answer.strip().strip('"') == text:
            return True
        same_key = re.search(rf'"{re.escape(_singular(key))}s?"\s*:\s*\[?\s*"?{re.escape(text)}\b', answer)
        return bool(same_key) or (isinstance(leaf, str) and len(text) >= 4 and is_run_specific(text))

    def _add(
        self,
        original: Any,
        place: ValueSighting,
        *,
        wish: str,
        source: str = "",
        description: str = "",
    ) -> None:
        text = str(original)
        name = self._free_name(_singular(wish))
        external = place.origin is Origin.EXTERNAL
        words = name.replace("_", " ")
        kind = type_of(text)
        if isinstance(original, str) and kind in ("integer", "number", "boolean") and text in self._typed_whole:
            kind = "string"
        parameter = Parameter(
            name=name,
            description=description or (f"from the result of `{source}`" if source else f"{words} named in the task"),
            type=kind,
            example="" if external or description else text,
        )
        self.found[text] = Binding(parameter=parameter, original=original, place=place)

    def _free_name(self, wish: str) -> str:
        name = identifier(wish)
        number = self._numbers.get(name, 1)
        while (chosen := name if number == 1 else f"{name}_{number}") in self._taken:
            number += 1
        self._numbers[name] = number
        self._taken.add(chosen)
        return chosen


@lru_cache(maxsize=4096)
def value_pattern(value: str, workspace: str = "") -> re.Pattern[str]:
    """Return a pattern for the value: a short number only as a whole word, a path not as the end of another."""
    if _VERSION.fullmatch(value):  # `v1.2.0` is a tag of version 1.2.0
        return re.compile(rf"(?:(?<![^\W_])|(?<=(?<![^\W_])v)){re.escape(value)}(?![^\W_])")
    if value.isdigit() and len(value) < 4:
        return re.compile(rf"(?<![\w.:/-]){value}(?![\w:/-]|\.\w)")
    if type_of(value) == "path" and value[0] not in "/~":
        root = rf"|(?<={re.escape(workspace.rstrip('/'))}/)" if workspace else ""
        return re.compile(rf"(?:(?<![\w/.-])|(?<!\.)(?<=\./){root}){re.escape(value)}(?![^\W_])")
    return whole_word(value)


def _alternatives(values: Iterable[str], workspace: str, *, folded: bool) -> re.Pattern[str] | None:
    parts: list[str] = []
    for value in sorted(values, key=lambda value: (-len(value), value)):
        parts.append(value_pattern(value, workspace).pattern)
        if folded and (spelled := any_spelling(value)):
            parts.append(spelled.pattern)
    return re.compile("|".join(parts), re.IGNORECASE if folded else 0) if parts else None


def _letters(value: str) -> str:
    """Return a value without case and separators."""
    return re.sub(r"[\s_-]+", "", value).casefold()


def _command_names(label: str, text: str) -> set[str]:
    """Return names that are the command itself."""
    words = label.split()
    return {text, label, *words, *(" ".join(words[i:]) for i in range(len(words)))}


def _is_name_key(piece: str) -> bool:
    return len(piece) >= 3 or piece.isdigit()


def _singular(key: str) -> str:
    return re.sub(r"(?<=id)s$", "", key)
