"""`tacit init` and `tacit uninstall`: connect the coding agents of this project to Tacit, and take everything back.

What changes is found by `clients.installation`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from tacit.config.channels import CHANNELS, HOOK, MCP, SKILL, channels, choose
from tacit.config.location import FOLDER
from tacit.domain.errors import Mistake, TacitError
from tacit.maintain import exports
from tacit.surfaces.cli.context import CommandContext, command_options, counted
from tacit.surfaces.cli.mcp import can_serve
from tacit.surfaces.cli.model_use import ReadingCost, ask_for_reading, offered_reading, reading_line
from tacit.surfaces.cli.report import ReportPart, fields, print_parts, safe
from tacit.surfaces.clients.connections import (
    CLIENTS,
    SERVER,
    Audience,
    Client,
    ClientFile,
    ClientFolders,
    Launcher,
    files_of,
    find_client_folders,
    find_launcher,
    installed_clients,
)
from tacit.surfaces.clients.installation import (
    InstallationRecord,
    SettingsChange,
    apply_changes,
    find_uninstall_plan,
    is_connected,
    is_connected_by_project,
    plan_install,
    plan_uninstall,
    without_shared_parts,
)

_CODEX_NEXT = "Codex skips hooks until you trust them: start `codex`, type /hooks, and trust those of Tacit"
_CODEX_EVERYWHERE = (
    "Codex has no settings for one person in one project: its hooks serve every project of yours, and a repository gets "
    "its `.tacit` folder when a session ends there"
)
_NEXT = ("restart the sessions that are running now", "run `tacit doctor` to see whether every hook fires")
_LASTING = "install Tacit so that every shell finds it (see Install in the README)"


@click.command()
@click.option(
    "--client",
    "names",
    multiple=True,
    type=click.Choice(list(CLIENTS)),
    help="Only this client (repeatable); by default each that is found on this machine.",
)
@click.option("--shared", is_flag=True, help="Write into the project's committed files, for everybody who works on it.")
@click.option("--user", is_flag=True, help="For every project of yours, not only this one.")
@click.option(
    "--channel",
    type=click.Choice(CHANNELS),
    help="How the client gets learned skills here: as context (hook, default), as SKILL.md, or on demand (mcp).",
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

    By default only for you: Claude Code in this project, in files that are not committed; Codex, which has no such files, in
    all your projects. It shows the changes and asks first, and leaves everything else in the files as it is. Running it again
    changes nothing; `tacit uninstall` removes everything. An agent may only look (--dry-run).
    """
    if shared and user:
        raise Mistake("--shared and --user exclude each other", code="shared_and_user", hint="leave one out")
    if not dry_run:
        ctx.caller.require_person("init")
    places = find_client_folders(ctx.environment, Path.cwd())
    asked = [CLIENTS[name] for name in dict.fromkeys(names)] or installed_clients(places)
    if not asked:
        hint = "name one: tacit init --client claude-code"
        raise Mistake("neither Claude Code nor Codex was found", code="no_client", hint=hint)
    audience = Audience.SHARED if shared else Audience.USER if user else None
    record, launcher = InstallationRecord.load(ctx.environment.home), find_launcher(places.project, places.user_home)
    # Without an audience, each client has its own default, and those that the project's shared files connect have theirs.
    connected = [c for c in asked if audience is None and is_connected_by_project(c, places, launcher=launcher)]
    clients = [(client, audience or client.default) for client in asked if client not in connected]
    changes = _plan_changes(clients, places, record, launcher)
    asked = [*(client for client, _ in clients), *connected]
    notes = [f"{client.title} is already connected by this project's shared files" for client in connected]
    notes += _notes(clients, places, record, launcher, chosen=audience is not None)
    if audience is None and any(change.is_change and change.file.client == "codex" for change in changes):
        notes.append(_CODEX_EVERYWHERE)
    now = channels(str(ctx.place.folder))
    ways = {client.name: channel or now.get(client.name, HOOK) for client in asked}
    planned = PlannedChanges(changes=changes, notes=notes, channels=ways, quiet=yes and not dry_run)
    written = _settle(ctx, planned, dry_run=dry_run, yes=yes)
    left: list[str] = []
    if written:
        apply_changes(changes, record, ctx.environment.home, at=time.time())
        left = _choose(ctx, asked, channel) if channel else []
    reading = offered_reading(ctx, [client.name for client in asked])
    if reading and written and not yes and ctx.can_ask:
        reading = ask_for_reading(ctx, reading)
    changed = {change.file.client for change in changes if written and change.is_change}
    steps = [_CODEX_NEXT] if "codex" in changed else []
    steps += _NEXT if changed else ()
    _report_changes(ctx, planned, written=written, left=left, steps=steps, reading=reading)


