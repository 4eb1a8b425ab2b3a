"""The learner behind the hooks asks a model only where the person's own settings say so; an asked client has no hooks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources

import pytest

from tacit.config.environment import UserEnvironment
from tacit.config.location import HookEnvironment, find_location
from tacit.ingest.sources import transcript
from tacit.surfaces.hook import learner, learner_requests
from tacit.surfaces.hook.events import find, parse
from tests.person import give_key
from tests.unit.surfaces.hook_events import claude, stdin
from tests.unit.surfaces.hooked_project import NORM, make_project

pytestmark = pytest.mark.slow
ON = '[learn]\nread_in_background = true\n[model]\nname = "claude-code"\n'


class Background:
    """A project with a session to learn from, an account, and a client that notes each time it is asked."""

    def __init__(self, folder, monkeypatch):
        self.project = make_project(folder, NORM)
        self.account, self.asked = folder / "account", folder / "asked"
        programs = folder / "bin"
        for each in (self.account / ".tacit", programs):
            each.mkdir(parents=True)
        (programs / "claude").write_text(f"#!/bin/sh\ncat > /dev/null; echo >> {self.asked}; env > {folder}/env\n")
        (programs / "claude").chmod(0o755)
        for name in list(os.environ):
            if name.startswith(("TACIT_", "CLAUDE", "CODEX", "ANTHROPIC")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(self.project.home))
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        self.env = folder / "env"

    def learn(self):
        """Serve the request of one session; return how often the client was asked."""
        with resources.as_file(resources.files("tacit") / "demo" / "transcripts") as folder:
            source = sorted(folder.glob("*.jsonl"))[0].read_bytes()
        path = self.project.folder.parent / "session.jsonl"
        path.write_bytes(source)
        event = claude("Stop") | {"transcript_path": str(path), "cwd": str(self.project.folder)}
        context = find(parse(stdin(event)), HookEnvironment({"HOME": str(self.project.home)}))
        assert context is not None
        learner_requests.request(parse(stdin(event)), context)
        environment = UserEnvironment(home=self.account / ".tacit")
        location = find_location(environment, start=self.project.folder)
        learner._work(location, location.folder / "sessions", environment, home=str(self.account / ".tacit"))
        return len(self.asked.read_text().splitlines()) if self.asked.exists() else 0


@pytest.fixture
def background(tmp_path, monkeypatch):
    return Background(tmp_path, monkeypatch)


def test_model_reads_in_the_background_where_the_person_says_so(background):
    (background.account / ".tacit" / "tacit.toml").write_text(ON)
    assert background.learn() > 0
    assert "TACIT_MODEL_CALL=1" in background.env.read_text()
    used = json.loads((background.account / ".tacit" / "model-usage.json").read_text())
    assert sum(day["calls"] for day in used["days"].values()) > 0


@pytest.mark.parametrize("own", ["", '[model]\nname = "claude-code"\n', "[learn]\nread_in_background = true\n"])
def test_model_that_is_not_named_and_switched_on_is_not_asked(background, own):
    (background.account / ".tacit" / "tacit.toml").write_text(own)
    assert background.learn() == 0


def test_projects_file_may_switch_it_off_and_not_on(background):
    (background.project.folder / "tacit.toml").write_text(ON)
    assert background.learn() == 0
    (background.account / ".tacit" / "tacit.toml").write_text(ON)
    (background.project.folder / "tacit.toml").write_text("[learn]\nread_in_background = false\n")
    assert background.learn() == 0


def test_model_that_cannot_be_opened_is_logged_and_the_rest_is_learned(background):
    (background.account / ".tacit" / "tacit.toml").write_text(ON.replace("claude-code", "nobody:gpt"))
    assert background.learn() == 0
    assert "model" in (background.account / ".tacit" / "hook.log").read_text()
    assert not list((background.project.folder / ".tacit" / "sessions").glob("*.taken"))


def test_address_that_the_projects_files_set_is_not_used(background, monkeypatch):
    (background.account / ".tacit" / "tacit.toml").write_text(ON)
    (background.project.folder / ".claude").mkdir()
    settings = background.project.folder / ".claude" / "settings.json"
    settings.write_text('{"env": {"ANTHROPIC_BASE_URL": "https://x.example"}}')
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://x.example")
    assert background.learn() > 0
    assert "x.example" not in background.env.read_text()


def test_hook_of_a_client_that_is_asked_as_a_model_does_nothing(tmp_path):
    project = make_project(tmp_path, NORM)
    give_key(project.home / ".tacit")
    event = stdin(claude("SessionStart", source="startup") | {"cwd": str(project.folder)})
    said = []
    for mark in ({}, {"TACIT_MODEL_CALL": "1"}):
        environment = {"HOME": str(project.home), "PATH": os.environ["PATH"], **mark}
        command = [sys.executable, "-m", "tacit", "hook", "--client", "claude-code"]
        done = subprocess.run(
            command, input=event, cwd=project.folder, env=environment, capture_output=True, check=True
        )
        said.append(bool(done.stdout))
    assert said == [True, False]


def test_transcript_of_a_client_that_was_asked_as_a_model_is_passed_over(tmp_path):
    file = tmp_path / "s.jsonl"
    for folder, found in (("/srv/shop", True), ("/var/tacit-model-x1/empty", False)):
        file.write_text(json.dumps({"type": "user", "cwd": folder, "message": {"role": "user", "content": "x"}}) + "\n")
        assert (transcript(file) is not None) is found
