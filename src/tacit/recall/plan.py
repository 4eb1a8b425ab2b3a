"""A task's text and recalled skills with cues → one ordered plan made of them, or the reason why there is none.

Words used here: *cues* are words of a task that count for or against a skill, with weights. *Cases* are situations that call
for a skill, decided by *readings*, the answers of tools, instead of words. *Surroundings* are the tools that were available
wherever a skill was used, besides its own.

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
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from math import fsum, inf

from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Chosen, Plan, PlannedStep
from tacit.domain.skill import SkillContent
from tacit.recall import reasons
from tacit.recall.filters import missing_tools
from tacit.text.cues import clauses, features, identifiers, means_any, place, shape, spoken, strength, words_of

CALLED_MIN = 0.4
"""From this strength on a skill is called for in addition to the strongest one."""
BEST_STRENGTH_MIN = 0.2
"""Below this strength not even the strongest skill is taken."""
MAX_REPEATS = 20
"""How often one skill is repeated: a list of numbers in a task must not make a plan without end."""
MAX_NAMED_TOOLS = 3
"""How many missing tools a reason names."""
TASK_WORDS_MIN = 0.1
"""The least that the words of the task add to the strength; the rest of it holds for any task."""
STRENGTH_SHARE_OF_BEST_MIN = 0.7
"""Share of the strongest usable skill's strength that another one needs to be taken with it."""


@dataclass(frozen=True, slots=True)
class PlanOption:
    """A recalled skill version that may become part of a plan."""

    version_id: str
    content: SkillContent
    close_in_meaning: bool = False
    """Whether it is close in meaning to the task, whatever the words."""
    surroundings_observed: bool = True
    """Whether attempts showed its surroundings; surroundings that were only written down block no other skill."""

    @property
    def observed_content(self) -> SkillContent:
        """The content, without surroundings that were not observed."""
        return self.content if self.surroundings_observed else replace(self.content, surroundings=())


def compose(text: str, options: Sequence[PlanOption], *, tools: Collection[str] | None = None) -> Plan:
    """Choose, repeat and order the parts that a task calls for; `tools`, where given, are the only ones that exist."""
    present = features(text)
    cued = [option for option in options if option.content.cues]
    weighed = [
        (
            strength(option.content.cues, present) if spoken(option.content.cues, present) >= TASK_WORDS_MIN else 0.0,
            option,
        )
        for option in cued
    ]
    weighed.sort(key=lambda each: (-each[0], each[1].content.name, each[1].version_id))
    strengths = {option.version_id: round(value, 4) for value, option in weighed}
    usable = [(value, option) for value, option in weighed if not missing_tools(option.content, tools)]
    if not weighed or weighed[0][0] < BEST_STRENGTH_MIN:
        return _unexplained(usable, cued, strengths, tools)
    if beyond := _first_blocked_skill(weighed, usable, tools):
        return _blocked_plan(*beyond, strengths, tools)
    if tools is not None and (named := expected_tool_named(text, [option.observed_content for option in cued], tools)):
        return Plan(
            strengths=strengths,
            lacking=(named,),
            code=ReasonCode.EXPECTED_TOOLS_MISSING,
            reason=reasons.tool_called(named),
        )
    if not usable:
        return Plan(strengths=strengths, code=ReasonCode.READINGS_MISSING, reason=reasons.READINGS_MISSING)
    if (
        usable[0][0] < BEST_STRENGTH_MIN and not weighed[0][1].content.cases
    ):  # what the words fit best is done in other places
        return _unexplained(usable, cued, strengths, tools)
    needed = max(CALLED_MIN, STRENGTH_SHARE_OF_BEST_MIN * usable[0][0])
    taken = [(value, option) for at, (value, option) in enumerate(usable) if at == 0 or value >= needed]
    covered = {name for _, option in taken for name in option.content.sub_skills}
    kept = [(value, option) for value, option in taken if option.content.name not in covered]
    chosen = tuple(
        Chosen(
            version_id=option.version_id, name=option.content.name, times=_times(text, option), strength=round(value, 4)
        )
        for value, option in _in_order(text, kept)
    )
    return Plan(chosen=chosen, steps=_steps(chosen, options), strengths=strengths)


def _first_blocked_skill(
    weighed: Sequence[tuple[float, PlanOption]],
    usable: Sequence[tuple[float, PlanOption]],
    tools: Collection[str] | None,
) -> tuple[SkillContent, ToolEnvironment] | None:
    """Return the first skill that is called for but lacks a tool, and its environment; none if everything needed can be done.

    Where its environment is unknown, it counts as called for if a plan of all parts would take it.
    """
    if tools is None:
        return None
    best = usable[0][0] if usable else 0.0
    needed = max(CALLED_MIN, STRENGTH_SHARE_OF_BEST_MIN * best) if best >= BEST_STRENGTH_MIN else inf
    common = common_tools(option.observed_content.surroundings for _, option in weighed)
    for at, (value, option) in enumerate(weighed):
        # Readings decide whether a skill with cases is needed, not words.
        if value < BEST_STRENGTH_MIN or option.content.cases or not missing_tools(option.content, tools):
            continue
        where = tool_environment(option.content.surroundings, tools, common=common)
        if where is ToolEnvironment.HOME and not option.surroundings_observed:
            # Surroundings that were only written down may show that it belongs elsewhere, not that it is missing here.
            where = ToolEnvironment.UNKNOWN
        if where is ToolEnvironment.ELSEWHERE and best >= STRENGTH_SHARE_OF_BEST_MIN * value:
            continue  # a usable skill matches the same words about as well
        strongest = at == 0 and (value >= CALLED_MIN or where is not ToolEnvironment.ELSEWHERE)
        if strongest or where is ToolEnvironment.HOME or (where is ToolEnvironment.UNKNOWN and value >= needed):
            return option.content, where
    return None


