"""A task's text and recalled skills with cues → one ordered plan made of them, or the reason why there is none.

Words used here: *cues* are words of a task that count for or against a skill, with weights; the *strength* with which they
call for it is from 0 to 1. *Cases* are situations that call for a skill; what tools answer decides them instead of words.
*Surroundings* are the tools that were available wherever a skill was used, besides its own.

Example: for "water bed #1001; water bed #1002; print the list" the cues call for `water-bed` and `print-list` (`CALLED_MIN`)
and not for `dig-bed`. The plan has both in the order of the text, and `water-bed` twice, once for each number. If the tool
of `print-list` is missing, the plan is empty: doing the rest would be something else than was asked. But where most of the
surroundings of a weakly called skill are missing too, it belongs elsewhere, its words matched by chance, and the plan is
made without it.

Past attempts are a second witness. Where one at the same kind of task (`SAME_TASK_MIN`) made just the parts that are called
for, the plan has them as often and in the order in which it did them; where the words call for nothing, what it did is the
plan. How similar attempts went otherwise is named as alternatives. Only the order of approved skills is taken from them.

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
from tacit.domain.skill import SkillContent, SkillStep
from tacit.recall import reasons
from tacit.recall.filters import missing_tools
from tacit.text.cues import (
    clauses,
    count_of,
    features,
    first_mention,
    identifiers,
    means_any,
    shape,
    spoken,
    strength,
    words_of,
)
from tacit.text.similarity import jaccard

SAME_TASK_MIN = 0.5
"""Two tasks that share this part of their words, without names and numbers, are the same kind of task."""
CALLED_MIN = 0.45
"""From this strength on a skill is called for in addition to the strongest one."""
MAX_ALTERNATIVES = 3
"""How many other ways a plan names."""
MAX_REPEATS = 20
"""How often one skill is repeated: a list of numbers in a task must not make a plan without end."""
TASK_WORDS_MIN = 0.1
"""The least that the words of the task add to the strength; the rest of it holds for any task."""
ALWAYS_MIN = 0.75
"""From this strength on a skill that no word speaks for is taken beside others: nearly all successes did it."""
STRENGTH_SHARE_OF_BEST_MIN = 0.6
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


class PastAttempt(NamedTuple):
    """A verified success at a similar task: what was asked, and what was done, as calls that changed something."""

    task: str
    calls: Sequence[tuple[str, Mapping[str, object]]]
    """Tool and arguments of each, in order."""


class SimilarAttempt(NamedTuple):
    """A past attempt in terms of options: how much of its words the task shares, and what it did, in order."""

    likeness: float
    task: str
    made: tuple[PlanOption, ...]


class RatedOption(NamedTuple):
    """An option, and how strongly the words of the task call for it."""

    strength: float
    option: PlanOption


def compose(
    text: str,
    options: Sequence[PlanOption],
    *,
    tools: Collection[str] | None = None,
    attempts: Sequence[PastAttempt] = (),
) -> Plan:
    """Choose, repeat and order the parts that a task calls for; `tools`, where given, are the only ones that exist.

    Where a similar attempt made just these parts, they are done as often and in the order in which it did them. Where no part
    is called for and an attempt had the same kind of task, what it did is the plan.
    """
    present = features(text)
    cued = [option for option in options if option.content.cues]
    whole = {option.version_id: strength(option.content.cues, present) for option in cued}
    rated = [
        RatedOption(whole[each.version_id] if spoken(each.content.cues, present) >= TASK_WORDS_MIN else 0.0, each)
        for each in cued
    ]
    rated.sort(key=lambda each: (-each.strength, each.option.content.name, each.option.version_id))
    strengths = {option.version_id: round(value, 4) for value, option in rated}
    usable = [each for each in rated if not missing_tools(each.option.content, tools)]
    if not rated:
        return Plan(code=ReasonCode.NOT_CALLED, reason=reasons.NO_SKILL_CALLED)
    if blocked := _blocked_plan(rated, usable, strengths, tools):
        return blocked
    if rated[0].strength > 0 and tools is not None:
        if named := expected_tool_named(text, [option.observed_content for option in cued], tools):
            code, reason = ReasonCode.EXPECTED_TOOLS_MISSING, reasons.tool_called(named)
            return Plan(strengths=strengths, lacking=(named,), code=code, reason=reason)
        if not usable and any(value > 0 and option.content.cases for value, option in rated):
            return Plan(strengths=strengths, code=ReasonCode.READINGS_MISSING, reason=reasons.READINGS_MISSING)
    similar = _similar(text, [each.option for each in usable], attempts)
    taken = _taken(usable, whole)
    chosen = {option.version_id for _, option in taken}
    alike = [each.made for each in similar if each.likeness >= SAME_TASK_MIN and _lists_the_same(text, each)]
    made = next((made for made in alike if not taken or {one.version_id for one in made} == chosen), ())
    made = made or tuple(option for _, option in _in_order(text, taken) for _ in range(_times(text, option, similar)))
    if not made:  # nothing is called for, or what the words fit best is done in other places
        return Plan(strengths=strengths, code=ReasonCode.NOT_CALLED, reason=reasons.NO_SKILL_CALLED)
    strengths |= {option.version_id: round(whole[option.version_id], 4) for option in made}
    others = dict.fromkeys(_steps(made) for made in (made, *(each.made for each in similar)))
    return replace(_plan(made, strengths), alternatives=tuple(others)[1 : 1 + MAX_ALTERNATIVES])


def _taken(usable: Sequence[RatedOption], whole: Mapping[str, float]) -> list[RatedOption]:
    """Return what the words call for, with what nearly every success did; nothing if the words call for nothing."""
    if not usable or usable[0].strength <= 0:
        return []
    needed = max(CALLED_MIN, STRENGTH_SHARE_OF_BEST_MIN * usable[0].strength)
    taken = [each for at, each in enumerate(usable) if at == 0 or each.strength >= needed]
    taken += [
        RatedOption(whole[option.version_id], option)
        for value, option in usable
        if value <= 0 and whole[option.version_id] >= max(ALWAYS_MIN, needed) and not option.content.cases
    ]
    covered = {name for each in taken for name in each.option.content.sub_skills}
    return [each for each in taken if each.option.content.name not in covered]


def _plan(made: Sequence[PlanOption], strengths: Mapping[str, float]) -> Plan:
    """Return the plan that does these options one after the other."""
    times = Counter(option.version_id for option in made)
    chosen = tuple(
        Chosen(version_id=version_id, name=name, times=times[version_id], strength=strengths[version_id])
        for version_id, name in {option.version_id: option.content.name for option in made}.items()
    )
    return Plan(chosen=chosen, steps=_steps(made), strengths=strengths)


def _similar(text: str, options: Sequence[PlanOption], attempts: Sequence[PastAttempt]) -> list[SimilarAttempt]:
    """Return the attempts that consist of these options alone, the most similar task first."""
    words = frozenset(words_of(text))
    by_tools: dict[tuple[str, ...], list[PlanOption]] = {}
    for option in options:
        if option.content.cases:
            continue  # what tools answer decides whether it is needed
        by_tools.setdefault(tuple(step.tool for step in _own_steps(option.content)), []).append(option)
    found = [
        SimilarAttempt(jaccard(words, frozenset(words_of(each.task))), each.task, made)
        for each in attempts
        if (made := _in_options(each.calls, by_tools))
    ]
    return sorted(found, key=lambda each: -each.likeness)


def _own_steps(content: SkillContent) -> list[SkillStep]:
    """Return the calls that a skill is about, without what it looks up first and checks at the end."""
    lookups = _lookup_tools(content)
    return [step for step in content.steps if step.tool and step.tool not in lookups and not step.optional]


def _lookup_tools(content: SkillContent) -> set[str]:
    asked = {parameter.reading for parameter in content.parameters}
    return asked | {condition.reading for case in content.cases for condition in case.conditions}


def _in_options(
    calls: Sequence[tuple[str, Mapping[str, object]]], by_tools: Mapping[tuple[str, ...], Sequence[PlanOption]]
) -> tuple[PlanOption, ...]:
    """Return the options that make these calls, the longest first; nothing if some call belongs to none."""
    longest = max(map(len, by_tools), default=0)
    made: list[PlanOption] = []
    at = 0
    while at < len(calls):
        sizes = range(min(longest, len(calls) - at), 0, -1)
        size = next((size for size in sizes if tuple(tool for tool, _ in calls[at : at + size]) in by_tools), 0)
        if not size:
            return ()
        part = calls[at : at + size]
        same = by_tools[tuple(tool for tool, _ in part)]
        made.append(max(same, key=lambda option: _same_values(option.content, part)))
        at += size
    return tuple(made)


def _same_values(content: SkillContent, calls: Sequence[tuple[str, Mapping[str, object]]]) -> int:
    """Return how many values of some calls stand in the skill's own steps: uses of one tool differ by them."""
    pairs = zip(_own_steps(content), calls, strict=True)
    return sum(str(step.arguments.get(key)) == str(value) for step, (_, given) in pairs for key, value in given.items())


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
    needed = max(CALLED_MIN, STRENGTH_SHARE_OF_BEST_MIN * best) if best > 0 else inf
    for at, (value, option) in enumerate(rated):
        # What tools answer decides whether a skill with cases is needed, not words.
        if value <= 0 or option.content.cases or not missing_tools(option.content, tools):
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


