"""`tacit init` and `tacit uninstall`: connect the coding agents of this project to Tacit, and take everything back.

What changes is found by `clients.installation`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from tacit.config.channels import CHANNELS, HOOK, MCP, SKILL, channels, choose
from tacit.config.files import write_atomically
from tacit.config.location import EVERY_PROJECT, FOLDER
from tacit.domain.errors import Mistake, TacitError
from tacit.maintain import exports
from tacit.surfaces.cli.context import CommandContext, command_options, counted
from tacit.surfaces.cli.mcp import can_serve
from tacit.surfaces.cli.model_use import ReadingCost, ask_for_reading, offered_reading, reading_line
from tacit.surfaces.cli.report import ReportPart, fields, print_parts, safe
from tacit.surfaces.clients.connections import (
    CLIENTS,
    Audience,
    Client,
    ClientFile,
    ClientFolders,
    Launcher,
    files_of,
    find_client_folders,
    find_launcher,
    installed_clients,
    without_server,
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
    shared_files,
    without_shared_parts,
)

_CODEX_NEXT = "Codex skips hooks until you trust them: start `codex`, type /hooks, and trust those of Tacit"
_EVERYWHERE = (
    "{} has no settings for one project: its hooks are called in all your projects, and do nothing in a repository that "
    "is not connected"
)
_REACH = {
    Audience.LOCAL: "only you, only this project; nothing is committed",
    Audience.SHARED: "everybody who works on this project; to be committed",
}
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
@click.option("--meaning", is_flag=True, help="Instead: download a small model, so that recall also goes by meaning.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--diff", is_flag=True, help="Show every changed line.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@command_options
def init(
    ctx: CommandContext,
    *,
    names: tuple[str, ...],
    shared: bool,
    user: bool,
    channel: str | None,
    meaning: bool,
    dry_run: bool,
    diff: bool,
    yes: bool,
) -> None:
    """Connect your coding agents to Tacit: hooks, MCP server, the `tacit` skill, policy text and deny rules.

    By default only for you and this project, in files that are not committed. A client that has no such files is asked
    about, and --yes leaves it out unless --client names it. It shows what changes and asks first, and leaves
    everything else in the files as it is. Running it again changes nothing; `tacit uninstall` removes everything. An agent
    may only look (--dry-run).
    """
    if shared and user:
        raise Mistake("--shared and --user exclude each other", code="shared_and_user", hint="leave one out")
    if not dry_run:
        ctx.caller.require_person("init")
    if meaning:
        _set_up_meaning(ctx, alone=not (names or shared or user or channel), dry_run=dry_run, yes=yes)
        return
    places = find_client_folders(ctx.environment, Path.cwd())
    asked = _named_or_found(names, places)
    audience = Audience.SHARED if shared else Audience.USER if user else None
    record, launcher = InstallationRecord.load(ctx.environment.home), find_launcher(places.project, places.user_home)
    # Without an audience, each client has its own default, and those that the project's shared files connect have theirs.
    connected = [c for c in asked if audience is None and is_connected_by_project(c, places, launcher=launcher)]
    clients = [(client, audience or client.default) for client in asked if client not in connected]
    notes = [f"{client.title} is already connected by this project's shared files" for client in connected]
    notes += _notes(clients, places, record, launcher, chosen=audience is not None)
    now = channels(str(ctx.place.folder))
    clients, skipped = _choose_clients(
        ctx, clients, lambda some: _plan_changes(some, places, record, launcher),
        is_named=bool(names) or audience is not None, settled=dry_run or yes, diff=diff,
    )  # fmt: skip
    notes += [f"{client.title} is not connected: tacit init --client {client.name}" for client in skipped]
    changes = _plan_changes(clients, places, record, launcher)
    asked = [*(client for client, _ in clients), *connected]
    ways = {client.name: channel or now.get(client.name, HOOK) for client in asked if client.events}
    asks = not (dry_run or yes)
    planned = PlannedChanges(changes=changes, notes=notes, channels=ways, quiet=yes and not dry_run, diff=diff)
    written = bool(clients or connected) if asks else not dry_run
    if dry_run:
        _show(ctx, planned)
    elif asks:
        print_parts(ctx.console, (f"[yellow]note: {safe(text)}[/]" for text in notes))
    left: list[str] = []
    if written:
        apply_changes(changes, record, ctx.environment.home, at=time.time())
        _mark_connected(ctx, everywhere=user, here=bool(clients))
        left = _choose(ctx, list(ways), channel)
    reading = _reading(ctx, asked, asks=written and not yes and ctx.can_ask)
    _report_changes(
        ctx, planned, written=written, left=left, steps=_next_steps(changes) if written else (), reading=reading
    )


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
@click.option("--home", "remove_home", is_flag=True, help="Also delete `~/.tacit`: your own store, settings and logs.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--diff", is_flag=True, help="Show every changed line.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@command_options
def uninstall(
    ctx: CommandContext,
    *,
    names: tuple[str, ...],
    shared: bool,
    remove_exported: bool,
    remove_home: bool,
    dry_run: bool,
    diff: bool,
    yes: bool,
) -> None:
    """Remove everything that your `tacit init` wrote, in this project and wherever else it is on record.

    Files that you have not edited since are restored byte for byte; from others only Tacit's part is removed. What a teammate
    committed stays unless you pass --shared. What was learned stays in `.tacit`, exported skills stay unless you pass
    --exports, and `~/.tacit` stays unless you pass --home or say so when asked. Refused in an agent's shell.
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
    planned = PlannedChanges(changes=changes, notes=notes, quiet=yes and not dry_run, is_safe=not others, diff=diff)
    written = _settle(ctx, planned, dry_run=dry_run, yes=yes)
    left: list[str] = []
    if written:
        left = _withdraw(ctx, users_own=remove_exported)
        apply_changes(changes, record, ctx.environment.home, at=time.time())
        _forget_channels(ctx, chosen)
        if not any(
            is_connected(files_of(CLIENTS[each], places, Audience.LOCAL, launcher=launcher)) for each in CLIENTS
        ):
            _remove_unused({places.project, ctx.place.project, *(Path(change.file.project) for change in changes)})
        if Path(ctx.place.database).exists():
            left.append(f"what was learned stays in {ctx.place.folder}; delete that folder to forget it")
        left += _leave_home(ctx, remove=remove_home, asks=not yes and not names)
    _report_changes(ctx, planned, written=written, left=left)
    if any(change.problem for change in changes):
        hint = "fix them and run it again, or edit them by hand"
        ctx.end_with(Mistake("some files could not be read", code="unreadable_files", hint=hint))


