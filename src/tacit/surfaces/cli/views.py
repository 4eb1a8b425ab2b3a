"""How skills are shown to people: in one line, by status and results, whole, or as a difference."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.syntax import Syntax

from tacit import render
from tacit.domain.candidate import GateDecision, Relation, Verdict
from tacit.domain.evidence import Evidence, Reliability
from tacit.domain.identity import digest
from tacit.domain.lifecycle import Transition
from tacit.domain.scope import Level
from tacit.domain.skill import Provenance, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.maintain.reason_text import stored_reason
from tacit.render.skill_md import MARKER, PREFIX
from tacit.surfaces.cli.report import Column, Columns, clean, fields, one_line, safe

STATUS_STYLE = {
    "candidate": "yellow",
    "quarantined": "red",
    "rejected": "dim",
    "trial": "cyan",
    "trusted": "green",
    "stale": "magenta",
    "retired": "dim",
    "static": "blue",
}
DECISION_TEXT = {
    "accept": "approved (on trial)",
    "hold": "waiting for review",
    "quarantine": "quarantined, waiting for review",
    "reject": "rejected",
}
"""What a decision of the gate means for the reader."""
_CUES_HEADING = "===== words of a task that count for it, or, if negative, against it ====="
_FRONT_MATTER = re.compile(r"^---\n(.*?)^---\n", re.MULTILINE | re.DOTALL)
_IN_HEADING = ("name:", "description:", "metadata:", f"  {PREFIX}kind:")
_NO_SCOPES: Mapping[str, Sequence[str]] = {}
NAMESAKES: Columns[StoredVersion] = Columns(
    Column("version_id", lambda stored: stored.version.id),
    Column("scope", lambda stored: str(stored.skill.scope)),
    Column("status", lambda stored: stored.status),
)
"""Other skills of the same name."""


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Return the gate's verdict on a proposal."""
    proposed = verdict.decision is not GateDecision.REJECT
    return {"proposed": proposed, **fields(verdict, "decision", "relation", "name", "version_id", "findings")}


def namesake_lines(others: Sequence[StoredVersion]) -> Iterator[str]:
    """Yield the other skills of the same name, and how to name them."""
    for stored in others:
        line = f"same name at {stored.skill.scope}: {stored.version.id[:10]}, {stored.status}"
        yield f"[dim]{safe(line)}; use its id to name it[/dim]"


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the gate's verdict on a proposal."""
    known = verdict.relation is Relation.REINFORCE
    name = safe(verdict.name)
    yield f"[bold]{name}[/bold]: {'already known' if known else DECISION_TEXT[verdict.decision]}"
    for finding in verdict.findings:
        yield f"[dim]{finding.severity}: {safe(finding.message)}[/dim]"
    if not known and verdict.decision in (GateDecision.HOLD, GateDecision.QUARANTINE):
        yield f"Waiting for review. Run `tacit review {name}`."


def maker(provenance: Provenance) -> str:
    """Return who made it, and which model worded it."""
    worded = f", worded by {provenance.model} ({provenance.prompt_version})" if provenance.model else ""
    return (provenance.made_by or "unknown") + worded


def status_lines(
    stored: StoredVersion, known: Reliability, life: Sequence[Transition], evidence: Sequence[Evidence], elsewhere: str
) -> Iterator[str]:
    """Yield a version's id, status, reliability, status changes and results."""
    yield f"[dim]{stored.version.id}  {stored.status}  {safe(str(stored.skill.scope))}  {stored.version.hash}[/dim]"
    yield f"[dim]made by {safe(maker(stored.version.provenance))}[/dim]"
    yield reliability_text(known).capitalize()
    if elsewhere:
        yield f"[dim]promoted: {safe(elsewhere)}[/dim]"
    for move in life:
        yield f"[dim]{move.at:%Y-%m-%d %H:%M}  {move.before or 'created'} → {move.after}  by {safe(move.by)}[/dim]"
    for item in evidence:
        source = safe(one_line(" ".join(filter(None, (item.verifier, item.note))), 60))
        result = f"{item.outcome}, {item.grade}  {source}  by {safe(item.by or 'unknown')}"
        yield f"[dim]{item.at:%Y-%m-%d %H:%M}  {result}[/dim]"


