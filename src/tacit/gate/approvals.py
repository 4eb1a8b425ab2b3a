"""What lets a version be recalled, through gate and memory: evidence, examinations, approvals, and whether these still hold.

Fetches what the gate's rules need to know, and keeps what they answer. The rules themselves are the gate's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from tacit import gate
from tacit import render as application
from tacit.config.settings import Policy
from tacit.domain.candidate import Decision, Finding, Relation, Severity, Verdict
from tacit.domain.errors import InvalidSkill, Mistake, NotPermitted
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store
from tacit.domain.skill import Capabilities, SkillVersion
from tacit.domain.stored import Stored
from tacit.domain.trust import Approval, Examination
from tacit.text.bundled_files import text_of
from tacit.text.capabilities import beyond, told

BY_ITSELF = "tacit.recheck"
"""Who takes a version out of use when nobody asked for it."""
NOT_KEPT = "approved before examinations were kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """A recallable version looked at again: what no longer holds, and where it would go, or went."""

    stored: Stored
    reasons: tuple[str, ...]
    after: Status | None
    """Nothing: it stays, and the reasons are only told."""
    examination: Examination


def successes(store: Store) -> Callable[[Collection[str]], int]:
    """Count the independent machine-verified successes among attempts."""
    return lambda trajectory_ids: gate.independent(store.episode(identity) for identity in trajectory_ids)


def approval_for(
    store: Store, stored: Stored, transition: Transition, *, policy: Policy, ticked: Collection[str]
) -> Approval | None:
    """What a decision that makes a version recallable is bound to; nothing for the others.

    What was ticked of the very same content before it was retired need not be ticked again when it is brought back.
    """
    if not gate.makes_recallable(transition):
        if ticked:
            raise Mistake("ticks belong to an approval", hint="leave --tick away")
        return None
    examination = gate.examined_version(stored.version)
    given = set(ticked)
    if transition.before in (Status.RETIRED, Status.STALE):
        asked = {literal.key for literal in examination.literals}
        given |= {key for before in store.approvals(stored.version.id) for key in before.ticked if key in asked}
    return gate.approve(stored, examination, by=transition.by, at=transition.at, policy=policy, ticked=given)


def carry_out(store: Store, stored: Stored, transition: Transition, *, policy: Policy, ticked: Collection[str]) -> None:
    """Keep a decision, and the approval that it is bound to."""
    approval = approval_for(store, stored, transition, policy=policy, ticked=ticked)
    store.add_transition(transition)
    if approval is not None:
        store.add_approval(approval)


def within(entry: application.Entry, allowed: Capabilities | None) -> application.Entry:
    """An entry of the catalogue as far as the caller may have it; refuses one that touches more than is allowed itself.

    Overlays that touch more are left out, and so are files that cannot be looked at. What lies on the disk is given as it
    was when it was looked at, for it may change meanwhile.
    """
    if allowed is None:
        return entry
    looked_at = _looked_at(entry)
    if more := told(beyond(gate.needs_of(looked_at.content), allowed)):
        raise NotPermitted(f"`{entry.name}` touches what is not allowed here: {more}", hint="allow it, or do without")
    return replace(looked_at, overlays=tuple(_allowed_only(entry.overlays, allowed)))


def _allowed_only(overlays: Iterable[application.Entry], allowed: Capabilities) -> Iterator[application.Entry]:
    for overlay in overlays:
        try:
            yield within(overlay, allowed)
        except (NotPermitted, InvalidSkill):  # the skill itself can do without
            continue


def _looked_at(entry: application.Entry) -> application.Entry:
    """An entry with all of its files that can be read as text, and without the others."""
    is_static = entry.path is not None and not entry.version_id
    content = application.load(entry.path).content if is_static and entry.path else entry.content
    readable = tuple(file for file in content.files if text_of(file) is not None)
    return replace(entry, content=replace(content, files=readable), path=None if is_static else entry.path)


def last_approved(store: Store, stored: Stored) -> tuple[Stored, Approval | None] | None:
    """The version of the same skill that a person approved last, with that approval; without one, the current version."""
    versions = store.versions(stored.skill.id)
    approved = [(approval, held) for held in versions for approval in store.approvals(held.version.id)[-1:]]
    if approved:
        approval, held = max(approved, key=lambda pair: (pair[0].at, pair[1].sequence))
        return held, approval
    current = [held for held in versions if held.status in RECALLABLE]
    return (current[-1], None) if current else None


def way_back(store: Store, target: Stored) -> list[tuple[str, gate.Review, str]]:
    """The decisions that make an earlier version current again: what came after it retires."""
    later = [held for held in store.versions(target.skill.id) if held.sequence > target.sequence]
    reason = f"rolled back to {target.version.id}"
    way = [(held.version.id, gate.Review.RETIRE, reason) for held in later if held.status in RECALLABLE]
    if target.status not in RECALLABLE:
        again = gate.Review.RESTORE if target.status in (Status.RETIRED, Status.STALE) else gate.Review.APPROVE
        way.append((target.version.id, again, "rolled back to this version"))
    return way


def looked_again(store: Store, policy: Policy) -> Iterator[Rechecked]:
    """Examine everything recallable with today's checks, and tell what no longer holds."""
    for stored in store.catalogue(statuses=RECALLABLE):
        found = look_again(store, stored, policy)
        if found.reasons:
            yield found