def _reading(ctx: CommandContext, clients: Sequence[Client], *, asks: bool) -> ReadingCost | None:
    offered = offered_reading(ctx, [client.name for client in clients])
    return ask_for_reading(ctx, offered) if offered and asks else offered


def _next_steps(changes: Sequence[SettingsChange]) -> list[str]:
    changed = {change.file.client for change in changes if change.is_change}
    return [*([_CODEX_NEXT] if "codex" in changed else []), *(_NEXT if changed else ())]


def _set_up_meaning(ctx: CommandContext, *, alone: bool, dry_run: bool, yes: bool) -> None:
    """Download the model that finds skills by meaning, after the person agreed, and embed what is approved."""
    from tacit.providers.embedding.embedder_choice import MINILM, install, missing_extra

    if not alone:
        hint = "tacit init --meaning; the clients are connected by a `tacit init` of their own"
        raise Mistake("--meaning goes with --dry-run and --yes only", code="meaning_alone", hint=hint)
    folder, extra = MINILM.folder(ctx.environment.person_home), missing_extra()
    if extra and not dry_run:
        raise Mistake("recall by meaning needs the extra `semantic`", code="extra_missing", hint=extra)
    is_there = (folder / "model.safetensors").is_file()
    planned = {
        **fields(MINILM, "repository", "revision", "license", "size"),
        "folder": str(folder),
        "needs": extra,
    }
    lines = (
        f"[bold]{MINILM.repository}[/bold] of the Hugging Face hub, licence {MINILM.license}, {MINILM.size / 1e6:.0f} MB",
        f"revision {MINILM.revision}; every file is checked against its known SHA-256",
        f"into {safe(str(folder))}; used offline from then on. No account is used, and no text of yours is sent.",
    )
    if dry_run or is_there:
        ctx.report(planned | {"written": False, "embedded": 0}, *lines, "It is installed." if is_there else None)
        return
    ctx.require_yes("Download it?", *lines, yes=yes)
    install(MINILM, ctx.environment.person_home)
    embedded = ctx.memory.library.index().embedded if Path(ctx.place.database).exists() else 0
    off = ctx.settings[0].recall.embedder != "auto"
    ctx.report(
        planned | {"written": True, "embedded": embedded},
        f"Installed and checked: {safe(str(folder))}. {counted(embedded, 'skill')} embedded.",
        f"[yellow]note: recall.embedder is {safe(ctx.settings[0].recall.embedder)}; auto uses the model[/]"
        if off
        else None,
        "[cyan]next: tacit recall TASK --explain[/]",
    )


