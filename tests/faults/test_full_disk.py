"""A disk that really is full, where a small file system may be mounted: clear outages, and nothing acknowledged is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.domain.archive import Source, SourceKind
from tacit.domain.errors import StoreOutage
from tacit.store import open_store
from tests.unit.store.samples import SUCCESS, approval, at, put_version, trajectory

SIZE = "3m"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip("nothing may be mounted here; test_store_faults limits files instead")
    yield place
    subprocess.run(["umount", str(place)], capture_output=True, check=False)


def fill_up(path: Path, *, session: str) -> set[str]:
    """Capture and approve until there is no space; returns what was acknowledged."""
    store = open_store(path)
    acknowledged: set[str] = set()
    try:
        for number in range(10_000):
            whole = trajectory(f"task {number}", steps=120, session=f"{session}-{number % 2}")
            store.add_trajectory(whole, SUCCESS, at=at())
            acknowledged.add(whole.id)
            stored = put_version(store, f"skill-{number}", body=f"{number} words " * 200)
            store.add(approval(stored))
            acknowledged.add(stored.version.id)
    except StoreOutage as error:
        reported = error
    finally:
        store.close()
    assert reported.code in ("disk_full", "disk_error")
    assert reported.hint
    return acknowledged


def test_a_full_disk_loses_nothing_and_every_verb_says_so(disk: Path) -> None:
    path = disk / "tacit.db"
    acknowledged = fill_up(path, session="s")
    assert len(acknowledged) > 10
    store = open_store(path)
    held = {*(episode.id for episode in store.episodes()), *(stored.version.id for stored in store.catalogue())}
    assert acknowledged <= held
    assert all(store.approvals(stored.version.id) for stored in store.catalogue() if stored.version.id in acknowledged)
    assert list(store.verify()) == []
    with pytest.raises(StoreOutage):
        store.backup(disk / "backup.db")
    assert not (disk / "backup.db").exists()
    assert not list(disk.glob(".backup*"))
    before = store.counts()
    descent = store.descent(Source(kind=SourceKind.SESSION, value="s-0"))
    try:
        store.purge(descent, by="ana", at=at())
    except StoreOutage:
        assert store.counts() == before
    assert list(store.verify()) == []
    store.close()


def test_a_backup_to_a_full_disk_leaves_store_and_disk_as_they_were(disk: Path, tmp_path: Path) -> None:
    store = open_store(tmp_path / "tacit.db")
    for number in range(10):
        put_version(store, f"skill-{number}", body=f"{number} words " * 2_000)
    (disk / "ballast").write_bytes(bytes(2_800_000))
    with pytest.raises(StoreOutage):
        store.backup(disk / "backup.db")
    assert [path.name for path in disk.iterdir()] == ["ballast"]
    assert list(store.verify()) == []
    (disk / "ballast").unlink()
    store.close()
