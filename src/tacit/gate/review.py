"""Review rules: a person's decision on an exact content → Transition. Approval is bound to the content hash."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from tacit.domain.errors import IllegalTransition, Mistake, StaleVersion
from tacit.domain.lifecycle import Status, Transition, check_transition
from tacit.domain.ports import Stored


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
    return Transition(
        version_id=stored.version.id,
        content_hash=stored.version.hash,
        before=stored.status,
        after=after,
        reason=reason or f"{decision} by a person",
        by=by,
        at=at,
    )
