"""Skills, their immutable versions and each version's transitions.

A version's row has its present status and `life`, a running hash over its transitions, so that one link of the audit chain per
change covers both tables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence

from tacit.config.signers import Signers, approves
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.stored import Hit, StoredVersion
from tacit.domain.trust import Approval
from tacit.store import invariants
from tacit.store.audit import Audit, AuditNote, identity_of, record_path
from tacit.store.connection import Connection, StoreDamaged, reads, writes
from tacit.store.encoding import clean, unpack
from tacit.store.lexical_search import VERSION_FIELDS, VERSION_WEIGHTS, terms_in, version_words
from tacit.store.rows import Records, Values, same_names
from tacit.store.word_index import WordIndex

SKILLS, VERSIONS, TRANSITIONS = "skills", "versions", "transitions"
_CONTENT_COLUMNS = {"kind": "content.kind", "name": "content.name"}
_VERSION_COLUMNS = {**same_names("id", "skill_id", "hash"), **_CONTENT_COLUMNS, "status": None, "life": None}
_TRANSITION_COLUMNS = {**same_names("id", "version_id"), "status": "after"}
_CONTENT, _AFTER_CONTENT = b'{"content":', b',"created_at":'
_CUES = b'"cues":[{'
_NEVER = (-1, -1, -1)
_STATUSES = frozenset(map(str, Status))
_KINDS = frozenset(map(str, Kind))


class Skills:
    """The tables `skills`, `versions` and `transitions`, and the index over versions."""

    def __init__(self, connection: Connection, audit: Audit, tombstone: invariants.FindTombstone) -> None:
        self._connection = connection
        self._audit = audit
        self._tombstone = tombstone
        self.skills = Records(connection, SKILLS, kind=Skill, columns=same_names("id", "kind"))
        self.versions = Records(connection, VERSIONS, kind=SkillVersion, columns=_VERSION_COLUMNS)
        self.transitions = Records(connection, TRANSITIONS, kind=Transition, columns=_TRANSITION_COLUMNS)
        self.signers: Signers | None = None
        """Whose signatures make a version recallable; None: none is needed (the policy `open`, or no person's store)."""
        self._signed: set[str] = set()
        """Versions whose signed approval was verified."""
        self.written = 0
        """How often versions were changed through this object, or by a purge."""
        self._filters_checked = self._names_checked = _NEVER
        self._census, self._recallable = (0, 0), 0
        """As of that check: the number of versions, the sum of their numbers, and how many are recallable."""
        self.composites = Composites(connection, self.versions)
        self.index = WordIndex(
            connection, "version", rows=self.versions, fields=VERSION_FIELDS, weights=VERSION_WEIGHTS,
            words_of=lambda row: version_words(self.stored(row).version.content),
        )  # fmt: skip

    @writes
    def add(self, skill: Skill, version: SkillVersion, transition: Transition) -> bool:
        """Keep a version with its first transition (and its skill, if new); False if this exact version is known."""
        invariants.check_content_not_purged(version, self._tombstone)
        invariants.check_first_transition(skill, version, transition)
        if self.versions.find(version.id):
            return False
        known = self.skills.find(skill.id)
        if known is None:
            row = self.skills.add(self.skills.columns_of(skill))
            note = AuditNote(action="skill", subject=skill.id, actor=transition.by, at=transition.at)
            self._audit.append(note, record=record_path(SKILLS, skill.id), digest=row["seal"])
        elif self.skills.value(known).kind is not skill.kind:
            raise invariants.id_is_taken("skill", skill.id)
        columns = self.versions.columns_of(version)
        step = self._transition_columns_of(transition)
        life = next_life("", step["record"])
        self.written += 1
        row = self.versions.add({**columns, "status": str(transition.after), "life": life})
        self.transitions.add(step)
        self.index.add(row)
        note = AuditNote(
            action=f"version {transition.after}", subject=version.id, actor=transition.by, at=transition.at
        )
        self._audit.append(note, record=version_path(row), digest=row["seal"])
        if transition.after in RECALLABLE:
            self.composites.unrender([version.content.name])
        return True

    def change(self, transition: Transition) -> None:
        """Append a transition and change the version's status."""
        row = self._version_row(transition.version_id)
        stored = self.stored(row)
        invariants.check_step(transition, status=stored.status, content_hash=stored.version.hash)
        step = self.transitions.add(self._transition_columns_of(transition))
        life = next_life(row["life"], step["record"])
        self.written += 1
        changed = self.versions.change(row, status=str(transition.after), life=life)
        action = f"transition {transition.after}"
        note = AuditNote(action=action, subject=row["id"], actor=transition.by, at=transition.at)
        self._audit.append(note, record=version_path(changed), digest=changed["seal"])
        if (stored.status in RECALLABLE) != (transition.after in RECALLABLE):
            self.composites.unrender([stored.version.name])

    @reads
    def version(self, version_id: str) -> StoredVersion:
        """Fetch one version."""
        return self.stored(self._version_row(version_id))

    @reads
    def of_skill(self, skill_id: str) -> list[StoredVersion]:
        """All versions of a skill, oldest first."""
        self._audit.existing(self.skills, skill_id, noun="skill")
        rows = [self.versions.at(seq) for seq in self.versions.numbers("skill_id = ?", skill_id)]
        self._audit.check_complete(VERSIONS, skill_id, found={version_path(row) for row in rows})
        return [self.stored(row) for row in rows]

    @reads
    def transitions_of(self, version_id: str) -> list[Transition]:
        """All transitions of a version, oldest first."""
        return self.checked_transitions(self._version_row(version_id))

    def checked_transitions(self, row: Values) -> list[Transition]:
        """The transitions of a version's row; raises unless they fit its status and running hash."""
        life, found = "", []
        for seq in self.transitions.numbers("version_id = ?", row["id"]):
            step = self.transitions.at(seq)
            life = next_life(life, step["record"])
            found.append(self.transitions.value(step))
        if life != row["life"] or not found or found[-1].after != row["status"]:
            raise self.versions.damage(row["id"], "wrong_transitions")
        return found

    def check(self, row: Values) -> None:
        """Raise unless a version's row reads back with its transitions, and its words are indexed."""
        self.index.check_words(row)
        self.checked_transitions(row)

    @reads
    def catalogue(
        self, *, statuses: Collection[Status] | None = None, kinds: Collection[Kind] | None = None, name: str = ""
    ) -> list[StoredVersion]:
        """All versions in these statuses, by name and then arrival."""
        self.count_recallable()
        condition, values = _filters(statuses, kinds)
        sql = f"SELECT seq FROM versions INDEXED BY versions_by_status WHERE {condition}"
        if name:
            stamp = self._stamp()
            if stamp != self._names_checked:  # the index of names may have lost or gained rows
                census = "SELECT count(*), coalesce(sum(seq), 0) FROM versions INDEXED BY versions_by_name"
                if self._connection.run(census)[0] != self._census:
                    raise StoreDamaged(self._connection.path, "the names of versions", "row_count")
                self._names_checked = stamp
            sql, values = "SELECT seq FROM versions INDEXED BY versions_by_name WHERE name = ?", [name]
        rows = self.versions.among([seq for (seq,) in self._connection.run(sql, *values)])
        for row in rows:
            if row["name"] != clean(name) if name else not _passes(row, statuses, kinds):
                raise self.versions.damage(row["id"], "wrong_index")
        chosen = [row for row in rows if _passes(row, statuses, kinds)]
        found = [self.stored(row) for row in sorted(chosen, key=lambda row: (row["name"], row["seq"]))]
        return [each for each in found if statuses is None or each.status in statuses]

    @reads
    def newest(
        self,
        *,
        statuses: Collection[Status] | None = None,
        kinds: Collection[Kind] | None = None,
        limit: int = 50,
        skip: int = 0,
        counted: bool = True,
    ) -> tuple[list[StoredVersion], int]:
        """One page of the newest version of each skill, if its row has such a status and kind; and how many there are.

        Without `counted` the number is not looked for. The newest come first. A version whose approval nobody signed counts
        as what its row says, and reads as waiting.
        """
        single = self._connection.single
        condition, values = _filters(statuses, kinds)
        matching = single(f"SELECT count(*) FROM versions INDEXED BY versions_by_status WHERE {condition}", *values)
        later = "SELECT 1 FROM versions AS later WHERE later.skill_id = versions.skill_id AND later.seq > versions.seq"
        replaced = 0
        if counted and single("SELECT count(*) FROM versions") > single("SELECT count(*) FROM skills"):
            several = "skill_id IN (SELECT skill_id FROM versions GROUP BY skill_id HAVING count(*) > 1)"
            sql = f"SELECT count(*) FROM versions WHERE {several} AND {condition} AND EXISTS ({later})"
            replaced = single(sql, *values)
        # Where many match, the newest rows are soon enough; where few do, the index finds them.
        source = (
            "NOT INDEXED"
            if matching * 8 > (single("SELECT max(seq) FROM versions") or 0)
            else "INDEXED BY versions_by_status"
        )
        sql = f"SELECT seq FROM versions {source} WHERE {condition} AND NOT EXISTS ({later}) ORDER BY seq DESC"
        rows = self._connection.run(f"{sql} LIMIT ? OFFSET ?", *values, limit, skip)
        return self.versions_in_rows([seq for (seq,) in rows]), matching - replaced

    @reads
    def search(
        self,
        terms: Sequence[str],
        *,
        statuses: Collection[Status],
        kinds: Collection[Kind] | None = None,
        limit: int = 50,
        cued_within: int = 0,
    ) -> list[Hit]:
        """Find skills by the words of name, description and body, best first: of each its newest version in `statuses`.

        Beyond `limit` those with cues follow, as far as they are among the first `cued_within`.
        """
        condition, values = _filters(statuses, kinds)
        newest = (
            f"{{row}} = (SELECT max(seq) FROM versions WHERE {condition} AND skill_id = "
            "(SELECT skill_id FROM versions WHERE seq = {row}))"
        )
        limit, of_recallable = max(0, limit), RECALLABLE.issuperset(statuses)
        recallable, every = self.count_recallable(), self._census[0]  # counted in any case: it notices a damaged index
        counted = self.index.frequencies(terms, recallable=of_recallable, total=recallable if of_recallable else every)
        found = self.index.search(counted, limit=max(limit, cued_within), condition=newest, values=values)
        if len(found) > limit:
            # Quotation marks inside a text are escaped, so no text matches the pattern.
            sql = "SELECT seq FROM versions WHERE seq IN (SELECT value FROM json_each(?)) AND instr(record, ?)"
            others = json.dumps([match.seq for match in found[limit:]])
            cued = {row[0] for row in self._connection.run(sql, others, _CUES)}
            found = [match for at, match in enumerate(found) if at < limit or match.seq in cued]
        versions = self.versions_in_rows([match.seq for match in found])
        return [
            Hit(stored=stored, lexical=match.score, words=match.words)
            for match, stored in zip(found, versions, strict=True)
            if stored.status in statuses
        ]

    @reads
    def document_frequency(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many recallable versions each term occurs, and how many of them there are."""
        return self.index.frequencies(terms, recallable=True, total=self.count_recallable())

    def hits(self, numbers: Sequence[int]) -> list[Hit]:
        """The versions in these rows, in that order, with their words."""
        rows = zip(self.versions_in_rows(numbers), self.index.words.among(numbers), strict=True)
        return [
            Hit(stored=stored, words=tuple(terms_in(row[field]) for field in VERSION_FIELDS)) for stored, row in rows
        ]

    def versions_in_rows(self, numbers: Sequence[int]) -> list[StoredVersion]:
        """Read the versions in these rows, in that order."""
        rows = self.versions.among(numbers)
        skills = {row["id"]: self.skills.value(row) for row in self.skills.named({row["skill_id"] for row in rows})}
        return [self.stored(row, skill=skills.get(row["skill_id"])) for row in rows]

    def stored(self, row: Values, *, skill: Skill | None = None) -> StoredVersion:
        """Read the version in a row, of its skill if that was read already, and check the hash of its content."""
        version = self.versions.value(row)
        if not _has_hash(version, row["record"]) or version.id != version.content_id():
            raise self.versions.damage(row["id"], "wrong_content")
        if skill is None:
            skill = self.skills.value(self._audit.existing(self.skills, version.skill_id, noun="skill"))
        status = Status(row["status"])
        if status in RECALLABLE and not self.is_approved(skill, version):
            status = Status.CANDIDATE  # whoever can write the file may have changed the row
        return StoredVersion(skill=skill, version=version, status=status, sequence=row["seq"])

    def require_signatures(self, signers: Signers | None) -> None:
        """Read as recallable only what one of these signers approved; with None all that the rows say."""
        self.signers = signers
        self._signed.clear()

    def is_approved(self, skill: Skill, version: SkillVersion) -> bool:
        """Whether a person signed an approval of exactly this content, for this scope and store."""
        if self.signers is None or version.id in self._signed:
            return True
        sql = "SELECT record FROM approvals WHERE version_id = ? ORDER BY seq DESC"
        if any(
            self.counts(unpack(record, Approval), skill, version) for (record,) in self._connection.run(sql, version.id)
        ):
            self._signed.add(version.id)
            return True
        if not self.signers.believes_earlier(self._connection.path):
            return False
        known = "SELECT 1 FROM approved_before WHERE id = ?"
        return bool(self._connection.run(known, version.id))

    def counts(self, approval: Approval, skill: Skill, version: SkillVersion) -> bool:
        """Whether an approval is a signer's, of exactly this content, for this scope and store. Any is where none is needed."""
        if self.signers is None:
            return True
        body = self.signers.verified(approval.signed) if approval.signed else None
        return bool(
            body
            and (body.get("hash"), body.get("shown")) == (version.hash, approval.shown)
            and approves(
                body, kind=skill.kind, name=version.name, scope=str(skill.scope), store=identity_of(self._connection)
            )
        )

    def count_recallable(self) -> int:
        """How many versions are recallable; raises if the index by status and kind has lost or gained rows.

        The index is read once per state of the store.
        """
        stamp = self._stamp()
        if stamp == self._filters_checked:
            return self._recallable
        count, total, recallable = 0, 0, 0
        for status, kind, rows, numbers in self._connection.run(
            "SELECT status, kind, count(*), sum(seq) FROM versions INDEXED BY versions_by_status GROUP BY status, kind"
        ):
            if status not in _STATUSES or kind not in _KINDS:
                asked = "SELECT min(seq) FROM versions INDEXED BY versions_by_status WHERE status = ? AND kind = ?"
                first = self._connection.single(asked, status, kind)
                self.versions.at(first)
                raise self.versions.damage(first, "unknown_value")
            count, total = count + rows, total + numbers
            recallable += rows if status in RECALLABLE else 0
        self.versions.check_census(count, total)
        self._filters_checked, self._census, self._recallable = stamp, (count, total), recallable
        return recallable

    def _stamp(self) -> tuple[int, int, int]:
        """Changes with every change of a version, and not with other writes, such as uses."""
        others, _, undone = self._connection.stamp()
        return others, self.written, undone

    def _transition_columns_of(self, transition: Transition) -> Values:
        if self.transitions.find(transition.id):
            raise invariants.id_is_taken("transition", transition.id)
        return self.transitions.columns_of(transition)

    def _version_row(self, version_id: str) -> Values:
        return self._audit.existing(self.versions, version_id, noun="version")


def version_path(row: Values) -> str:
    """The chain's name for a version's row."""
    return record_path(VERSIONS, row["skill_id"], row["id"])


def next_life(life: str, record: bytes) -> str:
    """Extend the running hash of a version's transitions by one."""
    return hashlib.sha256(life.encode() + record).hexdigest()


def _has_hash(version: SkillVersion, record: bytes) -> bool:
    """Whether the content has the hash that the version names.

    A canonical record begins with the content, whose bytes are those that were hashed, so it is not encoded again.
    """
    end = record.rfind(_AFTER_CONTENT)
    if record.startswith(_CONTENT) and record.find(_CONTENT[1:], end) < 0:
        found = hashlib.sha256(record[len(_CONTENT) : end]).hexdigest()
        if version.hash == f"sha256:{found}":
            return True
    return version.hash == version.content.hash()


def _passes(row: Values, statuses: Collection[Status] | None, kinds: Collection[Kind] | None) -> bool:
    return (statuses is None or row["status"] in statuses) and (kinds is None or row["kind"] in kinds)


def _filters(statuses: Collection[Status] | None, kinds: Collection[Kind] | None) -> tuple[str, list[str]]:
    conditions, values = ["TRUE"], list[str]()
    for column, wanted in (("status", statuses), ("kind", kinds)):
        if wanted is not None:
            conditions.append(f"{column} IN ({', '.join('?' * len(wanted))})")
            values.extend(str(value) for value in wanted)
    return " AND ".join(conditions), values


_PARTS = b'"sub_skills":["'
"""Quotation marks inside a text are escaped, so no text matches it."""


class Composites:
    """Knows which versions name a skill as their part: their renderings repeat its text and end when it changes."""

    def __init__(self, connection: Connection, versions: Records[SkillVersion]) -> None:
        self._connection = connection
        self._versions = versions
        self._naming: dict[str, set[int]] = {}
        self._seen = (-1, -1, 0)

    def unrender(self, names: Iterable[str]) -> None:
        """Delete the renderings of all versions that have one of these parts."""
        self._read_new_versions()
        numbers = sorted({seq for name in names for seq in self._naming.get(name, ())})
        if numbers:
            sql = "DELETE FROM renderings WHERE seq IN (SELECT value FROM json_each(?))"
            self._connection.run(sql, json.dumps(numbers))

    def forget(self) -> None:
        """Read all versions again next time: rows were removed, and their numbers may be reused."""
        self._naming, self._seen = {}, (-1, -1, 0)

    def _read_new_versions(self) -> None:
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
