"""`tacit record` and `tacit feedback`: what came of a use."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape

from tacit.domain.errors import Mistake, NotFound, NotPermitted
from tacit.domain.evidence import Evidence, Grade, Outcome
from tacit.outcome import Command
from tacit.surfaces.cli.session import Session, clean, command_options
from tacit.text.exit_status import masks_exit
from tacit.text.shell import is_check


@click.command()
@click.argument("use_id")
@click.option(
    "--outcome",
    type=click.Choice([o.value for o in Outcome if o is not Outcome.UNKNOWN]),
    help="How it ended, on your word.",
)
@click.option("--verify", "check", metavar="COMMAND", help="Run this check now; its exit status is the outcome.")
@click.option(
    "--timeout", "timeout_s", type=click.IntRange(1, 86_400), default=600, help="Limit for the check, seconds."
)
@click.option(
    "--followed", multiple=True, metavar="VERSION", help="A version the run really followed (may be repeated)."
)
@click.option("--by", default="", help="Who says so.")
@command_options
def record(session: Session, *, use_id: str, outcome: str | None, check: str | None, **options: Any) -> None:
    """Say what came of the use USE_ID (printed by `tacit recall`).

    With --verify the check is run here and the outcome is machine-verified. On a person's word at a terminal it is
    human-verified; from anywhere else it is a self-report, which can lower a rank but never raise it.
    """
    if (outcome is None) == (check is None):
        raise Mistake("give either --outcome or --verify", hint="--verify 'pytest -q' counts more than anybody's word")
    use = _use(session, use_id)
    if check and session.surroundings.agent_markers and not session.caller.is_person:
        _require_real_check(session, use, check)
    verifier = Command(check, timeout_s=options["timeout_s"]) if check else None
    kept = session.loop.record(
        use,
        outcome=outcome,
        verifier=verifier,
        followed=[session.loop.version(reference).version.id for reference in options["followed"]] or None,
        by=options["by"] or session.surroundings.user or "unknown",
        grade=_grade(session),
    )
    session.answer({"evidence": kept}, lambda: _show(session, kept))


@click.command()
@click.argument("use_id")
@click.option("--helpful/--not-helpful", required=True, help="Whether what was shown helped.")
@click.option("--note", default="", help="Why.")
@click.option("--by", default="", help="Who says so.")
@command_options
def feedback(session: Session, *, use_id: str, helpful: bool, note: str, by: str) -> None:
    """Say whether what was shown in the use USE_ID helped."""
    by = by or session.surroundings.user
    kept = session.loop.feedback(_use(session, use_id), helpful=helpful, note=note, by=by, grade=_grade(session))
    session.answer({"evidence": kept}, lambda: _show(session, kept))


def _use(session: Session, reference: str) -> str:
    found = [identity for identity in session.loop.store.resolve(reference) if identity.startswith("u_")]
    if len(found) > 1:
        raise Mistake(f"{reference!r} is ambiguous: {', '.join(found[:5])}", hint="give more characters of the id")
    if not found:
        raise NotFound(f"no use {reference!r}", hint="`tacit recall` prints the use id of what it gave")
    return found[0]


def _require_real_check(session: Session, use_id: str, check: str) -> None:
    """An agent may not choose a check that proves nothing: it must be a skill's own postcondition, or a test, build or lint."""
    store = session.loop.store
    contents = [store.version(version_id).version.content for version_id in store.use(use_id).version_ids]
    own = {condition.check for content in contents for condition in content.postconditions}
    if check not in own and (not is_check(check) or masks_exit(check)):
        raise NotPermitted(
            f"`{check}` proves nothing about the work, and this shell belongs to an agent",
            hint=f"use the skill's own check: {', '.join(sorted(own - {''})) or 'a test, build or linter command'}",
        )


def _grade(session: Session) -> Grade:
    return Grade.HUMAN if session.caller.is_person else Grade.SELF


def _show(session: Session, kept: list[Evidence]) -> None:
    for item in kept:
        known = session.loop.reliability(item.version_id)
        name = escape(clean(session.loop.store.version(item.version_id).version.name))
        told = f"{known.low:.0%} to {known.high:.0%}" if known.known else "not known yet"
        session.console.print(f"{item.outcome} ({item.grade}) for [bold]{name}[/bold]; reliability now: {told}")
