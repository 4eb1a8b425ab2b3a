"""`tacit promote`: what could move to a broader scope, and why not yet; on a person's word it moves, ticked as in a review."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tacit.domain.candidate import Relation
from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.model import LanguageModel
from tacit.domain.ports import Stored
from tacit.domain.scope import Level, Scope
from tacit.gate import Review, unticked
from tacit.maintain import promotion as promoting
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.surfaces.cli.review_page import Answer, ask, grave_ones, show_candidate
from tacit.surfaces.cli.review import confirmed
from tacit.surfaces.cli.views import STATUS_STYLE, show_diff, whole_text
from tacit.surfaces.exports import export

_HOW = {Relation.REINFORCE: "was there already", Relation.MERGE: "is there in new words"}
_MENDING = "mend it (tacit skills edit, or --rewrite for what is local); only who knows better gives --despite-findings"
_LEVELS = [level.value for level in Level if level is not Level.TEAM]


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--to", "to", default="", metavar="LEVEL", help=f"How far: {', '.join(_LEVELS)}; the next rung if not given."
)
@click.option("--by", default="", help="Your name, kept with the promotion.")
@click.option(
    "--rewrite", is_flag=True, help="Put placeholders for what is local to this project; shown before it is done."
)
@click.option("--tick", "ticked", multiple=True, metavar="KEY", help="Something from outside that you have looked at.")
@click.option("--despite-findings", "despite", is_flag=True, help="Promote it although something speaks against it.")
@click.option("--yes", is_flag=True, help="Do it without being asked.")
@command_options
def promote(ctx: CommandContext, *, name: str | None, to: str, by: str, ticked: tuple[str, ...], **flags: bool) -> None:
    """Take what was learned to a broader scope. Without NAME: what could move, and what its gate still asks for.

    Organisation and global skills live in your own store, and every project of yours has them after its next `tacit learn`. A
    skill keeps its origins: what came from outside is asked for one by one, as in a review. A preference never leaves its
    person, and nothing becomes global unless it is found to be nobody's own. Its record and what speaks against it are shown
    first: a poor record, contradictions and what ties it to this project are refused without --despite-findings.

    Promoting belongs to a person: it is refused without a terminal and inside an agent's shell.
    """
    if name is None:
        found, left = ctx.memory.prospects(), promoting.left_at_home(ctx.memory)
        document = {
            "prospects": [_document(each) for each in found],
            "purged_here": [_kept_at_home(each) for each in left],
        }
        ctx.answer(document, lambda: _show(ctx, found, left))
        return
    ctx.caller.require_person("promote")
    person, despite = ctx.person(by), flags["despite"]
    weighed = _weighed(ctx, name, to, by=person, rewrite=flags["rewrite"])
    _require_wanted(ctx, weighed, despite=despite, yes=flags["yes"])
    stored, scope = weighed.stored, weighed.scope
    with _model(ctx, scope) as model:
        done = ctx.memory.promote(
            stored.version.id, scope, by=person, ticked=None, rewrite=flags["rewrite"], model=model
        )
    with _side(ctx, done.scope) as side:
        status = _decided(side, done, by=person, ticked=ticked, despite=despite)
    ctx.memory.adopt()
    export(ctx.memory)
    done = dataclasses.replace(done, status=status)
    ctx.answer({"promoted": _told(done, weighed)}, lambda: _show_done(ctx, done))


def _weighed(ctx: CommandContext, name: str, to: str, *, by: str, rewrite: bool) -> promoting.Weighed:
    """What would move in which words, and what speaks against it; a gate that is closed to it refuses it here."""
    loop = ctx.memory
    asked = promoting.asked(loop, at=datetime.now(UTC), by=by)
    found = promoting.weigh(loop, name, Scope.parse(to) if to else None, asked, rewrite=rewrite)
    if rewrite and found.content == found.stored.version.content:
        raise Mistake(f"nothing in `{found.content.name}` is local to this project", hint="leave --rewrite away")
    return found


def _require_wanted(ctx: CommandContext, weighed: promoting.Weighed, *, despite: bool, yes: bool) -> None:
    """Show what would move and what speaks against it; nothing goes on without a yes, nor in spite of that by itself."""
    name = weighed.stored.version.name
    if weighed.against and not despite:
        lines = [f"`{name}` was not taken to {weighed.scope}, for this speaks against it:"]
        lines += [f"  {each}" for each in weighed.against]
        raise GateRefusal("\n".join(lines), hint=_MENDING)
    if not ctx.as_json:
        _show_weighed(ctx, weighed)
    if yes:
        return
    if ctx.as_json or not ctx.caller.at_terminal:
        raise Mistake(f"`{name}` was not promoted: nobody can be asked here", hint="give --yes")
    if ask(ctx, f"Take it to {weighed.scope}{' in these words' if _is_rewritten(weighed) else ''}?") is not Answer.YES:
        raise GateRefusal(f"`{name}` was not promoted", hint="edit it: tacit skills edit, then promote it")


def _show_weighed(ctx: CommandContext, weighed: promoting.Weighed) -> None:
    stored = weighed.stored
    way = f"{stored.skill.scope} → {weighed.scope}"
    record = weighed.record or "not measured yet"
    ctx.console.print(
        f"[bold]{escape(clean(stored.version.name))}[/bold]  {way}  [dim]{escape(clean(record))}[/dim]", soft_wrap=True
    )
    for each in weighed.against:
        ctx.console.print(f"[yellow]against:[/yellow] {escape(clean(each))}", soft_wrap=True)
    if _is_rewritten(weighed):
        show_diff(ctx.console, whole_text(stored.version.content), whole_text(weighed.content))


def _is_rewritten(weighed: promoting.Weighed) -> bool:
    return weighed.content != weighed.stored.version.content


@contextmanager
def _model(ctx: CommandContext, to: Scope) -> Iterator[LanguageModel | None]:
    """The language model of the settings, where one is asked whether a skill is project-agnostic."""
    settings = ctx.settings[0].model
    if to.level is not Level.GLOBAL or not settings.name:
        yield None
        return
    from tacit import providers

    with providers.open_model(settings, key=ctx.environment.model_key) as model:
        yield model


@contextmanager
def _side(ctx: CommandContext, scope: Scope) -> Iterator[CommandContext]:
    """The session of the store that keeps a scope: this one, or one on the person's own store."""
    place = ctx.memory.place
    database = promoting.home_database(place) if scope.level in promoting.AT_HOME else None
    if database is None:
        yield ctx
        return
    there = CommandContext(
        environment=ctx.environment,
        store=str(database),
        as_json=ctx.as_json,
        console=ctx.console,
        errors=ctx.errors,
    )
    with closing(there):
        yield there


