"""A task's text and recalled skills with cues → one ordered plan made of them, or the reason why there is none.

Chosen is what the words of the task call for clearly; ordered by what is known to come after what, and otherwise as the task
names things; repeated where the task names several things to do it to. If anything called for needs a tool that is not at
hand, the plan is empty: the rest would do something else than asked. What nothing at hand explains is taken to call for a
tool that is missed here, if one is. Nothing is fetched and no argument is filled in.
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
from tacit.text.cues import clauses, features, identifiers, place, shape, spoken, strength, words_of
from tacit.text.short_names import means_any

CALLED_MIN = 0.4
"""From this strength on a skill is called for beside others."""
BEST_STRENGTH_MIN = 0.2
"""Below this strength not even the best skill is taken."""
MAX_REPEATS = 20
MAX_NAMED_TOOLS = 3
"""How many missed tools a reason names."""
TASK_WORDS_MIN = 0.1
"""What the words of the task must add to what holds for any task; less is no sign."""
STRENGTH_SHARE_OF_BEST_MIN = 0.7
"""Share of the best skill's strength that another one needs to be taken with it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A recalled skill version that may become part of a plan."""

    version_id: str
    content: SkillContent
    near: bool = False
    """Whether its meaning is near to what is asked, whatever the words."""
    seen: bool = True
    """Whether its surroundings were seen in attempts; where somebody only wrote them, they may silence no other skill."""

    @property
    def observed_content(self) -> SkillContent:
        """The content with no surroundings but those that were seen."""
        return self.content if self.seen else replace(self.content, surroundings=())


def compose(text: str, parts: Sequence[Part], *, tools: Collection[str] | None = None) -> Plan:
    """Choose, repeat and order the parts that a task calls for; `tools`, where given, are the only ones that exist."""
    present = features(text)
    cued = [part for part in parts if part.content.cues]
    weighed = [
        (strength(part.content.cues, present) if spoken(part.content.cues, present) >= TASK_WORDS_MIN else 0.0, part)
        for part in cued
    ]
    weighed.sort(key=lambda each: (-each[0], each[1].content.name, each[1].version_id))
    strengths = {part.version_id: round(value, 4) for value, part in weighed}
    usable = [(value, part) for value, part in weighed if not missing_tools(part.content, tools)]
    if not weighed or weighed[0][0] < BEST_STRENGTH_MIN:
        return _unexplained(usable, cued, strengths, tools)
    if beyond := _first_blocked_skill(weighed, usable, tools):
        return _blocked_plan(*beyond, strengths, tools)
    if tools is not None and (named := expected_tool_named(text, [part.observed_content for part in cued], tools)):
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
    taken = [(value, part) for at, (value, part) in enumerate(usable) if at == 0 or value >= needed]
    covered = {name for _, part in taken for name in part.content.sub_skills}
    kept = [(value, part) for value, part in taken if part.content.name not in covered]
    chosen = tuple(
        Chosen(version_id=part.version_id, name=part.content.name, times=_times(text, part), strength=round(value, 4))
        for value, part in _in_order(text, kept)
    )
    return Plan(chosen=chosen, steps=_steps(chosen, parts), strengths=strengths)


def missing_tools(content: SkillContent, tools: Collection[str] | None) -> list[str]:
    """The tools that the skill's needed steps use and that are not at hand."""
    if tools is None:
        return []
    return list(dict.fromkeys(s.tool for s in content.steps if s.tool and not s.optional and s.tool not in tools))


