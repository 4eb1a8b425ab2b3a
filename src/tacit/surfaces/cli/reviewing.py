"""`tacit review`: a person decides on what was learned, bound to the exact content and to what was seen of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from contextlib import suppress

import click
from rich.markup import escape

from tacit import render as application
from tacit.domain.errors import GateRefusal, Mistake, StoreOutage
from tacit.domain.lifecycle import Status
from tacit.domain.ports import Stored
from tacit.gate import Review, unticked
from tacit.store import queries as shelf
from tacit.surfaces.cli.deciding import confirmed, go_through
from tacit.surfaces.cli.inspecting import Answer, grave_ones, inspected, place, show_candidate
from tacit.surfaces.cli.session import Session, clean, command_options, counted
from tacit.surfaces.cli.show import others_told, show_others, show_waiting
from tacit.surfaces.cli.telling import meant, tellable
from tacit.surfaces.exports import export

_WAITS = frozenset({Status.CANDIDATE, Status.QUARANTINED})
_OPEN = {Review.APPROVE: _WAITS, Review.RESTORE: frozenset({Status.RETIRED, Status.STALE})}
"""Decisions that let agents see a version, and where it stands before; anything else is refused by the rules themselves."""


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
@click.option(
    "--despite-findings", "despite", is_flag=True, help="Approve it although something weighs high or more against it."
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
    despite: bool,
    **decisions: bool,
) -> None:
    """Decide on what was learned. Without ID: one by one at a terminal, or the list. ID is a name or the beginning of an id.

    With an ID and no decision that one is opened; without a terminal its page is printed. What weighs high or more is asked
    for once more, and hosts, addresses, packages, commands, variables and paths that came from a tool's output, a file or the
    web one by one, before something is approved. A script gives --despite-findings and each --tick, and is refused with the
    lists otherwise.

    Reviewing belongs to a person: it is refused without a terminal and inside an agent's shell, unless TACIT_TOKEN holds
    the token from `tacit config token`.
    """
    decision = _decision(decisions)
    if decision is None:
        _look(session, reference, by=by)
        return
    if reference is None:
        raise Mistake(f"name what to {decision}", hint=f"tacit review ID --{decision}; `tacit review` shows what waits")
    if despite and decision not in _OPEN:
        raise Mistake("--despite-findings belongs to an approval", hint="leave it away")
    session.caller.require_person("review")
    stored = session.loop.version(_newest_waiting(session, reference))
    seen = content_hash in ("", stored.version.hash)  # what was not seen is refused below
    if seen and stored.status in _OPEN.get(decision, ()):
        ticked = _opened(session, stored, decision, ticked=ticked, despite=despite)
    person = session.person(by)
    if stored.status in _WAITS:
        with suppress(StoreOutage):  # earlier decisions that cannot be read stop no new one
            session.loop.people.show(stored, person, told=False)
    moved = session.loop.review(
        stored.version.id, decision, by=person, reason=reason, content_hash=content_hash, ticked=ticked
    )
    export(session.loop)
    others = shelf.namesakes(session.loop.store, stored) if reference == stored.version.name else []

    def show() -> None:
        session.console.print(f"[bold]{escape(clean(stored.version.name))}[/bold]: {moved.before} → {moved.after}")
        show_others(session.console, others)

    told = {"version_id": moved.version_id, "before": moved.before, "after": moved.after, "by": moved.by}
    session.answer(told | {"others": others_told(others)}, show)


def _look(session: Session, reference: str | None, *, by: str) -> None:
    """Go through what waits, or through one of it; where nobody can be asked, tell it."""
    asks = session.caller.is_person and session.caller.at_terminal and not session.as_json
    if reference is None:
        waiting = tellable(session, session.loop.waiting())
        if asks and waiting:
            go_through(session, waiting, by=session.person(by))
            return
        document = {"waiting": [_document(session, stored) for stored in waiting]}
        session.answer(document, lambda: show_waiting(session, waiting))
        return
    stored = meant(session, _newest_waiting(session, reference))
    if asks and stored.status in _WAITS:
        go_through(session, [stored], by=session.person(by))
        return

    def show() -> None:
        show_candidate(session, stored)
        session.console.print(f"It is [bold]{stored.status}[/bold]. A person decides: tacit review ID, in a terminal.")

    session.answer(_document(session, stored), show)


def _opened(
    session: Session, stored: Stored, decision: Review, *, ticked: tuple[str, ...], despite: bool
) -> tuple[str, ...]:
    """What was ticked, once all is confirmed that lets agents see a version: by a person, or in a script by its options."""
    if session.as_json or not session.caller.at_terminal:
        _require_despite(session, stored, ticked=ticked, despite=despite)
        return ticked
    show_candidate(session, stored)
    if decision is Review.RESTORE:  # what was ticked before need not be again
        known = {key for approval in session.loop.store.approvals(stored.version.id) for key in approval.ticked}
        asked = {literal.key for literal in session.loop.examine(stored.version.id).literals}
        ticked = (*ticked, *sorted((known & asked) - set(ticked)))
    said, given = confirmed(session, stored, ticked=ticked, despite=despite)
    if said is not Answer.YES:
        raise GateRefusal(
            f"`{stored.version.name}` was not approved",
            hint=f"edit it, or turn it down: tacit review {stored.version.id[:10]} --reject",
        )
    return given


def _require_despite(session: Session, stored: Stored, *, ticked: Collection[str], despite: bool) -> None:
    """Refuse a script that does not say that it knows what was found, with all of it; then comes what must be ticked."""
    examination = session.loop.examine(stored.version.id)
    grave = grave_ones(session, stored, examination)
    if despite or not grave:
        return
    content = stored.version.content
    lines = [f"`{stored.version.name}` has {counted(len(grave), 'finding')} that a careful person would refuse:"]
    lines += [
        f"  {each.severity}: {each.message}" + (f" ({place(each, content)})" if each.field else "") for each in grave
    ]
    literals = unticked(examination, ticked)
    if literals:
        lines.append("and from outside, each to be ticked by itself:")
        lines += [f"  {literal.key}  in {literal.field}" for literal in literals]
    short = stored.version.id[:10]
    raise GateRefusal(
        "\n".join(lines),
        hint=f"read it (tacit review {short}) and turn it down; only who knows better gives --despite-findings",
    )


def _decision(flags: Mapping[str, bool]) -> Review | None:
    chosen = [Review(name) for name, given in flags.items() if given]
    if len(chosen) > 1:
        raise Mistake(f"one decision at a time, not {' and '.join(chosen)}", hint="give one of them")
    return chosen[0] if chosen else None


def _newest_waiting(session: Session, reference: str) -> str:
    """A name means the version of it that waits, if one does; anything else is taken as it is."""
    waiting = [stored for stored in session.loop.waiting() if stored.version.name == reference]
    return shelf.meant_by(waiting).version.id if waiting else reference


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
