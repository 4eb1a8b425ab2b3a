"""`tacit cards init`, `record`, `list`, `signal`, `use`, `import` and `export`.

`init` can also write a drop-in script in the place of the original tool's, which calls `tacit cards`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import click

from tacit.config.files import read_plain, write_atomically
from tacit.config.location import card_places
from tacit.domain.errors import GateRefusal, Mistake, NotFound, StoreOutage
from tacit.domain.trajectory import Origin
from tacit.features.cards.card import Card, SignalKind
from tacit.features.cards.card_records import FILES, id_list, line_of
from tacit.features.cards.card_signals import BY_AGENT, MANUAL_SOURCE, UsageClaim, UsageReport
from tacit.features.cards.card_signals import signal as keep_signal
from tacit.features.cards.card_signals import use as keep_usage
from tacit.features.cards.cards import Cards, shared_folder
from tacit.features.cards.commands import card_options, deck_of, location_fields, print_json, problems_of
from tacit.features.cards.folder import BELOW, IGNORED_LINE, CardFolder, ignore_folder, invalid_value, is_ignored
from tacit.features.cards.listing import LIMIT, CardFilters, list_cards
from tacit.features.cards.recording import Recorder, RecordResult
from tacit.features.cards.recording import record as record_payload
from tacit.features.cards.rubric import judge
from tacit.maintain.portability import source_project
from tacit.render.safe_files import is_link, is_there
from tacit.surfaces.cli.context import CommandContext, clean

FOLDER = ".agents/skills"
SCRIPT = Path("self-learning-skills", "scripts", "self_learning.py")
"""Where the original tool is, below a folder of skills."""
KEPT = "self_learning_original.py"
_LARGEST = 1 << 24


def place_drop_in_script(root: Path, folder: str = FOLDER) -> dict[str, Any]:
    """Write the script below a folder of the repository; return its path, and where a different script there was moved to."""
    script = root / (folder or FOLDER) / SCRIPT
    if not script.resolve().is_relative_to(root.resolve()):  # also by a link
        hint = "name a folder below the repository's root"
        raise Mistake(f"{script} is not in {root}", code="outside_repository", hint=hint)
    kept = script.with_name(KEPT)
    moved = _is_other_script(script)
    if moved and (is_there(kept) or is_link(kept)):
        hint = f"remove one of them in {script.parent}"
        raise Mistake(f"both {SCRIPT.name} and {KEPT} exist", code="drop_in_conflict", hint=hint)
    try:
        script.parent.mkdir(parents=True, exist_ok=True)
        if moved:
            script.rename(kept)
        write_atomically(script, _script_text(), mode=0o755)
    except OSError as error:
        raise StoreOutage(f"cannot write {script}: {error.strerror}", hint="check the folder's permissions") from error
    placed = {"script": script.relative_to(root).as_posix(), "kept": None}
    return placed | ({"kept": kept.relative_to(root).as_posix()} if moved else {})


def _is_other_script(script: Path) -> bool:
    """Return whether the place holds a file with other content than ours."""
    if not is_there(script):
        return False
    try:
        return read_plain(script, limit=_LARGEST, follow=True) != _script_text().encode()
    except OSError as error:
        hint = "move it away, or choose another folder"
        raise Mistake(f"{script} cannot be read: {error.strerror}", code="unreadable_script", hint=hint) from error


def _script_text() -> str:
    return (resources.files("tacit.features.cards") / SCRIPT.name).read_text(encoding="utf-8")


_BYTES_MAX, _ENTRY_MAX = 1 << 24, 1 << 18
_NOT_IGNORED = f".gitignore could not be changed; add `{IGNORED_LINE}` to it, or the folder will be committed"
_ALREADY_OPEN = re.compile(r"/dev/(?:stdin|fd/\d+)")
"""Files that a shell opened, which may be pipes."""
_KNOWN = frozenset(
    {"event", "aha_cards", "recommendations", "used_aha_ids", "used_rec_ids", "used", "usage_source", "usage_context"}
)
_NO_CARDS = "No memories recorded yet. Go on with the task as usual; do not invent memories."


@click.command(hidden=True)
@click.option("--gitignore/--no-gitignore", default=True, help="Keep .agent-skills/ out of version control.")
@click.option(
    "--drop-in", is_flag=False, flag_value=".agents/skills", default="", metavar="[FOLDER]",
    help="Write a script in the original's place that calls `tacit cards`.",
)  # fmt: skip
@card_options
def init(ctx: CommandContext, *, gitignore: bool, drop_in: str) -> None:
    """Create the folder that other tools can share, and synchronise it from now on."""
    deck = deck_of(ctx)
    deck.start_folder()
    ignored = ignore_folder(deck.root) if gitignore else False
    problems = [] if not gitignore or ignored or is_ignored(deck.root) else [_NOT_IGNORED]
    note = "The folder is synchronised with Tacit's store, which is authoritative."
    document = location_fields(deck) | {"global_store": str(shared_folder(card_places(str(Path.cwd())))), "note": note}
    document |= {"problems": problems_of(deck, *problems)} if problems else {}
    if drop_in:
        document["drop_in"] = place_drop_in_script(deck.root, drop_in)
    print_json(ctx, document | {"gitignore_changed": ignored})


@click.command(short_help="Record cards and recommendations")
@click.option(
    "--json", "file", is_flag=False, flag_value="-", default="-", metavar="FILE", help="The payload; else stdin."
)
@click.option("--store", default="", metavar="PATH", help="Use this store instead of the project's.")
@click.pass_obj
def record(ctx: CommandContext, *, file: str, store: str) -> None:
    """Record an event, aha cards and recommendations, and which of the known ones were used.

    The payload is one JSON object with any of event, aha_cards, recommendations, used_aha_ids, used_rec_ids, used,
    usage_source and usage_context. Cards pass the gate as lessons and wait for review (tacit review).
    """
    ctx.as_json, ctx.store = True, store or ctx.store
    payload = _payload(file)
    deck = deck_of(ctx)
    person = ctx.caller.is_person
    local = source_project(ctx.memory.context.place).local
    writer = Recorder(
        by=(deck.user if person else "agent"),
        origin=Origin.USER if person else Origin.AGENT,
        judge=lambda card: [str(reason) for reason in judge(card, local)],
    )
    recorded = record_payload(deck, payload, writer)
    unknown = [f"unknown field {name[:60]!r}; it was ignored" for name in payload if name not in _KNOWN]
    kept = recorded.event or recorded.cards or recorded.recommendations or recorded.used.signals
    lost = not kept and bool(recorded.refused or unknown)
    document = _recorded_document(deck, recorded, payload) | {"ok": not lost}
    print_json(ctx, document | ({"problems": problems_of(deck, *unknown)} if unknown else {}))
    if lost:
        raise click.exceptions.Exit(GateRefusal.exit_code if recorded.refused else Mistake.exit_code)


@click.command(name="list", short_help="List the cards that match, best first")
@click.option("--skill", default="", help="Only cards of this primary_skill.")
@click.option("--tag", default="", help="Only cards with this tag.")
@click.option("--query", default="", help="Words, or a part of the text; the best matches come first.")
@click.option("--limit", type=int, default=LIMIT, show_default=True, help="At most so many; 0: all.")
@card_options
def list_cards_command(ctx: CommandContext, *, skill: str, tag: str, query: str, limit: int) -> None:
    """List the cards that match, best first: the newest version of each, without rejected and deprecated ones."""
    deck = deck_of(ctx, write=False)
    listed = list_cards(deck, CardFilters(skill=skill, tag=tag, query=query, limit=limit))
    document: dict[str, Any] = location_fields(deck)
    document |= {"count": len(listed.items), "items": [found.document for found in listed.items]}
    if listed.total > len(listed.items):
        document["total"] = listed.total
    if listed.withheld:
        document["withheld"] = {"count": sum(listed.withheld.values()), "reasons": listed.withheld}
    print_json(ctx, document | ({"message": _NO_CARDS} if listed.is_empty else {}))


@click.command(hidden=True)
@click.option("--kind", required=True, metavar="KIND", help=f"What happened: {', '.join(SignalKind)}.")
@click.option("--aha-id", default="", help="The card it happened to.")
@click.option("--rec-id", default="", help="The recommendation it happened to.")
@click.option("--source", default=MANUAL_SOURCE, show_default=True, help="Who reports it.")
@click.option("--context", default="", help="The context, in a few words.")
@card_options
def signal(ctx: CommandContext, *, kind: str, aha_id: str, rec_id: str, source: str, context: str) -> None:
    """Report what happened to a card or a recommendation. It counts towards the score and changes nothing else."""
    if bool(aha_id) == bool(rec_id):
        hint = "give exactly one of --aha-id and --rec-id"
        raise Mistake("a signal has exactly one target", code="one_target", hint=hint)
    deck = deck_of(ctx)
    made = keep_signal(deck, kind, aha_id.strip() or rec_id.strip(), source=source, context=context)
    where = {"written_to": _written_to(deck, "signals.jsonl"), "signal": line_of(made)}
    print_json(ctx, {"ok": True} | location_fields(deck) | where)


@click.command(hidden=True)
@click.option("--aha", "aha_ids", default="", metavar="IDS", help="Cards that were used, with commas.")
@click.option("--rec", "rec_ids", default="", metavar="IDS", help="Recommendations that were used, with commas.")
@click.option("--source", default=BY_AGENT, show_default=True, help="Who reports it.")
@click.option("--context", default="", help="The context, in a few words.")
@card_options
def use(ctx: CommandContext, *, aha_ids: str, rec_ids: str, source: str, context: str) -> None:
    """Report which cards and recommendations were used."""
    usage = UsageClaim(cards=id_list(aha_ids), recommendations=id_list(rec_ids), source=source, context=context)
    if not usage.cards and not usage.recommendations:
        raise Mistake("no ids were given", code="no_ids", hint="give --aha aha_…[,aha_…] or --rec rec_…[,rec_…]")
    deck = deck_of(ctx)
    used = keep_usage(deck, usage)
    where = {"written_to": _written_to(deck, "signals.jsonl")}
    report = _used_document(used)
    document = (
        {"ok": bool(used.signals)} | location_fields(deck) | where | {"signals_written": report.pop("written")} | report
    )
    print_json(ctx, document)
    if not used.signals:
        raise click.exceptions.Exit(NotFound.exit_code)


@click.command(name="import", hidden=True)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@card_options
def import_folder(ctx: CommandContext, *, folder: Path) -> None:
    """Import the cards of a FOLDER of the original tool: its files, or a repository that has them."""
    deck = deck_of(ctx)
    source = _card_folder(folder, deck)
    synced = deck.import_folder(source)
    document = {"ok": True} | location_fields(deck) | {"imported_from": str(source.path), "lines": synced.read}
    print_json(ctx, document | {"problems": problems_of(deck, *synced.problems)})


@click.command(name="export", hidden=True)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@card_options
def export_folder(ctx: CommandContext, *, folder: Path) -> None:
    """Write all cards into FOLDER, in the files of the original tool; existing lines stay.

    A folder with an INDEX.md that a person wrote is refused.
    """
    target = CardFolder(folder.resolve())
    target.require_own_index()
    deck = deck_of(ctx, write=False)
    synced = deck.export_folder(target)
    document = {"ok": True} | location_fields(deck) | {"exported_to": str(target.path), "lines": synced.written}
    print_json(ctx, document | {"problems": problems_of(deck, *synced.problems, *target.problems)})


def _payload(file: str) -> dict[str, Any]:
    hint = "give one JSON object with event, aha_cards or recommendations"
    data = _payload_bytes(file)
    if len(data) > _BYTES_MAX:
        hint = "record in several calls"
        raise Mistake("the payload is larger than 16 megabytes", code="payload_too_large", hint=hint)
    if not data.strip():
        raise Mistake("no payload was given", code="no_payload", hint=hint)
    try:
        found = json.loads(data.decode("utf-8"))
    except RecursionError as error:
        raise Mistake("the payload is nested too deeply", code="invalid_payload", hint=hint) from error
    except ValueError as error:
        raise Mistake(f"the payload is not JSON: {error}", code="invalid_payload", hint=hint) from error
    if not isinstance(found, dict):
        raise Mistake("the payload is not a JSON object", code="invalid_payload", hint=hint)
    if problem := invalid_value(found) or _too_long(found):
        hint = "leave it out, or write it as a short text"
        raise Mistake(f"the payload cannot be stored: {problem}", code="invalid_payload", hint=hint)
    return found


def _too_long(payload: Mapping[str, Any]) -> str:
    """Return the problem of an entry that is too long for a line; empty if none is."""
    items = {"event": payload.get("event")}
    for name in ("aha_cards", "recommendations"):
        found = payload.get(name)
        items |= {f"{name}[{at}]": item for at, item in enumerate(found if isinstance(found, list) else [])}
    for name, item in items.items():
        if len(json.dumps(item)) > _ENTRY_MAX:
            return f"`{name}` has more than {_ENTRY_MAX:,} characters"
    return ""


def _payload_bytes(file: str) -> bytes:
    """Read a regular file or what a shell pipes in, up to one byte over the limit; other pipes are not read."""
    try:
        if file == "-":
            return sys.stdin.buffer.read(_BYTES_MAX + 1)
        if _ALREADY_OPEN.fullmatch(file):
            with open(file, "rb") as piped:  # noqa: PTH123 - no place, but a number
                return piped.read(_BYTES_MAX + 1)
        return read_plain(Path(file).expanduser(), limit=_BYTES_MAX, follow=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a valid path"
        raise NotFound(f"cannot read {clean(file)}: {why}", hint="give a JSON file, or pipe it in") from error


def _recorded_document(deck: Cards, recorded: RecordResult, payload: Mapping[str, Any]) -> dict[str, Any]:
    files = {
        "events": "events.jsonl" if recorded.event else "",
        "aha_cards": "aha_cards.jsonl" if recorded.cards else "",
        "recommendations": "recommendations.jsonl" if recorded.recommendations else "",
    }
    document: dict[str, Any] = {"ok": True} | location_fields(deck)
    document["written"] = {name: _written_to(deck, file) for name, file in files.items() if file}
    document["usage_signals"] = _used_document(recorded.used)
    document["event_id"] = recorded.event.key if recorded.event else None
    refused = {each.number for each in recorded.refused if each.what == "aha_card"}
    numbers = [number for number, _ in enumerate(payload.get("aha_cards") or [], start=1) if number not in refused]
    document["cards"] = [
        {"number": number, **_card_document(deck, card, outcome)}
        for number, (card, outcome) in zip(numbers, recorded.cards, strict=True)
    ]
    document["recommendations"] = [
        {"id": each.key, "outcome": outcome, "status": each.status} for each, outcome in recorded.recommendations
    ]
    document["refused"] = [
        {"kind": each.what, "number": each.number, "title": each.title, "reasons": list(each.reasons)}
        for each in recorded.refused
    ]
    return document


def _card_document(deck: Cards, card: Card, outcome: str) -> dict[str, Any]:
    document: dict[str, Any] = {"id": card.key, "title": card.title[:200], "outcome": outcome}
    document |= {"version_id": card.version_id, "reviewed": deck.is_reviewed(card)}
    return document | ({"withheld": "until a person has reviewed it"} if deck.is_held_back(card) else {})


def _used_document(used: UsageReport) -> dict[str, Any]:
    return {
        "written": [line_of(each) for each in used.signals],
        "invalid_ids": [{"id": each, "expected_prefix": prefix} for each, prefix in used.invalid],
        "errors": [{"id": each, "error": "this id does not exist here"} for each in used.unknown],
    }


def _written_to(deck: Cards, file: str) -> str:
    return str(deck.folder / file) if deck.syncs_folder else "the store only (tacit cards init creates a folder)"


def _card_folder(folder: Path, deck: Cards) -> CardFolder:
    """Return the folder with the files: the given one, or this user's below it."""
    ways = [Path(*BELOW.parts[start:]) for start in range(len(BELOW.parts), -1, -1)]
    for place in (folder, *(folder / way / deck.user for way in ways)):
        if any((place / name).is_file() for name in FILES.values()):
            return CardFolder(place.resolve())
    hint = "name the folder that holds aha_cards.jsonl, or a repository with .agent-skills"
    raise NotFound(f"no card files in {folder}", hint=hint)
