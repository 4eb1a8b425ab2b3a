"""Checks a whole store: file, schema, seal and hash of each row, indexes and the audit chain. Reports damage, repairs nothing.

Damage never stops it from checking the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tacit.domain.errors import StoreOutage
from tacit.domain.stored import Damage
from tacit.store.audit import GENESIS, AuditEvent, identity_of, is_gone, record_path
from tacit.store.backup import copy_pages
from tacit.store.connection import MEMORY, Connection, StoreDamaged, damage_of
from tacit.store.lexical_search import episode_words, passage_words, version_words
from tacit.store.rows import Rows, Values
from tacit.store.schema import Migration, differences
from tacit.store.skills import version_path
from tacit.store.tables import Tables
from tacit.store.word_index import WordIndex

_QUICK = 50
"""How many messages and links of the chain a quick check reads."""


class Integrity:
    """Checks one store through the same parts that read it."""

    def __init__(self, tables: Tables, migrations: Sequence[Migration]) -> None:
        self._tables = tables
        self._connection = tables.connection
        self._migrations = migrations
        self._seals: dict[str, str] = {}

    def damages(self) -> list[Damage]:
        """All damage, each once."""
        self._seals = {}
        found: dict[Damage, None] = {}
        for step in (self._contents, self._indexes):
            found.update(dict.fromkeys(_reported(step())))
        return list(found)

    def quick_damages(self) -> list[Damage]:
        """Damage of the file's pages, the schema and the end of the chain; rows are not read."""
        return list(dict.fromkeys(_reported(self._quickly())))

    def _quickly(self) -> Iterator[Damage]:
        with self._connection.reading():
            for step in (self._pages, self._schema, self._identity, self._newest):
                yield from _reported(step())

    def _pages(self) -> Iterator[Damage]:
        for (message,) in self._connection.run(f"PRAGMA quick_check({_QUICK})"):
            if message != "ok":
                yield damage_of("the file", "bad_file", detail=message)

    def _newest(self) -> Iterator[Damage]:
        self._tables.audit.entries(None, limit=_QUICK)
        yield from ()

    def _contents(self) -> Iterator[Damage]:
        with self._connection.reading():
            for step in (self._file, self._schema, self._identity, self._rows, self._words, self._blobs, self._chain):
                yield from _reported(step())

    def _file(self) -> Iterator[Damage]:
        for (message,) in self._connection.run("PRAGMA integrity_check(100)"):
            if message != "ok":
                yield damage_of("the file", "bad_file", detail=message)
        for table, row, parent, _ in self._connection.run("PRAGMA foreign_key_check"):
            yield damage_of(f"{table} {row}", "missing_parent", detail=parent)

    def _schema(self) -> Iterator[Damage]:
        lacking, extra = differences(self._connection, self._migrations)
        for each in lacking:
            yield damage_of("the schema", "schema_lacks", detail=str(each))
        for each in extra:
            yield damage_of("the schema", "schema_extra", detail=str(each))

    def _rows(self) -> Iterator[Damage]:
        skills, records, trajectories = self._tables.skills, self._tables.records, self._tables.trajectories
        yield from self._table(skills.skills, skills.skills.value, path=lambda row: record_path("skills", row["id"]))
        yield from self._table(skills.versions, self._check_version, path=version_path)
        yield from self._table(skills.transitions, skills.transitions.value)
        yield from self._table(records.verdicts, records.verdicts.value, path=records.verdicts.path)
        yield from self._table(records.approvals, self._check_approval, path=records.approvals.path)
        yield from self._table(records.tombstones, records.tombstones.value, path=records.tombstones.path)
        yield from self._table(records.backups, records.backups.value, path=records.backups.path)
        yield from self._table(records.uses, records.check_use, path=records.uses.path)
        yield from self._table(records.evidence, records.evidence.value, path=records.evidence.path)
        yield from self._table(records.remarks, records.check_remark, path=records.remarks.path)
        yield from self._table(records.entries, records.entries.value, path=records.entries.path)
        yield from self._table(self._tables.passages.rows, self._check_passage)
        self._seals.update(self._tables.passages.digests())
        yield from self._table(
            trajectories.rows, self._check_trajectory, path=lambda row: record_path("trajectories", row["id"])
        )
        yield from self._table(self._tables.renderings.rows, self._tables.renderings.check)
        yield from self._table(self._tables.vectors.space_rows, self._tables.vectors.check_space)
        yield from self._table(self._tables.vectors.rows, self._tables.vectors.check)
        yield from self._table(self._tables.vectors.blocks.rows, self._tables.vectors.blocks.check)
        yield from self._table(self._tables.vectors.sketches.rows, self._tables.vectors.sketches.check)
        yield from self._table(self._tables.bookmarks.rows, self._tables.bookmarks.rows.value)
        yield from self._table(self._tables.outlines.rows, self._tables.outlines.rows.value)
        yield from self._table(self._tables.notes.rows, self._tables.notes.rows.value)

    def _identity(self) -> Iterator[Damage]:
        identity_of(self._connection)
        yield from ()

    def _table(
        self, rows: Rows, check: Callable[[Values], object], *, path: Callable[[Values], str] | None = None
    ) -> Iterator[Damage]:
        for seq in rows.numbers():
            try:
                row = rows.at(seq)
                if path:
                    self._seals[path(row)] = row["seal"]
                check(row)
            except StoreOutage as error:
                yield _damage(error)

    def _check_version(self, row: Values) -> None:
        stored = self._tables.skills.stored(row)
        self._tables.skills.checked_transitions(row)
        self._check_words(
            self._tables.skills.index,
            row["seq"],
            self._tables.skills.index.texts(version_words(stored.version.content)),
        )

    def _check_passage(self, row: Values) -> None:
        passage, index = self._tables.passages.rows.value(row), self._tables.passages.index
        self._tables.passages.check(row)
        self._check_words(index, row["seq"], index.texts(passage_words(passage)))

    def _check_approval(self, row: Values) -> None:
        approval = self._tables.records.approvals.value(row)
        if approval.content_hash != self._tables.skills.version(approval.version_id).version.hash:
            raise self._tables.records.approvals.damage(row["id"], "wrong_content_approved")

    def _check_trajectory(self, row: Values) -> None:
        episode = self._tables.trajectories.episode(row)
        index = self._tables.trajectories.index
        self._check_words(index, row["seq"], index.texts(episode_words(episode)))
        if not episode.pruned:
            self._tables.trajectories.content(row)

    def _check_words(self, index: WordIndex, seq: int, expected: dict[str, str]) -> None:
        row = index.words.at(seq)
        if any(row[field] != text for field, text in expected.items()):
            raise index.words.damage(seq, "wrong_words")

    def _blobs(self) -> Iterator[Damage]:
        used = {row[0] for row in self._connection.run("SELECT blob FROM trajectories WHERE NOT pruned")}
        for (name,) in self._connection.run("SELECT hash FROM blobs ORDER BY hash"):
            if name not in used:
                yield damage_of(f"blobs {name}", "no_trajectory")

    def _words(self) -> Iterator[Damage]:
        pairs: tuple[tuple[WordIndex, Rows], ...] = (
            (self._tables.skills.index, self._tables.skills.versions),
            (self._tables.trajectories.index, self._tables.trajectories.rows),
            (self._tables.passages.index, self._tables.passages.rows),
        )
        for index, rows in pairs:
            for seq in sorted(set(index.words.numbers()) - set(rows.numbers())):
                yield damage_of(f"{index.words.table} {seq}", "missing_parent")
            for term in index.miscounted_terms():
                yield damage_of(f"{index.words.table} index", "wrong_index_terms", detail=repr(term))

    def _indexes(self) -> Iterator[Damage]:
        with _writable(self._connection) as connection:
            tables = Tables(connection)
            for index in (tables.skills.index, tables.trajectories.index, tables.passages.index):
                try:
                    with connection.writing():  # SQLite runs this check as a write, though it writes nothing
                        index.check()
                except StoreOutage as error:
                    yield _damage(error)

    def _chain(self) -> Iterator[Damage]:
        latest: dict[str, AuditEvent] = {}
        before: str | None = (
            GENESIS  # None: the previous link is unreadable, so the next one cannot be compared with it
        )
        for place, (seq,) in enumerate(self._connection.run("SELECT seq FROM audit ORDER BY seq"), start=1):
            try:
                found = self._tables.audit.at(seq)
            except StoreOutage as error:
                yield _damage(error)
                before = None
                continue
            if seq != place or before not in (None, found.previous):
                yield damage_of(f"audit {seq}", "bad_chain_order")
            before = found.hash
            latest[found.event.record] = found.event
        yield from self._compare(latest)

    def _compare(self, latest: dict[str, AuditEvent]) -> Iterator[Damage]:
        for record, event in latest.items():
            seal = self._seals.get(record)
            if seal is None and not is_gone(event.action):
                yield damage_of(record, "missing_audited")
            elif seal is not None and seal != event.digest:
                yield damage_of(record, "changed_since_audit")
        for record in sorted(self._seals.keys() - latest.keys()):
            yield damage_of(record, "not_audited")


@contextmanager
def _writable(connection: Connection) -> Iterator[Connection]:
    """The connection itself, or a copy in memory of a file that may only be read."""
    if not connection.read_only:
        yield connection
        return
    copy = Connection(MEMORY)
    try:
        with connection.outside("a check"):
            copy_pages(connection.raw, copy.raw)
        yield copy
    finally:
        copy.close()


def _reported(damages: Iterator[Damage]) -> Iterator[Damage]:
    """The damage that a check finds, and the damage that stops it."""
    try:
        yield from damages
    except StoreOutage as error:
        yield _damage(error)


def _damage(error: StoreOutage) -> Damage:
    if error.retryable:  # a locked store is not damaged
        raise error
    if isinstance(error, StoreDamaged):
        return damage_of(error.subject, error.code, detail=error.detail)
    return Damage(subject="the file", problem=error.message, code=error.code)
