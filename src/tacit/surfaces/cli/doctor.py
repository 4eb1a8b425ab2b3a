"""`tacit doctor`: does every hook really fire? Each thing that was looked at, and what to do where it does not hold."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.text import Text

from tacit.api import open_at
from tacit.config.location import StoreLocation
from tacit.config.settings import Config
from tacit.domain.errors import Outage, TacitError
from tacit.domain.model import Embedder
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted
from tacit.surfaces.cli.mcp import can_serve
from tacit.surfaces.clients.checks import (
    Finding,
    Hook,
    check_claude,
    check_codex,
    check_files,
    check_readable,
    hooks_in,
    last_fired,
    moment_of,
)
from tacit.surfaces.clients.connections import is_connected
from tacit.surfaces.clients.launcher import SHARED, Launcher, find_launcher
from tacit.surfaces.clients.plan import SERVER, Audience, Client, Places
from tacit.surfaces.clients.probing import Probe, probe_hook, probe_server
from tacit.surfaces.clients.record import Record
from tacit.surfaces.clients.registry import CLIENTS, files_of, find_places
from tacit.surfaces.hook import log
from tacit.surfaces.hook.detach import FAILED
from tacit.surfaces.hook.journal import FOLDER as SESSIONS

MEANING = "recall by meaning"
_LAST_FAULTS = 5
_SHOWN_DAMAGE = 3
_DAMAGE_REMEDY = (
    "tacit verify tells all of it; tacit restore FILE puts a backup back, unless an older store is there on purpose"
)
_SHARED_REMEDY = "install Tacit so that every shell finds it (see Install in the README)"
_ANY_SESSION = ("SessionStart", "UserPromptSubmit", "Stop")
"""Events that no session goes without."""
_SERVER_REMEDY = "run the command by hand; if a package is missing: pip install 'tacit[mcp]'"
_MARKS = {"ok": ("✓", "green"), "off": ("–", "dim"), "note": ("!", "yellow"), "fault": ("✗", "red")}


@click.command()
@click.option(
    "--client", "names", multiple=True, type=click.Choice(list(CLIENTS)), help="Only this one (may be repeated)."
)
@command_options
def doctor(ctx: CommandContext, *, names: tuple[str, ...]) -> None:
    """Show whether Tacit works inside your agents: settings, trust, hooks, MCP server, store, and what went wrong.

    Runs each hook's command as the client would, in a folder of its own. Exit 0 means that nothing is at fault.
    """
    places = find_places(ctx.environment, Path.cwd())
    findings = [*_store(ctx), *_meaning(ctx)]
    for client in (CLIENTS[name] for name in names or CLIENTS):
        findings += _client(ctx, client, places, asked=bool(names))
    if all(finding.about in ("store", MEANING) for finding in findings):
        findings.append(
            Finding(about="clients", state="note", told="no client is connected", remedy="run `tacit init`")
        )
    findings += _faults(ctx)
    ok = all(finding.state != "fault" for finding in findings)
    ctx.answer({"ok": ok, "findings": findings}, lambda: _show(ctx, findings))
    if not ok:
        ctx.end_with(Outage("something does not work", hint="do what stands behind →, then run it again"))


def _store(ctx: CommandContext) -> Iterator[Finding]:
    place = ctx.place
    if not Path(place.database).exists():
        yield Finding(about="store", state="note", told=f"there is none yet at {place.database}", remedy="tacit learn")
        return
    try:
        damage = ctx.memory.store.check_quickly()
        counts = None if damage else ctx.memory.stats()
    except TacitError as error:
        yield Finding(about="store", state="fault", told=error.message, remedy=error.hint)
        return
    for item in damage[:_SHOWN_DAMAGE]:
        told = f"{place.database}: {item.subject}: {item.problem}"
        yield Finding(about="store", state="fault", told=told, remedy=_DAMAGE_REMEDY)
    if counts:
        held = f"{counts.trajectories} trajectories, {sum(counts.skills.values())} skills"
        told = f"{place.database}: {held}; its file is sound (tacit verify looks at every row)"
        yield Finding(about="store", state="ok", told=told)
    if place.paused_until is not None:
        yield Finding(about="store", state="note", told="paused: hooks keep still", remedy="tacit pause --resume")
    failed = len(list((place.folder / SESSIONS).glob(f"*{FAILED}")))
    if failed:
        told = f"{counted(failed, 'session')} could not be learned from, after several tries"
        yield Finding(about="store", state="note", told=told, remedy="tacit learn, and see what the hook log says")


def _meaning(ctx: CommandContext) -> Iterator[Finding]:
    """Which embedder is in use, what waits for it, and whether hooks can afford it."""
    from tacit.providers.embedding.opening import open_embedder, why_none

    choice, home = ctx.settings[0].recall.embedder, ctx.environment.person_home
    own = ctx.environment.account_home
    cache = own / ".cache" / "huggingface" / "hub" if own else None
    try:
        if not Path(ctx.place.database).exists():
            if choice != "auto":  # what is named must be there, store or not
                open_embedder(choice, home=home, hub_cache=cache)
            return
        embedder = ctx.memory.embedder
        if embedder is None:
            why = "recall.embedder is none" if choice == "none" else why_none(home, hub_cache=cache)
            yield Finding(about=MEANING, state="off", told=f"not set up, so words find alone: {why}")
            return
        if is_light := _is_light(embedder):
            embedder.embed(["a word"])  # an encoder's weights take long to load; its files were looked at
        waiting = len(ctx.memory.store.unembedded(embedder.identity))
    except TacitError as error:
        yield Finding(about=MEANING, state="fault", told=error.message, remedy=error.hint)
        return
    hooks = "hooks use it too" if is_light else "hooks go by words, since it takes too long to load for them"
    yield Finding(about=MEANING, state="ok", told=f"{embedder.identity}; {hooks}")
    if waiting:
        yield Finding(
            about=MEANING, state="note", told=f"{counted(waiting, 'skill')} without vectors", remedy="tacit index"
        )


def _is_light(embedder: Embedder) -> bool:
    from tacit.providers.embedding.static import StaticEmbedder

    return isinstance(embedder, StaticEmbedder)


def _client(ctx: CommandContext, client: Client, places: Places, *, asked: bool) -> Iterator[Finding]:
    launcher = find_launcher(places.project, places.user_home)
    audiences = {audience: files_of(client, places, audience, launcher=launcher) for audience in Audience}
    unreadable = check_readable(file for files in audiences.values() for file in files)
    yield from unreadable.values()
    connected = {files[0].path: (audience, files) for audience, files in audiences.items() if is_connected(files)}
    if not connected and asked and not unreadable:
        remedy = f"tacit init --client {client.name}"
        yield Finding(about=client.name, state="fault", told=f"{client.title} is not connected", remedy=remedy)
    if len(connected) > 1:
        told = f"{client.title} is connected more than once, so that hooks fire twice: {', '.join(map(str, connected))}"
        yield Finding(about=client.name, state="note", told=told, remedy="tacit uninstall, then tacit init")
    record = Record.load(ctx.environment.home)
    for audience, files in connected.values():
        readable = [file for file in files if file.path not in unreadable]
        yield from check_files([file for file in readable if file.what != SERVER or can_serve()])
        hooks = hooks_in(client, files[0])
        yield from check_codex(places, hooks, audience) if client.name == "codex" else check_claude(places)
        yield from _probes(ctx, client, hooks, launcher=SHARED if audience is Audience.SHARED else launcher)
        yield from _fired(ctx, client, hooks, since=record.written_at(files[0]))


def _probes(ctx: CommandContext, client: Client, hooks: Sequence[Hook], *, launcher: Launcher) -> Iterator[Finding]:
    """Run each command as the client would."""
    around = ctx.environment
    with tempfile.TemporaryDirectory(prefix="tacit-doctor-") as name:
        folder = Path(name).resolve()
        _make_store(folder)
        for command in dict.fromkeys(hook.command for hook in hooks):
            if command != launcher.hook(client.name):  # somebody else wrote it: to run it is not ours to do
                told = f"{command}: not what this installation writes, so it was not run"
                remedy = "run `tacit init` again, if it should be this installation"
                yield Finding(about=f"{client.name}: hook command", state="note", told=told, remedy=remedy)
                continue
            nonce = secrets.token_hex(6)
            ran = probe_hook(command, client.name, folder=folder, environment=around, nonce=nonce)
            remedy = _SHARED_REMEDY if launcher.shared else "run `tacit init` again"
            yield _probed(f"{client.name}: hook command", command, ran, remedy=remedy)
        if not can_serve():
            told = "not installed; hooks do without it"
            yield Finding(
                about=f"{client.name}: MCP server", state="note", told=told, remedy="pip install 'tacit[mcp]'"
            )
            return
        command, arguments = launcher.server(client.name)
        ran = probe_server(command, arguments, folder=folder, environment=around)
        about = f"{client.name}: MCP server"
        if ran.offers_nothing:
            told = "the shell that starts it finds no Tacit that can serve, so that it offers nothing"
            yield Finding(about=about, state="note", told=told, remedy=_SHARED_REMEDY)
        else:
            yield _probed(about, f"{command} {' '.join(arguments)[:60]}", ran, remedy=_SERVER_REMEDY)


def _make_store(folder: Path) -> None:
    """An empty store, so that a hook run in this folder has something to ask."""
    place = StoreLocation(database=str(folder / ".tacit" / "tacit.db"), project=folder, chosen_by="tacit doctor")
    open_at(place, config=Config(), home=folder).close()


def _probed(about: str, command: str, ran: Probe, *, remedy: str) -> Finding:
    if ran.problem:
        return Finding(about=about, state="fault", told=f"{command}: {ran.problem}", remedy=remedy)
    return Finding(about=about, state="ok", told=f"{command}: answered after {ran.seconds * 1000:.0f} ms")


def _fired(ctx: CommandContext, client: Client, hooks: Sequence[Hook], *, since: float) -> Iterator[Finding]:
    """When each event last reached Tacit in this project: the proof that the client itself calls."""
    fired = last_fired(ctx.place.folder / "sessions", client.name)
    fired = {moment: at for moment, at in fired.items() if at.timestamp() >= since}
    silent = []
    for event in dict.fromkeys(hook.event for hook in hooks):
        if at := fired.get(moment_of(event)):
            yield Finding(about=f"{client.name}: {event}", state="ok", told=f"last fired {at:%Y-%m-%d %H:%M:%S} UTC")
        elif event in _ANY_SESSION:
            silent.append(event)
    if silent:
        told = f"not fired in this project since it was connected: {', '.join(silent)}"
        remedy = "" if fired else f"start a new session of {client.title} here, ask it something, then look again"
        yield Finding(about=f"{client.name}: events", state="note", told=told, remedy=remedy)


def _faults(ctx: CommandContext) -> Iterator[Finding]:
    """What hooks noted when they could not do their work."""
    for line in log.recent(str(ctx.environment.home), _LAST_FAULTS):
        yield Finding(about="hook log", state="note", told=line)


def _show(ctx: CommandContext, findings: Sequence[Finding]) -> None:
    for finding in findings:
        mark, colour = _MARKS[finding.state]
        line = Text(f"{mark} ", style=colour).append(f"{finding.about}: ", style="bold").append(clean(finding.told))
        ctx.console.print(line, soft_wrap=True)
        if finding.remedy and finding.state != "ok":
            ctx.console.print(Text(f"  → {clean(finding.remedy)}", style="cyan"), soft_wrap=True)
