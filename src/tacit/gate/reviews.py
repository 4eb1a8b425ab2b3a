"""What a person decides about a skill, and whether the approvals of the past still hold.

Every decision is on one exact content and is stored with its reason. Agents have no access to this. A recheck examines what is
recallable with today's checks, and takes versions out of use whose approval is no longer valid. The rules are in
`review_rules` and `formation_policy`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from tacit.config.signers import approval_body, require_unlocked_key, unlocked_key
from tacit.domain.candidate import GateDecision, Relation, Verdict
from tacit.domain.care import MIRROR
from tacit.domain.errors import Mistake
from tacit.domain.identity import digest
from tacit.domain.ledger import About, Remark, pinned
from tacit.domain.lifecycle import RECALLABLE, WAITING, CodedReason, Status, Transition, coded, joined_text
from tacit.domain.skill import SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trust import Approval, Examination
from tacit.gate.content_checks import (
    checks_in_use,
    examine_version,
    findings_against_quoting,
    findings_against_section_title,
    is_quotation,
)
from tacit.gate.findings import GateReason, finding, reason_sentence
from tacit.gate.formation_policy import reason_against_acceptance
from tacit.gate.quarantine import last_waiting_status, withheld
from tacit.gate.review_rules import (
    PersonDecision,
    approve,
    change_status,
    check_approval,
    decide,
    has_reason,
    has_severe_findings,
    new_finding,
    not_confirmed,
    tool_keys,
    unbound_findings,
    unlocked_tools,
)
from tacit.gate.review_sources import folded_away
from tacit.recall import publishing
from tacit.store import Store, queries
from tacit.store.context import StoreContext
from tacit.text.context_frame import split_standing
from tacit.text.redaction import redact

BY_RECHECK = "tacit.recheck"
"""`by` of a transition that Tacit makes by itself after a recheck."""
_Decisions = list[tuple[str, PersonDecision, CodedReason]]
"""Version id, decision and reason, in the order in which they are carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """A recallable version after a recheck: what is no longer valid, and the status it gets."""

    stored: StoredVersion
    reasons: tuple[CodedReason, ...]
    after: Status | None
    """None: it stays recallable, and the reasons are only reported."""
    examination: Examination


