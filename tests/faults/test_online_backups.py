"""Backups while three processes write: each verifies by itself and holds everything acknowledged before it began.

A hundred with TACIT_TEST_KILLS, a few otherwise.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.store import open_store
from tacit.store.restore import check_backup
from tests.unit.store.samples import approval, put_version, step_to, use

BACKUPS = 100 if os.environ.get("TACIT_TEST_KILLS") else 8
WRITERS = 3
SKILLS = 15
"""Of each writer; then only uses follow, for each backup is checked whole and must not take longer and longer."""
PAUSE_S = 0.1


def keep_writing(path: Path, reported: Path, number: int) -> None:
    """Write for as long as the test lives, noting in a file of its own what was acknowledged."""
    store, parent = open_store(path), os.getppid()
    with reported.open("a") as notes:
        for count in range(1_000_000):
            if os.getppid() != parent:
                return
            if count < SKILLS:
                stored = put_version(store, f"skill-{number}-{count}", status=Status.CANDIDATE)
                with store.transaction():
                    store.add(approval(stored))
                    store.add_transition(step_to(stored, Status.TRIAL))
            shown = use(stored.version.id, id=f"u_{number}_{count}")
            store.add(shown)
            notes.write(f"{shown.id}\n")
            notes.flush()
            time.sleep(PAUSE_S)


def acknowledged(folder: Path) -> set[str]:
    lines = [line for file in folder.glob("reported-*") for line in file.read_text().splitlines(keepends=True)]
    return {line.strip() for line in lines if line.endswith("\n")}


def test_every_backup_under_writers_verifies_and_is_up_to_date(tmp_path: Path) -> None:
    path, children = tmp_path / "tacit.db", []
    open_store(path).close()
    for number in range(WRITERS):
        child = os.fork()
        if child == 0:
            try:
                keep_writing(path, tmp_path / f"reported-{number}", number)
            finally:
                os._exit(1)
        children.append(child)
    try:
        while len(acknowledged(tmp_path)) < WRITERS:
            time.sleep(0.01)
        grown = [take(store_path=path, backup=tmp_path / f"backup-{number}.db") for number in range(BACKUPS)]
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert grown == sorted(grown)
    assert grown[-1] > grown[0]
    store = open_store(path)
    assert list(store.verify()) == []
    assert len(store.backups()) == BACKUPS
    store.close()


def take(*, store_path: Path, backup: Path) -> int:
    """Make one backup and check it; returns how many uses it holds."""
    before = acknowledged(store_path.parent)
    store = open_store(store_path)
    manifest = store.backup(backup)
    store.close()
    assert check_backup(backup).damage == ()
    copy = open_store(backup)
    assert all(copy.use(identity) for identity in before), "something acknowledged before it began is missing"
    assert all(copy.approvals(stored.version.id) for stored in copy.catalogue(statuses=RECALLABLE))
    assert manifest.counts["uses"] == copy.counts().uses >= len(before)
    copy.close()
    for leftover in backup.parent.glob(f"{backup.name}*"):
        leftover.unlink()
    return manifest.counts["uses"]
