"""The gate's verdicts, uses of skills and their evidence: appended once, never changed.

The same record twice is kept once; a different record under a taken id is refused, for one of them would be lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

from tacit.domain.candidate import Verdict
from tacit.domain.evidence import Evidence, Use
from tacit.memory import laws
from tacit.memory.records import aware, clean, stamp
from tacit.memory.sqlite.audit import Audit, Note, record_path
from tacit.memory.sqlite.connection import Connection
from tacit.memory.sqlite.rows import Records, Values

T = TypeVar("T")
VERDICTS, USES, EVIDENCE, VERSIONS = "verdicts", "uses", "evidence", "versions"


class Outcomes:
    """The tables `verdicts`, `uses` and `evidence`."""

    def __init__(self, connection: Connection, audit: Audit) -> None:
        self._connection = connection
        self._audit = audit
        self.verdicts = Records(
            connection, VERDICTS, kind=Verdict, derive=_of_verdict, columns=("id", "version_id", "decision")
        )
        self.uses = Records(connection, USES, kind=Use, derive=_of_use, columns=("id",))
        self.evidence = Records(
            connection, EVIDENCE, kind=Evidence, derive=_of_evidence, columns=("id", "version_id", "at", "grade")
        )

    def add_verdict(self, verdict: Verdict) -> None:
        """Keep the gate's answer."""
        note = Note(
            action=f"verdict {verdict.decision}",
            subject=laws.verdict_subject(verdict),
            record=record_path(VERDICTS, verdict.version_id, verdict.id),
            actor=verdict.judge,
            at=aware(verdict.at),
        )
        self._append(self.verdicts, verdict, note)

    def list_verdicts(self, *, trajectory_id: str, version_id: str, limit: int | None) -> list[Verdict]:
        """The gate's answers, newest first."""
        if version_id:
            numbers = self.verdicts.numbers("version_id = ?", version_id, order="seq DESC")
            paths = {owned_path(VERDICTS, self.verdicts.at(seq)) for seq in numbers}
            self._audit.check_complete(VERDICTS, version_id, found=paths)
        else:
            numbers = self.verdicts.all_numbers()[::-1]
        found: list[Verdict] = []
        for seq in numbers:
            if limit is not None and len(found) >= limit:
                break
            verdict = self.verdicts.value(self.verdicts.at(seq))
            if not trajectory_id or trajectory_id in verdict.trajectory_ids:
                found.append(verdict)
        return found

    def add_use(self, use: Use) -> None:
        """Keep what was shown."""
        path = record_path(USES, use.id)
        note = Note(action="use", subject=use.id, record=path, actor=use.surface, at=aware(use.at))
        self._append(self.uses, use, note)

    def use(self, use_id: str) -> Use:
        """Fetch one use."""
        row = self.uses.find(use_id)
        if row is None:
            raise self._audit.absent(USES, use_id, noun="use")
        return self.uses.value(row)

    def add_evidence(self, evidence: Evidence) -> bool:
        """Keep a result of a known version; False if this very one is known."""
        if self._connection.single("SELECT seq FROM versions WHERE id = ?", evidence.version_id) is None:
            raise self._audit.absent(VERSIONS, evidence.version_id, noun="version")
        note = Note(
            action=f"evidence {evidence.outcome} {evidence.grade}",
            subject=evidence.version_id,
            record=record_path(EVIDENCE, evidence.version_id, evidence.id),
            actor=evidence.by,
            at=aware(evidence.at),
        )
        return self._append(self.evidence, evidence, note)

    def by_version(self, version_ids: Iterable[str]) -> dict[str, list[Evidence]]:
        """Results of each version, oldest first; every version asked for has its list."""
        asked = list(dict.fromkeys(version_ids))
        sql = "SELECT seq FROM evidence WHERE version_id IN (SELECT value FROM json_each(?))"
        numbers = {row[0] for row in self._connection.run(sql, json.dumps([*map(clean, asked)]))}
        rows = self.evidence.among(sorted(numbers))
        self._audit.check_complete(EVIDENCE, *asked, found={owned_path(EVIDENCE, row) for row in rows})
        found: dict[str, list[Evidence]] = {clean(version_id): [] for version_id in asked}
        for row in sorted(rows, key=lambda row: (row["at"], row["seq"])):
            found[row["version_id"]].append(self.evidence.value(row))
        return {version_id: found[clean(version_id)] for version_id in asked}

    def _append(self, records: Records[T], value: T, note: Note) -> bool:
        columns = records.columns_of(value)
        known = records.find(columns["id"])
        if known is None:
            self._audit.append(note, digest=records.add(columns)["seal"])
        elif known["record"] != columns["record"]:
            raise laws.same_id(type(value).__name__.lower(), columns["id"])
        return known is None


def owned_path(table: str, row: Values) -> str:
    """The chain's name for a row that belongs to a version."""
    return record_path(table, row["version_id"], row["id"])


def _of_verdict(verdict: Verdict) -> Values:
    return {"id": clean(verdict.id), "version_id": clean(verdict.version_id), "decision": str(verdict.decision)}


def _of_use(use: Use) -> Values:
    return {"id": clean(use.id)}


def _of_evidence(evidence: Evidence) -> Values:
    return {
        "id": clean(evidence.id),
        "version_id": clean(evidence.version_id),
        "at": stamp(evidence.at),
        "grade": str(evidence.grade),
    }
