"""Versions by name: an index finds them, and an index that has lost one is not believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from tacit.domain.errors import StoreOutage
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.store.sqlite_store import SqliteStore
from tests.raising import raises
from tests.unit.store.samples import put_version


def test_a_name_is_found_in_its_statuses_whatever_else_there_is(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tacit.db")
    for number, status in enumerate((Status.TRIAL, Status.CANDIDATE, Status.TRIAL)):
        put_version(store, "deploy", status=status, body=f"way {number}")
        put_version(store, f"deploy-{number}", status=status)
    found = store.catalogue(statuses=RECALLABLE, name="deploy")
    assert [stored.version.content.body for stored in found] == ["way 0", "way 2"]
    assert len(store.catalogue(name="deploy")) == 3
    assert store.catalogue(name="deplo") == []
    store.close()


def test_an_index_of_names_that_has_lost_an_entry_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = SqliteStore(path)
    for name in ("one", "rollback-release"):
        put_version(store, name)
    store.close()
    raw = apsw.Connection(str(path))
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    found: Any = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'versions_by_name'").fetchall()
    page_size: Any = raw.pragma("page_size")
    raw.close()
    data = bytearray(path.read_bytes())
    entry = data.index(b"rollback-release", (found[0][0] - 1) * page_size)
    data[entry - 1] ^= 8  # the type of the row's number: from "one byte" to "the number one"
    path.write_bytes(data)
    damaged = SqliteStore(path)
    with raises(StoreOutage, "row_count"):
        damaged.catalogue(name="rollback-release")
    damaged.close()
