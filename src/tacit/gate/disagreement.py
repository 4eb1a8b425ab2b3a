"""Disagreement: a content beside others → what cannot be done together with it, and whom a new condition leaves out. Pure.

Found when something is written, and again when the library is looked after. It is told, and weighs as much as a finding
does; which side is right is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import Condition, Kind, SkillContent
from tacit.domain.stored import Stored
from tacit.gate.duplicates import contradict, fixed_of
from tacit.text.near_duplicates import text_similarity
from tacit.text.words import term_set

SAME_SUBJECT = 0.6
"""Procedures that share this part of the words of their names or descriptions are for the same thing."""
LEAST_SHARED = 2
"""Words of the subject that two skills share which name no common thing."""

_RULES = frozenset({Kind.NORM, Kind.PREFERENCE, Kind.LESSON})
_NAMED = re.compile(
    r"`([^`\n]{2,80})`|(?<![\w/])((?:[\w.-]+/)+[\w.-]+|[\w-]+\.[a-z]{2,5}\b|[A-Z][A-Z0-9_]{2,}|\w+_\w+|[a-z]+[A-Z]\w+)"
)
_DEMAND = re.compile(
    r"[^.;\n]*\b(?:requires?|must (?:first|be|have|already)|needs? (?:to|a|an|the)|only (?:after|if|when|once)|make sure|"
    r"ensure|before (?:you|any|running|doing|deploying|starting))\b[^.;\n]*",
    re.IGNORECASE,
)
"""How prose asks for something to hold first."""


def disagreement(left: SkillContent, right: SkillContent) -> str:
    """Say why two skills cannot both be followed; empty where they can."""
    if left.kind is Kind.REFERENCE or right.kind is Kind.REFERENCE:
        return ""
    if Kind.PROCEDURE is left.kind is right.kind:
        return _other_values(left, right)
    from tacit.text.opposition import opposed  # only where there are rules; most commands compare none

    return opposed(_told(left), _told(right))


def fixed_arguments(content: SkillContent) -> frozenset[tuple[str, str]]:
    """The tools and arguments that a procedure fixes for every task; none where it says in which case it is for."""
    if content.kind is not Kind.PROCEDURE or _says_when(content):
        return frozenset()
    return frozenset((step.tool, name) for step in content.steps for name in fixed_of(step))


def disagreements(candidate: Candidate, others: Iterable[Stored]) -> Iterator[Finding]:
    """State which skills that may be used say what a candidate contradicts; versions of its own skill are its past."""
    for stored in others:
        if stored.skill.id == candidate.revises or stored.status not in RECALLABLE:
            continue
        if why := disagreement(candidate.content, stored.version.content):
            told = f"contradicts `{stored.version.name}`: {why}"
            yield Finding(rule="contradicts", message=told, severity=Severity.MEDIUM, field="description")


def interference(candidate: Candidate, own: Sequence[Stored], others: Iterable[Stored]) -> Iterator[Finding]:
    """State which skills share things with a revision, and lack a condition that it adds.

    Somebody found out that something must hold first. Who works on the same things without asking for it may go wrong
    now, so the revision is set apart until a person has looked at both.
    """
    current = [stored for stored in own if stored.status in RECALLABLE]
    if not current:
        return
    before = max(current, key=lambda stored: stored.sequence).version.content
    added = list(_added(candidate.content, before))
    if not added:
        return
    things = entities(candidate.content) | entities(before)
    for stored in others:
        content = stored.version.content
        if (
            stored.skill.id == candidate.revises
            or stored.status not in RECALLABLE
            or content.kind is not Kind.PROCEDURE
        ):
            continue
        shared = _shared(things, candidate.content, content)
        lacking = [condition for condition in added if not _asks(content, condition)]
        if shared and lacking:
            told = (
                f"it now needs “{lacking[0][:120]}”, which `{stored.version.name}` does not ask for though both work on "
                f"{', '.join(sorted(shared)[:3])}"
            )
            yield Finding(rule="new_precondition", message=told, severity=Severity.HIGH, field="preconditions")


def entities(content: SkillContent) -> frozenset[str]:
    """The things that a skill works on, by name: files, tables, services, settings, tools beside the shell."""
    texts = [content.description, content.body, *(step.text for step in content.steps)]
    texts += [str(value) for step in content.steps for value in step.arguments.values()]
    found = (quoted or plain for text in texts for quoted, plain in _NAMED.findall(text))
    return frozenset(name.strip("./").casefold() for name in found if not name.startswith("-"))


def _shared(things: frozenset[str], content: SkillContent, other: SkillContent) -> frozenset[str]:
    """What two skills both work on: by name, or else by the words of what they say they are for."""
    named = things & entities(other)
    if named:
        return named
    words = term_set(f"{content.name} {content.description}") & term_set(f"{other.name} {other.description}")
    return words if len(words) >= LEAST_SHARED else frozenset()


def _added(new: SkillContent, before: SkillContent) -> Iterator[str]:
    """Conditions that a revision has and the version before had not."""
    for condition in new.preconditions:
        if not _asks(before, condition.text, check=condition.check):
            yield condition.text
    known = _told(before)
    for demand in _demands(new):
        if text_similarity(demand, known) < 1.0 and not _asks(before, demand):
            yield demand


def _asks(content: SkillContent, text: str, *, check: str = "") -> bool:
    """Whether a skill asks for a condition, in whatever words: a condition, a demand, or a step that sees to it."""
    if check and any(condition.check == check for condition in content.preconditions):
        return True
    wanted = term_set(text)
    said = [*map(_words_of, content.preconditions), *_demands(content), *(step.text for step in content.steps)]
    return any(len(wanted & term_set(each)) >= SAME_SUBJECT * len(wanted) for each in said)


def _words_of(condition: Condition) -> str:
    return f"{condition.text} {condition.check}"


def _demands(content: SkillContent) -> list[str]:
    texts = [content.body, content.description, *(step.text for step in content.steps)]
    return [found.strip() for text in texts for found in _DEMAND.findall(text)]


def _told(content: SkillContent) -> str:
    """What a skill lays down, a sentence each."""
    steps = [step.text for step in content.steps] if content.kind not in _RULES else []
    return "\n".join([content.description, content.body, *steps])


def _other_values(left: SkillContent, right: SkillContent) -> str:
    """Whether two procedures for the same thing fix one argument differently, each without saying in which case."""
    if _says_when(left) or _says_when(right):
        return ""
    alike = max(text_similarity(left.description, right.description), text_similarity(left.name, right.name))
    return contradict(left.steps, right.steps) if alike >= SAME_SUBJECT else ""


def _says_when(content: SkillContent) -> bool:
    return bool(content.cases or content.cues or content.sub_skills)
