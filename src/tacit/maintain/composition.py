"""Composition: several procedures become one, in phases; and composites whose parts have changed since are found.

The steps of each part follow a heading of their own. A condition that several parts need is listed once, and one that
an earlier part brings about is not listed. A composite has the versions it was made of as parents, so that changed
parts are noticed and a purge of a part removes the composite too.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from tacit.domain.care import BY_ITSELF, Advice, Care, CareKind, CareReason
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, coded, joined_text
from tacit.domain.skill import Capabilities, Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.evidence.friction import map_texts
from tacit.maintain.status_changes import care_of
from tacit.store import Store, queries
from tacit.store.queries import parts_of

LEAST_PARTS = 2
MOST_PARTS = 24

T = TypeVar("T")
PartsOf = Callable[[str], Collection[str]]
"""A skill's name → the names of its parts."""
_HEADING = re.compile(r"Phase \d+, `[^`\n]+`: ")
_NO_WORD = re.compile(r"\W+")
_COPIED_FIELDS = ("steps", "parameters", "preconditions", "postconditions", "capabilities")
_GONE = frozenset({Status.STALE, Status.RETIRED, Status.QUARANTINED})


def compose(
    store: Store, name: str, description: str, parts: Sequence[str]
) -> tuple[SkillContent, list[StoredVersion]]:
    """Return the composite of these usable skills, and the versions it is made of."""
    versions = [queries.find(store, part) for part in parts]
    unusable = next((each for each in versions if each.status not in RECALLABLE), None)
    if unusable is not None:
        why = f"`{unusable.version.name}` is {unusable.status} and cannot be part of a composite"
        raise Mistake(why, code="part_not_approved", hint="approve it first: `tacit review`")
    contents = [each.version.content for each in versions]
    text = description.strip() or "; then ".join(content.description.rstrip(".") for content in contents) + "."

    def part_names(part: str) -> tuple[str, ...]:
        named = store.catalogue(name=part)
        return queries.preferred_of_name(named).version.content.sub_skills if named else ()

    return composed(name, text, contents, parts_of=part_names), versions


def cares(store: Store, *, at: datetime) -> Iterator[Care]:
    """Find the usable composites whose parts have changed or are gone since they were made."""
    for stored in store.catalogue(statuses=RECALLABLE):
        version, names = stored.version, stored.version.content.sub_skills
        if not names:
            continue
        now = {part.name: part.content for part in parts_of(store, version)}
        # One that still waits for approval never was used.
        absent = {name: store.catalogue(name=name) for name in names if name not in now}
        lost = [name for name, known in absent.items() if not known or any(each.status in _GONE for each in known)]
        # The parts as they were when the composite copied their steps; none if it only names its parts.
        parents = [store.version(version_id).version for version_id in version.parents]
        before = {parent.name: parent.content for parent in parents if parent.skill_id != version.skill_id}
        reasons = part_changes(lost, now, made_of={name: before[name] for name in names if name in before})
        if reasons:
            usable = [name for name in names if name not in lost]
            advice = [coded(Advice.RESTORE_PART, part=part) for part in lost[:1]]
            if len(usable) >= LEAST_PARTS:
                advice.append(coded(Advice.RECOMPOSE, name=version.name, parts=" ".join(usable)))
            else:
                advice.append(coded(Advice.RETIRE_SKILL, name=version.name))
            move = stored.transition_to(Status.STALE, joined_text(reasons), by=BY_ITSELF, at=at)
            yield care_of(stored, CareKind.COMPOSITE, reasons, move=move, advice=tuple(advice))


def composed(name: str, description: str, parts: Sequence[SkillContent], *, parts_of: PartsOf) -> SkillContent:
    """Return one procedure made of several, in this order; raises `Mistake` where they cannot be combined."""
    check_parts(name, parts)
    check_cycle(name, [part.name for part in parts], parts_of=parts_of)
    parts = _with_unique_parameters(parts)
    shared = {part.category for part in parts}
    steps: list[SkillStep] = []
    required: list[Condition] = []  # the preconditions without those that an earlier part establishes
    established: set[tuple[str, ...]] = set()
    for number, part in enumerate(parts, 1):
        steps += [SkillStep(text=f"Phase {number}, `{part.name}`: {part.description}"), *part.steps]
        required += [each for each in part.preconditions if _condition_key(each) not in established]
        established |= {_condition_key(each) for each in part.postconditions}
    capabilities = {
        field.name: _each_once(item for part in parts for item in getattr(part.capabilities, field.name))
        for field in dataclasses.fields(Capabilities)
    }
    return SkillContent(
        kind=Kind.PROCEDURE,
        name=name,
        description=description,
        category=shared.pop() if len(shared) == 1 else "",
        tags=_each_once(tag for part in parts for tag in part.tags),
        steps=tuple(steps),
        parameters=_each_once((each for part in parts for each in part.parameters), key=lambda each: each.name),
        preconditions=_each_once(required, key=_condition_key),
        postconditions=_each_once((each for part in parts for each in part.postconditions), key=_condition_key),
        sub_skills=tuple(part.name for part in parts),
        capabilities=Capabilities(**capabilities),
        portable=all(part.portable for part in parts),
        shareable=all(part.shareable for part in parts),
    )


