"""What a volatile store keeps of what came of skills: uses and their evidence, appended once.

A part of `volatile.VolatileStore`, beside `custody`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tacit.domain.evidence import Evidence, Use
from tacit.store.held import Part, get
from tacit.store.records import aware

T = TypeVar("T")


class Outcomes(Part):
    """The part of a volatile store that keeps what was shown and what came of it."""

    def add_use(self, use: Use) -> None:
        """Keep what was shown."""
        aware(use.at)
        with self.transaction():
            if self._is_new(self._state.uses, use, use.id):
                self._note("use", use.id, value=use, actor=use.surface, at=use.at)
                self._state.log.append(lambda store: store.add_use(use))

    def use(self, use_id: str) -> Use:
        """Fetch one use."""
        with self._open():
            return get(self._state.uses, use_id, "use")

    def uses(self, *, session_id: str = "", version_id: str = "") -> list[Use]:
        """What was shown or held back, oldest first: in one session, of one version, or all of it."""
        with self._open():
            kept = self._state.uses.values()
            return [use for use in kept if session_id in ("", use.session_id) and version_id in ("", *use.version_ids)]

    def add_evidence(self, evidence: Evidence) -> bool:
        """Keep a result; False if this very one is known."""
        aware(evidence.at)
        with self.transaction():
            get(self._state.versions, evidence.version_id, "version")
            if not self._is_new(self._state.evidence, evidence, evidence.id):
                return False
            self._state.renderings.pop(evidence.version_id, None)
            action, subject = f"evidence {evidence.outcome} {evidence.grade}", evidence.version_id
            self._note(action, subject, value=evidence, actor=evidence.by, at=evidence.at)
            self._state.log.append(lambda store: store.add_evidence(evidence))
            return True

    def evidence(self, version_ids: Iterable[str]) -> dict[str, list[Evidence]]:
        """Results by version, oldest first."""
        with self._open():
            ordered = sorted(self._state.evidence.values(), key=lambda piece: piece.at)
            return {wanted: [piece for piece in ordered if piece.version_id == wanted] for wanted in version_ids}
