"""A write-ahead log that is cut, flipped or zeroed anywhere: a clean prefix is left, and the anchor tells of the lost tail."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import apsw
import pytest

from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.store import open_store
from tests.unit.store.samples import approval, evidence, put_version, step_to

TRIALS = 100 if os.environ.get("TACIT_TEST_KILLS") else 12
SKILLS = 8


def write(path: Path, home: Path) -> None:
    """Approve some skills, the log not being taken into the file; the store is anchored when it is closed."""
    store = open_store(path, home=home)
    for number in range(SKILLS):
        stored = put_version(store, f"skill-{number}", status=Status.CANDIDATE)
        with store.transaction():
            store.add(approval(stored, minutes=number))
            store.add_transition(step_to(stored, Status.TRIAL))
        store.add(evidence(stored.version.id, minutes=number))
    store.close()


@pytest.mark.parametrize("harm", ["cut", "flip", "zero"])
def test_a_torn_log_leaves_a_clean_prefix_and_the_anchor_tells_what_is_lost(harm: str, tmp_path: Path) -> None:
    path, home, kept = tmp_path / "tacit.db", tmp_path / "home", tmp_path / "kept"
    open_store(path, home=home).close()
    holder = apsw.Connection(str(path))  # while it has the file open, closing does not take the log in
    holder.execute("SELECT count(*) FROM audit").fetchall()
    holder.execute("BEGIN; SELECT count(*) FROM audit").fetchall()  # nor does writing
    write(path, home)
    kept.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", kept / f"db{end}")
    holder.close()
    log, chooser = (kept / "db-wal").read_bytes(), random.Random(harm)
    lost = 0
    for trial in range(TRIALS):
        shutil.copytree(home, tmp_path / f"home-{trial}")
        for leftover in tmp_path.glob("tacit.db*"):
            leftover.unlink()
        shutil.copy(kept / "db", path)
        Path(f"{path}-wal").write_bytes(harmed(log, harm, chooser))
        lost += clean_prefix(path, tmp_path / f"home-{trial}")
        shutil.rmtree(tmp_path / f"home-{trial}")
    assert lost >= TRIALS // 10  # zeros over zeros harm nothing


def harmed(log: bytes, harm: str, chooser: random.Random) -> bytes:
    place = chooser.randrange(len(log))
    if harm == "cut":
        return log[:place]
    damaged = bytearray(log)
    if harm == "flip":
        damaged[place] ^= 1 << chooser.randrange(8)
    else:
        damaged[place : place + 100] = bytes(len(damaged[place : place + 100]))
    return bytes(damaged)


def clean_prefix(path: Path, home: Path) -> bool:
    """Check that what is left is whole; returns whether something was lost, which `verify` must then tell."""
    store = open_store(path, home=home)
    anchor = store.anchor()
    assert anchor is not None
    history = store.history()
    assert [entry.sequence for entry in history] == list(range(1, len(history) + 1))
    is_cut = len(history) < anchor.sequence
    assert [damage.subject for damage in store.verify()] == (["the audit chain"] if is_cut else [])
    held = store.catalogue()
    assert [stored.version.name for stored in held] == [f"skill-{number}" for number in range(len(held))]
    assert all(store.approvals(stored.version.id) for stored in held if stored.status in RECALLABLE)
    assert is_cut or len(held) == SKILLS
    store.close()
    return is_cut