def _first_blocked_skill(
    weighed: Sequence[tuple[float, Part]], usable: Sequence[tuple[float, Part]], tools: Collection[str] | None
) -> tuple[SkillContent, ToolEnvironment] | None:
    """The first skill that is called for but lacks a tool, and where it is at home; none if what is needed can be done.

    If nothing tells where it belongs, it is called for if a plan of all parts would take it.
    """
    if tools is None:
        return None
    best = usable[0][0] if usable else 0.0
    needed = max(CALLED_MIN, STRENGTH_SHARE_OF_BEST_MIN * best) if best >= BEST_STRENGTH_MIN else inf
    common = common_tools(part.observed_content.surroundings for _, part in weighed)
    for at, (value, part) in enumerate(weighed):
        # Whether a skill with cases is needed is for the readings to say, not for words.
        if value < BEST_STRENGTH_MIN or part.content.cases or not missing_tools(part.content, tools):
            continue
        where = tool_environment(part.content.surroundings, tools, common=common)
        if where is ToolEnvironment.HOME and not part.seen:
            # What was only written may tell that it belongs elsewhere, not that it is missed here.
            where = ToolEnvironment.UNKNOWN
        if where is ToolEnvironment.ELSEWHERE and best >= STRENGTH_SHARE_OF_BEST_MIN * value:
            continue  # something that is done here explains the same words about as well
        strongest = at == 0 and (value >= CALLED_MIN or where is not ToolEnvironment.ELSEWHERE)
        if strongest or where is ToolEnvironment.HOME or (where is ToolEnvironment.UNKNOWN and value >= needed):
            return part.content, where
    return None


