"""A candidate for a skill version, and the gate's verdict on it. Nothing becomes a version without both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tacit.domain.evidence import Assessment
from tacit.domain.identity import STORED_AS, assign_id
from tacit.domain.scope import Scope
from tacit.domain.skill import Provenance, SkillContent, lowest_of
from tacit.domain.trajectory import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposed skill, revision or composition with its sources; not yet trusted."""

    content: SkillContent
    scope: Scope
    origins: Mapping[str, Origin]
    provenance: Provenance
    assessment: Assessment | None = None
    """The assessed outcome of the attempt it came from."""
    revises: str = ""
    """Skill id, for a new version of an existing skill."""
    parents: tuple[str, ...] = ()
    by: str = "tacit"

    @property
    def lowest_origin(self) -> Origin:
        """The least trusted origin of any field; one without an origin counts as external."""
        return lowest_of(self.content, self.origins)


class GateDecision(StrEnum):
    """The gate's answers."""

    ACCEPT = "accept"
    HOLD = "hold"
    QUARANTINE = "quarantine"
    REJECT = "reject"


class Relation(StrEnum):
    """What a candidate is to the known skills: new, a next version, a confirmation, or nothing."""

    NEW = "new"
    MERGE = "merge"
    REINFORCE = "reinforce"
    NONE = "none"


class Severity(StrEnum):
    """How severe a finding is."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Its place among the severities, from 0 for the least severe."""
        return _SEVERITY_RANK[self]

    def at_least(self, least: Severity) -> bool:
        """Whether it is as severe as another one, or more."""
        return self.rank >= least.rank


_SEVERITY_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found: the code of its rule, its severity, and a sentence."""

    rule: str
    message: str
    severity: Severity = Severity.INFO
    field: str = ""
    """Path of the field, such as ``body``, ``steps.2`` or ``files.0``."""
    line: int = 0
    """Of that field's text, from 1; 0: the whole field."""
    start: int = 0
    end: int = 0
    """The characters of that field's text that it is about; both 0: the whole field."""
    excerpt: str = ""
    """Those characters, shortened and made visible."""

    @property
    def place(self) -> tuple[str, str, int]:
        """Rule, field and line: two findings with the same ones report the same."""
        return self.rule, self.field, self.line


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The gate's decision on one candidate, or on a trajectory without a candidate, with all findings."""

    decision: GateDecision
    findings: tuple[Finding, ...]
    at: datetime
    relation: Relation = Relation.NEW
    name: str = ""
    content_hash: str = ""
    skill_id: str = ""
    version_id: str = ""
    trajectory_ids: tuple[str, ...] = ()
    policy_hash: str = ""
    decided_by: str = field(default="policy", metadata={STORED_AS: "judge"})
    """`policy`, or the recheck with the digest of its checks."""
    similarity: float | None = None
    """No longer set; verdicts stored by earlier versions have it."""
    id: str = field(default="")

    def __post_init__(self) -> None:
        found = (self.decision, self.findings, self.at, self.name, self.content_hash)
        assign_id(self, "g", *found, self.trajectory_ids, self.decided_by)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The rule names of the findings, in order."""
        return tuple(finding.rule for finding in self.findings)
