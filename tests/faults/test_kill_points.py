"""kill -9 before every statement, commit and file change of a whole life of a store: nothing acknowledged is ever lost.

The life: attempts are captured and learned from, a person approves, a skill is recalled and an outcome recorded, a backup is
made, a session is purged with its copies, and the backup is put back. The n-th point of it is where a child dies; its parent
then opens what is left. All points with TACIT_TEST_KILLS, a spread of them otherwise.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.domain.archive import Source, SourceKind
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.trajectory import Claim, Environment, Role, Step, StepResult, Task, Trajectory
from tacit.store import Store, open_store
from tacit.store.restore import check_backup, restore_backup
from tests.faults.points import Points
from tests.unit.making import NOW, ONE_RUN

ALL = bool(os.environ.get("TACIT_TEST_KILLS"))
CHUNKS = 4
SPREAD = 32

Tell = Callable[[str], None]


COMMANDS = {
    "balance": ("make export", "make balance", "git add ledger.csv", "pytest -q tests/ledger"),
    "close": ("npm ci", "npm run close", "docker compose build", "npm test"),
}


def attempt_at(word: str, session: str) -> Trajectory:
    """A verified success of a few commands."""
    text = f"please {word} the ledger and run the tests"
    steps = [Step(index=0, role=Role.USER, text=text)]
    for at, command in enumerate(COMMANDS[word], start=1):
        made: dict[str, Any] = {"arguments": {"command": command}, "result": StepResult.OK, "exit_code": 0}
        steps.append(Step(index=at, role=Role.AGENT, tool="Bash", **made))
    return Trajectory(
        task=Task(text=text, project="ledger"),
        steps=tuple(steps),
        environment=Environment(client="claude-code", workspace="/srv/ledger"),
        claim=Claim(result="success", verified_by="pytest -q"),
        session_id=session,
    )


def live(folder: Path, tell: Tell) -> None:
    """The whole life; tells of everything that was acknowledged."""
    place = StoreLocation(database=str(folder / "tacit.db"), project=folder, chosen_by="a test")
    with Tacit(
        open_store(place.database, home=folder / "home"), config=ONE_RUN, place=place, clock=lambda: NOW
    ) as loop:
        for word in ("balance", "close"):
            for identity in loop.capture(attempt_at(word, f"session-{word}"), trust_outcomes=True).added:
                tell(f"captured {identity}")
        loop.learn()
        tell("learned -")
        for stored in loop.reviews.waiting():
            ticked = [each.key for each in loop.reviews.examine(stored.version.id).external_values]
            loop.review(stored.version.id, "approve", by="ana", ticked=ticked)
            tell(f"approved {stored.version.id}")
        given = loop.recall("balance the ledger and run the tests")
        tell(f"used {given.use_id}")
        for piece in loop.record(given.use_id, outcome="success", by="ana"):
            tell(f"recorded {piece.id}")
        loop.archive.backup(folder / "backup.db")
        tell("backed-up -")
        plan = loop.archive.descent(Source(kind=SourceKind.SESSION, value="session-close"))
        loop.archive.purge(plan, by="ana", backups=True)
        tell(f"purged {attempt_at('close', 'session-close').id}")
    restore_backup(folder / "backup.db", place.database, by="ana", at=NOW, home=folder / "home")
    tell("restored -")


def run_until(deadly: int, folder: Path) -> tuple[list[str], int]:
    """Live until the n-th point (0: to the end); returns what was acknowledged, and how many points there were."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        points = Points(deadly, folder)
        try:
            os.close(reading)
            points.watch()
            live(folder, lambda line: _write(writing, line))
            _write(writing, f"points {points.count}")
        except BaseException as error:  # reported to the parent, which fails
            _write(writing, f"failed {error!r}")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        reported = lines.read().splitlines()
    os.waitpid(child, 0)
    assert not any(line.startswith("failed") for line in reported), reported[-1]
    ends = [int(line.split()[1]) for line in reported if line.startswith("points")]
    return [line for line in reported if not line.startswith("points")], ends[0] if ends else 0