def _times(text: str, option: PlanOption, similar: Sequence[SimilarAttempt]) -> int:
    """Return how often a skill is done: once for each thing that a clause with its cues counts or lists.

    Similar attempts show whether what is listed is done one by one. Where none lists anything, only identifiers of one shape
    (such as order numbers) repeat a skill.
    """
    listed = _listed(text, option)
    if listed == 1:
        return 1
    shown = [(several, each.made.count(option)) for each in similar if (several := _listed(each.task, option)) > 1]
    shown = [(several, times) for several, times in shown if times]
    if shown:
        return min(listed, MAX_REPEATS) if 2 * sum(several == times for several, times in shown) > len(shown) else 1
    return min(_listed(text, option, identifiers_only=True), MAX_REPEATS)


def _listed(text: str, option: PlanOption, *, identifiers_only: bool = False) -> int:
    """Return how many things clauses with a skill's cues count or list; 1 if none do."""
    cues = [cue for cue in option.content.cues if cue.term]
    called = [clause for clause in clauses(text) if strength(cues, features(clause)) >= CALLED_MIN]
    first = {number for clause in called for number in identifiers(clause)[:1]}
    shapes = Counter(shape(number) for number in first)
    several = max(shapes.values(), default=1)
    return several if identifiers_only else max(several, *(count_of(clause) for clause in called), 1)


def _lists_the_same(text: str, attempt: SimilarAttempt) -> bool:
    return all(_listed(text, option) == _listed(attempt.task, option) for option in attempt.made)


def _steps(made: Sequence[PlanOption]) -> tuple[PlannedStep, ...]:
    """Return all steps in order; what was looked up for one part is not looked up again for another."""
    looked_up: set[str] = set()
    planned: list[PlannedStep] = []
    turns: Counter[str] = Counter()
    for option in made:
        content = option.content
        lookup_tools = _lookup_tools(content)
        for number, step in enumerate(content.steps):
            call = f"{step.tool} {sorted(step.arguments.items(), key=str)}"
            if step.tool in lookup_tools and call in looked_up:
                continue
            looked_up.add(call)
            turn = turns[option.version_id]
            planned.append(PlannedStep(version_id=option.version_id, step=number, tool=step.tool, turn=turn))
        turns[option.version_id] += 1
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
