"""`tacit recall`: the skills that fit a task, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.domain.document import Passage
from tacit.domain.errors import Mistake
from tacit.domain.scope import Scope
from tacit.domain.selection import Item, LeftOut, Plan, Selection
from tacit.domain.skill import Kind, SkillVersion
from tacit.recall.signals import WEIGHTS, contributions
from tacit.render.context import citation, crowded_line
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.surfaces.cli.views import EPISODES, show_selection
from tacit.surfaces.hook.preview import preview
from tacit.text.capabilities import CATEGORIES

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
@click.option("--session", "session_id", default="", help="The agent's session, which gets the credit.")
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
        episodes = ctx.memory.archive.episodes(task, limit=options["k"] or 5)
        found = EPISODES.table(episodes) if episodes else "No past attempt shares a word with this task."
        ctx.report({"task": task, "episodes": EPISODES.documents(episodes)}, found)
        return
    if options["person"]:
        ctx.caller.require_person("recall --person")
    if options["as_hook"]:
        _show(ctx, preview(ctx.memory, task, store=ctx.store), explain=options["explain"])
        return
    selection = ctx.memory.recall(
        task,
        k=options["k"],
        budget_tokens=options["budget_tokens"],
        state={key: options[key] for key in ("error", "last_action", "files") if options[key]},
        tools=options["tools"] or None,
        scope=Scope.parse(options["scope"]) if options["scope"] else None,
        kinds=kinds or None,
        category=options["category"],
        min_reliability=options["min_reliability"],
        allowed=options["allowed"] or None,
        model=options["model"],
        person=options["person"],
        surface="cli",
        session=options["session_id"],
        keep=not options["explain"],
    )
    _show(ctx, selection, explain=options["explain"])


def _show(ctx: CommandContext, selection: Selection, *, explain: bool) -> None:
    if explain:
        document = {**selection_document(selection), "weighed": weighed(selection)}
        ctx.report(document, lambda: show_explained(ctx.console, selection))
        return
    ctx.report(selection_document(selection), lambda: show_answer(ctx.console, selection))


def show_answer(console: Console, selection: Selection) -> None:
    """Print the selection; if everything was held back as a control, also the use, because its outcome counts too."""
    show_selection(console, selection)
    crowded, printed = selection.crowded_out, not (selection.abstained or console.is_terminal)
    if crowded and not (printed and crowded_line(crowded) in selection.text):
        line = f"Over budget: {len(crowded)} more norms (see `tacit skills show NAME`): {', '.join(crowded)}"
        console.print(f"[dim]{escape(clean(line))}[/dim]", soft_wrap=True)
    if selection.abstained and selection.use_id:
        console.print(
            f"This run is a control without the skill. Afterwards: [bold]tacit record {selection.use_id[:12]} --verify "
            "'COMMAND'[/bold]",
            soft_wrap=True,
        )


def selection_document(selection: Selection) -> dict[str, Any]:
    """Return a selection for programs."""
    return {
        "task": selection.query.text,
        "abstained": selection.abstained,
        "code": selection.code,
        "reason": selection.reason,
        "confidence": round(selection.confidence, 4),
        "note": selection.note,
        "use_id": selection.use_id,
        "tokens": selection.tokens,
        "text": selection.text,
        "items": [
            {
                "name": item.name,
                "kind": item.version.content.kind,
                "description": item.version.content.description,
                "version_id": item.version_id,
                "status": item.status,
                "score": round(item.score, 4),
                "signals": {name: round(value, 4) for name, value in item.signals.items()},
                "reasons": item.reasons,
                "tied_with": item.tied_with,
                "steps": item.steps,
                "parts": [_part(part) for part in item.parts],
                "passages": [_passage(item, passage) for passage in item.passages],
                "tokens": item.tokens,
            }
            for item in selection.items
        ],
        "standing": [
            {"name": norm.name, "version_id": norm.version_id, "text": norm.text} for norm in selection.standing
        ],
        "crowded_out": selection.crowded_out,
        "budgets": selection.budgets,
        "plan": _plan(selection.plan),
        "left_out": selection.left_out,
    }


def _part(part: SkillVersion) -> dict[str, Any]:
    content = part.content
    return {
        "name": content.name,
        "description": content.description,
        "version_id": part.id,
        "steps": content.steps,
    }


def _passage(item: Item, passage: Passage) -> dict[str, Any]:
    return {
        "citation": citation(item.version.content, passage),
        "section": passage.section,
        "first_page": passage.first_page,
        "last_page": passage.last_page,
        "text": passage.text,
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "chosen": [
            {"name": each.name, "version_id": each.version_id, "times": each.times, "strength": each.strength}
            for each in plan.chosen
        ],
        "steps": [
            {"version_id": each.version_id, "step": each.step, "tool": each.tool, "turn": each.turn}
            for each in plan.steps
        ],
        "code": plan.code,
        "reason": plan.reason,
        "lacking": plan.lacking,
    }


MOST = 20
"""How many rows a person sees; programs get all."""
_LONG = {"name": "skill", "why": "result"}
"""Columns of long texts, with their headings: they wrap in a narrow terminal."""
WHY_WIDTH = 26
"""The least width of the result column if its text is long."""
NAME_WIDTH = 20
"""The least width of the name column."""


def show_explained(console: Console, selection: Selection) -> None:
    """Print every candidate as a table, the best first, with the evidence of each signal in nats."""
    sure = f"confidence {selection.confidence:.2f} that something fits"
    verdict = f"no skill fits: {selection.reason}" if selection.abstained else f"{len(selection.items)} selected"
    console.print(f"[bold]{escape(clean(verdict))}[/bold]; {sure}", soft_wrap=True)
    if selection.note:
        console.print(f"[yellow]{escape(clean(selection.note))}[/yellow]", soft_wrap=True)
    rows = weighed(selection)
    table, dropped = _table(rows[:MOST], width=console.width)
    console.print(table)
    if len(rows) > MOST:
        console.print(f"[dim]and {len(rows) - MOST} more (--json shows all)[/dim]")
    console.print("[dim]Columns after relevance are nats of evidence; their sum gives the order.[/dim]")
    if dropped:
        console.print(f"[dim]Columns not shown: {', '.join(dropped)}; --json or a wider terminal shows all.[/dim]")
    if selection.budgets:
        console.print(_budget_table(selection))


def _table(rows: Sequence[dict[str, Any]], *, width: int) -> tuple[Table, list[str]]:
    """Return a table that fits the terminal, and the signals that did not fit: those that differ least go first."""
    shown = [each for each in WEIGHTS if any(each in row["evidence"] for row in rows)]
    name, why = (max([len(heading), *(cell_len(clean(row[key])) for row in rows)]) for key, heading in _LONG.items())
    spare = width - sum(len(each) + 1 for each in (str(len(rows)), "0.000", "relevance", "", ""))
    apart = {each: _spread([row["evidence"].get(each, 0.0) for row in rows]) for each in shown}
    dropped: list[str] = []
    while shown and min(name, NAME_WIDTH) + min(why, WHY_WIDTH) + _columns(shown) > spare:
        dropped.append(min(shown, key=lambda each: apart[each]))
        shown.remove(dropped[-1])
    spare -= _columns(shown)
    least = spare * NAME_WIDTH // (NAME_WIDTH + WHY_WIDTH)  # if there is too little for both
    name = min(name, max(least, spare - min(why, WHY_WIDTH)))
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column(_LONG["name"], width=max(1, name), overflow="fold")
    for heading in ("score", "relevance", *shown):
        table.add_column(heading, justify="right")
    table.add_column(_LONG["why"], width=max(1, min(why, spare - name)), overflow="fold")
    for place, row in enumerate(rows, start=1):
        nats = row["evidence"]
        table.add_row(
            str(place),
            escape(clean(row["name"])),
            f"{row['score']:.3f}",
            f"{row['signals'].get('relevance', 0.0):.2f}" if row["signals"] else "",
            *(f"{nats[each]:.1f}" if each in nats else "" for each in shown),
            escape(clean(row["why"])),
            style="bold" if row["given"] else "dim",
        )
    return table, dropped


def _columns(signals: Sequence[str]) -> int:
    """Return the width of signal columns."""
    return sum(max(len(each), len("00.0")) + 1 for each in signals)


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _budget_table(selection: Selection) -> Table:
    """Return how the token budget was shared: what each kind may use, and what it used."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("kind")
    for heading in ("share", "tokens allowed", "tokens used", "given", "over budget"):
        table.add_column(heading, justify="right")
    for each in selection.budgets:
        counts = (each.allowed_tokens, each.used_tokens, each.given, each.left_out)
        table.add_row(each.kind, f"{each.share:.0%}", *map(str, counts), style="" if each.given else "dim")
    return table


def weighed(selection: Selection) -> list[dict[str, Any]]:
    """Return every candidate for programs, the best first; those without a score come last."""
    given = [_row(item, item.signals, True, _given(item)) for item in selection.items]
    given += [_row(item, item.signals, True, "norm: applies to every task") for item in selection.standing]
    rest = [_row(left, left.signals, False, left.reason) for left in selection.left_out]
    return given + sorted(rest, key=lambda row: -row["score"])


def _row(each: Item | LeftOut, signals: Mapping[str, float], given: bool, why: str) -> dict[str, Any]:
    return {
        "name": each.name,
        "version_id": each.version_id,
        "given": given,
        "score": round(each.score, 4),
        "signals": {name: round(value, 4) for name, value in signals.items()},
        "evidence": {name: round(nats, 3) for name, nats in contributions(signals).items()},
        "why": why,
    }


def _given(item: Item) -> str:
    tied = f"; ties with {', '.join(item.tied_with)}" if item.tied_with else ""
    return f"selected: {item.reasons[0]}{tied}"
