"""Review rules: a person's decision on an exact content → Transition, and the Approval that goes with a yes. Pure.

An approval is bound to the content hash and to all that was before the person's eyes: findings, needs, origins, policy. Once
any of that is another, it no longer holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.config.settings import Policy
from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import GateRefusal, IllegalTransition, Mistake, StaleVersion
from tacit.domain.lifecycle import RECALLABLE, Status, Transition, check_transition
from tacit.domain.skill import Capabilities, SkillVersion
from tacit.domain.stored import Stored
from tacit.domain.trust import Approval, Examination, Literal
from tacit.gate.examination import WEIGHT
from tacit.text.capabilities import added, told


class Review(StrEnum):
    """What a person may decide about a version."""

    APPROVE = "approve"
    REJECT = "reject"
    RETIRE = "retire"
    RESTORE = "restore"
    REOPEN = "reopen"


_AFTER = {
    Review.APPROVE: Status.TRIAL,
    Review.REJECT: Status.REJECTED,
    Review.RETIRE: Status.RETIRED,
    Review.RESTORE: Status.TRIAL,
    Review.REOPEN: Status.CANDIDATE,
}


def decide(
    stored: Stored, decision: Review | str, *, by: str, at: datetime, reason: str = "", content_hash: str = ""
) -> Transition:
    """Turn a decision into the transition that carries it out."""
    try:
        decision = Review(decision)
    except ValueError:
        raise Mistake(f"unknown decision {decision!r}", hint=f"use one of: {', '.join(Review)}") from None
    if not by.strip():
        raise Mistake("a review needs the name of the person who decides", hint="pass --by NAME (or by=…)")
    if content_hash and content_hash != stored.version.hash:
        raise StaleVersion(
            f"`{stored.version.name}` is not what was reviewed: its content hash differs",
            hint=f"look at it again (tacit skills show {stored.version.id}) and decide on that",
        )
    if decision is Review.APPROVE and stored.status in (Status.TRIAL, Status.TRUSTED):
        raise IllegalTransition(f"`{stored.version.name}` is already {stored.status}", hint="nothing to do")
    if decision is Review.RESTORE and stored.status not in (Status.RETIRED, Status.STALE):
        hint = (
            "reopen it instead" if stored.status is Status.REJECTED else "only what is retired or stale can be restored"
        )
        raise IllegalTransition(f"`{stored.version.name}` is {stored.status}, not retired", hint=hint)
    after = _AFTER[decision]
    check_transition(stored.status, after)
    return stored.moved(after, reason or f"{decision} by a person", by=by, at=at)


def makes_recallable(transition: Transition) -> bool:
    """Whether a decision lets an agent see the version, and so needs an approval."""
    return transition.after in RECALLABLE


def approve(
    stored: Stored, examination: Examination, *, by: str, at: datetime, policy: Policy, ticked: Collection[str] = ()
) -> Approval:
    """Bind a person's yes to what they saw. Whatever came from outside word for word must have been ticked by itself."""
    known = {literal.key for literal in examination.literals}
    strange = sorted(set(ticked) - known)
    if strange:
        hint = f"it asks for: {', '.join(sorted(known))}" if known else "it asks for no tick"
        raise Mistake(f"nothing in `{stored.version.name}` from outside is called {strange[0]!r}", hint=hint)
    open_ones = unticked(examination, ticked)
    if open_ones:
        raise GateRefusal(_asking(stored, open_ones), hint=_next_step(stored))
    return Approval(
        version_id=stored.version.id,
        content_hash=stored.version.hash,
        by=by,
        at=at,
        policy_hash=policy.hash(),
        origins=dict(stored.version.origins),
        findings=examination.findings,
        needs=examination.needs,
        ticked=tuple(sorted(set(ticked))),
        checks=examination.checks,
    )


def unticked(examination: Examination, ticked: Collection[str]) -> list[Literal]:
    """What still needs a tick of its own."""
    return [literal for literal in examination.literals if literal.key not in ticked]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Whether an approval still holds; if not, why."""

    reasons: tuple[str, ...] = ()
    grave: bool = False
    """Whether something was found since that sets a version apart."""

    def __bool__(self) -> bool:
        return not self.reasons


def holds(approval: Approval, version: SkillVersion, *, examination: Examination, policy: Policy) -> Holding:
    """Tell whether what was approved is still what is there, seen with today's checks."""
    reasons = tuple(_differences(approval, version, examination=examination, policy=policy))
    return Holding(reasons=reasons, grave=is_grave(_news(examination.findings, approval.findings)))


def is_grave(findings: Collection[Finding]) -> bool:
    """Whether any of these sets a version apart."""
    return any(WEIGHT[finding.severity] >= WEIGHT[Severity.HIGH] for finding in findings)


def is_weighty(findings: Collection[Finding]) -> bool:
    """Whether any of these must be looked at line by line."""
    return any(WEIGHT[finding.severity] >= WEIGHT[Severity.MEDIUM] for finding in findings)


def _differences(
    approval: Approval, version: SkillVersion, *, examination: Examination, policy: Policy
) -> Iterator[str]:
    if (approval.version_id, approval.content_hash) != (version.id, version.hash):
        yield "the content is another one"
    if dict(approval.origins) != dict(version.origins):
        yield "its origins are other ones"
    if approval.policy_hash != policy.hash():
        yield "it was approved under another policy"
    for finding in _news(examination.findings, approval.findings):
        yield f"found since: {finding.severity} {finding.rule}: {finding.message}"
    more = added(examination.needs, approval.needs)
    if more != Capabilities():
        yield f"seen to touch more than was shown: {told(more)}"
    asked = unticked(examination, approval.ticked)
    if asked:
        yield f"not ticked: {', '.join(literal.key for literal in asked)}"


def _news(now: Collection[Finding], then: Collection[Finding]) -> list[Finding]:
    """Findings of weight that were not before the person's eyes, or weighed less."""
    known: dict[tuple[str, str, int], int] = {}
    for finding in then:
        key = (finding.rule, finding.field, finding.line)
        known[key] = max(known.get(key, 0), WEIGHT[finding.severity])
    return [
        finding
        for finding in now
        if WEIGHT[finding.severity] >= WEIGHT[Severity.MEDIUM]
        and WEIGHT[finding.severity] > known.get((finding.rule, finding.field, finding.line), -1)
    ]


def _asking(stored: Stored, open_ones: list[Literal]) -> str:
    many = (
        f"{len(open_ones)} things that came from outside" if len(open_ones) > 1 else "something that came from outside"
    )
    listed = [f"  {literal.key}  in {literal.field}" for literal in open_ones]
    return "\n".join([f"`{stored.version.name}` names {many}, and each needs a tick of its own:", *listed])


def _next_step(stored: Stored) -> str:
    """What to do, and no command that ticks all of it unread."""
    return (
        f"look at each; for those that are right, tacit review {stored.version.id} --approve --tick KEY, once for each"
    )