def _unexplained(
    usable: Sequence[tuple[float, PlanOption]],
    cued: Sequence[PlanOption],
    strengths: Mapping[str, float],
    tools: Collection[str] | None,
) -> Plan:
    """Return an empty plan: no skill is called for. Expected tools that are missing are named, unless a usable skill
    fits by readings or by meaning."""
    explained = any(option.close_in_meaning or option.content.cases for _, option in usable)
    missed = (
        []
        if tools is None or explained
        else ToolCooccurrence([option.observed_content for option in cued], tools).missed()
    )
    code = ReasonCode.EXPECTED_TOOLS_MISSING if missed else ReasonCode.NOT_CALLED
    reason = reasons.no_skill_called(missed, most=MAX_NAMED_TOOLS)
    return Plan(strengths=strengths, lacking=tuple(missed), code=code, reason=reason)


def _blocked_plan(
    beyond: SkillContent, where: ToolEnvironment, strengths: Mapping[str, float], tools: Collection[str] | None
) -> Plan:
    lacking = tuple(missing_tools(beyond, tools))
    reason = reasons.skill_lacks_tools(beyond.name, lacking, at_home=where is ToolEnvironment.HOME)
    return Plan(strengths=strengths, lacking=lacking, code=ReasonCode.MISSING_TOOLS, reason=reason)


def _in_order(text: str, kept: Sequence[tuple[float, PlanOption]]) -> list[tuple[float, PlanOption]]:
    """Sort by the known order of skills (`after`); where that leaves a choice, as the task names them."""
    waiting = sorted(kept, key=lambda each: (place(each[1].content.cues, text), -each[0], each[1].content.name))
    done: list[tuple[float, PlanOption]] = []
    while waiting:
        names = {option.content.name for _, option in waiting}
        free = (each for each in waiting if not names.intersection(each[1].content.after) - {each[1].content.name})
        following = next(free, waiting[0])  # a cycle in hand-written `after` is cut at the part named first
        waiting.remove(following)
        done.append(following)
    return done


def _times(text: str, option: PlanOption) -> int:
    """Return how often a skill is done: once for each identifier of one shape (such as order numbers) that comes first in a
    clause with its cues."""
    cues = [cue for cue in option.content.cues if cue.term]
    named = {
        number
        for clause in clauses(text)
        if strength(cues, features(clause)) >= CALLED_MIN
        for number in identifiers(clause)[:1]
    }
    sorts = Counter(shape(number) for number in named)
    return min(max(sorts.values(), default=1), MAX_REPEATS)


def _steps(chosen: Sequence[Chosen], options: Sequence[PlanOption]) -> tuple[PlannedStep, ...]:
    """Return all steps in order; a reading that one part took is not taken again for another."""
    contents = {option.version_id: option.content for option in options}
    looked_up: set[str] = set()
    planned: list[PlannedStep] = []
    for each in chosen:
        content = contents[each.version_id]
        readings = _readings(content)
        for turn in range(each.times):
            for number, step in enumerate(content.steps):
                call = f"{step.tool} {sorted(step.arguments.items(), key=str)}"
                if step.tool in readings and call in looked_up:
                    continue
                looked_up.add(call)
                planned.append(PlannedStep(version_id=each.version_id, step=number, tool=step.tool, turn=turn))
    return tuple(planned)


def _readings(content: SkillContent) -> set[str]:
    """Return the tools that the skill only reads from."""
    taken = {parameter.reading for parameter in content.parameters}
    return taken | {condition.reading for case in content.cases for condition in case.conditions}


EXPECTED_SHARE_MIN = 0.5
"""Share of its surroundings that must be available for a skill to belong here, and of the skills that must agree."""
NAMED_SHARE_MIN = 2 / 3
"""Share of the words of a tool's name that a task must contain to call for it by name."""
HALF_NAMED_MIN = 0.5
"""The same for a tool that is missing by `ToolCooccurrence.miss`, with words that other tools share counted less."""


class ToolEnvironment(Enum):
    """Whether a skill that lacks a tool belongs to the environment of the available tools."""

    UNKNOWN = "unknown"
    HOME = "home"
    ELSEWHERE = "elsewhere"


def common_tools(co_available_tools: Iterable[Collection[str]]) -> frozenset[str]:
    """Return the tools that are in all known surroundings: they distinguish no environment from another."""
    found = [frozenset(each) for each in co_available_tools if each]
    return frozenset.intersection(*found) if len(found) > 1 else frozenset()


