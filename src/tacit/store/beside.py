"""What a volatile store keeps beside skills: the ledger, passages of documents, working memory of sessions.

A part of `volatile.VolatileStore`, beside `custody`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tacit.domain.document import Passage
from tacit.domain.entry import E, Entry
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import FoundPassage
from tacit.domain.working import Drawer, Jotting
from tacit.store import laws
from tacit.store.descending import check_may_stand
from tacit.store.held import Part, get, rank, reread
from tacit.store.lexical import PASSAGE_WEIGHTS, passage_words
from tacit.store.records import aware


class Beside(Part):
    """The part of a volatile store that keeps what is no skill."""

    def add_entry(self, entry: Entry) -> bool:
        """Append to the ledger; False if this very entry is known."""
        laws.check_entry(entry)
        with self.transaction():
            check_may_stand(entry, self._state.tombstones.get)
            if not self._is_new(self._state.entries, entry, entry.id):
                return False
            self._note(laws.entry_action(entry), entry.key, value=entry, actor=entry.by, at=entry.at)
            self._state.log.append(lambda store: store.add_entry(entry))
            return True

    def entries(self, sort: type[E], *, key: str = "", session_id: str = "") -> list[E]:
        """What the ledger holds of one sort, oldest first: of one key, or of one session."""
        with self._open():
            kept = [entry for entry in self._state.entries.values() if isinstance(entry, sort)]
            return [each for each in kept if key in ("", each.key) and session_id in ("", each.session_id)]

    def put_passages(self, version_id: str, passages: Sequence[Passage]) -> None:
        """Keep the passages of a document's version, once and for good."""
        laws.check_passages(passages)
        with self.transaction():
            stored = get(self._state.versions, version_id, "version")
            kept = tuple(map(reread, passages))
            known = self._state.passages.get(version_id)
            if known and known != kept:
                raise laws.has_passages(version_id)
            if known or not kept:
                return
            self._state.passages[version_id] = kept
            self._note("passages", version_id, value=kept, actor="tacit", at=stored.version.created_at)
            self._state.log.append(lambda store: store.put_passages(version_id, kept))

    def passages(self, version_id: str) -> list[Passage]:
        """The passages of a version, in order."""
        with self._open():
            get(self._state.versions, version_id, "version")
            return list(self._state.passages.get(version_id, ()))

    def search_passages(self, terms: Sequence[str], *, limit: int = 20) -> list[FoundPassage]:
        """Find passages of recallable versions by their words, best first."""
        with self._open():
            versions = self._state.versions
            recallable = [held for held in versions.values() if held.status in RECALLABLE]
            newest = {held.skill.id: held.version.id for held in recallable}
            held = {
                f"{version_id}#{passage.index}": (versions[version_id], passage)
                for version_id, passages in self._state.passages.items()
                if version_id in newest.values()
                for passage in passages
            }
            words = {name: passage_words(passage) for name, (_, passage) in held.items()}
            ranked = rank(terms, words, weights=PASSAGE_WEIGHTS)[: max(0, limit)]
            return [
                FoundPassage(stored=held[name][0], passage=held[name][1], lexical=lexical) for name, lexical in ranked
            ]

    def jot(self, jotting: Jotting) -> None:
        """Keep something in working memory, in place of what lay there."""
        aware(jotting.at)
        aware(jotting.expires_at)
        with self.transaction():
            self._state.jottings.pop(jotting.id, None)
            self._state.jottings[jotting.id] = reread(jotting)
            self._state.log.append(lambda store: store.jot(jotting))

    def jottings(
        self, session_id: str, *, at: datetime, drawer: Drawer | None = None, agent: str | None = None
    ) -> list[Jotting]:
        """What working memory of a session holds and has not expired, oldest first."""
        aware(at)
        with self._open():
            return [
                each
                for each in self._state.jottings.values()
                if each.session_id == session_id
                and each.expires_at > at
                and drawer in (None, each.drawer)
                and agent in (None, each.agent)
            ]

    def forget_jottings(self, *, session_id: str = "", at: datetime | None = None) -> int:
        """Drop working memory of one session, or all that had expired at that time."""
        if at is not None:
            aware(at)
        with self.transaction():
            gone = [
                identity
                for identity, each in self._state.jottings.items()
                if (session_id or at is not None)
                and session_id in ("", each.session_id)
                and (at is None or each.expires_at <= at)
            ]
            for identity in gone:
                del self._state.jottings[identity]
            self._state.log.append(lambda store: store.forget_jottings(session_id=session_id, at=at))
            return len(gone)
