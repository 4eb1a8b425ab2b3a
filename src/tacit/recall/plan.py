"""A task's text and recalled skills with cues → one ordered plan made of them, or the reason why there is none.

Words used here: *cues* are words of a task that count for or against a skill, with weights; the *strength* with which they
call for it is from 0 to 1. *Cases* are situations that call for a skill; what tools answer decides them instead of words.
*Surroundings* are the tools that were available wherever a skill was used, besides its own.

Example: for "water bed #1001; water bed #1002; print the list" the cues call for `water-bed` and `print-list` (`CALLED_MIN`)
and not for `dig-bed`. The plan has both in the order of the text, and `water-bed` twice, once for each number. If the tool
of `print-list` is missing, the plan is empty: doing the rest would be something else than was asked. But where most of the
surroundings of a weakly called skill are missing too, it belongs elsewhere, its words matched by chance, and the plan is
made without it.

A plan fetches nothing and fills in no argument. Thresholds were measured in docs/lab.md, "can recall tell that a needed tool
is absent?" and "does what is left over call for the tool that is missing?".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from math import inf
from typing import NamedTuple

from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Chosen, Plan, PlannedStep
from tacit.domain.skill import SkillContent
from tacit.recall import reasons
from tacit.recall.filters import missing_tools
from tacit.text.cues import clauses, features, first_mention, identifiers, means_any, shape, spoken, strength, words_of

CALLED_MIN = 0.4
"""From this strength on a skill is called for in addition to the strongest one."""
BEST_STRENGTH_MIN = 0.2
"""Below this strength not even the strongest skill is taken."""
MAX_REPEATS = 20
"""How often one skill is repeated: a list of numbers in a task must not make a plan without end."""
TASK_WORDS_MIN = 0.1
"""The least that the words of the task add to the strength; the rest of it holds for any task."""
STRENGTH_SHARE_OF_BEST_MIN = 0.7
"""Share of the strongest usable skill's strength that another one needs to be taken with it."""
AVAILABLE_SHARE_MIN = 0.5
"""Share of its surroundings that must be available for a skill to belong here."""
NAMED_SHARE_MIN = 2 / 3
"""Share of the words of a tool's name that a task must contain to call for it by name. At a half, `get` alone calls for it."""


@dataclass(frozen=True, slots=True)
class PlanOption:
    """A recalled skill version that may become part of a plan."""

    version_id: str
    content: SkillContent
    surroundings_observed: bool = True
    """Whether attempts showed its surroundings; surroundings that were only written down block no other skill."""

    @property
    def observed_content(self) -> SkillContent:
        """The content, without surroundings that were not observed."""
        return self.content if self.surroundings_observed else replace(self.content, surroundings=())


class RatedOption(NamedTuple):
    """An option, and how strongly the words of the task call for it."""

    strength: float
    option: PlanOption


def compose(text: str, options: Sequence[PlanOption], *, tools: Collection[str] | None = None) -> Plan:
    """Choose, repeat and order the parts that a task calls for; `tools`, where given, are the only ones that exist."""
    present = features(text)
    cued = [option for option in options if option.content.cues]
    rated: list[RatedOption] = []
    for option in cued:
        by_task_words = spoken(option.content.cues, present) >= TASK_WORDS_MIN
        rated.append(RatedOption(strength(option.content.cues, present) if by_task_words else 0.0, option))
    rated.sort(key=lambda each: (-each.strength, each.option.content.name, each.option.version_id))
    strengths = {option.version_id: round(value, 4) for value, option in rated}
    usable = [each for each in rated if not missing_tools(each.option.content, tools)]
    not_called = Plan(strengths=strengths, code=ReasonCode.NOT_CALLED, reason=reasons.NO_SKILL_CALLED)
    if not rated or rated[0].strength < BEST_STRENGTH_MIN:
        return not_called
    if blocked := _blocked_plan(rated, usable, strengths, tools):
        return blocked
    if tools is not None and (named := expected_tool_named(text, [option.observed_content for option in cued], tools)):
        code, reason = ReasonCode.EXPECTED_TOOLS_MISSING, reasons.tool_called(named)
        return Plan(strengths=strengths, lacking=(named,), code=code, reason=reason)
    if not usable and any(value >= BEST_STRENGTH_MIN and option.content.cases for value, option in rated):
        return Plan(strengths=strengths, code=ReasonCode.READINGS_MISSING, reason=reasons.READINGS_MISSING)
    if not usable or (usable[0].strength < BEST_STRENGTH_MIN and not rated[0].option.content.cases):
        return not_called  # what the words fit best is done in other places
    needed = max(CALLED_MIN, STRENGTH_SHARE_OF_BEST_MIN * usable[0].strength)
    taken = [each for at, each in enumerate(usable) if at == 0 or each.strength >= needed]
    covered = {name for each in taken for name in each.option.content.sub_skills}
    kept = [each for each in taken if each.option.content.name not in covered]
    chosen = tuple(
        Chosen(
            version_id=option.version_id, name=option.content.name, times=_times(text, option), strength=round(value, 4)
        )
        for value, option in _in_order(text, kept)
    )
    return Plan(chosen=chosen, steps=_steps(chosen, options), strengths=strengths)


