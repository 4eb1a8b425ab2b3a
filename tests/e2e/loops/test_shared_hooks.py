"""A teammate clones a project whose hooks are committed: without Tacit nothing is disturbed, and with it the hooks fire."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.loops import ledger
from tests.e2e.loops.world import Session, World

COMPLAINT = re.compile(r"not found|No such file|hook error|hook failed|ModuleNotFound", re.IGNORECASE)


@pytest.fixture
def teammate(world: World, tmp_path: Path) -> World:
    """The machine of somebody who cloned a project in which somebody else set Tacit up for everybody."""
    world.install_tacit()
    world.init("--shared")
    world.commit("Tacit for everybody")
    return World.made(tmp_path / "teammate", world.client, world.model, clone_of=world.project)


def test_committed_hooks_are_silent_where_tacit_is_not_installed(teammate: World, tmp_path: Path) -> None:
    alone = closing_may(World.made(tmp_path / "alone", teammate.client, teammate.model))
    clone = closing_may(teammate)
    assert course(clone) == course(alone)
    assert complaints(clone) == complaints(alone)
    assert "tacit" not in clone.err
    assert not (teammate.project / ".tacit").exists()
    assert not (teammate.home / ".tacit").exists()


def test_committed_hooks_fire_where_tacit_is_installed(teammate: World) -> None:
    teammate.install_tacit()
    closing_may(teammate)
    teammate.learned()
    stats = teammate.tacit("stats")
    assert stats["learned"] == 1


def closing_may(world: World) -> Session:
    session = world.session(ledger.task("2026-05"), lambda _: ledger.long_way("2026-05"))
    assert session.code == 0, session
    assert ledger.closed(world.project, "2026-05")
    return session


def course(session: Session) -> tuple[int, list[tuple[str, bool]]]:
    """What the client asked the model, in number, and what it ran."""
    return len(session.requests), [(ran.command, ran.failed) for ran in session.commands]


def complaints(session: Session) -> set[str]:
    """Lines in the requests that tell of something that does not work."""
    lines = {line for request in session.requests for line in request.told.splitlines()}
    return {line for line in lines if COMPLAINT.search(line)}
