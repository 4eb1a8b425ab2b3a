"""The gate's verdicts, persons' approvals, uses of skills, their evidence, remarks: appended once, never changed.

The same record twice is kept once; a different record under a taken id is refused, for one of them would be lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

from tacit.domain.candidate import Verdict
from tacit.domain.evidence import Evidence, Use
from tacit.domain.trust import Approval
from tacit.store import invariants
from tacit.store.audit import Audit, Note, record_path
from tacit.store.connection import Connection
from tacit.store.encoding import aware, clean, stamp
from tacit.store.ledger import Ledger
from tacit.store.remarks import Remarks
from tacit.store.rows import Records, Values
from tacit.store.use_keys import SINCE, UseKeys

T = TypeVar("T")
VERDICTS, APPROVALS, USES, EVIDENCE, VERSIONS = "verdicts", "approvals", "uses", "evidence", "versions"


class Outcomes:
    """The tables `verdicts`, `approvals`, `uses` and `evidence`; `remarks`, `ledger` and `keys` know their own."""

    def __init__(self, connection: Connection, audit: Audit, *, schema: int = SINCE) -> None:
        self._connection = connection
        self._audit = audit
        self.verdicts = Records(
            connection, VERDICTS, kind=Verdict, derive=_of_verdict, columns=("id", "version_id", "decision")
        )
        self.approvals = Records(
            connection, APPROVALS, kind=Approval, derive=_of_approval, columns=("id", "version_id", "at")
        )
        self.uses = Records(connection, USES, kind=Use, derive=_of_use, columns=("id",))
        self.evidence = Records(
            connection, EVIDENCE, kind=Evidence, derive=_of_evidence, columns=("id", "version_id", "at", "grade")
        )
        self.keys = UseKeys(connection, self.uses, schema=schema)
        self.remarks = Remarks(connection, audit)
        self.ledger = Ledger(connection, audit)

    def add_verdict(self, verdict: Verdict) -> None:
        """Keep the gate's answer."""
        note = Note(
            action=f"verdict {verdict.decision}",
            subject=invariants.verdict_subject(verdict),
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

    def add_approval(self, approval: Approval) -> None:
        """Keep a person's yes to the content that a known version has."""
        invariants.check_approval(approval, content_hash=self._hash_of(approval.version_id))
        note = Note(
            action="approval",
            subject=approval.version_id,
            record=record_path(APPROVALS, approval.version_id, approval.id),
            actor=approval.by,
            at=aware(approval.at),
        )
        self._append(self.approvals, approval, note)

    def list_approvals(self, version_id: str) -> list[Approval]:
        """All approvals of a known version, oldest first."""
        self._hash_of(version_id)
        rows = [self.approvals.at(seq) for seq in self.approvals.numbers("version_id = ?", version_id)]
        self._audit.check_complete(APPROVALS, version_id, found={owned_path(APPROVALS, row) for row in rows})
        return [self.approvals.value(row) for row in rows]

    def add_use(self, use: Use) -> None:
        """Keep what was shown."""
        path = record_path(USES, use.id)
        note = Note(action="use", subject=use.id, record=path, actor=use.surface, at=aware(use.at))
        seq = self.uses.next_seq()
        if self._append(self.uses, use, note):
            self.keys.add(seq, use)

    def use(self, use_id: str) -> Use:
        """Fetch one use."""
        row = self.uses.find(use_id)
        if row is None:
            raise self._audit.absent(USES, use_id, noun="use")
        return self.uses.value(row)

    def add_evidence(self, evidence: Evidence) -> bool:
        """Keep a result of a known version; False if this very one is known."""
        self._hash_of(evidence.version_id)
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

    def _hash_of(self, version_id: str) -> str:
        found = self._connection.single("SELECT hash FROM versions WHERE id = ?", version_id)
        if found is None:
            raise self._audit.absent(VERSIONS, version_id, noun="version")
        return str(found)

    def _append(self, records: Records[T], value: T, note: Note) -> bool:
        columns = records.columns_of(value)
        known = records.find(columns["id"])
        if known is None:
            self._audit.append(note, digest=records.add(columns)["seal"])
        elif known["record"] != columns["record"]:
            raise invariants.same_id(type(value).__name__.lower(), columns["id"])
        return known is None


def owned_path(table: str, row: Values) -> str:
    """The chain's name for a row that belongs to a version."""
    return record_path(table, row["version_id"], row["id"])


def _of_verdict(verdict: Verdict) -> Values:
    return {"id": clean(verdict.id), "version_id": clean(verdict.version_id), "decision": str(verdict.decision)}


def _of_approval(approval: Approval) -> Values:
    return {"id": clean(approval.id), "version_id": clean(approval.version_id), "at": stamp(approval.at)}


def _of_use(use: Use) -> Values:
    return {"id": clean(use.id)}


def _of_evidence(evidence: Evidence) -> Values:
    return {
        "id": clean(evidence.id),
        "version_id": clean(evidence.version_id),
        "at": stamp(evidence.at),
        "grade": str(evidence.grade),
    }
