"""Skills, the tools at hand and a task's words → what is conspicuously absent here, as against what belongs to other places.

A tool that is gone while those it always stood beside are there is missed as soon as a task calls for it at all. Where its
neighbours are gone too, this is another place, and words that fit it may well mean something that exists here. Of a tool that
stood beside others and was never used only the name is known. Whether it is missed, its neighbours tell together: what one of
them stood beside by chance, or what comes and goes, the others do not know. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from math import fsum

from tacit.domain.skill import SkillContent
from tacit.text.cues import words_of
from tacit.text.short_names import says

MOSTLY = 0.5
"""Share of a tool's neighbours that makes a place one where it is expected."""
NAMED = 2 / 3
"""Share of the words of a tool's name that a task must hold to call for it by name."""
HALF_NAMED = 0.5
"""Share of what is its own in a tool's name, where the skills that are at home here agree that it is missed."""


class Setting(Enum):
    """What the tools at hand say about a skill that lacks one."""

    UNKNOWN = "unknown"
    HOME = "home"
    ELSEWHERE = "elsewhere"


def everywhere(surroundings: Iterable[Collection[str]]) -> frozenset[str]:
    """The tools that stand in all surroundings that are known: they tell no place from another."""
    found = [frozenset(each) for each in surroundings if each]
    return frozenset.intersection(*found) if len(found) > 1 else frozenset()


def setting(
    surroundings: Collection[str], tools: Collection[str], *, common: AbstractSet[str] = frozenset()
) -> Setting:
    """Tell by the share of its surroundings that is at hand where a skill is; `common` counts only if there is nothing else."""
    telling = set(surroundings) - common or set(surroundings)
    if not telling:
        return Setting.UNKNOWN
    return Setting.HOME if len(telling.intersection(tools)) >= MOSTLY * len(telling) else Setting.ELSEWHERE


class Neighbours:
    """Who stood beside whom, of the skills that were found; tells of a tool that is absent whether it is missed here."""

    def __init__(self, contents: Sequence[SkillContent], tools: Collection[str]) -> None:
        at_hand = frozenset(tools)
        own = [frozenset(step.tool for step in content.steps if step.tool) for content in contents]
        around = [frozenset(content.surroundings) for content in contents]
        # Sets of skills are kept as bits, so that a hundred skills with sixty neighbours each are looked through at once.
        beside = [_bits(bool(mine) and mine <= theirs for mine in own) for theirs in around]
        listed = [_bits(bool(mine) and mine <= theirs for theirs in around) for mine in own]
        self._here = _bits(
            bool(mine) and mine <= at_hand and setting(near, at_hand) is Setting.HOME
            for mine, near in zip(own, around, strict=True)
        )
        self._naming: dict[str, int] = {}
        """Absent tool → the skills that stood beside it."""
        self._knowing: dict[str, int] = {}
        """Absent tool → the skills that would have stood beside it, were it always there."""
        for at, (mine, near) in enumerate(zip(own, around, strict=True)):
            for tool in near - at_hand:
                self._naming[tool] = self._naming.get(tool, 0) | 1 << at
                self._knowing[tool] = self._knowing.get(tool, 0) | 1 << at | beside[at] & listed[at]
            for tool in mine - at_hand:
                self._knowing[tool] = self._knowing.get(tool, 0) | beside[at]

    def missed(self) -> list[str]:
        """The absent tools that are missed here, sorted."""
        return [tool for tool in sorted(self._naming) if self.miss(tool)]

    def miss(self, tool: str) -> bool:
        """Whether at least half of the skills that are at home here and know of such a tool stood beside it wherever they were.

        A tool that comes and goes, or that stood beside one skill by chance, is not listed by the neighbours of that skill.
        """
        naming = (self._naming.get(tool, 0) & self._here).bit_count()
        knowing = (self._knowing.get(tool, 0) & self._here).bit_count()
        return naming > 0 and naming >= MOSTLY * knowing


def missed_by_name(text: str, contents: Sequence[SkillContent], tools: Collection[str]) -> str:
    """A tool that no skill uses, that is expected here and absent, and that the task calls for by name; empty if none is."""
    at_hand = frozenset(tools)
    known = at_hand.union(step.tool for content in contents for step in content.steps)
    neighbours: dict[str, set[str]] = {}
    for content in contents:
        own = {step.tool for step in content.steps if step.tool}
        for tool in content.surroundings:
            if tool not in known:
                neighbours.setdefault(tool, set()).update(own)
    expected = [tool for tool in sorted(neighbours) if setting(neighbours[tool], at_hand) is Setting.HOME]
    if not expected:
        return ""
    said = frozenset(words_of(text))
    names = Counter(word for tool in at_hand for word in set(words_of(tool)))
    around = Neighbours(contents, at_hand)
    return next((tool for tool in expected if _is_named(tool, said, names, missed=around.miss(tool))), "")


def _is_named(tool: str, said: AbstractSet[str], names: Mapping[str, int], *, missed: bool) -> bool:
    """Whether a task calls for a tool by its name; where it is `missed` here, half of what is its own is enough.

    A word that other tools have in their names too (`get`, `order`) is the less its own the more of them have it.
    """
    words = set(words_of(tool))
    called = {word for word in words if says(word, said)}
    if not called:
        return False
    if len(called) >= NAMED * len(words):
        return True
    worth = {word: 1 / (1 + names.get(word, 0)) for word in words}
    return missed and fsum(worth[word] for word in called) >= HALF_NAMED * fsum(worth.values())


def _bits(some: Iterable[bool]) -> int:
    return sum(1 << at for at, holds in enumerate(some) if holds)
