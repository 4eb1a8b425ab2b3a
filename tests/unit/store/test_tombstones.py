"""What stays of purged records: one stone each, found again by its id, and missed where it is taken away."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.archive import Tombstone
from tacit.store.audit import Audit
from tacit.store.connection import Connection
from tacit.store.reindex import unguarded
from tacit.store.migrations import migrate
from tacit.store.connection import Damaged
from tacit.store.schema import MIGRATIONS
from tacit.store.tombstones import SINCE, Tombstones
from tests.unit.store.samples import at

STONE = Tombstone(id="v_1", by="ana", at=at(3), survivors=("t_2",))


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    made = Connection(tmp_path / "tacit.db")
    migrate(made, MIGRATIONS)
    return made


@pytest.fixture
def stones(connection: Connection) -> Tombstones:
    return Tombstones(connection, Audit(connection))


def test_a_stone_is_found_by_its_id_and_signed_in_the_chain(connection: Connection, stones: Tombstones) -> None:
    stones.add(STONE)
    assert stones.find("v_1") == STONE
    assert stones.find("v_2") is None
    [link] = Audit(connection).links()
    event = link.event
    assert (event.action, event.subject, event.record, event.actor) == ("tombstone", "v_1", "tombstones/v_1", "ana")
    assert event.at == "2026-01-01T12:03:00.000000+00:00"
    assert event.digest == connection.single("SELECT seal FROM tombstones")


def test_stones_are_told_oldest_first_and_each_is_set_once(stones: Tombstones) -> None:
    other = replace(STONE, id="session:s/1", at=at(1))
    for stone in (STONE, other, replace(STONE, by="bob")):
        stones.add(stone)
    assert stones.all() == [STONE, other]


def test_a_stone_without_a_zone_is_refused(stones: Tombstones) -> None:
    with pytest.raises(Mistake, match="has no zone"):
        stones.add(replace(STONE, at=datetime(2026, 1, 1)))  # noqa: DTZ001


def test_a_stone_that_was_taken_away_is_missed(connection: Connection, stones: Tombstones) -> None:
    stones.add(STONE)
    stones.add(replace(STONE, id="v_2"))
    with connection.writing(), unguarded(connection, "tombstones"):
        connection.run("DELETE FROM tombstones WHERE id = 'v_1'")
    with pytest.raises(Damaged) as found:
        stones.find("v_1")
    assert (found.value.subject, found.value.problem) == ("tombstones v_1", "is missing")
    with pytest.raises(Damaged, match="tombstones v_1 is missing"):
        stones.add(STONE)
    assert stones.find("v_3") is None


def test_in_a_store_from_before_there_were_stones_nothing_was_purged(tmp_path: Path) -> None:
    old = Connection(tmp_path / "old.db")
    migrate(old, MIGRATIONS[: SINCE - 1])
    stones = Tombstones(old, Audit(old), schema=SINCE - 1)
    assert stones.find("v_1") is None
    assert stones.all() == []