def _decided(
    side: CommandContext, done: promoting.Promoted, *, by: str, ticked: Sequence[str], despite: bool
) -> Status:
    """Let the person decide on the exact text where it waits now; what they do not approve goes on waiting there."""
    stored = side.loop.store.version(done.version_id)
    if stored.status in RECALLABLE:
        return stored.status
    if stored.status not in (Status.CANDIDATE, Status.QUARANTINED):
        _end_waiting(side, f"`{stored.version.name}` was {stored.status} at {done.scope}", stored.version.id)
    given: Sequence[str] = ticked
    if side.caller.at_terminal and not side.as_json:
        show_candidate(side, stored)
        said, given = confirmed(side, stored, ticked=ticked, despite=despite)
        if said is not Answer.YES:
            return stored.status
    else:
        examination = side.loop.examine(stored.version.id)
        grave = [] if despite else grave_ones(side, stored, examination)
        asked = [f"tick {literal.key}" for literal in unticked(examination, ticked)]
        missing = [*(f"{each.severity}: {each.message}" for each in grave), *asked]
        if missing:
            _end_waiting(
                side, f"`{stored.version.name}` waits at {done.scope}: {'; '.join(missing)}", stored.version.id
            )
    reason, digest = f"promoted to {done.scope} by a person", stored.version.hash
    moved = side.loop.review(stored.version.id, Review.APPROVE, by=by, reason=reason, content_hash=digest, ticked=given)
    return moved.after


def _end_waiting(side: CommandContext, told: str, version_id: str) -> None:
    raise GateRefusal(told, hint=f"decide on it there: tacit review {version_id[:10]} --store {side.place.database}")


def _document(each: promoting.Prospect) -> dict[str, Any]:
    return {
        "name": each.stored.version.name,
        "version_id": each.stored.version.id,
        "kind": each.stored.version.content.kind,
        "scope": str(each.stored.skill.scope),
        "status": each.stored.status,
        "to": each.to,
        "open": each.passage.open,
        "there": list(each.passage.there),
        "missing": list(each.passage.missing),
    }


def _told(done: promoting.Promoted, weighed: promoting.Weighed) -> dict[str, Any]:
    return {
        "name": done.name,
        "version_id": done.version_id,
        "skill_id": done.skill_id,
        "scope": str(done.scope),
        "status": done.status,
        "relation": done.relation,
        "projects": list(done.projects),
        "record": weighed.record,
        "against": list(weighed.against),
        "passages": [{"to": each.to, "there": each.there, "missing": each.missing} for each in done.passages],
    }


def _kept_at_home(stored: Stored) -> dict[str, Any]:
    return {"name": stored.version.name, "version_id": stored.version.id, "content_hash": stored.version.hash}


def _show(ctx: CommandContext, found: Sequence[promoting.Prospect], left: Sequence[Stored]) -> None:
    database = promoting.home_database(ctx.memory.place)
    for held in left:
        told = f"{held.version.name} was purged here, and your own store still keeps it:"
        how = f"tacit purge --source {held.version.hash} --store {database}"
        ctx.console.print(f"[yellow]{escape(clean(told))}[/yellow] {escape(clean(how))}", soft_wrap=True)
    if not found:
        ctx.console.print("Nothing could move up: approve something first (tacit review).")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("skill", "from", "to", "there", "missing"):
        table.add_column(heading, overflow="fold")
    for each in found:
        version, gate = each.stored.version, each.passage
        missing = (
            f"[yellow]{escape(clean('; '.join(gate.missing)))}[/yellow]" if gate.missing else "[green]nothing[/green]"
        )
        style = STATUS_STYLE[each.stored.status]
        table.add_row(
            f"[{style}]{escape(clean(version.name))}[/{style}]",
            escape(clean(str(each.stored.skill.scope))),
            str(each.to),
            escape(clean("; ".join(gate.there))),
            missing,
        )
    ctx.console.print(table)
    ctx.console.print("\nA person takes one further: [bold]tacit promote NAME[/bold] [--to LEVEL] [--rewrite]")


def _show_done(ctx: CommandContext, done: promoting.Promoted) -> None:
    style = STATUS_STYLE[done.status]
    how = _HOW.get(done.relation, "is there now")
    name = escape(clean(done.name))
    ctx.console.print(f"[bold]{name}[/bold] {how}: {done.scope}, [{style}]{done.status}[/{style}]", soft_wrap=True)
    if done.projects:
        ctx.console.print(f"[dim]Seen in {escape(clean(', '.join(done.projects)))}.[/dim]", soft_wrap=True)
    if done.scope.level in promoting.AT_HOME and done.status in RECALLABLE:
        ctx.console.print("Every project of yours has it after its next [bold]tacit learn[/bold].")
