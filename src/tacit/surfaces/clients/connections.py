"""What each client is given, where a person may want it, and how it starts Tacit. Changes nothing.

`Launcher` has the words of a command that work in any shell, in any folder, with no environment activated. Settings of one
person name the program by its absolute path. Settings that a team shares name it by what `PATH` finds, and do nothing,
silently, where Tacit is not installed.

Claude Code, measured with 2.1.325: by default everything goes where only this person and this project see it, as
`claude mcp add` has it too: `.claude/settings.local.json`, the project's part of `~/.claude.json`, and files that the clone
ignores by `.git/info/exclude`. A settings file with a comment or a trailing comma is ignored as a whole, without a word; a
CLAUDE.md or CLAUDE.local.md hides AGENTS.md, while `.claude/rules/*.md` does not.

Codex, measured with 0.166.0: it has no settings for one person in one project, so by default everything goes into
`$CODEX_HOME` and holds for every project of this person. A hook that nobody trusted is skipped without a word; a rule in
`rules/*.rules` also holds when approvals and sandbox are switched off; a SessionEnd hook may take 3 seconds, and asking for
more prints a warning.

The other clients are rows of a table: none has settings for one person in one project. Gemini CLI 0.61.0 and Qwen Code
0.24.4 come from one code base: hooks and servers stand in one `settings.json`, timeouts are milliseconds, and no hook is set
before a call, as neither client hands on what it says there. Copilot CLI 1.0.102 takes the form of Claude Code's hooks in a
file of its own, and a context only at the top level of the answer; it also runs the hooks in a project's
`.claude/settings*.json`. Its SessionEnd names no transcript, and Stop comes before it. opencode 1.18.33 has no hooks but a
plugin, which also adds the server and the deny rules to the settings when they are loaded: so these stay as their owner
wrote them, comments and all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from importlib import resources
from operator import eq
from pathlib import Path
from typing import Any

from tacit.config.environment import UserEnvironment
from tacit.config.location import FOLDER
from tacit.maintain.exports import GUIDE, MINI_CONFIG, guide_text, mini_config
from tacit.surfaces.clients.json_settings import SettingsEntries, SettingsEntry
from tacit.surfaces.clients.text_edits import HASH_END, WRITTEN_BY, MarkedBlock, TomlTable, WholeFile, hash_begin

_PERSONS_COMMANDS = (
    "review", "promote", "cards promote", "backport --apply", "backport --undo", "cards backport --apply",
    "cards backport --undo", "forecast", "moments forecast", "intake", "moments intake", "moments check --run",
    "research remove", "skills rollback", "skills edit", "skills invalidate", "skills pin", "undo",
    "skills import --own", "config --new-key", "config --policy", "config --add-signer",
    "purge", "store purge", "restore", "store restore", "check --apply", "tend --apply",
    "tend --every",
    "train", "consolidate", "adapters train", "adapters activate", "adapters rollback", "adapters remove", "index",
    "store index", "pause", "init", "uninstall", "web",
)  # fmt: skip
PERSONS_COMMANDS = tuple(tuple(command.split()) for command in _PERSONS_COMMANDS)
"""Commands that only a person may run, by their old and new names; clients deny them to the agent."""
_GROUPS = tuple(dict.fromkeys(words[:-1] for words in PERSONS_COMMANDS if not words[-1].startswith("-")))
HOOK_TIMEOUT_S = 10
SERVER, RULES = "MCP server", "deny rules"
"""What a file is for."""
_SERVERS = "mcpServers"


class Audience(StrEnum):
    """For whom something is installed."""

    LOCAL = "local"
    """This person, this project; kept out of version control."""
    USER = "user"
    """This person, every project."""
    SHARED = "shared"
    """Everybody who works on this project; committed."""


ClientPiece = SettingsEntries | MarkedBlock | TomlTable | WholeFile
"""What Tacit puts into a file: entries of a JSON document, a block of text, a table, or all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """One file and what belongs into it."""

    path: Path
    piece: ClientPiece
    client: str
    audience: Audience
    project: str = ""
    """The project that it is for; empty when it is for all of them."""
    what: str
    """In a word or two: what this file gives the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFolders:
    """The folders that settings lie in."""

    project: Path
    """The root of the checkout, also of a linked worktree."""
    user_home: Path
    claude_home: Path
    codex_home: Path
    copilot_home: Path | None = None
    config_home: Path | None = None
    """Where the person has them elsewhere than below `user_home`."""
    git_exclude: Path | None = None
    """The list of files that only this clone ignores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A coding agent that Tacit can be connected to."""

    name: str
    title: str
    program: str
    events: Mapping[str, int]
    """The moments its hooks are called at, and how long each may take, in the client's own unit."""
    files: Callable[[ClientFolders, Audience, Launcher], list[ClientFile]]
    home: Callable[[ClientFolders], Path]
    default: Audience


