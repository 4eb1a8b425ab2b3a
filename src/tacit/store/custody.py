"""What a store on SQLite does for trust: keeps approvals and remarks, and forgets by provenance.

A part of `store.SqliteStore`, which opens the connection and knows the tables; each method is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tacit.domain.purging import Descent, Purge, Source, Tombstone
from tacit.domain.remark import About, Remark
from tacit.domain.trust import Approval
from tacit.store.appended_records import Outcomes
from tacit.store.connection import Connection
from tacit.store.purge import Purging
from tacit.store.tombstones import Tombstones


class Custody:
    """The part of a store that answers for what may be trusted."""

    _connection: Connection
    _outcomes: Outcomes
    _purging: Purging
    _tombstones: Tombstones

    def add_approval(self, approval: Approval) -> None:
        """Keep a person's yes."""
        with self._connection.writing():
            self._outcomes.add_approval(approval)

    def approvals(self, version_id: str) -> list[Approval]:
        """All approvals of a version, oldest first."""
        with self._connection.reading():
            return self._outcomes.list_approvals(version_id)

    def add_remark(self, remark: Remark) -> bool:
        """Keep what was noted of a skill or version; False if this very remark is known."""
        with self._connection.writing():
            return self._outcomes.remarks.add(remark)

    def remarks(self, *subjects: str, about: About | None = None) -> list[Remark]:
        """What was noted, oldest first: of these skills and versions, or of everything; of one sort."""
        with self._connection.reading():
            return self._outcomes.remarks.list(*subjects, about=about)

    def descent(self, *sources: Source) -> Descent:
        """Everything that came from these sources."""
        with self._connection.reading():
            return self._purging.descent(sources)

    def purge(self, descent: Descent, *, by: str, at: datetime, reason: str = "") -> bool:
        """Remove it all for good; False if another process kept the log from being emptied."""
        with self._connection.writing():
            self._purging.carry_out(descent, Purge(by=by, at=at, reason=reason), self._tombstones)
        return self.wipe()

    def wipe(self) -> bool:
        """Leave no trace of what was deleted in the file or its log; False if that must wait."""
        return self._connection.wipe()

    def is_purged(self, identity: str) -> bool:
        """Whether this id or content hash was purged."""
        with self._connection.reading():
            return self._tombstones.find(identity) is not None

    def tombstones(self) -> list[Tombstone]:
        """All that stays of what was purged, oldest first."""
        with self._connection.reading():
            return self._tombstones.all()

    def bury(self, stones: Sequence[Tombstone]) -> None:
        """Take over the tombstones of another store."""
        with self._connection.writing():
            for stone in stones:
                self._tombstones.add(stone)
