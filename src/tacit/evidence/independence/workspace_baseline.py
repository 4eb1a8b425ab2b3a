"""Workspace baseline: why a check is not independent of the run that it judges, or nothing.

What decides a check (tests, settings, build files, the programs and scripts that it calls) is compared with the commit and
the moment at which the skill was shown. A file counts as changed if its content differs from the commit and its inode was
changed since; earlier uncommitted changes are the user's, and times that can be set by hand are ignored. In strict mode,
where the reporter may have chosen the moment, only the commit counts. Build outputs are the work, and decide nothing. It
reads files and asks git; it runs no check. It cannot see programs replaced before the skill was shown, files present only
during the check, and services or data of a test.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Self

from tacit.config.environment import check_environment, is_usual_place
from tacit.domain.evidence import Use
from tacit.evidence.check_strength import reaches_for_the_tests
from tacit.evidence.independence.build_files import (
    BUILD_FILE,
    SETTINGS,
    Deciding,
    files_run,
    lines_run,
    programs_of,
    runs,
)
from tacit.evidence.independence.repository import Repository, TreeEntry, hashed, is_ahead

_SKIPPED = frozenset(".git .tacit __pycache__ node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis".split())
_MOST_FILES = 300_000
_TICK_S = 0.1
"""Times of files tick more coarsely than the clock; what was changed within this time before counts as changed since."""
_FILE_TICK_S = 0.01
"""By so much the time of a file may be behind that of the clock."""
_SCANNED_BYTES = 1_000_000
_ABOVE = (
    "pytest.ini .pytest.ini pytest.toml tox.ini setup.cfg pyproject.toml conftest.py sitecustomize.py package.json "
    "jest.config.js vitest.config.ts .env .npmrc .mocharc.json .babelrc"
).split()
"""What a check also looks for in the folders above the workspace."""
_CODE = frozenset("py pyc pth so toml ini cfg js cjs mjs ts cts mts tsx jsx json yaml yml sh mk rb php".split())


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
        """The ground of a use."""
        return cls(folder=folder, since=use.at, commit=use.commit, strict=strict)

    def doubt(self, command: str = "", *, search_path: str = "") -> str:
        """Why a check that runs here now is not independent; empty if nothing speaks against it."""
        if is_ahead(self.since, datetime.now(UTC)):
            return "the use is dated in the future, so it is not known what the run changed"
        here = Repository.around(self.folder)
        base = self._compared_with(here)
        if here and self.commit and not base:
            return f"the commit {self.commit[:12]} that was checked out is no longer there to compare with"
        if not base and self.strict:
            return "there is no commit to compare with, so it is not known what the run changed"
        tree = here.tree(base) if here and base else {}
        root = here.root if here and base else self.folder
        files = list(islice(_files(root, tree), _MOST_FILES))
        if len(files) == _MOST_FILES and (tree or self.strict):
            return "there are too many files here to compare them"
        lines = self._lines(here, tree, command) if here and tree else []
        deciding = _deciding(here, tree, (command, *lines)) if here else Deciding.of({}, [command])
        return (
            (self._put_aside(here, base) if here and base else "")
            or self._changed(root, tree, files=files, run=files_run(command, self.folder, root), deciding=deciding)
            or self._above(root)
            or (self._called(here, tree, files, lines=lines, deciding=deciding) if here else "")
            or self._brought((command, *lines), search_path=search_path)
        )

    def disturbed(self, since_s: float, command: str = "") -> str:
        """What that decides a check was written after a time: of a swap that was undone nothing else is left."""
        here = Repository.around(self.folder)
        base = self._compared_with(here)
        if here is None or not base:
            return ""
        tree = here.tree(base)
        lines = self._lines(here, tree, command)
        deciding, run = _deciding(here, tree, (command, *lines)), files_run(command, self.folder, here.root)
        for path in tree:
            if _changed_at(here.root / path) > since_s - _FILE_TICK_S and (
                deciding.knows(path) or path in run or runs(path, lines)
            ):
                return f"`{path}`, which decides what the check means, was written while the check ran"
        return ""

    def committed(self) -> str:
        """Why a clean copy of what is checked out is not independent: what the run committed of what decides checks."""
        here = Repository.around(self.folder)
        base = self._compared_with(here)
        if here and not base and not self.strict:  # a harness may name another checkout than the one it stood in
            base = here.before(self.since)
        if here is None or not base:
            return "there is no commit to compare with, so it is not known what the run changed"
        if not here.is_built_on(base):
            return "something else is checked out than what the run worked on"
        before, now = here.tree(base), here.tree("HEAD")
        deciding = _deciding(here, before, ())
        for path in sorted(before.keys() | now.keys()):
            if before.get(path) != now.get(path) and deciding.knows(path, committed=path in before):
                return f"the run committed a change of `{path}`, which decides what the check means"
        return ""

    def held_before(self, path: Path) -> bytes | None:
        """What a file held in that commit; `None` if it was not there, or that is not known."""
        here = Repository.around(self.folder)
        base = self._compared_with(here)
        if here is None or not base:
            return None
        entry = here.tree(base).get(os.path.relpath(path, here.root))
        return here.content(entry.blob) if entry else None

    def is_newer(self, path: Path) -> bool:
        """Whether something was written, made or moved since. Uses the change time, which a program cannot set."""
        try:
            return max(path.lstat().st_ctime, path.stat().st_ctime) > self._moment
        except OSError:
            return False

    def _lines(self, here: Repository, tree: dict[str, TreeEntry], command: str) -> list[str]:
        """What the build runs for a check, as it was committed."""
        return lines_run(command, here.texts(tree, BUILD_FILE))

    @property
    def _moment(self) -> float:
        return self.since.timestamp() - _TICK_S

    def _compared_with(self, here: Repository | None) -> str:
        if here is None:
            return ""
        base = self.commit or ("" if self.strict else here.before(self.since))
        return base if here.has(base) else ""

    def _put_aside(self, here: Repository, base: str) -> str:
        if not here.is_built_on(base):
            return "something else is checked out than what the run worked on"
        if self.is_newer(here.shared / "refs" / "stash") or (self.strict and self._dropped(here)):
            return "work was put aside (git stash) before the check"
        if self.strict and here.git != here.shared and self.is_newer(here.git / "gitdir"):
            return "this worktree was made after the skill was given"
        hooks = [hook for hook in (here.git / "hooks").glob("*") if hook.suffix != ".sample" and self.is_newer(hook)]
        return f"the run changed the git hook `{hooks[0].name}`" if hooks else ""

    def _dropped(self, here: Repository) -> bool:
        """Whether a stash was made and dropped: nothing is left of it but the times of the two folders that held it."""
        folders = (here.shared / "refs", here.shared / "logs" / "refs")
        return all(_changed_at(folder) > self.since.timestamp() - _FILE_TICK_S for folder in folders)

    def _changed(
        self, root: Path, tree: dict[str, TreeEntry], *, files: list[str], run: set[str], deciding: Deciding
    ) -> str:
        """A file that decides what the check means, and that the run wrote, moved or removed."""
        tops = {path.partition("/")[0] for path in tree if "/" in path}
        for path in files:
            if not (deciding.knows(path, committed=path in tree) or path in run):
                continue
            if not self._differs(root, path, tree.get(path), inside=_is_next_to(path, tops)):
                continue
            if not (self.is_newer(root / path) or self._is_moved(root, path)):
                return f"`{path}`, which decides what the check means, is not as it was committed: commit it before"
            return f"the run changed `{path}`, which decides what the check means"
        for path in sorted(tree.keys() - set(files)):
            if deciding.knows(path) and self._was_removed(root, path):
                return f"the run removed `{path}`, which decides what the check means"
        return ""

    def _differs(self, root: Path, path: str, entry: TreeEntry | None, *, inside: bool = False) -> bool:
        file = root / path
        if not (self.is_newer(file) or self._is_moved(root, path) or (self.strict and (entry or inside))):
            return False
        return entry is None or not (_is_same(file, entry) or self._is_fetched(file, entry))

    def _is_fetched(self, file: Path, entry: TreeEntry) -> bool:
        """Whether a commit holds only the name of a large file (git LFS), and this is that file."""
        here = Repository.around(self.folder)
        pointer = here.content(entry.blob) if here and not file.is_symlink() else b""
        named = re.search(rb"^oid sha256:([0-9a-f]{64})$", pointer, re.MULTILINE)
        if named is None or not pointer.startswith(b"version https://git-lfs"):
            return False
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == named[1].decode()

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
        return not (root / path).exists() and (self.strict or self.is_newer(folder))

    def _above(self, root: Path) -> str:
        for folder in root.absolute().parents:
            for name in _ABOVE:
                if self.is_newer(folder / name):
                    return f"the run changed `{name}` above the workspace, which decides what the check means"
        return ""

    def _called(
        self, here: Repository, tree: dict[str, TreeEntry], files: list[str], *, lines: list[str], deciding: Deciding
    ) -> str:
        """A changed file that the build runs, or that reaches for what runs the tests, or that holds tests of its own."""
        root = here.root if tree else self.folder
        reported = "\n".join(lines)
        looked_at = [
            path
            for path in files
            if self.is_newer(root / path) or (self.strict and path in tree and PurePosixPath(path).stem in reported)
        ]
        changed = [path for path in looked_at if self._differs(root, path, tree.get(path))]
        for path in changed:
            if runs(path, lines):
                return f"the run changed `{path}`, which the build runs"
            entry, now = tree.get(path), _beginning(root / path)
            before = here.content(entry.blob) if entry else b""
            if not _is_prose(path) and _reaching(now) - _reaching(before):
                return f"the run changed `{path}`, which now reaches for what runs the tests"
            if entry and (weakened := deciding.weakened(path, before, now)):
                return weakened
        return ""

    def _brought(self, texts: tuple[str, ...], *, search_path: str) -> str:
        """A program of the check, or something that its interpreter loads by itself, that came since."""
        called = [found for text in texts for found in programs_of(text, self.folder, search_path=search_path)]
        odd = odd_place(called, self.folder) if self.strict and not search_path else ""
        return odd or brought(called, self.folder, is_newer=self.is_newer, search_path=search_path)


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


def _is_prose(path: str) -> bool:
    """Whether a file is read by people and run by nothing."""
    return path.endswith((".md", ".rst", ".txt", ".adoc"))


def _deciding(here: Repository, tree: dict[str, TreeEntry], texts: tuple[str, ...]) -> Deciding:
    """What decides the checks here, by the settings that were committed."""
    return Deciding.of(here.texts(tree, SETTINGS), texts)


def _is_next_to(path: str, tops: set[str]) -> bool:
    """Whether an uncommitted file is code that a check could load: at the root, or in a folder that holds committed
    files."""
    top, _, below = path.partition("/")
    suffix = PurePosixPath(path).suffix.removeprefix(".")
    local = PurePosixPath(path).name.startswith(".env")
    loaded = not below or top in tops or Deciding().knows(path, committed=False)
    return not local and (suffix in _CODE or not suffix) and loaded


def _files(root: Path, tree: dict[str, TreeEntry]) -> Iterator[str]:
    """The path of each file of a workspace, environments and caches left out; links to folders count as files."""
    held = {str(above) for path in tree for above in PurePosixPath(path).parents}
    for folder, folders, files in os.walk(root):
        here, inside = Path(folder), os.path.relpath(folder, root)
        before = "" if inside == "." else f"{inside}/"
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name not in links and (f"{before}{name}" in held or not _is_left_out(here / name))
        ]
        for name in (*files, *links):
            yield f"{before}{name}"


def _is_left_out(folder: Path) -> bool:
    environment = (folder / "pyvenv.cfg").exists() and any((folder / at).is_dir() for at in ("bin", "Scripts"))
    return folder.name in _SKIPPED or environment


def _changed_at(path: Path) -> float:
    try:
        return path.lstat().st_ctime
    except OSError:
        return 0.0


def _is_same(file: Path, entry: TreeEntry) -> bool:
    try:
        data = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
    except OSError:
        return False
    if file.is_symlink() != entry.is_link:
        return False
    plain = data.replace(b"\r\n", b"\n")
    return entry.blob in (hashed(b"blob", data, like=entry.blob), hashed(b"blob", plain, like=entry.blob))


def _beginning(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_SCANNED_BYTES)
    except OSError:
        return b""


def _reaching(text: bytes) -> set[str]:
    return reaches_for_the_tests(text.decode("latin-1"))


IsNewer = Callable[[Path], bool]

_STARTUP = re.compile(
    r".*\.pth|(?:sitecustomize|usercustomize|conftest|_?pytest|py|pluggy|iniconfig|unittest|nose2?|coverage|xdist)(?:\.py|\.so)?"
)
"""What a Python loads by itself, or what runs the tests, in a folder of installed packages."""
_PLUGGED = re.compile(r"^\[pytest11\]\n(?P<lines>(?:[^\[\n][^\n]*\n?|\n)*)", re.MULTILINE)
_PLUG = re.compile(r"^[^=\n]+=\s*(\w+)", re.MULTILINE)
_NODE_RUNNERS = ("jest", "jest-*", "@jest/*", "vitest", "@vitest/*", "mocha", "chai", "expect", "ava", "tap")
_MOST_BYTES = 100_000


def brought(programs: Iterable[tuple[str, Path]], workspace: Path, *, is_newer: IsNewer, search_path: str = "") -> str:
    """A program, or something that it loads by itself, that came since; a search path on the caller's word is theirs."""
    called = list(dict.fromkeys(programs))
    for name, program in called:
        if not search_path and is_newer(program):
            return f"`{name}` ({program}) was put there after the skill was given"
    folders = [program.parent.parent for _, program in called]
    for environment in dict.fromkeys((*folders, *_environments(workspace, search_path))):
        if found := _changed(environment, is_newer):
            return f"`{found}` of {environment} was changed after the skill was given"
    for runner in (found for name in _NODE_RUNNERS for found in (workspace / "node_modules").glob(name)):
        if any(is_newer(file) for file in runner.rglob("*.*js")):
            return f"`{runner.name}` of node_modules was changed after the skill was given"
    return ""


