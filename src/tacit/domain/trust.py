"""What a skill uses, what the checks found in it, and a person's approval of exactly that.

A `ResourceUse` is a place in a skill's text that uses something outside: a host, a command, a path, an effect. An
`Examination` is everything that the checks found in one content. An `Approval` is bound to it: it is no longer valid when
the content, the origins or the findings change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from tacit.domain.candidate import Finding
from tacit.domain.identity import content_id, digest
from tacit.domain.skill import Capabilities, SkillContent
from tacit.domain.trajectory import Origin


class ResourceKind(StrEnum):
    """What kind of thing outside its own text a skill uses."""

    HOST = "host"
    URL = "url"
    ADDRESS = "address"
    """An e-mail address, a wallet, a phone number, an account."""
    PACKAGE = "package"
    COMMAND = "command"
    READ = "read"
    """A path outside the workspace that is read or mentioned."""
    WRITE = "write"
    VARIABLE = "variable"
    """An environment variable."""
    SECRET = "secret"
    """A file or store with secrets, such as a key."""
    EFFECT = "effect"
    """An effect outside: `deletes`, `sends`, `publishes`, `reveals`, `installs`, `pays`, `persists`."""
    SENTENCE = "sentence"
    """A whole sentence that a model wrote after reading texts from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUse:
    """One place in a content that uses something outside, by field path and characters."""

    kind: ResourceKind
    value: str
    field: str
    line: int = 0
    """Of the field's text, from 1; 0 where a field has no lines."""
    start: int = 0
    end: int = 0


class SafetyCheck(Protocol):
    """Examines a skill's content; registered by the entry points of `tacit.checks`."""

    name: str
    version: str
    """Changes with its rules, so that an approval shows which rules were applied."""

    def examine(self, content: SkillContent) -> Iterable[Finding]:
        """Return what a reviewer must know; raises `Outage` if it cannot run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalValue:
    """A value from outside, such as a host or a command, that a reviewer must confirm by itself."""

    kind: ResourceKind
    value: str
    field: str
    origin: Origin = Origin.EXTERNAL

    @property
    def key(self) -> str:
        """The key by which it is confirmed."""
        return f"{self.kind}:{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything that the checks found in one content."""

    findings: tuple[Finding, ...] = ()
    needs: Capabilities = Capabilities()
    """What it uses, as extracted from its text."""
    external_values: tuple[ExternalValue, ...] = ()
    """The values from outside that a reviewer confirms one by one."""
    checks: tuple[str, ...] = ()
    """Name and version of every check that ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's approval of one exact content, with the findings, needs, confirmations and policy at that time."""

    version_id: str
    content_hash: str
    by: str
    at: datetime
    policy_hash: str = ""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    needs: Capabilities = Capabilities()
    ticked: tuple[str, ...] = ()
    """Keys of the external values that were confirmed one by one."""
    checks: tuple[str, ...] = ()
    signed: str = ""
    """The statement that the person signed (`SignedApproval`), with its signature; empty: not signed."""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            key = (self.version_id, self.content_hash, self.by, self.at, self.sight)
            object.__setattr__(self, "id", content_id("a", key))

    @property
    def sight(self) -> str:
        """Digest of everything that was shown to the person."""
        return digest((self.policy_hash, self.origins, self.findings, self.needs, self.ticked, self.checks))

    @property
    def shown(self) -> str:
        """Digest of what a signature covers of it: the same, but for the policy, which differs between stores."""
        return digest((self.origins, self.findings, self.needs, self.ticked, self.checks))
