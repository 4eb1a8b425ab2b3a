"""The reference agent: acts with recalled skills alone, without a language model.

It recalls skills for the task, takes the readings that their conditions need, follows the skills whose conditions hold, and
checks the goal. It repeats this until nothing is left to do, then recalls once more by what it has seen. If the goal is still
not reached, it abstains: it never guesses. It does not record outcomes; the caller does.

>>> report = Agent(memory).attempt(environment)         # doctest: +SKIP
>>> print(report.ending, report.reason)                 # doctest: +SKIP
>>> for use_id, versions in report.followed.items():    # doctest: +SKIP
...     memory.record(use_id, outcome="success", followed=versions)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tacit.domain.selection import Item, Selection
from tacit.domain.skill import ENDS_TASK_TAG, Case, Condition, Parameter, SkillContent, SkillStep
from tacit.features.evaluate.suite import TaskEnvironment
from tacit.recall.plan import CALLED_MIN
from tacit.text.cues import features, strength
from tacit.text.facts import TASK, Facts, gathered, holds, identifiers
from tacit.text.value_lookup import candidates, resolve
from tacit.text.words import term_set

_PARAMETER = re.compile(r"\{(\w+)\}")
MAX_SIGHT = 300
"""Characters of one reading that are used as a query."""
MAX_TRIED = 6
"""How many values are tried for one reading."""


class OutOfCalls(Exception):
    """No call is left."""


class Notebook:
    """What one attempt has seen, and the calls it has left."""

    def __init__(self, environment: TaskEnvironment, *, max_calls: int) -> None:
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
        """Facts by reading, as last seen."""
        if self._known is None:
            self._known = dict(gathered(self._answers, self._task))
        return self._known

    def learn_ways(self, skills: Iterable[SkillContent]) -> None:
        """Learn from the steps of skills how readings are taken."""
        for skill in skills:
            for step in skill.steps:
                if self._reads(step.tool):
                    self._ways.setdefault(step.tool, (step, skill.parameters))

    def note(self, text: str) -> None:
        """Log a decision."""
        self.log.append(text)

    def shown(self, condition: Condition) -> str:
        """Return the value that a condition is about."""
        facts = self.known.get(condition.reading)
        return "nothing" if facts is None else ", ".join(facts.get(condition.key, ())) or "nothing of it"

    def sight(self) -> str:
        """Return everything known as a query, records with many fields last, and the tools that were not read yet."""
        readings = [
            f"{reading} shows " + ", ".join(f"{key}: {', '.join(values)}" for key, values in shown.items())
            for reading, shown in sorted(self.known.items(), key=lambda entry: len(entry[1]))
        ]
        unread = [tool.name for tool in self._tools.values() if tool.read_only and tool.name not in self.known]
        return "\n".join([*(line[:MAX_SIGHT] for line in readings), *unread])

    def changes(self, steps: Sequence[SkillStep]) -> bool:
        """Whether steps change anything here, with tools that exist."""
        tools = [step.tool for step in steps if step.tool]
        return all(tool in self._tools for tool in tools) and not all(map(self._reads, tools))

    def look_at(self, readings: Iterable[str]) -> None:
        """Take readings that were not taken since the last change."""
        for reading in readings:
            if reading in self._fresh or not self._reads(reading):
                continue
            again = [(arguments, text) for tool, arguments, text in self._answers if tool == reading]
            if again:  # with the arguments whose answer names what the task names, otherwise the last
                telling = (arguments for arguments, text in again if self._named(text))
                self._call(reading, json.loads(next(telling, again[-1][0])))
            else:
                self._take(reading)

    def follow(self, skill: SkillContent) -> bool:
        """Make the calls of a skill; return whether all succeeded."""
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
        """Take a reading for the first time, after those that its arguments come from."""
        step, parameters = self._ways.get(reading, (SkillStep(text="", tool=reading), ()))
        if any(name not in step.arguments for name in self._tools[reading].required):
            self._cannot(reading)
            return
        used = set(_PARAMETER.findall(json.dumps(step.arguments)))
        for source in [each.reading for each in parameters if each.name in used and self._reads(each.reading)]:
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
        self._fresh.add(tool)  # the answer stays the same until something changes
        self.note(f"{tool}: its arguments are unknown")

    def _named(self, text: str) -> bool:
        return any(name in text for name in identifiers(self._task))

    def _arguments(self, step: SkillStep, parameters: Sequence[Parameter]) -> dict[str, Any] | None:
        """Return a step's arguments with all parameters filled in; None if one is unknown."""
        values: dict[str, Any] = {}
        for parameter in parameters:
            value = resolve(parameter, self._task, answers=self._texts, known=values)
            if value is not None:
                values[parameter.name] = value
        filled: dict[str, Any] | None = _filled(step.arguments, values)
        return filled

    def _several(self, step: SkillStep, parameters: Sequence[Parameter]) -> list[dict[str, Any]]:
        """Return every way to fill in the one parameter that has several values."""
        used = set(_PARAMETER.findall(json.dumps(step.arguments)))
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
    """Replace `{name}` in arguments; None if a name has no value."""
    if isinstance(value, Mapping):
        filled = {key: _filled(item, values) for key, item in value.items()}
        return None if any(item is None and value[key] is not None for key, item in filled.items()) else filled
    if isinstance(value, list | tuple):
        items = [_filled(item, values) for item in value]
        return None if None in items else items
    if not isinstance(value, str):
        return value
    whole = _PARAMETER.fullmatch(value)
    if whole:
        return values.get(whole[1])
    if any(name not in values for name in _PARAMETER.findall(value)):
        return None
    return _PARAMETER.sub(lambda match: str(values[match[1]]), value)