class Reviews:
    """The review queue of a memory, and every decision a person can make on a version."""

    def __init__(self, context: StoreContext) -> None:
        self._context, self._store = context, context.store

    # --- looking ---

    def waiting(self, *, folded: bool = True) -> list[StoredVersion]:
        """Return what waits for a person, oldest first: of each skill only the newest version, if it waits.

        Without `folded`, what was folded away is left out.
        """
        away = {} if folded else folded_away(self._context)
        return [stored for stored in queries.waiting(self._store) if stored.version.id not in away]

    def examine(self, version_id: str) -> Examination:
        """Return what a reviewer must know of a version: findings, what it uses, and what needs to be confirmed."""
        return examine_version(queries.find(self._store, version_id).version)

    def withheld(self, stored: StoredVersion) -> StoredVersion:
        """Return a version as programs may see it: without its text if it is quarantined."""
        return withheld(self._store, stored)

    def last_approved(self, stored: StoredVersion) -> tuple[StoredVersion, Approval | None] | None:
        """Return the version of a skill that a person approved last, with the approval; without one, the current version."""
        versions = self._store.versions(stored.skill.id)
        approved = [(approval, each) for each in versions for approval in self._store.approvals(each.version.id)[-1:]]
        if approved:
            approval, newest = max(approved, key=lambda pair: (pair[0].at, pair[1].sequence))
            return newest, approval
        current = [each for each in versions if each.status in RECALLABLE]
        return (current[-1], None) if current else None

    def void_reasons(self, approval: Approval, version: SkillVersion) -> tuple[CodedReason, ...]:
        """Return why an approval of a version is no longer valid; empty if it is."""
        return check_approval(
            approval, version, examination=examine_version(version), policy=self._context.config.policy
        ).reasons

    # --- decisions ---

    def decide(
        self,
        version_id: str,
        decision: PersonDecision | str,
        *,
        by: str,
        reason: str | CodedReason = "",
        content_hash: str = "",
        ticked: Collection[str] = (),
    ) -> Transition:
        """Apply a person's decision to one exact version: approve, reject, retire, restore or reopen.

        What came from outside word for word (`examine` lists it) must be in `ticked` before it can be approved. An approval is
        signed with the unlocked key of this process; without one it is refused, unless the store needs no signature.
        """
        context, stored = self._context, queries.find(self._store, version_id)
        content_hash = content_hash or stored.version.hash
        if isinstance(reason, str):
            reason = redact(reason).text
        move = decide(
            stored,
            decision,
            by=by,
            at=context.now(),
            reason=reason,
            content_hash=content_hash,
            reopened=last_waiting_status(self._store, stored.version.id),
        )
        return self._apply(stored, move, ticked)

    def _apply(self, stored: StoredVersion, move: Transition, ticked: Collection[str] = ()) -> Transition:
        """Store a decision, with a signed approval where it makes the version recallable."""
        context = self._context
        with self._store.transaction():
            approval = self._approval(stored, move, ticked)
            self._store.add_transition(move)
            if approval is not None:
                self._store.add(self._signed(stored, approval))
            for extension in context.extensions:
                extension.on_review(stored, move)
            publishing.publish(self._store, context.embedder)
        return move

    def unlocked_tools(self, version_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the tools that these versions ask for and a person confirmed when they were approved."""
        unlocked = (
            unlocked_tools(self._store.version(each).version, self._store.approvals(each)) for each in version_ids
        )
        return tuple(dict.fromkeys(tool for tools in unlocked for tool in tools))

    def rollback(self, version_id: str, *, by: str) -> list[Transition]:
        """Make an earlier version current again by retiring the later ones."""
        target = queries.find(self._store, version_id)
        reason = coded(GateReason.ROLLED_BACK, version=target.version.id)
        later = [each for each in self._store.versions(target.skill.id) if each.sequence > target.sequence]
        decisions = [(each.version.id, PersonDecision.RETIRE, reason) for each in later if each.status in RECALLABLE]
        if target.status not in RECALLABLE:
            again = (
                PersonDecision.RESTORE if target.status in (Status.RETIRED, Status.STALE) else PersonDecision.APPROVE
            )
            decisions.append((target.version.id, again, reason))
        if not decisions:
            message = f"`{target.version.name}` {version_id} is already current"
            raise Mistake(message, code="already_current", hint="nothing to roll back")
        return self._decide_all(decisions, by=by)

    def invalidate(self, reference: str, *, by: str, reason: str) -> list[Transition]:
        """Take a whole skill out of use because it is wrong: all its versions, waiting ones too. They can be restored."""
        stored = queries.find(self._store, reference)
        if not reason.strip():
            hint = "pass --reason TEXT; it is stored and shown later"
            raise Mistake("say why it is invalid", code="reason_missing", hint=hint)
        versions = self._store.versions(stored.skill.id)
        why = coded(GateReason.INVALID, why=redact(reason.strip()).text)
        used = [(v.version.id, PersonDecision.RETIRE, why) for v in versions if v.status in {*RECALLABLE, Status.STALE}]
        waiting = [(v.version.id, PersonDecision.REJECT, why) for v in versions if v.status in WAITING]
        if not used and not waiting:
            raise Mistake(f"`{stored.version.name}` is not in use", code="not_in_use", hint="nothing to do")
        return self._decide_all([*used, *waiting], by=by)

    def undoable(self, reference: str) -> list[Transition]:
        """Return the last change to a skill, or of several with one name to the one changed last; none where it was folded.

        Raises `Mistake` if it cannot be undone.
        """
        versions = self._versions_of(reference)
        if not versions.isdisjoint(folded_away(self._context)):
            return []
        newest = [move for each in versions for move in self._store.transitions(each)]
        newest.sort(key=lambda move: move.at, reverse=True)
        # A rollback and an invalidation change several versions at once.
        codes = [code for code in (GateReason.ROLLED_BACK, GateReason.INVALID) if has_reason(newest[0], code)]

        def is_part(move: Transition) -> bool:
            return move.by == newest[0].by and any(has_reason(move, code) for code in codes)

        moves = list(takewhile(is_part, newest)) or newest[:1]
        for move in moves:
            _require_undoable(move, reference)
        return moves

    def undo(self, reference: str, *, by: str) -> list[Transition]:
        """Revert the last change to a skill: an approval, a rejection, a retirement, an edit, a roll-back.

        Each version gets its earlier status, but one that was trusted comes back on trial: trust is earned. A version that
        was just made has no earlier status: it is rejected, or retired where the policy had accepted it. What was folded
        away waits with the others again.
        """
        with self._store.transaction():
            for each in self._versions_of(reference).intersection(folded_away(self._context)):
                self.fold(each, by=by)
                return []
            return [self._undo(move, by=by) for move in self.undoable(reference)]

    def _versions_of(self, reference: str) -> set[str]:
        """Return the ids of all versions of the skills that a reference may mean."""
        named = [queries.find(self._store, reference), *self._store.catalogue(name=reference)]
        return {each.version.id for stored in named for each in self._store.versions(stored.skill.id)}

    def _undo(self, move: Transition, *, by: str) -> Transition:
        stored, reason = self._store.version(move.version_id), coded(GateReason.UNDONE, why=move.reason[:400])
        made = Status.RETIRED if move.after in RECALLABLE else Status.REJECTED
        earlier = Status.TRIAL if move.before in RECALLABLE else move.before or made
        return self._apply(stored, change_status(stored, earlier, reason, by=by, at=self._context.now()))

    def pin(self, reference: str, *, by: str, reason: str = "", off: bool = False) -> Remark:
        """Exclude a skill from automatic maintenance, or include it again with `off`."""
        stored = queries.find(self._store, reference)
        if bool(pinned(self._store.remarks(stored.skill.id, about=About.PIN))) is not off:
            state, code = ("not pinned", "not_pinned") if off else ("already pinned", "already_pinned")
            raise Mistake(f"`{stored.version.name}` is {state}", code=code, hint="nothing to do")
        if not by.strip():
            hint = "pass --by NAME (or by=…)"
            raise Mistake("a pin needs the name of the person who sets it", code="reviewer_missing", hint=hint)
        text = "" if off else redact(reason.strip()).text or "left alone"
        remark = Remark(subject=stored.skill.id, about=About.PIN, by=by, at=self._context.now(), text=text)
        with self._store.transaction():
            self._store.add(remark)
            # A pinned skill is always shown, also in control runs.
            publishing.rerender_skill(self._store, remark.subject)
        return remark

    def fold(self, version_id: str, *, by: str, reason: CodedReason | None = None) -> Remark:
        """Fold a waiting version away in the queue for a reason, or without one no longer. Nothing is decided on it."""
        text, at = str(reason or ""), self._context.now()
        remark = Remark(subject=version_id, about=About.FOLD, by=by, at=at, text=text)
        self._store.add(remark)
        return remark

    def close_duplicate(self, version_id: str, known: StoredVersion, *, by: str, reason: CodedReason) -> Transition:
        """Reject a waiting version as a duplicate of a known skill, for which its sessions count from now on.

        The skill's text, origins and status stay as they are; undoing the rejection ends the counting.
        """
        at, text = self._context.now(), str(reason)
        with self._store.transaction():
            move = self.decide(version_id, PersonDecision.REJECT, by=by, reason=reason)
            self._store.add(
                Remark(subject=known.skill.id, about=About.DUPLICATE, by=by, at=at, other=version_id, text=text)
            )
        return move

    def set_importance(self, reference: str, importance: float, *, by: str) -> Remark:
        """Store how much a skill matters, 0 to 1: it counts from now on in place of what it would have by itself."""
        if not 0 <= importance <= 1:
            raise Mistake("importance goes from 0 to 1", code="wrong_importance", hint="such as --importance 0.9")
        stored = queries.find(self._store, reference)
        at, text = self._context.now(), f"{importance:g}"
        remark = Remark(subject=stored.skill.id, about=About.IMPORTANCE, by=by, at=at, text=text)
        with self._store.transaction():
            self._store.add(remark)
            publishing.rerender_skill(self._store, remark.subject)
        return remark

    def _decide_all(self, decisions: _Decisions, *, by: str) -> list[Transition]:
        with self._store.transaction():
            return [self.decide(each, decision, by=by, reason=reason) for each, decision, reason in decisions]

    def _approval(self, stored: StoredVersion, move: Transition, ticked: Collection[str]) -> Approval | None:
        """The approval for a decision that makes a version recallable; None for other decisions.

        What was confirmed before the same content was retired need not be confirmed again when it is restored.
        """
        if move.after not in RECALLABLE:
            if ticked:
                message = "only an approval confirms external values"
                raise Mistake(message, code="tick_without_approval", hint="leave out --tick")
            return None
        examination, given = examine_version(stored.version), set(ticked)
        if move.before in (Status.RETIRED, Status.STALE):
            given |= self.confirmed_before(stored)
        return approve(stored, examination, by=move.by, at=move.at, policy=self._context.config.policy, ticked=given)

    def confirmed_before(self, stored: StoredVersion, *, unsigned: bool = False) -> set[str]:
        """Return the values and tools that earlier approvals of a version confirmed; with `unsigned` any approval counts."""
        required = {each.key for each in self.examine(stored.version.id).external_values} | tool_keys(
            stored.version
        ).keys()
        earlier = self._store.approvals(stored.version.id, unsigned=unsigned)
        return {key for each in earlier for key in required.intersection(each.ticked)}

    def approved_unsigned(self, among: Sequence[StoredVersion] | None = None) -> list[StoredVersion]:
        """Return what may be confirmed at once, among these versions or all.

        Its row says that it was approved, and it waits because no present signer signed that approval.

        Whoever can write the file can write such rows, so what was quarantined or has severe findings is reviewed by itself.
        """
        return [
            each
            for each in (self._store.catalogue() if among is None else among)
            if each.status is Status.CANDIDATE
            and self._store.transitions(each.version.id)[-1].after in RECALLABLE
            and last_waiting_status(self._store, each.version.id) is not Status.QUARANTINED
            and not has_severe_findings(examine_version(each.version).findings)
        ]

    def confirm(self, version_id: str, *, by: str) -> Transition:
        """Sign again what was approved before, with the values that were confirmed then."""
        stored = queries.find(self._store, version_id)
        ticked = self.confirmed_before(stored, unsigned=True)
        return self.decide(stored.version.id, PersonDecision.APPROVE, by=by, ticked=ticked)

    def text_to_sign(self, stored: StoredVersion) -> str:
        """Return what hooks show of a version once it is approved, without how well it is proved."""
        return split_standing(publishing.text_for_hooks(self._store, stored))[0]

    def _signed(self, stored: StoredVersion, approval: Approval) -> Approval:
        """Sign an approval with the person's unlocked key; where the store needs no signature it may stay unsigned."""
        if self._store.signers is None and unlocked_key() is None:
            return approval
        key = require_unlocked_key(f"the approval of `{stored.version.name}`")
        if self._store.signers is not None:
            self._store.require_signatures(key.signers)  # the key may have been made after the store was opened
        body = approval_body(
            content_hash=stored.version.hash,
            kind=stored.skill.kind,
            name=stored.version.name,
            scope=str(stored.skill.scope),
            store=self._store.id,
            shown=approval.shown,
            ticked=approval.ticked,
            by=approval.by,
            at=approval.at.isoformat(),
            text=self.text_to_sign(stored),
        )
        return replace(approval, signed=key.sign(body))

    # --- rechecks ---

    def recheck(self, *, apply: bool = False, by: str = "") -> list[Rechecked]:
        """Run today's checks on everything recallable; with `apply`, what no longer passes waits for a person again."""
        found = [
            each for stored in self._store.catalogue(statuses=RECALLABLE) if (each := self._recheck(stored)).reasons
        ]
        if apply:
            with self._store.transaction():
                for each in found:
                    self._record(each, by=by or BY_RECHECK)
                publishing.publish(self._store, self._context.embedder)
        return found

    def recheck_outdated(self) -> list[Verdict]:
        """Recheck approvals that were given under other checks; what is no longer valid waits for a person again.

        A changed policy counts only in `recheck`: here it would take every skill approved under it out of use unasked.
        """
        store, now = self._store, checks_in_use()
        withdrawn: list[Verdict] = []
        for stored in store.catalogue(statuses=RECALLABLE):
            approvals = store.approvals(stored.version.id)
            if not approvals or set(approvals[-1].checks) == set(now):
                continue
            verdicts = store.verdicts(version_id=stored.version.id)
            if any(verdict.decided_by == _recheck_name(now) for verdict in verdicts):
                continue  # already rechecked with these checks
            with store.transaction():
                verdict = self._record(self._recheck(stored, ignored=GateReason.POLICY_CHANGED), by=BY_RECHECK)
            if verdict.decision is not GateDecision.ACCEPT:
                withdrawn.append(verdict)
        return withdrawn

    def _recheck(self, stored: StoredVersion, *, ignored: GateReason | None = None) -> Rechecked:
        """Check whether the approval of one version is still valid; the reason `ignored` does not withdraw it."""
        version, examination = stored.version, examine_version(stored.version)
        severe = has_severe_findings(examination.findings)
        approvals = self._store.approvals(version.id)
        reasons: tuple[CodedReason, ...]
        if approvals:
            check = check_approval(approvals[-1], version, examination=examination, policy=self._context.config.policy)
            reasons = tuple(reason for reason in check.reasons if reason.code != ignored)
            severe, must_withdraw = check.is_severe, bool(reasons)
        elif _was_accepted_by_policy(self._store, version.id):
            objection = reason_against_acceptance(version, examination.findings, self._context.config.policy)
            reasons = (coded(GateReason.POLICY_REJECTS, why=str(objection)),) if objection else ()
            must_withdraw = bool(objection)
        else:
            against = [new_finding(each) for each in unbound_findings(examination.findings)]
            against += [not_confirmed(examination.external_values)] if examination.external_values else []
            reasons, must_withdraw = (coded(GateReason.NO_EXAMINATION), *against), bool(against)
        if not_quoted := tuple(_not_quotable(self._store, version)):
            reasons, must_withdraw = (*reasons, *not_quoted), True
        after = (Status.QUARANTINED if severe else Status.CANDIDATE) if must_withdraw else None
        return Rechecked(stored=stored, reasons=reasons, after=after, examination=examination)

    def _record(self, found: Rechecked, *, by: str) -> Verdict:
        """Store the verdict of a recheck; a version whose approval is no longer valid is taken out of use."""
        version, at = found.stored.version, self._context.now()
        if found.after is not None:
            reasons = joined_text([coded(GateReason.APPROVAL_NO_LONGER_HOLDS), *found.reasons])
            self._store.add_transition(found.stored.transition_to(found.after, reasons, by=by, at=at))
        decision = {None: GateDecision.ACCEPT, Status.QUARANTINED: GateDecision.QUARANTINE}.get(
            found.after, GateDecision.HOLD
        )
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
            policy_hash=self._context.config.policy.hash(),
            decided_by=_recheck_name(found.examination.checks),
        )
        self._store.add(verdict)
        return verdict


