"""`tacit init` and `tacit uninstall`: connect the coding agents of this project to Tacit, and take everything back.

What changes is found by `clients.installation`, and shown by `installing_view`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from tacit.config.channels import CHANNELS, HOOK, MCP, SKILL, channels, choose
from tacit.config.location import FOLDER
from tacit.domain.errors import Mistake, TacitError
from tacit.surfaces import exports
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.surfaces.cli.mcp import can_serve
from tacit.surfaces.clients.connections import (
    beside_shared,
    find_withdrawal,
    is_connected,
    is_connected_by_project,
)
from tacit.surfaces.clients.installation import Change, carry_out, plan_putting, plan_taking
from tacit.surfaces.clients.launcher import Launcher, find_launcher
from tacit.surfaces.clients.plan import SERVER, Audience, Client, File, Places
from tacit.surfaces.clients.record import Record
from tacit.surfaces.clients.registry import CLIENTS, files_of, find_places, present

_CODEX_NEXT = "Codex skips hooks until you trust them: start `codex`, type /hooks, and trust those of Tacit"
_CODEX_EVERYWHERE = (
    "Codex has no settings for one person in one project: its hooks serve every project of yours, and a repository gets "
    "its `.tacit` folder when a session ends there"
)
_LASTING = "install Tacit so that every shell finds it (see Install in the README)"


@dataclass(slots=True, kw_only=True)
class _Wish:
    """What a person wants connected, and what is known about this machine and project."""

    places: Places
    launcher: Launcher
    record: Record
    audience: Audience | None
    """For whom; `None` leaves it to each client's own default."""
    clients: list[Client] = field(default_factory=list)
    connected: list[Client] = field(default_factory=list)
    """Those that the project's shared files connect already, so that nothing is to be done for them."""

    def audience_of(self, client: Client) -> Audience:
        return self.audience or client.default


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
    ctx: CommandContext,
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
    in all your projects. Shows the difference and asks first. Keeps everything else in the files as it is. Run again, it
    changes nothing; `tacit uninstall` takes everything back. An agent may only look (--dry-run).
    """
    if shared and user:
        raise Mistake("--shared is for everybody and --user for you alone", hint="leave one out")
    if not dry_run:
        ctx.caller.require_person("init")
    wish = _wish(ctx, names, Audience.SHARED if shared else Audience.USER if user else None)
    changes = _changes(wish)
    asked = [*wish.clients, *wish.connected]
    now = channels(str(ctx.place.folder))
    ways = {client.name: channel or now.get(client.name, HOOK) for client in asked}
    outlook = Outlook(changes=changes, notes=_notes(wish, changes), channels=ways, quiet=yes and not dry_run)
    written = _settle(ctx, outlook, dry_run=dry_run, yes=yes)
    left: list[str] = []
    if written:
        carry_out(changes, wish.record, ctx.environment.home, at=time.time())
        left = _choose(ctx, asked, channel) if channel else []
    answer(ctx, outlook, written=written, left=left, steps=_next_steps(changes) if written else ())


@click.command()
@click.option(
    "--client", "names", multiple=True, type=click.Choice(list(CLIENTS)), help="Only this one (may be repeated)."
)
@click.option("--shared", is_flag=True, help="Also from this project's committed files, for everybody who works on it.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@command_options
def uninstall(ctx: CommandContext, *, names: tuple[str, ...], shared: bool, dry_run: bool, yes: bool) -> None:
    """Take back everything that your `tacit init` wrote, in this project and wherever else it is on record.

    Files that you have not touched since become what they were, byte for byte; from others only Tacit's part goes. What a
    teammate committed stays, unless you say --shared. What was learned stays in `.tacit`. Refused in an agent's shell.
    """
    if not dry_run:
        ctx.caller.require_person("uninstall")
    places = find_places(ctx.environment, Path.cwd())
    record = Record.load(ctx.environment.home)
    launcher = find_launcher(places.project, places.user_home)
    chosen = names or tuple(CLIENTS)
    found = find_withdrawal(places, record, launcher=launcher, clients=chosen, shared=shared)
    changes = plan_taking(found.files, record)
    notes = [
        f"{path} connects {title} for everybody in this project; `tacit uninstall --shared` would remove that for everybody"
        for title, path in found.shared.items()
    ]
    others = _others(changes, places)
    notes += [f"this is not only about this project; also: {', '.join(others)}"] if others else []
    outlook = Outlook(changes=changes, notes=notes, quiet=yes and not dry_run, is_safe=not others)
    written = _settle(ctx, outlook, dry_run=dry_run, yes=yes)
    left: list[str] = []
    if written:
        left = _withdraw(ctx)
        carry_out(changes, record, ctx.environment.home, at=time.time())
        _forget_channels(ctx, chosen)
        if Path(ctx.place.database).exists():
            left.append(f"what was learned stays in {ctx.place.folder}")
    answer(ctx, outlook, written=written, left=left)
    if any(change.problem for change in changes):
        ctx.end_with(Mistake("some files could not be read", hint="mend them and run it again, or delete by hand"))


def _wish(ctx: CommandContext, names: Sequence[str], audience: Audience | None) -> _Wish:
    places = find_places(ctx.environment, Path.cwd())
    wish = _Wish(
        places=places,
        launcher=find_launcher(places.project, places.user_home),
        record=Record.load(ctx.environment.home),
        audience=audience,
    )
    asked = [CLIENTS[name] for name in dict.fromkeys(names)] or present(places)
    if not asked:
        raise Mistake("neither Claude Code nor Codex was found", hint="name one: tacit init --client claude-code")
    for client in asked:
        done = audience is None and is_connected_by_project(client, places, launcher=wish.launcher)
        (wish.connected if done else wish.clients).append(client)
    return wish


def _changes(wish: _Wish) -> list[Change]:
    """What to write, and what to take back from where the same client was connected before."""
    put: list[File] = []
    former: list[File] = []
    for client in wish.clients:
        audience = wish.audience_of(client)
        files = files_of(client, wish.places, audience, launcher=wish.launcher)
        files = beside_shared(client, wish.places, files, launcher=wish.launcher)
        put += [file for file in files if file.what != SERVER or audience is Audience.SHARED or can_serve()]
        for other in sorted(wish.record.former(client.name, wish.places.project, audience)):
            former += files_of(client, wish.places, Audience(other), launcher=wish.launcher)
    return plan_putting(put, wish.record, instead_of=former)


def _notes(wish: _Wish, changes: Sequence[Change]) -> list[str]:
    told = [
        f"{client.title} is connected already by this project's shared files; nothing is to be done for it"
        for client in wish.connected
    ]
    personal = [client for client in wish.clients if wish.audience_of(client) is not Audience.SHARED]
    if personal and wish.launcher.warning:
        told.append(f"{wish.launcher.warning}: {_LASTING}")
    if personal and not can_serve():
        told.append(
            "without the extra there is no MCP server; hooks do without it (pip install 'tacit[mcp]' brings it)"
        )
    for client in wish.clients:
        team = files_of(client, wish.places, Audience.SHARED, launcher=wish.launcher)
        if wish.audience is None and is_connected(team):
            told.append(f"{team[0].path} connects {client.title} too, in part: `tacit init --shared` completes it")
        audiences = wish.record.audiences(client.name) | {wish.audience_of(client)}
        if is_connected_by_project(client, wish.places, launcher=wish.launcher):
            audiences.add(Audience.SHARED)
        if Audience.USER in audiences and len(audiences) > 1:
            told.append(
                f"{client.title} is connected for all projects and for a single one: there its hooks fire twice"
            )
    if any(change.is_change and change.file.client == "codex" for change in changes) and wish.audience is None:
        told.append(_CODEX_EVERYWHERE)
    return told


def _settle(ctx: CommandContext, outlook: Outlook, *, dry_run: bool, yes: bool) -> bool:
    """Show what would change, and find out whether to write: nothing to ask about, said so already, or a person says yes."""
    if not outlook.quiet:
        show_outlook(ctx, outlook)
    if dry_run or yes or not any(change.is_change for change in outlook.changes):
        return not dry_run
    if ctx.as_json or not ctx.caller.at_terminal:
        raise Mistake("nobody is there to ask", hint="--dry-run shows what would change, --yes writes it")
    return click.confirm("Write this?", default=outlook.is_safe)


def _next_steps(changes: Sequence[Change]) -> list[str]:
    changed = {change.file.client for change in changes if change.is_change}
    steps = [_CODEX_NEXT] if "codex" in changed else []
    if changed:
        steps += [
            "a session that is running now has to be started anew",
            "`tacit doctor` shows whether every hook fires",
        ]
    return steps


def _others(changes: Sequence[Change], places: Places) -> list[str]:
    """What else than this project is concerned: other projects, and clients that are connected in all of them."""
    going = [change for change in changes if change.is_change]
    notes = [note for change in going for note in change.gone]
    projects = {*(note.project for note in notes), *(change.file.project for change in going)}
    users = {change.file.client for change in going if change.file.audience is Audience.USER}
    everywhere = [f"{client.title} in all your projects" for client in CLIENTS.values() if client.name in users]
    return [*sorted(projects - {"", str(places.project)}), *everywhere]


def _choose(ctx: CommandContext, clients: Sequence[Client], channel: str) -> list[str]:
    """Keep the channel; what is approved already comes by it at once."""
    ctx.place.prepare()
    folder = str(ctx.place.folder)
    before = channels(folder)
    for client in clients:
        choose(folder, client.name, channel)
    if channels(folder) == before or not Path(ctx.place.database).exists():
        return []
    return [*_left(exports.withdraw(ctx.memory)), *_left(exports.export(ctx.memory))]


def _withdraw(ctx: CommandContext) -> list[str]:
    """Take back the skills that were exported as folders; says what stays."""
    if not Path(ctx.place.database).exists():
        return []
    try:
        return _left(exports.withdraw(ctx.memory))
    except TacitError as error:  # a store that cannot be opened must not keep anybody from leaving
        return [f"exported skills stay where they are, because the store does not open: {error.message}"]


def _left(folders: Sequence[exports.Kept]) -> list[str]:
    reasons = {"edited": "you have edited it", "foreign": "it is not Tacit's"}
    return [f"{kept.path} stays as it is: {reasons[kept.what]}" for kept in folders if kept.what in reasons]


def _forget_channels(ctx: CommandContext, clients: Sequence[str]) -> None:
    """Take back the choice of channels, and a store's folder in which nothing was ever kept."""
    folder = ctx.place.folder
    if not folder.is_dir():
        return
    for name in clients:
        choose(str(folder), name, HOOK)
    if channels(str(folder)) and Path(ctx.place.database).exists():
        exports.export(ctx.memory)  # the clients that stay keep theirs
    if folder.name == FOLDER and [path.name for path in folder.iterdir()] == [".gitignore"]:
        (folder / ".gitignore").unlink()
        folder.rmdir()


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_WAYS = {HOOK: "as context at the right moment", SKILL: "procedures as SKILL.md folders", MCP: "on demand"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What would be written, and what a person should know before."""

    changes: Sequence[Change]
    notes: Sequence[str]
    channels: Mapping[str, str] = field(default_factory=dict)
    """Client → how learned skills will come to it."""
    quiet: bool = False
    """Whether nobody is asked, so that the list of files at the end is enough."""
    is_safe: bool = True
    """Whether a bare Enter may mean yes."""

    @property
    def touched(self) -> list[Change]:
        """The files that change or that cannot be changed."""
        return [change for change in self.changes if change.is_change or change.kept or change.problem]


def show_outlook(ctx: CommandContext, outlook: Outlook) -> None:
    """Before anything is written: the difference, then the files, then what to know."""
    if ctx.as_json:
        return
    for change in outlook.changes:
        for line in change.diff():
            ctx.console.print(Text(clean(line), style=_COLOURS.get(line[:1], "")), soft_wrap=True)
    _show_list(ctx, outlook, would=True)


def answer(
    ctx: CommandContext, outlook: Outlook, *, written: bool, left: Sequence[str] = (), steps: Sequence[str] = ()
) -> None:
    """At the end: what was done, what was left as it is, and what to do next."""
    document = {
        "written": written,
        "changes": [_document(change) for change in outlook.touched],
        "channels": outlook.channels,
        "warnings": outlook.notes,
        "left": left,
        "next": steps,
    }

    def show() -> None:
        if outlook.quiet:
            _show_list(ctx, outlook, would=False)
        count = sum(change.is_change for change in outlook.changes)
        if not outlook.touched:
            ctx.console.print("nothing to change")
        elif not written:
            ctx.console.print("nothing was written")
        else:
            ctx.console.print(f"{count} {'file' if count == 1 else 'files'} changed")
        for text in left:
            ctx.console.print(Text(f"note: {clean(text)}", style="yellow"), soft_wrap=True)
        for text in steps:
            ctx.console.print(Text(f"next: {clean(text)}", style="cyan"), soft_wrap=True)

    ctx.answer(document, show)


def _show_list(ctx: CommandContext, outlook: Outlook, *, would: bool) -> None:
    for change in outlook.touched:
        action = _action(change)
        action = f"would {action}" if would and change.is_change else action
        why = change.kept or change.problem
        line = f"{action:{14 if would else 8}} {change.file.path}  ({change.file.what}{', ' + why if why else ''})"
        ctx.console.print(Text(clean(line), style="red" if change.problem else ""), soft_wrap=True)
    for client, channel in outlook.channels.items():
        ctx.console.print(f"{CLIENTS[client].title}: what was learned comes by {channel} ({_WAYS[channel]})")
    for text in outlook.notes:
        ctx.console.print(Text(f"note: {clean(text)}", style="yellow"), soft_wrap=True)


def _document(change: Change) -> dict[str, Any]:
    return {
        "path": str(change.file.path),
        "client": change.file.client,
        "audience": change.file.audience,
        "what": change.file.what,
        "action": _action(change),
        "kept": change.kept,
        "problem": change.problem,
        "diff": "\n".join(change.diff()),
    }


def _action(change: Change) -> str:
    if not change.is_change:
        return "keep"
    return "create" if change.before is None else "remove" if change.after is None else "edit"
