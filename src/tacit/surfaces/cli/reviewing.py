"""`tacit review`: a person decides on what was learned, bound to the exact content and to what was seen of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import click
from rich.markup import escape

from tacit import application
from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.ports import Stored
from tacit.gate import Review, is_grave
from tacit.surfaces.cli.inspecting import ask_for_ticks, inspected, show_candidate, show_findings
from tacit.surfaces.cli.session import Session, clean, command_options
from tacit.surfaces.cli.show import show_diff, show_waiting, whole_text
from tacit.surfaces.cli.skills import edit_version
from tacit.surfaces.exports import export


@click.command()
@click.argument("reference", required=False, metavar="[ID]")
@click.option("--approve", is_flag=True, help="Let it be recalled, on trial.")
@click.option("--reject", is_flag=True, help="Turn it down.")
@click.option("--retire", is_flag=True, help="Take it out of use; it can be restored.")
@click.option("--restore", is_flag=True, help="Bring a retired one back, on trial.")
@click.option("--reopen", is_flag=True, help="Undo a decision: back to candidate.")
@click.option("--by", default="", help="Your name, kept with the decision.")
@click.option("--reason", default="", help="Why, kept with the decision.")
@click.option("--hash", "content_hash", default="", help="Decide only if the content still has this hash.")
@click.option(
    "--tick",
    "ticked",
    multiple=True,
    metavar="KEY",
    help="Something from outside that you have looked at, such as host:api.example.com (may be repeated).",
)
@command_options
def review(
    session: Session,
    *,
    reference: str | None,
    by: str,
    reason: str,
    content_hash: str,
    ticked: tuple[str, ...],
    **decisions: bool,
) -> None:
    """Decide on what was learned. Without ID: one by one at a terminal, or the list with --json.

    Hosts, addresses, packages, commands, variables and paths that came from a tool's output, a file or the web are asked for
    one by one before something is approved; a script gives each with --tick, and is refused with the list otherwise.

    Reviewing belongs to a person: it is refused without a terminal and inside an agent's shell, unless TACIT_TOKEN holds
    the token from `tacit config token`.
    """
    decision = _decision(decisions)
    if reference is None and decision is None:
        if session.as_json or not session.caller.is_person:
            waiting = session.loop.waiting()
            session.answer(
                {"waiting": [_document(session, stored) for stored in waiting]}, lambda: show_waiting(session, waiting)
            )
            return
        _interactive(session, by=by)
        return
    if reference is None or decision is None:
        raise Mistake("give both an ID and a decision", hint="tacit review ID --approve --by NAME")
    session.caller.require_person("review")
    stored = session.loop.version(_newest_waiting(session, reference))
    seen = content_hash in ("", stored.version.hash)  # what was not seen is refused below
    if decision is Review.APPROVE and not ticked and seen and session.caller.at_terminal and not session.as_json:
        ticked = _asked(session, stored)
    moved = session.loop.review(
        stored.version.id, decision, by=session.person(by), reason=reason, content_hash=content_hash, ticked=ticked
    )
    export(session.loop)
    session.answer(
        {"version_id": moved.version_id, "before": moved.before, "after": moved.after, "by": moved.by},
        lambda: session.console.print(
            f"[bold]{escape(clean(stored.version.name))}[/bold]: {moved.before} → {moved.after}"
        ),
    )


def _asked(session: Session, stored: Stored) -> tuple[str, ...]:
    """The ticks of a person at a terminal; without all of them nothing is approved."""
    ticked = ask_for_ticks(session, stored, session.loop.examine(stored.version.id).literals)
    if ticked is None:
        raise GateRefusal(f"`{stored.version.name}` was not approved", hint="edit it, or reject it: tacit review")
    return ticked


def _decision(flags: Mapping[str, bool]) -> Review | None:
    chosen = [Review(name) for name, given in flags.items() if given]
    if len(chosen) > 1:
        raise Mistake(f"one decision at a time, not {' and '.join(chosen)}", hint="give one of them")
    return chosen[0] if chosen else None


def _newest_waiting(session: Session, reference: str) -> str:
    """A name means the version of it that waits, if one does; anything else is taken as it is."""
    waiting = [stored for stored in session.loop.waiting() if stored.version.name == reference]
    return waiting[-1].version.id if waiting else reference


def _interactive(session: Session, *, by: str) -> None:
    waiting = session.loop.waiting()
    if not waiting:
        session.console.print("Nothing waits for review.")
        return
    by = session.person(by)
    for count, stored in enumerate(waiting, start=1):
        session.console.rule(f"{count} of {len(waiting)}")
        show_candidate(session, stored)
        choice = click.prompt(
            "[a]pprove  [r]eject  [e]dit  [s]kip  [q]uit", type=click.Choice(list("aresq")), show_choices=False
        )
        if choice == "q":
            return
        if choice != "s":
            _carry_out(session, stored, choice, by=by)


def _carry_out(session: Session, stored: Stored, choice: str, *, by: str) -> None:
    if choice == "e":
        edited = edit_version(session, stored, by=by)
        if edited is not None:
            show_diff(session.console, whole_text(stored.version.content), whole_text(edited.version.content))
            show_findings(session.console, session.loop.examine(edited.version.id).findings, edited.version.content)
        if edited is None or not click.confirm("Approve your edit?"):
            session.console.print("It still waits.")
            return
        stored = edited
    decision = Review.REJECT if choice == "r" else Review.APPROVE
    reason = click.prompt("Why", default="", show_default=False) if choice == "r" else ""
    ticked = _confirmed(session, stored) if decision is Review.APPROVE else ()
    if ticked is None:
        return
    version = stored.version
    moved = session.loop.review(version.id, decision, by=by, reason=reason, content_hash=version.hash, ticked=ticked)
    export(session.loop)
    session.console.print(f"[bold]{escape(clean(stored.version.name))}[/bold] is now {moved.after}")


def _confirmed(session: Session, stored: Stored) -> tuple[str, ...] | None:
    """The ticks that an approval needs, once more asked for where something grave was found; nothing: not approved."""
    examination = session.loop.examine(stored.version.id)
    if is_grave(examination.findings) and not click.confirm("Approve it in spite of what was found?", default=False):
        session.console.print("It still waits.")
        return None
    return ask_for_ticks(session, stored, examination.literals)


def _document(session: Session, stored: Stored) -> dict[str, object]:
    content = stored.version.content
    return {
        "version_id": stored.version.id,
        "skill_id": stored.skill.id,
        "name": content.name,
        "kind": content.kind,
        "description": content.description,
        "status": stored.status,
        "content_hash": stored.version.hash,
        "lowest_origin": stored.version.lowest_origin,
        "parents": stored.version.parents,
        "skill_md": application.render(content),
        "content": dataclasses.replace(content, files=()),
        "files": content.files,
        **inspected(session, stored),
    }
