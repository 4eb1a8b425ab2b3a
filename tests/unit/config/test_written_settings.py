"""Values are put into a file of settings without touching the rest, or not at all."""

from __future__ import annotations

import tomllib

import pytest

from tacit.config.settings import load_config, with_settings
from tacit.domain.errors import ConfigError
from tests.raising import raises

WANTED = {"learn.read_in_background": True, "model.name": "claude-code"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# mine\n[recall]\nk = 5",
        "[learn]  # how\nprocedure_runs = 2\n\n[model]\nmax_calls = 3\n",
        '[model]\nname = "openai:gpt-5-mini"  # dear\n[learn]\nread_in_background = false\n',
    ],
)
def test_values_are_set_and_everything_else_stays(text):
    before, after = tomllib.loads(text), tomllib.loads(with_settings(text, WANTED))
    assert after.pop("learn") == before.pop("learn", {}) | {"read_in_background": True}
    assert after.pop("model") == before.pop("model", {}) | {"name": "claude-code"}
    assert after == before
    assert ("# mine" in text) == ("# mine" in with_settings(text, WANTED))


def test_file_written_in_another_way_is_left_to_the_person():
    for text in ("learn.procedure_runs = 2\n", "model = { max_calls = 3 }\n"):
        with raises(ConfigError, "not_editable") as refused:
            with_settings(text, WANTED)
        assert "model.name" in refused.value.hint


def test_switch_takes_true_or_false_and_nothing_else(tmp_path):
    for value in ('"yes"', "1", "0"):
        (tmp_path / "tacit.toml").write_text(f"[model]\nother_vendors = {value}\n")
        with raises(ConfigError, "wrong_setting"):
            load_config((tmp_path,))


def test_projects_file_spends_and_sends_no_more_than_the_person_allows(tmp_path):
    loose = '[model]\nother_vendors = true\nmax_tokens_per_day = 900000\nname = "codex"\n[learn]\nread_in_background = true\n'
    (tmp_path / "tacit.toml").write_text(loose)
    config, _ = load_config((tmp_path,))
    assert (config.model.other_vendors, config.model.max_tokens_per_day, config.model.name) == (False, 500_000, "")
    assert not config.learn.read_in_background
