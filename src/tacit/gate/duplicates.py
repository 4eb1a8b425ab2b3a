"""Comparison of skills: how similar two are, what a candidate adds, the merge of both, and conflicts between them. Pure.

Similarity compares kind, actions in order, and subject; it does not use retrieval scores. In a merge, steps that both have stay
required and steps of one side become optional. Counted entries (cases, cues, pitfalls) are united; the candidate's count wins.
Two skills conflict where they cannot both be followed; which side is right is not decided here.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from tacit.domain.candidate import Candidate, Finding
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import RULE_KINDS, STATED_KINDS, Capabilities, Kind, Parameter, SkillContent, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.gate.findings import finding
from tacit.text.shell import parse_command
from tacit.text.similarity import order_similarity, text_similarity

ACTIONS_WEIGHT = 0.65
"""The same actions in the same order count more than the same words. Set by hand."""
MAX_EXAMPLES = 8
"""Example queries of a merged skill; a limit, so that repeated merging does not grow it without end."""
MAX_BODY = 4000
"""Characters of a merged body, for the same reason."""
_KEYED: Mapping[str, Callable[[Any], Hashable]] = {
    "parameters": attrgetter("name"),
    "preconditions": attrgetter("text"),
    "postconditions": attrgetter("text"),
    "files": attrgetter("path"),
    "cases": attrgetter("conditions"),
    "pitfalls": attrgetter("text", "kind", "step"),
}
"""Lists, and the key by which two of their entries are the same."""
_COUNTED = frozenset({"cases", "pitfalls"})
"""Of two entries with one key the candidate's is kept, since it was counted later."""
_LOCATION_ARGUMENTS = frozenset({"command", "cmd", "file_path", "path"})
"""Arguments that give a location; the shape of a step covers them."""
_PLACEHOLDER = re.compile(r"\{\w+\}")
OPPOSED_FROM = 0.3
"""Texts below this similarity are about different things, so they are not compared for opposition. Set by hand."""
SAME_EFFECT = 0.9
"""Least similarity of two skills with the same actions and different conditions: they count as one skill, so that their
conditions are merged. Where a higher similarity makes a duplicate, it is that one."""


def similarity(left: SkillContent, right: SkillContent, *, duplicate_from: float = 0.0) -> float:
    """Return how similar two contents are, from 0 to 1; from `duplicate_from` on they count as one skill.

    Lessons are compared by error and fix, procedures with steps by actions and subject, anything else by its texts.
    """
    if left == right:
        return 1.0
    if left.kind is not right.kind and {left.kind, right.kind} != RULE_KINDS:  # a preference and a norm may be one rule
        return 0.0
    if left.extends != right.extends or bool(left.sub_skills) != bool(right.sub_skills):
        return 0.0  # an overlay is not what it extends, nor a composite its part
    if left.kind is Kind.LESSON and left.signature and right.signature:
        return _lesson_similarity(left, right)
    ours, theirs = ([*shapes(each.steps), *(("part", name) for name in each.sub_skills)] for each in (left, right))
    if left.kind is Kind.PROCEDURE and ours and theirs:
        return _procedure_similarity(left, right, ours, theirs, duplicate_from=duplicate_from)
    return _statement_similarity(left, right)


def _lesson_similarity(left: SkillContent, right: SkillContent) -> float:
    """Compare the errors, and the fixes: their steps, or their texts where neither has steps."""
    same_fix = order_similarity(shapes(left.steps), shapes(right.steps))
    if not (left.steps or right.steps):
        same_fix = text_similarity(left.body or left.description, right.body or right.description)
    return text_similarity(left.signature, right.signature) * (0.5 + 0.5 * same_fix)


def _subject_similarity(left: SkillContent, right: SkillContent) -> float:
    about = (f"{each.name} {each.description} {each.category}" for each in (left, right))
    return max(text_similarity(*about), text_similarity(left.name, right.name))


def _statement_similarity(left: SkillContent, right: SkillContent) -> float:
    """Compare subjects and texts; texts that state the opposite are two skills."""
    one, other = f"{left.description}\n{left.body}", f"{right.description}\n{right.body}"
    alike = max(_subject_similarity(left, right), text_similarity(one, other))
    if alike < OPPOSED_FROM:
        return alike
    from tacit.text.opposition import opposed  # imported late: needed only for similar rules

    return alike / 2 if opposed(one, other) else alike


