"""What was purged is neither captured nor learned again; tombstones are audited and missed when they are gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.domain.archive import Source, SourceKind, Tombstone
from tacit.domain.candidate import GateDecision
from tacit.domain.errors import GateRefusal, Mistake
from tacit.store import open_store
from tacit.store.audit import Audit
from tacit.store.connection import Connection, StoreDamaged
from tacit.store.purge import is_from, is_path
from tacit.store.record_log import TOMBSTONES_SINCE, RecordLog
from tacit.store.restore import restore_backup
from tacit.store.schema import MIGRATIONS, migrate
from tacit.store.word_index import without_triggers
from tests.faults.test_kill_points import attempt_at
from tests.raising import raises
from tests.unit.making import ONE_RUN
from tests.unit.store.samples import at


@pytest.fixture
def loop(tmp_path: Path) -> Tacit:
    place = StoreLocation(database=str(tmp_path / "tacit.db"), project=tmp_path, chosen_by="a test")
    return Tacit(open_store(place.database), config=ONE_RUN, place=place)


def learn_both(loop: Tacit) -> None:
    loop.capture([attempt_at(word, f"session-{word}") for word in ("balance", "close")], trust_outcomes=True)
    loop.learn()


def purge(loop: Tacit, kind: SourceKind, value: str) -> None:
    loop.archive.purge(loop.archive.descent(Source(kind=kind, value=value)), by="ana", reason="it was poisoned")


def test_a_purged_session_is_not_captured_again_and_the_rest_is(loop: Tacit) -> None:
    learn_both(loop)
    purge(loop, SourceKind.SESSION, "session-close")
    again = loop.capture([attempt_at(word, f"session-{word}") for word in ("close", "balance")], trust_outcomes=True)
    assert (again.added, again.known, again.purged) == ((), 1, 1)
    assert [stored.version.name for stored in loop.reviews.waiting()] == ["balance-ledger-run-tests"]
    assert loop.archive.verify() == []


def test_what_is_learned_again_word_for_word_is_turned_away_with_the_reason(loop: Tacit) -> None:
    learn_both(loop)
    gone = next(stored for stored in loop.reviews.waiting() if "close" in stored.version.name)
    purge(loop, SourceKind.IMPORTED, gone.version.hash)
    learned = loop.learn()
    [reported] = [verdict for verdict in learned.verdicts if "purged" in verdict.reasons]
    assert (reported.decision, reported.name) == (GateDecision.REJECT, "")
    assert gone.version.id not in {stored.version.id for stored in loop.reviews.waiting()}
    assert loop.learn().trajectories == 0
    assert loop.archive.verify() == []


def test_proposing_what_was_purged_is_refused(loop: Tacit) -> None:
    learn_both(loop)
    gone = loop.reviews.waiting()[0]
    purge(loop, SourceKind.IMPORTED, gone.version.hash)
    with raises(GateRefusal, "purged"):
        loop.propose(gone.version.content, by="mallory")
    assert loop.archive.verify() == []


def test_a_store_in_memory_is_not_restored(tmp_path: Path) -> None:
    store = open_store(tmp_path / "tacit.db")
    store.backup(tmp_path / "b.db")
    store.close()
    with raises(Mistake, "store_in_memory"):
        restore_backup(tmp_path / "b.db", ":memory:", by="ana", at=datetime.now(UTC))


def test_a_copy_that_cannot_be_read_is_named_and_does_not_stop_the_purge(loop: Tacit, tmp_path: Path) -> None:
    learn_both(loop)
    loop.archive.backup(tmp_path / "backup.db")
    (tmp_path / "backup.db").write_bytes(b"no store " * 500)
    plan = loop.archive.descent(Source(kind=SourceKind.SESSION, value="session-close"))
    [copy] = plan.copies
    assert copy.problem
    erased, [left] = loop.archive.purge(plan, by="ana", backups=True)
    assert erased
    assert (left.purged, left.problem) == (False, copy.problem)
    assert loop.archive.verify() == []


TOMBSTONE = Tombstone(id="v_1", by="ana", at=at(3), survivors=("t_2",))


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    made = Connection(tmp_path / "tacit.db")
    migrate(made, MIGRATIONS)
    return made


@pytest.fixture
def records(connection: Connection) -> RecordLog:
    return RecordLog(connection, Audit(connection))


def test_a_stone_is_found_by_its_id_and_signed_in_the_chain(connection: Connection, records: RecordLog) -> None:
    records.add(TOMBSTONE)
    assert records.tombstone("v_1") == TOMBSTONE
    assert records.tombstone("v_2") is None
    [link] = Audit(connection).links()
    event = link
    assert (event.action, event.subject, event.record, event.actor) == ("tombstone", "v_1", "tombstones/v_1", "ana")
    assert event.at == "2026-01-01T12:03:00.000000+00:00"
    assert event.digest == connection.single("SELECT seal FROM tombstones")


def test_tombstones_are_reported_oldest_first_and_each_is_set_once(records: RecordLog) -> None:
    other = replace(TOMBSTONE, id="session:s/1", at=at(1))
    for tombstone in (TOMBSTONE, other, replace(TOMBSTONE, by="bob")):
        records.add(tombstone)
    assert records.list_tombstones() == [TOMBSTONE, other]


def test_a_stone_without_a_zone_is_refused(records: RecordLog) -> None:
    with raises(Mistake, "no_time_zone"):
        records.add(replace(TOMBSTONE, at=datetime(2026, 1, 1)))  # noqa: DTZ001


def test_a_stone_that_was_taken_away_is_missed(connection: Connection, records: RecordLog) -> None:
    records.add(TOMBSTONE)
    records.add(replace(TOMBSTONE, id="v_2"))
    with connection.writing(), without_triggers(connection, "tombstones"):
        connection.run("DELETE FROM tombstones WHERE id = 'v_1'")
    with pytest.raises(StoreDamaged) as found:
        records.tombstone("v_1")
    assert (found.value.subject, found.value.code) == ("tombstones v_1", "missing")
    with raises(StoreDamaged, "missing"):
        records.add(TOMBSTONE)
    assert records.tombstone("v_3") is None


def test_in_a_store_from_before_there_were_tombstones_nothing_was_purged(tmp_path: Path) -> None:
    old = Connection(tmp_path / "old.db")
    migrate(old, MIGRATIONS[: TOMBSTONES_SINCE - 1])
    records = RecordLog(old, Audit(old), schema=TOMBSTONES_SINCE - 1)
    assert records.tombstone("v_1") is None
    assert records.list_tombstones() == []


def asked(value: str, root: str = "/w/project") -> Source:
    return Source(kind=SourceKind.IMPORTED, value=value, root=root)


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ("../sk/hidden", "../sk/hidden"),
        ("../sk/hidden", "/w/sk/hidden"),
        ("../sk/hidden", "/w/sk/hidden/"),
        ("../sk/hidden", "/w/sk/hidden/SKILL.md"),
        ("../sk/hidden/SKILL.md", "/w/sk/hidden"),
        ("../sk/hidden", "/w/sk"),
        ("/w/sk/hidden", "../sk"),
        ("../good.skill/csv-clean", "/w/good.skill"),
        ("logs/a.jsonl", "/w/project/logs"),
        ("anything", "/"),
        ("https://example.com/x", "https://example.com/x"),
        ("mcp", "mcp"),
    ],
)
def test_the_same_source_is_found(recorded: str, value: str) -> None:
    assert is_from(recorded, asked(value))


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ("../sk/hidden", "/w/sk/hid"),
        ("../sk/hidden", "/w/sk/hidden/notes.md"),
        ("../sk/hidden-too", "/w/sk/hidden"),
        ("/w/sk", "/w/sk/hidden"),
        ("mcp", "/w/project"),
        ("https://example.com/x", "/"),
        ("", "/"),
        ("", ""),
        ("a\0b", "/"),
    ],
)
def test_another_source_is_left_alone(recorded: str, value: str) -> None:
    assert not is_from(recorded, asked(value))


def test_only_files_and_folders_are_paths() -> None:
    assert [is_path(recorded) for recorded in ("a", "a/b", "mcp", "cli", "ssh://x", "")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
