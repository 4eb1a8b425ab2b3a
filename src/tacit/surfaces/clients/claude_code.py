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

from tacit.surfaces.clients.blocks import WRITTEN_BY, Block, Whole
from tacit.surfaces.clients.entries import Entries, Entry
from tacit.surfaces.clients.launcher import Launcher, is_hook
from tacit.surfaces.clients.plan import (
    HOOK_TIMEOUT_S,
    PERSONS_COMMANDS,
    SERVER,
    Audience,
    Client,
    File,
    Piece,
    Places,
    policy_text,
    skill_text,
)

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


def files(places: Places, audience: Audience, launcher: Launcher) -> list[File]:
    """Everything Claude Code is given."""
    folder = places.claude_home if audience is Audience.USER else places.project / ".claude"
    settings = folder / ("settings.local.json" if audience is Audience.LOCAL else "settings.json")

    def file(path: Path, piece: Piece, what: str) -> File:
        project = "" if audience is Audience.USER else str(places.project)
        return File(path=path, piece=piece, client=NAME, audience=audience, project=project, what=what)

    skill = file(folder / "skills" / "tacit" / "SKILL.md", Whole(skill_text(launcher)), "skill")
    policy = _policy(places, audience, folder, text=policy_text(launcher, audience))
    found = [
        file(settings, Entries((*hook_entries(launcher), *_deny_entries())), "hooks and deny rules"),
        file(*_server(places, audience, launcher), SERVER),
        skill,
        file(*policy, "policy"),
    ]
    if audience is Audience.LOCAL and places.git_exclude:
        ours = [f"/{each.relative_to(places.project).as_posix()}" for each in (settings, skill.path, policy[0])]
        block = Block("\n".join(ours), begin=f"# tacit: begin. {WRITTEN_BY}", end="# tacit: end")
        found.append(file(places.git_exclude, block, "kept out of version control"))
    return found


def hook_entries(launcher: Launcher, *, client: str = NAME, events: dict[str, int] = EVENTS) -> tuple[Entry, ...]:
    """One group of hooks per event, in the form that Claude Code and Codex share."""

    def is_ours(group: Any) -> bool:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
        return bool(commands) and all(isinstance(c, str) and is_hook(c, client) for c in commands)

    command = launcher.hook(client)
    return tuple(
        Entry(
            at=("hooks", event),
            value={"hooks": [{"type": "command", "command": command, "timeout": timeout_s}]},
            is_ours=is_ours,
        )
        for event, timeout_s in events.items()
    )


def _deny_entries() -> tuple[Entry, ...]:
    """The star in front catches `python -m tacit`, `uvx tacit`, an absolute path, `env` and `bash -c` as well."""
    rules = [f"Bash(*tacit {' '.join(words).replace(' --', '*--')}*)" for words in PERSONS_COMMANDS]
    return tuple(Entry(at=("permissions", "deny"), value=rule, is_ours=partial(eq, rule)) for rule in rules)


def _server(places: Places, audience: Audience, launcher: Launcher) -> tuple[Path, Entries]:
    command, arguments = launcher.server(NAME)
    at: tuple[str, ...] = ("mcpServers",)
    if audience is Audience.SHARED:
        path = places.project / ".mcp.json"
    else:
        inside = places.claude_home != places.user_home / ".claude"
        path = (places.claude_home if inside else places.user_home) / ".claude.json"
        at = at if audience is Audience.USER else ("projects", str(places.project), *at)
    value = {"type": "stdio", "command": command, "args": arguments}
    return path, Entries((Entry(at=at, key="tacit", value=value, is_ours=_is_our_server),))


def _is_our_server(value: Any) -> bool:
    words = [value.get("command"), *value.get("args", ())] if isinstance(value, dict) else []
    told = " ".join(word for word in words if isinstance(word, str))
    return re.search(r"\btacit\b.*\bmcp\b", told, re.DOTALL) is not None


def _policy(places: Places, audience: Audience, folder: Path, *, text: str) -> tuple[Path, Block | Whole]:
    """A team's text goes where the team's text is; one person's into a file of its own."""
    if audience is not Audience.SHARED:
        return folder / "rules" / "tacit.md", Whole(f"<!-- {WRITTEN_BY} -->\n\n{text}")
    alone = (places.project / "AGENTS.md").exists() and not (places.project / "CLAUDE.md").exists()
    return places.project / ("AGENTS.md" if alone else "CLAUDE.md"), Block(text)


CLAUDE_CODE = Client(
    name=NAME,
    title="Claude Code",
    program="claude",
    events=EVENTS,
    files=files,
    home=lambda places: places.claude_home,
    default=Audience.LOCAL,
)
