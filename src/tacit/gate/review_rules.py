"""What a person may decide about a version, and what an approval is bound to. Reads and writes no store.

An approval is bound to the content hash and to everything that was shown: findings, needs, origins, policy. When any of it
changes, the approval is no longer valid, and `tacit check --library` reports it. Learning withdraws such approvals by itself
only after the checks have changed, and never because of the policy: who changes that decides on the approvals under it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.config.settings import Policy
from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import GateRefusal, IllegalTransition, Mistake, StaleVersion
from tacit.domain.lifecycle import CodedReason, Status, Transition, check_transition, coded, parse_reasons
from tacit.domain.skill import Capabilities, SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.domain.trust import Approval, Examination, ExternalValue
from tacit.gate.checks import most_severe
from tacit.gate.content_checks import examine_version
from tacit.gate.findings import GateReason, field_name
from tacit.store.queries import SET_ASIDE_REASONS
from tacit.text.capabilities import added, capabilities_text

_FROM_ORIGINS = frozenset({"external_text", "model_wording"})


class PersonDecision(StrEnum):
    """What a person may decide about a version."""

    APPROVE = "approve"
    REJECT = "reject"
    RETIRE = "retire"
    RESTORE = "restore"
    REOPEN = "reopen"


_AFTER = {
    PersonDecision.APPROVE: Status.TRIAL,
    PersonDecision.REJECT: Status.REJECTED,
    PersonDecision.RETIRE: Status.RETIRED,
    PersonDecision.RESTORE: Status.TRIAL,
}


def decide(
    stored: StoredVersion,
    decision: PersonDecision | str,
    *,
    by: str,
    at: datetime,
    reason: str | CodedReason = "",
    content_hash: str = "",
    reopened: Status = Status.CANDIDATE,
) -> Transition:
    """Return the transition that applies a decision; a `reason` in words is a person's, and never read as a code.

    `reopened` is the status in which a version waits when it is reopened.
    """
    try:
        decision = PersonDecision(decision)
    except ValueError:
        hint = f"use one of: {', '.join(PersonDecision)}"
        raise Mistake(f"unknown decision {decision!r}", code="unknown_decision", hint=hint) from None
    name = stored.version.name
    if content_hash and content_hash != stored.version.hash:
        hint = f"look at it again (tacit skills show {stored.version.id}), then decide"
        raise StaleVersion(f"`{name}` has changed since it was shown: its content hash differs", hint=hint)
    if decision is PersonDecision.APPROVE and stored.status in (Status.TRIAL, Status.TRUSTED):
        message = f"`{name}` is already approved ({stored.status})"
        raise IllegalTransition(message, code="already_approved", hint="nothing to do")
    if decision is PersonDecision.RESTORE and stored.status not in (Status.RETIRED, Status.STALE):
        is_rejected = stored.status is Status.REJECTED
        hint = "reopen it instead" if is_rejected else "only a retired or stale version can be restored"
        raise IllegalTransition(f"`{name}` is {stored.status}, not retired", code="not_restorable", hint=hint)
    after = reopened if decision is PersonDecision.REOPEN else _AFTER[decision]
    reason = reason or coded(GateReason.DECIDED_BY_PERSON, decision=str(decision))
    return change_status(stored, after, reason, by=by, at=at)


def change_status(
    stored: StoredVersion, after: Status, reason: str | CodedReason, *, by: str, at: datetime
) -> Transition:
    """Return the transition by which a person gives a version another status."""
    if not by.strip():
        message = "a review needs the name of the person who decides"
        raise Mistake(message, code="reviewer_missing", hint="pass --by NAME (or by=…)")
    check_transition(stored.status, after)
    text = str(reason) if isinstance(reason, CodedReason) else stored_reason(reason)
    return stored.transition_to(after, text, by=by, at=at)


def approve(
    stored: StoredVersion,
    examination: Examination,
    *,
    by: str,
    at: datetime,
    policy: Policy,
    ticked: Collection[str] = (),
) -> Approval:
    """Bind an approval to what was shown. Every value that came from outside must be confirmed by itself.

    A tool that it asks for may be confirmed, too: only then it is unlocked (`unlocked_tools`).
    """
    required = {external.key for external in examination.external_values}
    unknown = sorted(set(ticked) - required - set(tool_keys(stored.version)))
    if unknown:
        hint = f"it asks for: {', '.join(sorted(required))}" if required else "it asks for no confirmation"
        message = f"`{stored.version.name}` contains nothing from outside called {unknown[0]!r}"
        raise Mistake(message, code="unknown_tick", hint=hint)
    missing = unconfirmed_values(examination, ticked)
    if missing:
        # On purpose without a command that confirms all of it unread.
        many = f"{len(missing)} things that came" if len(missing) > 1 else "something that came"
        listed = [f"  {external.key}  ({field_name(external.field)})" for external in missing]
        message = "\n".join([f"`{stored.version.name}` contains {many} from outside; confirm each of them:", *listed])
        hint = f"check each; for those that are right: tacit review {stored.version.id} --approve --tick KEY, once for each"
        raise GateRefusal(message, code="confirmation_missing", hint=hint)
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


def tool_keys(version: SkillVersion) -> dict[str, str]:
    """Return the tools that a version asks for, by the keys by which a person confirms them."""
    return {f"tool:{tool}": tool for tool in version.content.allowed_tools}


def unlocked_tools(version: SkillVersion, approvals: Sequence[Approval]) -> tuple[str, ...]:
    """Return the tools that a person confirmed in the newest approval of a version."""
    ticked = approvals[-1].ticked if approvals else ()
    return tuple(tool for key, tool in tool_keys(version).items() if key in ticked)


def unconfirmed_values(examination: Examination, ticked: Collection[str]) -> list[ExternalValue]:
    """Return the external values that are not confirmed yet."""
    return [external for external in examination.external_values if external.key not in ticked]


# --- is an approval still valid? ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalCheck:
    """Whether an approval is still valid; if not, why."""

    reasons: tuple[CodedReason, ...] = ()
    is_severe: bool = False
    """Whether a new finding is grave enough to quarantine the version."""

    def __bool__(self) -> bool:
        return not self.reasons


def check_approval(
    approval: Approval, version: SkillVersion, *, examination: Examination, policy: Policy
) -> ApprovalCheck:
    """Compare what was approved with what today's checks see."""
    reasons = tuple(_differences(approval, version, examination=examination, policy=policy))
    return ApprovalCheck(
        reasons=reasons, is_severe=has_severe_findings(_new_findings(examination.findings, approval.findings))
    )


