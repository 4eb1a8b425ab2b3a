"""Thirty-two processes write to one new store at once: nothing is lost, nobody is reported "locked", the chain has no gap.

A hundred writes of each with TACIT_TEST_KILLS, a few otherwise.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tacit.domain.errors import StoreOutage
from tacit.store import Store, open_store
from tests.raising import raises
from tests.unit.store.samples import at, fill, put_version, use

PROCESSES = 32
WRITES = 100 if os.environ.get("TACIT_TEST_KILLS") else 15
ROOT = Path(__file__).parents[2]

WRITER = """
import sys
from tacit.store import open_store
from tests.faults.together import tell, together
from tests.unit.store.samples import birth_of, content, use, version_of, at
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Scope
from tacit.domain.skill import Skill

path, processes, writes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
what = content("shared")
skill = Skill.create(what, Scope(), at=at())
version = version_of(skill, what)

def work(number):
    store = open_store(path)
    store.add_version(skill, version, birth_of(version, Status.TRIAL))
    for index in range(writes):
        store.add(use(version.id, id=f"u_{number}_{index}"))
        tell(f"u_{number}_{index}")
    store.close()

together(processes, work)
"""


def start(path: Path, *, processes: int, writes: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(processes), str(writes)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )  # fmt: skip


def test_32_processes_creating_and_filling_one_store_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tacit.db"
    writers = start(path, processes=PROCESSES, writes=WRITES)
    output, errors = writers.communicate(timeout=600)
    assert (writers.returncode, errors) == (0, "")
    acknowledged = set(output.split())
    store = open_store(path)
    try:
        assert len(acknowledged) == PROCESSES * WRITES
        assert all(store.use(identity).id == identity for identity in acknowledged)
        assert store.counts().versions == 1
        assert [entry.sequence for entry in store.history()] == list(range(1, len(acknowledged) + 3))
        assert list(store.verify()) == []
    finally:
        store.close()


def test_a_store_that_stays_locked_is_a_retryable_outage(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    holder = open_store(path)
    waiting = Store(path, patience_s=0.3)
    with holder.transaction(), raises(StoreOutage, "store_locked") as caught:
        waiting.add(use("v_1"))
    assert caught.value.retryable
    waiting.add(use("v_1"))
    assert waiting.use(use("v_1").id) == use("v_1")
    holder.close()
    waiting.close()


def test_a_reader_is_not_held_up_by_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    writer, reader = open_store(path), Store(path, patience_s=0.2)
    stored = fill(writer)
    with writer.transaction():
        put_version(writer, "unfinished")
        assert [found.version.id for found in reader.catalogue()] == [stored.version.id]
    assert len(reader.catalogue()) == 2
    writer.close()
    reader.close()


def test_a_backup_taken_among_writers_verifies(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = open_store(path)
    writers = start(path, processes=3, writes=40)
    assert writers.stdout
    written = [writers.stdout.readline()]  # they are at it
    taken: list[tuple[Path, int]] = []
    while writers.poll() is None and len(taken) < 5:
        known = store.counts().uses
        target = tmp_path / f"backup{len(taken)}.db"
        store.backup(target)
        taken.append((target, known))
    written += writers.stdout.readlines()
    assert (len(written), writers.communicate()[1], writers.returncode) == (3 * 40, "", 0)
    assert taken
    for target, known in taken:
        copy = open_store(target)
        assert copy.counts().uses >= known
        assert list(copy.verify()) == []
        copy.close()
    store.close()


def test_a_store_may_not_be_used_across_a_fork(tmp_path: Path) -> None:
    store = open_store(tmp_path / "tacit.db")
    child = os.fork()
    if child == 0:
        try:
            store.add(use("v_1", minutes=1))
        except StoreOutage:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    store.add(use("v_1"))
    assert store.history()[-1].at == at()
    store.close()
