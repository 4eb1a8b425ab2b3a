"""Whether an approval may be pre-filled for a version that waits, however often the reviewer approved similar ones."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.domain.candidate import Finding, Severity
from tacit.domain.origin import Origin
from tacit.domain.ports import Stored
from tacit.gate.examination import examined_version


def reasons_against_prefill(stored: Stored, findings: Iterable[Finding]) -> list[str]:
    """Return why the reviewer must read this version first; empty where an approval may be pre-filled.

    Earlier decisions do not tell what this text would do. `findings` are those that the reviewer sees.
    """
    examination = examined_version(stored.version)
    needs, order = examination.needs, list(Severity)
    reasons = [f"it touches {', '.join(each)}" for each in (needs.hosts, needs.secrets) if each]
    if needs.effects:
        reasons.append(f"it {', '.join(needs.effects)}")
    if any(order.index(each.severity) >= order.index(Severity.MEDIUM) for each in findings):
        reasons.append("it has findings")
    if examination.literals:
        reasons.append("it contains text from outside")
    return reasons


def rests_on_agent_alone(stored: Stored) -> bool:
    """Return whether neither a run nor a person supports a version: an agent or an outside text wrote it."""
    version = stored.version
    return not version.provenance.trajectory_ids and version.lowest_origin.rank < Origin.USER.rank
