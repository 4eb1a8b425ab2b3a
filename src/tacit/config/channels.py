"""Which channel carries learned skills to which client: one small file beside the store, written by `tacit init`.

One skill reaches one client one way, so that the agent never reads the same text twice:

- `hook`: everything comes as context at the right moment. Nothing is exported.
- `skill`: procedures are written as SKILL.md folders where the client looks for them; the rest comes by hook.
- `mcp`: procedures and lessons wait until the agent asks for them; norms, preferences and facts come by hook.

Light on purpose: the hook reads it at every prompt.
"""

from __future__ import annotations

import json
import os

from tacit.config.files import write_atomically

HOOK, SKILL, MCP = "hook", "skill", "mcp"
CHANNELS = (HOOK, SKILL, MCP)
FILE = "channels.json"
PUSHED = {
    HOOK: frozenset({"procedure", "lesson", "norm", "preference", "reference", "fact"}),
    SKILL: frozenset({"lesson", "norm", "preference", "reference", "fact"}),
    MCP: frozenset({"norm", "preference", "fact"}),
}
"""Channel → the kinds that a hook may put before the agent by itself."""
_AGENTS, _CLAUDE = ".agents/skills", ".claude/skills"
SKILL_FOLDERS: dict[str, tuple[str, ...]] = {
    "claude-code": (_CLAUDE,),
    "codex": (_AGENTS,),
    "copilot": (_AGENTS, _CLAUDE),
    "gemini": (_AGENTS,),
    "letta-code": (".skills", _AGENTS),
    "opencode": (_AGENTS, _CLAUDE),
    "qwen-code": (_AGENTS,),
}
"""Client → the folders of a project that it reads skills from; its own are written into the first."""


def channel_of(folder: str, client: str) -> str:
    """How a client gets skills. One that reads the folder of another, which gets them as SKILL.md, has them from there."""
    chosen = channels(folder)
    written = {SKILL_FOLDERS[each][0] for each, way in chosen.items() if way == SKILL and each in SKILL_FOLDERS}
    own = chosen.get(client, HOOK)
    return SKILL if own == HOOK and written.intersection(SKILL_FOLDERS.get(client, ())) else own


def channels(folder: str) -> dict[str, str]:
    """Client → channel, as chosen for the store in this folder; clients that are not named use the hook."""
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(client): channel for client, channel in found.items() if channel in CHANNELS}


def choose(folder: str, client: str, channel: str) -> None:
    """Keep a choice; the file goes when every client uses the hook."""
    kept = {**channels(folder), client: channel}
    kept = {name: chosen for name, chosen in kept.items() if chosen != HOOK}
    path = os.path.join(folder, FILE)
    if not kept:
        if os.path.exists(path):
            os.unlink(path)
        return
    write_atomically(path, json.dumps(kept, indent=2, sort_keys=True) + "\n")
