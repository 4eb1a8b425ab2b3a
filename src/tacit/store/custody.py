"""What a volatile store does for trust: keeps approvals and remarks, and forgets by provenance.

A part of `volatile.VolatileStore`, beside `projections`, `meaning` and `safekeeping`.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from tacit.domain.lifecycle import Transition
from tacit.domain.ports import Episode
from tacit.domain.purging import Descent, Purge, Source, Tombstone
from tacit.domain.remark import About, Remark
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.store import laws
from tacit.store.descending import Kept, demotion, descend, stones_of, subject_of
from tacit.store.held import Part, get, reread, unrender_composites
from tacit.store.records import aware, unpack

T = TypeVar("T")


class Custody(Part):
    """The part of a volatile store that answers for what may be trusted."""

    @abstractmethod
    def add_transition(self, transition: Transition) -> None:
        """Change a status."""

    @abstractmethod
    def _set_episode(self, episode: Episode, action: str, *, at: datetime) -> None: ...

    def add_approval(self, approval: Approval) -> None:
        """Keep a person's yes; raises `StaleVersion` if the version has another content than the approved one."""
        with self.transaction():
            held = get(self._state.versions, approval.version_id, "version")
            laws.check_approval(approval, content_hash=held.version.hash)
            if self._is_new(self._state.approvals, approval, approval.id):
                self._note("approval", approval.version_id, value=approval, actor=approval.by, at=approval.at)
                self._state.log.append(lambda store: store.add_approval(approval))

    def approvals(self, version_id: str) -> list[Approval]:
        """All approvals of a version, oldest first."""
        with self._open():
            get(self._state.versions, version_id, "version")
            return [approval for approval in self._state.approvals.values() if approval.version_id == version_id]

    def add_remark(self, remark: Remark) -> bool:
        """Keep what was noted of a skill or version; False if this very remark is known."""
        aware(remark.at)
        with self.transaction():
            state = self._state
            if remark.subject not in state.skills:
                get(state.versions, remark.subject, "skill or version")
            if not self._is_new(state.remarks, remark, remark.id):
                return False
            action = laws.remark_action(remark)
            self._note(action, remark.subject, value=remark, actor=remark.by, at=remark.at)
            state.log.append(lambda store: store.add_remark(remark))
            return True

    def remarks(self, *subjects: str, about: About | None = None) -> list[Remark]:
        """What was noted, oldest first: of these skills and versions, or of everything; of one sort."""
        with self._open():
            kept = self._state.remarks.values()
            return [each for each in kept if (not subjects or each.subject in subjects) and about in (None, each.about)]

    def descent(self, *sources: Source) -> Descent:
        """Everything that came from these sources."""
        with self._open():
            return descend(self._kept(), sources)

    def purge(self, descent: Descent, *, by: str, at: datetime, reason: str = "") -> bool:
        """Remove it all; nothing of it is left in what the store hands out or backs up."""
        purge = Purge(by=by, at=aware(at), reason=reason)
        with self.transaction():
            state = self._state
            for trajectory_id in descent.relearned:
                if (episode := state.episodes[trajectory_id]).learned_at is not None:
                    self._set_episode(replace(episode, learned_at=None), "unlearned", at=at)
            self._drop(descent, purge)
            before, state.log = state.log, []
            for version_id in descent.demoted:
                self.add_transition(demotion(state.versions[version_id], purge))
            state.log = before
            self.bury(stones_of(descent, purge))
            state.log[-1] = lambda store: store.purge(descent, by=by, at=at, reason=reason)
        return True

    def is_purged(self, identity: str) -> bool:
        """Whether this id or content hash was purged."""
        with self._open():
            return identity in self._state.tombstones

    def tombstones(self) -> list[Tombstone]:
        """All that stays of what was purged, oldest first."""
        with self._open():
            return list(self._state.tombstones.values())

    def bury(self, stones: Sequence[Tombstone]) -> None:
        """Take over the tombstones of another store."""
        with self.transaction():
            for stone in stones:
                if stone.id not in self._state.tombstones:
                    self._state.tombstones[stone.id] = reread(stone)
                    self._note("tombstone", stone.id, value=stone, actor=stone.by, at=stone.at)
            self._state.log.append(lambda store: store.bury(stones))

    def _kept(self) -> Kept:
        state = self._state
        lives: dict[str, list[Transition]] = {}
        for step in state.transitions.values():
            lives.setdefault(step.version_id, []).append(step)
        return Kept(
            episodes=list(state.episodes.values()),
            versions=list(state.versions.values()),
            lives=lives,
            verdicts=list(state.verdicts.values()),
            approvals=list(state.approvals.values()),
            uses=list(state.uses.values()),
            evidence=list(state.evidence.values()),
            remarks=list(state.remarks.values()),
            entries=list(state.entries.values()),
            jottings=list(state.jottings.values()),
            whole=lambda identity: unpack(zlib.decompress(state.contents[identity]), Trajectory),
        )

    def _drop(self, descent: Descent, purge: Purge) -> None:
        state = self._state
        shaken = {state.evidence[identity].version_id for identity in descent.evidence}
        for identity, step in list(state.transitions.items()):
            if step.version_id in descent.versions:
                del state.transitions[identity]
        unrender_composites(state, {state.versions[identity].version.name for identity in descent.versions})
        owned: tuple[tuple[dict[str, Any], Sequence[str]], ...] = (
            (state.approvals, descent.approvals),
            (state.evidence, descent.evidence),
            (state.verdicts, descent.verdicts),
            (state.remarks, descent.remarks),
            (state.entries, descent.entries),
            (state.uses, descent.uses),
            (state.passages, [identity for identity in descent.versions if identity in state.passages]),
            (state.versions, descent.versions),
            (state.skills, descent.skills),
            (state.episodes, descent.trajectories),
        )
        for kept, ids in owned:
            self._forget(kept, ids, purge)
        for identity in descent.versions:
            del state.version_words[identity]
        for identity in descent.jottings:
            del state.jottings[identity]
        for identity in descent.trajectories:
            del state.episode_words[identity]
            state.contents.pop(identity, None)
        for identity in (*descent.trajectories, *descent.relearned):
            state.outlines.pop(identity, None)
            state.mined.discard(identity)
        for identity in {*descent.versions, *shaken}:
            state.renderings.pop(identity, None)
        gone = set(descent.versions)
        state.vectors = {key: codes for key, codes in state.vectors.items() if key[1] not in gone}

    def _forget(self, kept: dict[str, Any], ids: Sequence[str], purge: Purge) -> None:
        for identity in ids:
            value = kept.pop(identity)
            self._note("purge", subject_of(value, identity), value=value, actor=purge.by, at=purge.at)