def _procedure_similarity(
    left: SkillContent,
    right: SkillContent,
    ours: Sequence[Hashable],
    theirs: Sequence[Hashable],
    *,
    duplicate_from: float,
) -> float:
    """Compare the actions of both sides and their subjects; the same actions in different cases are one skill."""
    subject = _subject_similarity(left, right)
    alike = ACTIONS_WEIGHT * order_similarity(ours, theirs) + (1 - ACTIONS_WEIGHT) * subject
    if not all(each.cases or each.cues for each in (left, right)):
        return alike
    if contradicting_argument(left.steps, right.steps):
        return alike / 2  # the same tool with another fixed value has another effect
    least = max(SAME_EFFECT, duplicate_from)
    return max(alike, least + (1 - least) * subject) if ours == theirs else alike


def contradicting_argument(left: Sequence[SkillStep], right: Sequence[SkillStep]) -> str:
    """Return how two aligned steps fix one argument differently; empty where none do."""
    # The alignment depends on which side is first, so both are taken.
    pairs = {(pair.stored, pair.candidate) for pair in aligned(left, right)}
    pairs |= {(pair.candidate, pair.stored) for pair in aligned(right, left)}
    differences = (
        _differing(right[theirs], left[ours])
        for theirs, ours in sorted((theirs, ours) for theirs, ours in pairs if theirs is not None and ours is not None)
    )
    return next(filter(None, differences), "")


def _differing(left: SkillStep, right: SkillStep) -> str:
    ours, theirs = left.arguments, right.arguments
    for name in sorted((ours.keys() & theirs.keys()) - _LOCATION_ARGUMENTS):
        if ours[name] != theirs[name] and _is_fixed(ours[name]) and _is_fixed(theirs[name]):
            return f"`{left.tool}` with {name} {str(theirs[name])[:60]!r} against {str(ours[name])[:60]!r}"
    return ""


def _is_fixed(value: Any) -> bool:
    return not _PLACEHOLDER.search(str(value))


def adds_nothing(candidate: SkillContent, stored: SkillContent) -> bool:
    """Whether a stored content covers everything in the candidate, so that it only confirms."""
    if (
        candidate.kind in RULE_KINDS
        and candidate.tags
        and (candidate.name, candidate.tags) == (stored.name, stored.tags)
    ):
        return True  # the same correction in other words: both are named after the corrected action
    for field in _COUNTED:
        key = _KEYED[field]
        if not {key(item) for item in getattr(candidate, field)} <= {key(item) for item in getattr(stored, field)}:
            return False
    if not {cue.term for cue in candidate.cues} <= {cue.term for cue in stored.cues}:
        return False
    if not (set(candidate.after) <= set(stored.after) and _is_subsequence(candidate.sub_skills, stored.sub_skills)):
        return False
    if candidate.kind is not Kind.PROCEDURE or not candidate.steps:
        # For the same fix the wording does not matter; without steps only the text can differ.
        is_covered = bool(stored.steps) or _merge_lines(stored.body, candidate.body) == stored.body
        return is_covered and shapes(candidate.steps) == shapes(stored.steps)
    new = shapes(candidate.steps)
    return _is_subsequence(_required(stored.steps), new) and _is_subsequence(new, shapes(stored.steps))