def skill_lines(
    rows: Sequence[tuple[StoredVersion, Reliability]], *, width: int, also: Mapping[str, Sequence[str]] = _NO_SCOPES
) -> Iterator[str]:
    """Yield skills, two lines each, so that names fit a narrow terminal; `also` is version → further scopes."""
    for stored, known in rows:
        content, style = stored.version.content, STATUS_STYLE[stored.status]
        whose = f" of {safe(content.person)}" if content.person else ""
        scope = stored.skill.scope
        where = "" if scope.level is Level.PROJECT else f"  [magenta]{safe(str(scope))}[/magenta]"
        if further := also.get(stored.version.id):
            where += f"  [magenta]also at {safe(', '.join(further))}[/magenta]"
        yield (
            f"{stored.version.id[:10]}  [bold]{safe(content.name)}[/bold]  {content.kind}{whose}  "
            f"[{style}]{stored.status}[/{style}]{where}  [dim]{reliability_text(known)}[/dim]"
        )
        yield f"            [dim]{safe(one_line(content.description, max(40, width - 14)))}[/dim]"


def reliability_text(known: Reliability) -> str:
    """Return a count and its interval as text; the interval differs from the mean because later results weigh more."""
    if not known.known:
        return "reliability unknown"
    return f"{known.worked:g} of {known.votes} verified uses worked; reliability {known.low:.0%} to {known.high:.0%}"


def known_reliability(known: Reliability) -> dict[str, Any] | None:
    """Return an interval with its counts; None where too little is verified."""
    return reliability_fields(known) if known.known else None


def reliability_fields(known: Reliability) -> dict[str, Any]:
    """Return all figures of a reliability, known or not."""
    return {
        "known": known.known,
        "low": round(known.low, 4),
        "high": round(known.high, 4),
        **fields(known, "votes", "worked"),
        "successes": round(known.successes, 4),
        "trials": round(known.trials, 4),
        "self_reported": known.self_reported,
    }


def whole_text(content: SkillContent) -> str:
    """Return everything that an approval covers: the SKILL.md, each cue on its own line, and every bundled file.

    One cue per line, so that a diff shows which word changed.
    """
    parts = [render.render(dataclasses.replace(content, cues=()))]
    if content.cues:
        cues = sorted(content.cues, key=lambda cue: (cue.term, cue.weight))
        parts.append("\n".join([_CUES_HEADING, *(f"{cue.term or '(without any)'}: {cue.weight:.4g}" for cue in cues)]))
    for file in content.files:
        mode = " (executable)" if file.executable else ""
        text = file.content if file.encoding == "utf-8" else f"binary, {digest(file.content)}"
        parts.append(f"===== {file.path}{mode} =====\n{text}")
    return "\n".join(parts)


def skill_page(content: SkillContent) -> Group:
    """Return everything that an approval covers: name and description, the text, and then the other fields."""
    _, front, text = _FRONT_MATTER.split(clean(whole_text(content)), maxsplit=1)
    rest = (line for line in front.splitlines() if not line.startswith(_IN_HEADING))
    others = "\n".join(line.strip().removeprefix(PREFIX) for line in rest)
    return Group(
        f"[bold]{safe(content.name)}[/bold] ({content.kind}): {safe(content.description)}",
        Syntax(text.replace(MARKER, "", 1).strip(), "markdown", background_color="default", word_wrap=True),
        *([f"[dim]{escape(others)}[/dim]"] if others else []),
    )


def difference(before: SkillContent, after: SkillContent) -> str:
    """Return a unified diff of two skills."""
    old, new = (whole_text(content).splitlines() for content in (before, after))
    return "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm=""))


def colored_difference(before: SkillContent, after: SkillContent) -> Syntax:
    """Return a unified diff of two skills in colour."""
    text = clean(difference(before, after)) or "no difference"
    return Syntax(text, "diff", background_color="default", word_wrap=True)


def move_lines(name: str, moves: Sequence[Transition]) -> Iterator[str]:
    """Yield changes of a skill's status, with their reasons."""
    for move in moves:
        line = f"[bold]{safe(name)}[/bold] {move.version_id[:10]}: {move.before} → {move.after}"
        yield f"{line}  [dim]{safe(stored_reason(move.reason))}[/dim]"
