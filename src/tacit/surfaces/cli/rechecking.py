"""`tacit check --library`: look again at what may be recalled, with today's checks; on a person's word take it out of use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape

from tacit import gate
from tacit.domain.candidate import Finding
from tacit.domain.errors import Refusal
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Stored
from tacit.gate.approvals import BY_ITSELF, Rechecked
from tacit.surfaces.cli.session import Session, clean, counted
from tacit.surfaces.exports import export


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What there was to look at, and what of it is in use in spite of what was found."""

    skills: int
    versions: int
    """More than skills where a version that a newer one replaced could be gone back to."""
    despite: tuple[tuple[Stored, tuple[Finding, ...]], ...]

    @property
    def told(self) -> str:
        """The count in words."""
        replaced = self.versions - self.skills
        beside = f" and {counted(replaced, 'earlier version')} of theirs" if replaced else ""
        return counted(self.skills, "skill") + beside


def recheck(session: Session, *, apply: bool, by: str) -> None:
    """Tell which approvals no longer hold, and why; with `apply` these versions wait for a person again.

    Ends with 3 where something no longer holds and was only told.
    """
    if apply:
        session.caller.require_person("check --apply")
    loop = session.loop
    versions, skills = loop.store.catalogue(statuses=RECALLABLE), len(loop.skills(statuses=RECALLABLE))
    found = loop.recheck(apply=apply, by=session.person(by) if apply else BY_ITSELF)
    leaving = [each for each in found if each.after is not None]
    gone = {each.stored.version.id for each in leaving}
    despite = _in_spite(session, [stored for stored in versions if stored.version.id not in gone])
    looked = _Looked(skills=skills, versions=len(versions), despite=tuple(despite))
    if apply and leaving:
        export(loop)
    document = {
        "skills": skills,
        "looked_at": len(versions),
        "applied": apply,
        "found": [_document(each) for each in found],
        "in_spite_of_findings": [_heavy(stored, findings) for stored, findings in despite],
    }
    session.answer(document, lambda: _show(session, found, looked=looked, apply=apply))
    if leaving and not apply:
        session.end_with(
            Refusal(
                f"{counted(len(leaving), 'approval')} no longer {'hold' if len(leaving) > 1 else 'holds'}",
                hint="tacit check --library --apply takes them out of use until a person decides again",
            )
        )


def _in_spite(session: Session, versions: Sequence[Stored]) -> list[tuple[Stored, tuple[Finding, ...]]]:
    """What may be recalled although something weighs high or more against it: somebody approved it knowingly."""
    seen = ((stored, session.loop.examine(stored.version.id).findings) for stored in versions)
    grave = ((stored, tuple(each for each in findings if gate.is_grave([each]))) for stored, findings in seen)
    return [(stored, findings) for stored, findings in grave if findings]


def _heavy(stored: Stored, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "version_id": stored.version.id,
        "name": stored.version.name,
        "status": stored.status,
        "findings": [{"severity": each.severity, "rule": each.rule, "message": each.message} for each in findings],
    }


def _document(found: Rechecked) -> dict[str, Any]:
    return {
        "version_id": found.stored.version.id,
        "name": found.stored.version.name,
        "status": found.stored.status,
        "after": found.after,
        "reasons": found.reasons,
    }


def _show(session: Session, found: list[Rechecked], *, looked: _Looked, apply: bool) -> None:
    for each in found:
        goes = {True: "is now", False: "would be"}[apply]
        told = f"[yellow]{goes} {each.after}[/yellow]" if each.after else "[dim]stays[/dim]"
        name = escape(clean(each.stored.version.name))
        session.console.print(f"{each.stored.version.id[:10]}  [bold]{name}[/bold]  {told}", soft_wrap=True)
        for reason in each.reasons:
            session.console.print(f"            [dim]{escape(clean(reason))}[/dim]", soft_wrap=True)
    holds = "" if any(each.after for each in found) else ": every approval holds"
    session.console.print(f"Looked at {looked.told}{holds}.")
    if not looked.despite:
        return
    many = counted(len(looked.despite), "version")
    session.console.print(f"[yellow]{many} in use in spite of findings that weigh high or more:[/yellow]")
    for stored, findings in looked.despite:
        more = f"; and {len(findings) - 1} more" if len(findings) > 1 else ""
        told = f"{stored.version.name}  {findings[0].severity}: {findings[0].message}{more}"
        session.console.print(f"  {stored.version.id[:10]}  {escape(clean(told))}", soft_wrap=True)
    session.console.print("[dim]tacit review ID --retire takes one out of use.[/dim]")
