"""Approvals in the store: make them, recheck them, and take versions out of use whose approval is no longer valid.

The rules are in `review_rules` and `automatic_approval`; this module reads what they need and stores what they return.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from tacit import gate, render
from tacit.config.settings import Policy
from tacit.domain.candidate import Decision, Relation, Verdict
from tacit.domain.coded_reason import CodedReason, coded, joined_text
from tacit.domain.errors import InvalidSkill, Mistake, NotPermitted
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store
from tacit.domain.skill import Capabilities, SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trust import Approval, Examination
from tacit.gate.automatic_approval import independent_successes, reason_against_acceptance
from tacit.gate.findings import GateReason, finding, reason_sentence
from tacit.gate.review_rules import has_reason, new_finding, not_confirmed
from tacit.text.bundled_files import text_of
from tacit.text.capabilities import beyond, capabilities_text

BY_ITSELF = "tacit.recheck"
"""`by` of a transition that Tacit makes by itself after a recheck."""
_LET_IN_BY_POLICY = "policy: "
"""How the reason began before reasons had codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """A recallable version after a recheck: what is no longer valid, and the status it gets."""

    stored: StoredVersion
    reasons: tuple[CodedReason, ...]
    after: Status | None
    """None: it stays recallable, and the reasons are only reported."""
    examination: Examination


def successes(store: Store) -> Callable[[Collection[str]], int]:
    """Count the independent machine-verified successes among attempts."""
    return lambda trajectory_ids: independent_successes(store.episode(identity) for identity in trajectory_ids)


def approval_for(
    store: Store, stored: StoredVersion, transition: Transition, *, policy: Policy, ticked: Collection[str]
) -> Approval | None:
    """Return the approval for a decision that makes a version recallable; None for other decisions.

    What was confirmed before the same content was retired need not be confirmed again when it is restored.
    """
    if not gate.makes_recallable(transition):
        if ticked:
            raise Mistake(
                "only an approval confirms external values", code="tick_without_approval", hint="leave out --tick"
            )
        return None
    examination = gate.examine_version(stored.version)
    given = set(ticked)
    if transition.before in (Status.RETIRED, Status.STALE):
        asked = {literal.key for literal in examination.literals}
        given |= {key for before in store.approvals(stored.version.id) for key in before.ticked if key in asked}
    return gate.approve(stored, examination, by=transition.by, at=transition.at, policy=policy, ticked=given)


def store_decision(
    store: Store, stored: StoredVersion, transition: Transition, *, policy: Policy, ticked: Collection[str]
) -> None:
    """Store a decision, and its approval if it has one."""
    approval = approval_for(store, stored, transition, policy=policy, ticked=ticked)
    store.add_transition(transition)
    if approval is not None:
        store.add(approval)


def restrict_to_capabilities(entry: render.Entry, allowed: Capabilities | None) -> render.Entry:
    """Return a catalogue entry as far as the caller may use it; raises `NotPermitted` if the entry itself uses more.

    Overlays that use more are left out, and so are files that cannot be read as text. A skill on disk is returned as it
    was when it was checked, since it may change meanwhile.
    """
    if allowed is None:
        return entry
    checked = _readable(entry)
    if more := capabilities_text(beyond(gate.needed_capabilities_of(checked.content), allowed)):
        raise NotPermitted(f"`{entry.name}` uses what is not allowed here: {more}", hint="allow it, or do without")
    return replace(checked, overlays=tuple(_allowed_only(entry.overlays, allowed)))


def _allowed_only(overlays: Iterable[render.Entry], allowed: Capabilities) -> Iterator[render.Entry]:
    for overlay in overlays:
        try:
            yield restrict_to_capabilities(overlay, allowed)
        except (NotPermitted, InvalidSkill):  # the skill itself can do without
            continue


def _readable(entry: render.Entry) -> render.Entry:
    """Return an entry with those of its files that can be read as text."""
    is_static = entry.path is not None and not entry.version_id
    content = render.load(entry.path).content if is_static and entry.path else entry.content
    readable = tuple(file for file in content.files if text_of(file) is not None)
    return replace(entry, content=replace(content, files=readable), path=None if is_static else entry.path)


def last_approved(store: Store, stored: StoredVersion) -> tuple[StoredVersion, Approval | None] | None:
    """Return the version of a skill that a person approved last, with the approval; without one, the current version."""
    versions = store.versions(stored.skill.id)
    approved = [(approval, each) for each in versions for approval in store.approvals(each.version.id)[-1:]]
    if approved:
        approval, newest = max(approved, key=lambda pair: (pair[0].at, pair[1].sequence))
        return newest, approval
    current = [each for each in versions if each.status in RECALLABLE]
    return (current[-1], None) if current else None


def rollback_decisions(store: Store, target: StoredVersion) -> list[tuple[str, gate.Review, str]]:
    """Return the decisions that make an earlier version current again: later ones are retired."""
    later = [stored for stored in store.versions(target.skill.id) if stored.sequence > target.sequence]
    reason = str(coded(GateReason.ROLLED_BACK, version=target.version.id))
    decisions = [(stored.version.id, gate.Review.RETIRE, reason) for stored in later if stored.status in RECALLABLE]
    if target.status not in RECALLABLE:
        again = gate.Review.RESTORE if target.status in (Status.RETIRED, Status.STALE) else gate.Review.APPROVE
        decisions.append((target.version.id, again, reason))
    return decisions


