"""Hooks that find by meaning: with a static model that the store was embedded with, and by words with anything else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tacit.domain.skill import Kind, SkillContent
from tacit.providers.embedding.static import StaticEmbedder, open_light
from tacit.recall import publishing
from tacit.store import open_store
from tacit.surfaces.hook import log
from tests.unit.providers.embedding.small_models import WORDS, bert_folder, static_folder, write_safetensors
from tests.unit.surfaces.hook_events import claude
from tests.unit.surfaces.hooked_project import Project, make_project

SKILL = SkillContent(kind=Kind.PROCEDURE, name="deploy", description="deploy", body="deploy")
PROMPT = claude("UserPromptSubmit", prompt="fix")
"""Shares no word with the skill; to the model below it means the same."""


def like_minded(folder: Path) -> Path:
    static_folder(folder)
    table = np.eye(len(WORDS), dtype=np.float32)
    table[WORDS.index("fix")] = table[WORDS.index("deploy")]
    write_safetensors(folder / "model.safetensors", {"embeddings": table})
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path, SKILL)
    like_minded(made.home / ".tacit" / "embedders" / "light")
    return made


def embed(project: Project) -> str:
    embedder = StaticEmbedder(str(project.home / ".tacit" / "embedders" / "light"))
    store = open_store(project.database)
    publishing.index(store, embedder)
    store.close()
    return embedder.identity


def test_a_prompt_is_answered_by_its_meaning_once_the_skills_are_embedded(project: Project) -> None:
    assert project.send(PROMPT) == ""
    embed(project)
    assert "deploy" in project.send(PROMPT)
    assert log.recent(str(project.home / ".tacit")) == []


def test_a_broken_model_leaves_the_words_and_a_line_in_the_log(project: Project) -> None:
    embed(project)
    weights = project.home / ".tacit" / "embedders" / "light" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert project.send(PROMPT) == ""
    assert "deploy" in project.send(claude("UserPromptSubmit", prompt="deploy"))
    lines = log.recent(str(project.home / ".tacit"))
    assert len(lines) == 2
    assert all("prompt: found by words alone: " in line and "model.safetensors" in line for line in lines)


def test_a_model_that_changed_after_the_skills_were_embedded_is_not_compared(project: Project) -> None:
    embed(project)
    folder = project.home / ".tacit" / "embedders" / "light"
    write_safetensors(folder / "model.safetensors", {"embeddings": np.eye(len(WORDS), dtype=np.float32)[::-1]})
    assert project.send(PROMPT) == ""


def test_a_person_who_chose_no_embedder_gets_none_in_hooks(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    embed(project)
    settings = tmp_path / "mine.toml"
    settings.write_text('[recall]\nembedder = "none"\n')
    project.variables["TACIT_CONFIG"] = str(settings)
    monkeypatch.setenv("TACIT_CONFIG", str(settings))
    assert project.send(PROMPT) == ""


def test_the_setting_decides_which_model_is_opened_and_only_one_that_made_vectors(project: Project) -> None:
    homes, folder = [str(project.home / ".tacit")], project.home / ".tacit" / "embedders" / "light"
    space = StaticEmbedder(str(folder)).identity

    def opened(choice: str, *spaces: str) -> bool:
        return open_light(choice, homes=homes, spaces=spaces) is not None

    assert opened("auto", space)
    assert opened("light", "other/8@00", space)
    assert opened(str(folder), space)
    for choice in ("none", "hashed", "openai:some", "hub:some/model", "unheard", "/nowhere"):
        assert not opened(choice, space), choice
    assert not opened("auto")
    assert not opened("light", space[:-1] + ("0" if space[-1] != "0" else "1"))
    bert_folder(folder.parent / "a-encoder")
    assert opened("auto", space), "an encoder that made no vectors is not in use"
    assert not opened("a-encoder", space)


def test_a_static_model_of_the_hubs_cache_is_opened_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = tmp_path / ".cache" / "huggingface" / "hub" / "models--some--model"
    space = StaticEmbedder(str(like_minded(kept / "snapshots" / "abc"))).identity
    assert open_light("hub:some/model@abc", homes=[], spaces=[space]) is not None
    assert open_light("hub:some/model", homes=[], spaces=[space]) is None
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc\n")
    assert open_light("hub:some/model", homes=[], spaces=[space]) is not None
    (kept / "refs" / "main").write_text("../../elsewhere\n")
    assert open_light("hub:some/model", homes=[], spaces=[space]) is None


def test_a_broken_description_of_a_model_does_not_stop_the_hook(project: Project) -> None:
    embed(project)
    (project.home / ".tacit" / "embedders" / "light" / "config.json").write_text(json.dumps([1]))
    assert project.send(PROMPT) == ""
    assert "holds no object" in log.recent(str(project.home / ".tacit"))[0]
