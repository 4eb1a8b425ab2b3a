"""`tacit recall`: the skills that fit a task, or why there are none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import click
from rich.padding import Padding
from rich.panel import Panel

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Outcome
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.reach import CARD
from tacit.domain.scope import Scope
from tacit.domain.selection import Budget, Item, LeftOut, Selection
from tacit.domain.skill import Kind
from tacit.domain.stored import Episode
from tacit.maintain.archive import newest_skills
from tacit.recall.signals import contributions
from tacit.render.context import citation, crowded_line
from tacit.surfaces.cli.context import CommandContext, command_options
from tacit.surfaces.cli.report import Column, Columns, ReportPart, fields, one_line, safe
from tacit.surfaces.hook.preview import preview
from tacit.text.capabilities import CATEGORIES

_OUTCOME_STYLE = {Outcome.SUCCESS: "green", Outcome.FAILURE: "red", Outcome.PARTIAL: "yellow", Outcome.UNKNOWN: "dim"}
ALLOW_HELP = (
    "Leave out skills that touch more than this, e.g. hosts=api.example.com or commands=git,make (repeatable). Categories: "
    f"{', '.join(CATEGORIES)}; once one is given, the others allow nothing."
)


@click.command()
@click.argument("task")
@click.option("-k", type=click.IntRange(1, 50), help="At most so many skills.")
@click.option("--budget", "budget_tokens", type=click.IntRange(min=1), help="At most so many tokens.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([*(kind.value for kind in Kind), "episode"]),
    help="Only this kind (repeatable); `episode` finds past attempts instead of skills.",
)
@click.option("--category", help="Only this category.")
@click.option("--tool", "tools", multiple=True, help="An available tool (repeatable); others count as missing.")
@click.option("--min-reliability", type=click.FloatRange(0, 1), help="Only skills that are at least this reliable.")
@click.option("--scope", type=str, help="Search from this scope, e.g. project:invoices or global.")
@click.option("--allow", "allowed", multiple=True, metavar="CATEGORY=VALUE", help=ALLOW_HELP)
@click.option("--model", default="", help="The language model that will use it: its own evidence counts.")
@click.option(
    "--session", "session_id", default="", help="The agent's session: it gets the credit, and what is kept for it."
)
@click.option("--error", help="Output of the call that failed.")
@click.option("--last-action", help="The tool or command that was used last.")
@click.option("--file", "files", multiple=True, help="A file that is being worked on (repeatable).")
@click.option("--person", default="", help="Whose preferences apply, if not yours. Not for agents.")
@click.option("--as-hook", is_flag=True, help="Show what the prompt hook would show an agent for this text.")
@click.option("--explain", is_flag=True, help="Show every candidate and every signal; stores no use.")
@command_options
def recall(ctx: CommandContext, *, task: str, kinds: tuple[str, ...], **options: Any) -> None:
    """Find the skills that fit TASK, or explain why none does."""
    if not task.strip():
        raise Mistake("the task is empty", code="empty_task", hint='describe it: tacit recall "add a column"')
    if "episode" in kinds:
        if len(kinds) > 1:
            raise Mistake("episodes and skills cannot be mixed", code="mixed_kinds", hint="run it twice")
        # Agents read what a pipe gives.
        episodes = ctx.memory.archive.episodes(task, limit=options["k"] or 5, whole=ctx.can_ask)
        found = EPISODES.table(episodes) if episodes else "No past attempt shares a word with this task."
        ctx.report({"task": task, "episodes": EPISODES.documents(episodes)}, found)
        return
    if options["person"]:
        ctx.caller.require_person("recall --person")
    if options["as_hook"]:
        selection = preview(ctx.memory, task, store=ctx.store)
    else:
        same = ("k", "budget_tokens", "category", "min_reliability", "model", "person")
        selection = ctx.memory.recall(
            task,
            **{name: options[name] for name in same},
            state={key: options[key] for key in ("error", "last_action", "files") if options[key]},
            tools=options["tools"] or None,
            scope=Scope.parse(options["scope"]) if options["scope"] else None,
            kinds=kinds or None,
            allowed=options["allowed"] or None,
            surface="cli",
            session=options["session_id"],
            keep=not options["explain"],
        )
    if options["explain"]:
        document = {**selection_document(selection), "weighed": weighed(selection)}
        ctx.report(document, lambda: explained_parts(selection))
    else:
        ctx.report(
            selection_document(selection),
            lambda: selection_parts(selection, boxed=ctx.console.is_terminal),
            lambda: _card_lines(ctx, selection),
        )


def _card_lines(ctx: CommandContext, selection: Selection) -> Iterator[ReportPart]:
    """Yield the card of project facts, which agents see at the start of a session and not for a task."""
    if selection.abstained and not ctx.memory.context.paused:
        found, _ = newest_skills(ctx.memory.context, kinds={Kind.FACT}, statuses=RECALLABLE, limit=5, counted=False)
        for each in (stored.version.content for stored in ctx.visible(found) if stored.version.name == CARD):
            yield f"[bold]at the start:[/bold] {safe(each.name)}  [dim]{safe(one_line(each.description, 160))}[/dim]"


EPISODES: Columns[Episode] = Columns(
    Column("id", lambda episode: episode.id),
    Column("started_at", lambda each: each.started_at, "when", lambda each: str(each.started_at or "")[:10]),
    Column("task", lambda each: one_line(each.task, 400), "task", lambda each: safe(one_line(each.task, 90))),
    Column(
        "outcome",
        lambda each: each.assessment.outcome,
        "outcome",
        lambda each: f"[{_OUTCOME_STYLE[each.assessment.outcome]}]{each.assessment.outcome}[/]",
    ),
    Column("grade", lambda each: None if each.assessment.outcome is Outcome.UNKNOWN else each.assessment.grade),
    Column("why", lambda episode: episode.assessment.reason),
    Column("steps", lambda episode: episode.steps, "steps"),
    Column(
        "files",
        lambda episode: episode.files,
        "files",
        lambda episode: safe(", ".join(path.rpartition("/")[2] for path in episode.files[:3])),
    ),
    Column("client", lambda episode: episode.client),
    Column("project", lambda episode: episode.project),
    Column("session_id", lambda episode: episode.session_id),
)
"""Past attempts."""


def selection_parts(selection: Selection, *, boxed: bool) -> Iterator[ReportPart]:
    """Yield what recall selected, or why nothing; `boxed` for a terminal, else only the text, ready to be pasted."""
    if selection.abstained:
        yield f"[bold]No skill fits:[/bold] {safe(selection.reason)}"
        for left in [left for left in selection.left_out if left.reason not in selection.reason][:3]:
            yield f"  [dim]{safe(left.name)}: {safe(left.reason)}[/dim]"
    elif boxed:
        for item in selection.items:
            tied = f"; ties with {', '.join(item.tied_with)}: choose one" if item.tied_with else ""
            title = f"[bold]{safe(item.name)}[/bold]  {item.score:.2f}"
            yield Panel(safe(item.text), title=title, title_align="left")
            yield f"  [dim]{safe('; '.join(item.reasons) + tied)}[/dim]"
    else:
        yield safe(selection.text)
    is_pasted = not (boxed or selection.abstained)
    yield from () if is_pasted else _also_lines(selection)
    if selection.note and not is_pasted:
        yield f"[yellow]{safe(selection.note)}[/yellow]"
    crowded = selection.crowded_out
    if crowded and not (is_pasted and crowded_line(crowded) in selection.text):
        line = f"Over budget: {len(crowded)} more norms (see `tacit skills show NAME`): {', '.join(crowded)}"
        yield f"[dim]{safe(line)}[/dim]"
    if not selection.abstained:
        if len(selection.plan.chosen) > 1:
            order = (each.name + (f" ×{each.times}" if each.times > 1 else "") for each in selection.plan.chosen)
            yield f"In this order: {safe(' → '.join(order))}"
        for left in selection.left_out[:3]:
            yield f"  [dim]left out {safe(left.name)}: {safe(left.reason)}[/dim]"
        yield f"\n{selection.tokens} tokens."
    if selection.use_id:
        control = "This run is a control without the skill. " if selection.abstained else ""
        yield f"{control}Afterwards: [bold]tacit record {selection.use_id[:12]} --verify 'COMMAND'[/bold]"


def _also_lines(selection: Selection) -> Iterator[str]:
    """Yield the norms that hold for every task, and the static skills that fit."""
    for norm in selection.standing:
        yield f"[bold]always:[/bold] {safe(norm.name)}  [dim]{safe(one_line(norm.version.content.description, 160))}[/dim]"
    yield from _static_lines(selection)


def _static_lines(selection: Selection) -> Iterator[str]:
    """Yield the static skills of the project that fit."""
    for each in selection.static:
        place = f"{safe(each.name)} ({safe(each.path)})"
        yield f"[bold]static:[/bold] {place}  [dim]{safe(one_line(each.description, 160))}[/dim]"


def selection_document(selection: Selection) -> dict[str, Any]:
    """Return a selection for programs."""
    plan = selection.plan
    return {
        "task": selection.query.text,
        **fields(selection, "abstained", "code", "reason"),
        "confidence": round(selection.confidence, 4),
        **fields(selection, "note", "use_id", "tokens", "text"),
        "items": [_item_document(item) for item in selection.items],
        "standing": [fields(norm, "name", "version_id", "text") for norm in selection.standing],
        **fields(selection, "static", "crowded_out", "budgets"),
        "plan": {
            "chosen": [dataclasses.asdict(each) for each in plan.chosen],
            "steps": [dataclasses.asdict(each) for each in plan.steps],
            **fields(plan, "code", "reason", "lacking"),
        },
        "left_out": selection.left_out,
    }


def _item_document(item: Item) -> dict[str, Any]:
    return {
        **fields(item.version.content, "name", "kind", "description"),
        **fields(item, "version_id", "status"),
        "score": round(item.score, 4),
        "signals": {name: round(value, 4) for name, value in item.signals.items()},
        **fields(item, "reasons", "tied_with", "steps"),
        "parts": [
            {**fields(part.content, "name", "description"), "version_id": part.id, "steps": part.content.steps}
            for part in item.parts
        ],
        "passages": [
            {"citation": citation(item.version.content, passage)}
            | fields(passage, "section", "first_page", "last_page", "text")
            for passage in item.passages
        ],
        "tokens": item.tokens,
    }


MOST = 20
"""How many rows a person sees; programs get all."""
_BUDGETS: Columns[Budget] = Columns(
    Column("", lambda each: each.kind, "kind"),
    Column("", lambda each: f"{each.share:.0%}", "share"),
    Column("", lambda each: each.allowed_tokens, "tokens allowed"),
    Column("", lambda each: each.used_tokens, "tokens used"),
    Column("", lambda each: each.given, "given"),
    Column("", lambda each: each.left_out, "over budget"),
)


def explained_parts(selection: Selection) -> Iterator[ReportPart]:
    """Yield every candidate as a table, the best first, and how the budget was shared."""
    verdict = f"no skill fits: {selection.reason}" if selection.abstained else f"{len(selection.items)} selected"
    yield f"[bold]{safe(verdict)}[/bold]; confidence {selection.confidence:.2f} that something fits"
    yield f"[yellow]{safe(selection.note)}[/yellow]" if selection.note else None
    rows = weighed(selection)
    if rows:
        more = f"and {len(rows) - MOST} more (--json shows all); " if len(rows) > MOST else ""
        for number, row in enumerate(rows[:MOST], start=1):
            near = f"relevance {row['signals'].get('relevance', 0.0):.2f}"
            yield Padding(f"{number:>2}  [bold]{safe(row['name'])}[/bold]  {row['score']:.3f}  {near}", 0)
            evidence = ", ".join(f"{name} {nats:.1f}" for name, nats in row["evidence"].items())
            yield Padding(safe(row["why"]) + (f"\n[dim]{evidence}[/dim]" if evidence else ""), (0, 0, 0, 4))
        yield f"[dim]{more}below each its evidence in nats; the sum orders[/dim]"
    yield from _static_lines(selection)
    yield _BUDGETS.table(selection.budgets) if selection.budgets else None


def weighed(selection: Selection) -> list[dict[str, Any]]:
    """Return every candidate for programs, the best first; those without a score come last."""
    given = []
    for item in selection.items:
        tied = f"; ties with {', '.join(item.tied_with)}" if item.tied_with else ""
        given.append(_row(item, given=True, why=f"selected: {item.reasons[0]}{tied}"))
    given += [_row(item, given=True, why="norm: applies to every task") for item in selection.standing]
    rest = [_row(left, given=False, why=left.reason) for left in selection.left_out]
    return given + sorted(rest, key=lambda row: -row["score"])


def _row(each: Item | LeftOut, *, given: bool, why: str) -> dict[str, Any]:
    return {
        "name": each.name,
        "version_id": each.version_id,
        "given": given,
        "score": round(each.score, 4),
        "signals": {name: round(value, 4) for name, value in each.signals.items()},
        "evidence": {name: round(nats, 3) for name, nats in contributions(each.signals).items()},
        "why": why,
    }
