"""What a bad day does to a store: full disk, kill -9, torn log, wrong files, newer schema, failing upgrades."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import apsw
import pytest

from tacit.domain.errors import Mistake, StoreOutage
from tacit.domain.lifecycle import Status
from tacit.store import Store, open_store
from tacit.store.connection import Connection, StoreDamaged
from tacit.store.hook_index import APPLICATION_ID
from tacit.store.schema import MIGRATIONS, Migration
from tests.raising import raises
from tests.unit.store.samples import SUCCESS, at, bookmark, fill, put_version, step_to, trajectory, use

ROOT = Path(__file__).parents[2]
ROUNDS = 40

FILLER = """
import resource, sys
from tacit.domain.errors import StoreOutage
from tacit.store import open_store
from tests.unit.store.samples import SUCCESS, at, trajectory

store = open_store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
for number in range(10_000):
    whole = trajectory(f"task {number}", steps=60, session=str(number))
    try:
        store.add_trajectory(whole, SUCCESS, at=at())
    except StoreOutage as outage:
        print("OUTAGE", outage.message, "|", outage.hint)
        break
    print(whole.id, flush=True)
"""


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )  # fmt: skip


def forked(work: Callable[[Callable[[str], None]], None]) -> tuple[int, BinaryIO]:
    """Run work in a child that can tell lines; returns its id and where its lines arrive."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:

        def tell(line: str) -> None:
            os.write(writing, f"{line}\n".encode())

        try:
            os.close(reading)
            work(tell)
        finally:
            os._exit(0)
    os.close(writing)
    return child, os.fdopen(reading, "rb")


# --- no space, no power ---------------------------------------------------------------------------------------------


def test_a_file_that_may_not_grow_is_a_clear_outage_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    output, errors = run(FILLER, path, 600_000).communicate()
    *acknowledged, last = output.splitlines()
    assert errors == ""
    assert last.startswith("OUTAGE")
    assert "nothing was written" in last
    assert acknowledged
    store = open_store(path)
    assert {episode.id for episode in store.episodes()} == set(acknowledged)
    assert all(store.trajectory(identity).id == identity for identity in acknowledged)
    assert list(store.verify()) == []
    store.close()


def test_a_full_disk_is_a_clear_outage_and_the_store_goes_on_when_there_is_space(tmp_path: Path) -> None:
    store = Store(tmp_path / "tacit.db")
    fill(store)
    pages = store._connection.single("PRAGMA page_count")
    store._connection.run(f"PRAGMA max_page_count = {pages}")
    big = trajectory("big", steps=1500)
    before = store.counts()
    with raises(StoreOutage, "disk_full") as caught:
        store.add_trajectory(big, SUCCESS, at=at())
    assert caught.value.hint
    assert store.counts() == before
    store._connection.run("PRAGMA max_page_count = 100000")
    assert store.add_trajectory(big, SUCCESS, at=at())
    assert list(store.verify()) == []
    store.close()


def test_writes_after_a_full_disk_do_not_escape_their_lost_transaction(tmp_path: Path) -> None:
    store = Store(tmp_path / "tacit.db")
    pages = store._connection.single("PRAGMA page_count")
    store._connection.run(f"PRAGMA max_page_count = {pages}")
    try:
        with store.transaction():
            store.add(use("v_1"))
            with raises(StoreOutage, "disk_full"):
                store.add_trajectory(trajectory("big", steps=1500), SUCCESS, at=at())
            store.add(use("v_2"))
    except StoreOutage:
        expected = 0  # SQLite undid the transaction, and the store noticed
    else:
        expected = 2  # SQLite undid the statement only: the rest is whole
    store._connection.run("PRAGMA max_page_count = 100000")
    assert store.counts().uses == len(store.history()) == expected
    assert list(store.verify()) == []
    store.close()


