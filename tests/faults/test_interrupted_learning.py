"""Learning killed with SIGKILL while it distils or compares: what was done is not done again, and the end is the same."""

from __future__ import annotations

import dataclasses
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tacit.api import Tacit
from tacit.domain.trajectory import Claim, Trajectory
from tacit.store import open_store
from tests.faults.points import Points
from tests.unit.learn.attempts import fixed_session, migration
from tests.unit.learn.calls import season

ROUNDS = int(os.environ.get("TACIT_TEST_KILLS", "3"))
MOST_KILLS = 3
"""Of one pass; then it is let finish."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def work() -> list[Trajectory]:
    """Plain calls, shell work of one kind, and errors that several sessions meet."""
    claim = Claim(result="success", score=1.0, verified_by="check")
    visits = [dataclasses.replace(visit, claim=claim, id="") for visit in season()]
    columns = [dataclasses.replace(migration(name), session_id=name, id="") for name in ("due_date", "paid_at", "sent")]
    return [*visits, *columns, *(fixed_session(number) for number in range(1, 4))]


def captured(database: Path) -> None:
    with Tacit(open_store(str(database))) as loop:
        loop.capture(work(), trust_outcomes=True)


def learn(database: Path) -> None:
    with Tacit(open_store(str(database))) as loop:
        loop.learn()


def learn_until(deadly: int, database: Path) -> int:
    """Learn in a child that dies at the n-th statement; returns how many there were, and 0 if it died."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        points = Points(deadly, database.parent)
        try:
            points.watch()
            learn(database)
            os.write(writing, str(points.count).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        count = told.read()
    os.waitpid(child, 0)
    return int(count or 0)


def state(database: Path) -> dict[str, Any]:
    """All that learning left behind, without times."""
    with Tacit(open_store(str(database))) as loop:
        assert loop.archive.verify() == []
        return {
            "versions": Counter(
                (held.version.id, held.status, held.version.parents) for held in loop.context.store.catalogue()
            ),
            "skills": {held.version.name: held.version.hash for held in loop.skills()},
            "outlines": [outline.trajectory_id for outline in loop.context.store.outlines.all()],
            "left": (
                loop.context.store.episodes(unlearned=True),
                loop.context.store.outlines.unmined(),
                loop.context.store.outlines.missing(),
            ),
            "done": Counter(entry.action for entry in loop.archive.history()),
        }


def test_a_pass_killed_at_any_moment_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    captured(whole)
    points = learn_until(0, whole)
    assert points
    expected = state(whole)
    assert expected["left"] == ([], [], [])
    chance = random.Random(20261115)
    interrupted = 0
    for number in range(ROUNDS):
        database = tmp_path / f"{number}.db"
        captured(database)
        progress = 0
        for _ in range(MOST_KILLS):
            if learn_until(chance.randint(points // 10, points), database):
                break
            interrupted += 1
            with Tacit(open_store(str(database))) as loop:
                waiting = len(loop.context.store.episodes(unlearned=True))
                assert loop.archive.verify() == []
            assert len(work()) - waiting >= progress  # what was done stays done
            progress = len(work()) - waiting
        learn(database)
        assert state(database) == expected
        before = expected["versions"]
        learn(database)
        assert state(database)["versions"] == before
    assert interrupted >= ROUNDS // 2
