"""What a person decides about a skill: approve, reject, retire, restore, roll back, declare invalid, pin, undo.

Every decision is on one exact content and is stored with its reason. Agents have no access to this.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tacit.config.lazy import LazyModule
from tacit.domain.coded_reason import CodedReason
from tacit.domain.errors import Mistake
from tacit.domain.ledger import Remark
from tacit.domain.lifecycle import Transition
from tacit.domain.skill import SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trust import Approval, Examination
from tacit.recall import publishing
from tacit.store import queries
from tacit.store.context import StoreContext
from tacit.text.redaction import redact

if TYPE_CHECKING:
    from tacit import gate
    from tacit.gate import approvals, review_rules
else:  # most commands decide nothing, and should not load this
    gate, approvals = LazyModule("tacit.gate"), LazyModule("tacit.gate.approvals")
    review_rules = LazyModule("tacit.gate.review_rules")


class Reviews:
    """The review queue of a memory, and every decision a person can make on a version."""

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def decide(
        self,
        version_id: str,
        decision: gate.Review | str,
        *,
        by: str,
        reason: str = "",
        content_hash: str = "",
        ticked: Collection[str] = (),
    ) -> Transition:
        """Apply a person's decision to one exact version: approve, reject, retire, restore or reopen.

        What came from outside word for word (`examine` lists it) must be in `ticked` before it can be approved.
        """
        context = self._context
        stored = queries.find(context.store, version_id)
        content_hash = content_hash or stored.version.hash
        move = gate.decide(
            stored, decision, by=by, at=context.now(), reason=redact(reason).text, content_hash=content_hash
        )
        with context.store.transaction():
            approvals.store_decision(context.store, stored, move, policy=context.config.policy, ticked=ticked)
            for extension in context.extensions:
                extension.on_review(stored, move)
            publishing.publish(context.store, context.embedder)
        return move

    def waiting(self) -> list[StoredVersion]:
        """Return what waits for a person, oldest first: of each skill only the newest version, if it waits."""
        return queries.waiting(self._context.store)

    def examine(self, version_id: str) -> Examination:
        """Return what a reviewer must know of a version: findings, what it uses, and what needs to be confirmed."""
        return gate.examine_version(queries.find(self._context.store, version_id).version)

    def last_approved(self, stored: StoredVersion) -> tuple[StoredVersion, Approval | None] | None:
        """Return the version of a skill that was approved last, with its approval; None where none was."""
        return approvals.last_approved(self._context.store, stored)

    def void_reasons(self, approval: Approval, version: SkillVersion) -> tuple[CodedReason, ...]:
        """Return why an approval of a version is no longer valid; empty if it is."""
        examination = gate.examine_version(version)
        policy = self._context.config.policy
        return gate.check_approval(approval, version, examination=examination, policy=policy).reasons

    def recheck(self, *, apply: bool = False, by: str = "") -> list[approvals.Rechecked]:
        """Run today's checks on everything recallable; with `apply`, what no longer passes waits for a person again."""
        context = self._context
        person = (by or approvals.BY_ITSELF) if apply else ""
        found = approvals.recheck(context.store, context.config.policy, by=person, at=context.now())
        if apply:
            publishing.publish(context.store, context.embedder)
        return found

    def rollback(self, version_id: str, *, by: str) -> list[Transition]:
        """Make an earlier version current again by retiring the later ones."""
        target = queries.find(self._context.store, version_id)
        decisions = approvals.rollback_decisions(self._context.store, target)
        if not decisions:
            raise Mistake(
                f"`{target.version.name}` {version_id} is already current",
                code="already_current",
                hint="nothing to roll back",
            )
        return self._decide_all(decisions, by=by)

    def invalidate(self, reference: str, *, by: str, reason: str) -> list[Transition]:
        """Take a whole skill out of use because it is wrong; all its versions can be restored."""
        stored = queries.find(self._context.store, reference)
        return self._decide_all(review_rules.invalidation(self._context.store, stored, reason), by=by)

    def undo(self, reference: str, *, by: str) -> list[Transition]:
        """Revert the last change to a skill: an approval, a rejection, a retirement, an edit, a roll-back."""
        stored = queries.find(self._context.store, reference)
        changes = review_rules.last_change(self._context.store, stored)
        return self._decide_all(review_rules.undoing(changes, stored.version.name), by=by)

    def pin(self, reference: str, *, by: str, reason: str = "", off: bool = False) -> Remark:
        """Exclude a skill from automatic maintenance, or include it again with `off`."""
        store, at = self._context.store, self._context.now()
        with store.transaction():
            noted = review_rules.pin(store, queries.find(store, reference), by=by, at=at, reason=reason, off=off)
            publishing.rerender_skill(store, noted.subject)  # a pinned skill is always shown, also in control runs
        return noted

    def _decide_all(self, decisions: review_rules.Decisions, *, by: str) -> list[Transition]:
        with self._context.store.transaction():
            return [self.decide(each, decision, by=by, reason=reason) for each, decision, reason in decisions]
