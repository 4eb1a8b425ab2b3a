"""What a check stands on → why it is not independent of the run that it judges, or nothing.

What decides a check (tests, settings, build files, the programs and scripts that it calls) is held against the commit that was
checked out when the skill was given, and against that moment. A file counts as changed if its content differs from the
commit and its inode was changed since: what a person left uncommitted before is theirs, and times that can be set by hand are
not looked at. It reads files and asks git; it runs no check. What it cannot see: programs replaced before the skill was
given, installed packages outside the workspace, and services or data that a test talks to.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path, PurePosixPath

from tacit.domain.evidence import Use
from tacit.outcome.changes import decides_checks
from tacit.outcome.independence.programs import files_run, programs_of
from tacit.outcome.independence.repository import Entry, Repository
from tacit.outcome.proof import reaches_for_the_tests

_SKIPPED = frozenset(".git .tacit __pycache__ node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis".split())
_MOST_FILES = 300_000
_TICK_S = 0.1
"""Times of files tick more coarsely than the clock; what was changed within this time before counts as changed since."""
_SCANNED_BYTES = 1_000_000
_ABOVE = (
    "pytest.ini .pytest.ini pytest.toml tox.ini setup.cfg pyproject.toml conftest.py sitecustomize.py package.json "
    "jest.config.js vitest.config.ts .env .npmrc .mocharc.json .babelrc"
).split()
"""What a check also looks for in the folders above the workspace."""
_STARTUP = re.compile(r".*\.pth|sitecustomize\.py|usercustomize\.py|_?pytest|pluggy|unittest|nose2?|coverage")
"""What a Python loads by itself, or what runs the tests, in a folder of installed packages."""
_BUILD_FILES = re.compile(
    r"(?:.*/)?(?:GNUmakefile|[Mm]akefile|[Jj]ustfile|[Tt]askfile\.ya?ml|package\.json|tox\.(?:ini|toml)|noxfile\.py|Rakefile)"
    r"|\.github/workflows/.*|\.gitlab-ci\.yml"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A workspace, and the moment and commit from which on what changed there was changed by the run."""

    folder: Path
    since: datetime
    commit: str = ""
    strict: bool = False
    """Whether there is doubt where nothing can be compared: without a commit a test that was removed is not seen."""

    @classmethod
    def of(cls, use: Use, folder: Path, *, strict: bool = False) -> Ground:
        """The ground of a use."""
        return cls(folder=folder, since=use.at, commit=use.commit, strict=strict)

    def doubt(self, command: str = "", *, search_path: str = "") -> str:
        """Why a check that runs here now is not independent; empty if nothing speaks against it."""
        here = Repository.around(self.folder)
        base = self._compared_with(here)
        if here and self.commit and not base:
            return f"the commit {self.commit[:12]} that was checked out is no longer there to compare with"
        if not base and self.strict:
            return "there is no commit to compare with, so nobody can tell what the run changed"
        tree = here.tree(base) if here and base else {}
        root = here.root if here and base else self.folder
        files = list(islice(_files(root), _MOST_FILES))
        if len(files) == _MOST_FILES and (tree or self.strict):
            return "there are too many files here to compare them"
        return (
            (self._put_aside(here, base) if here and base else "")
            or self._changed(root, tree, files=files, run=files_run(command, self.folder, root))
            or self._above(root)
            or (self._called(here, tree, files) if here else "")
            or self._brought(command, search_path)
        )

    def committed(self) -> str:
        """Why a clean copy of what is checked out is not independent: what the run committed of what decides checks."""
        here = Repository.around(self.folder)
        base = self._compared_with(here)
        if here is None or not base:
            return "there is no commit to compare with, so nobody can tell what the run changed"
        if not here.is_built_on(base):
            return "something else is checked out than what the run worked on"
        before, now = here.tree(base), here.tree("HEAD")
        for path in sorted(before.keys() | now.keys()):
            if before.get(path) != now.get(path) and _decides(path, known=path in before):
                return f"the run committed a change of `{path}`, which decides what the check means"
        return ""

    def held_before(self, path: Path) -> bytes | None:
        """What a file held in that commit; `None` if it was not there, or nobody knows."""
        here = Repository.around(self.folder)
        base = self._compared_with(here)
        if here is None or not base:
            return None
        entry = here.tree(base).get(os.path.relpath(path, here.root))
        return here.content(entry.blob) if entry else None

    def is_newer(self, path: Path) -> bool:
        """Whether something was written, made or moved since. Looks at the time that nobody can set."""
        try:
            return max(path.lstat().st_ctime, path.stat().st_ctime) > self._moment
        except OSError:
            return False

    @property
    def _moment(self) -> float:
        return self.since.timestamp() - _TICK_S

    def _compared_with(self, here: Repository | None) -> str:
        if here is None:
            return ""
        base = self.commit or here.before(self.since)
        return base if here.has(base) else ""

    def _put_aside(self, here: Repository, base: str) -> str:
        if not here.is_built_on(base):
            return "something else is checked out than what the run worked on"
        if self.is_newer(here.git / "refs" / "stash"):
            return "work was put aside (git stash) before the check"
        hooks = [hook for hook in (here.git / "hooks").glob("*") if hook.suffix != ".sample" and self.is_newer(hook)]
        return f"the run changed the git hook `{hooks[0].name}`" if hooks else ""

    def _changed(self, root: Path, tree: dict[str, Entry], *, files: list[str], run: set[str]) -> str:
        """A file that decides what the check means, and that the run wrote, moved or removed."""
        for path in files:
            if (_decides(path, known=path in tree) or path in run) and self._differs(root, path, tree.get(path)):
                return f"the run changed `{path}`, which decides what the check means"
        for path in sorted(tree.keys() - set(files)):
            if decides_checks(path, "") and self._was_removed(root, path):
                return f"the run removed `{path}`, which decides what the check means"
        return ""

    def _differs(self, root: Path, path: str, entry: Entry | None) -> bool:
        file = root / path
        if not (self.is_newer(file) or self._is_moved(root, path)):
            return False
        return entry is None or not _is_same(file, entry)

    def _is_moved(self, root: Path, path: str) -> bool:
        """Whether a folder on the way was renamed: its files keep their times, and so do its entries."""
        for folder in PurePosixPath(path).parents:
            try:
                at = (root / folder).lstat()
            except OSError:
                return True
            if folder.name and at.st_ctime > self._moment and at.st_ctime != at.st_mtime:
                return True
        return False

    def _was_removed(self, root: Path, path: str) -> bool:
        """Whether the nearest folder that is left was changed since."""
        folder = next(above for above in (root / path).parents if above.is_dir())
        return not (root / path).exists() and self.is_newer(folder)

    def _above(self, root: Path) -> str:
        for folder in root.absolute().parents:
            for name in _ABOVE:
                if self.is_newer(folder / name):
                    return f"the run changed `{name}` above the workspace, which decides what the check means"
        return ""

    def _called(self, here: Repository, tree: dict[str, Entry], files: list[str]) -> str:
        """A changed file that the build calls by its name, or that reaches for what runs the tests."""
        root = here.root if tree else self.folder
        changed = [path for path in files if self.is_newer(root / path) and self._differs(root, path, tree.get(path))]
        building = [here.content(tree[path].blob) for path in tree if _BUILD_FILES.fullmatch(path)] if changed else []
        for path in changed:
            name = re.compile(rb"(?<![\w/-])(?:\./)?" + re.escape(os.fsencode(path)) + rb"(?![\w-])")
            if any(name.search(_scripts(text)) for text in building):
                return f"the run changed `{path}`, which the build calls"
            entry, reaches = tree.get(path), _reaching(_beginning(root / path))
            if not _is_prose(path) and reaches - _reaching(here.content(entry.blob) if entry else b""):
                return f"the run changed `{path}`, which now reaches for what runs the tests"
        return ""

    def _brought(self, command: str, search_path: str) -> str:
        """A program of the check, or something that its interpreter loads by itself, that came since."""
        for name, program in programs_of(command, self.folder, search_path=search_path):
            if not search_path and self.is_newer(program):
                return f"`{name}` ({program}) was put there after the skill was given"
            for packages in program.parent.parent.glob("lib/python*/site-packages"):
                for loaded in packages.iterdir():
                    if _STARTUP.fullmatch(loaded.name) and self._is_tampered(loaded):
                        return f"`{loaded.name}` of `{name}` was changed after the skill was given"
        return ""

    def _is_tampered(self, loaded: Path) -> bool:
        if loaded.is_dir() and not loaded.is_symlink():
            return any(self.is_newer(file) for file in loaded.rglob("*.py"))
        return self.is_newer(loaded)


