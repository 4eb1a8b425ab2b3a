"""Claude Code: where its settings lie, which of its hooks Tacit uses, and how it denies commands.

By default everything goes where only this person and this project see it, as `claude mcp add` has it too:
`.claude/settings.local.json`, the project's part of `~/.claude.json`, and files that the clone ignores by `.git/info/exclude`.

Measured with 2.1.325: a settings file with a comment or a trailing comma is ignored as a whole, without a word; a
CLAUDE.md or CLAUDE.local.md hides AGENTS.md, while `.claude/rules/*.md` does not.
"""

from __future__ import annotations

import re
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

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
from tacit.surfaces.clients.json_settings import SettingsEntries, SettingsEntry
from tacit.surfaces.clients.launcher import Launcher, is_hook_command
from tacit.surfaces.clients.text_edits import WRITTEN_BY, MarkedBlock, WholeFile

NAME = "claude-code"
EVENTS = dict.fromkeys(
    (
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "PermissionDenied",
        "Stop",
        "SessionEnd",
    ),
    HOOK_TIMEOUT_S,
)


def files(places: ClientFolders, audience: Audience, launcher: Launcher) -> list[ClientFile]:
    """Everything Claude Code is given."""
    folder = places.claude_home if audience is Audience.USER else places.project / ".claude"
    settings = folder / ("settings.local.json" if audience is Audience.LOCAL else "settings.json")

    def file(path: Path, piece: ClientPiece, what: str) -> ClientFile:
        project = "" if audience is Audience.USER else str(places.project)
        return ClientFile(path=path, piece=piece, client=NAME, audience=audience, project=project, what=what)

    skill = file(folder / "skills" / "tacit" / "SKILL.md", WholeFile(skill_text(launcher)), "skill")
    policy = _policy(places, audience, folder, text=policy_text(launcher, audience))
    found = [
        file(settings, SettingsEntries((*hook_entries(launcher), *_deny_entries())), "hooks and deny rules"),
        file(*_server(places, audience, launcher), SERVER),
        skill,
        file(*policy, "policy"),
    ]
    if audience is Audience.LOCAL and places.git_exclude:
        ours = [f"/{each.relative_to(places.project).as_posix()}" for each in (settings, skill.path, policy[0])]
        block = MarkedBlock("\n".join(ours), begin=f"# tacit: begin. {WRITTEN_BY}", end="# tacit: end")
        found.append(file(places.git_exclude, block, "kept out of version control"))
    return found


def hook_entries(
    launcher: Launcher, *, client: str = NAME, events: dict[str, int] = EVENTS
) -> tuple[SettingsEntry, ...]:
    """One group of hooks per event, in the form that Claude Code and Codex share."""

    def is_ours(group: Any) -> bool:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
        return bool(commands) and all(isinstance(c, str) and is_hook_command(c, client) for c in commands)

    command = launcher.hook(client)
    return tuple(
        SettingsEntry(
            at=("hooks", event),
            value={"hooks": [{"type": "command", "command": command, "timeout": timeout_s}]},
            is_ours=is_ours,
        )
        for event, timeout_s in events.items()
    )


def _deny_entries() -> tuple[SettingsEntry, ...]:
    """The star in front catches `python -m tacit`, `uvx tacit`, an absolute path, `env` and `bash -c` as well."""
    rules = [f"Bash(*tacit {' '.join(words).replace(' --', '*--')}*)" for words in PERSONS_COMMANDS]
    return tuple(SettingsEntry(at=("permissions", "deny"), value=rule, is_ours=partial(eq, rule)) for rule in rules)


def _server(places: ClientFolders, audience: Audience, launcher: Launcher) -> tuple[Path, SettingsEntries]:
    command, arguments = launcher.server(NAME)
    at: tuple[str, ...] = ("mcpServers",)
    if audience is Audience.SHARED:
        path = places.project / ".mcp.json"
    else:
        inside = places.claude_home != places.user_home / ".claude"
        path = (places.claude_home if inside else places.user_home) / ".claude.json"
        at = at if audience is Audience.USER else ("projects", str(places.project), *at)
    value = {"type": "stdio", "command": command, "args": arguments}
    return path, SettingsEntries((SettingsEntry(at=at, key="tacit", value=value, is_ours=_is_our_server),))


def _is_our_server(value: Any) -> bool:
    words = [value.get("command"), *value.get("args", ())] if isinstance(value, dict) else []
    message = " ".join(word for word in words if isinstance(word, str))
    return re.search(r"\btacit\b.*\bmcp\b", message, re.DOTALL) is not None


def _policy(
    places: ClientFolders, audience: Audience, folder: Path, *, text: str
) -> tuple[Path, MarkedBlock | WholeFile]:
    """A team's text goes where the team's text is; one person's into a file of its own."""
    if audience is not Audience.SHARED:
        return folder / "rules" / "tacit.md", WholeFile(f"<!-- {WRITTEN_BY} -->\n\n{text}")
    alone = (places.project / "AGENTS.md").exists() and not (places.project / "CLAUDE.md").exists()
    return places.project / ("AGENTS.md" if alone else "CLAUDE.md"), MarkedBlock(text)


CLAUDE_CODE = Client(
    name=NAME,
    title="Claude Code",
    program="claude",
    events=EVENTS,
    files=files,
    home=lambda places: places.claude_home,
    default=Audience.LOCAL,
)
