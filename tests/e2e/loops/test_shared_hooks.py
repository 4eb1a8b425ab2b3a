"""Hooks disturb nobody: a teammate without Tacit, whoever removed the package, and repositories that are not connected."""

from __future__ import annotations

import re
import subprocess
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


def test_hooks_of_a_removed_package_are_silent(world: World, tmp_path: Path) -> None:
    alone = closing_may(World.made(tmp_path / "alone", world.client, world.model))
    world.install_tacit()
    world.init()
    (world.home / ".local" / "bin" / "tacit").unlink()
    after = closing_may(world)
    assert course(after) == course(alone)
    assert complaints(after) == complaints(alone)
    assert "tacit" not in after.err


def test_a_repository_that_is_not_connected_gets_nothing(world: World, tmp_path: Path) -> None:
    world.install_tacit()
    world.init()
    other = World(client=world.client, model=world.model, home=world.home, project=tmp_path / "other")
    ledger.lay_out(other.project)
    other.git("init", "-q", "-b", "main")
    other.commit("ledger")
    session = closing_may(other)
    assert not (other.project / ".tacit").exists()
    assert not any("[tacit]" in request.told for request in session.requests)
    other.assert_undisturbed(session)


def test_after_export_commit_and_uninstall_nothing_is_changed(world: World) -> None:
    world.install_tacit()
    world.init()
    for month in ("2026-04", "2026-05"):
        moves = ledger.long_way(month)
        assert world.session(ledger.task(month), lambda _, moves=moves: moves).code == 0  # type: ignore[misc]
        world.forget_build()
    waits = world.learned(trajectories=2)
    world.approve(waits[0]["version_id"])
    world.commit("two months")
    exported = world.person.run("skills", "export", "--all", "--to", ".claude/skills")
    assert exported.code == 0, exported
    world.commit("skills")
    skill = world.project / ".claude" / "skills" / waits[0]["name"] / "SKILL.md"
    assert skill.exists()
    done = world.person.run("uninstall", "--yes")
    assert done.code == 0, done
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=world.project, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""
    assert skill.exists()
    assert not (world.project / ".claude" / "settings.local.json").exists()


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
