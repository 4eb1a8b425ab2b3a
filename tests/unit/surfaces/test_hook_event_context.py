"""Where an event belongs, and where Tacit keeps out."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tacit.config.location import EVERY_PROJECT, HookEnvironment
from tacit.domain.errors import ConfigError, NotPermitted
from tacit.surfaces.hook.events import find, parse
from tests.unit.surfaces.hook_events import THREAD, claude, codex, stdin
from tests.unit.surfaces.hooked_project import make_project


def ground_of(event, **variables):
    return find(parse(stdin(event)), HookEnvironment(variables))


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path)


@pytest.fixture
def home(tmp_path):
    return str(tmp_path / "home")


def test_an_event_belongs_to_the_store_of_its_folder(project, home):
    below = project.folder / "src"
    below.mkdir()
    context = ground_of(codex("Stop", cwd=below), HOME=home)
    assert (context.location.database, context.cwd, context.scope) == (
        str(project.database),
        str(below),
        f"team:{THREAD} in project",
    )
    assert context.has_store
    assert context.recall_limits is None


def test_a_session_of_claude_code_belongs_where_it_was_started(project, home, tmp_path):
    event = claude("Stop", cwd=tmp_path)
    assert ground_of(event, HOME=home, CLAUDE_PROJECT_DIR=str(project.folder)).location.database == str(
        project.database
    )
    assert not ground_of(event, HOME=home, CLAUDE_PROJECT_DIR=str(tmp_path / "gone")).has_store
    assert not ground_of(codex("Stop", cwd=tmp_path), HOME=home, CLAUDE_PROJECT_DIR=str(project.folder)).has_store


def test_an_event_without_a_folder_belongs_where_the_hook_runs(project, home, monkeypatch):
    monkeypatch.chdir(project.folder)
    for cwd in ("", "relative", str(project.folder / "gone"), 7):
        assert ground_of(codex("Stop") | {"cwd": cwd}, HOME=home).has_store


def test_a_named_store_is_shared_by_projects_that_keep_their_names(project, home, tmp_path):
    named = tmp_path / "all.db"
    context = ground_of(codex("Stop", cwd=project.folder), HOME=home, TACIT_STORE=str(named))
    assert (context.location.database, context.scope, context.has_store) == (
        str(named),
        f"team:{THREAD} in project:shop",
        False,
    )
    assert context.location.may_be_made(str(home))
    assert ground_of(codex("Stop", cwd=project.folder), HOME=home, TACIT_STORE=":memory:") is None


def test_a_store_is_made_unasked_only_in_a_repository(project, home, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    assert not ground_of(codex("Stop", cwd=folder), HOME=home).location.may_be_made(str(home))
    assert ground_of(codex("Stop", cwd=project.folder), HOME=home).location.may_be_made(str(home))


def test_a_store_is_made_unasked_only_where_somebody_connected_the_repository(home, tmp_path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    place = ground_of(codex("Stop", cwd=other), HOME=home).location
    assert not place.may_be_made(str(home))
    (other / ".codex").mkdir()
    (other / ".codex" / "hooks.json").write_text("sh -c 'tacit hook --client codex'")
    assert place.may_be_made(str(home))
    (other / ".codex" / "hooks.json").unlink()
    Path(home).mkdir(exist_ok=True)
    Path(home, EVERY_PROJECT).touch()
    assert place.may_be_made(str(home))


def test_tacit_keeps_out_while_it_is_paused(project, home):
    event = codex("Stop", cwd=project.folder)
    (project.folder / ".tacit" / "paused").write_text(str(time.time() + 60))
    assert ground_of(event, HOME=home) is None
    (project.folder / ".tacit" / "paused").write_text(str(time.time() - 60))
    assert ground_of(event, HOME=home) is not None


@pytest.mark.parametrize("place", ["project", "home", "variable"])
def test_tacit_keeps_out_of_excluded_folders(project, home, tmp_path, place):
    folder = {"project": project.folder, "home": tmp_path / "home" / ".tacit", "variable": tmp_path / "etc"}[place]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tacit.toml").write_text('[store]\nexclude = ["*/shop/private*"]\n[recall]\nk = 2\n')
    variables = {"HOME": home, "TACIT_HOME": f"{home}/.tacit"}
    if place == "variable":
        variables["TACIT_CONFIG"] = str(folder / "tacit.toml")
    private = project.folder / "private"
    private.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("TACIT_", "CLAUDE", "CODEX", "GEMINI", "AI_AGENT")):
                patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        assert ground_of(codex("Stop", cwd=private), **variables) is None
        assert ground_of(codex("Stop", cwd=project.folder), **variables).recall_limits == (2, 1500, 0.18)


def test_a_store_that_may_not_be_used_and_settings_that_cannot_be_read_are_faults(project, home):
    event = codex("Stop", cwd=project.folder)
    (project.folder / ".git" / "index").write_bytes(b"DIRC .tacit/tacit.db")
    with pytest.raises(NotPermitted):
        ground_of(event, HOME=home)
    (project.folder / ".git" / "index").unlink()
    (project.folder / "tacit.toml").write_text("[recall\n")
    with pytest.raises(ConfigError):
        ground_of(event, HOME=home)
