"""The environment variables Tacit looks at, read once at a surface and passed on as one value.

Secrets, the store's address and the places of files come from here and nothing else does. Every other module takes
what it needs as a parameter, so that tests and embedding programs decide.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.config.ancestry import Ancestry
from tacit.config.whereabouts import account_home, owners

AGENT_MARKERS = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_PID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_CI",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
    "QWEN_CODE",
    "OPENCODE",
    "LETTA_AGENT_ID",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "AIDER_CHAT",
    "AI_AGENT",
)
"""Set by coding agents in the shells they start. Their presence, here or in a process above, means: no person is typing."""

AGENT_PROGRAMS = frozenset("claude codex gemini copilot opencode qwen letta aider cursor-agent goose amp crush".split())
"""Coding agents by the name of their program; what such a process starts is not typed by a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the environment says."""

    store: str = ""
    config_file: str = ""
    home: Path = Path()
    user_home: Path = Path()
    claude_home: Path = Path()
    codex_home: Path = Path()
    """Where Claude Code and Codex keep this person's settings and transcripts."""
    token: str = ""
    model_key: str = ""
    """Key for the language model at `model.base_url`."""
    user: str = ""
    editor: str = ""
    agent_markers: tuple[str, ...] = ()
    account_home: Path | None = None
    """The account's own home folder, whatever HOME says."""
    owners: frozenset[int] = frozenset()
    """User ids whose folders are this person's; empty where the system has none."""

    @property
    def person_home(self) -> Path:
        """Where the person's token and policy lie. An agent's shell cannot move it by setting a variable."""
        return self.account_home / ".tacit" if self.agent_markers and self.account_home else self.home

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> Surroundings:
        """Read the process environment and its ancestry, or the given variables instead."""
        env = os.environ if variables is None else variables
        user_home = Path(env.get("HOME") or Path.home())
        return cls(
            store=env.get("TACIT_STORE", ""),
            config_file=env.get("TACIT_CONFIG", ""),
            home=Path(env.get("TACIT_HOME") or user_home / ".tacit"),
            user_home=user_home,
            claude_home=Path(env.get("CLAUDE_CONFIG_DIR") or user_home / ".claude"),
            codex_home=Path(env.get("CODEX_HOME") or user_home / ".codex"),
            token=env.get("TACIT_TOKEN", ""),
            model_key=env.get("TACIT_MODEL_KEY", ""),
            user=env.get("USER") or env.get("USERNAME") or "",
            editor=env.get("VISUAL") or env.get("EDITOR") or "",
            agent_markers=_agent_markers(env, Ancestry() if variables is None else None),
            account_home=Path(account) if (account := account_home()) else None,
            owners=owners(env.get("SUDO_UID", "")),
        )


def _agent_markers(env: Mapping[str, str], above: Ancestry | None) -> tuple[str, ...]:
    """What shows that an agent started this: marks here or in a process above, or the agent itself above."""
    inherited = above.variables if above else set()
    marks = [name for name in AGENT_MARKERS if env.get(name) or name in inherited]
    programs = sorted(AGENT_PROGRAMS & above.programs) if above else []
    hidden = ["too many processes above it"] if above and above.is_endless else []
    return (*marks, *(f"the program {name}" for name in programs), *hidden)
