"""Who may do what: one table of actions.

An agent may recall, apply, record, capture, learn and propose. Only a person may review (which includes retiring and
reopening), roll back, edit, export unapproved skills, import as their own, purge, restore a backup, apply suggestions and
activate adapters: these ask for the person's passphrase, once for each process. What makes a version recallable is signed with
the key that it opens, and checked where the version is read; who runs the command does not matter for that. Connecting clients
and using a language model that costs money may also be scripted, but not from a shell that an agent's variables mark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.config.environment import UserEnvironment
from tacit.config.signers import unlocked_key
from tacit.domain.errors import NotPermitted

PERSON_ONLY = frozenset(
    {
        "review", "rollback", "edit", "export unapproved", "import --own", "key", "policy", "purge", "restore",
        "check --apply", "tend --apply", "tend --every", "promote", "undo", "invalidate", "pin", "cards promote",
        "cards aha-status accepted", "forecast", "intake", "backport --apply", "backport --undo", "research remove",
        "moments check --run", "adapters activate", "adapters rollback", "adapters remove", "adapters export unproven",
    }
)  # fmt: skip
NOT_FOR_AGENTS = frozenset(
    {
        "index", "init", "uninstall", "check --model", "learn --model",
        "learn --trust-outcomes", "recall --person", "train", "consolidate",
        "web", "export sessions",
    }
)  # fmt: skip
"""What a person's script may do without a terminal but an agent may not: it decides what observes the agent, trusts outcomes,
spends money, trains a model that the agent may be, serves the review page, or shows other people's preferences or sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls a surface, as far as it can be known."""

    environment: UserEnvironment
    at_terminal: bool
    unlock: Callable[[str], None] = lambda what: None
    """Asks for the person's passphrase unless it was given; raises `NotPermitted` where it was not."""

    @property
    def is_person(self) -> bool:
        """Whether a person has entered their passphrase, or nothing says that this terminal is an agent's."""
        return not self.environment.agent_markers and (unlocked_key() is not None or self.at_terminal)

    def require_person(self, verb: str) -> None:
        """Raise `NotPermitted` unless the caller may do this; its code says why."""
        if verb in PERSON_ONLY | NOT_FOR_AGENTS:
            self.refuse_agents(verb)
        if verb in PERSON_ONLY:
            self.unlock(verb)

    def refuse_agents(self, verb: str) -> None:
        """Raise `NotPermitted` in a shell that an agent's variables mark."""
        if markers := self.environment.agent_markers:
            message = f"only a person may run `{verb}`, and this shell belongs to an agent ({markers[0]})"
            raise NotPermitted(message, code="agent_shell", hint="run it in a terminal of your own")
