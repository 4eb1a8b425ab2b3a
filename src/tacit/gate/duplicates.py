"""Duplicates: is this already known, and if so, what does the newcomer add? Two contents → similarity, one merged content.

The similarity is the gate's own: same kind, same actions in the same order, same subject. It knows nothing of retrieval
scores. Merging keeps the newcomer's steps: what both did stays required, what only one did becomes optional.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Hashable, Sequence

from tacit.domain.skill import Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.text.shell import parse_command
from tacit.text.similarity import order_similarity, text_similarity

ACTIONS_WEIGHT = 0.65
"""Doing the same things in the same order says more than being told of in the same words."""
MAX_EXAMPLES = 8
MAX_BODY = 4000


def similarity(left: SkillContent, right: SkillContent) -> float:
    """How much two contents are the same skill, from 0 to 1."""
    if left.kind is not right.kind:
        return 0.0
    if left.kind is Kind.LESSON and left.signature and right.signature:
        same_fix = order_similarity(shapes(left.steps), shapes(right.steps))
        return text_similarity(left.signature, right.signature) * (0.5 + 0.5 * same_fix)
    subject = max(text_similarity(_subject(left), _subject(right)), text_similarity(left.name, right.name))
    if left.kind is not Kind.PROCEDURE or not (left.steps and right.steps):
        return max(subject, text_similarity(f"{left.description} {left.body}", f"{right.description} {right.body}"))
    return ACTIONS_WEIGHT * order_similarity(shapes(left.steps), shapes(right.steps)) + (1 - ACTIONS_WEIGHT) * subject


def adds_nothing(newcomer: SkillContent, known: SkillContent) -> bool:
    """Whether everything the newcomer does is already said, so that it only confirms."""
    if newcomer.kind is not Kind.PROCEDURE or not newcomer.steps:
        # Of the same error, fix or wish told again, the wording is no news.
        return shapes(newcomer.steps) == shapes(known.steps)
    required = [shape for step, shape in zip(known.steps, shapes(known.steps), strict=True) if not step.optional]
    new = shapes(newcomer.steps)
    return _is_subsequence(required, new) and _is_subsequence(new, shapes(known.steps))


def merge(newcomer: SkillContent, known: SkillContent) -> SkillContent:
    """Make the next version of `known` with what the newcomer shows; the known name and identity stay."""
    return dataclasses.replace(
        known,
        steps=_merge_steps(newcomer.steps, known.steps),
        parameters=_by_name(known.parameters, newcomer.parameters),
        preconditions=_by_text(known.preconditions, newcomer.preconditions),
        postconditions=_by_text(known.postconditions, newcomer.postconditions),
        tags=tuple(dict.fromkeys(known.tags + newcomer.tags)),
        example_queries=tuple(dict.fromkeys(known.example_queries + newcomer.example_queries))[:MAX_EXAMPLES],
        body=_merge_lines(known.body, newcomer.body),
    )


def shapes(steps: Sequence[SkillStep]) -> list[Hashable]:
    """What each step does, without its values: the tool, and for a shell its programs and subcommands."""
    return [_shape(step) for step in steps]


def _shape(step: SkillStep) -> Hashable:
    command = step.arguments.get("command", step.arguments.get("cmd"))
    if isinstance(command, str):
        return (step.tool, *(part.label for part in parse_command(command) if part.program != "cd"))
    path = step.arguments.get("file_path", step.arguments.get("path"))
    if isinstance(path, str):
        return (step.tool, path.rpartition("/")[0])
    return step.tool or step.text


def _subject(content: SkillContent) -> str:
    return f"{content.name} {content.description} {content.category}"


def _is_subsequence(part: Sequence[Hashable], whole: Sequence[Hashable]) -> bool:
    remaining = iter(whole)
    return all(any(item == other for other in remaining) for item in part)


def _merge_steps(new: Sequence[SkillStep], old: Sequence[SkillStep]) -> tuple[SkillStep, ...]:
    """Align both; shared steps keep the newcomer's wording and stay required only if both require them."""
    new_shapes, old_shapes = shapes(new), shapes(old)
    merged: list[SkillStep] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=old_shapes, b=new_shapes, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs = zip(old[i1:i2], new[j1:j2], strict=True)
            merged += [dataclasses.replace(b, optional=a.optional or b.optional) for a, b in pairs]
        else:
            merged += [dataclasses.replace(step, optional=True) for step in (*old[i1:i2], *new[j1:j2])]
    return tuple(merged)


def _by_name(known: Sequence[Parameter], more: Sequence[Parameter]) -> tuple[Parameter, ...]:
    merged = {parameter.name: parameter for parameter in more}
    merged |= {parameter.name: parameter for parameter in known}
    return tuple(merged[name] for name in dict.fromkeys([p.name for p in (*known, *more)]))


def _by_text(known: Sequence[Condition], more: Sequence[Condition]) -> tuple[Condition, ...]:
    return tuple({condition.text: condition for condition in (*more, *known)}.values())


def _merge_lines(known: str, new: str) -> str:
    """Keep the known body and add the newcomer's lines that it lacks, up to a bound."""
    have = set(known.splitlines())
    fresh = [line for line in new.splitlines() if line.strip() and line not in have]
    return "\n".join([known, *fresh]).strip("\n")[:MAX_BODY] if fresh else known
