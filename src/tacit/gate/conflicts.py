"""Conflicts between skills: two that cannot both be followed, and a new precondition that a related skill lacks. Pure.

Checked when a candidate comes in, and again by maintenance. It does not decide which side is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tacit.domain.candidate import Candidate, Finding
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import STATED_KINDS, Condition, Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.gate.duplicates import contradicting_argument, fixed_of
from tacit.gate.findings import finding
from tacit.text.near_duplicates import text_similarity
from tacit.text.words import term_set

SAME_SUBJECT = 0.6
"""Procedures that share this part of the words of their names or descriptions are for the same thing. Set by hand."""
LEAST_SHARED = 2
"""Words of the subject that two skills without a common name must share."""

_NAMED = re.compile(
    r"`([^`\n]{2,80})`|(?<![\w/])((?:[\w.-]+/)+[\w.-]+|[\w-]+\.[a-z]{2,5}\b|[A-Z][A-Z0-9_]{2,}|\w+_\w+|[a-z]+[A-Z]\w+)"
)
_DEMAND = re.compile(
    r"[^.;\n]*\b(?:requires?|must (?:first|be|have|already)|needs? (?:to|a|an|the)|only (?:after|if|when|once)|make sure|"
    r"ensure|before (?:you|any|running|doing|deploying|starting))\b[^.;\n]*",
    re.IGNORECASE,
)
"""How prose states that something must hold first."""


def disagreement(left: SkillContent, right: SkillContent) -> str:
    """Return why two skills cannot both be followed; empty where they can."""
    if left.kind is Kind.REFERENCE or right.kind is Kind.REFERENCE:
        return ""
    if Kind.PROCEDURE is left.kind is right.kind:
        return _conflicting_arguments(left, right)
    from tacit.text.opposition import opposed  # only where there are rules; most commands compare none

    return opposed(_rules_text(left), _rules_text(right))


def fixed_arguments(content: SkillContent) -> frozenset[tuple[str, str]]:
    """Return the tools and arguments that a procedure fixes for every task; none where it applies to certain cases only."""
    if content.kind is not Kind.PROCEDURE or _applies_to_cases(content):
        return frozenset()
    return frozenset((step.tool, name) for step in content.steps for name in fixed_of(step))


def disagreements(candidate: Candidate, others: Iterable[StoredVersion]) -> Iterator[Finding]:
    """Yield the recallable skills that a candidate contradicts; other versions of its own skill do not count."""
    for stored in others:
        if stored.skill.id == candidate.revises or stored.status not in RECALLABLE:
            continue
        if why := disagreement(candidate.content, stored.version.content):
            yield finding("contradicts", field="description", name=stored.version.name, why=why)


def interference(
    candidate: Candidate, own: Sequence[StoredVersion], others: Iterable[StoredVersion]
) -> Iterator[Finding]:
    """Yield the skills that work on the same things as a revision and lack a precondition that it adds.

    The revision shows that something must hold first. A skill that works on the same things without that condition may
    fail, so the revision is quarantined until a person has looked at both.
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
        lacking = [condition for condition in added if not _states_condition(content, condition)]
        if shared and lacking:
            yield finding(
                "new_precondition",
                field="preconditions",
                condition=lacking[0][:120],
                name=stored.version.name,
                shared=", ".join(sorted(shared)[:3]),
            )


def entities(content: SkillContent) -> frozenset[str]:
    """Return the names of what a skill works on: files, tables, services, settings, tools."""
    texts = [content.description, content.body, *(step.text for step in content.steps)]
    texts += [str(value) for step in content.steps for value in step.arguments.values()]
    found = (quoted or plain for text in texts for quoted, plain in _NAMED.findall(text))
    return frozenset(name.strip("./").casefold() for name in found if not name.startswith("-"))


def _shared(things: frozenset[str], content: SkillContent, other: SkillContent) -> frozenset[str]:
    """Return what two skills both work on: common names, or else common words of their subjects."""
    named = things & entities(other)
    if named:
        return named
    words = term_set(f"{content.name} {content.description}") & term_set(f"{other.name} {other.description}")
    return words if len(words) >= LEAST_SHARED else frozenset()


def _added(new: SkillContent, before: SkillContent) -> Iterator[str]:
    """Yield the conditions that a revision adds."""
    for condition in new.preconditions:
        if not _states_condition(before, condition.text, check=condition.check):
            yield condition.text
    known = _rules_text(before)
    for demand in _demands(new):
        if text_similarity(demand, known) < 1.0 and not _states_condition(before, demand):
            yield demand


def _states_condition(content: SkillContent, text: str, *, check: str = "") -> bool:
    """Whether a skill already has a condition in some words: as a precondition, a demand or a step."""
    if check and any(condition.check == check for condition in content.preconditions):
        return True
    wanted = term_set(text)
    stated = [*map(_condition_text, content.preconditions), *_demands(content), *(step.text for step in content.steps)]
    return any(len(wanted & term_set(each)) >= SAME_SUBJECT * len(wanted) for each in stated)


def _condition_text(condition: Condition) -> str:
    return f"{condition.text} {condition.check}"


def _demands(content: SkillContent) -> list[str]:
    texts = [content.body, content.description, *(step.text for step in content.steps)]
    return [found.strip() for text in texts for found in _DEMAND.findall(text)]


def _rules_text(content: SkillContent) -> str:
    """Return the sentences in which a skill states its rules."""
    steps = [step.text for step in content.steps] if content.kind not in STATED_KINDS else []
    return "\n".join([content.description, content.body, *steps])


def _conflicting_arguments(left: SkillContent, right: SkillContent) -> str:
    """Return how two procedures for the same thing fix one argument differently in every case; empty where they do not."""
    if _applies_to_cases(left) or _applies_to_cases(right):
        return ""
    alike = max(text_similarity(left.description, right.description), text_similarity(left.name, right.name))
    return contradicting_argument(left.steps, right.steps) if alike >= SAME_SUBJECT else ""


def _applies_to_cases(content: SkillContent) -> bool:
    return bool(content.cases or content.cues or content.sub_skills)