def recheck_all(store: Store, policy: Policy) -> Iterator[Rechecked]:
    """Examine everything recallable with today's checks, and yield what is no longer valid."""
    for stored in store.catalogue(statuses=RECALLABLE):
        found = recheck_one(store, stored, policy)
        if found.reasons:
            yield found


def recheck_one(store: Store, stored: StoredVersion, policy: Policy) -> Rechecked:
    """Check whether the approval of one version is still valid."""
    version, examination = stored.version, gate.examine_version(stored.version)
    approvals = store.approvals(version.id)
    if approvals:
        check = gate.check_approval(approvals[-1], version, examination=examination, policy=policy)
        reasons, quarantine, must_withdraw = check.reasons, check.is_severe, not check
    elif _was_accepted_by_policy(store, version.id):
        objection = reason_against_acceptance(version, examination.findings, policy)
        reasons = (coded(GateReason.POLICY_REJECTS, why=str(objection)),) if objection else ()
        quarantine, must_withdraw = gate.has_severe_findings(examination.findings), bool(objection)
    else:
        severe = [new_finding(each) for each in examination.findings if gate.needs_attention([each])]
        asked = [not_confirmed(examination.literals)] if examination.literals else []
        reasons = (coded(GateReason.NO_EXAMINATION), *severe, *asked)
        quarantine, must_withdraw = gate.has_severe_findings(examination.findings), bool(severe or asked)
    if not_quoted := tuple(_not_quotable(store, version)):
        reasons, must_withdraw = (*reasons, *not_quoted), True
    after = (Status.QUARANTINED if quarantine else Status.CANDIDATE) if must_withdraw else None
    return Rechecked(stored=stored, reasons=reasons, after=after, examination=examination)


def _not_quotable(store: Store, version: SkillVersion) -> Iterator[CodedReason]:
    """Yield the passages of a document that today's checks would not quote."""
    for passage in store.passages.of(version.id) if gate.is_quotation(version.content) else ():
        if found := gate.findings_against_quoting(passage.text) or gate.findings_against_section_title(passage):
            first = found[0]
            yield coded(GateReason.NOT_QUOTABLE, passage=passage.index, rule=first.rule, message=first.message)


def record_recheck(store: Store, found: Rechecked, *, by: str, at: datetime, policy: Policy) -> Verdict:
    """Store the verdict of a recheck; a version whose approval is no longer valid is taken out of use."""
    version = found.stored.version
    if found.after is not None:
        reasons = joined_text([coded(GateReason.APPROVAL_NO_LONGER_HOLDS), *found.reasons])
        store.add_transition(found.stored.transition_to(found.after, reasons, by=by, at=at))
    decision = {None: Decision.ACCEPT, Status.QUARANTINED: Decision.QUARANTINE}.get(found.after, Decision.HOLD)
    stale = [finding("approval_stale", why=reason_sentence(reason)) for reason in found.reasons]
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
        decided_by=_recheck_name(found.examination.checks),
    )
    store.add(verdict)
    return verdict


def recheck(store: Store, policy: Policy, *, by: str, at: datetime) -> list[Rechecked]:
    """Recheck everything recallable; with `by`, take out of use what is no longer valid, all or nothing."""
    found = list(recheck_all(store, policy))
    with store.transaction():
        for each in found if by else ():
            record_recheck(store, each, by=by, at=at, policy=policy)
    return found


def recheck_outdated(store: Store, policy: Policy, *, at: datetime) -> list[Verdict]:
    """Recheck approvals that were given under other checks; what is no longer valid waits for a person again."""
    now = gate.checks_in_use()
    withdrawn: list[Verdict] = []
    for stored in store.catalogue(statuses=RECALLABLE):
        approvals = store.approvals(stored.version.id)
        if not approvals or set(approvals[-1].checks) == set(now):
            continue
        if any(verdict.decided_by == _recheck_name(now) for verdict in store.verdicts(version_id=stored.version.id)):
            continue  # already rechecked with these checks
        with store.transaction():
            verdict = record_recheck(store, recheck_one(store, stored, policy), by=BY_ITSELF, at=at, policy=policy)
        withdrawn += [verdict] if verdict.decision is not Decision.ACCEPT else []
    return withdrawn


def _recheck_name(checks: Collection[str]) -> str:
    return f"recheck {digest(tuple(checks))}"


def _was_accepted_by_policy(store: Store, version_id: str) -> bool:
    """Whether the policy accepted a version without a person, at once or after more successes.

    What evidence changes between trial and trusted does not count: the version was recallable before.
    """
    moves = [
        move for move in store.transitions(version_id) if move.after in RECALLABLE and move.before not in RECALLABLE
    ]
    if not moves or moves[-1].before is None:
        return bool(moves)
    last = moves[-1]
    return has_reason(last, GateReason.POLICY_ACCEPTED) or last.reason.startswith(_LET_IN_BY_POLICY)