def repeats_calls(candidate: SkillContent, stored: SkillContent) -> bool:
    """Whether a procedure makes exactly the calls of a stored one for the same subject, so that only its name is new."""
    calls, known = (
        [(step.tool, step.arguments) for step in each.steps if step.arguments] for each in (candidate, stored)
    )
    return bool(calls) and calls == known and _subject_similarity(candidate, stored) >= SAME_SUBJECT


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merged content, and for each side: field path before → field path after."""

    content: SkillContent
    from_candidate: Mapping[str, str]
    from_stored: Mapping[str, str]


def merge_contents(candidate: SkillContent, stored: SkillContent) -> Merged:
    """Merge a candidate into `stored`; the stored name and identity stay."""
    pairs = aligned(candidate.steps, stored.steps)
    keyed: dict[str, Any] = {
        field: _by_key(key, getattr(stored, field), getattr(candidate, field), later=field in _COUNTED)
        for field, key in _KEYED.items()
    }
    keyed["parameters"] = _with_sources(keyed["parameters"], candidate.parameters)
    content = dataclasses.replace(
        stored,
        steps=_merged_steps(pairs, candidate.steps, stored.steps),
        **keyed,
        tags=tuple(dict.fromkeys(stored.tags + candidate.tags)),
        example_queries=tuple(dict.fromkeys(stored.example_queries + candidate.example_queries))[:MAX_EXAMPLES],
        body=_merge_lines(stored.body, candidate.body),
        cues=_by_key(attrgetter("term"), stored.cues, candidate.cues, later=True),
        after=tuple(dict.fromkeys(stored.after + candidate.after)),
        sub_skills=_merged_names(stored.sub_skills, candidate.sub_skills),
        # What both name; where one side was not recorded, the other side counts.
        surroundings=tuple(name for name in stored.surroundings if name in candidate.surroundings)
        if stored.surroundings and candidate.surroundings
        else stored.surroundings or candidate.surroundings,
        capabilities=Capabilities(
            **{
                name: tuple(dict.fromkeys(getattr(stored.capabilities, name) + getattr(candidate.capabilities, name)))
                for name in (field.name for field in dataclasses.fields(Capabilities))
            }
        ),
    )
    from_stored = {f"steps.{pair.stored}": f"steps.{at}" for at, pair in enumerate(pairs) if pair.stored is not None}
    from_candidate = {
        f"steps.{pair.candidate}": f"steps.{at}" for at, pair in enumerate(pairs) if pair.candidate is not None
    }
    return Merged(
        content=content,
        from_stored=from_stored | _new_paths(stored, content),
        from_candidate=from_candidate | _new_paths(candidate, content),
    )


def remap_path(path: str, new_paths: Mapping[str, str]) -> str:
    """Return the path of a field, such as ``steps.2.arguments``, after merging."""
    parts = path.split(".")
    head = ".".join(parts[:2])
    return ".".join([new_paths.get(head, head), *parts[2:]])


def shapes(steps: Sequence[SkillStep]) -> list[Hashable]:
    """Return the shape of each step without its values: the tool, and for a shell its programs and subcommands."""
    found: list[Hashable] = []
    for step in steps:
        command = step.arguments.get("command", step.arguments.get("cmd"))
        path = step.arguments.get("file_path", step.arguments.get("path"))
        if isinstance(command, str):
            found.append((step.tool, *(part.label for part in parse_command(command) if part.program != "cd")))
        elif isinstance(path, str):
            found.append((step.tool, path.rpartition("/")[0]))
        else:
            found.append(step.tool or step.text)
    return found


def _is_subsequence(part: Sequence[Hashable], whole: Sequence[Hashable]) -> bool:
    remaining = iter(whole)
    return all(any(item == other for other in remaining) for item in part)


class StepPair(NamedTuple):
    """A merged step: its index among the stored steps and among the candidate's, None where one side does not have it."""

    stored: int | None
    candidate: int | None


def aligned(candidate: Sequence[SkillStep], stored: Sequence[SkillStep]) -> list[StepPair]:
    """Align two lists of steps by their shapes."""
    return _alignment(shapes(candidate), shapes(stored))


def _alignment(candidate: Sequence[Hashable], stored: Sequence[Hashable]) -> list[StepPair]:
    pairs: list[StepPair] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=stored, b=candidate, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += map(StepPair, range(i1, i2), range(j1, j2))
        else:
            pairs += [StepPair(i, None) for i in range(i1, i2)]
            pairs += [StepPair(None, j) for j in range(j1, j2)]
    return pairs


def _merged_steps(
    pairs: Sequence[StepPair], new: Sequence[SkillStep], old: Sequence[SkillStep]
) -> tuple[SkillStep, ...]:
    """Merge aligned steps; what both sides require in the same order stays required even where repeats prevent alignment."""
    merged: list[SkillStep] = []
    for pair in pairs:  # a shared step keeps the candidate's wording and stays required only if both require it
        both = [steps[i] for i, steps in zip(pair, (old, new), strict=True) if i is not None]
        merged.append(dataclasses.replace(both[-1], optional=len(both) == 1 or any(step.optional for step in both)))
    found, sides = shapes(merged), (_required(new), _required(old))
    for shape in dict.fromkeys(sides[0]):
        at = [i for i, other in enumerate(found) if other == shape]
        if not all(merged[i].optional for i in at):
            continue
        for i in at:
            required = [found[j] for j, step in enumerate(merged) if j == i or not step.optional]
            if all(_is_subsequence(required, side) for side in sides):
                merged[i] = dataclasses.replace(merged[i], optional=False)
                break
    return tuple(merged)


