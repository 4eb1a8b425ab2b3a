"""Repository: what a commit of a git checkout contains, compared with the checked-out files. Git runs none of its hooks.

Replaced objects and the settings of the user and the machine are ignored, and files of the workspace are never read through
git: an index that hides changes, or a filter that reverts them, deceives git but not a hash. Objects are checked against
their names, which git itself does not do when it reads them.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tacit.config.checkout import checkout_around, git_folder, plain_git, shared_folder
from tacit.domain.errors import VerifierOutage
from tacit.domain.evidence import Use

_LIMIT_S = 60.0
_FOLDER, _SUBMODULE = "40000", "160000"
_MOVED = re.compile(rb"(?P<before>[0-9a-f]{40,64}) (?P<after>[0-9a-f]{40,64}) .*? (?P<at>\d+) [+-]\d{4}(?:\t.*)?")


@dataclass(frozen=True, slots=True)
class TreeEntry:
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

    @property
    def shared(self) -> Path:
        """Where git keeps what all worktrees share."""
        return shared_folder(self.git)

    def tree(self, commit: str) -> dict[str, TreeEntry]:
        """Each file of a commit by its path from the root."""
        resolved = self._ask("rev-parse", "--verify", f"{commit}^{{commit}}") or b""
        commit = resolved.decode().strip()
        about = self._objects([commit])[commit] if commit else b""
        root = re.match(rb"tree ([0-9a-f]{40,64})\n", about)
        if root is None:
            raise VerifierOutage(f"{commit} is no commit to compare with", hint="run `git fsck` in the checkout")
        found: dict[str, TreeEntry] = {}
        waiting = [("", root[1].decode())]
        while waiting:
            held = self._objects({name for _, name in waiting})
            entries = [(folder, *entry) for folder, name in waiting for entry in _entries(held[name], len(commit) // 2)]
            waiting = [(f"{folder}{path}/", name) for folder, mode, path, name in entries if mode == _FOLDER]
            found |= {
                f"{folder}{path}": TreeEntry(mode, name)
                for folder, mode, path, name in entries
                if mode not in (_FOLDER, _SUBMODULE)
            }
        return found

    def content(self, blob: str) -> bytes:
        """What a file of a commit holds."""
        return self._objects([blob])[blob]

    def texts(self, tree: Mapping[str, TreeEntry], named: re.Pattern[str]) -> dict[str, str]:
        """The files of a commit whose paths match, as text."""
        chosen = {path: entry.blob for path, entry in tree.items() if named.fullmatch(path)}
        held = self._objects(chosen.values())
        return {path: held[blob].decode("utf-8", "replace") for path, blob in chosen.items()}

    def _objects(self, names: Iterable[str]) -> dict[str, bytes]:
        """Objects by their names; one that does not hold what it is named after was forged, and git itself does not
        look."""
        asked = list(dict.fromkeys(names))
        if not asked:
            return {}
        answer = self._ask("cat-file", "--batch", stated="".join(f"{name}\n" for name in asked).encode()) or b""
        found: dict[str, bytes] = {}
        at = 0
        for name in asked:
            end = answer.find(b"\n", at)
            words = answer[at:end].split()
            if end < 0 or len(words) != 3:
                raise VerifierOutage(f"git does not have {name} to compare with", hint="run `git fsck` in the checkout")
            data = answer[end + 1 : end + 1 + int(words[2])]
            at = end + 2 + len(data)
            if hashed(words[1], data, like=name) != name:
                raise VerifierOutage(
                    f"git's object {name} was forged", code="forged_object", hint="run `git fsck` in the checkout"
                )
            found[name] = data
        return found

    def untracked(self) -> list[str]:
        """Files of the workspace that git neither holds nor ignores."""
        found = self._ask("ls-files", "--others", "--exclude-standard", "-z") or b""
        known = self._ask("ls-files", "--cached", "-z") or b""
        names = (name.decode("utf-8", "surrogateescape") for name in (found + known).split(b"\0") if name)
        return [name for name in dict.fromkeys(names) if ".." not in name.split("/")]

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

    def _ask(self, *words: str, stated: bytes = b"") -> bytes | None:
        """The answer of git; nothing where it says no."""
        plain = plain_git(self.git)
        if plain is None:
            raise VerifierOutage("git is not installed, so nothing can be compared", hint="install git")
        command, environment = plain
        try:
            done = subprocess.run(
                [*command, *words],
                cwd=self.root,
                env=environment,
                input=stated,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise VerifierOutage(f"git did not answer: {error}", hint="run `git status` in the checkout") from error
        return done.stdout if done.returncode == 0 else None


def hashed(kind: bytes, data: bytes, *, like: str) -> str:
    """The name that git gives to an object, in the form of another name."""
    made = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return made(b"%s %d\0" % (kind, len(data)) + data, usedforsecurity=False).hexdigest()


def _entries(tree: bytes, width: int) -> Iterator[tuple[str, str, str]]:
    """Mode, name and object of each entry of a folder."""
    at = 0
    while at < len(tree):
        space, end = tree.index(b" ", at), tree.index(b"\0", at)
        name = tree[space + 1 : end].decode("utf-8", "surrogateescape")
        yield tree[at:space].decode(), name, tree[end + 1 : end + 1 + width].hex()
        at = end + 1 + width


def _moves(log: Path) -> list[re.Match[bytes]]:
    try:
        lines = log.read_bytes().splitlines()
    except OSError:
        return []
    return [moved for line in lines if (moved := _MOVED.fullmatch(line))]


_BEFORE = timedelta(days=1)
AHEAD = timedelta(minutes=1)
"""Clocks differ by so much; what is dated further ahead was not written by any clock."""


def begun_with(use: Use, uses: Iterable[Use]) -> Use:
    """The earliest use of the day before this one that a commit is known of; this one if there is none."""
    before = [one for one in uses if one.commit and use.at - _BEFORE <= one.at <= use.at]
    return min(before, key=lambda one: one.at, default=use) if use.commit else use


def is_ahead(at: datetime, now: datetime) -> bool:
    """Whether a time lies in the future."""
    return at > now + AHEAD