def _named_or_found(names: Sequence[str], places: ClientFolders) -> list[Client]:
    """Return the clients that were named, or those that this person uses."""
    found = [CLIENTS[name] for name in dict.fromkeys(names)] or installed_clients(places)
    if not found:
        hint = "name one: tacit init --client claude-code"
        raise Mistake(
            f"none of these was found: {', '.join(each.title for each in CLIENTS.values())}",
            code="no_client",
            hint=hint,
        )
    return found


def _mark_connected(ctx: CommandContext, *, everywhere: bool, here: bool) -> None:
    """Let hooks create a store in this project, or in every repository."""
    if here and ctx.place.is_project:
        ctx.place.prepare()
    if everywhere:
        write_atomically(ctx.environment.home / EVERY_PROJECT, "")


def _choose_clients(
    ctx: CommandContext,
    clients: Sequence[tuple[Client, Audience]],
    plan: Callable[[Sequence[tuple[Client, Audience]]], list[SettingsChange]],
    *,
    is_named: bool,
    settled: bool,
    diff: bool,
) -> tuple[list[tuple[Client, Audience]], list[Client]]:
    """Return which clients to connect, after a person was asked about each, and those that were left out.

    Without a question (`settled`) one that reaches beyond this project is left out unless the person named it.
    """
    if settled:
        chosen = [each for each in clients if is_named or each[1] is not Audience.USER]
        return chosen, [client for client, audience in clients if (client, audience) not in chosen]
    chosen = []
    for client, audience in clients:
        changes = plan([(client, audience)])
        if not any(change.is_change for change in changes):
            chosen.append((client, audience))  # nothing to ask: it is connected
            continue
        planned = PlannedChanges(changes=changes, notes=[], diff=diff)
        reach = _EVERYWHERE.format(client.title) if audience is Audience.USER else _REACH[audience]
        print_parts(
            ctx.console, [f"[bold]{client.title}[/bold]  [dim]{reach}[/dim]", *_planned_lines(planned, would=True)]
        )
        if _is_wanted(ctx, client, planned, default=audience is not Audience.USER or is_named):
            chosen.append((client, audience))
    return chosen, [client for client, audience in clients if (client, audience) not in chosen]


def _is_wanted(ctx: CommandContext, client: Client, planned: PlannedChanges, *, default: bool) -> bool:
    """Ask whether to connect a client; `d` shows every changed line and asks again."""
    if ctx.as_json or not ctx.caller.at_terminal:
        hint = "--dry-run shows what would change, --yes writes it"
        raise Mistake("this needs your answer, and there is no terminal to ask", code="needs_yes", hint=hint)
    known = click.Choice(["y", "yes", "n", "no", "d"], case_sensitive=False)
    while True:
        keys = "Y/n/d" if default else "y/N/d"
        question = f"Connect {client.title}? `tacit uninstall` undoes it. d: show the changed lines [{keys}]"
        typed = click.prompt(
            question, default="y" if default else "n", show_default=False, show_choices=False, type=known
        )
        if typed != "d":
            return typed in ("y", "yes")
        print_parts(ctx.console, _diff_lines(planned))


def _plan_changes(
    clients: Sequence[tuple[Client, Audience]], places: ClientFolders, record: InstallationRecord, launcher: Launcher
) -> list[SettingsChange]:
    """Return what to write, and what to remove where the same client was connected before."""
    put: list[ClientFile] = []
    former: list[ClientFile] = []
    for client, audience in clients:
        files = files_of(client, places, audience, launcher=launcher)
        files = without_shared_parts(client, places, files, launcher=launcher)
        put += files if audience is Audience.SHARED or can_serve() else without_server(files)
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
        team = shared_files(client, places, launcher=launcher)
        if not chosen and is_connected(team):
            yield f"{team[0].path} connects {client.title} only in part: run `tacit init --shared` to complete it"
        audiences = record.audiences(client.name) | {audience}
        if is_connected_by_project(client, places, launcher=launcher):
            audiences.add(Audience.SHARED)
        if Audience.USER in audiences and len(audiences) > 1:
            yield f"{client.title} is connected for all projects and for a single one, where its hooks fire twice"


def _settle(ctx: CommandContext, planned: PlannedChanges, *, dry_run: bool, yes: bool) -> bool:
    """Show what would change, and return whether to write it: with --yes, or after a person agreed."""
    _show(ctx, planned)
    if dry_run or yes or not any(change.is_change for change in planned.changes):
        return not dry_run
    if ctx.as_json or not ctx.caller.at_terminal:
        hint = "--dry-run shows what would change, --yes writes it"
        raise Mistake("this needs your answer, and there is no terminal to ask", code="needs_yes", hint=hint)
    return click.confirm("Write this?", default=planned.is_safe)


def _show(ctx: CommandContext, planned: PlannedChanges) -> None:
    if not planned.quiet and not ctx.as_json:
        print_parts(ctx.console, _planned_lines(planned, would=True))


