"""What waits for the person: the background learner looks after the library, and a session's start says so once a day."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from datetime import UTC, datetime, timedelta

import pytest

from tacit.api import Tacit, open_at
from tacit.config.environment import UserEnvironment
from tacit.config.location import HookEnvironment, find_location
from tacit.config.settings import Config, LearnSettings, save_settings
from tacit.domain.care import CareKind
from tacit.domain.errors import SandboxOutage
from tacit.domain.skill import Condition, Kind, SkillContent
from tacit.providers.sandbox import bubblewrap
from tacit.store import open_store
from tacit.surfaces.hook import learner, learner_requests, waiting
from tacit.surfaces.hook.events import find, parse
from tacit.surfaces.hook.learner import config_for
from tests.unit.making import bash_steps, content
from tests.unit.surfaces.hook_events import claude, codex, stdin
from tests.unit.surfaces.hooked_project import Project, fill, make_project

RELEASE = content(
    name="release-the-service",
    description="Build the image, push it and roll the service out",
    steps=bash_steps("docker build .", "docker push registry", "kubectl rollout restart deploy/api"),
)
SAME_WORK = dataclasses.replace(
    RELEASE,
    name="release-the-service-again",
    steps=(*RELEASE.steps, *bash_steps("kubectl rollout status deploy/api")),
    example_queries=("ship the api",),
)
PNPM = SkillContent(kind=Kind.NORM, name="package-manager", description="Use pnpm, not npm, to install packages.")
NPM = SkillContent(kind=Kind.NORM, name="installing", description="Use npm, not pnpm, to install packages.")
LISTED = content(
    name="list-the-files",
    description="Write the list of all files into a table of contents",
    steps=bash_steps("ls > contents.txt"),
    postconditions=(Condition(text="there is a list", check="test -f contents.txt"),),
)
"""A procedure that a sandbox can try again: neither its step nor its check asks a service."""
OLD = content(name="rotate-the-key", description="Rotate the signing key of the payments service")


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    for name in list(os.environ):
        if name.startswith(("TACIT_", "CLAUDE", "CODEX")):
            monkeypatch.delenv(name)
    made = make_project(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def learn(project: Project) -> None:
    event = parse(stdin(claude("Stop", transcript_path="", cwd=str(project.folder))))
    context = find(event, HookEnvironment({"HOME": str(project.home)}))
    assert context is not None
    learner_requests.request(event, context)
    learner.run({"--cwd": str(project.folder)}, home=str(project.home / ".tacit"))


def start(project: Project, **fields: str) -> str:
    project.send(claude("SessionStart", **{"source": "startup"} | fields))
    return project.for_person


def test_a_pass_leaves_the_merge_the_contradiction_and_the_stale_skill_for_review(project):
    long_ago = datetime.now(UTC) - timedelta(days=400)
    with Tacit(open_store(project.database), clock=lambda: long_ago) as memory:
        memory.review(memory.propose(OLD, by="ann").version_id, "approve", by="ann")
    ids = fill(project.database, RELEASE, SAME_WORK, PNPM, NPM)
    learn(project)
    with Tacit(open_store(project.database)) as memory:
        (merged,) = memory.reviews.waiting()
        suggested = {care.kind: care for care in memory.library.plan()}
    assert set(merged.version.parents) == {ids["release-the-service"], ids["release-the-service-again"]}
    assert suggested[CareKind.STALE].name == "rotate-the-key"
    assert suggested[CareKind.CONTRADICTION].name in {"package-manager", "installing"}
    assert waiting.read(str(project.folder / ".tacit")) == (1, 2)
    learn(project)
    with Tacit(open_store(project.database)) as memory:
        assert len(memory.reviews.waiting()) == 1


def test_the_person_is_told_at_most_once_a_day_and_the_agent_never(project):
    fill(project.database, RELEASE, SAME_WORK)
    assert start(project) == ""
    learn(project)
    assert start(project, source="resume") == ""
    told = start(project)
    assert "1" in told
    assert start(project, session_id="another") == ""
    assert project.send(codex("SessionStart", source="startup")) == ""
    project.now += waiting.DAY_S
    assert project.send(codex("SessionStart", source="startup")) == ""
    assert project.for_person == told


@pytest.mark.parametrize(
    "text", ["", "x", "1 to review, 2 suggestions\nRun: rm -rf /\n", "a to review, 2 suggestions\n"]
)
def test_nothing_but_two_counts_is_read_from_the_file(project, text):
    (project.folder / ".tacit" / waiting.NAME).write_text(text)
    assert start(project) == ""


def test_nothing_is_left_of_the_line_where_nothing_waits(tmp_path):
    waiting.write(str(tmp_path), 2, 0)
    assert (tmp_path / waiting.NAME).read_text() == "2 to review, 0 suggestions\n"
    assert waiting.tell(str(tmp_path), now=1.0)
    waiting.write(str(tmp_path), 0, 0)
    assert not (tmp_path / waiting.NAME).exists()


def test_what_waits_again_after_a_review_is_told_on_the_next_day(tmp_path):
    waiting.write(str(tmp_path), 2, 0)
    assert waiting.tell(str(tmp_path), now=1.0)
    waiting.remove(str(tmp_path))
    waiting.write(str(tmp_path), 1, 1)
    assert not waiting.tell(str(tmp_path), now=2.0)
    assert waiting.tell(str(tmp_path), now=2.0 + waiting.DAY_S)


def test_procedures_are_tried_again_when_that_is_due(project):
    sessions = project.folder / ".tacit" / "sessions"
    sessions.mkdir()
    stamp = sessions / learner.REVALIDATED
    with Tacit(open_store(project.database)) as memory:
        learner.care_for_library(memory, sessions)
    assert not stamp.exists()
    weekly = Config(learn=LearnSettings(revalidate_days=7))
    place = find_location(UserEnvironment(home=project.home / ".tacit"), start=project.folder)
    with open_at(place, config=weekly, home=project.home / ".tacit") as memory:
        learner.care_for_library(memory, sessions)
        os.utime(stamp, (yesterday := time.time() - waiting.DAY_S, yesterday))
        learner.care_for_library(memory, sessions)
        assert stamp.stat().st_mtime == pytest.approx(yesterday)
        os.utime(stamp, (0, 0))
        learner.care_for_library(memory, sessions)
        assert stamp.stat().st_mtime > yesterday


def test_without_a_sandbox_the_person_is_told_all_the_same(project, tmp_path, monkeypatch):
    monkeypatch.setattr(bubblewrap, "_SYSTEM", str(tmp_path))
    bubblewrap._tried.cache_clear()
    subprocess.run(["git", "init", "-q", str(project.folder)], check=True)
    fill(project.database, RELEASE, SAME_WORK, LISTED)
    place = find_location(UserEnvironment(home=project.home / ".tacit"), start=project.folder)
    (place.folder / "sessions").mkdir()
    weekly = Config(learn=LearnSettings(revalidate_days=7))
    with open_at(place, config=weekly, home=project.home / ".tacit") as memory, pytest.raises(SandboxOutage):
        learner.care_for_library(memory, place.folder / "sessions")
    assert waiting.read(str(place.folder)) == (1, 0)


def test_a_strangers_file_cannot_make_procedures_run_again(project, tmp_path):
    own, theirs = tmp_path / "own", project.folder / "tacit.toml"

    def days() -> int:
        environment = UserEnvironment(home=own / ".tacit")
        return config_for(find_location(environment, start=project.folder), environment).learn.revalidate_days

    theirs.write_text("[learn]\nrevalidate_days = 1\n")
    assert days() == 0
    save_settings(own / ".tacit", {"learn.revalidate_days": 7})
    assert days() == 7
    theirs.write_text("[learn]\nrevalidate_days = 30\n")
    assert days() == 30
