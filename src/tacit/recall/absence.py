"""Skills, the tools at hand and a task's words → what is conspicuously absent here, as against what belongs to other places.

A tool that is gone while those it always stood beside are there is missed as soon as a task calls for it at all. Where its
neighbours are gone too, this is another place, and words that fit it may well mean something that exists here. Of a tool that
stood beside others and was never used only the name is known. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum

from tacit.domain.skill import SkillContent
from tacit.text.cues import words_of

MOSTLY = 0.5
"""Share of a tool's neighbours that makes a place one where it is expected."""
NAMED = 2 / 3
"""Share of the words of a tool's name that a task must hold to call for it by name."""


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


def missed_by_name(text: str, contents: Sequence[SkillContent], tools: Collection[str]) -> str:
    """A tool that no skill uses, that is expected here and absent, and that the task calls for by name; empty if none is."""
    used = {step.tool for content in contents for step in content.steps}
    neighbours: dict[str, set[str]] = {}
    for content in contents:
        own = {step.tool for step in content.steps if step.tool}
        for tool in content.surroundings:
            if tool not in tools and tool not in used:
                neighbours.setdefault(tool, set()).update(own)
    expected = [tool for tool in sorted(neighbours) if setting(neighbours[tool], tools) is Setting.HOME]
    said = set(words_of(text)) if expected else set()
    return next((tool for tool in expected if _is_named(set(words_of(tool)), said)), "")


def _is_named(name: set[str], said: set[str]) -> bool:
    return bool(name) and len(name & said) >= NAMED * len(name)
