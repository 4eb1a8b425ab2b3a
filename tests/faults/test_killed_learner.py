"""A learner killed with SIGKILL at any moment: nothing acknowledged is lost, the store verifies, and learning goes on."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.domain.scope import Level, Scope
from tacit.domain.trajectory import Trajectory
from tacit.ingest import sources
from tacit.store import open_store

KILLS = int(os.environ.get("TACIT_TEST_KILLS", "10"))
"""`make faults` runs 200; every statement at which a life may end is tried in test_kill_points.py."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def learn(database: Path, trajectories: list[Trajectory], acknowledged: int) -> None:
    """Capture and learn, writing each acknowledged id to a pipe."""
    with Tacit(open_store(str(database)), scope=Scope(Level.PROJECT, "killed")) as loop:
        for trajectory in trajectories:
            for identity in loop.capture(trajectory).added:
                os.write(acknowledged, f"{identity}\n".encode())
        loop.learn()
        os.write(acknowledged, b"learned\n")


def killed_after(seconds: float, database: Path, trajectories: list[Trajectory]) -> list[str]:
    """Run the learner in a child, kill it after some time, and return what it had acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            learn(database, trajectories, writing)
        finally:
            os._exit(0)
    os.close(writing)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode().split()


@pytest.fixture(scope="module")
def trajectories() -> Iterator[list[Trajectory]]:
    with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
        yield list(sources.read(folder))


def snapshot(database: Path) -> tuple[list[str], list[tuple[str, str]]]:
    with Tacit(open_store(str(database)), scope=Scope(Level.PROJECT, "killed")) as loop:
        assert loop.archive.verify() == []
        versions = [(s.version.id, s.status.value) for s in loop.context.store.catalogue()]
        return [episode.id for episode in loop.context.store.episodes()], versions


def test_a_killed_learner_loses_nothing_acknowledged_and_goes_on(
    tmp_path: Path, trajectories: list[Trajectory]
) -> None:
    whole = tmp_path / "whole.db"
    started = time.perf_counter()
    reading, writing = os.pipe()
    learn(whole, trajectories, writing)
    os.close(reading)
    os.close(writing)
    took = time.perf_counter() - started
    expected_episodes, expected_versions = snapshot(whole)
    chance = random.Random(20261115)
    finished = 0
    for round_ in range(KILLS):
        database = tmp_path / f"{round_}.db"
        acknowledged: list[str] = []
        while "learned" not in acknowledged:
            acknowledged += killed_after(chance.uniform(0, took * 1.3), database, trajectories)
            if not database.exists():
                continue
            kept, _ = snapshot(database)
            assert {identity for identity in acknowledged if identity.startswith("t_")} <= set(kept)
            if chance.random() < 0.5:  # sometimes let the next run finish undisturbed
                reading, writing = os.pipe()
                learn(database, trajectories, writing)
                os.close(reading)
                os.close(writing)
                break
        episodes, versions = snapshot(database)
        assert sorted(episodes) == sorted(expected_episodes)
        assert sorted(name for name, _ in versions) == sorted(name for name, _ in expected_versions)
        finished += 1
    assert finished == KILLS
