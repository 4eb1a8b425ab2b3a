"""The schema, step by step: brings a file to the newest one, and checks that a file has it.

Each step is one transaction. A new file gets all steps in one; an existing file is copied next to itself before each. A file
that is newer than this program, or not a store, is refused and left unchanged.

Every table of records has the record's canonical JSON, the columns it is looked up by, and a seal over all of them; `seq` is
the order of arrival. Triggers refuse to change append-only tables. A released step never changes; a new schema is a new step.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tacit.domain.errors import StoreOutage
from tacit.store.backup import copy_store
from tacit.store.connection import MEMORY, Connection
from tacit.store.encoding import clean
from tacit.store.hook_index import APPLICATION_ID
from tacit.store.lexical_search import EPISODE_FIELDS, PASSAGE_FIELDS, VERSION_FIELDS
from tacit.store.seals import seal_of

Migration = Callable[[Connection], None]
"""One step: brings a file to the schema whose number is the step's place, from 1."""


def migrate(
    connection: Connection,
    migrations: Sequence[Migration],
    *,
    check: Callable[[Connection, Sequence[Migration]], None] | None = None,
) -> None:
    """Check that the file is a store, put it into WAL mode and apply missing steps. Safe for many processes at once.

    `check` is called with the file, and the steps it already has, before anything is written.
    """
    with connection.reading():  # one state: another process may be upgrading it
        version = _recognise(connection)
        if not 0 <= version <= len(migrations):
            raise StoreOutage(
                f"the store {connection.path} has schema {version}, this program knows up to {len(migrations)}",
                code="store_too_new",
                hint="upgrade tacit: the store was written by a newer version",
            )
        if check:
            check(connection, migrations[:version])
    _use_wal(connection)
    if version == 0:
        _create(connection, migrations)
    for number, step in enumerate(migrations, start=1):
        _upgrade(connection, step, number)


def schema_of(connection: Connection) -> int:
    """The schema of a file; raises if it is not a store."""
    version = _recognise(connection)
    if version < 1:
        raise StoreOutage(f"{connection.path} is empty", code="not_a_store", hint="choose another file")
    return version


def _recognise(connection: Connection) -> int:
    application = connection.single("PRAGMA application_id")
    version = connection.single("PRAGMA user_version")
    objects = connection.single("SELECT count(*) FROM sqlite_schema")
    empty = (application, version, objects) == (0, 0, 0)
    if not empty and application != APPLICATION_ID:
        raise StoreOutage(
            f"{connection.path} is a database, but not a Tacit store (or its header is damaged)",
            code="not_a_store",
            hint="choose another file with --store, or restore a backup; this file was not changed",
        )
    return int(version)


def _use_wal(connection: Connection) -> None:
    if connection.path == MEMORY or connection.read_only:
        return
    mode = connection.patiently(lambda: connection.single("PRAGMA journal_mode = WAL"))
    if mode != "wal":
        raise StoreOutage(
            f"the store {connection.path} cannot use write-ahead logging (mode {mode})",
            code="no_write_ahead_log",
            hint="keep it on a local disk; network file systems are not safe for it",
        )


def _create(connection: Connection, migrations: Sequence[Migration]) -> None:
    with connection.writing():
        if connection.single("PRAGMA user_version") != 0:
            return  # another process was faster
        connection.run(f"PRAGMA application_id = {APPLICATION_ID}")
        for step in migrations:
            step(connection)
        connection.run(f"PRAGMA user_version = {len(migrations)}")


def _upgrade(connection: Connection, step: Migration, number: int) -> None:
    if connection.single("PRAGMA user_version") >= number:
        return
    with connection.writing():
        if connection.single("PRAGMA user_version") >= number:
            return
        if connection.path != MEMORY:  # we hold the write lock: the copy is the state before this step
            path = Path(connection.path)
            copy_store(connection.path, path.with_name(f"{path.name}.before-{number}.bak"), overwrite=True)
        step(connection)
        connection.run(f"PRAGMA user_version = {number}")


