"""Does Tacit really work inside a client? Settings, trust, journals and log → findings, each with what to do.

Reads files; running the commands is `probing`'s part.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake
from tacit.ingest.journal import SUFFIX, parsed
from tacit.surfaces.clients.connections import (
    STAND_IN_VERSION,
    Audience,
    Client,
    ClientFile,
    ClientFolders,
    codex_settings,
    is_hook_command,
    trust_hash,
    trust_key,
)
from tacit.surfaces.clients.installation import parts_in, read
from tacit.surfaces.clients.json_settings import SettingsEntries, parse, value_at
from tacit.surfaces.clients.text_edits import WholeFile
from tacit.surfaces.hook.events import LEARN, Event
from tacit.surfaces.hook.learner_requests import TAKEN, WANTED

State = Literal["ok", "off", "note", "fault"]
"""`off` is what one may have and has not set up."""
FOLDED = "folded.json"
"""What the learner writes beside the journals when it has done its work."""
_AGAIN = "run `tacit init` again"
_TRUSTED = "trusted"
_TRUST = "start `codex`, type /hooks, and trust those of Tacit"


@dataclass(frozen=True, slots=True)
class ClientCheck:
    """The result of one check."""

    about: str
    state: State
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ConfiguredHook:
    """A hook of Tacit's as it stands in a settings file."""

    event: str
    command: str
    timeout_s: int
    group: int
    position: int
    file: Path


def check_readable(files: Iterable[ClientFile]) -> dict[Path, ClientCheck]:
    """The files that cannot be read, where one would look for Tacit's part in vain."""
    found = {}
    for file in files:
        try:
            file.piece.names((read(file.path) or b"").decode("utf-8", "replace"))
        except Mistake as error:
            message = error.message if str(file.path) in error.message else f"{file.path}: {error.message}"
            remedy = "correct it: the client ignores the file or does not start"
            found[file.path] = ClientCheck(f"{file.client}: {file.path.name}", "fault", message, remedy)
    return found


def check_files(files: Sequence[ClientFile]) -> Iterator[ClientCheck]:
    """Is everything there that `init` writes, and can the client read it?"""
    for file in files:
        about = f"{file.client}: {file.what}"
        content = read(file.path)
        if content is None or not file.piece.is_complete(content.decode("utf-8", "replace")):
            message = "is not what `tacit init` writes" if parts_in(file) else "is not there"
            yield ClientCheck(about, "note", f"{file.path}: Tacit's part {message}", _AGAIN)
        else:
            yield ClientCheck(about, "ok", str(file.path))


def hooks_in(client: Client, file: ClientFile) -> list[ConfiguredHook]:
    """The hooks of Tacit's in a settings file, where they stand."""
    if not client.events:
        return []
    content = read(file.path)
    if isinstance(file.piece, WholeFile):  # a plugin, which has one command for all events
        command = _PLUGIN_COMMAND.search(content or b"")
        text = json.loads(command[1]) if command else ""
        events = client.events.items() if is_hook_command(text, client.name) else ()
        return [ConfiguredHook(event, text, limit, 0, 0, file.path) for event, limit in events]
    assert isinstance(file.piece, SettingsEntries)
    try:
        document = parse((content or b"").decode("utf-8", "replace"), comments=file.piece.comments)
    except Mistake:
        return []
    found: list[ConfiguredHook] = []
    for entry in file.piece.entries:
        groups = value_at(document, entry.at) if entry.at[0] == "hooks" else None
        for group, value in enumerate(groups if isinstance(groups, list) else ()):
            for position, hook in enumerate(value.get("hooks", ()) if isinstance(value, dict) else ()):
                if entry.is_ours({"hooks": [hook]}):
                    event, command = entry.at[1], hook["command"]
                    timeout_s = hook.get("timeout", client.events[event])
                    found.append(ConfiguredHook(event, command, timeout_s, group, position, file.path))
    return found


_PLUGIN_COMMAND = re.compile(rb"""(?m)^const HOOK = ("(?:[^"\\]|\\.)*")$""")
_SWITCHES: Mapping[str, tuple[str, tuple[str, ...], bool]] = {
    "claude-code": (".claude", ("disableAllHooks",), True),
    "copilot": (".github/copilot", ("disableAllHooks",), True),
    "gemini": (".gemini", ("hooksConfig", "enabled"), False),
    "qwen-code": (".qwen", ("disableAllHooks",), True),
    "letta-code": (".letta", ("hooks", "disabled"), True),
}
"""Client → its folder in a project, and the setting that switches hooks off, with the value that does."""


