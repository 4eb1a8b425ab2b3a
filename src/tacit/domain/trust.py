"""What a skill would touch, what was found against it, and a person's approval of exactly that.

A `Touch` is a place in a skill's text that reaches out of it: a host, a command, a path, an effect. An `Examination` is
all that the checks saw in one content. An `Approval` is bound to it: once the content, the origins or what the checks
see are other ones, it no longer holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from tacit.domain.candidate import Finding
from tacit.domain.identity import content_id, digest
from tacit.domain.origin import Origin
from tacit.domain.skill import Capabilities, SkillContent


class Touched(StrEnum):
    """What sort of thing outside its own text a skill touches."""

    HOST = "host"
    URL = "url"
    ADDRESS = "address"
    """Of e-mail, a wallet, a phone, an account."""
    PACKAGE = "package"
    COMMAND = "command"
    READ = "read"
    """A path that is read, or only named; those inside the workspace are none."""
    WRITE = "write"
    VARIABLE = "variable"
    """Of the environment."""
    SECRET = "secret"
    """A place where secrets are kept, such as a key's file."""
    EFFECT = "effect"
    """What it would do to the world: `deletes`, `sends`, `publishes`, `reveals`, `installs`, `pays`, `persists`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """One place in a content that touches something, by field path and the characters of that field's text."""

    kind: Touched
    value: str
    field: str
    line: int = 0
    """Of the field's text, from 1; 0 where a field has no lines."""
    start: int = 0
    end: int = 0


class SafetyCheck(Protocol):
    """Looks at a skill's content and says what it finds; found by the entry points of `tacit.checks`."""

    name: str
    version: str
    """Changes with its rules, so that an approval knows under which it was given."""

    def examine(self, content: SkillContent) -> Iterable[Finding]:
        """List what a reviewer must know; an outage is raised, never told as "nothing found"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """Something from outside that a reviewer must tick by itself: the text that would be believed, and where it stands."""

    kind: Touched
    value: str
    field: str
    origin: Origin = Origin.EXTERNAL

    @property
    def key(self) -> str:
        """What a tick names."""
        return f"{self.kind}:{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All that the checks saw in one content."""

    findings: tuple[Finding, ...] = ()
    needs: Capabilities = Capabilities()
    """What it touches, as extracted from its text."""
    literals: tuple[Literal, ...] = ()
    """What needs a tick of its own."""
    checks: tuple[str, ...] = ()
    """Name and version of every check that looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's yes to one exact content, as it was seen: findings, needs, ticks and policy of that moment."""

    version_id: str
    content_hash: str
    by: str
    at: datetime
    policy_hash: str = ""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    needs: Capabilities = Capabilities()
    ticked: tuple[str, ...] = ()
    """Keys of the literals that were ticked one by one."""
    checks: tuple[str, ...] = ()
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            key = (self.version_id, self.content_hash, self.by, self.at, self.sight)
            object.__setattr__(self, "id", content_id("a", key))

    @property
    def sight(self) -> str:
        """Digest of all that was before the person's eyes."""
        return digest((self.policy_hash, self.origins, self.findings, self.needs, self.ticked, self.checks))