def has_severe_findings(findings: Collection[Finding]) -> bool:
    """Whether any of these quarantines a version."""
    return any(each.severity.at_least(Severity.HIGH) for each in findings)


def needs_attention(findings: Collection[Finding]) -> bool:
    """Whether any of these must be read line by line."""
    return any(each.severity.at_least(Severity.MEDIUM) for each in findings)


def _differences(
    approval: Approval, version: SkillVersion, *, examination: Examination, policy: Policy
) -> Iterator[CodedReason]:
    if (approval.version_id, approval.content_hash) != (version.id, version.hash):
        yield coded(GateReason.CONTENT_CHANGED)
    if dict(approval.origins) != dict(version.origins):
        yield coded(GateReason.ORIGINS_CHANGED)
    if approval.policy_hash != policy.hash():
        yield coded(GateReason.POLICY_CHANGED)
    yield from map(new_finding, _new_findings(examination.findings, approval.findings))
    more = added(examination.needs, approval.needs)
    if more != Capabilities():
        yield coded(GateReason.USES_MORE, more=capabilities_text(more))
    if missing := unconfirmed_values(examination, approval.ticked):
        yield not_confirmed(missing)


def new_finding(finding: Finding) -> CodedReason:
    """Return the reason for a finding that was not there at the approval."""
    return coded(GateReason.NEW_FINDING, severity=str(finding.severity), rule=finding.rule, message=finding.message)


def not_confirmed(missing: Sequence[ExternalValue]) -> CodedReason:
    """Return the reason for external values that were not confirmed."""
    return coded(GateReason.NOT_CONFIRMED, keys=", ".join(external.key for external in missing))


def _new_findings(now: Collection[Finding], then: Collection[Finding]) -> list[Finding]:
    """Return the findings of at least medium severity that were not shown then, or were less severe."""
    shown = {each.place: each.severity for each in most_severe(then)}
    return [each for each in unbound_findings(now) if not shown.get(each.place, Severity.INFO).at_least(each.severity)]


def unbound_findings(findings: Collection[Finding]) -> list[Finding]:
    """Return the findings of at least medium severity that an approval must name to be valid.

    Text from outside and a model's words follow from the origins and the provenance, which an approval is bound to anyway;
    approvals of earlier versions do not name them.
    """
    return [each for each in findings if needs_attention([each]) and each.rule not in _FROM_ORIGINS]


# --- stored reasons ---------------------------------------------------------------------------------------------------

_OLD_TEXTS = {
    GateReason.ROLLED_BACK: "rolled back to",
    GateReason.UNDONE: "undone: ",
    GateReason.INVALID: "invalid: ",
    GateReason.POLICY_ACCEPTED: "policy: ",
}
"""How the reasons began that were stored before they had codes."""
_RESERVED = (*_OLD_TEXTS.values(), *SET_ASIDE_REASONS)


def stored_reason(text: str) -> str:
    """Return what a person wrote as the text to store; what reads like a reason of Tacit's own is marked as theirs."""
    if text.startswith(_RESERVED) or parse_reasons(text) is not None:
        return str(coded(GateReason.PERSONS_WORDS, text=text))
    return text


def written_reason(text: str) -> str:
    """Return what a person wrote, from the stored text (see `stored_reason`)."""
    own = [each for each in parse_reasons(text) or () if each.code == GateReason.PERSONS_WORDS]
    return str(own[0].values.get("text", "")) if own else text


def has_reason(move: Transition, reason: GateReason) -> bool:
    """Whether a stored transition has this reason, as a code or as the sentence of earlier versions."""
    reasons = parse_reasons(move.reason)
    if reasons is not None:
        return any(each.code == reason for each in reasons)
    return move.reason.startswith(_OLD_TEXTS.get(reason, reason))


# --- pre-filled approvals ---------------------------------------------------------------------------------------------------


def reasons_against_prefill(stored: StoredVersion, findings: Collection[Finding]) -> list[str]:
    """Return why the reviewer must read this version first; empty where an approval may be pre-filled.

    Earlier decisions do not tell what this text would do. `findings` are those that the reviewer sees.
    """
    examination = examine_version(stored.version)
    needs = examination.needs
    reasons = [f"it touches {', '.join(each)}" for each in (needs.hosts, needs.secrets) if each]
    if needs.effects:
        reasons.append(f"it {', '.join(needs.effects)}")
    if needs_attention(findings):
        reasons.append("it has findings")
    if examination.external_values:
        reasons.append("it contains text from outside")
    return reasons


def rests_on_agent_alone(stored: StoredVersion) -> bool:
    """Return whether neither a run nor a person supports a version: an agent or an outside text wrote it."""
    version = stored.version
    return not version.provenance.trajectory_ids and version.lowest_origin.rank < Origin.USER.rank
