"""kill -9 before every statement, commit and file change of an apply or an undo: what is half done is told, and can be mended.

All points with TACIT_TEST_KILLS, a spread of them otherwise.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tacit.domain.errors import Refusal, StaleVersion
from tacit.features.cards.backport.edit_plan import EditPlan
from tacit.features.cards.backport.markers import card_ids
from tacit.features.cards.backport.target_files import write
from tacit.features.cards.backport.targets import TargetChange, find_target, read_files
from tacit.features.cards.card import CardStatus
from tests.faults.points import Points
from tests.raising import raises
from tests.unit.features.cards.graduating_desk import Desk

ALL = bool(os.environ.get("TACIT_TEST_KILLS"))
STRIDE = 1 if ALL else 13
Act = Callable[[Desk], object]


class Scene:
    """A desk that is set back to one state again and again."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder / "world")
        self.desk.card()
        self._copy = folder / "copy"
        self.store()

    def store(self) -> None:
        """Let this be the state that is set back to."""
        self.desk.world.memory.close()
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self.desk.root, self._copy)
        self.files = self.desk.files()
        self._open()

    def set_back(self) -> None:
        self.desk.world.memory.close()
        shutil.rmtree(self.desk.root)
        shutil.copytree(self._copy, self.desk.root)
        self._open()

    def dies(self, act: Act, point: int) -> bool:
        """Whether a process that does this is dead before it has done with it; it dies at that point."""
        self.desk.world.memory.close()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                Points(point, self.desk.root).watch()
                self._open()
                act(self.desk)
                self.desk.world.memory.close()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        self._open()
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL)
        return code != 0

    def deaths(self, act: Act) -> Iterator[int]:
        """Die at one point after the other, each time from the same state."""
        point = 1
        while self.dies(act, point):
            yield point
            self.set_back()
            point += STRIDE
        assert point > STRIDE

    def _open(self) -> None:
        self.desk.world.memory = self.desk.world._opened()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def apply(desk: Desk) -> object:
    return desk.backport("aha_wait", apply=True)


def undo(desk: Desk) -> object:
    (identity,) = desk.deck.backports()
    return desk.graduation.undo(identity)


def states(desk: Desk) -> list[str]:
    return [each.state for each in desk.deck.backports().values() if each.state]


def check_told(desk: Desk, whole: list[dict[str, bytes]]) -> None:
    """Files that are neither as before nor as after are told of as half done, by whoever looks or goes on."""
    told = desk.graduation.inspect(desk.skill)["half_done"]
    if desk.files() not in whole:
        assert told
    if told:
        with raises(Refusal, "backport_interrupted"):
            desk.backport("aha_wait")
        assert set(told[0]["files"].values()) <= {"written", "not written"}


def test_an_apply_that_was_killed_is_mended_by_applying_again(scene: Scene) -> None:
    torn = 0
    for _ in scene.deaths(apply):
        desk = scene.desk
        check_told(desk, [scene.files])
        torn += bool(states(desk))
        done = desk.backport("aha_wait", apply=True)
        assert card_ids(desk.reference.read_text()) == ["aha_wait"]
        assert (done.backport.applied, states(desk)) == (True, [])
        assert desk.status("aha_wait") is CardStatus.BACKPORTED
        assert len(desk.deck.signals()) == 1
        (identity,) = (each.key for each in desk.deck.backports().values() if each.applied)
        desk.graduation.undo(identity)
        assert desk.files() == scene.files
    assert torn


def test_an_apply_that_was_killed_is_mended_by_undoing_it(scene: Scene) -> None:
    recovered = 0
    for _ in scene.deaths(apply):
        desk = scene.desk
        for each in desk.graduation.half_done():
            desk.graduation.undo(each["backport_id"])
            recovered += 1
            assert desk.files() == scene.files
            assert desk.status("aha_wait") is CardStatus.ACCEPTED
        assert states(desk) == []
    assert recovered


def test_an_undo_that_was_killed_is_mended_by_undoing_again(scene: Scene) -> None:
    before = scene.files
    apply(scene.desk)
    scene.store()
    for _ in scene.deaths(undo):
        desk = scene.desk
        check_told(desk, [before, scene.files])
        if not next(iter(desk.deck.backports().values())).undone:
            undo(desk)
        assert desk.files() == before
        assert (states(desk), desk.status("aha_wait")) == ([], CardStatus.ACCEPTED)


def test_a_file_that_changes_between_plan_and_write_is_not_written_over(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    main = desk.skill / "SKILL.md"
    held = read_files(desk.root, find_target(desk.root, desk.skill))
    changes = [TargetChange(path=path, before=data, after=b"planned\n") for path, data in held.items()]
    main.write_bytes(b"edited meanwhile\n")
    with raises(StaleVersion, "stale_version"):
        write(desk.root, EditPlan(changes=tuple(changes)))
    assert main.read_bytes() == b"edited meanwhile\n"
    assert not desk.reference.exists()


def test_a_planted_draft_is_never_written_through(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.card()
    precious = tmp_path / "precious"
    precious.write_text("mine")
    change = TargetChange(path="AGENTS.md", before=None, after=b"planned\n")
    (desk.root / ".tacit-0000.part").symlink_to(precious)
    write(desk.root, EditPlan(changes=(change,)))
    assert (desk.root / "AGENTS.md").read_bytes() == b"planned\n"
    assert precious.read_text() == "mine"


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.card()
    (desk.skill / "SKILL.md").chmod(0o640)
    desk.backport("aha_wait", apply=True)
    assert (desk.skill / "SKILL.md").stat().st_mode & 0o777 == 0o640
    assert desk.reference.stat().st_mode & 0o777 == 0o644
