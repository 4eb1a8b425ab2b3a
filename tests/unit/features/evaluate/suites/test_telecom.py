"""Telecom through a driver given by path: worlds of their own, honest counts, and plain words where something is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.suites import open_suite
from tacit.features.evaluate.suites.telecom import TelecomSuite, TelecomWorld
from tests.raising import raises

DRIVER = '''
"""A phone whose only fault is that it flies, or that it has no data; the driver's protocol in small."""
import json
from types import SimpleNamespace as Told

MAX_CALLS = 6
FAULTS = {"flying": ["toggle_airplane"], "flying, no data": ["toggle_airplane", "set_data"]}


class Phone:
    def __init__(self):
        self.faults = []

    def get_db_hash(self):
        return "account"

    def get_user_db_hash(self):
        return json.dumps(self.faults)


class TelecomEnv:
    def __init__(self, checkout=None):
        if checkout is None:
            raise RuntimeError("no checkout")
        self._over = False

    def tools(self):
        return [
            {"name": "look", "description": "Look.", "read_only": True},
            {"name": "toggle_airplane", "read_only": False},
            {"name": "set_data", "read_only": False,
             "parameters": {"properties": {"on": {}, "roaming": {}}, "required": ["on"]}},
            {"name": "hand_over", "read_only": False},
        ]

    def _gold(self, task):
        return [Told(name=name, arguments={"on": True} if name == "set_data" else {}) for name in FAULTS[task]]

    def reset(self, task):
        self._env, self._over, self._handed = Phone(), False, False
        self._env.faults = list(FAULTS[task])
        return {"complaint": "It does not work.", "known_info": "You are Ann."}

    def call(self, tool, **arguments):
        if tool == "set_data" and "on" not in arguments:
            raise TypeError("on is missing")
        if tool not in {each["name"] for each in self.tools()}:
            return f"Error: no such tool: {tool}", True
        self._handed = self._over = tool == "hand_over"
        if tool in self._env.faults:
            self._env.faults.remove(tool)
        return f"faults: {len(self._env.faults)}", False

    def abstain(self, reason=""):
        self._over = True

    def score(self):
        return Told(success=not self._env.faults and not self._handed, needless_transfer=self._handed)