def look_again(store: Store, stored: Stored, policy: Policy) -> Rechecked:
    """Whether what let one version be recalled still holds."""
    version, examination = stored.version, gate.examined_version(stored.version)
    approvals = store.approvals(version.id)
    if approvals:
        holding = gate.holds(approvals[-1], version, examination=examination, policy=policy)
        reasons, grave, leaves = holding.reasons, holding.grave, not holding
    elif _was_let_in_by_policy(store, version.id):
        objection = gate.objection(version, examination.findings, policy)
        reasons = (f"policy no longer lets it in: {objection}",) if objection else ()
        grave, leaves = gate.is_grave(examination.findings), bool(objection)
    else:
        told = [f"{f.severity} {f.rule}: {f.message}" for f in examination.findings if gate.is_weighty([f])]
        asked = [f"not ticked: {', '.join(each.key for each in examination.literals)}"] if examination.literals else []
        reasons = (NOT_KEPT, *told, *asked)
        grave, leaves = gate.is_grave(examination.findings), bool(told or asked)
    if not_quoted := tuple(_not_to_be_quoted(store, version)):
        reasons, leaves = (*reasons, *not_quoted), True
    after = (Status.QUARANTINED if grave else Status.CANDIDATE) if leaves else None
    return Rechecked(stored=stored, reasons=reasons, after=after, examination=examination)


def _not_to_be_quoted(store: Store, version: SkillVersion) -> Iterator[str]:
    """What of a document today's checks would withhold, and those of the day when it was added did not."""
    for passage in store.passages(version.id) if gate.is_quotation(version.content) else ():
        if found := gate.unquotable(passage.text) or gate.unnameable(passage):
            yield f"passage {passage.index} holds what is not quoted: {found[0].rule}: {found[0].message}"


def take_out(store: Store, found: Rechecked, *, by: str, at: datetime, policy: Policy) -> Verdict:
    """Take a version that no longer holds out of use, and note that it was looked at."""
    version = found.stored.version
    if found.after is not None:
        told = f"its approval no longer holds: {'; '.join(found.reasons)}"
        store.add_transition(found.stored.moved(found.after, told, by=by, at=at))
    decision = {None: Decision.ACCEPT, Status.QUARANTINED: Decision.QUARANTINE}.get(found.after, Decision.HOLD)
    stale = [
        Finding(rule="approval_stale", message=f"its approval no longer holds: {reason}", severity=Severity.MEDIUM)
        for reason in found.reasons
    ]
    verdict = Verdict(
        decision=decision,
        findings=(*stale, *found.examination.findings),
        at=at,
        relation=Relation.NONE,
        name=version.name,
        content_hash=version.hash,
        skill_id=found.stored.skill.id,
        version_id=version.id,
        policy_hash=policy.hash(),
        judge=_judge(found.examination.checks),
    )
    store.add_verdict(verdict)
    return verdict


def recheck(store: Store, policy: Policy, *, by: str, at: datetime) -> list[Rechecked]:
    """Look at everything recallable again; where somebody says so, take all out that no longer holds, or none."""
    found = list(looked_again(store, policy))
    with store.transaction():
        for each in found if by else ():
            take_out(store, each, by=by, at=at, policy=policy)
    return found


def keep_up(store: Store, policy: Policy, *, at: datetime) -> list[Verdict]:
    """Where the checks have changed since an approval, look again; what no longer holds waits for a person."""
    now = gate.checks_in_use()
    taken: list[Verdict] = []
    for stored in store.catalogue(statuses=RECALLABLE):
        approvals = store.approvals(stored.version.id)
        if not approvals or approvals[-1].checks == now:
            continue
        if any(verdict.judge == _judge(now) for verdict in store.verdicts(version_id=stored.version.id)):
            continue  # looked at with these very checks before
        with store.transaction():
            verdict = take_out(store, look_again(store, stored, policy), by=BY_ITSELF, at=at, policy=policy)
        taken += [verdict] if verdict.decision is not Decision.ACCEPT else []
    return taken


def _judge(checks: Collection[str]) -> str:
    return f"recheck {digest(tuple(checks))}"


def _was_let_in_by_policy(store: Store, version_id: str) -> bool:
    """Whether no person decided: it was born on trial, or its evidence brought it there.

    What evidence does to a version that is recallable already, trusted and back on trial, lets nothing in.
    """
    moves = [
        move for move in store.transitions(version_id) if move.after in RECALLABLE and move.before not in RECALLABLE
    ]
    return bool(moves) and (moves[-1].before is None or moves[-1].reason.startswith(gate.BY_POLICY))
