"""The setting for hold-outs: off by default, at most a half, a person's to raise, and nothing that approvals hang on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.settings import Config, Policy, Strictness, load_config
from tacit.domain.errors import ConfigError
from tacit.domain.identity import digest
from tests.raising import raises


def written(folder: Path, value: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tacit.toml").write_text(f"[policy]\nhold_out = {value}\n", encoding="utf-8")
    return folder


def test_nothing_is_held_back_unless_a_person_says_so(tmp_path: Path) -> None:
    assert Config().policy.hold_out == 0
    config, settings = load_config((), home=written(tmp_path / "home", "0.2"))
    assert config.policy.hold_out == 0.2
    (setting,) = (each for each in settings if each.key == "policy.hold_out")
    assert setting.source == str(tmp_path / "home" / "tacit.toml")


@pytest.mark.parametrize("value", ["0.6", "-0.1", '"half"', "true", "nan", "1"])
def test_a_share_that_cannot_be_is_an_error_that_says_what_would_be_right(tmp_path: Path, value: str) -> None:
    with raises(ConfigError, "wrong_setting") as refused:
        load_config((), home=written(tmp_path, value))
    assert "policy.hold_out " in refused.value.message
    assert " 0 to 0.5" in refused.value.message


@pytest.mark.parametrize(("own", "near", "holds"), [("0.2", "0.1", 0.1), ("0.2", "0", 0.0), ("0.1", "0.4", 0.1)])
def test_a_projects_file_may_lower_it_and_never_raise_it(tmp_path: Path, own: str, near: str, holds: float) -> None:
    home, project = written(tmp_path / "home", own), written(tmp_path / "project", near)
    config, _ = load_config((project,), home=home)
    assert config.policy.hold_out == holds


def test_a_project_cannot_switch_it_on(tmp_path: Path) -> None:
    config, settings = load_config((written(tmp_path / "project", "0.3"),), home=tmp_path)
    assert config.policy.hold_out == 0
    (setting,) = (each for each in settings if each.key == "policy.hold_out")
    assert "may not loosen it" in setting.source


def test_approvals_hold_when_it_is_switched_on() -> None:
    assert Policy(hold_out=0.3).hash() == Policy().hash() == digest(Policy())
    assert Policy(strictness=Strictness.STRICT).hash() != Policy().hash()