def check_switch(client: Client, places: ClientFolders) -> Iterator[ClientCheck]:
    """Do settings of a client switch hooks off?"""
    if client.name not in _SWITCHES:
        return
    folder, names, off = _SWITCHES[client.name]
    own = (client.home(places) / "settings.json", places.project / folder / "settings.json")
    for path in (*own, places.project / folder / "settings.local.json"):
        try:
            document = parse((read(path) or b"").decode("utf-8", "replace"), comments=client.name != "claude-code")
        except Mistake:
            continue  # reported with the files
        if value_at(document, names) is off:
            message = f"{path} sets {'.'.join(names)}, so no hook fires"
            yield ClientCheck(f"{client.name}: hooks", "fault", message, "remove it")


_TRUST_FILES: Mapping[str, str] = {
    "copilot": "config.json",
    "gemini": "trustedFolders.json",
    "qwen-code": "trustedFolders.json",
}
"""Client → the file in its home that names the folders which a person trusts."""
_ASKS_BY_DEFAULT = frozenset({"copilot", "gemini"})


def check_trust(client: Client, places: ClientFolders, audience: Audience) -> Iterator[ClientCheck]:
    """Is the project trusted, where a client reads nothing of it otherwise? It says nothing of hooks that it skips."""
    if audience is not Audience.SHARED or client.name not in _TRUST_FILES:
        return
    home = client.home(places)
    documents = []
    for path in (home / _TRUST_FILES[client.name], home / "settings.json"):
        try:
            documents.append(parse((read(path) or b"").decode("utf-8", "replace"), comments=True))
        except Mistake:
            documents.append({})
    known = documents[0].get("trustedFolders", ()) if client.name == "copilot" else documents[0]
    opinions = known if isinstance(known, dict) else dict.fromkeys(known, "TRUST_FOLDER")
    trusted = {Path(each) for each, opinion in opinions.items() if opinion == "TRUST_FOLDER"}
    trusted |= {Path(each).parent for each, opinion in opinions.items() if opinion == "TRUST_PARENT"}
    asks = value_at(documents[1], ("security", "folderTrust", "enabled"))
    if (client.name in _ASKS_BY_DEFAULT if asks is None else asks) and not trusted & {
        places.project,
        *places.project.parents,
    }:
        message = f"this project is not trusted, so {client.title} skips its hooks without a word"
        yield ClientCheck(
            f"{client.name}: trust", "fault", message, f"start `{client.program}` here and trust the folder"
        )


def check_codex(places: ClientFolders, hooks: Sequence[ConfiguredHook], audience: Audience) -> Iterator[ClientCheck]:
    """Does Codex trust the project and each hook? What it does not trust it skips without a word."""
    settings = codex_settings(places.codex_home)
    if value_at(settings, ("features", "hooks")) is False:
        message = f"{places.codex_home / 'config.toml'} switches hooks off (features.hooks)"
        yield ClientCheck("codex: hooks", "fault", message, "remove it")
    trusted = value_at(settings, ("projects", str(places.project), "trust_level")) == "trusted"
    if audience is Audience.SHARED and not trusted:
        message = "this project is not trusted, so Codex reads none of its settings"
        yield ClientCheck("codex: trust", "fault", message, "start `codex` here and trust the folder")
    trust: dict[str, list[str]] = {}
    for hook in hooks:
        ways = (hook.file, hook.file.resolve())  # Codex may name a linked file by either
        keys = [trust_key(path, hook.event, group=hook.group, hook=hook.position) for path in ways]
        found = (value_at(settings, ("hooks", "state", key)) for key in keys)
        state = next(filter(None, found), None)
        state = state if isinstance(state, Mapping) else {}
        known = state.get("trusted_hash")
        opinion = _TRUSTED
        if state.get("enabled") is False:
            opinion = "switched off in Codex"
        elif known != trust_hash(hook.event, hook.command, timeout_s=hook.timeout_s):
            reason = "changed since you trusted them" if known else "not trusted yet"
            opinion = f"{reason}, so that Codex skips them silently"
        trust.setdefault(opinion, []).append(hook.event)
    for message, events in trust.items():
        text = f"{', '.join(events)}: {message}"
        if message == _TRUSTED:
            yield ClientCheck("codex: trust of hooks", "ok", text)
        else:
            yield ClientCheck("codex: trust of hooks", "fault", text, _TRUST)