_TABLES = """
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY, at TEXT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL,
  record TEXT NOT NULL, digest TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE) STRICT;
CREATE INDEX audit_by_subject ON audit (subject);
CREATE INDEX audit_by_record ON audit (record);

CREATE TABLE blobs (
  hash TEXT PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL, seal TEXT NOT NULL) STRICT;

CREATE TABLE trajectories (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, outcome TEXT NOT NULL,
  captured_at TEXT NOT NULL, learned INTEGER NOT NULL, superseded INTEGER NOT NULL, superseded_by TEXT NOT NULL,
  pruned INTEGER NOT NULL, blob TEXT NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX trajectories_by_session ON trajectories (session_id) WHERE session_id <> '';

CREATE TABLE verdicts (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version_id TEXT NOT NULL, decision TEXT NOT NULL,
  record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX verdicts_by_version ON verdicts (version_id) WHERE version_id <> '';

CREATE TABLE skills (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;

CREATE TABLE versions (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, skill_id TEXT NOT NULL REFERENCES skills (id), hash TEXT NOT NULL,
  kind TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, life TEXT NOT NULL, record BLOB NOT NULL,
  seal TEXT NOT NULL) STRICT;
CREATE INDEX versions_by_skill ON versions (skill_id);
CREATE INDEX versions_by_status ON versions (status, kind);

CREATE TABLE transitions (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version_id TEXT NOT NULL REFERENCES versions (id),
  status TEXT NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX transitions_by_version ON transitions (version_id);

CREATE TABLE uses (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;

CREATE TABLE evidence (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version_id TEXT NOT NULL REFERENCES versions (id), at TEXT NOT NULL,
  grade TEXT NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX evidence_by_version ON evidence (version_id);

CREATE TABLE version_words (
  seq INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, body TEXT NOT NULL, extra TEXT NOT NULL,
  seal TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE version_index USING fts5(
  name, description, body, extra, content = 'version_words', content_rowid = 'seq', tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE version_terms USING fts5vocab('version_index', 'row');

CREATE TABLE episode_words (
  seq INTEGER PRIMARY KEY, task TEXT NOT NULL, files TEXT NOT NULL, project TEXT NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE episode_index USING fts5(
  task, files, project, content = 'episode_words', content_rowid = 'seq', tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE episode_terms USING fts5vocab('episode_index', 'row');
"""

_APPENDED = ("audit", "verdicts", "skills", "transitions", "uses", "evidence", "version_words", "episode_words")


def _refusal(name: str, event: str, table: str) -> str:
    return (
        f"CREATE TRIGGER {name} BEFORE {event} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is only ever appended to'); END"
    )


def _append_only(connection: Connection, *tables: str) -> None:
    """Refuse to change or delete rows of these tables."""
    for table in tables:
        connection.run(_refusal(f"{table}_keeps_rows", "UPDATE", table))
        connection.run(_refusal(f"{table}_loses_no_row", "DELETE", table))


def _create_tables(connection: Connection) -> None:
    """Schema 1: trajectories, skills with their versions, what is recorded of them, and the audit chain."""
    connection.run(_TABLES)
    _append_only(connection, *_APPENDED)
    content = "UPDATE OF seq, id, skill_id, hash, kind, name, record"
    connection.run(_refusal("versions_keep_content", content, "versions"))
    connection.run(_refusal("versions_lose_no_row", "DELETE", "versions"))
    connection.run(_refusal("trajectories_lose_no_row", "DELETE", "trajectories"))


def _add_bookmarks(connection: Connection) -> None:
    """Schema 2: how far each growing file has been read."""
    connection.run(
        "CREATE TABLE bookmarks (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record BLOB NOT NULL, "
        "seal TEXT NOT NULL) STRICT"
    )


_RENDERINGS = """
CREATE TABLE renderings (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, skill_id TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  description TEXT NOT NULL, scope TEXT NOT NULL, signature TEXT NOT NULL, subject TEXT NOT NULL, examples TEXT NOT NULL,
  conditions TEXT NOT NULL, tokens INTEGER NOT NULL, rank REAL NOT NULL, fresh_at REAL NOT NULL, brief TEXT NOT NULL,
  text TEXT NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX renderings_by_signature ON renderings (signature) WHERE signature <> '';
CREATE INDEX renderings_by_rank ON renderings (rank, fresh_at);
CREATE INDEX renderings_of_norms ON renderings (rank, fresh_at) WHERE kind IN ('norm', 'preference');

CREATE TABLE version_counts (term TEXT PRIMARY KEY, documents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE episode_counts (term TEXT PRIMARY KEY, documents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO version_counts SELECT term, doc FROM version_terms;
INSERT INTO episode_counts SELECT term, doc FROM episode_terms;
"""


