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
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted
from tacit.surfaces.cli.review_page import Answer, grave_ones, inspected, place, show_candidate
from tacit.surfaces.cli.review_session import confirmed, go_through
from tacit.surfaces.cli.views import others_told, show_others, show_waiting
from tacit.surfaces.cli.visibility import meant, tellable
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
    ctx: CommandContext,
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
        _look(ctx, reference, by=by)
        return
    if reference is None:
        raise Mistake(f"name what to {decision}", hint=f"tacit review ID --{decision}; `tacit review` shows what waits")
    if despite and decision not in _OPEN:
        raise Mistake("--despite-findings belongs to an approval", hint="leave it away")
    ctx.caller.require_person("review")
    stored = ctx.memory.version(_newest_waiting(ctx, reference))
    seen = content_hash in ("", stored.version.hash)  # what was not seen is refused below
    if seen and stored.status in _OPEN.get(decision, ()):
        ticked = _opened(ctx, stored, decision, ticked=ticked, despite=despite)
    person = ctx.person(by)
    if stored.status in _WAITS:
        with suppress(StoreOutage):  # earlier decisions that cannot be read stop no new one
            ctx.memory.people.show(stored, person, told=False)
    moved = ctx.memory.review(
        stored.version.id, decision, by=person, reason=reason, content_hash=content_hash, ticked=ticked
    )
    export(ctx.memory)
    others = shelf.namesakes(ctx.memory.store, stored) if reference == stored.version.name else []

    def show() -> None:
        ctx.console.print(f"[bold]{escape(clean(stored.version.name))}[/bold]: {moved.before} → {moved.after}")
        show_others(ctx.console, others)

    told = {"version_id": moved.version_id, "before": moved.before, "after": moved.after, "by": moved.by}
    ctx.answer(told | {"others": others_told(others)}, show)


def _look(ctx: CommandContext, reference: str | None, *, by: str) -> None:
    """Go through what waits, or through one of it; where nobody can be asked, tell it."""
    asks = ctx.caller.is_person and ctx.caller.at_terminal and not ctx.as_json
    if reference is None:
        waiting = tellable(ctx, ctx.memory.waiting())
        if asks and waiting:
            go_through(ctx, waiting, by=ctx.person(by))
            return
        document = {"waiting": [_document(ctx, stored) for stored in waiting]}
        ctx.answer(document, lambda: show_waiting(ctx, waiting))
        return
    stored = meant(ctx, _newest_waiting(ctx, reference))
    if asks and stored.status in _WAITS:
        go_through(ctx, [stored], by=ctx.person(by))
        return

    def show() -> None:
        show_candidate(ctx, stored)
        ctx.console.print(f"It is [bold]{stored.status}[/bold]. A person decides: tacit review ID, in a terminal.")

    ctx.answer(_document(ctx, stored), show)


def _opened(
    ctx: CommandContext, stored: Stored, decision: Review, *, ticked: tuple[str, ...], despite: bool
) -> tuple[str, ...]:
    """What was ticked, once all is confirmed that lets agents see a version: by a person, or in a script by its options."""
    if ctx.as_json or not ctx.caller.at_terminal:
        _require_despite(ctx, stored, ticked=ticked, despite=despite)
        return ticked
    show_candidate(ctx, stored)
    if decision is Review.RESTORE:  # what was ticked before need not be again
        known = {key for approval in ctx.memory.store.approvals(stored.version.id) for key in approval.ticked}
        asked = {literal.key for literal in ctx.memory.examine(stored.version.id).literals}
        ticked = (*ticked, *sorted((known & asked) - set(ticked)))
    said, given = confirmed(ctx, stored, ticked=ticked, despite=despite)
    if said is not Answer.YES:
        raise GateRefusal(
            f"`{stored.version.name}` was not approved",
            hint=f"edit it, or turn it down: tacit review {stored.version.id[:10]} --reject",
        )
    return given


def _require_despite(ctx: CommandContext, stored: Stored, *, ticked: Collection[str], despite: bool) -> None:
    """Refuse a script that does not say that it knows what was found, with all of it; then comes what must be ticked."""
    examination = ctx.memory.examine(stored.version.id)
    grave = grave_ones(ctx, stored, examination)
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


def _newest_waiting(ctx: CommandContext, reference: str) -> str:
    """A name means the version of it that waits, if one does; anything else is taken as it is."""
    waiting = [stored for stored in ctx.memory.waiting() if stored.version.name == reference]
    return shelf.meant_by(waiting).version.id if waiting else reference


def _document(ctx: CommandContext, stored: Stored) -> dict[str, object]:
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
        **inspected(ctx, stored),
    }
