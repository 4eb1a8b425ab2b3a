"""A store that version 0.1 wrote is opened, read back unchanged, and written to by the present code."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.config.settings import Config
from tacit.domain.identity import canonical
from tacit.domain.ledger import LedgerEntry, UsageSignal
from tacit.domain.lifecycle import Status
from tacit.features.cards.card import Backport, Card, CardEvent, Recommendation, Signal
from tacit.features.people.ledger_entries import Assumption, Choice, Forecast, Moment
from tacit.features.train.adapter import Activation, Adapter, Judgement
from tacit.store import Store, open_store
from tacit.store.audit import Anchors, anchor_of
from tests.person import give_key

STORES = Path(__file__).parent / "stores"
ENTRY_TYPES: tuple[type[LedgerEntry], ...] = (
    Activation, Adapter, Assumption, Backport, Card, CardEvent, Choice, Forecast, UsageSignal, Judgement, Moment,
    Recommendation, Signal,
)  # fmt: skip


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What version 0.1 read from the store."""
    found: dict[str, Any] = json.loads((STORES / "schema_8.json").read_text())
    return found


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "tacit.db"
    file.write_bytes(gzip.decompress((STORES / "schema_8.db.gz").read_bytes()))
    return file


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


def _record(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def test_it_is_intact(store: Store) -> None:
    assert list(store.verify()) == []


def test_skills_read_back_with_the_same_ids_hashes_and_statuses(store: Store, expected: dict[str, Any]) -> None:
    versions = store.catalogue()
    assert {
        stored.version.id: {
            "skill": stored.skill.id,
            "hash": stored.version.hash,
            "name": stored.version.name,
            "status": str(stored.status),
            "record": _record(stored.version),
        }
        for stored in versions
    } == expected["versions"]
    assert all(stored.version.content.hash() == stored.version.hash for stored in versions)
    assert all(stored.version.content_id() == stored.version.id for stored in versions)
    ids = [stored.version.id for stored in versions]
    assert {each: [*map(_record, store.transitions(each))] for each in ids} == expected["transitions"]
    assert {each: [*map(_record, store.approvals(each))] for each in ids} == expected["approvals"]
    found = store.evidence(ids)
    assert {each: [*map(_record, found[each])] for each in ids} == expected["evidence"]


def test_attempts_and_verdicts_read_back(store: Store, expected: dict[str, Any]) -> None:
    episodes = store.episodes()
    assert [*map(_record, episodes)] == expected["episodes"]
    assert {each.id: _record(store.trajectory(each.id)) for each in episodes} == expected["trajectories"]
    assert store.outlines.all() == []  # of an earlier version, so they are made again
    assert store.outlines.missing()
    assert [*map(_record, store.verdicts())] == expected["verdicts"]
    assert [*map(_record, store.uses())] == expected["uses"]


def test_remarks_and_ledger_entries_read_back(store: Store, expected: dict[str, Any]) -> None:
    assert [*map(_record, store.remarks())] == expected["remarks"]
    entries = {kind.SORT: store.entries(kind) for kind in ENTRY_TYPES}
    assert {name: [*map(_record, found)] for name, found in entries.items()} == expected["entries"]
    assert all(entry.content_id() == entry.id for found in entries.values() for entry in found)


def test_notes_passages_bookmarks_and_vectors_read_back(store: Store, expected: dict[str, Any]) -> None:
    at = datetime.fromisoformat(expected["at"])
    notes = [note for session in ("s1", "s2") for note in store.notes.list(session, at=at)]
    assert [*map(_record, notes)] == expected["notes"]
    assert all(note.content_id() == note.id for note in notes)
    assert {version: [*map(_record, store.passages.of(version))] for version in expected["passages"]} == expected[
        "passages"
    ]
    assert _record(store.bookmarks.get("logs/one.jsonl")) == expected["bookmark"]
    assert store.vectors.spaces() == expected["spaces"]
    near = store.vectors.nearest(struct.pack("<3f", 1, 0, 1), space="tiny:0f1e")
    assert [hit.stored.version.id for hit in near] == expected["nearest"]


def test_backups_tombstones_and_the_audit_chain_read_back(store: Store, expected: dict[str, Any]) -> None:
    assert [*map(_record, store.tombstones())] == expected["tombstones"]
    assert [*map(_record, store.backups())] == expected["backups"]
    history = store.history()
    assert len(history) == expected["links"]
    assert history[-1].hash == expected["head"]


@pytest.mark.usefixtures("locked")
def test_recall_finds_the_same_skills_until_there_is_a_signer(
    database: Path, expected: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_HOME", str(tmp_path / "home"))
    with closing(open_store(database)) as store:  # it was used from this home before
        Anchors(tmp_path / "home").write(store.path, anchor_of(store.connection, at=datetime.now(UTC)))
    with tacit.open(database, config=Config()) as memory:
        selection = memory.recall(expected["task"], k=2, scope="project:invoice-app")
        assert [item.version_id for item in selection.items] == expected["recalled"]
    give_key(tmp_path / "home")
    with tacit.open(database, config=Config()) as memory:
        assert memory.recall(expected["task"], k=2, scope="project:invoice-app").abstained
        assert {each.version.id for each in memory.reviews.waiting()} >= set(expected["recalled"])


def test_it_goes_on(store: Store, expected: dict[str, Any]) -> None:
    stored = store.version(expected["recalled"][0])
    at = datetime.fromisoformat(expected["at"]) + timedelta(days=1)
    store.add_transition(stored.transition_to(Status.RETIRED, "outdated", by="ana", at=at))
    assert store.version(stored.version.id).status is Status.RETIRED
    assert store.reindex() > 0
    assert list(store.verify()) == []
    assert len(store.history()) == expected["links"] + 1
