"""Every schema that was ever released is brought to the newest one, and kill -9 at any statement leaves the old or the new.

All statements with TACIT_TEST_KILLS, a spread of them otherwise.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import apsw
import pytest

from tacit.domain.lifecycle import Status
from tacit.features.cards.card import Card
from tacit.store import Store, open_store
from tacit.store.hook_index import HookIndex
from tacit.store.schema import MIGRATIONS
from tests.faults.test_bit_flips import Vandal
from tests.unit.store.samples import (
    SUCCESS,
    approval,
    at,
    bookmark,
    card,
    evidence,
    passages,
    put_version,
    remark,
    rendering,
    session_note,
    step_to,
    trajectory,
    use,
    verdict,
)

ALL = bool(os.environ.get("TACIT_TEST_KILLS"))
NEWEST = len(MIGRATIONS)
RELEASED = range(1, NEWEST)
USE = partial(use, session_id="s1")


def released(path: Path, number: int) -> str:
    """A store as an earlier program left it, with some of everything that its schema has; returns a version's id."""
    store = Store(path, migrations=MIGRATIONS[:number])
    store.add_trajectory(trajectory(), SUCCESS, at=at())
    stored = put_version(store)
    store.add(verdict(version_id=stored.version.id, trajectory_ids=(trajectory().id,)))
    store.add(USE(stored.version.id))
    store.add(USE(stored.version.id, session_id="", minutes=3))
    store.add(evidence(stored.version.id))
    store.mark_learned(trajectory().id, at=at(5))
    if number >= 2:
        store.bookmarks.put(bookmark())
    if number >= 5:
        store.add_transition(step_to(stored, Status.TRUSTED))
        if number >= 10:  # earlier ones had other columns, and are made again
            store.renderings.put(rendering(stored.version.id, person="ann"))
    if number >= 7:
        store.add(remark(stored.version.id, minutes=-1))
    store.close()
    return stored.version.id


def schema_in(path: Path) -> int:
    raw = apsw.Connection(str(path))
    number = int(raw.pragma("user_version"))
    raw.close()
    return number


@pytest.mark.parametrize("number", RELEASED)
def test_a_store_of_every_released_schema_is_upgraded_and_keeps_everything(number: int, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    version_id = released(path, number)
    store = open_store(path)
    stored = store.version(version_id)
    assert store.trajectory(trajectory().id) == trajectory()
    assert store.evidence([version_id]) == {version_id: [evidence(version_id)]}
    assert store.approvals(version_id) == []  # nobody had kept any
    store.add(approval(stored))
    assert store.uses() == store.uses(version_id=version_id)
    assert [shown.session_id for shown in store.uses()] == ["s1", ""]
    assert store.uses(session_id="s1") == store.uses()[:1]
    assert len(store.remarks()) == (1 if number >= 7 else 0)
    assert store.add(remark(version_id))
    assert not any((store.entries(Card), store.passages.of(version_id), store.notes.list("s1", at=at())))
    assert store.add(card(sources=(version_id,)))
    store.passages.put(version_id, passages("measured on one page"))
    assert [found.stored for found in store.passages.search(["measur"])] == [stored]
    store.notes.put(session_note())
    assert store.renderings.missing() == ([version_id] if number < 10 else [])  # hooks see it once it is rendered again
    assert store.backup(tmp_path / "backup.db").schema == NEWEST
    assert list(store.verify()) == []
    store.close()
    assert schema_in(path) == NEWEST
    assert schema_in(tmp_path / f"tacit.db.before-{NEWEST}.bak") == NEWEST - 1


@pytest.mark.parametrize("number", range(1, NEWEST + 1))
def test_hooks_read_the_newest_schema_and_nothing_of_others(number: int, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    released(path, number)
    hook_index = HookIndex.open(str(path))
    assert (hook_index is None) == (number < NEWEST)
    if hook_index is not None:
        assert [each.person for each in hook_index.index(5)] == ["ann"]
        assert hook_index.damaged == []
        hook_index.close()


@pytest.mark.parametrize("record", [b"\xff", b"[]", b"{}", b'{"version_ids":[7]}', b'{"version_ids":5}'])
def test_what_was_damaged_before_an_upgrade_is_reported_after_it(record: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    released(path, 6)
    vandal = Vandal(path)
    vandal.put("uses", 1, "record", record)
    vandal.database.close()
    store = open_store(path)
    assert "uses" in "".join(damage.subject for damage in store.verify())
    store.close()


def opened_until(path: Path, deadly: int) -> int:
    """Open a store in a child that dies before its n-th statement (0: never); returns how many there were."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        passed = 0

        def see(*_: object) -> bool:
            nonlocal passed
            passed += 1
            if passed == deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            return True

        apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(see))
        try:
            open_store(path)
            os.write(writing, str(passed).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as reported:
        text = reported.read()
    os.waitpid(child, 0)
    return int(text or 0)


@pytest.mark.parametrize("number", RELEASED)
def test_an_upgrade_that_is_killed_leaves_old_or_new_and_the_next_opening_converges(
    number: int, tmp_path: Path
) -> None:
    whole, warm = tmp_path / "whole.db", tmp_path / "warm.db"
    released(whole, number)
    original = whole.read_bytes()
    warm.write_bytes(original)
    open_store(warm).close()  # what is found out once and kept would be counted by the first child only
    total = opened_until(whole, 0)
    assert total > 10
    for deadly in range(1, total + 1) if ALL else range(1 + number, total + 1, total // 4):  # elsewhere in each schema
        path = tmp_path / f"{deadly}.db"
        path.write_bytes(original)
        assert opened_until(path, deadly) == 0
        assert number <= schema_in(path) <= NEWEST
        store = open_store(path)
        assert store.trajectory(trajectory().id) == trajectory()
        assert list(store.verify()) == []
        store.close()
        assert schema_in(path) == NEWEST
