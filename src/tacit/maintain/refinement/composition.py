"""Composition: several procedures → one, in phases; and whether a composite still says what its parts say. Pure.

The steps of each part stand under a phase of its own. What several parts need is asked once, and what an earlier part
brings about is not asked at all. Parts stay skills that stand for themselves, and are credited each for itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tacit.domain.errors import Mistake
from tacit.domain.skill import Capabilities, Condition, Kind, Parameter, SkillContent, SkillStep

LEAST_PARTS = 2
MOST_PARTS = 24

T = TypeVar("T")
PartsOf = Callable[[str], Collection[str]]
"""A skill's name → the names of its parts."""
_HEADING = re.compile(r"Phase \d+, `[^`\n]+`: ")
_NO_WORD = re.compile(r"\W+")
_SAYS_HOW = ("steps", "parameters", "preconditions", "postconditions", "capabilities")


def composed(name: str, description: str, parts: Sequence[SkillContent], *, parts_of: PartsOf) -> SkillContent:
    """One procedure of several, in this order; raises `Mistake` where that cannot be."""
    check_parts(name, parts)
    check_cycle(name, [part.name for part in parts], parts_of=parts_of)
    parts = _with_names_apart(parts)
    shared = {part.category for part in parts}
    return SkillContent(
        kind=Kind.PROCEDURE,
        name=name,
        description=description,
        category=shared.pop() if len(shared) == 1 else "",
        tags=_each_once(tag for part in parts for tag in part.tags),
        steps=tuple(step for number, part in enumerate(parts, 1) for step in _phase(number, part)),
        parameters=_each_once((each for part in parts for each in part.parameters), key=lambda each: each.name),
        preconditions=_needed(parts),
        postconditions=_each_once((each for part in parts for each in part.postconditions), key=_asked),
        sub_skills=tuple(part.name for part in parts),
        capabilities=_united(part.capabilities for part in parts),
        portable=all(part.portable for part in parts),
        shareable=all(part.shareable for part in parts),
    )


def check_parts(name: str, parts: Sequence[SkillContent]) -> None:
    """Raise unless these can be the parts of one procedure."""
    if not LEAST_PARTS <= len(parts) <= MOST_PARTS:
        raise Mistake(f"a composite has {LEAST_PARTS} to {MOST_PARTS} parts, not {len(parts)}", hint="name its parts")
    names = [part.name for part in parts]
    twice = next((each for each in names if names.count(each) > 1), "")
    if twice:
        raise Mistake(f"`{twice}` is named twice", hint="name each part once")
    other = next((part for part in parts if part.kind is not Kind.PROCEDURE), None)
    if other is not None:
        raise Mistake(f"`{other.name}` is a {other.kind}, and has no steps to be a phase", hint="compose procedures")
    if not name.strip():
        raise Mistake("a composite needs a name", hint="tacit compose NAME PART PART")


def check_cycle(name: str, parts: Iterable[str], *, parts_of: PartsOf) -> None:
    """Raise if a skill would be a part of itself, however far down."""
    done: set[str] = set()
    ways = [[name, part] for part in parts]
    while ways:
        way = ways.pop()
        if way[-1] == name:
            raise Mistake(
                f"`{name}` would be a part of itself: {' > '.join(way)}", hint="leave out what leads back to it"
            )
        if way[-1] not in done:
            done.add(way[-1])
            ways += [[*way, below] for below in parts_of(way[-1])]


def outdated(
    gone: Mapping[str, str], parts: Mapping[str, SkillContent], *, made_of: Mapping[str, SkillContent]
) -> list[str]:
    """Say what speaks against a composite: parts that are gone, and parts that say something else than it took over.

    `gone` has the name of what each was merged into, or nothing. `parts` are those that may be used now, `made_of` those
    whose steps it took over, as they were then; both by name.
    """
    told = [
        f"its part `{name}` was merged into `{into}`" if into else f"its part `{name}` may not be used any more"
        for name, into in gone.items()
    ]
    for name, before in made_of.items():
        changed = [each for each in _SAYS_HOW if name in parts and getattr(before, each) != getattr(parts[name], each)]
        if changed:
            told.append(f"its part `{name}` has other {', '.join(changed)} than it was made of")
    return told


