"""Examination: all that the checks see in one content, with what it touches and what must be ticked. Pure but for its memory.

What depends on the content alone is kept by its hash: learning puts the same text before the gate again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from tacit.domain.candidate import Finding, Severity
from tacit.domain.origin import Origin
from tacit.domain.skill import Capabilities, Provenance, SkillContent, SkillVersion
from tacit.domain.trust import Examination, SafetyCheck, Touch
from tacit.gate import checks as built
from tacit.gate.grounding import standing_orders, ungrounded
from tacit.gate.literals import literals
from tacit.gate.quoting import is_quotation
from tacit.text.capabilities import Keyed, beyond, needed, told, touched

WEIGHT = built.WEIGHT
_KEPT = 2048


def examined(
    content: SkillContent,
    origins: Mapping[str, Origin],
    *,
    provenance: Provenance,
    checks: Sequence[SafetyCheck] | None = None,
) -> Examination:
    """Let every check look, and put beside it what the content touches and what of that came from outside."""
    keyed = Keyed(content, content.hash())
    seen = _checked(keyed) if checks is None else built.examine(content, checks=checks)
    needs = needed(keyed)
    own = [*ungrounded(content, provenance), *standing_orders(content, origins, provenance)]
    own += undeclared(content.capabilities, needs)
    return Examination(
        findings=_heaviest((*seen, *own)),
        needs=needs,
        literals=() if is_quotation(content) else literals(touched(keyed), origins),
        checks=built.identities(checks),
    )


def _heaviest(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The heaviest first, and of those that say the same of one line the heaviest alone."""
    ranked = sorted(findings, key=lambda finding: -WEIGHT[finding.severity])
    kept: dict[tuple[str, str, int], Finding] = {}
    for finding in ranked:
        kept.setdefault((finding.rule, finding.field, finding.line), finding)
    return tuple(kept.values())


def examined_version(version: SkillVersion) -> Examination:
    """The same for a version as it is stored."""
    return examined(version.content, version.origins, provenance=version.provenance)


def checks_in_use() -> tuple[str, ...]:
    """Name and version of every check that looks."""
    return built.identities()


def needs_of(content: SkillContent) -> Capabilities:
    """What a content touches, as capabilities."""
    return needed(Keyed(content, content.hash()))


def touches_of(content: SkillContent) -> tuple[Touch, ...]:
    """Every place in a content that touches something."""
    return touched(Keyed(content, content.hash()))


def undeclared(declared: Capabilities, needs: Capabilities) -> Iterator[Finding]:
    """Say what a skill touches beyond what it says of itself; one that says nothing is only listed."""
    if declared == Capabilities():
        return
    more = beyond(needs, declared)
    if more != Capabilities():
        message = f"touches more than it declares: {told(more)}"
        yield Finding(rule="undeclared_capability", message=message, severity=Severity.HIGH, field="capabilities")


def new_capability(needs: Capabilities, before: Sequence[SkillContent]) -> Iterator[Finding]:
    """Say what a version touches that no version approved before it did; nothing was approved: nothing is said."""
    if not before:
        return
    more = needs
    for content in before:
        more = beyond(more, needs_of(content))
    if more != Capabilities():
        message = f"touches what no approved version of it did: {told(more)}"
        yield Finding(rule="new_capability", message=message, severity=Severity.MEDIUM)


@lru_cache(maxsize=_KEPT)
def _checked(keyed: Keyed) -> tuple[Finding, ...]:
    return built.examine(keyed.content)
