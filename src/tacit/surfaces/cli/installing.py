"""`tacit init` and `tacit uninstall`: connect the coding agents of this project to Tacit, and take everything back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from tacit.config.channels import CHANNELS, HOOK, choose
from tacit.config.whereabouts import FOLDER
from tacit.domain.errors import Mistake
from tacit.surfaces.cli.serving import can_serve
from tacit.surfaces.cli.session import Session, clean, command_options
from tacit.surfaces.clients.installation import Change, carry_out, plan_putting, plan_taking
from tacit.surfaces.clients.launcher import Launcher, find_launcher
from tacit.surfaces.clients.plan import SERVER, Audience, Client, Places
from tacit.surfaces.clients.record import Record
from tacit.surfaces.clients.registry import CLIENTS, all_files, files_of, find_places, present

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_CODEX_NEXT = "Codex skips hooks until you trust them: start `codex`, type /hooks, and trust those of Tacit"


@click.command()
@click.option(
    "--client",
    "names",
    multiple=True,
    type=click.Choice(list(CLIENTS)),
    help="Only this one (may be repeated); otherwise each that is found on this machine.",
)
@click.option("--shared", is_flag=True, help="Into the project's committed files, for everybody who works on it.")
@click.option("--user", is_flag=True, help="For every project of yours, not only this one.")
@click.option(
    "--channel",
    type=click.Choice(CHANNELS),
    help="How learned skills come to the client in this project: as context (hook, the default), as SKILL.md, or on demand.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@command_options
def init(
    session: Session,
    *,
    names: tuple[str, ...],
    shared: bool,
    user: bool,
    channel: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Connect Claude Code and Codex to Tacit: hooks, MCP server, the `tacit` skill, policy text and deny rules.

    By default only for you: Claude Code in this project, by files that are not committed; Codex, which knows no such files,
    in all your projects. Shows the difference first. Keeps everything else in the files as it is. Run again, it changes
    nothing; `tacit uninstall` takes everything back. An agent may only look (--dry-run).
    """
    if shared and user:
        raise Mistake("--shared is for everybody and --user for you alone", hint="leave one out")
    if not dry_run:
        session.caller.require_person("init")
    places = find_places(session.surroundings, Path.cwd())
    clients = [CLIENTS[name] for name in dict.fromkeys(names)] or present(places)
    if not clients:
        raise Mistake("neither Claude Code nor Codex was found", hint="name one: tacit init --client claude-code")
    launcher = find_launcher(places.project, places.user_home)
    record = Record.load(session.surroundings.home)
    wanted = Audience.SHARED if shared else Audience.USER if user else None
    changes = _changes(clients, places, wanted, launcher=launcher, record=record)
    warnings = _warnings(clients, wanted, launcher=launcher, record=record)
    _show_diffs(session, changes, warnings)
    written = not dry_run and _agreed(session, changes, yes=yes)
    if written:
        carry_out(changes, record, session.surroundings.home)
        if channel:
            session.place.prepare()
            for client in clients:
                choose(str(session.place.folder), client.name, channel)
    steps = _next_steps(clients, changes) if written else []
    _answer(session, changes, written=written, told=(warnings, steps))


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@command_options
def uninstall(session: Session, *, dry_run: bool, yes: bool) -> None:
    """Take back everything that `tacit init` wrote, in this project and wherever else it is on record.

    Files that you have not touched since become what they were, byte for byte; from others only Tacit's part goes. What was
    learned stays in `.tacit`. Refused in an agent's shell.
    """
    if not dry_run:
        session.caller.require_person("uninstall")
    places = find_places(session.surroundings, Path.cwd())
    record = Record.load(session.surroundings.home)
    launcher = find_launcher(places.project, places.user_home)
    changes = plan_taking(all_files(places, record, launcher=launcher), record)
    _show_diffs(session, changes, ())
    written = not dry_run and _agreed(session, changes, yes=yes)
    if written:
        carry_out(changes, record, session.surroundings.home)
        _forget_channels(session.place.folder)
    learned = [f"what was learned stays in {session.place.folder}"] if Path(session.place.database).exists() else []
    _answer(session, changes, written=written, told=([], learned))