def write_versions(path: Path, label: str, tell: Callable[[str], None]) -> None:
    store = open_store(path)
    for number in range(10_000):
        stored = put_version(store, f"skill-{label}-{number}")
        tell(f"added {stored.version.id}")
        store.add_transition(step_to(stored, Status.TRUSTED))
        tell(f"trusted {stored.version.id}")


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    chooser = random.Random(5)
    acknowledged: list[bytes] = []
    for number in range(ROUNDS):
        twins = [forked(partial(write_versions, path, f"{number}-{twin}")) for twin in range(2)]
        for _, lines in twins:
            acknowledged += [lines.readline() for _ in range(chooser.randrange(4))]
        time.sleep(chooser.random() / 100)
        for child, _ in twins:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for _, lines in twins:
            acknowledged += lines.readlines()
            lines.close()
    store = open_store(path)
    statuses = {stored.version.id: stored.status for stored in store.catalogue()}
    reported = [line.decode().split() for line in acknowledged if line.endswith(b"\n")]
    assert len(reported) > ROUNDS
    assert all(identity in statuses for _, identity in reported)
    assert all(statuses[identity] is Status.TRUSTED for event, identity in reported if event == "trusted")
    assert list(store.verify()) == []
    store.close()


def count_syncs(path: Path, tell: Callable[[str], None]) -> None:
    """Write to a store whose files count how often they are reported to reach the disk."""
    synced: list[str] = []

    class CountingFile(apsw.VFSFile):
        def __init__(self, name: Any, flags: list[int]) -> None:
            super().__init__("unix", name, flags)
            self.name = str(name.filename() if isinstance(name, apsw.URIFilename) else name)

        def xSync(self, flags: int) -> None:  # noqa: N802
            synced.append(self.name)
            super().xSync(flags)

    class CountingFiles(apsw.VFS):
        def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
            return CountingFile(name, flags)

    files = CountingFiles("counting", "unix", makedefault=True)
    store = open_store(path)
    for number in range(20):
        before = len(synced)
        store.add(use("v_1", id=f"u_{number}"))
        tell(" ".join(name[-4:] for name in synced[before:]))
    store.close()
    files.unregister()


def test_every_write_has_reached_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    child, lines = forked(partial(count_syncs, tmp_path / "tacit.db"))
    reported = lines.read().decode().splitlines()
    lines.close()
    os.waitpid(child, 0)
    assert len(reported) == 20
    assert all("-wal" in line.split() for line in reported)


@pytest.mark.parametrize("harm", ["cut", "flip", "zero"])
def test_a_harmed_log_leaves_a_clean_prefix(tmp_path: Path, harm: str) -> None:
    path, copy = tmp_path / "tacit.db", tmp_path / "copy.db"
    writer = Store(path)
    writer._connection.run("PRAGMA wal_autocheckpoint = 0")
    for number in range(15):
        writer.add(use("v_1", id=f"u_{number:02}"))
    log = Path(f"{path}-wal").read_bytes()
    chooser = random.Random(harm)
    for _ in range(12):
        place = chooser.randrange(len(log) // 2, len(log))
        damaged = bytearray(log[:place] if harm == "cut" else log)
        if harm == "flip":
            damaged[place] ^= 1 << chooser.randrange(8)
        if harm == "zero":
            damaged[place : place + 100] = bytes(len(damaged[place : place + 100]))
        shutil.copy(path, copy)
        Path(f"{copy}-wal").write_bytes(damaged)
        store = open_store(copy)
        kept = store.resolve("u_")
        assert kept == [f"u_{number:02}" for number in range(len(kept))]
        assert list(store.verify()) == []
        store.add(use("v_1", id="u_99"))
        store.close()
        for leftover in tmp_path.glob("copy.db*"):
            leftover.unlink()
    writer.close()


# --- files that are no store ----------------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, not a database, and they are long enough to be one\n" * 40)
    before = path.read_bytes()
    with raises(StoreOutage, "not_a_database") as caught:
        open_store(path)
    assert "notes.txt" in caught.value.message
    assert caught.value.hint
    assert path.read_bytes() == before


def test_somebody_elses_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with raises(StoreOutage, "not_a_store"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with raises(Mistake, "not_a_file"):
        open_store(tmp_path)


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "tacit.db"
    open_store(path).close()
    assert path.exists()


def test_a_new_store_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    store = open_store(tmp_path / "tacit.db")
    fill(store)
    modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {0o600}
    store.close()


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises(StoreOutage, "store_not_writable"):
        open_store(tmp_path / "file" / "tacit.db")


def test_a_folder_without_write_permission_is_a_clear_outage() -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)

    def work(tell: Callable[[str], None]) -> None:
        if os.geteuid() == 0:  # nothing is forbidden to root
            os.setuid(65534)
        try:
            open_store(folder / "tacit.db")
        except StoreOutage as error:
            tell(f"{error.code} | {error.hint}")

    try:
        child, lines = forked(work)
        reported = lines.read().decode()
        lines.close()
        os.waitpid(child, 0)
        assert "store_not_writable" in reported
        assert list(folder.iterdir()) == []
    finally:
        folder.chmod(0o755)
        folder.rmdir()


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "tacit.db").touch()
    store = open_store(tmp_path / "tacit.db")
    fill(store)
    assert list(store.verify()) == []
    store.close()