def _counting(name: str, fields: Sequence[str]) -> str:
    """Count each term of a new row's words once; stored terms hold neither blanks nor quotes."""
    words = " || ' ' || ".join(f"NEW.{field}" for field in fields)
    listed = f"""json_each('["' || replace({words}, ' ', '","') || '"]')"""
    return (
        f"CREATE TRIGGER {name}_words_are_counted AFTER INSERT ON {name}_words BEGIN "
        f"INSERT INTO {name}_counts SELECT DISTINCT value, 1 FROM {listed} WHERE value <> '' "
        "ON CONFLICT (term) DO UPDATE SET documents = documents + 1; END"
    )


def _add_renderings(connection: Connection) -> None:
    """Schema 3: what hooks need (versions as agents see them, in how many rows each term occurs)."""
    connection.run(_RENDERINGS)
    connection.run(_counting("version", VERSION_FIELDS))
    connection.run(_counting("episode", EPISODE_FIELDS))
    for name, event in (
        ("status", "UPDATE OF status ON versions BEGIN DELETE FROM renderings WHERE seq = NEW.seq"),
        ("evidence", "INSERT ON evidence BEGIN DELETE FROM renderings WHERE id = NEW.version_id"),
    ):
        connection.run(f"CREATE TRIGGER renderings_end_with_{name} AFTER {event}; END")


def _add_outlines(connection: Connection) -> None:
    """Schema 4: outlines of trajectories, which mining compares."""
    connection.run(
        "CREATE TABLE outlines (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, "
        "mined INTEGER NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT"
    )
    connection.run("CREATE INDEX outlines_unmined ON outlines (seq) WHERE mined = 0")


