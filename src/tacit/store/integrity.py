"""Checks a whole store: file, schema, seal and hash of each row, indexes and the audit chain. Reports damage, repairs nothing.

Damage never stops it from checking the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from tacit.domain.errors import StoreOutage
from tacit.domain.stored import Damage
from tacit.store.audit import GENESIS, AuditLink, identity_of, is_gone, record_path
from tacit.store.backup import copy_pages
from tacit.store.connection import MEMORY, Connection, StoreDamaged, damage_of
from tacit.store.rows import Rows, Values
from tacit.store.schema import Migration, differences
from tacit.store.skills import version_path
from tacit.store.tables import Tables

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
        steps = (self._file, self._schema, self._rows, self._words, self._blobs, self._chain)
        return list(dict.fromkeys([*_reported(self._in_snapshot(steps)), *_reported(self._indexes())]))

    def quick_damages(self) -> list[Damage]:
        """Damage of the file's pages, the schema and the end of the chain; rows are not read."""
        steps = (lambda: self._pages(f"quick_check({_QUICK})"), self._schema, self._newest)
        return list(dict.fromkeys(_reported(self._in_snapshot(steps))))

    def _in_snapshot(self, steps: Iterable[Callable[[], Iterator[Damage]]]) -> Iterator[Damage]:
        with self._connection.reading():
            for step in steps:
                yield from _reported(step())

    def _pages(self, pragma: str) -> Iterator[Damage]:
        for (message,) in self._connection.run(f"PRAGMA {pragma}"):
            if message != "ok":
                yield damage_of("the file", "bad_file", detail=message)

    def _newest(self) -> Iterator[Damage]:
        self._tables.audit.entries(None, limit=_QUICK)
        yield from ()

    def _file(self) -> Iterator[Damage]:
        yield from self._pages("integrity_check(100)")
        for table, row, parent, _ in self._connection.run("PRAGMA foreign_key_check"):
            yield damage_of(f"{table} {row}", "missing_parent", detail=parent)

    def _schema(self) -> Iterator[Damage]:
        lacking, extra = differences(self._connection, self._migrations)
        for each in lacking:
            yield damage_of("the schema", "schema_lacks", detail=str(each))
        for each in extra:
            yield damage_of("the schema", "schema_extra", detail=str(each))
        identity_of(self._connection)  # raises if it is damaged

    def _rows(self) -> Iterator[Damage]:
        tables, records = self._tables, self._tables.records
        skills, trajectories, vectors = tables.skills, tables.trajectories, tables.vectors
        yield from self._table(skills.skills, skills.skills.value, path=lambda row: record_path("skills", row["id"]))
        yield from self._table(skills.versions, skills.check, path=version_path)
        yield from self._table(skills.transitions, skills.transitions.value)
        for appended, check in (
            (records.verdicts, records.verdicts.value),
            (records.approvals, records.check_approval),
            (records.tombstones, records.tombstones.value),
            (records.backups, records.backups.value),
            (records.uses, records.check_use),
            (records.evidence, records.evidence.value),
            (records.remarks, records.check_remark),
            (records.entries, records.entries.value),
        ):
            yield from self._table(appended, check, path=appended.path)
        yield from self._table(tables.passages.rows, tables.passages.check)
        self._seals.update(tables.passages.digests())
        yield from self._table(
            trajectories.rows, trajectories.check, path=lambda row: record_path("trajectories", row["id"])
        )
        for rows, examine in (
            (tables.renderings.rows, tables.renderings.check),
            (vectors.space_rows, vectors.check_space),
            (vectors.rows, vectors.check),
            (vectors.blocks.rows, vectors.blocks.check),
            (tables.bookmarks.rows, tables.bookmarks.rows.value),
            (tables.outlines.rows, tables.outlines.rows.value),
            (tables.notes.rows, tables.notes.rows.value),
        ):
            yield from self._table(rows, examine)

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

    def _blobs(self) -> Iterator[Damage]:
        unused = (
            "SELECT hash FROM blobs WHERE hash NOT IN (SELECT blob FROM trajectories WHERE NOT pruned) ORDER BY hash"
        )
        for (name,) in self._connection.run(unused):
            yield damage_of(f"blobs {name}", "no_trajectory")

    def _words(self) -> Iterator[Damage]:
        for index in self._tables.word_indexes:
            for seq in index.orphans():
                yield damage_of(f"{index.words.table} {seq}", "missing_parent")
            for term in index.miscounted_terms():
                yield damage_of(f"{index.words.table} index", "wrong_index_terms", detail=repr(term))

    def _indexes(self) -> Iterator[Damage]:
        with _writable(self._connection) as connection:
            for index in Tables(connection).word_indexes:
                try:
                    with connection.writing():  # SQLite runs this check as a write, though it writes nothing
                        index.check()
                except StoreOutage as error:
                    yield _damage(error)

    def _chain(self) -> Iterator[Damage]:
        latest: dict[str, AuditLink] = {}
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
            latest[found.record] = found
        for record, link in latest.items():
            seal = self._seals.get(record)
            if seal is None and not is_gone(link.action):
                yield damage_of(record, "missing_audited")
            elif seal is not None and seal != link.digest:
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