def tool_environment(
    co_available_tools: Collection[str], tools: Collection[str], *, common: AbstractSet[str] = frozenset()
) -> ToolEnvironment:
    """Return where a skill belongs, by the share of its surroundings that is available.

    Tools in `common` count only if it has no others.
    """
    telling = set(co_available_tools) - common or set(co_available_tools)
    if not telling:
        return ToolEnvironment.UNKNOWN
    return (
        ToolEnvironment.HOME
        if len(telling.intersection(tools)) >= EXPECTED_SHARE_MIN * len(telling)
        else ToolEnvironment.ELSEWHERE
    )


class ToolCooccurrence:
    """Which tools were available together, from the surroundings of skills; decides whether an absent tool is missing here.

    Example: three skills `dig`, `water` and `sow` use one garden tool each, and `prune_rose` is absent today. It is in the
    surroundings of `dig` and `water`. `sow` and `dig` were each used where the other's tool was available, so `sow` would
    have seen `prune_rose` too if it always came with these tools, but did not. So 2 of the 3 skills that could have seen it
    did: at least half (`EXPECTED_SHARE_MIN`), hence it is missing here. If only `dig` had seen it, 1 of 3, it is chance.
    """

    def __init__(self, contents: Sequence[SkillContent], tools: Collection[str]) -> None:
        at_hand = frozenset(tools)
        own = [frozenset(step.tool for step in content.steps if step.tool) for content in contents]
        around = [frozenset(content.surroundings) for content in contents]
        # Sets of skills are bit masks: a hundred skills with sixty tools each are compared fast enough.
        with_all = [_bits(bool(mine) and mine <= theirs for mine in own) for theirs in around]
        listed = [_bits(bool(mine) and mine <= theirs for theirs in around) for mine in own]
        self._here = _bits(
            bool(mine) and mine <= at_hand and tool_environment(others, at_hand) is ToolEnvironment.HOME
            for mine, others in zip(own, around, strict=True)
        )
        self._seen_with: dict[str, int] = {}
        """Absent tool → the skills that were used where it was available."""
        self._expected_with: dict[str, int] = {}
        """Absent tool → the skills that would have seen it if it always came with its neighbours, and those that did."""
        for at, (mine, others) in enumerate(zip(own, around, strict=True)):
            for tool in others - at_hand:
                self._seen_with[tool] = self._seen_with.get(tool, 0) | 1 << at
                self._expected_with[tool] = self._expected_with.get(tool, 0) | 1 << at | with_all[at] & listed[at]
            for tool in mine - at_hand:
                self._expected_with[tool] = self._expected_with.get(tool, 0) | with_all[at]

    def missed(self) -> list[str]:
        """Return the absent tools that are missing here, sorted."""
        return [tool for tool in sorted(self._seen_with) if self.miss(tool)]

    def miss(self, tool: str) -> bool:
        """Return whether at least half of the skills that belong here and could have seen the tool did see it.

        A tool that was available only now and then, or with one skill by chance, was not seen by most of them.
        """
        seen = (self._seen_with.get(tool, 0) & self._here).bit_count()
        expected = (self._expected_with.get(tool, 0) & self._here).bit_count()
        return seen > 0 and seen >= EXPECTED_SHARE_MIN * expected


def expected_tool_named(text: str, contents: Sequence[SkillContent], tools: Collection[str]) -> str:
    """Return a tool that no skill uses, that is expected here and absent, and that the task names; empty if there is none."""
    at_hand = frozenset(tools)
    used_or_available = at_hand.union(step.tool for content in contents for step in content.steps)
    neighbours: dict[str, set[str]] = {}
    for content in contents:
        own = {step.tool for step in content.steps if step.tool}
        for tool in content.surroundings:
            if tool not in used_or_available:
                neighbours.setdefault(tool, set()).update(own)
    expected = [
        tool for tool in sorted(neighbours) if tool_environment(neighbours[tool], at_hand) is ToolEnvironment.HOME
    ]
    if not expected:
        return ""
    task_words = frozenset(words_of(text))
    names = Counter(word for tool in at_hand for word in set(words_of(tool)))
    around = ToolCooccurrence(contents, at_hand)
    return next((tool for tool in expected if _is_named(tool, task_words, names, missed=around.miss(tool))), "")


def _is_named(tool: str, task_words: AbstractSet[str], names: Mapping[str, int], *, missed: bool) -> bool:
    """Return whether a task calls for a tool by its name; where it is `missed`, half of its distinctive words are enough.

    A word counts less the more other tools have it in their names (`get`, `order`).
    """
    words = set(words_of(tool))
    called = {word for word in words if means_any(word, task_words)}
    if not called:
        return False
    if len(called) >= NAMED_SHARE_MIN * len(words):
        return True
    worth = {word: 1 / (1 + names.get(word, 0)) for word in words}
    return missed and fsum(worth[word] for word in called) >= HALF_NAMED_MIN * fsum(worth.values())


def _bits(some: Iterable[bool]) -> int:
    return sum(1 << at for at, holds in enumerate(some) if holds)
