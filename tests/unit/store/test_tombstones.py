"""Tombstones of purged records: found by id, audited, and reported when they are missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from tacit.domain.archive import Tombstone
from tacit.domain.errors import Mistake
from tacit.store.audit import Audit
from tacit.store.connection import Connection
from tacit.store.damage import StoreDamaged
from tacit.store.migrations import migrate
from tacit.store.record_log import TOMBSTONES_SINCE, RecordLog
from tacit.store.schema import MIGRATIONS
from tacit.store.word_index import without_triggers
from tests.raising import raises
from tests.unit.store.samples import at

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
    event = link.event
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
