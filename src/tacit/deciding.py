"""What a person decides about a skill: approve, reject, retire, restore, roll back, declare invalid, leave alone, undo.

Every decision is on one exact content, and is kept with its reason. Nothing here is for an agent.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tacit.config.later import Later
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import Transition
from tacit.domain.ports import Stored
from tacit.domain.remark import Remark
from tacit.domain.trust import Examination
from tacit.keeping import Keeping
from tacit.recall import publishing
from tacit.store import queries as shelf
from tacit.text.redaction import redact

if TYPE_CHECKING:
    from tacit import gate
    from tacit.gate import approvals as trusting
    from tacit.gate import curation as curating
else:  # whoever only recalls decides nothing
    curating, gate, trusting = Later("tacit.gate.curation"), Later("tacit.gate"), Later("tacit.gate.approvals")


class Deciding(Keeping):
    """A memory that people look through."""

    def review(
        self,
        version_id: str,
        decision: gate.Review | str,
        *,
        by: str,
        reason: str = "",
        content_hash: str = "",
        ticked: Collection[str] = (),
    ) -> Transition:
        """Carry out a person's decision on one exact version: approve, reject, retire, restore or reopen.

        What came from outside word for word (`examine` lists it) must be in `ticked` before it can be approved.
        """
        stored = self.version(version_id)
        content_hash = content_hash or stored.version.hash
        move = gate.decide(
            stored, decision, by=by, at=self._now(), reason=redact(reason).text, content_hash=content_hash
        )
        with self.store.transaction():
            trusting.carry_out(self.store, stored, move, policy=self.config.policy, ticked=ticked)
            self._noted(stored, move)
            publishing.publish(self.store, self.embedder)
        return move

    def _noted(self, stored: Stored, move: Transition) -> None:
        """What is kept of a decision beside the move itself; the rooms of a memory know."""

    def examine(self, version_id: str) -> Examination:
        """All that a reviewer must know of a version: findings, what it touches, and what needs a tick of its own."""
        return gate.examined_version(self.version(version_id).version)

    def recheck(self, *, apply: bool = False, by: str = "") -> list[trusting.Rechecked]:
        """Look at everything recallable again with today's checks; with `apply` what no longer holds waits for a person."""
        found = trusting.recheck(
            self.store, self.config.policy, by=(by or trusting.BY_ITSELF) if apply else "", at=self._now()
        )
        if apply:
            publishing.publish(self.store, self.embedder)
        return found

    def waiting(self) -> list[Stored]:
        """What waits for a person's decision, oldest first: of each skill only the newest version, if it waits."""
        return shelf.waiting(self.store)

    def rollback(self, version_id: str, *, by: str) -> list[Transition]:
        """Make an earlier version current again by retiring what came after it."""
        target = self.version(version_id)
        way = trusting.way_back(self.store, target)
        if not way:
            raise Mistake(f"`{target.version.name}` {version_id} is already current", hint="nothing to roll back")
        return self._decide_all(way, by=by)

    def invalidate(self, reference: str, *, by: str, reason: str) -> list[Transition]:
        """Take a whole skill out of use because it is wrong; all its versions can be brought back."""
        way = curating.invalidation(self.store, self.version(reference), reason)
        return self._decide_all(way, by=by)

    def undo(self, reference: str, *, by: str) -> list[Transition]:
        """Take the last change to a skill back: an approval, a rejection, a retirement, an edit, a roll-back."""
        stored = self.version(reference)
        changes = curating.last_change(self.store, stored)
        return self._decide_all(curating.way_back(changes, stored.version.name), by=by)

    def _decide_all(self, way: curating.Decisions, *, by: str) -> list[Transition]:
        with self.store.transaction():
            return [self.review(each, decision, by=by, reason=reason) for each, decision, reason in way]

    def pin(self, reference: str, *, by: str, reason: str = "", off: bool = False) -> Remark:
        """Have a skill left alone by all that looks after the library by itself, or no longer."""
        with self.store.transaction():
            noted = curating.pin(self.store, self.version(reference), by=by, at=self._now(), reason=reason, off=off)
            publishing.renew(self.store, noted.subject)  # what is pinned is not held back either
        return noted
