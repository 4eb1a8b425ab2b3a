"""What Claude Code and Codex are given, which of these connections are there, and which files one person may take back.

A connection is what one client is given for one audience. Reads files; changes nothing.

Claude Code, measured with 2.1.325: by default everything goes where only this person and this project see it, as
`claude mcp add` has it too: `.claude/settings.local.json`, the project's part of `~/.claude.json`, and files that the clone
ignores by `.git/info/exclude`. A settings file with a comment or a trailing comma is ignored as a whole, without a word; a
CLAUDE.md or CLAUDE.local.md hides AGENTS.md, while `.claude/rules/*.md` does not.

Codex, measured with 0.166.0: it has no settings for one person in one project, so by default everything goes into
`$CODEX_HOME` and holds for every project of this person. A hook that nobody trusted is skipped without a word; a rule in
`rules/*.rules` also holds when approvals and sandbox are switched off; a SessionEnd hook may take 3 seconds, and asking for
more prints a warning.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from operator import eq
from pathlib import Path
from typing import Any

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake
from tacit.surfaces.clients.client_files import (
    HOOK_TIMEOUT_S,
    PERSONS_COMMANDS,
    SERVER,
    SHARED,
    Audience,
    Client,
    ClientFile,
    ClientFolders,
    Launcher,
    is_hook_command,
    policy_text,
    skill_text,
)
from tacit.surfaces.clients.installation import InstallationRecord, read
from tacit.surfaces.clients.json_settings import SettingsEntries, SettingsEntry
from tacit.surfaces.clients.text_edits import WRITTEN_BY, MarkedBlock, TomlTable, WholeFile

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
    # The star in front catches `python -m tacit`, `uvx tacit`, an absolute path, `env` and `bash -c` as well.
    rules = [f"Bash(*tacit {' '.join(words).replace(' --', '*--')}*)" for words in PERSONS_COMMANDS]
    deny = (SettingsEntry(at=("permissions", "deny"), value=rule, is_ours=partial(eq, rule)) for rule in rules)
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
    if audience is Audience.LOCAL and places.git_exclude:
        ours = [f"/{path.relative_to(places.project).as_posix()}" for path in (settings, skill, policy)]
        block = MarkedBlock("\n".join(ours), begin=f"# tacit: begin. {WRITTEN_BY}", end="# tacit: end")
        found.append(file(path=places.git_exclude, piece=block, what="kept out of version control"))
    return found


def hook_entries(launcher: Launcher, client: str, events: Mapping[str, int]) -> tuple[SettingsEntry, ...]:
    """One group of hooks per event, in the form that Claude Code and Codex share."""

    def is_ours(group: Any) -> bool:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
        return bool(commands) and all(isinstance(c, str) and is_hook_command(c, client) for c in commands)

    entries = []
    for event, timeout_s in events.items():
        # Only commands are worth a hook before they run.
        matcher = {"matcher": "Bash"} if (client, event) == (CLAUDE_CODE.name, "PreToolUse") else {}
        hook = {"type": "command", "command": launcher.hook(client), "timeout": timeout_s}
        entries.append(SettingsEntry(at=("hooks", event), value={**matcher, "hooks": [hook]}, is_ours=is_ours))
    return tuple(entries)


def _claude_server(
    places: ClientFolders, audience: Audience, launcher: Launcher, file: Callable[..., ClientFile]
) -> ClientFile:
    command, arguments = launcher.server(CLAUDE_CODE.name)
    at: tuple[str, ...] = ("mcpServers",)
    if audience is Audience.SHARED:
        path = places.project / ".mcp.json"
    else:
        inside = places.claude_home != places.user_home / ".claude"
        path = (places.claude_home if inside else places.user_home) / ".claude.json"
        at = at if audience is Audience.USER else ("projects", str(places.project), *at)

    def is_ours(value: Any) -> bool:
        words = [value.get("command"), *value.get("args", ())] if isinstance(value, dict) else []
        message = " ".join(word for word in words if isinstance(word, str))
        return re.search(r"\btacit\b.*\bmcp\b", message, re.DOTALL) is not None

    value = {"type": "stdio", "command": command, "args": arguments}
    entry = SettingsEntry(at=at, key="tacit", value=value, is_ours=is_ours)
    return file(path=path, piece=SettingsEntries((entry,)), what=SERVER)


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
    rules = [
        f'prefix_rule(pattern = {json.dumps([*start, *group, each])}, decision = "forbidden", justification = WHY)'
        for start in starts
        for group, each in verbs.items()
    ]
    why = 'WHY = "This command is for a person. Tell what waits for a decision, and let the person run it."'
    head = (f"# {WRITTEN_BY}; `tacit uninstall` removes it.", why)
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


# --- which connections are there ------------------------------------------------------------------------------------

CLIENTS = {client.name: client for client in (CLAUDE_CODE, CODEX)}


def find_client_folders(environment: UserEnvironment, start: Path) -> ClientFolders:
    """The folders, seen from `start`."""
    start = start.resolve()
    project = next((each for each in (start, *start.parents) if (each / ".git").exists()), start)
    return ClientFolders(
        project=project,
        user_home=environment.user_home,
        claude_home=environment.claude_home,
        codex_home=environment.codex_home,
        git_exclude=_git_exclude(project),
    )


def installed_clients(places: ClientFolders) -> list[Client]:
    """The clients that this person uses, as far as it shows."""
    return [c for c in CLIENTS.values() if c.home(places).is_dir() or shutil.which(c.program)]


def files_of(client: Client, places: ClientFolders, audience: Audience, *, launcher: Launcher) -> list[ClientFile]:
    """Everything one client is given for one audience."""
    return client.files(places, audience, SHARED if audience is Audience.SHARED else launcher)


def _git_exclude(project: Path) -> Path | None:
    """The list of ignored files that is not committed; worktrees share it. None outside git."""
    if not (project / ".git").exists():
        return None
    ask = ["git", "rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]
    try:
        done = subprocess.run(ask, cwd=project, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def parts_in(file: ClientFile) -> list[str]:
    """What a file has of Tacit's piece; nothing if it cannot be read."""
    try:
        content = read(file.path)
        return file.piece.names(content.decode("utf-8", "replace")) if content else []
    except Mistake:
        return []


