"""An attempt's readings and calls: what was read is not read twice until something was changed. Decides nothing.

A reading's arguments come from the step of a recalled skill that takes it: parameters are found in the task's words or in
earlier answers. Where a place offers several values (one of a customer's lines), they are tried until an answer names
what the task names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacit.domain.skill import Condition, Parameter, SkillContent, SkillStep
from tacit.features.evaluate.environment import Environment
from tacit.text.facts import Facts, gathered, identifiers
from tacit.text.places import candidates, resolve

_SLOT = re.compile(r"\{(\w+)\}")
MAX_SIGHT = 300
"""Characters of one reading that are recalled by."""
MAX_TRIED = 6
"""Values that are tried for one reading."""


class OutOfCalls(Exception):
    """No call is left."""


class Notebook:
    """All that one attempt has seen, and the calls that are left to it."""

    def __init__(self, environment: Environment, *, max_calls: int) -> None:
        self.log: list[str] = []
        self._environment = environment
        self._task = environment.task
        self._left = max_calls
        self._tools = {tool.name: tool for tool in environment.tools}
        self._ways: dict[str, tuple[SkillStep, Sequence[Parameter]]] = {}
        self._answers: list[tuple[str, str, str]] = []
        self._fresh: set[str] = set()
        self._known: dict[str, Facts] | None = None

    @property
    def known(self) -> Mapping[str, Facts]:
        """Facts by reading, as they were last seen."""
        if self._known is None:
            self._known = dict(gathered(self._answers, self._task))
        return self._known

    def learn_ways(self, skills: Iterable[SkillContent]) -> None:
        """See in the steps of skills how readings are taken."""
        for skill in skills:
            for step in skill.steps:
                if self._reads(step.tool):
                    self._ways.setdefault(step.tool, (step, skill.parameters))

    def note(self, text: str) -> None:
        """Keep a decision."""
        self.log.append(text)

    def shown(self, condition: Condition) -> str:
        """What stands at the place that a condition is about."""
        facts = self.known.get(condition.reading)
        return "nothing" if facts is None else ", ".join(facts.get(condition.key, ())) or "nothing of it"

    def sight(self) -> str:
        """All that is known, in words to recall by, records of many fields last; and what could still be looked at."""
        told = [
            f"{reading} shows " + ", ".join(f"{key}: {', '.join(values)}" for key, values in shown.items())
            for reading, shown in sorted(self.known.items(), key=lambda entry: len(entry[1]))
        ]
        unread = [tool.name for tool in self._tools.values() if tool.read_only and tool.name not in self.known]
        return "\n".join([*(line[:MAX_SIGHT] for line in told), *unread])

    def changes(self, steps: Sequence[SkillStep]) -> bool:
        """Whether steps do anything here, with tools that there are."""
        tools = [step.tool for step in steps if step.tool]
        return all(tool in self._tools for tool in tools) and not all(map(self._reads, tools))

    def look_at(self, readings: Iterable[str]) -> None:
        """Take readings that were not taken since the last change."""
        for reading in readings:
            if reading in self._fresh or not self._reads(reading):
                continue
            again = [arguments for tool, arguments, _ in self._answers if tool == reading]
            if again:
                self._call(reading, json.loads(self._telling(reading, again)))
            else:
                self._take(reading)

    def follow(self, skill: SkillContent) -> bool:
        """Make the calls of a skill; whether all of them worked."""
        for step in skill.steps:
            if self._reads(step.tool):
                if not any(tool == step.tool for tool, _, _ in self._answers):
                    self._take(step.tool)
                continue
            arguments = self._arguments(step, skill.parameters)
            if arguments is None:
                self._cannot(step.tool)
                return False
            worked = self._call(step.tool, arguments)
            self._fresh.clear()
            if not worked:
                return False
        return True

    def _take(self, reading: str) -> None:
        """Take a reading for the first time, and before it those that its arguments come from."""
        step, parameters = self._ways.get(reading, (SkillStep(text="", tool=reading), ()))
        if any(name not in step.arguments for name in self._tools[reading].required):
            self._cannot(reading)
            return
        for source in self._sources(step, parameters):
            if source != reading and not any(tool == source for tool, _, _ in self._answers):
                self._take(source)
        arguments = self._arguments(step, parameters)
        if arguments is not None:
            self._call(reading, arguments)
            return
        ways = self._several(step, parameters)
        for arguments in ways:
            if self._call(reading, arguments) and self._named(self._answers[-1][2]):
                break
        if not ways:
            self._cannot(reading)

    def _cannot(self, tool: str) -> None:
        self._fresh.add(tool)  # asking again before something changes would tell no more
        self.note(f"{tool}: nothing tells its arguments")

    def _named(self, text: str) -> bool:
        return any(name in text for name in identifiers(self._task))

    def _sources(self, step: SkillStep, parameters: Sequence[Parameter]) -> list[str]:
        used = set(_SLOT.findall(json.dumps(step.arguments)))
        return [each.reading for each in parameters if each.name in used and self._reads(each.reading)]

    def _arguments(self, step: SkillStep, parameters: Sequence[Parameter]) -> dict[str, Any] | None:
        """A step's arguments with every parameter filled in; None where one cannot be told."""
        values: dict[str, Any] = {}
        for parameter in parameters:
            value = resolve(parameter, self._task, answers=self._texts, known=values)
            if value is not None:
                values[parameter.name] = value
        filled: dict[str, Any] | None = _filled(step.arguments, values)
        return filled

    def _several(self, step: SkillStep, parameters: Sequence[Parameter]) -> list[dict[str, Any]]:
        """Every way to fill in the one parameter that has several values."""
        used = set(_SLOT.findall(json.dumps(step.arguments)))
        values: dict[str, Any] = {}
        choice: tuple[str, list[Any]] = ("", [])
        for parameter in parameters:
            found = candidates(parameter, self._task, answers=self._texts, known=values)
            if parameter.name in used and len(found) > 1:
                choice = (parameter.name, found[:MAX_TRIED])
            elif found:
                values[parameter.name] = found[0]
        filled = (_filled(step.arguments, {**values, choice[0]: value}) for value in choice[1])
        return [arguments for arguments in filled if arguments is not None]

    @property
    def _texts(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = {}
        for tool, _, text in self._answers:
            texts.setdefault(tool, []).append(text)
        return texts

    def _telling(self, reading: str, asked: Sequence[str]) -> str:
        """Of the ways in which a reading was taken, the one whose answer names what the task names; else the last."""
        for tool, arguments, text in self._answers:
            if tool == reading and self._named(text):
                return arguments
        return asked[-1]

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        if self._left <= 0:
            raise OutOfCalls
        self._left -= 1
        text, failed = self._environment.call(tool, **arguments)
        self.note(f"{tool}({', '.join(f'{key}={value!r}' for key, value in arguments.items())}) -> {text[:200]}")
        if not failed:
            self._answers.append((tool, json.dumps(arguments, sort_keys=True), text))
        self._known = None
        self._fresh.add(tool)
        return not failed

    def _reads(self, tool: str) -> bool:
        return tool in self._tools and self._tools[tool].read_only


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Arguments with `{name}` replaced; None as soon as one name has no value."""
    if isinstance(value, Mapping):
        filled = {key: _filled(item, values) for key, item in value.items()}
        return None if any(item is None and value[key] is not None for key, item in filled.items()) else filled
    if isinstance(value, list | tuple):
        items = [_filled(item, values) for item in value]
        return None if None in items else items
    if not isinstance(value, str):
        return value
    whole = _SLOT.fullmatch(value)
    if whole:
        return values.get(whole[1])
    if any(name not in values for name in _SLOT.findall(value)):
        return None
    return _SLOT.sub(lambda match: str(values[match[1]]), value)