def last_fired(sessions: Path, client: str) -> dict[str, datetime]:
    """When each moment last reached Tacit in this project: by its line in a journal, or by what it asked of the learner."""
    found: dict[str, float] = {}
    for journal in sessions.glob(f"{client}-*{SUFFIX}"):
        for line in parsed(read(journal) or b""):
            moment, at = line.get("moment"), line.get("at")
            if isinstance(moment, str) and isinstance(at, int | float):
                found[moment] = max(found.get(moment, 0.0), at)
    asked = [*sessions.glob(f"{client}-*{WANTED}"), *sessions.glob(f"{client}-*{TAKEN}")]
    folded = sessions / FOLDED
    if f'"{client}-'.encode() in (read(folded) or b""):
        asked.append(folded)
    for path in asked:
        with suppress(FileNotFoundError):  # the learner has just done it
            found[LEARN] = max(found.get(LEARN, 0.0), path.stat().st_mtime)
    return {moment: datetime.fromtimestamp(at, UTC) for moment, at in found.items()}


def moment_of(event: str) -> str:
    """What Tacit calls the moment of a client's event."""
    return Event({"hook_event_name": event}).moment


_TIMEOUT_S = 20
_BARE_PATH = "/usr/local/bin:/usr/bin:/bin"
_STAND_IN = f'"version":"{STAND_IN_VERSION}"'.encode()
_MOST_OUTPUT = 10_000
"""Characters that clients take from a hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """How a command behaved."""

    problem: str = ""
    """What was wrong; empty when nothing was."""
    seconds: float = 0.0
    offers_nothing: bool = False
    """Whether a server answered that only stands in for one that was not found."""


def probe_hook(command: str, client: str, *, folder: Path, environment: UserEnvironment, nonce: str) -> ProbeResult:
    """Run a hook's command with an event from a folder that has a store, and look for its line in the journal there."""
    session = f"doctor-{nonce}"
    event = {"hook_event_name": "SessionStart", "session_id": session, "cwd": str(folder), "source": "startup"}
    started = time.monotonic()
    try:
        done = subprocess.run(
            _bare(environment, ["sh", "-c", command]), cwd=folder, input=json.dumps(event),
            capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ProbeResult(problem=f"it did not end within {_TIMEOUT_S} seconds", seconds=_TIMEOUT_S)
    problem = ""
    if done.returncode != 0:
        problem = f"it ended with status {done.returncode}: {_last_line(done.stderr)}"
    elif len(done.stdout) > _MOST_OUTPUT:
        problem = f"it printed {len(done.stdout)} characters, and clients cut at {_MOST_OUTPUT}"
    elif done.stdout.strip() and not done.stdout.lstrip().startswith("{"):
        problem = f"it printed something that is no JSON: {done.stdout.strip()[:80]!r}"
    elif not (folder / ".tacit" / "sessions" / f"{client}-{session}.jsonl").is_file():
        problem = "it ran and left no line in the journal"
    return ProbeResult(problem=problem, seconds=time.monotonic() - started)


def probe_server(command: str, arguments: Sequence[str], *, folder: Path, environment: UserEnvironment) -> ProbeResult:
    """Start an MCP server, greet it, and stop it once it has answered."""
    client = {"name": "tacit-doctor", "version": "1"}
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    started = time.monotonic()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        _bare(environment, [command, *arguments]), cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
    ) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        try:
            server.stdin.write(json.dumps(greeting).encode() + b"\n")
            ready, _, _ = select.select([server.stdout], [], [], _TIMEOUT_S)
            answer = os.read(server.stdout.fileno(), 1 << 20) if ready else b""
        except BrokenPipeError:  # it has ended already
            answer = b""
        server.kill()
        message = "" if b'"serverInfo"' in answer else server.stderr.read().decode(errors="replace")
    if b'"serverInfo"' in answer:
        return ProbeResult(seconds=time.monotonic() - started, offers_nothing=_STAND_IN in answer.replace(b" ", b""))
    return ProbeResult(problem=f"it did not answer: {_last_line(message)}", seconds=time.monotonic() - started)


def _bare(environment: UserEnvironment, words: Sequence[str]) -> list[str]:
    kept = [f"HOME={environment.user_home}", f"TACIT_HOME={environment.home}", f"PATH={_BARE_PATH}"]
    return ["env", "-i", *kept, *words]


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "nothing was said"
