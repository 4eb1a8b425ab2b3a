"""Makes a lesson candidate of a wrong assumption: what was assumed, what was true, and what to check first.

Observed text is quoted only in the body, so that no other field depends on it. Every field names the steps that show it. A
risk that did not occur is no mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.skill import Kind, Provenance, SkillContent, filled_fields
from tacit.domain.trajectory import Origin, Span, Trajectory, lowest
from tacit.features.people.ledger_entries import Aspect, Assumption, Held
from tacit.learn.values import FieldOrigins
from tacit.learn.wording import code, shorten, slug
from tacit.text.words import STOP_WORDS

MADE_BY = "tacit.moments/1"
TAG = "assumption"
_MAX_QUOTE = 300
_TASK_MAX = 300
_NAME_WORDS = 5
_FIRST = {
    Aspect.COMPLEXITY: "Count what has to be touched and tried before saying how much work it is.",
    Aspect.APPROACH: "Try this before building on it.",
    Aspect.PREFERENCES: "Ask, or look at how it was done here, before going by this.",
    Aspect.SCOPE: "Look for what else depends on it before saying where the change ends.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The finding about a wrong assumption."""

    instead: str
    """What was true, in words that do not come from an observation."""
    quote: str = ""
    """The quote of an observation or a person."""
    spans: tuple[Span, ...] = ()
    by: Origin = Origin.AGENT
    """The origin of `instead`, where no step shows it."""


def mismatch(assumption: Assumption, found: Mismatch, trajectory: Trajectory) -> Candidate | None:
    """Make a lesson of one difference; nothing where it teaches nothing."""
    assumed, instead = _line(assumption.text), _line(found.instead)
    if assumption.held is not Held.WRONG or assumption.aspect is Aspect.RISK or not assumed or not instead:
        return None
    check = assumption.check.strip()
    first = f"Run {code(shorten(check, _MAX_QUOTE))} first." if check else _FIRST[assumption.aspect]
    quote = f"\n\n> {shorten(found.quote, _MAX_QUOTE)}" if found.quote and found.quote not in instead else ""
    content = SkillContent(
        kind=Kind.LESSON,
        name=slug(["check", *_name_words(assumption.text)]) or "check-what-was-assumed",
        description=f"Assumed: {assumed}. In fact: {instead}. {first}",
        category="assumption",
        tags=(TAG, str(assumption.aspect)),
        example_queries=(shorten(trajectory.task.text, _TASK_MAX),) if trajectory.task.text.strip() else (),
        body=f"**Assumed.** {assumed}.\n\n**In fact.** {instead}.{quote}\n\n**So.** {first}",
    )
    origins, grounding = _grounds(content, assumption, found, trajectory)
    return Candidate(
        content=content,
        scope=trajectory.task.scope,
        origins=origins,
        provenance=Provenance(trajectory_ids=(trajectory.id,), grounding=grounding, made_by=MADE_BY),
        assessment=Assessment(verifier="assumptions", reason=assumption.reason),
    )


def _grounds(
    content: SkillContent, assumption: Assumption, found: Mismatch, trajectory: Trajectory
) -> tuple[dict[str, Origin], dict[str, tuple[Span, ...]]]:
    """Return the origin and spans of each field: only the body, or a quoted person, depends on observed text."""
    field_origins = FieldOrigins(trajectory)
    shown = found.spans or (Span(trajectory.id, -1, "text"),)
    plain = tuple(span for span in found.spans if span.part != "observation")
    repeats = bool(found.quote) and found.quote in found.instead
    for path in filled_fields(content):
        if path == "example_queries.0":
            field_origins.add_spans(path, (Span(trajectory.id, -1, "text"),))
        elif path == "body" or (repeats and path == "description"):
            field_origins.add_spans(path, shown if found.quote else plain)
        else:
            field_origins.add_spans(path, plain)
    written = lowest((assumption.origin, found.by))
    origins = {
        path: field_origins.origins[path] if path == "example_queries.0" else _lowest(written, path, field_origins)
        for path in filled_fields(content)
    }
    grounding = {path: spans for path, spans in field_origins.spans.items() if spans}
    return origins, grounding | ({"evidence": found.spans} if found.spans else {})


def _lowest(written: Origin, path: str, field_origins: FieldOrigins) -> Origin:
    spans: Sequence[Span] = field_origins.spans.get(path, ())
    return lowest((written, *(field_origins.origin_of(span) for span in spans)))


def _line(text: str) -> str:
    return shorten(text, _MAX_QUOTE).rstrip(" .!;")


def _name_words(text: str) -> list[str]:
    words = re.findall(r"[A-Za-z0-9]+", text)
    return [word for word in words if word.lower() not in STOP_WORDS and len(word) > 1][:_NAME_WORDS]