MAX_CALLS = 30
MAX_ROUNDS = 5
RECALLED = 64
BUDGET_TOKENS = 100_000
"""The agent reads fields, not text, so recalled skills cost no context."""
_SPOKEN = Case(conditions=(Condition(text="the task's words call for it"),))


class SkillSource(Protocol):
    """Where the agent gets skills from; `tacit.open()` returns one."""

    def recall(
        self, task: str, *, k: int | None = None, budget_tokens: int | None = None, tools: Sequence[str] | None = None
    ) -> Selection:
        """Return skills for a task."""


@dataclass(slots=True)
class AttemptReport:
    """How an attempt ended, and why."""

    ending: str = "done"
    """`done`, `handed over` or `abstained`."""
    reason: str = ""
    followed: dict[str, list[str]] = field(default_factory=dict)
    """Use → version ids of its skills that were followed."""
    log: list[str] = field(default_factory=list)
    """Every decision and call, in order."""


class Agent:
    """Follows recalled skills. One instance can make many attempts."""

    def __init__(self, memory: SkillSource, *, max_calls: int = MAX_CALLS) -> None:
        self._memory = memory
        self._max_calls = max_calls

    def attempt(self, environment: TaskEnvironment) -> AttemptReport:
        """Work on the environment's task until the goal is reached, or abstain if no skill is known."""
        tools = [tool.name for tool in environment.tools]
        selection = self._memory.recall(environment.task, k=RECALLED, budget_tokens=BUDGET_TOKENS, tools=tools)
        attempt = _Attempt(environment, self._memory, selection, max_calls=self._max_calls)
        try:
            attempt.work()
        except OutOfCalls:
            attempt.give_up(f"{self._max_calls} calls were not enough")
        attempt.report.log = attempt.notebook.log
        return attempt.report


