"""Who may do what: one table of verbs, and the test for "a person is typing".

An agent may recall, apply, record, capture, learn and propose. Reviewing (which includes retiring and reopening), rolling
back, editing, exporting what nobody approved, vouching for an import, purging, restoring a backup, applying what a check or
the care of the library found, letting an adapter serve or taking it back, and making tokens belong to a person: at a terminal
that no agent has marked as its own and where somebody can be typing, or with a person's token. Connecting and disconnecting
clients, and asking a language model that costs money, may also be scripted, though not from an agent's shell. The honest
limit: an agent that acts as the same user can write that user's files, and with enough care can imitate a person.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import NotPermitted, StoreOutage

PERSON_ONLY = frozenset(
    {
        "review", "rollback", "edit", "export unapproved", "import --own", "token", "purge", "restore", "check --apply",
        "tend --apply", "promote", "undo", "invalidate", "pin", "cards promote", "cards aha-status accepted",
        "forecast", "intake", "backport --apply", "backport --undo", "research remove", "moments check --run",
        "adapters activate", "adapters rollback", "adapters remove", "adapters export unproven",
    }
)  # fmt: skip
NOT_FOR_AGENTS = frozenset(
    {
        "index", "init", "uninstall", "learn --model", "learn --trust-outcomes", "recall --person", "train", "consolidate",
    }
)  # fmt: skip
"""What a person's script may do without a terminal, and an agent may not: it decides what watches the agent, it vouches for
outcomes, it spends, it trains the model that the agent may be, or it shows what somebody else prefers."""
TOKEN_FILE = "token.sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is on the other side of a surface, as far as it shows."""

    environment: UserEnvironment
    at_terminal: bool
    doubt: str = ""
    """Why nobody can be typing at that terminal, as far as the processes around it show; empty if somebody may be."""

    @property
    def is_person(self) -> bool:
        """Whether a person is typing, or vouches by token."""
        return self.has_token or (self.at_terminal and not self.environment.agent_markers and not self.doubt)

    @property
    def has_token(self) -> bool:
        """Whether the person's token was given."""
        return bool(self.environment.token) and _matches(self.environment.token, self.environment.person_home)

    def require_person(self, verb: str) -> None:
        """Raise unless a person may be assumed for this verb."""
        if verb not in PERSON_ONLY | NOT_FOR_AGENTS or self.is_person:
            return
        if verb in NOT_FOR_AGENTS and not self.environment.agent_markers:
            return
        if self.environment.agent_markers:
            why = f"this shell belongs to an agent (marked by {self.environment.agent_markers[0]}, here or above)"
        elif self.at_terminal and self.doubt:
            why = f"nobody seems to be typing this: {self.doubt}"
        else:
            why = "there is no terminal"
        if self.environment.token:
            why += ", and TACIT_TOKEN does not match"
        raise NotPermitted(
            f"`{verb}` is for a person, and {why}",
            hint="run it in a terminal of your own, or set TACIT_TOKEN to the token that `tacit config token` gave you",
        )


def new_token(home: Path) -> str:
    """Make a person's token, keep only its hash, and return it once."""
    token = "tacit_" + secrets.token_hex(32)
    try:
        home.mkdir(parents=True, exist_ok=True)
        file = home / TOKEN_FILE
        file.touch(mode=0o600)
        file.chmod(0o600)  # it may have been there with a wider mode
        file.write_text(hashlib.sha256(token.encode()).hexdigest() + "\n", encoding="ascii")
    except OSError as error:
        raise StoreOutage(f"cannot write {home / TOKEN_FILE}: {error.strerror}", hint="check TACIT_HOME") from error
    return token


def _matches(token: str, home: Path) -> bool:
    try:
        known = (home / TOKEN_FILE).read_bytes().strip()
    except OSError:
        return False
    return hmac.compare_digest(hashlib.sha256(token.encode("utf-8", "replace")).hexdigest().encode(), known)
