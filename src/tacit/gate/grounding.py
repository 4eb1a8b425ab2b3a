"""The grounding rule: does what was learned rest on what was done, and does it give standing orders? → findings. Pure.

A step of a learned skill points at actions in attempts. A line such as "always" or "regardless of" binds an agent beyond the
task at hand. Both are marked for the reviewer, and keep policy alone from letting a version in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tacit.domain.candidate import Finding, Severity
from tacit.domain.origin import Origin
from tacit.domain.skill import Provenance, SkillContent
from tacit.gate.origins import origin_at
from tacit.text.touches import field_texts

LEARNED = "tacit."
"""Who makes a skill from attempts has a name that begins so."""
TELLING = ("steps", "body", "pitfalls", "preconditions", "postconditions", "cases")
"""Fields that tell an agent what to do, or when."""
MARKED_MAX = 8
"""Standing orders that are named of one skill; the first ones say it all."""
_EXCERPT_MAX = 160
_STANDING = re.compile(
    r"\b(?:always|never|regardless|no matter (?:what|which|who|how)|under (?:no|any|all) circumstances?|at all times"
    r"|in (?:all|every) cases?|without exceptions?|from now on|(?:each|every) (?:single )?time"
    r"|every (?:task|session|request)|(?:after|for) (?:each|every|any) (?:task|session|request)"
    r"|before (?:finali[sz]ing|finishing|you finish|completing|the final))\b",
    re.IGNORECASE,
)
_ASKED = "example_queries"


def is_learned(provenance: Provenance) -> bool:
    """Whether Tacit made it from attempts."""
    return provenance.made_by.startswith(LEARNED)


def ungrounded(content: SkillContent, provenance: Provenance) -> Iterator[Finding]:
    """Name the steps of a learned skill that point at nothing that was done."""
    if not is_learned(provenance):
        return
    for number, step in enumerate(content.steps):
        if not spans_of(provenance, f"steps.{number}"):
            message = f"step {number + 1} rests on nothing that was done in any attempt: {step.text[:80]}"
            yield Finding(rule="ungrounded_step", message=message, severity=Severity.MEDIUM, field=f"steps.{number}")


def standing_orders(content: SkillContent, origins: Mapping[str, Origin], provenance: Provenance) -> Iterator[Finding]:
    """Name the lines that bind beyond the task, but for what a person wrote by themselves."""
    learned, marked = is_learned(provenance), 0
    for path, text in field_texts(content):
        written = origin_at(origins, path).rank >= Origin.USER.rank
        if written and (not learned or path.startswith(_ASKED)):
            continue
        for match in _STANDING.finditer(text):
            start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
            line = text[start : end if end >= 0 else len(text)].strip()[:_EXCERPT_MAX]
            yield Finding(
                rule="standing_order",
                message=f"{path} gives a standing order (“{match.group()}”)",
                severity=Severity.MEDIUM,
                field=path,
                line=text.count("\n", 0, match.start()) + 1,
                start=match.start(),
                end=match.end(),
                excerpt=line,
            )
            marked += 1
            if marked == MARKED_MAX:
                return


def backing(content: SkillContent, provenance: Provenance) -> Iterator[tuple[str, frozenset[str]]]:
    """Every field that tells an agent what to do, with the attempts it rests on."""
    for name in TELLING:
        value = getattr(content, name)
        paths = [f"{name}.{number}" for number in range(len(value))] if isinstance(value, tuple) else [name]
        for path in paths if value else ():
            yield path, spans_of(provenance, path)


def spans_of(provenance: Provenance, path: str) -> frozenset[str]:
    """The attempts that a field, or a part of it, rests on."""
    return frozenset(
        span.trajectory_id
        for name, spans in provenance.grounding.items()
        if name == path or name.startswith(f"{path}.")
        for span in spans
    )