def _write(handle: int, line: str) -> None:
    os.write(handle, f"{line}\n".encode())


@pytest.fixture(scope="module")
def total(tmp_path_factory: pytest.TempPathFactory) -> int:
    with scratch(tmp_path_factory.mktemp("warm")) as folder:
        live(folder, lambda _: None)  # what is loaded or found out once need not be so in each of a thousand children
    with scratch(tmp_path_factory.mktemp("whole")) as folder:
        reported, points = run_until(0, folder)
        check(folder, reported)
    assert [line.split()[0] for line in reported][-3:] == ["backed-up", "purged", "restored"]
    assert sum(line.startswith("approved") for line in reported) >= 1
    return points


class scratch:  # noqa: N801 - used as a statement
    """A folder in memory where there is one: dying by kill does not depend on the disk, and a thousand lives are many."""

    def __init__(self, fallback: Path) -> None:
        memory = Path("/dev/shm")
        self.path = Path(tempfile.mkdtemp(prefix="tacit-kill-", dir=memory if memory.is_dir() else fallback))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *exception: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def check(folder: Path, reported: list[str]) -> None:
    """Open what is left: all that was acknowledged is there, and nothing stands without what it rests on."""
    acknowledged: dict[str, set[str]] = {}
    for line in reported:
        event, identity = line.split(" ", 1)
        acknowledged.setdefault(event, set()).add(identity)
    store = open_store(folder / "tacit.db", home=folder / "home")
    try:
        assert list(store.verify()) == []
        check_records(store, acknowledged)
        assert [entry.sequence for entry in store.history()] == list(range(1, len(store.history()) + 1))
        for stored in store.catalogue(statuses=RECALLABLE):
            assert store.approvals(stored.version.id), "a recallable version that nobody approved"
            assert store.transitions(stored.version.id)[-1].after in RECALLABLE
    finally:
        store.close()
    backup = folder / "backup.db"
    if "backed-up" in acknowledged or (backup.exists() and (folder / "backup.db.manifest.json").exists()):
        problems = {damage.code for damage in check_backup(backup).damage}
        # between a purged backup and its new manifest the two differ; what is in the backup is whole all the same
        assert problems <= {"manifest_mismatch"}, problems
        assert not problems or "purged" not in acknowledged


def check_records(store: Store, acknowledged: dict[str, set[str]]) -> None:
    purged = {identity for identity in acknowledged.get("captured", set()) if store.tombstones(identity)}
    assert acknowledged.get("purged", set()) <= purged
    episodes = {episode.id for episode in store.episodes()}
    assert acknowledged.get("captured", set()) == (episodes & acknowledged.get("captured", set())) | purged
    assert not episodes & purged
    for identity in acknowledged.get("captured", set()) - purged:
        assert store.trajectory(identity).id == identity
    held = {stored.version.id: stored for stored in store.catalogue()}
    for version_id in acknowledged.get("approved", set()):
        if version_id in held:
            assert held[version_id].status in RECALLABLE
            assert store.approvals(version_id)
        else:
            assert store.tombstones(version_id)
    kept = {piece.id for pieces in store.evidence(held).values() for piece in pieces}
    lost = acknowledged.get("recorded", set()) - kept
    assert not lost or purged  # evidence of a run that was shown something purged goes with it


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_nothing_acknowledged_is_lost_wherever_a_process_dies(chunk: int, total: int, tmp_path: Path) -> None:
    assert total >= 1000
    every = range(1, total + 1) if ALL else range(1, total + 1, max(1, total // SPREAD))
    for deadly in every[chunk::CHUNKS]:
        with scratch(tmp_path) as folder:
            reported, _ = run_until(deadly, folder)
            if (folder / "tacit.db").exists():
                check(folder, reported)
            else:
                assert reported == []