def _required(steps: Sequence[SkillStep]) -> list[Hashable]:
    return shapes([step for step in steps if not step.optional])


def _new_paths(part: SkillContent, whole: SkillContent) -> dict[str, str]:
    """Return the new paths of the parameters, conditions, files and examples of one side; empty for what was dropped."""
    examples = {text: i for i, text in enumerate(whole.example_queries)}
    new_paths = {
        f"example_queries.{i}": f"example_queries.{examples[text]}" if text in examples else ""
        for i, text in enumerate(part.example_queries)
    }
    for field, key in _KEYED.items():
        index = {key(item): i for i, item in enumerate(getattr(whole, field))}
        for i, item in enumerate(getattr(part, field)):
            new_paths[f"{field}.{i}"] = f"{field}.{index[key(item)]}"
    return new_paths


def _by_key(
    key: Callable[[Any], Hashable], stored: Sequence[Any], more: Sequence[Any], *, later: bool = False
) -> tuple[Any, ...]:
    """Return the entries of both sides, stored ones first; with `later`, the new one wins where both have a key."""
    merged = {key(item): item for item in stored}
    for item in more:
        if later:
            merged[key(item)] = item
        else:
            merged.setdefault(key(item), item)
    return tuple(merged.values())


def _with_sources(merged: Sequence[Parameter], candidates: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Add the source of parameter values where only the candidate knows it."""
    found = {parameter.name: parameter for parameter in candidates if parameter.reading}
    return tuple(
        dataclasses.replace(each, reading=found[each.name].reading, key=found[each.name].key)
        if each.name in found and not each.reading
        else each
        for each in merged
    )


def _merged_names(stored: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """Return the names of both sides in one order, each once."""
    pairs = (zip(pair, (stored, more), strict=True) for pair in _alignment(more, stored))
    return tuple(dict.fromkeys(names[at] for pair in pairs for at, names in pair if at is not None))


def _merge_lines(stored: str, new: str) -> str:
    """Keep the stored body, and add missing lines of the candidate up to the limit."""
    merged, have = stored, set(stored.splitlines())
    for line in new.splitlines():
        longer = f"{merged}\n{line}".strip("\n")
        if line.strip() and line not in have and len(longer) <= MAX_BODY:
            merged = longer
    return merged


SAME_SUBJECT = 0.6
"""Procedures that share this part of the words of their names or descriptions are for the same thing. Set by hand."""


def disagreement(left: SkillContent, right: SkillContent) -> str:
    """Return why two skills cannot both be followed; empty where they can.

    Two procedures for the same thing conflict where they fix one argument differently in every case.
    """
    if left.kind is Kind.REFERENCE or right.kind is Kind.REFERENCE:
        return ""
    if Kind.PROCEDURE is left.kind is right.kind:
        if _applies_to_cases(left) or _applies_to_cases(right):
            return ""
        alike = max(text_similarity(left.description, right.description), text_similarity(left.name, right.name))
        return contradicting_argument(left.steps, right.steps) if alike >= SAME_SUBJECT else ""
    from tacit.text.opposition import opposed  # only where there are rules; most commands compare none

    return opposed(_rules_text(left), _rules_text(right))


def fixed_arguments(content: SkillContent) -> frozenset[tuple[str, str]]:
    """Return the tools and arguments that a procedure fixes for every task, except those that say where.

    There are none where it applies to certain cases only.
    """
    if content.kind is not Kind.PROCEDURE or _applies_to_cases(content):
        return frozenset()
    return frozenset(
        (step.tool, name)
        for step in content.steps
        for name, value in step.arguments.items()
        if name not in _LOCATION_ARGUMENTS and _is_fixed(value)
    )


def disagreements(candidate: Candidate, others: Iterable[StoredVersion]) -> Iterator[Finding]:
    """Yield the recallable skills that a candidate contradicts; other versions of its own skill do not count."""
    for stored in others:
        if stored.skill.id == candidate.revises or stored.status not in RECALLABLE:
            continue
        if why := disagreement(candidate.content, stored.version.content):
            yield finding("contradicts", field="description", name=stored.version.name, why=why)


def _rules_text(content: SkillContent) -> str:
    """Return the sentences in which a skill states its rules."""
    steps = [step.text for step in content.steps] if content.kind not in STATED_KINDS else []
    return "\n".join([content.description, content.body, *steps])


def _applies_to_cases(content: SkillContent) -> bool:
    return bool(content.cases or content.cues or content.sub_skills)
