"""Which uses belong to a session or a version: a use in → the keys it is found by; a key in → the numbers of its uses.

A projection of the table `uses`, written with each use and gone with it. Its rows carry no seal: whoever finds a use by a
key holds it against the sealed record, and `verify` does so for every use.
"""

from __future__ import annotations

from tacit.domain.evidence import Use
from tacit.store.connection import Connection
from tacit.store.encoding import clean
from tacit.store.rows import Records, Values

SINCE = 7
"""The schema that brought the table."""
SESSION, VERSION = "session", "version"
Key = tuple[str, str]
"""What sort of thing a use belongs to, and its id."""


class UseKeys:
    """The table `use_keys`; in a store of an earlier schema there is none to keep."""

    def __init__(self, connection: Connection, uses: Records[Use], *, schema: int = SINCE) -> None:
        self._connection = connection
        self._uses = uses
        self._known = schema >= SINCE

    def add(self, seq: int, use: Use) -> None:
        """Keep what a use is found by."""
        for key in sorted(keys_of(use)) if self._known else ():
            self._connection.run("INSERT INTO use_keys (sort, owner, use) VALUES (?, ?, ?)", *key, seq)

    def uses(self, *keys: Key) -> list[Use]:
        """The uses that all of these keys belong to, in order of arrival; all uses without a key."""
        numbers = set(self._uses.all_numbers()) if not keys else set.intersection(*map(self._numbers, keys))
        rows = self._uses.among(sorted(numbers))
        found = [self._uses.value(row) for row in rows]
        for row, use in zip(rows, found, strict=True):
            if not keys_of(use).issuperset(keys):
                raise self._uses.damage(row["id"], "is found by what it does not belong to")
        return found

    def check(self, row: Values) -> None:
        """Raise unless a use reads as it was written and is found by exactly what it belongs to."""
        expected = keys_of(self._uses.value(row))
        if set(self._connection.run("SELECT sort, owner FROM use_keys WHERE use = ?", row["seq"])) != expected:
            raise self._uses.damage(row["id"], "is not found by what it belongs to")

    def rebuild(self) -> None:
        """Make all keys anew from the uses."""
        self._connection.run("DELETE FROM use_keys")
        for seq in self._uses.all_numbers():
            self.add(seq, self._uses.value(self._uses.at(seq)))

    def _numbers(self, key: Key) -> set[int]:
        sql = "SELECT use FROM use_keys WHERE sort = ? AND owner = ?"
        return {row[0] for row in self._connection.run(sql, *key)}


def asked_keys(*, session_id: str, version_id: str) -> list[Key]:
    """The keys that somebody asks by; what is empty is not asked."""
    asked = ((SESSION, session_id), (VERSION, version_id))
    return [(sort, clean(owner)) for sort, owner in asked if owner]


def keys_of(use: Use) -> set[Key]:
    """All keys that a use is found by."""
    owners = [(SESSION, use.session_id), *((VERSION, version_id) for version_id in use.version_ids)]
    return {(sort, clean(owner)) for sort, owner in owners if owner}