'''


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dev_ids.json").write_text(
        json.dumps({"ids": ["flying", "flying, no data"]}), encoding="utf-8"
    )
    path = tmp_path / "driver.py"
    path.write_text(DRIVER, encoding="utf-8")
    return path


@pytest.fixture
def suite(driver: Path) -> TelecomSuite:
    return TelecomSuite(driver.parent / "data", driver=driver, checkout=driver.parent)


def begun(suite: TelecomSuite, at: int = 0) -> TelecomWorld:
    return suite.begin(suite.exercises()[at])


def test_nothing_that_an_agent_sees_names_the_fault(suite: TelecomSuite) -> None:
    first, second = suite.exercises()
    assert first.task == second.task == "It does not work.\nYou are Ann."
    assert (first.key, second.key) == ("telecom-000", "telecom-001")
    assert [call.tool for call in second.answer] == ["toggle_airplane", "set_data"]


def test_tools_tell_what_they_need_and_which_only_look(suite: TelecomSuite) -> None:
    look, _, data, _ = suite.tools
    assert (look.read_only, data.read_only) == (True, False)
    assert (data.required, data.optional) == (("on",), ("roaming",))


def test_a_fixed_phone_is_a_success_and_its_calls_are_counted(suite: TelecomSuite) -> None:
    world = begun(suite)
    world.call("look")
    world.call("toggle_airplane")
    world.finish()
    score = world.score()
    assert (score.success, score.steps, score.retries, score.first_right) == (True, 2, 0, True)
    assert score.detail == "finished; 1 changes, 0 errors"
    assert [turn.observation for turn in world.turns] == ["faults: 1", "faults: 0"]


def test_many_worlds_at_once_do_not_touch_each_other(suite: TelecomSuite) -> None:
    worlds = [begun(suite, at) for at in (0, 0, 1)]
    fresh = [world.state() for world in worlds]
    worlds[0].call("toggle_airplane")
    assert fresh[0] == fresh[1] == worlds[1].state()
    assert worlds[0].state() != fresh[0]
    assert fresh[2] != fresh[0]
    assert [world.score().success for world in worlds] == [True, False, False]
    assert begun(suite).state() == fresh[0]


def test_a_call_that_the_world_chokes_on_is_a_failed_call_and_the_next_one_a_retry(suite: TelecomSuite) -> None:
    world = begun(suite, 1)
    text, failed = world.call("set_data", off=True)
    assert failed
    assert "on is missing" in text
    world.call("look")
    world.call("set_data", on=True)
    score = world.score()
    assert (score.retries, score.first_right, score.detail) == (1, True, "stopped; 2 changes, 1 errors")


def test_a_tool_that_is_not_there_is_a_failed_call(suite: TelecomSuite) -> None:
    assert begun(suite).call("fly", far=True) == ("Error: no such tool: fly", True)


def test_an_argument_that_the_driver_takes_for_its_own_is_a_failed_call(suite: TelecomSuite) -> None:
    _, failed = begun(suite).call("look", tool="x", self="y")
    assert failed


def test_the_first_change_is_judged_and_without_one_nothing_is(suite: TelecomSuite) -> None:
    wrong, idle = begun(suite), begun(suite)
    wrong.call("set_data", on=True)
    idle.call("look")
    assert wrong.score().first_right is False
    assert idle.score().first_right is None


def test_handing_over_and_abstaining_end_an_attempt(suite: TelecomSuite) -> None:
    handed, silent = begun(suite), begun(suite)
    handed.call("hand_over")
    silent.abstain("no procedure is known")
    assert handed.over
    assert silent.over
    assert silent.call("toggle_airplane") == ("the attempt is over", True)
    assert handed.score().detail.startswith("handed over needlessly")
    assert (silent.score().abstained, silent.score().success, handed.score().abstained) == (True, False, False)


@pytest.mark.parametrize(("asked", "most"), [(0, 6), (2, 2), (99, 6)])
def test_an_attempt_ends_when_no_call_is_left(driver: Path, asked: int, most: int) -> None:
    options = {"driver": str(driver), "checkout": str(driver.parent), "calls": str(asked)}
    made = open_suite("telecom", data=driver.parent / "data", options=options)
    world = made.begin(made.exercises()[0])
    for _ in range(most):
        assert not world.over
        world.call("look")
    assert world.over
    assert world.score().detail.startswith("out of calls")


def test_a_missing_checkout_is_reported(driver: Path) -> None:
    with raises(Mistake, "driver_not_started"):
        TelecomSuite(driver.parent / "data", driver=driver)


def test_a_missing_package_of_the_driver_is_reported(driver: Path) -> None:
    driver.write_text(
        "class TelecomEnv:\n    def __init__(self, checkout):\n        import no_such_package\n", encoding="utf-8"
    )
    with raises(Mistake, "driver_not_started"):
        TelecomSuite(driver.parent / "data", driver=driver, checkout=driver.parent)


def test_a_file_that_is_no_driver_is_reported(driver: Path) -> None:
    with raises(NotFound, "no_driver"):
        TelecomSuite(driver.parent / "data", driver=driver.parent / "gone.py")
    driver.write_text("x = 1\n", encoding="utf-8")
    with raises(Mistake, "bad_driver"):
        TelecomSuite(driver.parent / "data", driver=driver)


def test_ids_that_the_world_does_not_know_are_not_spelled_out(driver: Path) -> None:
    (driver.parent / "data" / "dev_ids.json").write_text('{"ids": ["broken glass"]}', encoding="utf-8")
    made = TelecomSuite(driver.parent / "data", driver=driver, checkout=driver.parent)
    with raises(Mistake, "other_checkout") as caught:
        made.exercises()
    assert "glass" not in caught.value.message


@pytest.mark.parametrize("text", ["[]", "{", '{"ids": 7}'])
def test_a_file_without_ids_is_reported(driver: Path, text: str) -> None:
    (driver.parent / "data" / "dev_ids.json").write_text(text, encoding="utf-8")
    with raises(Mistake, "bad_data"):
        TelecomSuite(driver.parent / "data", driver=driver, checkout=driver.parent)


def test_missing_files_are_named(driver: Path) -> None:
    made = TelecomSuite(driver.parent / "data", driver=driver, checkout=driver.parent)
    with raises(NotFound, "no_data"):
        made.training_trajectories()
    (driver.parent / "data" / "dev_ids.json").unlink()
    with raises(NotFound, "no_data"):
        TelecomSuite(driver.parent / "data", driver=driver, checkout=driver.parent)