def _unexplained(
    usable: Sequence[tuple[float, Part]],
    cued: Sequence[Part],
    strengths: Mapping[str, float],
    tools: Collection[str] | None,
) -> Plan:
    """No plan; and where a tool is missed here, the task is taken to call for it, unless readings or meaning explain it."""
    explained = any(part.near or part.content.cases for _, part in usable)
    missed = (
        [] if tools is None or explained else ToolCooccurrence([part.observed_content for part in cued], tools).missed()
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


def _in_order(text: str, kept: Sequence[tuple[float, Part]]) -> list[tuple[float, Part]]:
    """By what comes after what; among those that may come next, as the task names them."""
    waiting = sorted(kept, key=lambda each: (place(each[1].content.cues, text), -each[0], each[1].content.name))
    done: list[tuple[float, Part]] = []
    while waiting:
        names = {part.content.name for _, part in waiting}
        free = (each for each in waiting if not names.intersection(each[1].content.after) - {each[1].content.name})
        following = next(free, waiting[0])  # a circle of hand-written relations is cut where the text begins
        waiting.remove(following)
        done.append(following)
    return done


def _times(text: str, part: Part) -> int:
    """How often: once for each thing of one sort (such as order numbers) that a clause with the skill's cues names first."""
    cues = [cue for cue in part.content.cues if cue.term]
    named = {
        number
        for clause in clauses(text)
        if strength(cues, features(clause)) >= CALLED_MIN
        for number in identifiers(clause)[:1]
    }
    sorts = Counter(shape(number) for number in named)
    return min(max(sorts.values(), default=1), MAX_REPEATS)


def _steps(chosen: Sequence[Chosen], parts: Sequence[Part]) -> tuple[PlannedStep, ...]:
    """All steps in order; what was looked up for one part is not looked up again for another."""
    contents = {part.version_id: part.content for part in parts}
    looked_up: set[str] = set()
    planned: list[PlannedStep] = []
    for each in chosen:
        content = contents[each.version_id]
        readings = _readings(content)
        for turn in range(each.times):
            for number, step in enumerate(content.steps):
                asked = f"{step.tool} {sorted(step.arguments.items(), key=str)}"
                if step.tool in readings and asked in looked_up:
                    continue
                looked_up.add(asked)
                planned.append(PlannedStep(version_id=each.version_id, step=number, tool=step.tool, turn=turn))
    return tuple(planned)


def _readings(content: SkillContent) -> set[str]:
    """The tools whose answers the skill only takes something from."""
    taken = {parameter.reading for parameter in content.parameters}
    return taken | {condition.reading for case in content.cases for condition in case.conditions}


EXPECTED_SHARE_MIN = 0.5
"""Share of a tool's neighbours that makes a place one where it is expected."""
NAMED_SHARE_MIN = 2 / 3
"""Share of the words of a tool's name that a task must hold to call for it by name."""
HALF_NAMED_MIN = 0.5
"""Share of what is its own in a tool's name, where the skills that are at home here agree that it is missed."""


class ToolEnvironment(Enum):
    """What the tools at hand say about a skill that lacks one."""

    UNKNOWN = "unknown"
    HOME = "home"
    ELSEWHERE = "elsewhere"


def common_tools(surroundings: Iterable[Collection[str]]) -> frozenset[str]:
    """The tools that stand in all surroundings that are known: they tell no place from another."""
    found = [frozenset(each) for each in surroundings if each]
    return frozenset.intersection(*found) if len(found) > 1 else frozenset()


def tool_environment(
    surroundings: Collection[str], tools: Collection[str], *, common: AbstractSet[str] = frozenset()
) -> ToolEnvironment:
    """Tell by the share of its surroundings that is at hand where a skill is; `common` counts only if there is nothing else."""
    telling = set(surroundings) - common or set(surroundings)
    if not telling:
        return ToolEnvironment.UNKNOWN
    return (
        ToolEnvironment.HOME
        if len(telling.intersection(tools)) >= EXPECTED_SHARE_MIN * len(telling)
        else ToolEnvironment.ELSEWHERE
    )


class ToolCooccurrence:
    """Who stood beside whom, of the skills that were found; tells of a tool that is absent whether it is missed here."""

    def __init__(self, contents: Sequence[SkillContent], tools: Collection[str]) -> None:
        at_hand = frozenset(tools)
        own = [frozenset(step.tool for step in content.steps if step.tool) for content in contents]
        around = [frozenset(content.surroundings) for content in contents]
        # Sets of skills are kept as bits, so that a hundred skills with sixty neighbours each are looked through at once.
        with_all = [_bits(bool(mine) and mine <= theirs for mine in own) for theirs in around]
        listed = [_bits(bool(mine) and mine <= theirs for theirs in around) for mine in own]
        self._here = _bits(
            bool(mine) and mine <= at_hand and tool_environment(near, at_hand) is ToolEnvironment.HOME
            for mine, near in zip(own, around, strict=True)
        )
        self._seen_with: dict[str, int] = {}
        """Absent tool → the skills that stood beside it."""
        self._expected_with: dict[str, int] = {}
        """Absent tool → the skills that would have stood beside it, were it always there."""
        for at, (mine, near) in enumerate(zip(own, around, strict=True)):
            for tool in near - at_hand:
                self._seen_with[tool] = self._seen_with.get(tool, 0) | 1 << at
                self._expected_with[tool] = self._expected_with.get(tool, 0) | 1 << at | with_all[at] & listed[at]
            for tool in mine - at_hand:
                self._expected_with[tool] = self._expected_with.get(tool, 0) | with_all[at]

    def missed(self) -> list[str]:
        """The absent tools that are missed here, sorted."""
        return [tool for tool in sorted(self._seen_with) if self.miss(tool)]

    def miss(self, tool: str) -> bool:
        """Whether at least half of the skills that are at home here and know of such a tool stood beside it wherever they were.

        A tool that comes and goes, or that stood beside one skill by chance, is not listed by the neighbours of that skill.
        """
        naming = (self._seen_with.get(tool, 0) & self._here).bit_count()
        knowing = (self._expected_with.get(tool, 0) & self._here).bit_count()
        return naming > 0 and naming >= EXPECTED_SHARE_MIN * knowing


def expected_tool_named(text: str, contents: Sequence[SkillContent], tools: Collection[str]) -> str:
    """A tool that no skill uses, that is expected here and absent, and that the task calls for by name; empty if none is."""
    at_hand = frozenset(tools)
    known = at_hand.union(step.tool for content in contents for step in content.steps)
    neighbours: dict[str, set[str]] = {}
    for content in contents:
        own = {step.tool for step in content.steps if step.tool}
        for tool in content.surroundings:
            if tool not in known:
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
    """Whether a task calls for a tool by its name; where it is `missed` here, half of what is its own is enough.

    A word that other tools have in their names too (`get`, `order`) is the less its own the more of them have it.
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