def _forget_channels(folder: Path) -> None:
    """Take back the choice of channels, and a store's folder in which nothing was ever kept."""
    if not folder.is_dir():
        return
    for name in CLIENTS:
        choose(str(folder), name, HOOK)
    if folder.name == FOLDER and [path.name for path in folder.iterdir()] == [".gitignore"]:
        (folder / ".gitignore").unlink()
        folder.rmdir()


def _changes(
    clients: Sequence[Client], places: Places, wanted: Audience | None, *, launcher: Launcher, record: Record
) -> list[Change]:
    """What to write, and what to take back from where the same client was connected before."""
    put, former = [], []
    for client in clients:
        audience = wanted or client.default
        files = files_of(client, places, audience, launcher=launcher)
        put += [file for file in files if file.what != SERVER or audience is Audience.SHARED or can_serve()]
        for other in sorted(record.former(client.name, places.project, audience)):
            former += files_of(client, places, Audience(other), launcher=launcher)
    return plan_putting(put, record, instead_of=former)


def _agreed(session: Session, changes: Sequence[Change], *, yes: bool) -> bool:
    """Whether to write: nothing to ask about, said so already, or a person at the terminal says yes."""
    if yes or not any(change.is_change for change in changes):
        return True
    if session.as_json or not session.caller.at_terminal:
        raise Mistake("nobody is there to ask", hint="--dry-run shows what would change, --yes writes it")
    return click.confirm("Write this?", default=True)


def _warnings(clients: Sequence[Client], wanted: Audience | None, *, launcher: Launcher, record: Record) -> list[str]:
    told = [launcher.warning] if launcher.warning and wanted is not Audience.SHARED else []
    if wanted is not Audience.SHARED and not can_serve():
        told.append(
            "without the extra there is no MCP server; hooks do without it (pip install 'tacit[mcp]' brings it)"
        )
    for client in clients:
        audiences = record.audiences(client.name) | {wanted or client.default}
        if Audience.USER in audiences and len(audiences) > 1:
            told.append(
                f"{client.title} is connected for all projects and for a single one: there its hooks fire twice"
            )
    return told


def _next_steps(clients: Sequence[Client], changes: Sequence[Change]) -> list[str]:
    changed = {change.file.client for change in changes if change.is_change}
    steps = [_CODEX_NEXT] if any(client.name == "codex" and client.name in changed for client in clients) else []
    if changed:
        steps += [
            "a session that is running now has to be started anew",
            "`tacit doctor` shows whether every hook fires",
        ]
    return steps


def _answer(
    session: Session,
    changes: Sequence[Change],
    *,
    written: bool,
    told: tuple[Sequence[str], Sequence[str]],
) -> None:
    warnings, steps = told
    touched = [change for change in changes if change.is_change or change.kept]
    document = {
        "written": written,
        "changes": [_document(change) for change in touched],
        "warnings": warnings,
        "next": steps,
    }

    def show() -> None:
        for change in touched:
            line = f"{_action(change):8} {change.file.path}  ({change.file.what}{', ' + change.kept if change.kept else ''})"
            session.console.print(Text(clean(line)), soft_wrap=True)
        if not touched:
            session.console.print("nothing to change")
        elif not written:
            session.console.print("nothing was written")
        for text in steps:
            session.console.print(Text(f"next: {text}", style="cyan"), soft_wrap=True)

    session.answer(document, show)


def _document(change: Change) -> dict[str, Any]:
    return {
        "path": str(change.file.path),
        "client": change.file.client,
        "audience": change.file.audience,
        "what": change.file.what,
        "action": _action(change),
        "kept": change.kept,
        "diff": "\n".join(change.diff()),
    }


def _action(change: Change) -> str:
    if not change.is_change:
        return "keep"
    return "create" if change.before is None else "remove" if change.after is None else "edit"


def _show_diffs(session: Session, changes: Sequence[Change], warnings: Sequence[str]) -> None:
    if session.as_json:
        return
    for change in changes:
        for line in change.diff():
            session.console.print(Text(clean(line), style=_COLOURS.get(line[:1], "")), soft_wrap=True)
    for text in warnings:
        session.console.print(Text(f"note: {text}", style="yellow"), soft_wrap=True)
