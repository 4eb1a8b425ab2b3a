"""Which versions name other skills as their parts: names in → the renderings of those that show them are gone.

A composite's rendering repeats what its parts say, so it ends when one of them comes, goes or is purged. Versions are only ever
appended to, so each is looked at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tacit.domain.skill import SkillVersion
from tacit.store.sqlite.connection import Connection
from tacit.store.sqlite.rows import Records

_PARTS = b'"sub_skills":["'
"""As quotation marks inside a text are escaped, no text looks like it."""


class Composites:
    """Knows by name whose renderings a skill stands in."""

    def __init__(self, connection: Connection, versions: Records[SkillVersion]) -> None:
        self._connection = connection
        self._versions = versions
        self._naming: dict[str, set[int]] = {}
        self._seen = (-1, -1, 0)

    def unrender(self, names: Iterable[str]) -> None:
        """Drop the renderings of all that are made of these."""
        self._look()
        numbers = sorted({seq for name in names for seq in self._naming.get(name, ())})
        if numbers:
            sql = "DELETE FROM renderings WHERE seq IN (SELECT value FROM json_each(?))"
            self._connection.run(sql, json.dumps(numbers))

    def forget(self) -> None:
        """Look at everything anew next time: rows were removed, and their numbers may be taken again."""
        self._naming, self._seen = {}, (-1, -1, 0)

    def _look(self) -> None:
        others, _, undone = self._connection.stamp()
        if (others, undone) != self._seen[:2]:
            self.forget()
        since = self._seen[2]
        sql = "SELECT seq FROM versions WHERE seq > ? AND instr(record, ?)"
        for (seq,) in self._connection.run(sql, since, _PARTS):
            for name in self._versions.value(self._versions.at(seq)).content.sub_skills:
                self._naming.setdefault(name, set()).add(seq)
        last = self._connection.single("SELECT max(seq) FROM versions") or 0
        self._seen = (others, undone, int(last))
