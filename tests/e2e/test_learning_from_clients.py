"""`tacit learn` finds the sessions of every client, and those that a team keeps in git; `tacit export` writes them as ATIF."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tacit.domain.trajectory import ASKED_BY_TEAMMATE, Origin, Role
from tacit.ingest.git_sessions import sessions_in_git
from tacit.ingest.sources import project_transcripts, read
from tests.e2e.conftest import Terminal
from tests.unit.ingest.client_samples import PROMPT, SAMPLES

FOUND = (
    "copilot", "gemini", "qwen-code", "opencode", "letta-code", "openclaw", "pi", "cursor-editor", "aider", "mini-swe-agent",
)  # fmt: skip
MINE, THEIRS = "ann@example.org", "kim@example.org"


@pytest.fixture
def placed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A project in which every client has left its session."""
    monkeypatch.setattr("tests.unit.ingest.client_samples.workspace", lambda home: str(terminal.project))
    for name in FOUND:
        SAMPLES[name](terminal.home)
    return terminal


def test_the_sessions_of_all_clients_are_found_and_read_once(placed: Terminal) -> None:
    told = placed.run("learn", "--json").json
    assert told["transcripts"] == {"found": len(FOUND), "unchanged": 0, "of_other_projects": 0}
    assert told["captured"]["added"] == len(FOUND) + 1  # one of them has a subagent
    assert told["problems"] == []
    again = placed.run("learn", "--json").json
    assert (again["transcripts"]["unchanged"], again["captured"]["added"]) == (len(FOUND), 0)


def test_one_client_may_be_chosen(placed: Terminal) -> None:
    told = placed.run("learn", "--json", "--client", "opencode").json
    assert (told["transcripts"]["found"], told["captured"]["added"]) == (1, 2)


def test_sessions_are_exported_as_atif_and_read_back_as_the_same(placed: Terminal) -> None:
    placed.run("learn", "--client", "copilot")
    file = placed.project / "out.jsonl"
    agents = Terminal(placed.project, placed.home, {"CLAUDECODE": "1"})
    assert agents.run("export", "--format", "atif", "--all", "--to", str(file)).code == 3
    assert placed.run("export", "--format", "atif", "--all", "--to", str(file)).code == 0
    (found,) = read(file)
    (original,) = read(placed.home / ".copilot")
    assert (found.task, found.session_id, found.environment) == (original.task, "c-1", original.environment)
    assert found.steps == original.steps
    assert placed.run("export", "--format", "atif", "--all", "--to", str(file)).code == 3


def git(folder: Path, *words: str, author: str = MINE, given: bytes | None = None) -> str:
    name = {"GIT_AUTHOR_NAME": author.partition("@")[0], "GIT_AUTHOR_EMAIL": author}
    whole = {**os.environ, **name, "GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c@example.org"}
    done = subprocess.run(["git", *words], cwd=folder, env=whole, input=given, capture_output=True, check=True)
    return done.stdout.decode().strip()


def keep_in_git(
    project: Path, transcript: Path, name: str, *, author: str, ref: str = "refs/heads/entire/checkpoints/v1"
) -> None:
    """Commit a transcript as a checkpoint, without a working copy of that branch."""
    about = json.dumps({"session_id": name, "agent": "Copilot", "created_at": "2026-05-04T10:00:00Z"}).encode()
    blobs = {
        "full.jsonl": git(project, "hash-object", "-w", "--stdin", given=transcript.read_bytes()),
        "metadata.json": git(project, "hash-object", "-w", "--stdin", given=about),
    }
    before = git(project, "for-each-ref", "--format=%(objectname)", ref)
    held = git(project, "ls-tree", "-r", before).splitlines() if before else []
    lines = [*held, *(f"100644 blob {blob}\t{name}-{file}" for file, blob in blobs.items())]
    index = project / ".git" / "checkpoint-index"
    os.environ["GIT_INDEX_FILE"] = str(index)
    try:
        index.unlink(missing_ok=True)
        flat = [line.replace(f"\t{name}-", f"\tab/{name}/0/") for line in lines]
        git(project, "update-index", "--index-info", given=("\n".join(flat) + "\n").encode())
        tree = git(project, "write-tree")
    finally:
        del os.environ["GIT_INDEX_FILE"]
    parent = ["-p", before] if before else []
    commit = git(project, "commit-tree", tree, *parent, "-m", f"Checkpoint: {name}", author=author)
    git(project, "update-ref", ref, commit)


@pytest.mark.slow
def test_sessions_in_git_are_learned_without_a_checkout(terminal: Terminal, tmp_path: Path) -> None:
    git(terminal.project, "init", "-q")
    transcript = SAMPLES["copilot"](tmp_path)
    keep_in_git(terminal.project, transcript, "s-1", author=THEIRS)
    keep_in_git(terminal.project, transcript, "s-2", author=THEIRS, ref="refs/entire/checkpoints/ab/12")
    git(terminal.project, "update-ref", "refs/remotes/origin/entire/checkpoints/v1", "refs/heads/entire/checkpoints/v1")
    before = sorted(path.name for path in terminal.project.iterdir())
    told = terminal.run("learn", "--json").json
    assert told["transcripts"]["found"] == told["transcripts"]["of_other_people"] == 2
    assert told["captured"]["added"] == 1  # both hold the same attempt
    after = sorted(path.name for path in terminal.project.iterdir())
    assert [name for name in after if name not in (".tacit", ".gitignore")] == before
    assert git(terminal.project, "status", "--porcelain", "--untracked-files=no") == ""
    assert terminal.run("learn", "--json").json["transcripts"]["unchanged"] == 2


@pytest.mark.slow
def test_only_the_commits_author_is_the_person(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project, home):
        folder.mkdir()
    (home / ".gitconfig").write_text(f"[user]\n\temail = {MINE}\n")
    git(project, "init", "-q")
    keep_in_git(project, SAMPLES["copilot"](tmp_path), "s-1", author=THEIRS)
    keep_in_git(project, SAMPLES["qwen-code"](tmp_path), "s-2", author=MINE)
    assert [(each.session_id, author) for each, author in sessions_in_git(project, home=home)] == [
        ("s-1", "kim"),
        ("s-2", ""),
    ]
    theirs, mine = (next(each.read(None)) for each in project_transcripts(project, ["git"], home=home))
    assert (theirs.task.text, theirs.task.by) == (PROMPT, f"{ASKED_BY_TEAMMATE}kim")
    assert (theirs.task_origin, mine.task_origin) == (Origin.EXTERNAL, Origin.USER)
    assert not any(step.role is Role.USER for step in theirs.steps)
    assert any(step.role is Role.USER for step in mine.steps)
    assert project_transcripts(project, ["git"], home=home, known=["rollout-s-2"])[-1].author == "kim"


@pytest.mark.slow
def test_a_repository_without_checkpoints_has_no_sessions(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert list(sessions_in_git(tmp_path, home=tmp_path)) == []
