"""Repository: what a commit of a git checkout contains, compared with the checked-out files. Git runs none of its hooks.

Replaced objects and the settings of the user and the machine are ignored, and files of the workspace are never read through
git: an index that hides changes, or a filter that reverts them, deceives git but not a hash. Objects are checked against
their names, which git itself does not do when it reads them.

A `WorkspaceBaseline` is the moment and the commit from which on what changed in a workspace was changed by the run. Times that
can be set by hand are ignored. In strict mode, where the reporter may have chosen the moment, only the commit counts.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from tacit.config.checkout import checkout_around, git_folder, plain_git, shared_folder
from tacit.domain.errors import VerifierOutage
from tacit.domain.evidence import Use
from tacit.evidence.deciding_files import decides_checks

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


_TICK_S = 0.1
"""Times of files tick more coarsely than the clock; what was changed within this time before counts as changed since."""
_SKIPPED = frozenset(".git .tacit __pycache__ node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis".split())
_MOST_FILES = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceBaseline:
    """A workspace, and the moment and commit from which on what changed there was changed by the run."""

    folder: Path
    since: datetime
    commit: str = ""
    strict: bool = False
    """Whether whoever reports may have chosen the moment: then what decides must be as it was committed, and a
    commit known."""

    @classmethod
    def of(cls, use: Use, folder: Path, *, strict: bool = False) -> WorkspaceBaseline:
        """The baseline of a use."""
        return cls(folder=folder, since=use.at, commit=use.commit, strict=strict)

    def repository(self) -> tuple[Repository, str] | None:
        """The checkout around the workspace with the commit to compare with; None where there is none."""
        here = Repository.around(self.folder)
        if here is None:
            return None
        base = self.commit or ("" if self.strict else here.before(self.since))
        return (here, base) if here.has(base) else None

    def cannot_compare(self) -> str:
        """Why it is not known what the run changed; empty if it can be found out."""
        if is_ahead(self.since, datetime.now(UTC)):
            return "the use is dated in the future, so it is not known what the run changed"
        if self.repository() is None and (self.strict or self.commit):
            return "there is no commit to compare with, so it is not known what the run changed"
        return ""

    def changed_here(self) -> str:
        """A deciding file that was changed since, in a workspace without git; empty if there is none."""
        for count, path in enumerate(_files(self.folder)):
            if count >= _MOST_FILES:
                return "there are too many files here to compare them"
            if decides_checks(path) and self.is_newer(self.folder / path):
                return f"`{path}` may decide what the check means, and was changed since the skill was given"
        return ""

    def committed(self) -> str:
        """Why a clean copy of what is checked out is not independent: what the run committed of what decides checks."""
        found = self.repository()
        here = found[0] if found else Repository.around(self.folder)
        base = found[1] if found else ""
        if here and not base and not self.strict:  # a harness may name another checkout than the one it stood in
            base = here.before(self.since)
        if here is None or not base:
            return "there is no commit to compare with, so it is not known what the run changed"
        if not here.is_built_on(base):
            return "something else is checked out than what the run worked on"
        before, now = here.tree(base), here.tree("HEAD")
        for path in sorted(before.keys() | now.keys()):
            if before.get(path) != now.get(path) and decides_checks(path):
                return f"the run committed a change of `{path}`, which may decide what the check means"
        return ""

    def held_before(self, path: Path) -> bytes | None:
        """What a file held in that commit; `None` if it was not there, or that is not known."""
        found = self.repository()
        if found is None:
            return None
        here, base = found
        entry = here.tree(base).get(os.path.relpath(path, here.root))
        return here.content(entry.blob) if entry else None

    def is_newer(self, path: Path) -> bool:
        """Whether something was written, made or moved since. Uses the change time, which a program cannot set."""
        try:
            return max(path.lstat().st_ctime, path.stat().st_ctime) > self.since.timestamp() - _TICK_S
        except OSError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineCheck:
    """A check that is compared with the workspace as it was when the skill was shown."""

    baseline: WorkspaceBaseline | None = None
    """The earlier state of the workspace; without it, changes of the check are not noticed."""
    reservation: str = ""
    """A doubt that is known already when the check is chosen."""

    def on(self, baseline: WorkspaceBaseline) -> Self:
        """Return the same check with a baseline; one that has a baseline keeps it."""
        return self if self.baseline else replace(self, baseline=baseline)

    def folder(self, cwd: Path | None) -> Path:
        """Return where the check runs: in a folder that it names, or in that of the baseline."""
        return (cwd or (self.baseline.folder if self.baseline else Path.cwd())).resolve()


def _files(root: Path) -> Iterator[str]:
    """Files below a folder, as paths from it, without caches and installed packages."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _SKIPPED]
        yield from (os.path.relpath(Path(folder, name), root) for name in files)