def _require_undoable(move: Transition, name: str) -> None:
    if has_reason(move, GateReason.UNDONE):
        hint = "`tacit undo NAME --to VERSION` goes further back"
        raise Mistake(f"the last change to `{name}` was already undone", code="already_undone", hint=hint)
    if move.by == MIRROR:
        message = f"the last change to `{name}` came from your own store"
        hint = f"`tacit review {move.version_id[:10]} --retire` takes it out of use in this project only"
        raise Mistake(message, code="changed_in_own_store", hint=hint)
    if Status.TRUSTED in (move.before, move.after) and move.after in RECALLABLE:
        message = f"the last change to `{name}` came from evidence, so it cannot be undone"
        hint = "`tacit skills pin` excludes it from automatic changes"
        raise Mistake(message, code="changed_by_evidence", hint=hint)
    if move.before in RECALLABLE and move.after in WAITING:
        hint = f"read it, and approve it again if it is right: tacit review {move.version_id[:10]}"
        raise Mistake(f"`{name}` lost its approval, which no undo gives back", code="approval_withdrawn", hint=hint)


def _not_quotable(store: Store, version: SkillVersion) -> Iterator[CodedReason]:
    """Yield the passages of a document that today's checks would not quote."""
    for passage in store.passages.of(version.id) if is_quotation(version.content) else ():
        if found := findings_against_quoting(passage.text) or findings_against_section_title(passage):
            first = found[0]
            yield coded(GateReason.NOT_QUOTABLE, passage=passage.index, rule=first.rule, message=first.message)


def _recheck_name(checks: Collection[str]) -> str:
    return f"recheck {digest(tuple(checks))}"


def _was_accepted_by_policy(store: Store, version_id: str) -> bool:
    """Whether the policy accepted a version without a person, at once or after more successes.

    What evidence changes between trial and trusted does not count: the version was recallable before.
    """
    made_recallable = [m for m in store.transitions(version_id) if m.after in RECALLABLE and m.before not in RECALLABLE]
    last = made_recallable[-1] if made_recallable else None
    return last is not None and (last.before is None or has_reason(last, GateReason.POLICY_ACCEPTED))
