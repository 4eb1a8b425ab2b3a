"""The commit that is checked out, read from git's own files: branches, packed, detached, worktrees; nothing where unsure."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tacit.config.checkout import checked_out, checkout_around, commit_at_work, workspace


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_commit_of_a_branch_is_found_from_any_folder_below(project):
    head = git(project, "rev-parse", "HEAD")
    assert checked_out(project) == head
    assert checked_out(project / "src") == head
    assert checkout_around(project / "src") == project


def test_packed_and_detached_heads_are_read(project):
    head = git(project, "rev-parse", "HEAD")
    git(project, "pack-refs", "--all")
    assert checked_out(project) == head
    git(project, "checkout", "-q", "--detach")
    assert checked_out(project) == head


def test_worktree_has_its_own_commit(project, tmp_path, monkeypatch):
    git(project, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "second")
    assert checked_out(tmp_path / "tree") == git(tmp_path / "tree", "rev-parse", "HEAD")
    assert checked_out(tmp_path / "tree") != checked_out(project)
    monkeypatch.chdir(tmp_path / "tree")
    assert workspace(project) == tmp_path / "tree"
    assert commit_at_work(project) == checked_out(tmp_path / "tree")
    monkeypatch.chdir(tmp_path)
    assert workspace(project) == project


def test_where_it_is_not_sure_it_says_nothing(tmp_path):
    assert checked_out(tmp_path) == ""
    assert commit_at_work(None) == ""
    git(tmp_path, "init", "-q")
    assert checked_out(tmp_path) == ""  # a branch without commits
    (tmp_path / ".git" / "HEAD").write_bytes(b"\xff\xfe nonsense")
    assert checked_out(tmp_path) == ""
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/../../../etc/passwd\n")
    assert checked_out(tmp_path) == ""


def test_marker_that_leads_nowhere_says_nothing(tmp_path):
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert checked_out(tmp_path) == ""
