"""Codex: where its settings lie, which of its hooks Tacit uses, how it forbids commands, and whose hooks it trusts.

Codex has no settings for one person in one project, so that by default everything goes into `$CODEX_HOME` and holds for
every project of this person.

Measured with 0.166.0: a hook that nobody trusted is skipped without a word; a rule in `rules/*.rules` also holds when
approvals and sandbox are switched off; a SessionEnd hook may take 3 seconds, and asking for more prints a warning.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tacit.surfaces.clients.claude_code import hook_entries
from tacit.surfaces.clients.client_files import (
    HOOK_TIMEOUT_S,
    PERSONS_COMMANDS,
    SERVER,
    Audience,
    Client,
    ClientFile,
    ClientFolders,
    ClientPiece,
    policy_text,
    skill_text,
)
from tacit.surfaces.clients.json_settings import SettingsEntries
from tacit.surfaces.clients.launcher import Launcher
from tacit.surfaces.clients.text_edits import WRITTEN_BY, MarkedBlock, TomlTable, WholeFile

NAME = "codex"
EVENTS = dict.fromkeys(("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"), HOOK_TIMEOUT_S) | {"SessionEnd": 3}
_STARTERS = (("env",), ("python", "-m"), ("python3", "-m"), ("uvx",), ("uv", "run"), ("pipx", "run"))


def files(places: ClientFolders, audience: Audience, launcher: Launcher) -> list[ClientFile]:
    """Everything Codex is given."""
    audience = Audience.SHARED if audience is Audience.SHARED else Audience.USER
    shared = audience is Audience.SHARED
    folder = places.project / ".codex" if shared else places.codex_home
    skills = places.project / ".agents" / "skills" if shared else folder / "skills"
    command, arguments = launcher.server(NAME)
    server = TomlTable(
        ("mcp_servers", "tacit"),
        (f"command = {_quoted(command)}", f"args = [{', '.join(_quoted(each) for each in arguments)}]"),
    )

    def file(path: Path, piece: ClientPiece, what: str) -> ClientFile:
        project = "" if audience is Audience.USER else str(places.project)
        return ClientFile(path=path, piece=piece, client=NAME, audience=audience, project=project, what=what)

    return [
        file(folder / "hooks.json", SettingsEntries(hook_entries(launcher, client=NAME, events=EVENTS)), "hooks"),
        file(folder / "config.toml", server, SERVER),
        file(folder / "rules" / "tacit.rules", WholeFile(_rules(launcher)), "deny rules"),
        file(skills / "tacit" / "SKILL.md", WholeFile(skill_text(launcher)), "skill"),
        file(
            (places.project if shared else folder) / "AGENTS.md", MarkedBlock(policy_text(launcher, audience)), "policy"
        ),
    ]


def _rules(launcher: Launcher) -> str:
    """Rules match the words of a command from its first one on, so that each way to start Tacit needs its own."""
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
    return "\n".join((f"# {WRITTEN_BY}; `tacit uninstall` removes it.", why, *rules)) + "\n"


def _quoted(text: str) -> str:
    """A TOML string: JSON's, which TOML reads alike as long as nothing lies outside the first plane."""
    return json.dumps(text, ensure_ascii=False)


def trust_key(hooks_file: Path, event: str, *, group: int, hook: int) -> str:
    """The name under which Codex remembers that a person trusts a hook."""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
    return f"{hooks_file}:{snake}:{group}:{hook}"


def trust_hash(event: str, command: str, *, timeout_s: int) -> str:
    """The fingerprint of a hook without matcher that Codex compares with the one a person trusted."""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
    hook = {"type": "command", "command": command, "timeout": timeout_s, "async": False}
    message = json.dumps(
        {"event_name": snake, "hooks": [hook]}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return "sha256:" + hashlib.sha256(message.encode()).hexdigest()


def settings(codex_home: Path) -> dict[str, Any]:
    """What config.toml says; nothing if it is not there or cannot be read."""
    try:
        return tomllib.loads((codex_home / "config.toml").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}


CODEX = Client(
    name=NAME,
    title="Codex",
    program="codex",
    events=EVENTS,
    files=files,
    home=lambda places: places.codex_home,
    default=Audience.USER,
)
