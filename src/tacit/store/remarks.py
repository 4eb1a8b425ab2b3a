"""Remarks on skills and versions: appended once, never changed, each a link of the chain under its subject.

What a remark means, and which of several holds, is its readers' business.
"""

from __future__ import annotations

import json

from tacit.domain.remark import About, Remark
from tacit.store import invariants
from tacit.store.audit import Audit, Note, record_path
from tacit.store.connection import Connection, Damaged
from tacit.store.encoding import aware, clean, stamp
from tacit.store.rows import Records, Values

TABLE = "remarks"
SUBJECTS = ("versions", "skills")
"""The tables of what can be remarked on."""


class Remarks:
    """The table `remarks`."""

    def __init__(self, connection: Connection, audit: Audit) -> None:
        self._connection = connection
        self._audit = audit
        self.rows = Records(connection, TABLE, kind=Remark, derive=_of_remark, columns=("id", "subject", "about", "at"))

    def add(self, remark: Remark) -> bool:
        """Keep what was noted of a known subject; False if this very remark is known."""
        aware(remark.at)
        self._check_subject(remark.subject)
        columns = self.rows.columns_of(remark)
        known = self.rows.find(columns["id"])
        if known is not None:
            if known["record"] != columns["record"]:
                raise invariants.same_id("remark", remark.id)
            return False
        note = Note(
            action=invariants.remark_action(remark),
            subject=remark.subject,
            record=record_path(TABLE, remark.subject, remark.id),
            actor=remark.by,
            at=remark.at,
        )
        self._audit.append(note, digest=self.rows.add(columns)["seal"])
        return True

    def list(self, *subjects: str, about: About | None) -> list[Remark]:
        """What was noted, in order of arrival; of what was named all of it is there, or it raises."""
        if subjects:
            wanted = json.dumps([clean(subject) for subject in subjects])
            rows = self.rows.among(self.rows.numbers("subject IN (SELECT value FROM json_each(?))", wanted))
            self._audit.check_complete(TABLE, *subjects, found={remark_path(row) for row in rows})
        elif about is not None:
            rows = self.rows.among(self.rows.numbers("about = ?", str(about)))
        else:
            rows = self.rows.among(self.rows.all_numbers())
        found = [self.rows.value(row) for row in rows]
        return [remark for remark in found if about in (None, remark.about)]

    def check(self, row: Values) -> None:
        """Raise unless the row reads as its columns say, and tells of something that is there."""
        subject = self.rows.value(row).subject
        if not self._is_known(subject):
            raise self.rows.damage(row["id"], "tells of something that is not there")

    def _check_subject(self, subject: str) -> None:
        if self._is_known(subject):
            return
        errors = [self._audit.absent(table, subject, noun="skill or version") for table in SUBJECTS]
        raise next((error for error in errors if isinstance(error, Damaged)), errors[0])

    def _is_known(self, subject: str) -> bool:
        found = (self._connection.single(f"SELECT 1 FROM {table} WHERE id = ?", clean(subject)) for table in SUBJECTS)
        return any(found)


def remark_path(row: Values) -> str:
    """The chain's name for a remark."""
    return record_path(TABLE, row["subject"], row["id"])


def _of_remark(remark: Remark) -> Values:
    return {
        "id": clean(remark.id),
        "subject": clean(remark.subject),
        "about": str(remark.about),
        "at": stamp(remark.at),
    }