def _others(changes: Sequence[SettingsChange], places: ClientFolders) -> list[str]:
    """Return what is affected besides this project: other projects, and clients connected in all of them."""
    going = [change for change in changes if change.is_change]
    notes = [note for change in going for note in change.gone]
    projects = {*(note.project for note in notes), *(change.file.project for change in going)}
    users = {change.file.client for change in going if change.file.audience is Audience.USER}
    everywhere = [f"{client.title} in all your projects" for client in CLIENTS.values() if client.name in users]
    return [*sorted(projects - {"", str(places.project)}), *everywhere]


def _choose(ctx: CommandContext, clients: Sequence[str], channel: str | None) -> list[str]:
    """Store the channel, if one was chosen, and give the clients what is already approved."""
    folder = str(ctx.place.folder)
    before = channels(folder)
    if channel:
        ctx.place.prepare()
        for client in clients:
            choose(folder, client, channel)
    if not Path(ctx.place.database).exists():
        return []
    context = ctx.memory.context
    if channels(folder) == before:
        exports.write_guides(context)
        return []
    return [*_left(exports.remove_exports(context)), *_left(exports.export(context))]


def _withdraw(ctx: CommandContext, *, users_own: bool) -> list[str]:
    """Remove exported skill folders; return what stays and why."""
    if not Path(ctx.place.database).exists():
        return []
    try:
        return _left(exports.remove_exports(ctx.memory.context, users_own=users_own))
    except TacitError as error:  # a store that does not open must not prevent an uninstall
        return [f"exported skills stay where they are, because the store does not open: {error.message}"]


def _remove_unused(projects: Iterable[Path]) -> None:
    """Remove the `.tacit` folders in which nothing was ever stored."""
    for folder in (project / FOLDER for project in projects):
        if folder.is_dir() and [path.name for path in folder.iterdir()] == [".gitignore"]:
            (folder / ".gitignore").unlink()
            folder.rmdir()


def _leave_home(ctx: CommandContext, *, remove: bool, asks: bool) -> Iterator[str]:
    """Delete the person's home folder of Tacit if they want it; yield what stays."""
    home = ctx.environment.home
    (home / EVERY_PROJECT).unlink(missing_ok=True)
    if not home.is_dir():
        return
    if asks and not remove and ctx.can_ask:
        remove = click.confirm(f"Also delete {home}: your own store, settings and logs?", default=False)
    if not remove:
        yield f"{home} stays: your own store, settings and logs (`tacit uninstall --home` deletes it)"
    elif home.name != FOLDER or home.is_symlink():
        yield f"{home} stays: it is not a folder named {FOLDER}; delete it by hand"
    else:
        shutil.rmtree(home)


def _left(folders: Sequence[exports.ExportedFolder]) -> list[str]:
    reasons = {
        "edited": "you edited it",
        "foreign": "it is not Tacit's",
        "kept": "you exported it (`tacit uninstall --exports` removes it)",
    }
    return [f"{each.path} stays as it is: {reasons[each.action]}" for each in folders if each.action in reasons]


def _forget_channels(ctx: CommandContext, clients: Sequence[str]) -> None:
    """Remove the choice of channels."""
    folder = ctx.place.folder
    if not folder.is_dir():
        return
    for name in clients:
        choose(str(folder), name, HOOK)
    if channels(str(folder)) and Path(ctx.place.database).exists():
        exports.export(ctx.memory.context)  # the remaining clients keep theirs


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
    diff: bool = False
    """Whether every changed line is shown."""

    @property
    def touched(self) -> list[SettingsChange]:
        """The files that change or cannot be changed."""
        return [change for change in self.changes if change.is_change or change.kept or change.problem]


def _diff_lines(planned: PlannedChanges) -> Iterator[ReportPart]:
    for change in planned.changes:
        yield from (f"[{_COLOURS.get(line[:1], 'default')}]{safe(line)}[/]" for line in change.diff())


def _action(change: SettingsChange) -> str:
    if not change.is_change:
        return "keep"
    return "create" if change.before is None else "remove" if change.after is None else "edit"


def _planned_lines(planned: PlannedChanges, *, would: bool) -> Iterator[ReportPart]:
    """Yield the files, the channels and the notes; before anything is written also the changed lines, if asked for."""
    if would and planned.diff:
        yield from _diff_lines(planned)
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
            yield "Nothing was written." if planned.touched or not written else "Nothing to change."
        yield from (f"[yellow]note: {safe(text)}[/]" for text in left)
        yield from (f"[cyan]next: {safe(text)}[/]" for text in steps)
        yield reading_line(reading) if reading and written else None

    ctx.report(document, lines)
