"""Backups are looked at without being changed, put back whole, and bring nothing back that was purged."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from tacit.domain.archive import Purge, Source, SourceKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound, StoreOutage
from tacit.store import Store, open_store
from tacit.store import restore as purge_plan
from tacit.store.audit import Anchors
from tacit.store.restore import Restored, check_backup, restore_backup
from tacit.store.schema import MIGRATIONS
from tests.contract.test_store_trust import MARKER, captured, learned, of, purge
from tests.raising import raises
from tests.unit.store.samples import SUCCESS, at, fill, put_version, trajectory


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store" / "tacit.db"


@pytest.fixture
def store(place: Path, tmp_path: Path) -> Iterator[Store]:
    opened = open_store(place, home=tmp_path / "home")
    yield opened
    opened.close()


def restored(backup: Path, place: Path, tmp_path: Path, *options: str) -> Restored:
    return restore_backup(backup, str(place), by="ana", at=at(90), home=tmp_path / "home", options=options)[1]


def test_the_restore_drill(store: Store, place: Path, tmp_path: Path) -> None:
    kept = fill(store)
    backup = tmp_path / "backup.db"
    store.backup(backup)
    later = put_version(store, "later")
    assert check_backup(backup).damage == ()
    done = restored(backup, place, tmp_path)
    assert store.catalogue() == [kept]  # the same open connection sees the restored state
    assert store.history()[-1].action == "restore"
    assert list(store.verify()) == []
    put_version(store, "after")
    again = open_store(place, home=tmp_path / "home")
    assert sorted(s.version.name for s in again.catalogue()) == ["after", kept.version.name]
    assert list(again.verify()) == []
    again.close()
    assert done.aside is not None
    aside = open_store(done.aside)
    assert aside.version(later.version.id) == later
    assert list(aside.verify()) == []
    aside.close()


def test_looking_changes_nothing_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    fill(store)
    folder = tmp_path / "backups"
    store.backup(folder / "b.db")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert check_backup(folder / "b.db").damage == ()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_changed_backup_is_seen_and_not_restored(store: Store, place: Path, tmp_path: Path) -> None:
    fill(store)
    backup = tmp_path / "b.db"
    store.backup(backup)
    before, chooser = backup.read_bytes(), random.Random(7)
    for _ in range(20):
        data = bytearray(before)
        data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
        backup.write_bytes(data)
        assert any(
            damage.code == "manifest_mismatch" or damage.subject == "the file" for damage in check_backup(backup).damage
        )
        with pytest.raises(StoreOutage):
            restored(backup, place, tmp_path)
    assert list(store.verify()) == []


@pytest.mark.parametrize("harm", ["{", "[]", '{"sha256": 3}'])
def test_a_manifest_that_is_none_is_damage(store: Store, place: Path, tmp_path: Path, harm: str) -> None:
    backup = tmp_path / "b.db"
    store.backup(backup)
    (tmp_path / "b.db.manifest.json").write_text(harm)
    assert [damage.subject for damage in check_backup(backup).damage] == ["the manifest"]
    with raises(StoreOutage, "backup_damaged"):
        restored(backup, place, tmp_path)


@pytest.mark.parametrize(("name", "value"), [("head", "0" * 64), ("sequence", 1), ("store_id", "x"), ("schema", 5)])
def test_a_manifest_that_tells_something_else_is_damage(store: Store, tmp_path: Path, name: str, value: object) -> None:
    fill(store)
    backup = tmp_path / "b.db"
    store.backup(backup)
    file = tmp_path / "b.db.manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))
    assert [damage.code for damage in check_backup(backup).damage] == ["manifest_mismatch"]


def test_a_backup_without_a_manifest_is_restored_only_if_that_is_wanted(
    store: Store, place: Path, tmp_path: Path
) -> None:
    kept = fill(store)
    backup = tmp_path / "b.db"
    store.backup(backup)
    (tmp_path / "b.db.manifest.json").unlink()
    with raises(Mistake, "no_manifest"):
        restored(backup, place, tmp_path)
    restored(backup, place, tmp_path, "without-manifest")
    assert store.catalogue() == [kept]


def test_what_is_no_backup_is_refused(store: Store, place: Path, tmp_path: Path) -> None:
    with raises(Mistake, "same_file"):
        restored(place, place, tmp_path)
    with pytest.raises(NotFound):
        restored(tmp_path / "none.db", place, tmp_path)
    (tmp_path / "text").write_text("not a database, but long enough to be looked at as one" * 20)
    (tmp_path / "empty").touch()
    apsw.Connection(str(tmp_path / "other.db")).execute("CREATE TABLE t (x)").fetchall()
    for name in ("text", "empty", "other.db"):
        with pytest.raises(StoreOutage):
            restored(tmp_path / name, place, tmp_path, "without-manifest")


@pytest.mark.parametrize("number", range(1, len(MIGRATIONS)))
def test_a_backup_of_every_earlier_schema_is_upgraded_as_it_is_restored(
    store: Store, place: Path, tmp_path: Path, number: int
) -> None:
    old = Store(tmp_path / "old.db", migrations=MIGRATIONS[:number])
    old.add_trajectory(trajectory(), SUCCESS, at=at())
    old.close()
    restored(tmp_path / "old.db", place, tmp_path, "without-manifest")
    assert store.trajectory(trajectory().id) == trajectory()
    assert list(store.verify()) == []


def test_what_was_purged_since_does_not_come_back_by_restoring(store: Store, place: Path, tmp_path: Path) -> None:
    bad, good = captured(store, f"{MARKER} words", session="bad"), captured(store, "good", session="good")
    learned(store, "gone", bad, description=f"about {MARKER}")
    stays = learned(store, "stays", good)
    backup = tmp_path / "b.db"
    store.backup(backup)
    purge(store, of(SourceKind.SESSION, "bad"))
    done = restored(backup, place, tmp_path)
    assert done.descent.trajectories == (bad.id,)
    assert [s.version.id for s in store.catalogue()] == [stays.version.id]
    assert MARKER.encode() not in bytes_of(place)
    for refused in (bad, trajectory("reported otherwise", session="bad")):
        with pytest.raises(GateRefusal):
            store.add_trajectory(refused, SUCCESS, at=at())
    assert [manifest.path for manifest in store.backups()] == [str(backup)]
    assert list(store.verify()) == []


def test_what_was_learned_again_after_a_purge_survives_a_restore(store: Store, place: Path, tmp_path: Path) -> None:
    bad, good = captured(store, "bad", session="bad"), captured(store, "good", session="good")
    learned(store, "shared", bad, good)
    purge(store, of(SourceKind.SESSION, "bad"))
    again = learned(store, "shared", good)
    store.backup(tmp_path / "b.db")
    restored(tmp_path / "b.db", place, tmp_path)
    assert store.catalogue() == [again]


def test_a_missing_store_is_made_from_its_backup(store: Store, tmp_path: Path) -> None:
    kept = fill(store)
    store.backup(tmp_path / "b.db")
    done = restored(tmp_path / "b.db", tmp_path / "new" / "tacit.db", tmp_path)
    assert done.aside is None
    made = open_store(tmp_path / "new" / "tacit.db", home=tmp_path / "home")
    assert made.catalogue() == [kept]
    assert list(made.verify()) == []
    made.close()


def test_a_store_that_cannot_be_read_at_all_is_moved_aside(store: Store, place: Path, tmp_path: Path) -> None:
    kept = fill(store)
    store.backup(tmp_path / "b.db")
    store.close()
    place.write_bytes(b"garbage" * 1000)
    with raises(StoreOutage, "tombstones_unreadable") as caught:
        restored(tmp_path / "b.db", place, tmp_path)
    assert "--without-tombstones" in caught.value.hint
    done = restored(tmp_path / "b.db", place, tmp_path, "without-tombstones")
    assert done.aside is not None
    assert done.aside.read_bytes() == b"garbage" * 1000
    again = open_store(place, home=tmp_path / "home")
    assert again.catalogue() == [kept]
    assert list(again.verify()) == []
    again.close()


# --- purging copies -------------------------------------------------------------------------------------------------


def bytes_of(place: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(place.parent.glob(f"{place.name}*")))


@pytest.mark.parametrize("seed", [5, 6])
def test_nothing_of_what_was_purged_is_left_in_the_file_or_its_log(store: Store, place: Path, seed: int) -> None:
    """Rows of very different lengths make pages split, and a split leaves copies of rows behind (seed 5 did)."""
    chooser, number = random.Random(seed), random.Random(seed).choice([20, 60, 150])
    chooser.choice([20, 60, 150])
    for each in range(number):
        words = " ".join(
            f"w{chooser.randrange(900)}" for _ in range(chooser.randrange(1, chooser.choice([20, 300, 1500])))
        )
        bad = chooser.random() < chooser.choice([0.1, 0.5])
        marked = f"{MARKER} {words} {MARKER}" if bad else words
        session = "bad" if bad else f"s{each}"
        made = captured(store, f"{marked} {each}", session=session, steps=chooser.randrange(1, 6))
        name = f"{MARKER if bad else 'c'}-{each}"
        learned(store, name, made, description=marked[:800], body=marked * chooser.randrange(1, 4))
    assert MARKER.encode() in bytes_of(place)
    descent = store.descent(of(SourceKind.SESSION, "bad"))
    assert store.purge(descent, by="ana", at=at(60))
    assert MARKER.encode() not in bytes_of(place)
    assert len(store.catalogue()) == number - len(descent.versions)
    assert list(store.verify()) == []


def test_a_reader_in_another_process_keeps_traces_until_it_ends(store: Store, place: Path) -> None:
    captured(store, f"{MARKER} words", session="bad")
    reader = apsw.Connection(str(place))
    reader.execute("BEGIN; SELECT count(*) FROM audit").fetchall()
    quick = Store(place, patience_s=0.2)
    assert not quick.purge(quick.descent(of(SourceKind.SESSION, "bad")), by="ana", at=at())
    assert quick.episodes() == []
    reader.close()
    assert quick.wipe()
    assert MARKER.encode() not in bytes_of(place)
    quick.close()


def test_backups_that_hold_it_are_named_and_purged_too(store: Store, place: Path, tmp_path: Path) -> None:
    captured(store, "clean", session="good")
    store.backup(tmp_path / "clean.db")
    bad = captured(store, f"{MARKER} words", session="bad")
    learned(store, "gone", bad, description=MARKER)
    store.backup(tmp_path / "holds.db")
    store.backup(tmp_path / "removed.db")
    (tmp_path / "removed.db").unlink()
    plan = purge_plan.plan_purge(store, [Source(kind=SourceKind.SESSION, value="bad")], database=str(place))
    assert {Path(copy.path).name: copy.holds for copy in plan.copies} == {"clean.db": 0, "holds.db": 2}
    how = Purge(by="ana", at=at(60))
    erased, copies = purge_plan.purge(store, plan, purge=how, backups=True)
    assert erased
    assert [Path(copy.path).name for copy in copies if copy.purged] == ["holds.db"]
    assert MARKER.encode() not in (tmp_path / "holds.db").read_bytes()
    assert check_backup(tmp_path / "holds.db").damage == ()
    copy = open_store(tmp_path / "holds.db")
    assert [episode.task for episode in copy.episodes()] == ["clean"]
    with pytest.raises(GateRefusal):
        copy.add_trajectory(bad, SUCCESS, at=at())
    copy.close()
    again = purge_plan.plan_purge(store, [Source(kind=SourceKind.SESSION, value="bad")], database=str(place))
    assert not any(each.holds for each in again.copies)


def test_a_purged_backup_stays_the_backup_of_its_day(store: Store, place: Path, tmp_path: Path) -> None:
    captured(store, "bad", session="bad")
    made = store.backup(tmp_path / "holds.db")
    plan = purge_plan.plan_purge(store, [Source(kind=SourceKind.SESSION, value="bad")], database=str(place))
    purge_plan.purge(store, plan, purge=Purge(by="ana", at=at(60)), backups=True)
    manifest = check_backup(tmp_path / "holds.db").manifest
    assert manifest is not None
    assert (manifest.at, manifest.purged_at) == (made.at, at(60))
    assert [each.purged_at for each in store.backups()] == [at(60)]
    assert list(store.verify()) == []


def test_a_restored_store_keeps_the_reason_of_a_purge_that_tombstoned_nothing(
    store: Store, place: Path, tmp_path: Path
) -> None:
    kept = fill(store)
    store.backup(tmp_path / "b.db")
    by = store.approvals(kept.version.id)[0].by
    plan = store.descent(Source(kind=SourceKind.PRINCIPAL, value=by))
    store.purge(
        replace(plan, trajectories=(), versions=(), skills=(), entries=(), hashes={}), by="ana", at=at(5), reason="why"
    )
    done = restored(tmp_path / "b.db", place, tmp_path)
    assert done.descent.is_empty
    assert [stone.reason for stone in store.tombstones()] == ["why"]


def test_a_backup_named_on_the_way_through_another_folder_is_known_once(
    store: Store, place: Path, tmp_path: Path
) -> None:
    captured(store, "bad", session="bad")
    (tmp_path / "sub").mkdir()
    store.backup(tmp_path / "sub" / ".." / "b.db")
    plan = purge_plan.plan_purge(store, [Source(kind=SourceKind.SESSION, value="bad")], database=str(place))
    assert [copy.path for copy in plan.copies] == [str((tmp_path / "b.db").resolve())]


def test_what_a_killed_restore_left_next_to_the_store_goes_with_the_next_purge(
    store: Store, place: Path, tmp_path: Path
) -> None:
    bad = captured(store, f"{MARKER} words", session="bad")
    store.backup(tmp_path / "b.db")
    (tmp_path / "b.db").unlink()  # killed before it appeared
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = place.with_name(f".{place.name}.{int(ended.stdout)}.abc_1.part") / "store.db"
    half = tmp_path / f".b.db.{int(ended.stdout)}.abc_1.part"
    running = place.with_name(f".{place.name}.{os.getpid()}.abc_1.part")
    left.parent.mkdir()
    for path in (left, half, running):
        path.write_text(bad.task.text)
    plan = purge_plan.plan_purge(store, [Source(kind=SourceKind.SESSION, value="bad")], database=str(place))
    purge_plan.purge(store, plan, purge=Purge(by="ana", at=at(60)), backups=False)
    assert [path.exists() for path in (left.parent, half, running)] == [False, False, True]


def test_a_quick_look_finds_a_broken_page_of_a_store_that_still_opens(store: Store, place: Path) -> None:
    fill(store)
    assert list(store.verify(quick=True)) == []
    store.close()
    file = apsw.Connection(str(place))
    [(page, size)] = file.execute(
        "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'uses'"
    ).fetchall()
    file.close()
    data = bytearray(place.read_bytes())
    assert isinstance(page, int)
    assert isinstance(size, int)
    start = (page - 1) * size
    data[start : start + 7] = b"\xff" * 7
    place.write_bytes(data)
    broken = open_store(place)
    assert {damage.subject for damage in list(broken.verify(quick=True))} == {"the file"}
    broken.close()


def test_copies_that_upgrades_and_restores_left_are_known(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    old = Store(path, migrations=MIGRATIONS[:5])
    bad = trajectory(f"{MARKER} words", session="bad")
    old.add_trajectory(bad, SUCCESS, at=at())
    old.close()
    store = open_store(path)
    plan = purge_plan.plan_purge(store, [Source(kind=SourceKind.SESSION, value="bad")], database=str(path))
    assert [Path(copy.path).name for copy in plan.copies if copy.holds] == [
        f"tacit.db.before-{number}.bak" for number in sorted(range(6, len(MIGRATIONS) + 1), key=str)
    ]
    purge_plan.purge(store, plan, purge=Purge(by="ana", at=at()), backups=True)
    assert MARKER.encode() not in bytes_of(path)
    store.close()


# --- anchors --------------------------------------------------------------------------------------------------------


def test_a_store_put_back_by_hand_is_noticed_and_one_restored_is_not(place: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = open_store(place, home=home)
    fill(store)
    store.close()
    old = place.read_bytes()
    store = open_store(place, home=home)
    put_version(store, "later")
    store.close()
    place.write_bytes(old)
    for _ in range(2):  # whatever is written to it: the anchor is not moved
        store = open_store(place, home=home)
        assert [(d.subject, d.code) for d in store.verify()] == [("the audit chain", "chain_rewritten")]
        put_version(store, f"more {_}")
        store.close()


def test_another_store_in_its_place_is_noticed_and_one_rebuilt_is_not(place: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for path in (place, tmp_path / "forged.db"):
        store = open_store(path, home=home)
        fill(store)
        store.close()
    place.write_bytes((tmp_path / "forged.db").read_bytes())
    store = open_store(place, home=home)
    assert [damage.subject for damage in store.verify()] == ["the audit chain"]
    assert list(store.verify(quick=True))
    store.close()
    place.unlink()
    store = open_store(place, home=home)
    assert list(store.verify()) == []
    store.close()


def test_a_store_that_this_home_does_not_know_has_no_anchor(place: Path, tmp_path: Path) -> None:
    store = open_store(place)
    fill(store)
    assert store.anchor() is None
    store.close()
    store = open_store(place, home=tmp_path / "home")
    assert store.anchor() is None
    assert list(store.verify()) == []
    store.close()
    store = open_store(place, home=tmp_path / "home")
    anchor = store.anchor()
    assert anchor is not None
    assert (anchor.sequence, anchor.head) == (len(store.history()), store.history()[-1].hash)
    store.close()


def test_anchors_are_the_owners_only_and_a_broken_one_is_damage(place: Path, tmp_path: Path) -> None:
    store = open_store(place, home=tmp_path / "home")
    fill(store)
    store.close()
    [file] = (tmp_path / "home" / "anchors").iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert str(tmp_path) not in file.read_text()
    for text in ("", "{}", "[]", "[1]", '[{"sequence": "1", "head": "", "store_id": "", "at": "2026-01-01"}]'):
        file.write_text(text)
        store = open_store(place, home=tmp_path / "home")
        assert [damage.subject for damage in store.verify()] == ["the audit chain"], text
        store.close()
        assert file.read_text() == text


def test_a_home_that_cannot_be_written_to_is_no_fault(place: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    store = open_store(place, home=tmp_path / "home")
    fill(store)
    store.close()
    anchors = Anchors(tmp_path / "elsewhere")
    assert anchors.read(str(place)) == ()


def test_a_tombstone_that_was_removed_is_missed(place: Path, tmp_path: Path) -> None:
    store = open_store(place)
    bad = captured(store, "bad", session="s")
    purge(store, of(SourceKind.SESSION, "s"))
    raw = apsw.Connection(str(place))
    raw.execute("DROP TRIGGER tombstones_loses_no_row").fetchall()
    raw.execute("DELETE FROM tombstones").fetchall()
    raw.close()
    with raises(StoreOutage, "missing"):
        store.add_trajectory(replace(bad), SUCCESS, at=at())
    assert any("tombstones" in damage.subject for damage in store.verify())
    store.close()
