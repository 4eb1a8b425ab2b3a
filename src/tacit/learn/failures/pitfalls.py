"""Turns the causes of failed runs into pitfalls of a skill, each with its count and spans.

A single failure without a successful attempt at the same task gives no pitfall, nor does a temporary error. A pitfall names
tools and arguments, never values or observed text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.skill import Pitfall, SkillStep
from tacit.domain.trajectory import Role, Span, Step
from tacit.learn.failures.effects import FailureCause, FailureKind
from tacit.text.programs import SHELL_TOOLS
from tacit.text.tool_calls import ToolKind, plain_name, tool_call

MOST_PITFALLS = 5
_SURE = 0.5
"""A cause without a sibling counts only if its kind is more likely than all others together."""

_Place = tuple[FailureKind, int | None, str, str]
"""Kind, the skill's step, the tool at fault, the tool that was needed."""


@dataclass(frozen=True, slots=True)
class FoundPitfall:
    """A pitfall and the spans of the failed and successful runs behind it."""

    pitfall: Pitfall
    spans: tuple[Span, ...]


def pitfalls(skill_steps: Sequence[SkillStep], causes: Iterable[FailureCause]) -> tuple[Pitfall, ...]:
    """Return the pitfalls of these steps, the most frequent first."""
    return tuple(found.pitfall for found in found_pitfalls(skill_steps, causes))


def found_pitfalls(skill_steps: Sequence[SkillStep], causes: Iterable[FailureCause]) -> tuple[FoundPitfall, ...]:
    """Return the pitfalls with their spans."""
    places = {step.tool: place for place, step in reversed(list(enumerate(skill_steps))) if _tells(step.tool)}
    gathered: dict[_Place, dict[str, FailureCause]] = {}
    for cause in causes:
        if cause.passing or not (cause.by_sibling or cause.confidence > _SURE):
            continue
        for place in _places(cause, places):
            gathered.setdefault(place, {}).setdefault(cause.trajectory_id, cause)
    found = [
        _pitfall(place, list(runs.values()))
        for place, runs in gathered.items()
        if len(runs) > 1 or any(cause.by_sibling for cause in runs.values())
    ]
    found.sort(key=lambda each: (-each.pitfall.count, each.pitfall.step or 0, each.pitfall.text))
    return tuple(found[:MOST_PITFALLS])


def _places(cause: FailureCause, places: Mapping[str, int]) -> Iterator[_Place]:
    """Yield where in the skill a cause belongs; nothing if it concerns none of its steps."""
    lacking = [call.tool for call in cause.expected if call.tool in places]
    match cause.kind:
        case FailureKind.NO_ACTION | FailureKind.MISSING_STEP:
            for tool in dict.fromkeys(lacking):
                yield FailureKind.MISSING_STEP, places[tool], "", tool
        case FailureKind.WRONG_TOOL:
            if lacking and _tells(cause.tool) and cause.tool not in lacking:
                yield cause.kind, places[lacking[0]], cause.tool, lacking[0]
        case FailureKind.EXTRA_STEP:
            if _tells(cause.tool):
                yield cause.kind, places.get(cause.tool), cause.tool, ""
        case FailureKind.WRONG_ARGUMENTS:
            if cause.tool in places:
                yield cause.kind, places[cause.tool], cause.tool, ""
        case FailureKind.WRONG_END:
            if cause.tool and lacking:
                yield cause.kind, places[lacking[0]], cause.tool, lacking[0]


def _tells(tool: str) -> bool:
    """Whether the name of a tool says what it does: that of a shell or an editor does not."""
    if not tool or plain_name(tool) in SHELL_TOOLS:
        return False
    return tool_call(Step(index=0, role=Role.AGENT, tool=tool)).kind is ToolKind.FUNCTION


def _pitfall(place: _Place, runs: Sequence[FailureCause]) -> FoundPitfall:
    kind, step, tool, needed = place
    spans = tuple(dict.fromkeys(span for cause in runs for span in cause.spans))
    text = _text(kind, tool, needed, keys=_shared_keys(runs), known=step is not None)
    return FoundPitfall(Pitfall(text=text, kind=kind.value, step=step, count=len(runs)), spans)


def _shared_keys(runs: Sequence[FailureCause]) -> tuple[str, ...]:
    """Return the arguments that at least half of the runs got wrong."""
    names = dict.fromkeys(key for cause in runs for key in cause.keys)
    return tuple(name for name in names if 2 * sum(name in cause.keys for cause in runs) >= len(runs))


def _text(kind: FailureKind, tool: str, needed: str, *, keys: tuple[str, ...], known: bool) -> str:
    match kind:
        case FailureKind.WRONG_TOOL:
            return f"Calling {tool} where {needed} is needed."
        case FailureKind.EXTRA_STEP:
            return f"Calling {tool} again, or for more than was asked." if known else f"Calling {tool} as well."
        case FailureKind.WRONG_ARGUMENTS:
            return f"Wrong values for {', '.join(keys)} of {tool}." if keys else f"Wrong values for {tool}."
        case FailureKind.WRONG_END:
            return f"Ending with {tool} instead of going on with {needed}."
        case _:
            return f"Leaving out {needed}."
