"""A folder → the git checkout around it and the commit that is checked out there, read from git's own small files.

No program is run and nothing is written. Where it is not sure (no repository, a branch without commits, a form of storage
that this does not know) it says nothing: an empty text, or `None`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tacit.config.location import project_root

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCH = re.compile(r"ref: (refs/(?!.*\.\.)[^\s~^:?*\[\\]+)")
"""Whatever git takes as the name of a branch; nothing that leads out of the folder."""
_LONGEST = 4096
_PACKED_BYTES = 16 * 1024 * 1024


def commit_at_work(project: Path | None) -> str:
    """The commit that is checked out where a project is worked on; empty where nobody knows."""
    return checked_out(workspace(project)) if project else ""


def workspace(project: Path) -> Path:
    """The checkout that is worked in: the worktree that one stands in if it is one of this project, else the project."""
    try:
        here = Path.cwd()
    except OSError:
        return project
    found = checkout_around(here)
    return found if found and project_root(str(found)) == str(project) else project


def checkout_around(start: Path) -> Path | None:
    """The nearest folder, from here upwards, that git has checked something out into."""
    start = start.absolute()
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def checked_out(start: Path) -> str:
    """The commit that is checked out around a folder; empty where that cannot be told."""
    found = checkout_around(start)
    git = git_folder(found) if found else None
    if git is None:
        return ""
    head = _line(git / "HEAD")
    branch = _BRANCH.fullmatch(head)
    if branch is None:
        return head if _COMMIT.fullmatch(head) else ""
    shared = shared_folder(git)
    for folder in (git, shared):
        value = _line(folder / branch[1])
        if _COMMIT.fullmatch(value):
            return value
    return _packed(shared / "packed-refs", branch[1])


def git_folder(checkout: Path) -> Path | None:
    """Where git keeps what belongs to this checkout; of a worktree or submodule, the folder that its `.git` file names."""
    marker = checkout / ".git"
    if marker.is_dir():
        return marker
    line = _line(marker)
    if not line.startswith("gitdir:"):
        return None
    folder = checkout / line.removeprefix("gitdir:").strip()
    return folder if folder.is_dir() else None


def shared_folder(git: Path) -> Path:
    """What worktrees have in common with their main checkout."""
    common = _line(git / "commondir")
    return git / common if common else git


def _packed(file: Path, branch: str) -> str:
    try:
        text = file.read_text(encoding="utf-8") if file.stat().st_size <= _PACKED_BYTES else ""
    except (OSError, UnicodeDecodeError):
        return ""
    for line in text.splitlines():
        commit, _, name = line.partition(" ")
        if name == branch and _COMMIT.fullmatch(commit):
            return commit
    return ""


def _line(file: Path) -> str:
    """The only line of a small file; empty if it is not there, or is something else."""
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(_LONGEST).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return "" if "\n" in text else text
