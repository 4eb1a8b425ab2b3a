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
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from math import fsum, inf
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
MAX_NAMED_TOOLS = 3
"""How many missing tools a reason names."""
TASK_WORDS_MIN = 0.1
"""The least that the words of the task add to the strength; the rest of it holds for any task."""
STRENGTH_SHARE_OF_BEST_MIN = 0.7
"""Share of the strongest usable skill's strength that another one needs to be taken with it."""
AVAILABLE_SHARE_MIN = 0.5
"""Share of its surroundings that must be available for a skill to belong here."""
SEEN_SHARE_MIN = 0.5
"""Share of the skills that could have seen an absent tool that must have seen it for the tool to be missing here."""
NAMED_SHARE_MIN = 2 / 3
"""Share of the words of a tool's name that a task must contain to call for it by name."""
HALF_NAMED_MIN = 0.5
"""The same for a tool that is missing by `ToolCooccurrence.miss`, with words that other tools share counted less."""


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
    if not rated or rated[0].strength < BEST_STRENGTH_MIN:
        return _nothing_called(usable, cued, strengths, tools)
    if blocked := _blocked_plan(rated, usable, strengths, tools):
        return blocked
    if tools is not None and (named := expected_tool_named(text, [option.observed_content for option in cued], tools)):
        code, reason = ReasonCode.EXPECTED_TOOLS_MISSING, reasons.tool_called(named)
        return Plan(strengths=strengths, lacking=(named,), code=code, reason=reason)
    if not usable and any(value >= BEST_STRENGTH_MIN and option.content.cases for value, option in rated):
        return Plan(strengths=strengths, code=ReasonCode.READINGS_MISSING, reason=reasons.READINGS_MISSING)
    if not usable or (usable[0].strength < BEST_STRENGTH_MIN and not rated[0].option.content.cases):
        return _nothing_called(usable, cued, strengths, tools)  # what the words fit best is done in other places
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
    common = common_tools(each.option.observed_content.surroundings for each in rated)
    for at, (value, option) in enumerate(rated):
        # What tools answer decides whether a skill with cases is needed, not words.
        if value < BEST_STRENGTH_MIN or option.content.cases or not missing_tools(option.content, tools):
            continue
        where = tool_environment(option.content.surroundings, tools, common=common)
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


def _nothing_called(
    usable: Sequence[RatedOption],
    cued: Sequence[PlanOption],
    strengths: Mapping[str, float],
    tools: Collection[str] | None,
) -> Plan:
    """Return an empty plan, because the words call for no skill that can be done here.

    Tools that are expected here and absent may be what the task needs: they are named, unless a usable skill may fit
    without words, by its cases or its meaning.
    """
    fits_without_words = any(each.option.close_in_meaning or each.option.content.cases for each in usable)
    missed: list[str] = []
    if tools is not None and not fits_without_words:
        missed = ToolCooccurrence([option.observed_content for option in cued], tools).missed()
    code = ReasonCode.EXPECTED_TOOLS_MISSING if missed else ReasonCode.NOT_CALLED
    reason = reasons.no_skill_called(missed, most=MAX_NAMED_TOOLS)
    return Plan(strengths=strengths, lacking=tuple(missed), code=code, reason=reason)


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
    distinctive = set(co_available_tools) - common or set(co_available_tools)
    if not distinctive:
        return ToolEnvironment.UNKNOWN
    belongs_here = len(distinctive.intersection(tools)) >= AVAILABLE_SHARE_MIN * len(distinctive)
    return ToolEnvironment.HERE if belongs_here else ToolEnvironment.ELSEWHERE


class ToolCooccurrence:
    """Which tools were available together, from the surroundings of skills; decides whether an absent tool is missing here.

    Example: three skills `dig`, `water` and `sow` use one garden tool each, and `prune_rose` is absent today. It is in the
    surroundings of `dig` and `water`. `sow` and `dig` were each used where the other's tool was available, so `sow` would
    have seen `prune_rose` too if it always came with these tools, but did not. So 2 of the 3 skills that could have seen it
    did: at least half (`SEEN_SHARE_MIN`), hence it is missing here. If only `dig` had seen it, 1 of 3, it is chance.
    """

    def __init__(self, contents: Sequence[SkillContent], tools: Collection[str]) -> None:
        available = frozenset(tools)
        own = [frozenset(step.tool for step in content.steps if step.tool) for content in contents]
        around = [frozenset(content.surroundings) for content in contents]
        # A set of skills is a whole number, with the bit of each skill in it set: `|` joins such sets, `&` intersects them.
        # So a hundred skills with sixty tools each are compared fast enough.
        available_to = [_bit_set(bool(mine) and mine <= theirs for mine in own) for theirs in around]
        """Skill → those whose own tools were available to it."""
        made_available = [_bit_set(bool(mine) and mine <= theirs for theirs in around) for mine in own]
        """Skill → those that had its own tools available."""
        self._here = _bit_set(
            bool(mine) and mine <= available and tool_environment(others, available) is ToolEnvironment.HERE
            for mine, others in zip(own, around, strict=True)
        )
        """The skills that belong here."""
        self._seen_with: dict[str, int] = {}
        """Absent tool → the skills that were used where it was available."""
        self._expected_with: dict[str, int] = {}
        """Absent tool → the skills that would have seen it if it always came with its neighbours, and those that did."""
        for at, (mine, others) in enumerate(zip(own, around, strict=True)):
            itself = 1 << at
            neighbours = available_to[at] & made_available[at]
            for tool in others - available:
                self._seen_with[tool] = self._seen_with.get(tool, 0) | itself
                self._expected_with[tool] = self._expected_with.get(tool, 0) | itself | neighbours
            for tool in mine - available:
                self._expected_with[tool] = self._expected_with.get(tool, 0) | available_to[at]

    def missed(self) -> list[str]:
        """Return the absent tools that are missing here, sorted."""
        return [tool for tool in sorted(self._seen_with) if self.miss(tool)]

    def miss(self, tool: str) -> bool:
        """Return whether at least half of the skills that belong here and could have seen the tool did see it.

        A tool that was available only now and then, or with one skill by chance, was not seen by most of them.
        """
        seen = (self._seen_with.get(tool, 0) & self._here).bit_count()
        expected = (self._expected_with.get(tool, 0) & self._here).bit_count()
        return seen > 0 and seen >= SEEN_SHARE_MIN * expected


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
    name_words = Counter(word for tool in available for word in set(words_of(tool)))
    seen = ToolCooccurrence(contents, available)
    return next((tool for tool in expected if _is_named(tool, task_words, name_words, missed=seen.miss(tool))), "")


def _is_named(tool: str, task_words: AbstractSet[str], name_words: Mapping[str, int], *, missed: bool) -> bool:
    """Return whether a task calls for a tool by its name; where it is `missed`, half of its distinctive words are enough.

    A word counts less the more other tools have it in their names (`get`, `order`).
    """
    words = set(words_of(tool))
    called = {word for word in words if means_any(word, task_words)}
    if not called:
        return False
    if len(called) >= NAMED_SHARE_MIN * len(words):
        return True
    worth = {word: 1 / (1 + name_words.get(word, 0)) for word in words}
    return missed and fsum(worth[word] for word in called) >= HALF_NAMED_MIN * fsum(worth.values())


def _bit_set(members: Iterable[bool]) -> int:
    """Return a set of numbers as one whole number: bit `n` is set where the n-th of the given values is true."""
    return sum(1 << at for at, is_member in enumerate(members) if is_member)