def _is_prose(path: str) -> bool:
    """Whether a file is read by people and run by nothing."""
    return path.endswith((".md", ".rst", ".txt", ".adoc"))


def _decides(path: str, *, known: bool) -> bool:
    """Whether a file decides what a check means: by its name, or by standing where Python looks before its own library."""
    if decides_checks(path, ""):
        return True
    first = path.partition("/")[0].removesuffix(".py").removesuffix(".pyc").removesuffix(".so")
    return not known and first in sys.stdlib_module_names


def _files(root: Path) -> Iterator[str]:
    """The path of each file of a workspace, environments and caches left out; links to folders count as files."""
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links and not _is_left_out(here / name)]
        inside = os.path.relpath(folder, root)
        for name in (*files, *links):
            yield name if inside == "." else f"{inside}/{name}"


def _is_left_out(folder: Path) -> bool:
    return folder.name in _SKIPPED or (folder / "pyvenv.cfg").exists()


def _is_same(file: Path, entry: Entry) -> bool:
    try:
        data = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
    except OSError:
        return False
    if file.is_symlink() != entry.is_link:
        return False
    return entry.blob in (_blob(data, entry), _blob(data.replace(b"\r\n", b"\n"), entry))


def _blob(data: bytes, entry: Entry) -> str:
    made = hashlib.sha1 if len(entry.blob) == 40 else hashlib.sha256
    return made(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _beginning(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_SCANNED_BYTES)
    except OSError:
        return b""


def _reaching(text: bytes) -> set[str]:
    return reaches_for_the_tests(text.decode("latin-1"))


def _scripts(text: bytes) -> bytes:
    """Of a package.json only what it runs, since it also names what it ships."""
    found = re.search(rb'"scripts"\s*:\s*\{[^{}]*\}', text)
    return found[0] if found else text
