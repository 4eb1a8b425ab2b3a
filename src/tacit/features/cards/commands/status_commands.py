"""`tacit cards review`, `rec-status`, `aha-status`, `repair` and `promote`.

Each prints one JSON document with the keys of the original tool; `review` prints a summary for people.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tacit.config.location import card_places
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import WAITING
from tacit.features.cards import agenda, card_promotion, statuses
from tacit.features.cards.card import Card, CardStatus, Recommendation
from tacit.features.cards.card_records import FILES
from tacit.features.cards.cards import Cards, shared_folder
from tacit.features.cards.commands import card_options, deck_of, location_fields, print_json, problems_of
from tacit.features.cards.scores import MIN_SCORE
from tacit.maintain.exports import export
from tacit.maintain.portability import home_database, source_project
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line

_SCOPES = click.Choice(["project", "portable"])
_MOST_SHOWN = 5
"""Next actions in a summary."""


@click.command(short_help="Show what is open, stale, or worth a backport")
@click.option("--format", "form", type=click.Choice(["summary", "json"]), default="summary", help="How much to print.")
@click.option("--skill", default="", help="Only what belongs to this skill.")
@click.option("--scope", type=_SCOPES, default=None, help="Only what has this scope.")
@click.option("--query", default="", help="Only what holds these words.")
@click.option("--status", default="", metavar="A,B", help="Only what has one of these statuses.")
@click.option(
    "--since", default="", metavar="TIME", help="Only what was touched since then, like 2026-01-31T00:00:00Z."
)
@click.option("--days", type=int, default=None, help="Only what was touched in the last so many days.")
@click.option(
    "--stale-days",
    type=int,
    default=agenda.STALE_DAYS,
    show_default=True,
    help="Days without a touch after which it is stale.",
)
@click.option("--include-global", is_flag=True, help="Include the cards of your own store.")
@click.option(
    "--min-aha-score", type=int, default=MIN_SCORE, show_default=True, help="Minimum score of a backport candidate."
)
@click.option("--backport-limit", type=int, default=agenda.DEFAULT_LIMIT, hidden=True)
@click.option("--top-aha-limit", type=int, default=agenda.DEFAULT_LIMIT, hidden=True)
@click.option("--next-actions-limit", type=int, default=agenda.DEFAULT_LIMIT, hidden=True)
@click.option("--recs-limit", type=int, default=agenda.DEFAULT_LIMIT, hidden=True)
@command_options
def review(
    ctx: CommandContext, *, form: str, include_global: bool, since: str, days: int | None, **options: Any
) -> None:
    """Show what is open, what is stale, and which cards are worth a backport.

    Rejected cards are left out unless --status asks for them. Cards are ordered by a score in which signals lose half their
    weight in 90 days.
    """
    ctx.as_json = ctx.as_json or form == "json"
    asked = agenda.parse_statuses(options.pop("status"))
    deck = deck_of(ctx, write=False)
    scope, begun = options.pop("scope") or "", agenda.review_window(since, days, deck.now())
    wanted = agenda.ReviewFilters(scope=scope, statuses=asked, since=begun, **options)
    found = agenda.review(deck, wanted, include_global=include_global)
    shared = str(shared_folder(card_places(str(Path.cwd())))) if include_global else None
    document = {"ok": True, **location_fields(deck), "global_store": shared, **found}
    ctx.report(document, lambda: _show(ctx, deck, found))


@click.command("rec-status", hidden=True)
@click.option("--id", "key", required=True, metavar="REC", help="The recommendation.")
@click.option("--status", required=True, help="proposed, accepted, in_progress, done, rejected or deprecated.")
@click.option("--scope", type=_SCOPES, default=None, help="Change its scope too.")
@click.option("--note", default="", help="Why; stored with this version.")
@card_options
def rec_status(ctx: CommandContext, *, key: str, status: str, scope: str | None, note: str) -> None:
    """Set the status of a recommendation. Earlier versions keep their status and note."""
    source = "person" if ctx.caller.is_person else "agent"
    deck = deck_of(ctx)
    moved = statuses.move_recommendation(deck, key.strip(), status, scope=scope or "", note=note, source=source)
    print_json(ctx, {"ok": True, **location_fields(deck), "id": key.strip(), **_moved(deck, moved)})


@click.command("aha-status", hidden=True)
@click.option("--id", "key", required=True, metavar="AHA", help="The card.")
@click.option("--status", required=True, help="proposed, accepted, rejected, deprecated or backported.")
@click.option("--note", default="", help="Why; stored with this version.")
@click.option("--by", default="", help="Your name; stored with the decision.")
@click.option("--version", "seen", default="", metavar="VERSION", help="The version_id of the text that you read.")
@card_options
def aha_status(ctx: CommandContext, *, key: str, status: str, note: str, by: str, seen: str) -> None:
    """Set the status of a card.

    At a person's terminal this also reviews the card's text. Elsewhere only the status changes, and `accepted` is refused.
    Without --version the text is shown first, and you are asked.
    """
    if statuses.parse_card_status(status) is CardStatus.ACCEPTED:
        ctx.caller.require_person("cards aha-status accepted")
    person = ctx.person(by) if ctx.caller.is_person else ""
    deck = deck_of(ctx)
    if person and statuses.parse_card_status(status) is CardStatus.ACCEPTED:
        seen = seen.strip() or _read_first(ctx, deck, key.strip())
    with deck.transaction():
        if seen:
            statuses.require_seen(deck, key.strip(), seen)
        moved = statuses.move_card(deck, key.strip(), status, note=note, person=person)
    if person:
        export(ctx.memory.context)
    print_json(ctx, {"ok": True, **location_fields(deck), "id": key.strip(), **_moved(deck, moved)})


@click.command(hidden=True)
@click.option("--apply", "apply_", is_flag=True, help="Write what would be changed.")
@card_options
def repair(ctx: CommandContext, *, apply_: bool) -> None:
    """Fill in missing skills and update older spellings of statuses. Changes nothing without --apply."""
    deck = deck_of(ctx)
    found = statuses.repair(deck) if apply_ else statuses.plan_repair(deck)
    note = "Nothing needs repair."
    if found:
        note = "Repaired; INDEX.md is up to date." if apply_ else "Run it again with --apply to write this."
    print_json(ctx, {"ok": True, **location_fields(deck), "applied": apply_, **found.document(), "note": note})


@click.command(short_help="Copy cards to your own store, for all projects")
@click.option("--ids", required=True, metavar="AHA,AHA", help="The cards, by id.")
@click.option("--by", default="", help="Your name; stored with the promotion.")
@card_options
def promote(ctx: CommandContext, *, ids: str, by: str) -> None:
    """Copy cards to your own store, where all your projects find them; run it again to update the copies.

    A card must be shareable and must not name anything of this project. Its lesson waits in your own store for review.
    Only a person may promote: it is refused without a terminal and inside an agent's shell.
    """
    wanted = card_promotion.wanted_ids(ids)
    ctx.caller.require_person("cards promote")
    person, deck = ctx.person(by), deck_of(ctx)
    local = source_project(ctx.memory.context.place).local
    done = card_promotion.promote(deck, wanted, by=person, local=local)
    waits = f"new cards wait for your review: tacit review --store {home_database(ctx.memory.context.place)}"
    document = {
        "ok": True,
        "user": deck.user,
        "from_project_store": str(deck.folder),
        "to_global_store": str(shared_folder(card_places(str(Path.cwd())))),
        "requested": done.requested,
        "promoted_count": len(done.promoted),
        "promoted_ids": done.promoted,
        "updated_ids": done.updated,
        "unchanged_ids": done.unchanged,
        "lessons": done.lessons,
        "notes": [*done.notes, *([waits] if set(done.lessons.values()) & WAITING else [])],
    }
    print_json(ctx, document)


def _read_first(ctx: CommandContext, deck: Cards, key: str) -> str:
    """Show a person the text that they accept, and ask; without a terminal --version is needed."""
    card = deck.cards().get(key)
    if card is None or not card.version_id:
        return ""
    version = card.version_id
    if not ctx.caller.at_terminal:
        hint = (
            f"read it (tacit review {version[:10]}), then give --version with its version_id (see `tacit cards list`)"
        )
        raise Mistake("read the text before you accept the card", code="not_read", hint=hint)
    content = deck.store.version(version).version.content
    ctx.errors.print(clean(f"{content.name}\n{content.description}\n\n{content.body}"), markup=False, soft_wrap=True)
    if not click.confirm("Accept this text?", err=True):
        raise Mistake("nothing was decided", code="not_accepted", hint=f"`tacit review {version[:10]}` shows more")
    return version


def _moved(deck: Cards, moved: statuses.RecordChange) -> dict[str, Any]:
    """Return a record before and after, with the keys of the original tool."""
    before, after = moved.before, moved.after
    is_card = isinstance(after, Card)
    previous: dict[str, Any] = {
        "status": before.status,
        "ts": before.ts,
        "created_ts": moved.created_ts,
        "title": before.title,
        "scope": before.scope,
        "last_touched_ts": before.last_touched_ts or before.ts,
    }
    updated: dict[str, Any] = {
        "status": after.status,
        "ts": after.ts,
        "note": after.note or None,
        "scope": after.scope,
        "last_touched_ts": after.last_touched_ts,
    }
    file = deck.folder / FILES[Card if is_card else Recommendation]
    lesson = {"lesson": {"version_id": after.version_id, "status": moved.lesson}} if isinstance(after, Card) else {}
    return {"previous": previous, "updated": updated, **lesson, "written_to": str(file) if deck.syncs_folder else None}


def _show(ctx: CommandContext, deck: Cards, found: Mapping[str, Any]) -> None:
    """Print a few lines for people: counts, the next actions, and how to see everything."""
    counts, shown = found["summary"], found["next_actions"][:_MOST_SHOWN]
    filters = [
        f"{name} {value}" for name, value in found["filters"].items() if value is not None and name != "stale_days"
    ]
    left = counts["open_recommendations"] + counts["backport_candidates"] - len(shown)
    lines = [
        f"Cards in {deck.folder if deck.syncs_folder else 'the store'}",
        *([f"Only: {', '.join(filters)}"] if filters else []),
        _counted(counts),
        *(["Next:"] if shown else []),
        *(f"- {_line(action)}" for action in shown),
        *([f"  and {left} more"] if shown and left else []),
        *([f"More: {deck.folder / 'INDEX.md'}"] if deck.syncs_folder else []),
        f"All as JSON: {_full_command()}",
        *(f"! {problem}" for problem in problems_of(deck)),
    ]
    for line in lines:
        ctx.console.print(clean(line), markup=False, soft_wrap=True)


def _counted(counts: Mapping[str, int]) -> str:
    open_ = f"{counts['open_recommendations']} open"
    where = (
        f"{counts['open_recommendations_project']} project, {counts['open_recommendations_portable']} portable, "
        f"{counts['stale_recommendations']} stale, {counts['untouched_recommendations']} untouched"
    )
    parts = [
        counted(counts["aha_cards"], "card"),
        f"{counted(counts['recommendations'], 'recommendation')} ({open_}: {where})",
        counted(counts["backport_candidates"], "backport candidate"),
    ]
    if counts["global_aha_cards"]:
        parts.append(counted(counts["global_aha_cards"], "card") + " of your own store")
    if counts["withheld_aha_cards"]:
        parts.append(f"{counted(counts['withheld_aha_cards'], 'card')} withheld by the gate")
    return "; ".join(parts)


def _line(action: Mapping[str, Any]) -> str:
    title = one_line(str(action["title"]), 100)
    if action["type"] == "recommendation":
        return f"{clean(action['id'])} [{action['status']}, {action['scope']}] {title}"
    target = one_line(str(action["target_skill"]), 40)
    return f"{clean(action['id'])} [backport, score {action['score']}, skill {target}] {title}"


def _full_command() -> str:
    """Return the command that prints everything, with the options that were given."""
    context = click.get_current_context()
    words = ["tacit", "cards", "review", "--format", "json"]
    for option in context.command.params:
        value, name = context.params.get(str(option.name)), option.opts[0]
        if name in ("--format", "--json") or value in (None, "", False) or value == option.get_default(context):
            continue
        words += [name] if value is True else [name, str(value)]
    return clean(shlex.join(words))
