"""The steps of a skill and why runs failed that should have followed them → pitfalls, each with its count and spans.

One failure that no successful sibling explains writes nothing, nor does an error that passed by itself. A pitfall names
tools and arguments, never a value or the words of an observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.skill import Pitfall, SkillStep
from tacit.domain.trajectory import Role, Span, Step
from tacit.learn.failures.effects import Blame, FailureKind
from tacit.text.programs import SHELL_TOOLS
from tacit.text.tool_calls import ToolKind, plain_name, tool_call

MOST_PITFALLS = 5
_SURE = 0.5
"""A blame without a sibling counts only if its kind is more likely than all others together."""

_Place = tuple[FailureKind, int | None, str, str]
"""Kind, the skill's step, the tool at fault, the tool that was needed."""


@dataclass(frozen=True, slots=True)
class FoundPitfall:
    """A pitfall and the spans of the failed and successful runs it rests on."""

    pitfall: Pitfall
    spans: tuple[Span, ...]


def pitfalls(skill_steps: Sequence[SkillStep], blames: Iterable[Blame]) -> tuple[Pitfall, ...]:
    """What to beware of when following these steps, the most frequent first."""
    return tuple(found.pitfall for found in found_pitfalls(skill_steps, blames))


def found_pitfalls(skill_steps: Sequence[SkillStep], blames: Iterable[Blame]) -> tuple[FoundPitfall, ...]:
    """The same with the spans each rests on."""
    places = {step.tool: place for place, step in reversed(list(enumerate(skill_steps))) if _tells(step.tool)}
    gathered: dict[_Place, dict[str, Blame]] = {}
    for blame in blames:
        if blame.passing or not (blame.by_sibling or blame.confidence > _SURE):
            continue
        for place in _places(blame, places):
            gathered.setdefault(place, {}).setdefault(blame.trajectory_id, blame)
    found = [
        _pitfall(place, list(runs.values()))
        for place, runs in gathered.items()
        if len(runs) > 1 or any(blame.by_sibling for blame in runs.values())
    ]
    found.sort(key=lambda each: (-each.pitfall.count, each.pitfall.step or 0, each.pitfall.text))
    return tuple(found[:MOST_PITFALLS])


def _places(blame: Blame, places: Mapping[str, int]) -> Iterator[_Place]:
    """Where in the skill a blame belongs; nowhere if it concerns none of its steps."""
    lacking = [call.tool for call in blame.expected if call.tool in places]
    match blame.kind:
        case FailureKind.NO_ACTION | FailureKind.MISSING_STEP:
            for tool in dict.fromkeys(lacking):
                yield FailureKind.MISSING_STEP, places[tool], "", tool
        case FailureKind.WRONG_TOOL:
            if lacking and _tells(blame.tool) and blame.tool not in lacking:
                yield blame.kind, places[lacking[0]], blame.tool, lacking[0]
        case FailureKind.EXTRA_STEP:
            if _tells(blame.tool):
                yield blame.kind, places.get(blame.tool), blame.tool, ""
        case FailureKind.WRONG_ARGUMENTS:
            if blame.tool in places:
                yield blame.kind, places[blame.tool], blame.tool, ""
        case FailureKind.WRONG_END:
            if blame.tool and lacking:
                yield blame.kind, places[lacking[0]], blame.tool, lacking[0]


def _tells(tool: str) -> bool:
    """Whether a tool's name says what was done: a shell's or an editor's does not."""
    if not tool or plain_name(tool) in SHELL_TOOLS:
        return False
    return tool_call(Step(index=0, role=Role.AGENT, tool=tool)).kind is ToolKind.FUNCTION


def _pitfall(place: _Place, runs: Sequence[Blame]) -> FoundPitfall:
    kind, step, tool, needed = place
    spans = tuple(dict.fromkeys(span for blame in runs for span in blame.spans))
    text = _text(kind, tool, needed, keys=_shared_keys(runs), known=step is not None)
    return FoundPitfall(Pitfall(text=text, kind=kind.value, step=step, count=len(runs)), spans)


def _shared_keys(runs: Sequence[Blame]) -> tuple[str, ...]:
    """The arguments that at least half of the runs got wrong."""
    names = dict.fromkeys(key for blame in runs for key in blame.keys)
    return tuple(name for name in names if 2 * sum(name in blame.keys for blame in runs) >= len(runs))


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
