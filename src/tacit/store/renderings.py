"""Recallable versions as an agent sees them, for hooks, which must answer at once (see `hook_index`).

One sealed row per version, with the number of the version's own row. Triggers delete it when the version's status or evidence
changes, and it is written again in the same transaction; so a rendering is up to date or missing. It is not audited.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.reach import reaches
from tacit.domain.scope import Scope
from tacit.domain.stored import Hit, Rendering, StoredVersion
from tacit.store import invariants
from tacit.store.connection import Connection, reads, writes
from tacit.store.encoding import aware, clean
from tacit.store.hook_index import COLUMNS, narrower_namesakes
from tacit.store.lexical_search import stored_form
from tacit.store.rows import Rows, Values
from tacit.store.skills import Skills
from tacit.text.words import terms

_OWN = ("text", "tokens", "reinforced", "unproven", "person", "importance")
"""The columns named as the fields of a `Rendering` that they hold. `rank` holds its reliability, `fresh_at` a time stamp; the
others repeat its version."""
_SIEVED = 4
"""How many times the wanted number of norms is read before all of them are."""


class Renderings:
    """The table `renderings`."""

    def __init__(self, connection: Connection, skills: Skills) -> None:
        self._connection = connection
        self._skills = skills
        self.rows = Rows(connection, "renderings", COLUMNS)

    @writes
    def put(self, rendering: Rendering) -> None:
        """Keep a rendering, in place of the version's previous one."""
        stored = self._skills.version(rendering.version_id)
        invariants.check_recallable(stored)
        self._connection.run("DELETE FROM renderings WHERE seq = ?", stored.sequence)
        own: Values = {name: getattr(rendering, name) for name in _OWN}
        own |= {name: float(getattr(rendering, name)) for name in ("unproven", "importance")}
        own["rank"] = float(rendering.reliability)
        own["fresh_at"] = aware(rendering.fresh_at).timestamp()
        self.rows.add({**derived(stored), **own}, seq=stored.sequence)

    @reads
    def get(self, version_ids: Iterable[str]) -> dict[str, Rendering]:
        """Renderings by version id; without versions that are not recallable, or not rendered since they changed."""
        found = {}
        for row in self.rows.named(list(version_ids)):
            own: dict[str, Any] = {name: row[name] for name in _OWN}
            fresh_at = datetime.fromtimestamp(row["fresh_at"], UTC)
            found[row["id"]] = Rendering(version_id=row["id"], reliability=row["rank"], fresh_at=fresh_at, **own)
        return found

    @reads
    def missing(self) -> list[str]:
        """Ids of recallable versions that wait to be rendered, oldest first."""
        statuses = ", ".join("?" * len(RECALLABLE))
        sql = (
            f"SELECT id FROM versions WHERE seq IN (SELECT seq FROM versions WHERE status IN ({statuses}) "
            "EXCEPT SELECT seq FROM renderings) ORDER BY seq"
        )
        found = [row[0] for row in self._connection.run(sql, *map(str, RECALLABLE))]
        return [each for each in found if self._skills.version(each).status in RECALLABLE]

    @reads
    def norms(self, scope: Scope, *, limit: int = 20, named: int = 0) -> list[Hit]:
        """Rendered norms that may be seen from a scope, the most reliable first, then the freshest.

        Beyond `limit`, so many more are `named`: they come without their words.
        """
        # The first condition repeats that of the partial index on norms and preferences, which SQLite uses only then.
        sql = (
            "SELECT seq, scope FROM renderings WHERE kind IN ('norm', 'preference') AND kind = 'norm' "
            "ORDER BY rank DESC, fresh_at DESC, id LIMIT ?"
        )
        wanted, asked = limit + named, str(scope)
        few = self._connection.run(sql, wanted * _SIEVED)
        numbers = [seq for seq, kept in few if reaches(kept, asked)]
        if len(numbers) < wanted and len(few) == wanted * _SIEVED:  # too many of them belong elsewhere
            numbers = [seq for seq, kept in self._connection.run(sql, -1) if reaches(kept, asked)]
        more = self._skills.versions_in_rows(numbers[limit:wanted])
        hits = [*self._skills.hits(numbers[:limit]), *(Hit(stored=stored) for stored in more)]
        return [hit for hit in hits if hit.stored.status in RECALLABLE]

    @reads
    def narrower_namesakes(self, found: Iterable[Hit], scope: Scope) -> list[Hit]:
        """Rendered skills of the same kinds and names as these hits that are kept at narrower scopes."""
        keys = ((str(h.stored.skill.kind), h.stored.version.name, str(h.stored.skill.scope)) for h in found)
        hits = self._skills.hits(narrower_namesakes(self._connection.run, keys, scope=str(scope)))
        return [hit for hit in hits if hit.stored.status in RECALLABLE]

    def check(self, row: Values) -> None:
        """Raise unless the row renders a recallable version and repeats what that version says."""
        version = self._skills.versions.find(row["id"])
        if version is None:
            raise self.rows.damage(row["id"], "version_missing")
        stored = self._skills.stored(version)
        if version["status"] not in RECALLABLE or stored.sequence != row["seq"]:
            raise self.rows.damage(row["id"], "not_recallable")
        if any(row[column] != value for column, value in derived(stored).items()):
            raise self.rows.damage(row["id"], "wrong_rendering")


def derived(stored: StoredVersion) -> Values:
    """What a rendering repeats of its version, so that a hook reads no other row."""
    content = stored.version.content
    return {
        "id": stored.version.id,
        "skill_id": stored.skill.id,
        "kind": str(content.kind),
        "name": clean(content.name),
        "description": clean(content.description),
        "scope": clean(str(stored.skill.scope)),
        "signature": clean(content.signature),
        "subject": _forms([*content.tags, content.signature]),
        "examples": "\n".join(_forms([example]) for example in content.example_queries),
        "conditions": json.dumps([[condition.text, condition.check] for condition in content.preconditions]),
    }


def _forms(texts: Iterable[str]) -> str:
    return " ".join(stored_form(term) for text in texts for term in terms(text))