def test_a_truncated_file_is_refused_or_reported(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = open_store(path)
    fill(store)
    store.close()
    data = path.read_bytes()
    for size in (100, 4096, 8192, len(data) // 2, len(data) - 4096):
        path.write_bytes(data[:size])
        with contextlib.suppress(StoreOutage):
            store = open_store(path)
            assert list(store.verify())
            store.close()


def test_a_damaged_store_is_not_backed_up(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = open_store(path)
    fill(store)
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE trajectories SET outcome = 'failure'")
    raw.close()
    with pytest.raises(StoreDamaged):
        store.backup(tmp_path / "backup.db")
    assert sorted(file.name for file in tmp_path.iterdir() if "backup" in file.name) == []
    store.close()


# --- schemas --------------------------------------------------------------------------------------------------------


def statements_of(number: int) -> Sequence[str]:
    return (
        f"CREATE TABLE extra{number} (id INTEGER PRIMARY KEY, text TEXT) STRICT",
        f"INSERT INTO extra{number} (text) SELECT id FROM versions",
        f"CREATE INDEX extra{number}_by_text ON extra{number} (text)",
    )


class StepFailed(Exception):
    """Raised by a migration step of a test."""


def step(number: int, *, stop_before: int | None = None, kill: bool = False) -> Migration:
    """A further schema; may fail, or be killed, before its n-th statement."""

    def apply(connection: Connection) -> None:
        for place, sql in enumerate((*statements_of(number), "SELECT 1")):
            if place == stop_before:
                if kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise StepFailed
            connection.run(sql)

    return apply


def old_store(path: Path) -> str:
    store = open_store(path)
    stored = fill(store)
    store.close()
    return stored.version.id


NEXT = len(MIGRATIONS) + 1
BOTH = [f"extra{NEXT}", f"extra{NEXT + 1}"]


def state_of(path: Path) -> tuple[int, list[str]]:
    raw = apsw.Connection(str(path))
    tables = raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'extra%' ORDER BY rowid")
    found = [str(row[0]) for row in tables]
    number: Any = raw.execute("PRAGMA user_version").fetchall()[0][0]
    raw.close()
    return number, found


def test_a_store_of_schema_1_gets_bookmarks_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    old = Store(path, migrations=MIGRATIONS[:1])
    old.add_trajectory(trajectory(), SUCCESS, at=at())
    version_id = put_version(old).version.id
    old.close()
    store = open_store(path)
    assert store.version(version_id).version.id == version_id
    assert store.trajectory(trajectory().id) == trajectory()
    store.bookmarks.put(bookmark())
    assert store.bookmarks.get(bookmark().path) == bookmark()
    assert list(store.verify()) == []
    store.close()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    Store(path, migrations=(*MIGRATIONS, step(NEXT))).close()
    before = path.read_bytes()
    with raises(StoreOutage, "store_too_new") as caught:
        open_store(path)
    assert caught.value.hint
    assert path.read_bytes() == before


def test_a_new_store_gets_every_step_and_no_copy(tmp_path: Path) -> None:
    Store(tmp_path / "tacit.db", migrations=(*MIGRATIONS, step(NEXT), step(NEXT + 1))).close()
    assert state_of(tmp_path / "tacit.db") == (NEXT + 1, BOTH)
    assert [file.name for file in tmp_path.iterdir()] == ["tacit.db"]


def test_an_old_store_is_copied_before_each_step_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    version_id = old_store(path)
    store = Store(path, migrations=(*MIGRATIONS, step(NEXT), step(NEXT + 1)))
    assert store.version(version_id).version.id == version_id
    assert list(store.verify()) == []
    store.close()
    assert state_of(path) == (NEXT + 1, BOTH)
    assert state_of(tmp_path / f"tacit.db.before-{NEXT}.bak") == (NEXT - 1, [])
    assert state_of(tmp_path / f"tacit.db.before-{NEXT + 1}.bak") == (NEXT, BOTH[:1])
    restored = open_store(tmp_path / f"tacit.db.before-{NEXT}.bak")
    assert list(restored.verify()) == []
    restored.close()


def test_an_opened_store_at_the_newest_schema_is_not_copied_again(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    old_store(path)
    for _ in range(2):
        Store(path, migrations=(*MIGRATIONS, step(NEXT))).close()
        kept = (tmp_path / f"tacit.db.before-{NEXT}.bak").stat().st_mtime_ns
    assert (tmp_path / f"tacit.db.before-{NEXT}.bak").stat().st_mtime_ns == kept


@pytest.mark.parametrize("place", range(4))
def test_a_step_that_fails_leaves_the_state_before_it(tmp_path: Path, place: int) -> None:
    path = tmp_path / "tacit.db"
    version_id = old_store(path)
    with pytest.raises(StepFailed):
        Store(path, migrations=(*MIGRATIONS, step(NEXT), step(NEXT + 1, stop_before=place)))
    assert state_of(path) == (NEXT, BOTH[:1])
    repaired = Store(path, migrations=(*MIGRATIONS, step(NEXT), step(NEXT + 1)))
    assert repaired.version(version_id).version.id == version_id
    repaired.close()
    assert state_of(path) == (NEXT + 1, BOTH)


@pytest.mark.parametrize("number", [NEXT, NEXT + 1])
@pytest.mark.parametrize("place", range(4))
def test_a_step_that_is_killed_leaves_old_or_new_and_the_next_opening_converges(
    tmp_path: Path, number: int, place: int
) -> None:
    path = tmp_path / "tacit.db"
    version_id = old_store(path)
    steps = {NEXT: step(NEXT), NEXT + 1: step(NEXT + 1)}
    child = os.fork()
    if child == 0:
        steps[number] = step(number, stop_before=place, kill=True)
        Store(path, migrations=(*MIGRATIONS, steps[NEXT], steps[NEXT + 1]))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert state_of(path) == (number - 1, BOTH[: number - NEXT])
    store = Store(path, migrations=(*MIGRATIONS, step(NEXT), step(NEXT + 1)))
    assert store.version(version_id).version.id == version_id
    assert list(store.verify()) == []
    store.close()
    assert state_of(path) == (NEXT + 1, BOTH)


@pytest.mark.parametrize("place", range(4))
def test_a_creation_that_is_killed_can_be_repeated(tmp_path: Path, place: int) -> None:
    path = tmp_path / "tacit.db"
    child = os.fork()
    if child == 0:
        Store(path, migrations=(*MIGRATIONS, step(NEXT, stop_before=place, kill=True)))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    store = open_store(path)
    fill(store)
    assert list(store.verify()) == []
    store.close()


def test_a_store_carries_its_mark_and_safe_settings(tmp_path: Path) -> None:
    store = Store(tmp_path / "tacit.db")
    settings = {
        name: store._connection.single(f"PRAGMA {name}")
        for name in ("application_id", "user_version", "journal_mode", "synchronous", "foreign_keys", "trusted_schema")
    }
    assert settings == {
        "application_id": APPLICATION_ID, "user_version": NEXT - 1, "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1,
        "trusted_schema": 0,
    }  # fmt: skip
    store.close()


@pytest.mark.parametrize(
    "table", ["audit", "verdicts", "skills", "transitions", "uses", "evidence", "version_words", "episode_words"]
)
def test_appended_rows_refuse_to_be_changed_or_deleted(tmp_path: Path, table: str) -> None:
    path = tmp_path / "tacit.db"
    old_store(path)
    raw = apsw.Connection(str(path))
    for sql in (f"UPDATE {table} SET seq = seq + 100", f"DELETE FROM {table}"):
        with pytest.raises(apsw.ConstraintError, match="only ever appended"):
            raw.execute(sql)
    raw.close()


def test_content_of_a_version_refuses_to_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    old_store(path)
    raw = apsw.Connection(str(path))
    for sql in ("UPDATE versions SET record = x'00'", "UPDATE versions SET hash = ''", "DELETE FROM versions"):
        with pytest.raises(apsw.ConstraintError):
            raw.execute(sql)
    raw.close()


def test_a_dropped_trigger_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    old_store(path)
    raw = apsw.Connection(str(path))
    raw.execute("DROP TRIGGER audit_loses_no_row")
    raw.close()
    store = open_store(path)
    assert [damage.subject for damage in store.verify()] == ["the schema"]
    store.close()


PLANTED = {
    "trigger": "CREATE TRIGGER planted AFTER INSERT ON evidence BEGIN DELETE FROM evidence; END",
    "view": "CREATE VIEW planted AS SELECT * FROM evidence",
    "index": "CREATE INDEX planted ON evidence (at)",
    "table": "CREATE TABLE planted (x)",
}


def plant(path: Path, *statements: str) -> None:
    raw = apsw.Connection(str(path))
    for sql in statements:
        raw.execute(sql)
    raw.close()


@pytest.mark.parametrize("kind", PLANTED)
def test_what_no_migration_made_is_reported(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "tacit.db"
    old_store(path)
    store = open_store(path)
    plant(path, PLANTED[kind])
    assert [(damage.subject, damage.code) for damage in store.verify()] == [("the schema", "schema_extra")]
    with raises(StoreOutage, "schema_extra"):
        store.backup(tmp_path / "copy.db")
    store.close()


@pytest.mark.parametrize(
    "statements",
    [
        (PLANTED["trigger"],),
        ("DROP TRIGGER uses_keeps_rows", "CREATE TRIGGER uses_keeps_rows AFTER INSERT ON uses BEGIN SELECT 1; END"),
    ],
    ids=["new", "replaced"],
)
def test_a_store_with_a_strange_trigger_is_not_opened(tmp_path: Path, statements: Sequence[str]) -> None:
    path = tmp_path / "tacit.db"
    old_store(path)
    plant(path, *statements)
    before = path.read_bytes()
    for migrations in (MIGRATIONS, (*MIGRATIONS, step(NEXT))):
        with raises(StoreOutage, "unknown_trigger") as caught:
            Store(path, migrations=migrations)
        assert caught.value.hint
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir() if file.suffix == ".bak") == []


def test_what_later_migrations_make_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    old_store(path)

    def apply(connection: Connection) -> None:
        connection.run(f"CREATE TRIGGER later AFTER INSERT ON {BOTH[0]} BEGIN SELECT 1; END")

    migrations = (*MIGRATIONS, step(NEXT), apply)
    for _ in range(2):
        store = Store(path, migrations=migrations)
        assert list(store.verify()) == []
        store.close()


# --- places ---------------------------------------------------------------------------------------------------------


def as_nobody(work: Callable[[Callable[[str], None]], None]) -> str:
    """Run work without the rights of root, to whom nothing is forbidden; returns what it reported."""

    def lowered(tell: Callable[[str], None]) -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            work(tell)
        except BaseException as error:
            tell(repr(error))

    child, lines = forked(lowered)
    reported = lines.read().decode()
    lines.close()
    os.waitpid(child, 0)
    return reported


@pytest.mark.parametrize("folder_mode", [0o555, 0o777], ids=["read-only folder", "writable folder"])
def test_a_store_that_may_only_be_read_can_be_read_verified_and_copied(folder_mode: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder, copies = Path(made) / "store", Path(made) / "copies"
        for each in (Path(made), folder, copies):
            each.mkdir(exist_ok=True)
            each.chmod(0o777)
        path = folder / "tacit.db"
        version_id = old_store(path)
        path.chmod(0o444)
        folder.chmod(folder_mode)

        def work(tell: Callable[[str], None]) -> None:
            store = open_store(path)
            tell(f"{store.version(version_id).version.id == version_id} {list(store.verify())}")
            store.backup(copies / "copy.db")
            try:
                store.add(use(version_id, minutes=9))
            except StoreOutage as error:
                tell(f"{error.code} | {error.hint}")
            store.close()

        reported = as_nobody(work).splitlines()
        folder.chmod(0o755)
        assert reported[0] == "True []"
        assert "store_not_writable" in reported[1]
        assert len(reported) == 2
        copy = open_store(copies / "copy.db")
        assert list(copy.verify()) == []
        copy.close()


def test_damage_in_a_store_that_may_only_be_read_is_found() -> None:
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "tacit.db"
        old_store(path)
        plant(path, "DROP TRIGGER version_words_keeps_rows", "UPDATE version_words SET body = 'other'")
        path.chmod(0o444)
        Path(made).chmod(0o555)
        reported = as_nobody(lambda tell: tell(" ".join(damage.subject for damage in open_store(path).verify())))
        Path(made).chmod(0o755)
        assert "the schema" in reported
        assert "version_words" in reported


@pytest.mark.parametrize(
    "path", ["a\udcff.db", "a\0b.db", "x" * 300, "y/" * 3000, "/dev/null", "/dev/null/x.db", "/", ""]
)
def test_a_path_that_cannot_be_a_store_is_reported_with_a_next_step(path: str) -> None:
    before = set(Path("/").iterdir())
    for given in (path, Path(path)):
        with pytest.raises((Mistake, StoreOutage)) as caught:
            open_store(given)
        assert caught.value.hint
        assert caught.value.message.encode("utf-8")
    assert set(Path("/").iterdir()) == before


def test_a_pipe_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with raises(Mistake, "not_a_file"):
        open_store(tmp_path / "pipe")


def test_what_killed_backups_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    old, new, alive = tmp_path / ".b.db.aaaaaaaa.part", tmp_path / ".b.db.bbbbbbbb.part", os.getppid()
    stale = [tmp_path / f".b.db.{gone.pid}.cccccccc.part{end}" for end in ("", "-journal")]
    kept = [new, tmp_path / f".b.db.{alive}.dddddddd.part", tmp_path / f".other.db.{gone.pid}.eeeeeeee.part"]
    for path in (old, *stale, *kept):
        path.touch()
    os.utime(old, (1, 1))
    store = open_store(":memory:")
    store.backup(tmp_path / "b.db")
    store.close()
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "b.db", tmp_path / "b.db.manifest.json"])


def test_a_backup_may_have_the_longest_name(tmp_path: Path) -> None:
    store = open_store(":memory:")
    store.backup(tmp_path / ("é" * 127))
    store.close()
    assert len(list(tmp_path.iterdir())) == 2  # and its manifest


def test_a_purge_noted_in_the_chain_makes_a_missing_row_fine(tmp_path: Path) -> None:
    from tacit.store.audit import Audit, AuditNote, record_path
    from tacit.store.word_index import without_triggers

    path = tmp_path / "tacit.db"
    store = Store(path)
    store.add(use("v_1", id="u_1"))
    store.add(use("v_1", id="u_2"))
    put_version(store)
    with store.transaction(), without_triggers(store._connection, "uses"):
        store._connection.run("DELETE FROM uses WHERE id = 'u_2'")
    assert [damage.subject for damage in store.verify()] == ["uses/u_2"]
    with store.transaction():
        note = AuditNote(action="purge", subject="u_2", at=at())
        Audit(store._connection).append(note, record=record_path("uses", "u_2"), digest="")
    assert list(store.verify()) == []
    assert store.resolve("u_2") == []
    store.close()
