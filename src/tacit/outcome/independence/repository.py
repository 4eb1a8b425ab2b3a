"""A git checkout → what a commit holds, and how it stands to what is checked out. Git is asked; it runs none of its hooks.

Replaced objects, settings of the user and of the machine are left aside, and files of the workspace are never read by way of
git: an index that hides changes, or a filter that undoes them, deceives git and not a hash.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tacit.config.checkout import checkout_around, git_folder
from tacit.domain.errors import VerifierOutage

_SYSTEM = "/usr/bin:/usr/local/bin:/bin:/opt/homebrew/bin"
_LIMIT_S = 60.0
_MOVED = re.compile(rb"(?P<before>[0-9a-f]{40,64}) (?P<after>[0-9a-f]{40,64}) .*? (?P<at>\d+) [+-]\d{4}(?:\t.*)?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a commit."""

    mode: str
    blob: str

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == "120000"


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout with its repository."""

    root: Path
    git: Path

    @classmethod
    def around(cls, folder: Path) -> Repository | None:
        """The repository that a folder lies in, if there is one."""
        root = checkout_around(folder)
        git = git_folder(root) if root else None
        return cls(root, git) if root and git else None

    def has(self, commit: str) -> bool:
        """Whether a commit is there."""
        return (
            bool(re.fullmatch(r"[0-9a-f]{40,64}", commit))
            and self._ask("cat-file", "-e", f"{commit}^{{commit}}") is not None
        )

    def tree(self, commit: str) -> dict[str, Entry]:
        """Each file of a commit by its path from the root."""
        listed = self._ask("ls-tree", "-r", "-z", "--full-tree", commit)
        if listed is None:
            raise VerifierOutage("git cannot list the commit to compare with", hint="run `git fsck` in the checkout")
        found: dict[str, Entry] = {}
        for line in listed.split(b"\0"):
            about, _, path = line.partition(b"\t")
            if path and (words := about.decode().split())[1] == "blob":
                found[path.decode("utf-8", "surrogateescape")] = Entry(words[0], words[2])
        return found

    def content(self, blob: str) -> bytes:
        """What a file of a commit holds."""
        return self._ask("cat-file", "blob", blob) or b""

    def is_built_on(self, commit: str) -> bool:
        """Whether what is checked out descends from a commit."""
        return self._ask("merge-base", "--is-ancestor", commit, "HEAD") is not None

    def before(self, at: datetime) -> str:
        """What was checked out at a time: as the log of HEAD says, else the last commit made until then."""
        moment, found = int(at.timestamp()), ""
        for moved in _moves(self.git / "logs" / "HEAD"):
            if int(moved["at"]) > moment:
                found = found or moved["before"].decode()
                break
            found = moved["after"].decode()
        if found.strip("0"):
            return found
        last = self._ask("rev-list", "-1", f"--before={moment}", "HEAD")
        return last.decode().strip() if last else ""

    def _ask(self, *words: str) -> bytes | None:
        """The answer of git; nothing where it says no."""
        git = shutil.which("git", path=_SYSTEM)
        if git is None:
            raise VerifierOutage("git is not installed, so nothing can be compared", hint="install git")
        plain = {
            "PATH": _SYSTEM,
            "LC_ALL": "C",
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_DIR": str(self.git),
        }
        line = [git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*", *words]
        try:
            done = subprocess.run(
                line,
                cwd=self.root,
                env=plain,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise VerifierOutage(f"git did not answer: {error}", hint="run `git status` in the checkout") from error
        return done.stdout if done.returncode == 0 else None


def _moves(log: Path) -> list[re.Match[bytes]]:
    try:
        lines = log.read_bytes().splitlines()
    except OSError:
        return []
    return [moved for line in lines if (moved := _MOVED.fullmatch(line))]