def check_parts(name: str, parts: Sequence[SkillContent]) -> None:
    """Raise unless these can be the parts of one procedure."""
    if not LEAST_PARTS <= len(parts) <= MOST_PARTS:
        why = f"a composite has {LEAST_PARTS} to {MOST_PARTS} parts, not {len(parts)}"
        raise Mistake(why, code="wrong_part_count", hint="name its parts")
    names = [part.name for part in parts]
    twice = next((each for each in names if names.count(each) > 1), "")
    if twice:
        raise Mistake(f"`{twice}` is named twice", code="part_repeated", hint="name each part once")
    other = next((part for part in parts if part.kind is not Kind.PROCEDURE), None)
    if other is not None:
        why = f"`{other.name}` is a {other.kind} without steps"
        raise Mistake(why, code="part_not_procedure", hint="compose procedures")
    if not name.strip():
        raise Mistake("a composite needs a name", code="name_missing", hint="tacit compose NAME PART PART")


def check_cycle(name: str, parts: Iterable[str], *, parts_of: PartsOf) -> None:
    """Raise if a skill would be a part of itself, however far down."""
    done: set[str] = set()
    paths = [[name, part] for part in parts]
    while paths:
        path = paths.pop()
        if path[-1] == name:
            hint = "leave out the part that leads back to it"
            raise Mistake(
                f"`{name}` would be a part of itself: {' > '.join(path)}", code="composition_cycle", hint=hint
            )
        if path[-1] not in done:
            done.add(path[-1])
            paths += [[*path, below] for below in parts_of(path[-1])]


def part_changes(
    gone: Iterable[str], parts: Mapping[str, SkillContent], *, made_of: Mapping[str, SkillContent]
) -> list[CodedReason]:
    """Return the parts of a composite that are gone, and those that differ from what it copied.

    `parts` are the usable ones now, `made_of` those whose steps were copied, as they were then; both by name.
    """
    found = [coded(CareReason.PART_UNUSABLE, part=name) for name in gone]
    for name, before in made_of.items():
        now = parts.get(name)
        changed = [field for field in _COPIED_FIELDS if now and getattr(before, field) != getattr(now, field)]
        if changed:
            found.append(coded(CareReason.PART_CHANGED, part=name, fields=", ".join(changed)))
    return found


def is_heading(step: SkillStep) -> bool:
    """Whether a step is only the heading of a composite's phase."""
    return not step.tool and bool(_HEADING.match(step.text))


def _condition_key(condition: Condition) -> tuple[str, ...]:
    """Conditions with one key are the same: by what a program can check, or else by their words."""
    if condition.relation:
        return (condition.when, condition.reading, condition.key, condition.relation, condition.value)
    return (condition.when, condition.check or " ".join(condition.text.casefold().rstrip(".").split()))


def _with_unique_parameters(parts: Sequence[SkillContent]) -> list[SkillContent]:
    """Return the parts with parameters renamed that share a name and mean different things."""

    def meaning(parameter: Parameter) -> tuple[str, ...]:
        words = " ".join(parameter.description.casefold().split())
        return parameter.type, parameter.reading, parameter.key, words

    known: dict[str, Parameter] = {}
    apart: list[SkillContent] = []
    for part in parts:
        own = _NO_WORD.sub("_", part.name)
        clashing = {
            each.name: f"{own}_{each.name}"
            for each in part.parameters
            if each.name in known and meaning(known[each.name]) != meaning(each)
        }
        renamed = _with_renamed_parameters(part, clashing) if clashing else part
        known |= {each.name: each for each in renamed.parameters}
        apart.append(renamed)
    return apart


def _with_renamed_parameters(content: SkillContent, names: Mapping[str, str]) -> SkillContent:
    """Return the content with parameters under other names, also where texts and arguments refer to them."""
    mark = re.compile(r"\{(" + "|".join(map(re.escape, names)) + r")\}")

    def renamed_value(value: Any) -> Any:
        return map_texts(value, lambda text: mark.sub(lambda found: f"{{{names[found[1]]}}}", text))

    def condition(each: Condition) -> Condition:
        return dataclasses.replace(
            each, text=renamed_value(each.text), check=renamed_value(each.check), value=renamed_value(each.value)
        )

    return dataclasses.replace(
        content,
        steps=tuple(
            dataclasses.replace(step, text=renamed_value(step.text), arguments=renamed_value(step.arguments))
            for step in content.steps
        ),
        parameters=tuple(
            dataclasses.replace(each, name=names.get(each.name, each.name)) for each in content.parameters
        ),
        preconditions=tuple(map(condition, content.preconditions)),
        postconditions=tuple(map(condition, content.postconditions)),
    )


def _each_once(items: Iterable[T], *, key: Callable[[T], Any] = lambda item: item) -> tuple[T, ...]:
    found: dict[Any, T] = {}
    for item in items:
        found.setdefault(key(item), item)
    return tuple(found.values())