def is_connected(files: Sequence[ClientFile]) -> bool:
    """Whether the first file, which holds the hooks, has anything of Tacit's."""
    return bool(parts_in(files[0]))


def is_connected_by_project(client: Client, places: ClientFolders, *, launcher: Launcher) -> bool:
    """Whether the project's shared files connect a client: every hook is there, and the client can read them."""
    (file, *_) = files_of(client, places, Audience.SHARED, launcher=launcher)
    assert isinstance(file.piece, SettingsEntries)
    wanted = {entry.name for entry in file.piece.entries if entry.at[0] == "hooks"}
    return wanted <= set(parts_in(file))


def without_shared_parts(
    client: Client, places: ClientFolders, files: Sequence[ClientFile], *, launcher: Launcher
) -> list[ClientFile]:
    """Those of a person's own files that are not the project's shared ones at the same time."""
    shared = files_of(client, places, Audience.SHARED, launcher=launcher)
    taken = {file.path for file in shared} if is_connected(shared) else set()
    return [file for file in files if file.audience is Audience.SHARED or file.path not in taken]


def find_uninstall_plan(
    places: ClientFolders, record: InstallationRecord, *, launcher: Launcher, clients: Collection[str], shared: bool
) -> tuple[list[ClientFile], dict[str, Path]]:
    """What this person's own `init` wrote, here and elsewhere, by the record or by its form; and what stays connected for
    everybody: title of a client → the project's file, which is not this person's to change.

    The project's shared files belong to everybody: they go if the record names them, or if that is asked for.
    """
    going: list[ClientFile] = []
    held: set[Path] = set()
    left: dict[str, Path] = {}
    # Every connection that may be there: in this project, of this person, and in the other projects on record.
    others = dict.fromkeys(note.project for note in record.notes if note.project not in ("", str(places.project)))
    elsewhere = [replace(places, project=Path(each), git_exclude=_git_exclude(Path(each))) for each in others]
    candidates = product((places, *elsewhere), CLIENTS.values(), Audience)
    for seen, client, audience in candidates:
        files = files_of(client, seen, audience, launcher=launcher)
        here = files[0].project == str(places.project)
        for_all = files[0].audience is Audience.SHARED and not (shared and here)
        mine = [file for file in files if client.name in clients and (not for_all or record.of(file))]
        going += mine
        if len(mine) < len(files) and is_connected(files):
            held |= {file.path for file in files if file not in mine}
            if here and for_all and client.name in clients and files[0] not in mine:
                left[client.title] = files[0].path
    return [file for file in going if file.path not in held], left
