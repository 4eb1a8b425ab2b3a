"""Settings: defaults without a file, and every wrong value named with its key, its file and what is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.settings import Config, Strictness, load_config
from tacit.domain.errors import ConfigError
from tests.raising import raises


def write(folder: Path, text: str) -> Path:
    file = folder / "tacit.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_a_file_everything_is_at_its_default(tmp_path):
    config, settings = load_config((tmp_path,))
    assert config == Config()
    assert {setting.source for setting in settings} == {"default"}
    assert len(settings) <= 30


def test_the_defaults_are_these():
    config = Config()
    assert (config.recall.k, config.recall.budget_tokens, config.recall.min_relevance) == (3, 1500, 0.18)
    assert (config.policy.strictness, config.policy.min_steps) == (Strictness.STANDARD, 3)
    assert config.policy.duplicate_similarity == 0.72
    assert (config.store.keep_days, config.store.cap_mb, config.store.exclude) == (365, 1024, ())


def test_a_file_changes_what_it_names_and_each_value_tells_where_it_came_from(tmp_path):
    text = '[recall]\nk = 5\nmin_relevance = 1\n[policy]\nstrictness = "open"\n[store]\nexclude = ["**/secret/**"]\n'
    file = write(tmp_path, text)
    config, settings = load_config(home=tmp_path)
    assert (config.recall.k, config.recall.min_relevance, config.recall.budget_tokens) == (5, 1.0, 1500)
    assert isinstance(config.recall.min_relevance, float)
    assert config.policy.strictness is Strictness.OPEN
    assert config.store.exclude == ("**/secret/**",)
    source = {setting.key: (setting.value, setting.source) for setting in settings}
    assert source["recall.k"] == (5, str(file))
    assert source["recall.budget_tokens"] == (1500, "default")


@pytest.mark.parametrize(
    ("own", "project", "effective"),
    [
        ("", 'strictness = "open"', Strictness.STANDARD),
        ("", 'strictness = "strict"', Strictness.STRICT),
        ('strictness = "open"', "", Strictness.OPEN),
        ('strictness = "open"', 'strictness = "standard"', Strictness.STANDARD),
        ('strictness = "strict"', 'strictness = "open"', Strictness.STRICT),
    ],
)
def test_a_projects_file_may_tighten_the_policy_but_never_loosen_it(tmp_path, own, project, effective):
    home, work = tmp_path / "home", tmp_path / "work"
    for folder, line in ((home, own), (work, project)):
        folder.mkdir()
        if line:
            write(folder, f"[policy]\n{line}\n")
    for given in ({"folders": (work,)}, {"file": str(work / "tacit.toml")} if project else {"folders": (work,)}):
        config, _ = load_config(home=home, **given)
        assert config.policy.strictness is effective


def test_a_policy_that_was_not_loosened_says_so(tmp_path):
    write(tmp_path, "[policy]\nmin_steps = 1\n")
    config, settings = load_config((tmp_path,))
    assert config.policy.min_steps == 3
    assert "may not loosen it" in next(setting.source for setting in settings if setting.key == "policy.min_steps")


def test_the_first_folder_with_a_file_wins(tmp_path):
    near, far = tmp_path / "near", tmp_path / "far"
    near.mkdir()
    far.mkdir()
    write(far, "[recall]\nk = 9\n")
    assert load_config((near, far))[0].recall.k == 9
    write(near, "[recall]\nk = 4\n")
    assert load_config((near, far))[0].recall.k == 4


def test_a_named_file_beats_the_folders_and_must_exist(tmp_path):
    write(tmp_path, "[recall]\nk = 9\n")
    other = tmp_path / "other.toml"
    other.write_text("[recall]\nk = 2\n")
    assert load_config((tmp_path,), file=str(other))[0].recall.k == 2
    with raises(ConfigError, "no_config_file") as refused:
        load_config((tmp_path,), file=str(tmp_path / "missing.toml"))
    assert str(tmp_path / "missing.toml") in refused.value.message
    assert "unset TACIT_CONFIG" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "key", "right"),
    [
        ('[recall]\nk = "3"', "recall.k", "whole number"),
        ("[recall]\nk = 3.5", "recall.k", "whole number"),
        ("[recall]\nk = true", "recall.k", "whole number"),
        ("[recall]\nk = -1", "recall.k", "from 0"),
        ("[learn]\nprocedure_runs = 0", "learn.procedure_runs", "from 1"),
        ("[recall]\nk = []", "recall.k", "whole number"),
        ("[recall.k]\nx = 1", "recall.k", "whole number"),
        ("[store]\nkeep_days = 999999999999999", "store.keep_days", "whole number from 0 to"),
        ("[recall]\nmin_relevance = 1.5", "recall.min_relevance", "number from 0 to 1"),
        ("[recall]\nmin_relevance = nan", "recall.min_relevance", "number from 0 to 1"),
        ("[recall]\nmin_relevance = inf", "recall.min_relevance", "number from 0 to 1"),
        ("[recall]\nmin_relevance = false", "recall.min_relevance", "number from 0 to 1"),
        ("[policy]\nduplicate_similarity = -0.1", "policy.duplicate_similarity", "number from 0 to 1"),
        ('[policy]\nstrictness = "loose"', "policy.strictness", "open, standard, strict"),
        ('[policy]\nstrictness = ["open"]', "policy.strictness", "open, standard, strict"),
        ("[policy.strictness]\nx = 1", "policy.strictness", "open, standard, strict"),
        ("[policy]\nstrictness = true", "policy.strictness", "open, standard, strict"),
        ('[store]\nexclude = "x"', "store.exclude", "list of strings"),
        ("[store]\nexclude = [1]", "store.exclude", "list of strings"),
        ("store = 3", "store", "must be a table"),
        ("[[store]]\nkeep_days = 3", "store", "must be a table"),
        ("[stor]\nx = 1", "stor", "store, recall, policy"),
        ("k = 3", "k", "store, recall, policy"),
        ("[recall]\nkk = 1", "recall.kk", "recall.k, recall.budget_tokens"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key_its_file_and_what_is_right(tmp_path, text, key, right):
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        load_config((tmp_path,))
    assert key in refused.value.message
    assert str(file) in refused.value.message
    assert right in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("damage", [b"[recall\nk = 3", b"\xff\xfe\x00", b"[recall]\nk = 1\nk = 2\n"])
def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path, damage):
    file = tmp_path / "tacit.toml"
    file.write_bytes(damage)
    with pytest.raises(ConfigError) as refused:
        load_config((tmp_path,))
    assert str(file) in refused.value.message
    assert "TOML" in refused.value.hint


def test_an_empty_file_is_all_defaults(tmp_path):
    write(tmp_path, "")
    assert load_config((tmp_path,))[0] == Config()


def test_a_projects_file_may_keep_experience_longer_and_never_shorter(tmp_path):
    write(tmp_path, "[store]\nkeep_days = 0\ncap_mb = 0\n")
    config, _ = load_config((tmp_path,))
    assert (config.store.keep_days, config.store.cap_mb) == (365, 1024)
    write(tmp_path, "[store]\nkeep_days = 900\n")
    assert load_config((tmp_path,))[0].store.keep_days == 900


def test_a_language_model_is_off_by_default_and_its_limits_are_not():
    model = Config().model
    assert (model.name, model.base_url, model.price_in, model.price_out) == ("", "", None, None)
    assert (model.max_calls, model.max_tokens, model.max_usd, model.timeout_s) == (40, 200_000, 1.0, 120)


def test_the_person_chooses_the_model_its_address_and_its_price(tmp_path):
    text = (
        '[model]\nname = " local "\nbase_url = "http://127.0.0.1:8080/v1"\nmax_usd = 0\nprice_in = 0\nprice_out = 2.5\n'
    )
    write(tmp_path, text)
    model = load_config(home=tmp_path)[0].model
    assert (model.name, model.base_url) == ("local", "http://127.0.0.1:8080/v1")
    assert (model.max_usd, model.price_in, model.price_out) == (0.0, 0.0, 2.5)
    assert isinstance(model.price_in, float)


def test_only_the_person_says_where_papers_are_looked_up(tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    write(work, '[research]\narxiv_url = "http://127.0.0.1:1"\nscholar_url = "http://127.0.0.1:1"\n')
    assert load_config((work,), home=home)[0].research == load_config(home=home)[0].research
    write(home, '[research]\narxiv_url = "http://127.0.0.1:2"\n')
    settings = load_config((work,), home=home)[0].research
    assert (settings.arxiv_url, settings.scholar_url) == ("http://127.0.0.1:2", "https://api.semanticscholar.org")


def test_a_projects_file_may_switch_the_model_off_and_lower_its_limits_and_nothing_else(tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    write(home, '[model]\nname = "openai:gpt-5-mini"\nmax_calls = 10\nprice_in = 1\nprice_out = 4\n')
    greedy = (
        '[model]\nname = "evil:model"\nbase_url = "https://evil.example/v1"\nmax_calls = 11\nmax_tokens = 999999\n'
        "max_usd = 500\nprice_in = 0\nprice_out = 0\n"
    )
    write(work, greedy)
    own, _ = load_config(home=home)
    assert load_config((work,), home=home)[0].model == own.model
    assert load_config(file=str(work / "tacit.toml"), home=home)[0].model == own.model
    assert load_config((work,))[0].model.name == ""  # nor where the person has chosen none
    write(work, '[model]\nname = ""\nmax_calls = 3\nmax_usd = 0.25\n')
    model = load_config((work,), home=home)[0].model
    assert (model.name, model.max_calls, model.max_usd) == ("", 3, 0.25)


@pytest.mark.parametrize(
    ("line", "key", "right"),
    [
        ("name = 3", "model.name", "must be a string"),
        ("name = true", "model.name", "must be a string"),
        ("base_url = []", "model.base_url", "must be a string"),
        ("max_usd = -1", "model.max_usd", "dollars from 0"),
        ("max_usd = inf", "model.max_usd", "dollars from 0"),
        ("max_usd = true", "model.max_usd", "dollars from 0"),
        ("price_in = nan", "model.price_in", "dollars from 0"),
        ('price_out = "1"', "model.price_out", "dollars from 0"),
        ("max_calls = 1.5", "model.max_calls", "whole number"),
        ('api_key = "x"', "model.api_key", "known: "),
    ],
)
def test_a_wrong_value_of_the_model_section_is_refused(tmp_path, line, key, right):
    write(tmp_path, f"[model]\n{line}\n")
    with pytest.raises(ConfigError) as refused:
        load_config(home=tmp_path)
    assert key in refused.value.message
    assert right in f"{refused.value.message} {refused.value.hint}"
