"""The environment variables Tacit looks at, read once at a surface and passed on as one value.

Secrets, the store's address and the places of files come from here and nothing else does. Every other module takes
what it needs as a parameter, so that tests and embedding programs decide.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.config.agents import AGENT_MARKERS, AGENT_PROGRAMS
from tacit.config.ancestry import Ancestry
from tacit.config.presence import Presence
from tacit.config.whereabouts import account_home, owners


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
    cut_loose: bool = False
    """Whether another home is named by a process that was cut loose from whoever could have named it."""
    owners: frozenset[int] = frozenset()
    """User ids whose folders are this person's; empty where the system has none."""

    @property
    def person_home(self) -> Path:
        """Where the person's token, policy and skills lie. An agent's shell cannot move it by setting a variable."""
        moved = self.agent_markers or self.cut_loose
        return self.account_home / ".tacit" if moved and self.account_home else self.home

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> Surroundings:
        """Read the process environment and its ancestry, or the given variables instead."""
        env = os.environ if variables is None else variables
        user_home = Path(env.get("HOME") or Path.home())
        home = Path(env.get("TACIT_HOME") or user_home / ".tacit")
        own = Path(account) if (account := account_home()) else None
        is_moved = variables is None and own is not None and home != own / ".tacit"
        return cls(
            store=env.get("TACIT_STORE", ""),
            config_file=env.get("TACIT_CONFIG", ""),
            home=home,
            user_home=user_home,
            claude_home=Path(env.get("CLAUDE_CONFIG_DIR") or user_home / ".claude"),
            codex_home=Path(env.get("CODEX_HOME") or user_home / ".codex"),
            token=env.get("TACIT_TOKEN", ""),
            model_key=env.get("TACIT_MODEL_KEY", ""),
            user=env.get("USER") or env.get("USERNAME") or "",
            editor=env.get("VISUAL") or env.get("EDITOR") or "",
            agent_markers=_agent_markers(env, Ancestry() if variables is None else None),
            account_home=own,
            cut_loose=is_moved and Presence().is_adrift(),
            owners=owners(env.get("SUDO_UID", "")),
        )


def _agent_markers(env: Mapping[str, str], above: Ancestry | None) -> tuple[str, ...]:
    """What shows that an agent started this: marks here or in a process above, or the agent itself above."""
    inherited = above.variables if above else set()
    marks = [name for name in AGENT_MARKERS if env.get(name) or name in inherited]
    programs = sorted(AGENT_PROGRAMS & above.programs) if above else []
    hidden = ["too many processes above it"] if above and above.is_endless else []
    return (*marks, *(f"the program {name}" for name in programs), *hidden)