def skill_text(launcher: Launcher) -> str:
    """The skill that teaches an agent to use Tacit."""
    return _text("SKILL.md").replace("{tacit}", launcher.program)


def policy_text(launcher: Launcher, audience: Audience) -> str:
    """What an agent is told about Tacit in its standing instructions."""
    everywhere = "Projects with a `.tacit` folder learn from sessions"
    learns = everywhere if audience is Audience.USER else "This project learns from sessions"
    return _text("policy.md").replace("{tacit}", launcher.program).replace("{learns}", learns)


def deny_patterns() -> list[str]:
    """The shell commands that clients deny, with `*` for any text."""
    # The star in front catches `python -m tacit`, `uvx tacit`, an absolute path, `env` and `bash -c` as well.
    patterns = [f"*tacit {' '.join(words).replace(' --', '*--')}*" for words in PERSONS_COMMANDS]
    starts = [" ".join(("tacit", *group)) for group in _GROUPS]
    return [*patterns, *(f"*{start} {option}*" for start in starts for option in ("--store", "--json"))]


def plugin_text(launcher: Launcher, client: str) -> str:
    """The plugin that makes opencode call hooks."""
    command, arguments = launcher.server(client)
    denied = dict.fromkeys(deny_patterns(), "deny")
    values = {
        "hook": launcher.hook(client),
        "server": [command, *arguments],
        "denied": denied,
        "limit": HOOK_TIMEOUT_S * 1000,
    }
    text = _text("opencode.js")
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", json.dumps(value, indent=2 if isinstance(value, dict) else None))
    return text


def _text(name: str) -> str:
    return (resources.files("tacit.surfaces.clients") / "texts" / name).read_text(encoding="utf-8")


_SILENTLY = "2>/dev/null || exit 0"
_GUARD = 'PATH="$PATH:$HOME/.local/bin"; command -v tacit >/dev/null 2>&1'
"""Finds what pipx and uv install, also from a desktop program whose PATH lacks their folder."""
STAND_IN_VERSION = "0"
_STAND_IN = (
    "while IFS= read -r l; do i=${l#*'\"id\":'}; i=${i%%[,\\}]*}; p=${l#*'\"protocolVersion\":\"'}; p=${p%%'\"'*}; "
    "case $l in *'\"initialize\"'*) printf "
    '\'{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"%s","capabilities":{},'
    f'"serverInfo":{{"name":"tacit","version":"{STAND_IN_VERSION}"}}}}}}\\n\' "$i" "$p";; '
    '*\'"id":\'*) printf \'{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}\\n\' "$i";; esac; done'
)
"""An MCP server in shell that offers nothing, so that no client reports a failed one where Tacit is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """The words before `hook` and `mcp`, and why they may stop working one day."""

    words: tuple[str, ...]
    warning: str = ""
    shared: bool = False
    plain: bool = False
    """Whether a plain `tacit` in this person's shell is this one."""

    @property
    def program(self) -> str:
        """What an agent types to run Tacit."""
        return "tacit" if self.shared or self.plain else shlex.join(self.words)

    def hook(self, client: str) -> str:
        """The shell command of a hook."""
        if self.shared:
            return f"sh -c '{_GUARD} || exit 0; exec tacit hook --client {client}'"
        # Where this installation was removed, the hook stays silent and succeeds.
        return shlex.join(("sh", "-c", f"{shlex.join((*self.words, 'hook', '--client', client))} {_SILENTLY}"))

    def server(self, client: str) -> tuple[str, list[str]]:
        """Command and arguments of the MCP server."""
        if self.shared:
            able = f"{_GUARD} && tacit mcp --check >/dev/null 2>&1"
            return "sh", ["-c", f"{able} && exec tacit mcp --client {client}; {_STAND_IN}"]
        # Where this installation was removed, a server that offers nothing answers.
        own = shlex.join((*self.words, "mcp", "--client", client))
        return "sh", ["-c", f"[ -x {shlex.quote(self.words[0])} ] && exec {own}; {_STAND_IN}"]