@click.command()
@click.option(
    "--client", "names", multiple=True, type=click.Choice(list(CLIENTS)), help="Only this client (repeatable)."
)
@click.option("--shared", is_flag=True, help="Also remove it from this project's committed files, for everybody.")
@click.option(
    "--exports",
    "remove_exported",
    is_flag=True,
    help="Also remove skills that you exported into the project's skill folders.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@command_options
def uninstall(
    ctx: CommandContext, *, names: tuple[str, ...], shared: bool, remove_exported: bool, dry_run: bool, yes: bool
) -> None:
    """Remove everything that your `tacit init` wrote, in this project and wherever else it is on record.

    Files that you have not edited since are restored byte for byte; from others only Tacit's part is removed. What a teammate
    committed stays unless you pass --shared. What was learned stays in `.tacit`, and exported skills stay unless you pass
    --exports. Refused in an agent's shell.
    """
    if not dry_run:
        ctx.caller.require_person("uninstall")
    places = find_client_folders(ctx.environment, Path.cwd())
    record = InstallationRecord.load(ctx.environment.home)
    launcher = find_launcher(places.project, places.user_home)
    chosen = names or tuple(CLIENTS)
    files, for_all = find_uninstall_plan(places, record, launcher=launcher, clients=chosen, shared=shared)
    changes = plan_uninstall(files, record)
    notes = [
        f"{path} connects {title} for everybody in this project; `tacit uninstall --shared` would remove that for everybody"
        for title, path in for_all.items()
    ]
    others = _others(changes, places)
    notes += [f"this also affects: {', '.join(others)}"] if others else []
    if Path(ctx.place.database).exists():
        with suppress(TacitError):  # said again, with the reason, when the folders are to be removed
            exported = exports.removable_folders(ctx.memory.context, users_own=remove_exported)
            notes += [f"removes the exported skill {path}" for path in exported]
    planned = PlannedChanges(changes=changes, notes=notes, quiet=yes and not dry_run, is_safe=not others)
    written = _settle(ctx, planned, dry_run=dry_run, yes=yes)
    left: list[str] = []
    if written:
        left = _withdraw(ctx, users_own=remove_exported)
        apply_changes(changes, record, ctx.environment.home, at=time.time())
        _forget_channels(ctx, chosen)
        if Path(ctx.place.database).exists():
            left.append(f"what was learned stays in {ctx.place.folder}")
    _report_changes(ctx, planned, written=written, left=left)
    if any(change.problem for change in changes):
        hint = "fix them and run it again, or edit them by hand"
        ctx.end_with(Mistake("some files could not be read", code="unreadable_files", hint=hint))


def _plan_changes(
    clients: Sequence[tuple[Client, Audience]], places: ClientFolders, record: InstallationRecord, launcher: Launcher
) -> list[SettingsChange]:
    """Return what to write, and what to remove where the same client was connected before."""
    put: list[ClientFile] = []
    former: list[ClientFile] = []
    for client, audience in clients:
        files = files_of(client, places, audience, launcher=launcher)
        files = without_shared_parts(client, places, files, launcher=launcher)
        put += [file for file in files if file.what != SERVER or audience is Audience.SHARED or can_serve()]
        for other in sorted(record.former(client.name, places.project, audience)):
            former += files_of(client, places, Audience(other), launcher=launcher)
    return plan_install(put, record, instead_of=former)


def _notes(
    clients: Sequence[tuple[Client, Audience]],
    places: ClientFolders,
    record: InstallationRecord,
    launcher: Launcher,
    *,
    chosen: bool,
) -> Iterator[str]:
    """Yield what a person should know before these clients are connected; `chosen` if the audience was."""
    if any(audience is not Audience.SHARED for _, audience in clients):
        if launcher.warning:
            yield f"{launcher.warning}: {_LASTING}"
        if not can_serve():
            yield "the MCP server is not installed; hooks work without it (pip install 'tacit[mcp]')"
    for client, audience in clients:
        team = files_of(client, places, Audience.SHARED, launcher=launcher)
        if not chosen and is_connected(team):
            yield f"{team[0].path} connects {client.title} only in part: run `tacit init --shared` to complete it"
        audiences = record.audiences(client.name) | {audience}
        if is_connected_by_project(client, places, launcher=launcher):
            audiences.add(Audience.SHARED)
        if Audience.USER in audiences and len(audiences) > 1:
            yield f"{client.title} is connected for all projects and for a single one, where its hooks fire twice"


def _settle(ctx: CommandContext, planned: PlannedChanges, *, dry_run: bool, yes: bool) -> bool:
    """Show what would change, and return whether to write it: with --yes, or after a person agreed."""
    if not planned.quiet and not ctx.as_json:
        print_parts(ctx.console, _planned_lines(planned, would=True))
    if dry_run or yes or not any(change.is_change for change in planned.changes):
        return not dry_run
    if ctx.as_json or not ctx.caller.at_terminal:
        hint = "--dry-run shows what would change, --yes writes it"
        raise Mistake("this needs your answer, and there is no terminal to ask", code="needs_yes", hint=hint)
    return click.confirm("Write this?", default=planned.is_safe)


def _others(changes: Sequence[SettingsChange], places: ClientFolders) -> list[str]:
    """Return what is affected besides this project: other projects, and clients connected in all of them."""
    going = [change for change in changes if change.is_change]
    notes = [note for change in going for note in change.gone]
    projects = {*(note.project for note in notes), *(change.file.project for change in going)}
    users = {change.file.client for change in going if change.file.audience is Audience.USER}
    everywhere = [f"{client.title} in all your projects" for client in CLIENTS.values() if client.name in users]
    return [*sorted(projects - {"", str(places.project)}), *everywhere]


def _choose(ctx: CommandContext, clients: Sequence[Client], channel: str) -> list[str]:
    """Store the channel, and use it for what is already approved."""
    ctx.place.prepare()
    folder = str(ctx.place.folder)
    before = channels(folder)
    for client in clients:
        choose(folder, client.name, channel)
    if channels(folder) == before or not Path(ctx.place.database).exists():
        return []
    context = ctx.memory.context
    return [*_left(exports.remove_exports(context)), *_left(exports.export(context))]


def _withdraw(ctx: CommandContext, *, users_own: bool) -> list[str]:
    """Remove exported skill folders; return what stays and why."""
    if not Path(ctx.place.database).exists():
        return []
    try:
        return _left(exports.remove_exports(ctx.memory.context, users_own=users_own))
    except TacitError as error:  # a store that does not open must not prevent an uninstall
        return [f"exported skills stay where they are, because the store does not open: {error.message}"]


def _left(folders: Sequence[exports.ExportedFolder]) -> list[str]:
    reasons = {
        "edited": "you edited it",
        "foreign": "it is not Tacit's",
        "kept": "you exported it (`tacit uninstall --exports` removes it)",
    }
    return [f"{each.path} stays as it is: {reasons[each.action]}" for each in folders if each.action in reasons]


def _forget_channels(ctx: CommandContext, clients: Sequence[str]) -> None:
    """Remove the choice of channels, and a store's folder that was never used."""
    folder = ctx.place.folder
    if not folder.is_dir():
        return
    for name in clients:
        choose(str(folder), name, HOOK)
    if channels(str(folder)) and Path(ctx.place.database).exists():
        exports.export(ctx.memory.context)  # the remaining clients keep theirs
    if folder.name == FOLDER and [path.name for path in folder.iterdir()] == [".gitignore"]:
        (folder / ".gitignore").unlink()
        folder.rmdir()


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_CHANNEL_TEXT = {HOOK: "as context when needed", SKILL: "procedures as SKILL.md folders", MCP: "on demand"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChanges:
    """What would be written, and what a person should know first."""

    changes: Sequence[SettingsChange]
    notes: Sequence[str]
    channels: Mapping[str, str] = field(default_factory=dict)
    """Client → how it gets learned skills."""
    quiet: bool = False
    """Whether nobody is asked, so that the list of files at the end is enough."""
    is_safe: bool = True
    """Whether a bare Enter may mean yes."""

    @property
    def touched(self) -> list[SettingsChange]:
        """The files that change or cannot be changed."""
        return [change for change in self.changes if change.is_change or change.kept or change.problem]


def _action(change: SettingsChange) -> str:
    if not change.is_change:
        return "keep"
    return "create" if change.before is None else "remove" if change.after is None else "edit"


def _planned_lines(planned: PlannedChanges, *, would: bool) -> Iterator[ReportPart]:
    """Yield the files, the channels and the notes; before anything is written also the diffs."""
    for change in planned.changes if would else ():
        yield from (f"[{_COLOURS.get(line[:1], 'default')}]{safe(line)}[/]" for line in change.diff())
    for change in planned.touched:
        action = f"would {_action(change)}" if would and change.is_change else _action(change)
        note = ", ".join(filter(None, (change.file.what, change.kept or change.problem)))
        style = "red" if change.problem else "default"
        yield f"[{style}]{action:{14 if would else 8}} {safe(f'{change.file.path}  ({note})')}[/]"
    for client, channel in planned.channels.items():
        yield f"{CLIENTS[client].title} gets skills by {channel} ({_CHANNEL_TEXT[channel]})"
    yield from (f"[yellow]note: {safe(text)}[/]" for text in planned.notes)


def _report_changes(
    ctx: CommandContext,
    planned: PlannedChanges,
    *,
    written: bool,
    left: Sequence[str] = (),
    steps: Sequence[str] = (),
    reading: ReadingCost | None = None,
) -> None:
    """Report what was done, what stays, and what to do next."""
    document = {
        "written": written,
        "changes": [
            {
                "path": str(change.file.path),
                **fields(change.file, "client", "audience", "what"),
                "action": _action(change),
                **fields(change, "kept", "problem"),
                "diff": "\n".join(change.diff()),
            }
            for change in planned.touched
        ],
        "channels": planned.channels,
        "warnings": planned.notes,
        "left": left,
        "next": steps,
        "reading": asdict(reading) if reading else None,
    }

    def lines() -> Iterator[ReportPart]:
        if planned.quiet:
            yield from _planned_lines(planned, would=False)
        if planned.touched and written:
            yield f"{counted(sum(change.is_change for change in planned.changes), 'file')} changed"
        else:
            yield "Nothing was written." if planned.touched else "Nothing to change."
        yield from (f"[yellow]note: {safe(text)}[/]" for text in left)
        yield from (f"[cyan]next: {safe(text)}[/]" for text in steps)
        yield reading_line(reading) if reading and written else None

    ctx.report(document, lines)