class _Attempt:
    """One attempt: open skills, readings and calls."""

    def __init__(
        self, environment: TaskEnvironment, memory: SkillSource, selection: Selection, *, max_calls: int = MAX_CALLS
    ) -> None:
        self.report = AttemptReport()
        self.notebook = Notebook(environment, max_calls=max_calls)
        self._environment = environment
        self._memory = memory
        self._task = environment.task
        self._uses: dict[str, str] = {}
        self._asked: list[str] = []
        self._nothing = selection.reason if selection.abstained else ""
        # if some skills state their conditions, words alone are not enough to act on
        self._by_words = not any(item.version.content.cases for item in selection.items)
        self._open = [item for item in self._taken_in(selection) if self._cases(item)]
        self._goal = _asked_of(self._task, selection.items)

    def work(self) -> None:
        """Repeat looking, acting and checking."""
        if not self._open:
            self.give_up(self._nothing or "no recalled skill fits the task")
            return
        for _ in range(MAX_ROUNDS):
            did = self._round()
            if self.report.ending != "done":
                return
            self.notebook.look_at([condition.reading for condition in self._goal])
            if self._goal and all(holds(each, self.notebook.known, task=self._task) for each in self._goal):
                self.report.reason = "the goal is reached"
                return
            if not did and not (self._goal and self._recalled_by_sight()):
                break
        if self._goal or not any(self.report.followed.values()):
            self.give_up(self._unexplained())

    def give_up(self, why: str) -> None:
        """Abstain: there is no skill for this."""
        self.report.ending, self.report.reason = "abstained", f"no skill for this: {why}"
        self.notebook.note(self.report.reason)
        self._environment.abstain(self.report.reason)

    def _round(self) -> bool:
        """Read what open skills need, follow those whose case holds; return whether anything was done."""
        cases = (case for item in self._open for case in self._cases(item))
        readings = [each.reading for case in cases for each in case.conditions if each.reading not in ("", TASK)]
        self._asked = list(dict.fromkeys([*self._asked, *readings]))
        self.notebook.look_at(dict.fromkeys(readings))
        called = [(item, case) for item in self._open if (case := self._called_for(item))]
        ending = [(item, case) for item, case in called if ENDS_TASK_TAG in item.version.content.tags]
        for item, case in ending[:1] or _in_order(called):
            self._open.remove(item)
            why = " and ".join(condition.text for condition in case.conditions)
            self.notebook.note(f"{item.name}: {why}")
            if self.notebook.follow(item.version.content):
                self.report.followed.setdefault(self._uses[item.version_id], []).append(item.version_id)
        if ending and self.report.followed:
            self.report.ending, self.report.reason = "handed over", self.notebook.log[-1]
        return bool(called)

    def _recalled_by_sight(self) -> bool:
        """Recall by what the readings show; return whether there is a new skill that is not ruled out."""
        self.notebook.look_at(self._asked)
        selection = self._memory.recall(self.notebook.sight(), k=RECALLED, budget_tokens=BUDGET_TOKENS)
        known = self.notebook.known
        new = [
            item
            for item in self._taken_in(selection)
            for case in self._cases(item)
            if all(holds(each, known, task=self._task) is not False for each in case.conditions)
        ]
        self._open += list({item.version_id: item for item in new}.values())
        return bool(new)

    def _taken_in(self, selection: Selection) -> list[Item]:
        """Return the skills of a selection that are new, change something, and can be followed here."""
        new = [item for item in selection.items if item.version_id not in self._uses]
        self._uses.update((item.version_id, selection.use_id) for item in new)
        self.notebook.learn_ways(item.version.content for item in new)
        return [item for item in new if self.notebook.changes(item.steps)]

    def _called_for(self, item: Item) -> Case | None:
        known = self.notebook.known
        for case in self._cases(item):
            if case is _SPOKEN or all(holds(condition, known, task=self._task) for condition in case.conditions):
                return case
        return None

    def _cases(self, item: Item) -> list[Case]:
        """Return the cases that the task's words allow; if no skill has cases, the words are the case."""
        content = item.version.content
        if self._by_words and strength(content.cues, features(self._task)) >= CALLED_MIN:
            return [_SPOKEN]
        return [
            case
            for case in content.cases
            if all(holds(each, {}, task=self._task) is not False for each in case.conditions if each.reading == TASK)
        ]

    def _unexplained(self) -> str:
        missing = [each for each in self._goal if not holds(each, self.notebook.known, task=self._task)]
        seen = "; ".join(f"{each.text}, but it shows {self.notebook.shown(each)}" for each in missing)
        return f"the goal is that {seen}, and no known case holds" if seen else "no known case holds"


def _asked_of(task: str, items: Sequence[Item]) -> list[Condition]:
    """Return the goal conditions of a task: postconditions of its skills that can be read and that the task asks for."""
    words = term_set(task)
    found = (each for item in items for each in item.version.content.postconditions)
    return list(dict.fromkeys(each for each in found if each.relation and (not each.when or each.when in words)))


def _in_order(called: Sequence[tuple[Item, Case]]) -> list[tuple[Item, Case]]:
    """Return skills in the order they define; otherwise as recalled."""
    waiting, done, ordered = list(called), set[str](), list[tuple[Item, Case]]()
    while waiting:
        names = {item.name for item, _ in waiting}
        free = [pair for pair in waiting if not names & (set(pair[0].version.content.after) - done - {pair[0].name})]
        chosen = (free or waiting)[0]
        waiting.remove(chosen)
        done.add(chosen[0].name)
        ordered.append(chosen)
    return ordered
