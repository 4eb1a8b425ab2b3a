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