def _blocked_plan(
    rated: Sequence[RatedOption],
    usable: Sequence[RatedOption],
    strengths: Mapping[str, float],
    tools: Collection[str] | None,
) -> Plan | None:
    """Return an empty plan if a skill is called for that lacks a tool, because of the strongest such skill; else nothing.

    The strongest of all is called for, unless it belongs elsewhere and is weak. Any other one is called for if it belongs
    here; where that is unknown, if it is strong enough to be planned together with the strongest usable skill.
    """
    if tools is None:
        return None
    best = usable[0].strength if usable else 0.0
    needed = max(CALLED_MIN, STRENGTH_SHARE_OF_BEST_MIN * best) if best >= BEST_STRENGTH_MIN else inf
    for at, (value, option) in enumerate(rated):
        # What tools answer decides whether a skill with cases is needed, not words.
        if value < BEST_STRENGTH_MIN or option.content.cases or not missing_tools(option.content, tools):
            continue
        where = tool_environment(option.content.surroundings, tools)
        if where is ToolEnvironment.HERE and not option.surroundings_observed:
            # Surroundings that were only written down may show that it belongs elsewhere, not that it is missing here.
            where = ToolEnvironment.UNKNOWN
        if where is ToolEnvironment.ELSEWHERE and best >= STRENGTH_SHARE_OF_BEST_MIN * value:
            continue  # a usable skill matches the same words about as well
        strongest = at == 0 and (value >= CALLED_MIN or where is not ToolEnvironment.ELSEWHERE)
        if strongest or where is ToolEnvironment.HERE or (where is ToolEnvironment.UNKNOWN and value >= needed):
            lacking = tuple(missing_tools(option.content, tools))
            reason = reasons.skill_lacks_tools(option.content.name, lacking, belongs_here=where is ToolEnvironment.HERE)
            return Plan(strengths=strengths, lacking=lacking, code=ReasonCode.MISSING_TOOLS, reason=reason)
    return None


def _in_order(text: str, kept: Sequence[RatedOption]) -> list[RatedOption]:
    """Sort by the known order of skills (`after`); where that leaves a choice, as the task names them."""
    waiting = sorted(
        kept, key=lambda each: (first_mention(each.option.content.cues, text), -each.strength, each.option.content.name)
    )
    ordered: list[RatedOption] = []
    while waiting:
        names = {each.option.content.name for each in waiting}
        free = (
            each for each in waiting if not names.intersection(each.option.content.after) - {each.option.content.name}
        )
        following = next(free, waiting[0])  # a cycle in hand-written `after` is cut at the part named first
        waiting.remove(following)
        ordered.append(following)
    return ordered


def _times(text: str, option: PlanOption) -> int:
    """Return how often a skill is done: once for each identifier of one shape (such as order numbers) that comes first in a
    clause with its cues."""
    cues = [cue for cue in option.content.cues if cue.term]
    numbers = {
        number
        for clause in clauses(text)
        if strength(cues, features(clause)) >= CALLED_MIN
        for number in identifiers(clause)[:1]
    }
    shapes = Counter(shape(number) for number in numbers)
    return min(max(shapes.values(), default=1), MAX_REPEATS)


def _steps(chosen: Sequence[Chosen], options: Sequence[PlanOption]) -> tuple[PlannedStep, ...]:
    """Return all steps in order; what was looked up for one part is not looked up again for another."""
    contents = {option.version_id: option.content for option in options}
    looked_up: set[str] = set()
    planned: list[PlannedStep] = []
    for each in chosen:
        content = contents[each.version_id]
        lookup_tools = {parameter.reading for parameter in content.parameters}
        lookup_tools |= {condition.reading for case in content.cases for condition in case.conditions}
        for turn in range(each.times):
            for number, step in enumerate(content.steps):
                call = f"{step.tool} {sorted(step.arguments.items(), key=str)}"
                if step.tool in lookup_tools and call in looked_up:
                    continue
                looked_up.add(call)
                planned.append(PlannedStep(version_id=each.version_id, step=number, tool=step.tool, turn=turn))
    return tuple(planned)


class ToolEnvironment(Enum):
    """Whether a skill that lacks a tool belongs to the environment of the available tools."""

    UNKNOWN = "unknown"
    HERE = "here"
    ELSEWHERE = "elsewhere"


def tool_environment(co_available_tools: Collection[str], tools: Collection[str]) -> ToolEnvironment:
    """Return where a skill belongs, by the share of its surroundings that is available."""
    surroundings = set(co_available_tools)
    if not surroundings:
        return ToolEnvironment.UNKNOWN
    belongs_here = len(surroundings.intersection(tools)) >= AVAILABLE_SHARE_MIN * len(surroundings)
    return ToolEnvironment.HERE if belongs_here else ToolEnvironment.ELSEWHERE


def expected_tool_named(text: str, contents: Sequence[SkillContent], tools: Collection[str]) -> str:
    """Return a tool that no skill uses, that is expected here and absent, and that the task names; empty if there is none."""
    available = frozenset(tools)
    used_or_available = available.union(step.tool for content in contents for step in content.steps)
    neighbours: dict[str, set[str]] = {}
    for content in contents:
        own = {step.tool for step in content.steps if step.tool}
        for tool in content.surroundings:
            if tool not in used_or_available:
                neighbours.setdefault(tool, set()).update(own)
    expected = [
        tool for tool in sorted(neighbours) if tool_environment(neighbours[tool], available) is ToolEnvironment.HERE
    ]
    if not expected:
        return ""
    task_words = frozenset(words_of(text))
    return next((tool for tool in expected if _is_named(tool, task_words)), "")


def _is_named(tool: str, task_words: AbstractSet[str]) -> bool:
    """Return whether a task has most words of a tool's name, or what they stand for."""
    words = set(words_of(tool))
    return bool(words) and sum(means_any(word, task_words) for word in words) >= NAMED_SHARE_MIN * len(words)
