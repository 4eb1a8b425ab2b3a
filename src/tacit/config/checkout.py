"""The git checkout around a folder and its current commit, read from git's own files.

Runs no program and writes nothing; it only says how git is run without settings and hooks. If it is not sure (no
repository, a branch without commits, an unknown storage format) the result is an empty text or `None`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tacit.config.location import project_root

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCH = re.compile(r"ref: (refs/(?!.*\.\.)[^\s~^:?*\[\\]+)")
"""What git accepts as the name of a branch; nothing that leads out of the folder."""
_LONGEST = 4096
_PACKED_BYTES = 16 * 1024 * 1024


_SYSTEM = "/usr/bin:/usr/local/bin:/bin:/opt/homebrew/bin"


def plain_git(git: Path) -> tuple[list[str], dict[str, str]] | None:
    """Return how to run git on a repository: command and environment, without hooks, network, replaced objects, or anybody's
    settings; nothing where git is not installed."""
    program = shutil.which("git", path=_SYSTEM)
    if program is None:
        return None
    environment = {
        "PATH": _SYSTEM,
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_DIR": str(git),
    }
    return [
        program,
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "safe.directory=*",
    ], environment


def commit_at_work(project: Path | None) -> str:
    """Return the commit that is checked out where a project is worked on; empty if unknown."""
    return checked_out(workspace(project)) if project else ""


def workspace(project: Path) -> Path:
    """Return the checkout to work in: the current worktree if it belongs to this project, else the project."""
    try:
        here = Path.cwd()
    except OSError:
        return project
    found = checkout_around(here)
    return found if found and project_root(str(found)) == str(project) else project


def checkout_around(start: Path) -> Path | None:
    """Return the nearest folder, upwards from here, with a git checkout."""
    start = start.absolute()
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def checked_out(start: Path) -> str:
    """Return the commit that is checked out around a folder; empty if unknown."""
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
    """Return the git folder of a checkout; for a worktree or submodule, the folder that its `.git` file names."""
    marker = checkout / ".git"
    if marker.is_dir():
        return marker
    line = _line(marker)
    if not line.startswith("gitdir:"):
        return None
    folder = checkout / line.removeprefix("gitdir:").strip()
    return folder if folder.is_dir() else None


def shared_folder(git: Path) -> Path:
    """Return the git folder that worktrees share with their main checkout."""
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
    """Return the only line of a small file; empty if there is no such file or line."""
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(_LONGEST).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return "" if "\n" in text else text
