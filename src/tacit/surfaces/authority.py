"""Who may do what: one table of actions, and the test whether a person is typing.

An agent may recall, apply, record, capture, learn and propose. Only a person may review (which includes retiring and
reopening), roll back, edit, export unapproved skills, import as their own, purge, restore a backup, apply suggestions, activate
adapters and make tokens: at a terminal without an agent's variables where a person can be typing, or with a person's token.
Connecting clients and using a language model that costs money may also be scripted, but not from an agent's shell. The limit:
an agent that acts as the same user can write that user's files, and with enough effort can imitate a person.
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
"""What a person's script may do without a terminal but an agent may not: it decides what observes the agent, trusts outcomes,
spends money, trains a model that the agent may be, or shows another person's preferences."""
TOKEN_FILE = "token.sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls a surface, as far as it can be known."""

    environment: UserEnvironment
    at_terminal: bool
    doubt: str = ""
    """Why nobody can be typing at that terminal, judged by the processes around it; empty if a person may be."""

    @property
    def is_person(self) -> bool:
        """Whether a person is typing, or gave a token."""
        return self.has_token or (self.at_terminal and not self.environment.agent_markers and not self.doubt)

    @property
    def has_token(self) -> bool:
        """Whether the person's token was given."""
        token = self.environment.token
        try:
            known = (self.environment.person_home / TOKEN_FILE).read_bytes().strip() if token else b""
        except OSError:
            return False
        given = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest().encode()
        return bool(token) and hmac.compare_digest(given, known)

    def require_person(self, verb: str) -> None:
        """Raise `NotPermitted` unless the caller may do this; its code says why."""
        markers = self.environment.agent_markers
        if verb not in PERSON_ONLY | NOT_FOR_AGENTS or self.is_person or (verb in NOT_FOR_AGENTS and not markers):
            return
        if self.environment.token:
            code, why = "wrong_token", "TACIT_TOKEN does not match"
        elif markers:
            code, why = "agent_shell", f"this shell belongs to an agent ({markers[0]}, here or in a parent process)"
        elif self.at_terminal and self.doubt:
            code, why = "nobody_typing", f"nobody seems to be typing: {self.doubt}"
        else:
            code, why = "no_terminal", "there is no terminal"
        hint = "run it in a terminal of your own, or set TACIT_TOKEN to the token from `tacit config --new-token`"
        raise NotPermitted(f"only a person may run `{verb}`, and {why}", code=code, hint=hint)


def new_token(home: Path) -> str:
    """Make a person's token, store only its hash, and return it once."""
    token = "tacit_" + secrets.token_hex(32)
    try:
        home.mkdir(parents=True, exist_ok=True)
        file = home / TOKEN_FILE
        file.touch(mode=0o600)
        file.chmod(0o600)  # an existing file may have a wider mode
        file.write_text(hashlib.sha256(token.encode()).hexdigest() + "\n", encoding="ascii")
    except OSError as error:
        message = f"cannot write {home / TOKEN_FILE}: {error.strerror}"
        raise StoreOutage(message, code="cannot_write", hint="check TACIT_HOME") from error
    return token