def is_heading(step: SkillStep) -> bool:
    """Whether a step is only the heading of a composite's phase, and nothing to be done."""
    return not step.tool and bool(_HEADING.match(step.text))


def _phase(number: int, part: SkillContent) -> list[SkillStep]:
    """A heading, and under it the part's own steps."""
    return [SkillStep(text=f"Phase {number}, `{part.name}`: {part.description}"), *part.steps]


def _needed(parts: Sequence[SkillContent]) -> tuple[Condition, ...]:
    """What must hold before: each condition once, without what an earlier part sees to."""
    brought: set[tuple[str, ...]] = set()
    needed: list[Condition] = []
    for part in parts:
        needed += [each for each in part.preconditions if _asked(each) not in brought]
        brought |= {_asked(each) for each in part.postconditions}
    return _each_once(needed, key=_asked)


def _asked(condition: Condition) -> tuple[str, ...]:
    """What makes two conditions one: what a program can tell, or else the words."""
    if condition.relation:
        return (condition.when, condition.reading, condition.key, condition.relation, condition.value)
    return (condition.when, condition.check or " ".join(condition.text.casefold().rstrip(".").split()))


def _with_names_apart(parts: Sequence[SkillContent]) -> list[SkillContent]:
    """The parts, with parameters renamed that have one name and stand for different things."""
    known: dict[str, Parameter] = {}
    apart: list[SkillContent] = []
    for part in parts:
        own = _NO_WORD.sub("_", part.name)
        clashing = {
            each.name: f"{own}_{each.name}"
            for each in part.parameters
            if each.name in known and _means(known[each.name]) != _means(each)
        }
        renamed = _renamed(part, clashing) if clashing else part
        known |= {each.name: each for each in renamed.parameters}
        apart.append(renamed)
    return apart


def _means(parameter: Parameter) -> tuple[str, ...]:
    return (parameter.type, parameter.reading, parameter.key, " ".join(parameter.description.casefold().split()))


def _renamed(content: SkillContent, names: Mapping[str, str]) -> SkillContent:
    """A content with parameters under other names, wherever it speaks of them."""
    mark = re.compile(r"\{(" + "|".join(map(re.escape, names)) + r")\}")

    def told(value: Any) -> Any:
        if isinstance(value, str):
            return mark.sub(lambda found: f"{{{names[found[1]]}}}", value)
        if isinstance(value, Mapping):
            return {key: told(item) for key, item in value.items()}
        return [told(item) for item in value] if isinstance(value, list | tuple) else value

    def condition(each: Condition) -> Condition:
        return dataclasses.replace(each, text=told(each.text), check=told(each.check), value=told(each.value))

    return dataclasses.replace(
        content,
        steps=tuple(
            dataclasses.replace(step, text=told(step.text), arguments=told(step.arguments)) for step in content.steps
        ),
        parameters=tuple(
            dataclasses.replace(each, name=names.get(each.name, each.name)) for each in content.parameters
        ),
        preconditions=tuple(map(condition, content.preconditions)),
        postconditions=tuple(map(condition, content.postconditions)),
    )


def _united(each: Iterable[Capabilities]) -> Capabilities:
    every = list(each)
    names = [field.name for field in dataclasses.fields(Capabilities)]
    return Capabilities(**{name: _each_once(item for one in every for item in getattr(one, name)) for name in names})


def _each_once(items: Iterable[T], *, key: Callable[[T], Any] = lambda item: item) -> tuple[T, ...]:
    found: dict[Any, T] = {}
    for item in items:
        found.setdefault(key(item), item)
    return tuple(found.values())
