"""What a store on SQLite keeps beside skills: the ledger, passages of documents, working memory of sessions.

A part of `store.SqliteStore`, beside `custody`; each method is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tacit.domain.document import Passage
from tacit.domain.entry import E, Entry
from tacit.domain.ports import FoundPassage
from tacit.domain.working import Drawer, Jotting
from tacit.store.appended_records import Outcomes
from tacit.store.connection import Connection
from tacit.store.descent import check_may_stand
from tacit.store.passages import Passages
from tacit.store.session_notes import Jottings
from tacit.store.tombstones import Tombstones


class Beside:
    """The part of a store that keeps what is no skill."""

    _connection: Connection
    _outcomes: Outcomes
    _passages: Passages
    _jottings: Jottings
    _tombstones: Tombstones

    def add_entry(self, entry: Entry) -> bool:
        """Append to the ledger; False if this very entry is known."""
        with self._connection.writing():
            check_may_stand(entry, self._tombstones.find)
            return self._outcomes.ledger.add(entry)

    def entries(self, sort: type[E], *, key: str = "", session_id: str = "") -> list[E]:
        """What the ledger holds of one sort, oldest first: of one key, or of one session."""
        with self._connection.reading():
            return self._outcomes.ledger.list(sort, key=key, session_id=session_id)

    def put_passages(self, version_id: str, passages: Sequence[Passage]) -> None:
        """Keep the passages of a document's version, once and for good."""
        with self._connection.writing():
            self._passages.put(version_id, passages)

    def passages(self, version_id: str) -> list[Passage]:
        """The passages of a version, in order."""
        with self._connection.reading():
            return self._passages.of(version_id)

    def search_passages(self, terms: Sequence[str], *, limit: int = 20) -> list[FoundPassage]:
        """Find passages of recallable versions by their words, best first."""
        with self._connection.reading():
            return self._passages.search(terms, limit=limit)

    def jot(self, jotting: Jotting) -> None:
        """Keep something in working memory, in place of what lay there."""
        with self._connection.writing():
            self._jottings.put(jotting)

    def jottings(
        self, session_id: str, *, at: datetime, drawer: Drawer | None = None, agent: str | None = None
    ) -> list[Jotting]:
        """What working memory of a session holds and has not expired, oldest first."""
        with self._connection.reading():
            return self._jottings.list(session_id, at=at, drawer=drawer, agent=agent)

    def forget_jottings(self, *, session_id: str = "", at: datetime | None = None) -> int:
        """Drop working memory of one session, or all that had expired at that time."""
        with self._connection.writing():
            return self._jottings.forget(session_id=session_id, at=at)
