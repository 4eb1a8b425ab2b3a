"""`tacit doctor`: does every hook really fire? Each thing that was looked at, and what to do where it does not hold."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click
from rich.text import Text

from tacit.api import open_at
from tacit.config.location import StoreLocation
from tacit.config.settings import Config
from tacit.domain.errors import Outage, TacitError
from tacit.ingest.journal import FOLDER as SESSIONS
from tacit.ingest.sources import client_homes
from tacit.maintain.stale_instructions import StaleCommand, stale_commands_of
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted
from tacit.surfaces.cli.mcp import can_serve
from tacit.surfaces.cli.model_use import model_checks
from tacit.surfaces.cli.report import ReportPart, fields
from tacit.surfaces.clients.checks import (
    ClientCheck,
    ConfiguredHook,
    ProbeResult,
    check_codex,
    check_files,
    check_readable,
    check_switch,
    check_trust,
    hooks_in,
    last_fired,
    moment_of,
    probe_hook,
    probe_server,
)
from tacit.surfaces.clients.connections import (
    CLIENTS,
    SERVER,
    SHARED,
    Audience,
    Client,
    ClientFolders,
    Launcher,
    files_of,
    find_client_folders,
    find_launcher,
    without_server,
)
from tacit.surfaces.clients.installation import InstallationRecord, is_connected
from tacit.surfaces.hook import log, waiting
from tacit.surfaces.hook.learner_requests import SET_ASIDE

MEANING = "recall by meaning"
_LAST_FAULTS = 5
_SHOWN_DAMAGE = 3
_DAMAGE_REMEDY = "run `tacit store verify` for details; `tacit store restore FILE` restores a backup"
_SHARED_REMEDY = "install Tacit so that every shell finds it (see Install in the README)"
_ANY_SESSION = ("SessionStart", "UserPromptSubmit", "BeforeAgent", "Stop", "AfterAgent")
"""Events that every session has."""
_SERVER_REMEDY = "run the command by hand; if a package is missing: pip install 'tacit[mcp]'"
_MARKS = {"ok": ("✓", "green"), "off": ("–", "dim"), "note": ("!", "yellow"), "fault": ("✗", "red")}


@click.command()
@click.option(
    "--client", "names", multiple=True, type=click.Choice(list(CLIENTS)), help="Only this client (repeatable)."
)
@command_options
def doctor(ctx: CommandContext, *, names: tuple[str, ...]) -> None:
    """Check the connection to your agents (settings, trust, hooks, MCP server) and the store, and show recent errors.

    Lists commands that instruction files and the clients' memories name although sessions found them missing.
    Runs each hook's command as the client would, in a folder of its own. Exit 0 means that every check passed.
    """
    places = find_client_folders(ctx.environment, Path.cwd())
    findings = [*_store(ctx), *_meaning(ctx)]
    for client in (CLIENTS[name] for name in names or CLIENTS):
        findings += _client(ctx, client, places, asked=bool(names))
    if all(finding.about in ("store", MEANING) for finding in findings):
        findings.append(ClientCheck("clients", "note", "no client is connected", "run `tacit init`"))
    findings += model_checks(ctx)
    for name, file in ctx.environment.ignored:
        text = f"{name} is ignored because {file} sets it"
        findings.append(ClientCheck("environment", "note", text, f"remove {name} from that file"))
    stale: list[StaleCommand] = []
    if Path(ctx.place.database).exists():
        with suppress(TacitError):  # the store's own check reports it
            homes = client_homes(ctx.environment)
            stale = stale_commands_of(ctx.memory.context, ctx.environment.user_home, client_folders=homes)
    findings += map(_stale_finding, stale)
    findings += (ClientCheck("hook log", "note", line) for line in log.recent(str(ctx.environment.home), _LAST_FAULTS))
    failed = sum(finding.state == "fault" for finding in findings)
    document = {
        "ok": not failed,
        "findings": [fields(finding, "about", "state", "message", "remedy") for finding in findings],
        "stale_commands": [
            {"file": str(each.statement.path), "line": each.statement.line}
            | fields(each, "command", "error", "sessions", "first", "last", "worked", "instead")
            for each in stale
        ],
    }
    ctx.report(document, lambda: _finding_lines(findings))
    if failed:
        hint = "follow the → line, then run `tacit doctor` again"
        ctx.end_with(Outage(f"{counted(failed, 'check')} failed", code="checks_failed", hint=hint))


def _store(ctx: CommandContext) -> Iterator[ClientCheck]:
    place = ctx.place
    if not Path(place.database).exists():
        yield ClientCheck("store", "note", f"no store yet at {place.database}", "tacit learn")
        return
    try:
        damage = ctx.memory.archive.verify(quick=True)
        counts = None if damage else ctx.memory.archive.stats()
    except TacitError as error:
        yield ClientCheck("store", "fault", error.message, error.hint)
        return
    for item in damage[:_SHOWN_DAMAGE]:
        text = f"{place.database}: {item.subject}: {item.problem}"
        yield ClientCheck("store", "fault", text, _DAMAGE_REMEDY)
    if counts:
        held = f"{counts.trajectories} trajectories, {sum(counts.skills.values())} skills"
        text = f"{place.database}: {held}; the file is intact (`tacit store verify` checks every row)"
        yield ClientCheck("store", "ok", text)
        if versions := len(ctx.memory.reviews.waiting(folded=False)):
            yield ClientCheck("store", "note", f"{counted(versions, 'version')} to review", "tacit review")
        _, suggestions = waiting.read(str(place.folder))
        if suggestions:
            yield ClientCheck("store", "note", f"{counted(suggestions, 'suggestion')} for the library", "tacit tend")
    if place.paused_until is not None:
        yield ClientCheck("store", "note", "paused: hooks do nothing", "tacit pause --resume")
    failed = len(list((place.folder / SESSIONS).glob(f"*{SET_ASIDE}")))
    if failed:
        text = f"{counted(failed, 'session')} could not be learned from after several tries"
        yield ClientCheck("store", "note", text, "run `tacit learn`, and read the hook log")


def _meaning(ctx: CommandContext) -> Iterator[ClientCheck]:
    """Yield which embedder is used, and which skills have no vectors."""
    from tacit.providers.embedding.embedder_choice import open_embedder, why_none

    choice, home = ctx.settings[0].recall.embedder, ctx.environment.person_home
    try:
        if not Path(ctx.place.database).exists():
            if choice != "auto":  # a named embedder must exist, with or without a store
                open_embedder(choice, home=home)
            return
        embedder = ctx.memory.context.embedder
        if embedder is None:
            why = "recall.embedder is none" if choice == "none" else why_none(home)
            yield ClientCheck(MEANING, "off", f"keyword search only: {why}")
            return
        waiting = ctx.memory.library.without_vectors()
    except TacitError as error:
        yield ClientCheck(MEANING, "fault", error.message, error.hint)
        return
    yield ClientCheck(
        MEANING, "ok", f"{embedder.identity}; hooks use keyword search, because it takes too long to load"
    )
    if waiting:
        yield ClientCheck(MEANING, "note", f"{counted(waiting, 'skill')} without vectors", "run `tacit store index`")


def _client(ctx: CommandContext, client: Client, places: ClientFolders, *, asked: bool) -> Iterator[ClientCheck]:
    launcher = find_launcher(places.project, places.user_home)
    audiences = {audience: files_of(client, places, audience, launcher=launcher) for audience in Audience}
    unreadable = check_readable(file for files in audiences.values() for file in files)
    yield from unreadable.values()
    connected = {files[0].path: (audience, files) for audience, files in audiences.items() if is_connected(files)}
    if not connected and asked and not unreadable:
        remedy = f"tacit init --client {client.name}"
        yield ClientCheck(client.name, "fault", f"{client.title} is not connected", remedy)
    if len(connected) > 1:
        text = f"{client.title} is connected more than once, so its hooks fire twice: {', '.join(map(str, connected))}"
        yield ClientCheck(client.name, "note", text, "tacit uninstall, then tacit init")
    record = InstallationRecord.load(ctx.environment.home)
    for audience, files in connected.values():
        readable = [file for file in files if file.path not in unreadable]
        yield from check_files(readable if can_serve() else without_server(readable))
        hooks = hooks_in(client, files[0])
        yield from check_codex(places, hooks, audience) if client.name == "codex" else check_switch(client, places)
        yield from check_trust(client, places, audience)
        serves = any(SERVER in file.what for file in files)
        yield from _probes(
            ctx, client, hooks, launcher=SHARED if audience is Audience.SHARED else launcher, serves=serves
        )
        note = record.of(files[0])
        yield from _fired(ctx, client, hooks, since=(note and note.written_at) or 0.0)


def _probes(
    ctx: CommandContext, client: Client, hooks: Sequence[ConfiguredHook], *, launcher: Launcher, serves: bool
) -> Iterator[ClientCheck]:
    """Run each command as the client would, and that of the MCP server where it has one."""
    around = ctx.environment
    with tempfile.TemporaryDirectory(prefix="tacit-doctor-") as name:
        folder = Path(name).resolve()
        place = StoreLocation(database=str(folder / ".tacit" / "tacit.db"), project=folder, chosen_by="tacit doctor")
        open_at(place, config=Config(), home=folder).close()
        for command in dict.fromkeys(hook.command for hook in hooks):
            if command != launcher.hook(client.name):  # another program wrote it, so it is not run
                text = f"{command}: not written by this installation, so it was not run"
                remedy = "run `tacit init` again if it should use this installation"
                yield ClientCheck(f"{client.name}: hook command", "note", text, remedy)
                continue
            nonce = secrets.token_hex(6)
            ran = probe_hook(command, client.name, folder=folder, environment=around, nonce=nonce)
            remedy = _SHARED_REMEDY if launcher.shared else "run `tacit init` again"
            yield _probed(f"{client.name}: hook command", command, ran, remedy=remedy)
        if not serves:
            return
        if not can_serve():
            text = "not installed; hooks work without it"
            yield ClientCheck(f"{client.name}: MCP server", "note", text, "pip install 'tacit[mcp]'")
            return
        command, arguments = launcher.server(client.name)
        ran = probe_server(command, arguments, folder=folder, environment=around)
        about = f"{client.name}: MCP server"
        if ran.offers_nothing:
            text = "the shell that starts it finds no Tacit with an MCP server, so it offers nothing"
            yield ClientCheck(about, "note", text, _SHARED_REMEDY)
        else:
            yield _probed(about, f"{command} {' '.join(arguments)[:60]}", ran, remedy=_SERVER_REMEDY)


def _probed(about: str, command: str, ran: ProbeResult, *, remedy: str) -> ClientCheck:
    if ran.problem:
        return ClientCheck(about, "fault", f"{command}: {ran.problem}", remedy)
    return ClientCheck(about, "ok", f"{command}: answered after {ran.seconds * 1000:.0f} ms")


def _fired(
    ctx: CommandContext, client: Client, hooks: Sequence[ConfiguredHook], *, since: float
) -> Iterator[ClientCheck]:
    """Yield when each event last reached Tacit in this project: proof that the client calls it."""
    fired = last_fired(ctx.place.folder / "sessions", client.name)
    fired = {moment: at for moment, at in fired.items() if at.timestamp() >= since}
    silent = []
    for event in dict.fromkeys(hook.event for hook in hooks):
        if at := fired.get(moment_of(event)):
            yield ClientCheck(f"{client.name}: {event}", "ok", f"last fired {at:%Y-%m-%d %H:%M:%S} UTC")
        elif event in _ANY_SESSION:
            silent.append(event)
    if silent:
        text = f"not fired in this project since the client was connected: {', '.join(silent)}"
        start = f"start a new session of {client.title} here, ask it something, then run `tacit doctor` again"
        remedy = "" if fired else start
        yield ClientCheck(f"{client.name}: events", "note", text, remedy)


def _stale_finding(stale: StaleCommand) -> ClientCheck:
    dates = " to ".join(dict.fromkeys(f"{at:%Y-%m-%d}" for at in (stale.first, stale.last) if at))
    worked = f"; it last worked {stale.worked:%Y-%m-%d}" if stale.worked else ""
    text = f"{stale.statement.place} names `{stale.command}`, which was missing in {counted(stale.sessions, 'session')}"
    instead = f" (`{stale.instead}` works)" if stale.instead else ""
    message = f"{text} ({dates}){worked}: {stale.error}" if dates else f"{text}{worked}: {stale.error}"
    return ClientCheck("instructions", "note", message, f"correct or remove that line{instead}; Tacit does not edit it")


def _finding_lines(findings: Sequence[ClientCheck]) -> Iterator[ReportPart]:
    for finding in findings:
        mark, colour = _MARKS[finding.state]
        yield Text(f"{mark} ", style=colour).append(f"{finding.about}: ", style="bold").append(clean(finding.message))
        if finding.remedy and finding.state != "ok":
            yield Text(f"  → {clean(finding.remedy)}", style="cyan")
