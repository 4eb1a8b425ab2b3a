"""`tacit check --library`: look again at what may be recalled, with today's checks; on a person's word take it out of use."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from tacit.domain.errors import Refusal
from tacit.domain.lifecycle import RECALLABLE
from tacit.surfaces.cli.session import Session, clean, counted
from tacit.surfaces.exports import export
from tacit.trusting import BY_ITSELF, Rechecked


def recheck(session: Session, *, apply: bool, by: str) -> None:
    """Tell which approvals no longer hold, and why; with `apply` these versions wait for a person again.

    Ends with 3 where something no longer holds and was only told.
    """
    if apply:
        session.caller.require_person("check --apply")
    loop = session.loop
    looked = len(loop.store.catalogue(statuses=RECALLABLE))
    found = loop.recheck(apply=apply, by=session.person(by) if apply else BY_ITSELF)
    leaving = [each for each in found if each.after is not None]
    if apply and leaving:
        export(loop)
    document = {"looked_at": looked, "applied": apply, "found": [_document(each) for each in found]}
    session.answer(document, lambda: _show(session, found, looked=looked, apply=apply))
    if leaving and not apply:
        session.end_with(
            Refusal(
                f"{counted(len(leaving), 'approval')} no longer {'hold' if len(leaving) > 1 else 'holds'}",
                hint="tacit check --library --apply takes them out of use until a person decides again",
            )
        )


def _document(found: Rechecked) -> dict[str, Any]:
    return {
        "version_id": found.stored.version.id,
        "name": found.stored.version.name,
        "status": found.stored.status,
        "after": found.after,
        "reasons": found.reasons,
    }


def _show(session: Session, found: list[Rechecked], *, looked: int, apply: bool) -> None:
    for each in found:
        goes = {True: "is now", False: "would be"}[apply]
        told = f"[yellow]{goes} {each.after}[/yellow]" if each.after else "[dim]stays[/dim]"
        name = escape(clean(each.stored.version.name))
        session.console.print(f"{each.stored.version.id[:10]}  [bold]{name}[/bold]  {told}", soft_wrap=True)
        for reason in each.reasons:
            session.console.print(f"            [dim]{escape(clean(reason))}[/dim]", soft_wrap=True)
    if not found:
        session.console.print(f"{counted(looked, 'recallable version')}: every approval holds.")