def odd_place(programs: Iterable[tuple[str, Path]], workspace: Path) -> str:
    """A program that lies neither in the workspace, whose files are compared, nor where programs are usually found."""
    for name, program in programs:
        if not (program.is_relative_to(workspace) or is_usual_place(program.parent)):
            return f"`{name}` ({program}) lies neither in the system's folders nor in an environment"
    return ""


def _environments(workspace: Path, search_path: str) -> Iterator[Path]:
    """The workspace's own environments, those of the search path, and the account's packages."""
    variables = check_environment(workspace, search_path=search_path)
    yield from (marker.parent for marker in workspace.glob("*/pyvenv.cfg"))
    for folder in variables["PATH"].split(os.pathsep):
        if (Path(folder).parent / "pyvenv.cfg").is_file():
            yield Path(folder).parent
    if home := variables.get("HOME"):
        yield Path(home) / ".local"


def _changed(environment: Path, is_newer: IsNewer) -> str:
    if is_newer(environment / "pyvenv.cfg"):
        return "pyvenv.cfg"
    return next(filter(None, (_loaded(found, is_newer) for found in environment.glob("lib/python*/site-packages"))), "")


def _loaded(packages: Path, is_newer: IsNewer) -> str:
    """What a Python, or a test runner in it, loads by itself of these packages, and that came since."""
    for loaded in packages.iterdir():
        if _STARTUP.fullmatch(loaded.name) and _is_tampered(loaded, is_newer):
            return loaded.name
        if loaded.suffix in (".dist-info", ".egg-info"):
            plugs = _plugs(loaded / "entry_points.txt")
            if plugs and is_newer(loaded / "entry_points.txt"):
                return loaded.name
            for plug in plugs:
                if _is_tampered(packages / plug, is_newer) or is_newer(packages / f"{plug}.py"):
                    return plug
    return ""


def _plugs(file: Path) -> list[str]:
    """The packages that pytest loads because they say so."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(_MOST_BYTES)
    except OSError:
        return []
    return [plug for group in _PLUGGED.finditer(text) for plug in _PLUG.findall(group["lines"])]


def _is_tampered(loaded: Path, is_newer: IsNewer) -> bool:
    if loaded.is_dir() and not loaded.is_symlink():
        return any(is_newer(file) for file in loaded.rglob("*.py"))
    return is_newer(loaded)
