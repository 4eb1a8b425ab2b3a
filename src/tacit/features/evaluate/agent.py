"""A small agent that acts with recalled skills alone: no language model, no knowledge of its own.

Task and tools in, calls out. It recalls skills for the task, takes the readings that their cases ask for, follows those
whose case holds in the order that the skills give, and looks whether the goal is reached. A fix may uncover what it hid, so
it looks again until nothing is left to do; then it recalls once more, by what it has seen. Where the goal is still not
reached and no skill speaks to what it sees, it says so and stops: it never tries something for luck. It does not record
outcomes; whoever runs it knows better how the attempt ended.

>>> report = Agent(memory).attempt(environment)         # doctest: +SKIP
>>> print(report.ending, report.reason)                 # doctest: +SKIP
>>> for use_id, versions in report.followed.items():    # doctest: +SKIP
...     memory.record(use_id, outcome="success", followed=versions)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tacit.domain.selection import Item, Selection
from tacit.domain.skill import Case, Condition
from tacit.features.evaluate.environment import Environment
from tacit.features.evaluate.notebook import Notebook, OutOfCalls
from tacit.recall.plan import CALLED
from tacit.text.cues import features, strength
from tacit.text.facts import TASK, holds
from tacit.text.words import term_set

MAX_CALLS = 30
MAX_ROUNDS = 5
RECALLED = 64
BUDGET_TOKENS = 100_000
"""The agent reads fields, not text: what it recalls costs it no context."""
_SPOKEN = Case(conditions=(Condition(text="the task's words call for it"),))
ALONE = "alone"
"""The tag of skills that end an attempt, such as handing it over."""


class Memory(Protocol):
    """What the agent needs of a memory; `tacit.open()` gives one."""

    def recall(
        self,
        task: str,
        *,
        k: int | None = None,
        budget_tokens: int | None = None,
        tools: Sequence[str] | None = None,
    ) -> Selection:
        """Skills for a task."""


@dataclass(slots=True)
class Report:
    """What became of an attempt, and why."""

    ending: str = "done"
    """`done`, `handed over` or `abstained`."""
    reason: str = ""
    followed: dict[str, list[str]] = field(default_factory=dict)
    """Use → version ids of the skills of that use that were followed."""
    log: list[str] = field(default_factory=list)
    """Every decision and every call, in order."""


class Agent:
    """Follows recalled skills. One instance may make any number of attempts."""

    def __init__(self, memory: Memory, *, max_calls: int = MAX_CALLS) -> None:
        self._memory = memory
        self._max_calls = max_calls

    def attempt(self, environment: Environment) -> Report:
        """Work on the environment's task until the goal is reached, or say that no skill is known for it."""
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
    """One attempt: which skills are open, what was read, what was done."""

    def __init__(
        self, environment: Environment, memory: Memory, selection: Selection, *, max_calls: int = MAX_CALLS
    ) -> None:
        self.report = Report()
        self.notebook = Notebook(environment, max_calls=max_calls)
        self._environment = environment
        self._memory = memory
        self._task = environment.task
        self._uses: dict[str, str] = {}
        self._asked: list[str] = []
        self._nothing = selection.reason if selection.abstained else ""
        # Where some skills say when they are needed, words alone are too little to act on.
        self._by_words = not any(item.version.content.cases for item in selection.items)
        self._open = [item for item in self._taken_in(selection) if self._cases(item)]
        self._goal = _asked_of(self._task, selection.items)

    def work(self) -> None:
        """Rounds of looking, doing and checking."""
        if not self._open:
            self.give_up(self._nothing or "no recalled skill speaks to the task")
            return
        for _ in range(MAX_ROUNDS):
            did = self._round()
            if self.report.ending != "done":
                return
            if self._goal and self._reached():
                self.report.reason = "the goal is reached"
                return
            if not did and not (self._goal and self._recalled_by_sight()):
                break
        if self._goal or not any(self.report.followed.values()):
            self.give_up(self._unexplained())

    def give_up(self, why: str) -> None:
        """Say that there is no skill for this."""
        self.report.ending, self.report.reason = "abstained", f"no skill for this: {why}"
        self.notebook.note(self.report.reason)
        self._environment.abstain(self.report.reason)

    def _round(self) -> bool:
        """Look at what open skills ask for, follow those that are called for; whether anything was done."""
        readings = _readings(case for item in self._open for case in self._cases(item))
        self._asked = list(dict.fromkeys([*self._asked, *readings]))
        self.notebook.look_at(readings)
        called = [(item, case) for item in self._open if (case := self._called_for(item))]
        ending = [(item, case) for item, case in called if ALONE in item.version.content.tags]
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
        """Recall by what the readings show now; whether it brings a skill that what is known does not rule out."""
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
        """The skills of a selection that are new, do something, and can be followed here."""
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
        """The cases that the words of the task leave open; where no skill has any, the words themselves are the case."""
        content = item.version.content
        if self._by_words and strength(content.cues, features(self._task)) >= CALLED:
            return [_SPOKEN]
        return [
            case
            for case in content.cases
            if all(holds(each, {}, task=self._task) is not False for each in case.conditions if each.reading == TASK)
        ]

    def _reached(self) -> bool:
        self.notebook.look_at([condition.reading for condition in self._goal])
        return all(holds(condition, self.notebook.known, task=self._task) for condition in self._goal)

    def _unexplained(self) -> str:
        missing = [each for each in self._goal if not holds(each, self.notebook.known, task=self._task)]
        seen = "; ".join(f"{each.text}, but it shows {self.notebook.shown(each)}" for each in missing)
        return f"the goal is that {seen}, and no known case holds" if seen else "no known case holds"


def _asked_of(task: str, items: Sequence[Item]) -> list[Condition]:
    """The goal checks of a task: those of its skills' postconditions that a reading shows, and that are asked of it."""
    words = term_set(task)
    found = {
        condition: None
        for item in items
        for condition in item.version.content.postconditions
        if condition.relation and (not condition.when or condition.when in words)
    }
    return list(found)


def _readings(cases: Iterable[Case]) -> list[str]:
    readings = (condition.reading for case in cases for condition in case.conditions)
    return [reading for reading in dict.fromkeys(readings) if reading not in ("", TASK)]


def _in_order(called: Sequence[tuple[Item, Case]]) -> list[tuple[Item, Case]]:
    """Skills in the order that they give themselves; where they say nothing, as they were recalled."""
    waiting, done, ordered = list(called), set[str](), list[tuple[Item, Case]]()
    while waiting:
        names = {item.name for item, _ in waiting}
        free = [pair for pair in waiting if not names & (set(pair[0].version.content.after) - done - {pair[0].name})]
        chosen = (free or waiting)[0]
        waiting.remove(chosen)
        done.add(chosen[0].name)
        ordered.append(chosen)
    return ordered