SHARED = Launcher(words=("tacit",), shared=True)


def is_hook_command(command: str, client: str) -> bool:
    """Whether a command is a hook as Tacit writes it, here or in another installation, and nothing besides."""
    if command == SHARED.hook(client):
        return True
    try:
        words = shlex.split(command)
        if words[:2] == ["sh", "-c"] and len(words) == 3 and words[2].endswith(_SILENTLY):
            command = words[2].removesuffix(_SILENTLY).rstrip()
        *start, hook, option, name = shlex.split(command)
    except ValueError:
        return False
    if shlex.join([*start, hook, option, name]) != command or (hook, option, name) != ("hook", "--client", client):
        return False
    program = start[0].rpartition("/")[2] if start else ""
    return (len(start) == 1 and program == "tacit") or (
        program.startswith("python") and [word for word in start[1:] if word != "-P"] == ["-m", "tacit"]
    )


def find_launcher(project: Path, user_home: Path) -> Launcher:
    """The most lasting way to start the Tacit that is running now."""
    own = Path(sys.prefix).resolve()
    # Folders of environments are on the PATH only while these are activated.
    lasting = [folder for folder in os.get_exec_path() if not (Path(folder).parent / "pyvenv.cfg").exists()]
    found = (shutil.which("tacit", path=folder) for folder in (str(user_home / ".local" / "bin"), *lasting))
    for shim in found:
        if shim and Path(shim).is_absolute() and Path(shim).resolve().is_relative_to(own):
            plain = shutil.which("tacit", path=os.pathsep.join(lasting))
            return Launcher(words=(shim,), plain=plain is not None and Path(plain).resolve().is_relative_to(own))
    script = Path(sysconfig.get_path("scripts")) / "tacit"
    # -P: the folder that a hook runs in is not a place to import from.
    words = (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-P", "-m", "tacit")
    warning = ""
    kept_for_good = any((own / receipt).exists() for receipt in ("pipx_metadata.json", "uv-receipt.toml"))
    if sys.prefix != sys.base_prefix and not kept_for_good:
        if {"archive-v0", ".cache"} & set(own.parts):
            warning = f"{own} is a cache that is emptied now and then"
        elif own.is_relative_to(project.resolve()):
            warning = f"{own} belongs to this project and may go with it"
        else:
            warning = f"{own} is a virtual environment; without it the hooks stop working"
    return Launcher(words=words, warning=warning)


# --- Claude Code ----------------------------------------------------------------------------------------------------

CLAUDE_EVENTS = dict.fromkeys(
    (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch",
        "PermissionDenied", "Stop", "SessionEnd",
    ),
    HOOK_TIMEOUT_S,
)  # fmt: skip


def _claude_files(places: ClientFolders, audience: Audience, launcher: Launcher) -> list[ClientFile]:
    """Everything Claude Code is given."""
    folder = places.claude_home if audience is Audience.USER else places.project / ".claude"
    settings = folder / ("settings.local.json" if audience is Audience.LOCAL else "settings.json")
    hooks = hook_entries(launcher, CLAUDE_CODE.name, CLAUDE_EVENTS)
    deny = _deny_entries()
    skill = folder / "skills" / "tacit" / "SKILL.md"
    policy, policy_piece = _policy(places, audience, folder, launcher)
    project = "" if audience is Audience.USER else str(places.project)
    file = partial(ClientFile, client=CLAUDE_CODE.name, audience=audience, project=project)
    found = [
        file(path=settings, piece=SettingsEntries((*hooks, *deny)), what="hooks and deny rules"),
        _claude_server(places, audience, launcher, file),
        file(path=skill, piece=WholeFile(skill_text(launcher)), what="skill"),
        file(path=policy, piece=policy_piece, what="policy"),
    ]
    return found + (_excluded(places, (settings, skill, policy), file) if audience is Audience.LOCAL else [])


def _excluded(places: ClientFolders, paths: Iterable[Path], file: Callable[..., ClientFile]) -> list[ClientFile]:
    """The lines that keep files of one person out of version control; none outside git."""
    if not places.git_exclude:
        return []
    ours = "\n".join(f"/{path.relative_to(places.project).as_posix()}" for path in paths)
    found: ClientFile = file(path=places.git_exclude, piece=MarkedBlock(""), what="kept out of version control")
    about = "" if found.client == CLAUDE_CODE.name else found.client
    return [replace(found, piece=MarkedBlock(ours, hash_begin(about), HASH_END))]


def hook_entries(launcher: Launcher, client: str, events: Mapping[str, int]) -> tuple[SettingsEntry, ...]:
    """One group of hooks per event, in the form that clients share."""

    def is_ours(group: Any) -> bool:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
        return bool(commands) and all(isinstance(c, str) and is_hook_command(c, client) for c in commands)

    entries = []
    for event, timeout in events.items():
        # Only commands are worth a hook before they run.
        matcher = {"matcher": "Bash"} if event == "PreToolUse" and client != CODEX.name else {}
        hook = {"type": "command", "command": launcher.hook(client), "timeout": timeout}
        entries.append(SettingsEntry(at=("hooks", event), value={**matcher, "hooks": [hook]}, is_ours=is_ours))
    return tuple(entries)


def _deny_entries() -> list[SettingsEntry]:
    """Rules in the form of Claude Code, which reads a run of blanks as one, in a rule and in a command alike."""
    rules = [f"Bash({pattern})" for pattern in deny_patterns()]
    return [SettingsEntry(at=("permissions", "deny"), value=rule, is_ours=partial(eq, rule)) for rule in rules]


def _claude_server(
    places: ClientFolders, audience: Audience, launcher: Launcher, file: Callable[..., ClientFile]
) -> ClientFile:
    at: tuple[str, ...] = (_SERVERS,)
    if audience is Audience.SHARED:
        path = places.project / ".mcp.json"
    else:
        inside = places.claude_home != places.user_home / ".claude"
        path = (places.claude_home if inside else places.user_home) / ".claude.json"
        at = at if audience is Audience.USER else ("projects", str(places.project), *at)
    entry = _server_entry(launcher, CLAUDE_CODE.name, at, {"type": "stdio"})
    return file(path=path, piece=SettingsEntries((entry,)), what=SERVER)


def _server_entry(launcher: Launcher, client: str, at: tuple[str, ...], kind: Mapping[str, Any]) -> SettingsEntry:
    def is_ours(value: Any) -> bool:
        words = [value.get("command"), *value.get("args", ())] if isinstance(value, dict) else []
        message = " ".join(word for word in words if isinstance(word, str))
        return re.search(r"\btacit\b.*\bmcp\b", message, re.DOTALL) is not None

    command, arguments = launcher.server(client)
    return SettingsEntry(at=at, key="tacit", value={**kind, "command": command, "args": arguments}, is_ours=is_ours)


def _policy(
    places: ClientFolders, audience: Audience, folder: Path, launcher: Launcher
) -> tuple[Path, MarkedBlock | WholeFile]:
    """A team's text goes where the team's text is; one person's into a file of its own."""
    text = policy_text(launcher, audience)
    if audience is not Audience.SHARED:
        return folder / "rules" / "tacit.md", WholeFile(f"<!-- {WRITTEN_BY} -->\n\n{text}")
    alone = (places.project / "AGENTS.md").exists() and not (places.project / "CLAUDE.md").exists()
    return places.project / ("AGENTS.md" if alone else "CLAUDE.md"), MarkedBlock(text)


CLAUDE_CODE = Client(
    name="claude-code",
    title="Claude Code",
    program="claude",
    events=CLAUDE_EVENTS,
    files=_claude_files,
    home=lambda places: places.claude_home,
    default=Audience.LOCAL,
)


# --- Codex ----------------------------------------------------------------------------------------------------------

CODEX_EVENTS = dict.fromkeys(
    ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"), HOOK_TIMEOUT_S
) | {"SessionEnd": 3}
_STARTERS = (("env",), ("python", "-m"), ("python3", "-m"), ("uvx",), ("uv", "run"), ("pipx", "run"))


def _codex_files(places: ClientFolders, audience: Audience, launcher: Launcher) -> list[ClientFile]:
    """Everything Codex is given."""
    audience = Audience.SHARED if audience is Audience.SHARED else Audience.USER
    shared = audience is Audience.SHARED
    folder = places.project / ".codex" if shared else places.codex_home
    skills = places.project / ".agents" / "skills" if shared else folder / "skills"
    command, arguments = launcher.server(CODEX.name)
    # JSON's strings, which TOML reads alike as long as nothing lies outside the first plane.
    quoted = [json.dumps(word, ensure_ascii=False) for word in (command, *arguments)]
    server = TomlTable(("mcp_servers", "tacit"), (f"command = {quoted[0]}", f"args = [{', '.join(quoted[1:])}]"))
    # Rules match the words of a command from its first one on, so that each way to start Tacit needs its own.
    verbs: dict[tuple[str, ...], list[str]] = {}
    for *group, verb in PERSONS_COMMANDS:
        verbs.setdefault(tuple(group), []).append(verb)
    starts = dict.fromkeys((("tacit",), launcher.words, *((*starter, "tacit") for starter in _STARTERS)))
    forbidden = [((*start, *group), each, "WHY") for start in starts for group, each in verbs.items()]
    forbidden += [((*start, *group), ["--store", "--json"], "LATER") for start in starts for group in _GROUPS]
    rules = [
        f'prefix_rule(pattern = {json.dumps([*words, last])}, decision = "forbidden", justification = {reason})'
        for words, last, reason in forbidden
    ]
    why = 'WHY = "This command is for a person. Tell what waits for a decision, and let the person run it."'
    later = 'LATER = "Write --store and --json after the command: tacit recall TASK --json"'
    head = (f"# {WRITTEN_BY}; `tacit uninstall` removes it.", why, later)
    hooks = SettingsEntries(hook_entries(launcher, CODEX.name, CODEX_EVENTS))
    policy = (places.project if shared else folder) / "AGENTS.md"
    project = str(places.project) if shared else ""
    file = partial(ClientFile, client=CODEX.name, audience=audience, project=project)
    return [
        file(path=folder / "hooks.json", piece=hooks, what="hooks"),
        file(path=folder / "config.toml", piece=server, what=SERVER),
        file(
            path=folder / "rules" / "tacit.rules", piece=WholeFile("\n".join((*head, *rules)) + "\n"), what="deny rules"
        ),
        file(path=skills / "tacit" / "SKILL.md", piece=WholeFile(skill_text(launcher)), what="skill"),
        file(path=policy, piece=MarkedBlock(policy_text(launcher, audience)), what="policy"),
    ]


def trust_key(hooks_file: Path, event: str, *, group: int, hook: int) -> str:
    """The name under which Codex remembers that a person trusts a hook."""
    return f"{hooks_file}:{_snake_case(event)}:{group}:{hook}"


def trust_hash(event: str, command: str, *, timeout_s: int) -> str:
    """The fingerprint of a hook without matcher that Codex compares with the one a person trusted."""
    hook = {"type": "command", "command": command, "timeout": timeout_s, "async": False}
    document = {"event_name": _snake_case(event), "hooks": [hook]}
    message = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(message.encode()).hexdigest()


def _snake_case(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def codex_settings(codex_home: Path) -> dict[str, Any]:
    """What config.toml says; nothing if it is not there or cannot be read."""
    try:
        return tomllib.loads((codex_home / "config.toml").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}


CODEX = Client(
    name="codex",
    title="Codex",
    program="codex",
    events=CODEX_EVENTS,
    files=_codex_files,
    home=lambda places: places.codex_home,
    default=Audience.USER,
)


# --- the others, by a table -----------------------------------------------------------------------------------------

Places = tuple[str, ...]
"""Where a file lies: in the person's folder, in a team's project, and, if the client knows that, in it for one person."""
_USUAL = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop")


def _from_row(
    *,
    name: str,
    title: str,
    program: str,
    home: Callable[[ClientFolders], Path],
    hooks: Places,
    server: Places = ("", "", ""),
    rules: Places = ("", "", ""),
    skills: Places = ("skills", ".agents/skills"),
    policy: Places = ("", "", ""),
    events: Sequence[str],
    second: int = 1,
    kind: Mapping[str, Any] | None = None,
) -> Client:
    """A client whose files are told by their places; what is not told, it has no file for.

    `second` is how many of the client's units of time one has; `kind` is what its entry of a server says besides the command.
    """
    timeouts = dict.fromkeys(events, HOOK_TIMEOUT_S * second)

    def files(places: ClientFolders, audience: Audience, launcher: Launcher) -> list[ClientFile]:
        audience = Audience.USER if audience is Audience.LOCAL and len(hooks) < 3 else audience
        at = (Audience.USER, Audience.SHARED, Audience.LOCAL).index(audience)
        folder, project = (places.project, str(places.project)) if at else (home(places), "")
        entries = {"hooks": list(hook_entries(launcher, name, timeouts))}
        entries |= {SERVER: [_server_entry(launcher, name, (_SERVERS,), kind or {})], RULES: _deny_entries()}
        by_path: dict[str, list[str]] = {}
        for what, each in (("hooks", hooks), (SERVER, server), (RULES, rules)):
            by_path.setdefault(each[at], []).append(what)
        by_path.pop("", None)
        pieces: list[tuple[str, ClientPiece, str]] = [
            (path, _piece(path, [entry for what in whats for entry in entries[what]], launcher, name), ", ".join(whats))
            for path, whats in by_path.items()
        ]
        pieces.append((f"{skills[at]}/tacit/SKILL.md", WholeFile(skill_text(launcher)), "skill"))
        if policy[at]:
            pieces.append((policy[at], MarkedBlock(policy_text(launcher, audience)), "policy"))
        file = partial(ClientFile, client=name, audience=audience, project=project)
        found = [file(path=folder / path, piece=piece, what=what) for path, piece, what in pieces]
        return found + (_excluded(places, [each.path for each in found], file) if audience is Audience.LOCAL else [])

    default = Audience.LOCAL if len(hooks) > 2 else Audience.USER
    return Client(name=name, title=title, program=program, events=timeouts, files=files, home=home, default=default)


def _piece(path: str, entries: Sequence[SettingsEntry], launcher: Launcher, client: str) -> ClientPiece:
    """What stands in a file, in the language that its name ends with."""
    if path.endswith(".js"):
        return WholeFile(plugin_text(launcher, client))
    if path.endswith(".toml"):
        head = f"# {WRITTEN_BY}; `tacit uninstall` removes it."
        denied = (pattern.rstrip("*").replace("*", ".*") for pattern in deny_patterns())
        return WholeFile("\n\n".join((head, *map(_GEMINI_RULE.format, denied))) + "\n")
    return SettingsEntries(tuple(entries), comments=client != "letta-code")


_GEMINI_RULE = """\
[[rule]]
toolName = "run_shell_command"
commandRegex = '{}'
decision = "deny"
priority = 999
denyMessage = "This command is for a person. Tell what waits for a decision, and let the person run it.\""""


GEMINI = _from_row(
    name="gemini",
    title="Gemini CLI",
    program="gemini",
    home=lambda places: places.user_home / ".gemini",
    hooks=("settings.json", ".gemini/settings.json"),
    server=("settings.json", ".gemini/settings.json"),
    rules=("policies/tacit.toml", ""),  # it reads no rules of a project
    policy=("GEMINI.md", "GEMINI.md"),
    events=("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"),
    second=1000,
)
QWEN_CODE = _from_row(
    name="qwen-code",
    title="Qwen Code",
    program="qwen",
    home=lambda places: places.user_home / ".qwen",
    hooks=("settings.json", ".qwen/settings.json"),
    server=("settings.json", ".qwen/settings.json"),
    rules=("settings.json", ".qwen/settings.json"),
    policy=("QWEN.md", "AGENTS.md"),
    events=(*_USUAL, "SessionEnd"),
    second=1000,
)
COPILOT = _from_row(
    name="copilot",
    title="Copilot CLI",
    program="copilot",
    home=lambda places: places.copilot_home or places.user_home / ".copilot",
    hooks=("hooks/tacit.json", ".github/hooks/tacit.json"),
    server=("mcp-config.json", ".github/mcp.json"),
    policy=("copilot-instructions.md", "AGENTS.md"),
    events=(*_USUAL, "PreToolUse"),
    kind={"type": "local", "tools": ["*"]},
)
OPENCODE = _from_row(
    name="opencode",
    title="opencode",
    program="opencode",
    home=lambda places: (places.config_home or places.user_home / ".config") / "opencode",
    hooks=("plugins/tacit.js", ".opencode/plugins/tacit.js"),
    server=("plugins/tacit.js", ".opencode/plugins/tacit.js"),
    rules=("plugins/tacit.js", ".opencode/plugins/tacit.js"),
    policy=("AGENTS.md", "AGENTS.md"),
    events=_USUAL,
)


LETTA_CODE = _from_row(
    name="letta-code",
    title="letta-code",
    program="letta",
    home=lambda places: places.user_home / ".letta",
    hooks=("settings.json", ".letta/settings.json", ".letta/settings.local.json"),
    skills=("skills", ".skills", ".skills"),  # it lists `.agents/skills` as well, and cannot load a skill from there
    # A call that failed was used, too.
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"),
    second=1000,
)

# --- clients without hooks: aider and mini-swe-agent ------------------------------------------------------------------


def _aider_files(places: ClientFolders, audience: Audience, launcher: Launcher) -> list[ClientFile]:
    """A guide, which is kept current, and the line of aider's settings that names it; for one person in one project."""
    guide, settings = places.project / FOLDER / GUIDE, places.project / ".aider.conf.yml"
    file = partial(ClientFile, client=AIDER.name, audience=Audience.LOCAL, project=str(places.project))
    reads = MarkedBlock(f"read: [{json.dumps(str(guide), ensure_ascii=False)}]", hash_begin(), HASH_END, key="read")
    found = [
        file(path=settings, piece=reads, what="reads the guide"),
        file(path=guide, piece=WholeFile(guide_text((), places.project), is_kept_current=True), what="guide"),
    ]
    return found + _excluded(places, (settings,), file)


def _mini_files(places: ClientFolders, audience: Audience, launcher: Launcher) -> list[ClientFile]:
    """A configuration to start mini-swe-agent with, which holds the guide; for one person in one project."""
    piece = WholeFile(mini_config((), places.project), is_kept_current=True)
    path, project = places.project / FOLDER / MINI_CONFIG, str(places.project)
    what = f"mini -c mini.yaml -c {FOLDER}/{MINI_CONFIG}"
    return [
        ClientFile(
            path=path, piece=piece, client=MINI_SWE_AGENT.name, audience=Audience.LOCAL, project=project, what=what
        )
    ]


AIDER = Client(
    name="aider",
    title="aider",
    program="aider",
    events={},
    files=_aider_files,
    home=lambda places: places.user_home / ".aider",
    default=Audience.LOCAL,
)
MINI_SWE_AGENT = Client(
    name="mini-swe-agent",
    title="mini-swe-agent",
    program="mini",
    events={},
    files=_mini_files,
    home=lambda places: (places.config_home or places.user_home / ".config") / "mini-swe-agent",
    default=Audience.LOCAL,
)

# --- which connections are there ------------------------------------------------------------------------------------

_ALL = (CLAUDE_CODE, CODEX, COPILOT, GEMINI, OPENCODE, QWEN_CODE, LETTA_CODE, AIDER, MINI_SWE_AGENT)
CLIENTS = {client.name: client for client in _ALL}


def find_client_folders(environment: UserEnvironment, start: Path) -> ClientFolders:
    """The folders, seen from `start`."""
    start = start.resolve()
    project = next((each for each in (start, *start.parents) if (each / ".git").exists()), start)
    return ClientFolders(
        project=project,
        user_home=environment.user_home,
        claude_home=environment.claude_home,
        codex_home=environment.codex_home,
        copilot_home=environment.client_folders.get("copilot"),
        config_home=environment.config_home,
        git_exclude=git_exclude_of(project),
    )


def installed_clients(places: ClientFolders) -> list[Client]:
    """The clients that this person uses, as far as it shows."""
    return [c for c in CLIENTS.values() if c.home(places).is_dir() or shutil.which(c.program)]


def files_of(client: Client, places: ClientFolders, audience: Audience, *, launcher: Launcher) -> list[ClientFile]:
    """Everything one client is given for one audience."""
    return client.files(places, audience, SHARED if audience is Audience.SHARED else launcher)


def without_server(files: Sequence[ClientFile]) -> list[ClientFile]:
    """The same files without the MCP server, for where it is not installed."""

    def bare(file: ClientFile) -> ClientFile:
        if isinstance(file.piece, WholeFile):
            text = re.sub(r"(?m)^const SERVER = .*$", "const SERVER = null", file.piece.text)
            return replace(file, piece=replace(file.piece, text=text))
        if not isinstance(file.piece, SettingsEntries):
            return file
        kept = tuple(entry for entry in file.piece.entries if entry.at[0] != _SERVERS)
        return replace(file, piece=SettingsEntries(kept))

    return [bare(file) for file in files if file.what != SERVER]


def git_exclude_of(project: Path) -> Path | None:
    """The list of ignored files that is not committed; worktrees share it. None outside git."""
    if not (project / ".git").exists():
        return None
    ask = ["git", "rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]
    try:
        done = subprocess.run(ask, cwd=project, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None
