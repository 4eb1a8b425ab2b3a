"""Workspace baseline: the moment and the commit from which on what changed in a workspace was changed by the run.

It reads files and asks git, and runs no check. Times that can be set by hand are ignored. In strict mode, where the reporter
may have chosen the moment, only the commit counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from tacit.domain.evidence import Use
from tacit.evidence.deciding_files import decides_checks
from tacit.evidence.repository import Repository, is_ahead

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