_VECTORS = """
CREATE TABLE vector_spaces (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE TABLE vectors (
  seq INTEGER PRIMARY KEY, space INTEGER NOT NULL,
  version INTEGER NOT NULL REFERENCES versions (seq) ON DELETE CASCADE, codes BLOB NOT NULL, seal TEXT NOT NULL,
  UNIQUE (version, space)) STRICT;
CREATE INDEX vectors_in_space ON vectors (space);
CREATE TABLE vector_blocks (
  seq INTEGER PRIMARY KEY, space INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, seal TEXT NOT NULL,
  versions BLOB NOT NULL, codes BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX vector_blocks_in_order ON vector_blocks (space, last);
CREATE TABLE vector_sketches (
  seq INTEGER PRIMARY KEY, space INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, seal TEXT NOT NULL,
  versions BLOB NOT NULL, planes BLOB NOT NULL) STRICT;
CREATE INDEX vector_sketches_in_order ON vector_sketches (space, last);
CREATE INDEX versions_by_name ON versions (name);
CREATE TABLE recallable_counts (term TEXT PRIMARY KEY, documents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""
_RECALLABLE = "('trial', 'trusted')"


def _count_recallable(connection: Connection) -> None:
    """Count in how many recallable versions each term occurs, now and with every change of a status.

    Versions that were not approved must not change the rarity of a word, and so what recall returns.
    """
    words = " || ' ' || ".join(VERSION_FIELDS)
    listed = f"""json_each('["' || replace({words}, ' ', '","') || '"]')"""
    terms = f"SELECT DISTINCT value AS term FROM version_words, {listed} WHERE value <> '' AND version_words.seq = "
    add = f"INSERT INTO recallable_counts SELECT term, 1 FROM ({terms}NEW.seq) WHERE TRUE "
    add += "ON CONFLICT (term) DO UPDATE SET documents = documents + 1"
    take = f"UPDATE recallable_counts SET documents = documents - 1 WHERE term IN ({terms}NEW.seq)"
    connection.run(
        f"CREATE TRIGGER recallable_words_are_counted AFTER INSERT ON version_words WHEN (SELECT status FROM versions "
        f"WHERE seq = NEW.seq) IN {_RECALLABLE} BEGIN {add}; END"
    )
    status = "AFTER UPDATE OF status ON versions WHEN"
    connection.run(
        f"CREATE TRIGGER words_count_from_approval {status} OLD.status NOT IN {_RECALLABLE} "
        f"AND NEW.status IN {_RECALLABLE} BEGIN {add}; END"
    )
    connection.run(
        f"CREATE TRIGGER words_count_until_retirement {status} OLD.status IN {_RECALLABLE} "
        f"AND NEW.status NOT IN {_RECALLABLE} BEGIN {take}; DELETE FROM recallable_counts WHERE documents <= 0; END"
    )
    connection.run(
        f"INSERT INTO recallable_counts SELECT term, count(*) FROM (SELECT DISTINCT version_words.seq, value AS term "
        f"FROM version_words, {listed} WHERE value <> '' AND version_words.seq IN (SELECT seq FROM versions "
        f"WHERE status IN {_RECALLABLE})) GROUP BY term"
    )


def _add_vectors(connection: Connection) -> None:
    """Schema 5: vectors of recallable versions, also in blocks, which load quickly, and in sketches, for hooks; versions by
    name; and how often a rendered version was confirmed (0 until it is rendered again)."""
    connection.run(_VECTORS)
    connection.run(
        "CREATE TRIGGER vectors_end_with_status AFTER UPDATE OF status ON versions "
        "WHEN NEW.status NOT IN ('trial', 'trusted') BEGIN DELETE FROM vectors WHERE version = NEW.seq; END"
    )
    connection.run(
        "CREATE TRIGGER vector_blocks_end_with_vectors AFTER DELETE ON vectors BEGIN "
        "DELETE FROM vector_blocks WHERE space = OLD.space AND last >= OLD.seq AND first <= OLD.seq; END"
    )
    connection.run(
        "CREATE TRIGGER vector_sketches_end_with_blocks AFTER DELETE ON vector_blocks BEGIN "
        "DELETE FROM vector_sketches WHERE seq = OLD.seq; END"
    )
    _count_recallable(connection)
    connection.run("ALTER TABLE renderings ADD COLUMN reinforced INTEGER NOT NULL DEFAULT 0")


_TRUST = """
CREATE TABLE approvals (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version_id TEXT NOT NULL REFERENCES versions (id), at TEXT NOT NULL,
  record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX approvals_by_version ON approvals (version_id);
CREATE TABLE tombstones (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE TABLE backups (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE TABLE identity (
  seq INTEGER PRIMARY KEY CHECK (seq = 1), id TEXT NOT NULL UNIQUE, seal TEXT NOT NULL) STRICT;
"""


def _add_trust(connection: Connection) -> None:
    """Schema 6: approvals, tombstones, backups, and the store's own id."""
    connection.run(_TRUST)
    _append_only(connection, "approvals", "tombstones", "backups", "identity")
    values = (1, secrets.token_hex(16))
    connection.run("INSERT INTO identity (seq, id, seal) VALUES (?, ?, ?)", *values, seal_of("identity", values))


_LIFE = """
CREATE TABLE remarks (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, about TEXT NOT NULL, at TEXT NOT NULL,
  record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX remarks_by_subject ON remarks (subject);
CREATE INDEX remarks_by_about ON remarks (about);
CREATE TABLE use_keys (
  sort TEXT NOT NULL, owner TEXT NOT NULL, use INTEGER NOT NULL REFERENCES uses (seq) ON DELETE CASCADE,
  PRIMARY KEY (sort, owner, use)) STRICT, WITHOUT ROWID;
CREATE INDEX use_keys_by_use ON use_keys (use);
ALTER TABLE renderings ADD COLUMN unproven REAL NOT NULL DEFAULT 0;
"""


def _add_life(connection: Connection) -> None:
    """Schema 7: remarks; uses by session and by version; how much holding back a rendered version would teach."""
    connection.run(_LIFE)
    _append_only(connection, "remarks")
    for seq, record in connection.run("SELECT seq, record FROM uses ORDER BY seq"):
        for key in sorted(_keys_in(record)):
            connection.run("INSERT INTO use_keys (sort, owner, use) VALUES (?, ?, ?)", *key, seq)


def _keys_in(record: bytes) -> set[tuple[str, str]]:
    """Session and versions of the use in a record; empty if it is damaged, which reading the use reports."""
    try:
        use = json.loads(record.decode("utf-8", "surrogatepass"))
        owners = [("session", use.get("session_id", "")), *(("version", owner) for owner in use["version_ids"])]
        return {(sort, clean(owner)) for sort, owner in owners if owner}
    except (ValueError, LookupError, TypeError, AttributeError):
        return set()


_LEDGER = """
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sort TEXT NOT NULL, key TEXT NOT NULL, session_id TEXT NOT NULL,
  at TEXT NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX entries_by_key ON entries (sort, key);
CREATE INDEX entries_by_session ON entries (session_id) WHERE session_id <> '';
CREATE TABLE passages (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL REFERENCES versions (seq),
  place INTEGER NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX passages_by_version ON passages (version, place);
CREATE TABLE passage_words (
  seq INTEGER PRIMARY KEY, section TEXT NOT NULL, text TEXT NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE passage_index USING fts5(
  section, text, content = 'passage_words', content_rowid = 'seq', tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE passage_terms USING fts5vocab('passage_index', 'row');
CREATE TABLE passage_counts (term TEXT PRIMARY KEY, documents INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE jottings (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, drawer TEXT NOT NULL, agent TEXT NOT NULL,
  expires_at TEXT NOT NULL, record BLOB NOT NULL, seal TEXT NOT NULL) STRICT;
CREATE INDEX jottings_by_session ON jottings (session_id);
CREATE INDEX jottings_by_end ON jottings (expires_at);
ALTER TABLE renderings ADD COLUMN person TEXT NOT NULL DEFAULT '';
"""


def _add_ledger(connection: Connection) -> None:
    """Schema 8: the ledger, passages of documents, session notes; whose preference a rendering is."""
    connection.run(_LEDGER)
    connection.run(_counting("passage", PASSAGE_FIELDS))
    _append_only(connection, "entries", "passages", "passage_words")


def _forget_projections(connection: Connection) -> None:
    """Schema 9: outlines hold calls, and hooks show lines; what was made before is made again."""
    connection.run("DELETE FROM outlines")
    connection.run("DELETE FROM renderings")


def _add_importance(connection: Connection) -> None:
    """Schema 10: how important a rendering is; renderings are found by name. All are made again."""
    connection.run(
        "DELETE FROM renderings; ALTER TABLE renderings DROP COLUMN brief; "
        "ALTER TABLE renderings ADD COLUMN importance REAL NOT NULL DEFAULT 0.5; "
        "CREATE INDEX renderings_by_name ON renderings (name, kind, scope)"
    )


def _add_signatures(connection: Connection) -> None:
    """Schema 11: approvals are signed; what was in use before stays in use until a person has confirmed it."""
    connection.run(
        "CREATE TABLE approved_before (id TEXT PRIMARY KEY REFERENCES versions (id) ON DELETE CASCADE) "
        "STRICT, WITHOUT ROWID; INSERT INTO approved_before SELECT id FROM versions "
        f"WHERE status IN {_RECALLABLE}"
    )


def _drop_sketches(connection: Connection) -> None:
    """Schema 12: hooks search by words alone."""
    connection.run("DROP TRIGGER vector_sketches_end_with_blocks; DROP TABLE vector_sketches")


MIGRATIONS: tuple[Migration, ...] = (
    _create_tables,
    _add_bookmarks,
    _add_renderings,
    _add_outlines,
    _add_vectors,
    _add_trust,
    _add_life,
    _add_ledger,
    _forget_projections,
    _add_importance,
    _add_signatures,
    _drop_sketches,
)


class SchemaObject(NamedTuple):
    """A table, index, trigger or view, as the file describes it."""

    kind: str
    name: str
    table: str
    sql: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def differences(
    connection: Connection, migrations: Sequence[Migration]
) -> tuple[list[SchemaObject], list[SchemaObject]]:
    """What the schema lacks, and what it has that no migration created."""
    expected, shadows = _expected(tuple(migrations))
    present = _present(connection, shadows)
    return sorted(expected - present), sorted(present - expected)


def check_triggers(connection: Connection, migrations: Sequence[Migration]) -> None:
    """Raise for a trigger that no migration created, since it would run at the next write; `migrations` are those applied."""
    _, extra = differences(connection, migrations)
    for found in extra:
        if found.kind == "trigger":
            raise StoreOutage(
                f"the store {connection.path} has a trigger that Tacit did not create: {found.name!r}",
                code="unknown_trigger",
                hint="the file was changed; restore a backup, or remove the trigger if you know what it does",
            )


def _present(connection: Connection, shadows: frozenset[str]) -> set[SchemaObject]:
    sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"
    found = (SchemaObject(*map(str, row)) for row in connection.run(sql))
    return {each._replace(sql="") if each.name in shadows else each for each in found}


@lru_cache(maxsize=8)
def _expected(migrations: tuple[Migration, ...]) -> tuple[frozenset[SchemaObject], frozenset[str]]:
    """Everything that these migrations create, and the names of SQLite's own tables among it."""
    fresh = Connection(MEMORY)
    try:
        with fresh.writing():
            for step in migrations:
                step(fresh)
        listed = fresh.run("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'")
        shadows = frozenset(str(row[0]) for row in listed)
        return frozenset(_present(fresh, shadows)), shadows
    finally:
        fresh.close()
