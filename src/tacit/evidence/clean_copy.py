"""Clean copy: a workspace as it was at a commit, with the work that was done since, and without what could decide a check.

Files that decide checks are those of the commit; plain sources are those of the workspace. Git is only asked for objects,
which are compared with their names: nothing is checked out, so no hook and no filter runs. Installed packages and programs
cannot be put back, so it is noted where they were changed since.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from tacit.evidence.deciding_files import ENDS_PROCESS, decides_checks, is_named_by, is_script
from tacit.evidence.repository import Repository, TreeEntry, WorkspaceBaseline, hashed

PACKAGES = frozenset({".venv", "venv", "env", "node_modules", "vendor", ".bundle", "Pods", "deps", ".yarn"})
"""Folders of installed packages; where git does not hold them, they are lent to the copy as they are."""
_CACHES = frozenset("__pycache__ .cache .vite .vite-temp .vitest .pytest_cache .git .lock".split())
_ABOVE = frozenset(
    "pytest.ini .pytest.ini pytest.toml tox.ini setup.cfg pyproject.toml conftest.py sitecustomize.py package.json "
    "jest.config.js vitest.config.ts .env .npmrc .mocharc.json .babelrc .cargo Cargo.toml .rspec go.work".split()
)
"""What a check also looks for in the folders above the workspace."""
_BUILD_FILES = re.compile(
    r"(?:.*/)?(?:GNUmakefile|[Mm]akefile|[^/]+\.mk|package\.json|[Jj]ustfile|[Tt]askfile\.ya?ml|tox\.(?:ini|toml)|"
    r"noxfile\.py|Rakefile|"
    r"\.?pytest\.(?:ini|toml)|setup\.cfg|pyproject\.toml|\.mocharc\.\w+|(?:jest|vitest|vite|playwright|karma|"
    r"ava)\.conf(?:ig)?\.\w+)|\.github/workflows/.*|"
    r"(?:scripts|ci|tools|bin)/[^/]+\.(?:sh|py|js)"
)
_TEST_PLACES = re.compile(
    r"[\"']?\b(?:testpaths|python_files|testMatch|testRegex|testDir|test_dir|specs?|include|"
    r"files)\b[\"']?\s*[:=]\s*(\[[^\]]{0,500}\]|[^\n]*(?:\n[ \t]+[^\n]*)*)"
    r"|unittest discover(?P<words>[^\n;&|]*)"
)
_GOAL = re.compile(r"^([\w.-]+)[ \t]*:(?!=)|\b(?:make|ninja)\b([^\n;&|]*)", re.MULTILINE)
_SOURCE_FOLDERS = frozenset("src lib app packages . ** * true false".split())
_TESTS_INSIDE = re.compile(rb"#\[cfg\(test\)\]|#\[test\]|import\.meta\.vitest")
_EXAMPLES = re.compile(rb"^[ \t]*>>> .*\n(?:[ \t]*(?!\"\"\"|\'\'\')\S.*\n)*", re.MULTILINE)
_POINTER = re.compile(rb"version https://git-lfs.*^oid sha256:([0-9a-f]{64})$", re.MULTILINE | re.DOTALL)
_LOCK = re.compile(r".*\.lock|package-lock\.json|pnpm-lock\.yaml|go\.(?:sum|mod|work\.sum)")
"""Files that a package manager itself writes down while it runs."""
_MOST_FILES, _MOST_BYTES = 100_000, 2_000_000_000
_MOST_ENTRIES = 400_000


@dataclass
class CleanCopy:
    """A copy that is ready for a check."""

    root: Path
    """The top of the workspace."""
    folder: Path
    """The top of the copy."""
    packages: tuple[Path, ...] = ()
    left_out: list[str] = field(default_factory=list)
    """Deciding files of which the copy holds the commit's version instead of the workspace's."""
    doubt: str = ""
    """What could not be put back."""
    deciding: dict[str, int] = field(default_factory=dict)
    """Deciding file of the copy → its change time, a fingerprint that no program can set."""

    def seal(self) -> None:
        """Note the state of what decides, right before the check runs."""
        self.deciding = {path: _changed_at(self.folder / path) for path in self.deciding}

    def disturbed(self) -> str:
        """What decides and was written while the check ran; empty if nothing was."""
        found = next((path for path, at in self.deciding.items() if _changed_at(self.folder / path) != at), "")
        return f"`{found}` may decide what the check means, and was written while the check ran" if found else ""


def make_copy(
    baseline: WorkspaceBaseline, target: Path, *, command: str, search_path: Iterable[Path]
) -> CleanCopy | None:
    """Write the copy; None where there is no commit to start from, or too much to copy."""
    found = baseline.repository()
    if found is None:
        return None
    here, base = found
    tree = here.tree(base)
    others = here.untracked()
    if len(tree) + len(others) > _MOST_FILES:
        return None
    copy = CleanCopy(here.root, target)
    texts = [*here.texts(tree, _BUILD_FILES).values(), command]
    rules = _Rules.of(texts)
    folders = {parent for path in tree for parent in PurePosixPath(path).parents}
    size = 0
    for path in sorted({*tree, *others}):
        if path not in tree and rules.is_goal(path, folders):
            copy.left_out.append(path)
            continue
        size += _place(copy, path, tree.get(path), here=here, baseline=baseline, rules=rules)
        if size > _MOST_BYTES:
            return None
    copy.packages = tuple(_packages(here.root, tree))
    copy.doubt = copy.doubt or _above(baseline, (here.root, target)) or _changed_packages(copy, baseline, search_path)
    return copy


@dataclass(frozen=True)
class _Rules:
    """What the committed build files and settings say of tests and of what is run."""

    texts: tuple[str, ...]
    places: tuple[str, ...]
    doctests: bool
    goals: frozenset[str]
    """What build files define, and what `make` is asked for."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Rules:
        held = tuple(texts)
        stated = [
            part
            for text in held
            for found in _TEST_PLACES.finditer(text)
            for part in (found[1] or found["words"] or "",)
        ]
        found = (word for part in stated for word in re.findall(r"[\w*?./{}@()|,-]+", part))
        words = dict.fromkeys(map(_as_pattern, found))
        places = tuple(
            word for word in words if len(word) > 2 and word not in _SOURCE_FOLDERS and not word.startswith("-")
        )
        goals = {goal for text in held for made in _GOAL.findall(text) for words in made for goal in words.split()}
        return cls(held, places, any("doctest" in text for text in held), frozenset(goals))

    def decides(self, path: str) -> bool:
        if decides_checks(path) and not is_script(path):
            return True
        name = PurePosixPath(path).name
        of_tests = any(
            path.startswith(f"{place}/")
            or (
                "*" in place
                and (fnmatch(name, place) or fnmatch(path, place))
                and re.search(r"\w{3}", place.rpartition(".")[0])
            )
            for place in self.places
        )
        return bool(of_tests) or is_named_by(path, self.texts)

    def is_goal(self, path: str, folders: Container[PurePosixPath]) -> bool:
        """Whether a new file makes a folder, or is a file, with the name of something to make, which then counts as made."""
        place = PurePosixPath(path)
        return any(new.name in self.goals for new in (place, *place.parents) if new not in folders)

    def lost(self, path: str, before: bytes, now: bytes) -> str:
        """What of the tests inside a source is no longer as it was committed, or what may end the run of the tests."""
        inside = _TESTS_INSIDE.search(before)
        if inside and before[inside.start() :] not in now:
            return f"`{path}` holds tests, and these were changed"
        if self.doctests and set(_EXAMPLES.findall(before)) - set(_EXAMPLES.findall(now)):
            return f"examples in `{path}` are tests, and were changed"
        if path.endswith((".md", ".rst", ".txt")):
            return ""
        added = set(ENDS_PROCESS.findall(now.decode("latin-1"))) - set(ENDS_PROCESS.findall(before.decode("latin-1")))
        return f"code in `{path}` may end a check itself, or know that it is being tested" if added else ""


def _as_pattern(word: str) -> str:
    """A pattern of a test runner in the form of this language, rather too wide than too narrow."""
    return re.sub(r"[?@+*]\([^)]*\)|\{[^}]*\}", "*", word).replace("**/", "*").strip("./,")


def _place(
    copy: CleanCopy, path: str, entry: TreeEntry | None, *, here: Repository, baseline: WorkspaceBaseline, rules: _Rules
) -> int:
    """Write one file into the copy: the workspace's if it is plain work, else the commit's. Returns its size."""
    file = here.root / path
    now = _read(file)
    same = (
        entry is not None
        and now is not None
        and hashed(b"blob", now, like=entry.blob) == entry.blob
        and file.is_symlink() == entry.is_link
    )
    decides = rules.decides(path)
    if not same and decides and not baseline.strict and now is not None and not baseline.is_newer(file):
        same = True  # somebody left it so before the skill was shown
    if same or not decides:
        data = now
        if not same and now is not None:
            before = here.content(entry.blob) if entry else b""
            copy.doubt = copy.doubt or rules.lost(path, before, now)
    else:
        data = here.content(entry.blob) if entry else None
        pointer = _POINTER.match(data or b"")
        if pointer and now is not None and hashlib.sha256(now).hexdigest() == pointer[1].decode():
            data = now
        else:
            copy.left_out.append(path)
    if data is None:
        return 0
    place = copy.folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    linked = entry.is_link if entry and (same or decides) else file.is_symlink()
    if linked:
        place.symlink_to(os.fsdecode(data))
    else:
        place.write_bytes(data)
        place.chmod(0o755 if (entry.mode == "100755" if entry and decides else os.access(file, os.X_OK)) else 0o644)
    if decides and not _LOCK.fullmatch(place.name):
        copy.deciding[path] = 0
    return len(data)


def _read(file: Path) -> bytes | None:
    """The content of a file, or the target of a link; None if it is neither."""
    try:
        if file.is_symlink():
            return os.fsencode(file.readlink())
        return file.read_bytes() if file.is_file() else None
    except OSError:
        return None


def _packages(root: Path, tree: Mapping[str, TreeEntry]) -> Iterator[Path]:
    """Folders of installed packages that git does not hold."""
    held = {str(parent) for path in tree for parent in PurePosixPath(path).parents}
    for folder, names, _ in os.walk(root):
        inside = os.path.relpath(folder, root)
        for name in list(names):
            path = os.path.normpath(Path(inside, name))
            if path in held:
                continue
            names.remove(name)
            if name in PACKAGES:
                yield root / path


def _above(baseline: WorkspaceBaseline, roots: Iterable[Path]) -> str:
    for folder in (above for root in roots for above in root.absolute().parents):
        for name in _ABOVE:
            if baseline.is_newer(folder / name):
                return f"`{name}` above the workspace may decide what the check means, and was changed"
    return ""


def _changed_packages(copy: CleanCopy, baseline: WorkspaceBaseline, search_path: Iterable[Path]) -> str:
    """A program or an installed package that was changed since the skill was shown."""
    left = _MOST_ENTRIES
    folders = [*copy.packages]
    for place in search_path:
        try:
            with os.scandir(place) as entries:
                programs = [Path(entry.path) for entry in entries if not entry.is_dir()]
            newer = next((program.name for program in programs if baseline.is_newer(program)), "")
        except OSError:
            continue
        if newer:
            return f"the program `{newer}` in {place} was changed since the skill was given"
        if place.parent != Path("/usr"):
            folders += place.parent.glob("lib/python3*/site-packages")
            folders += place.parent.glob("versions/*/lib/python3*/site-packages")
    for folder in dict.fromkeys(folders):
        for path in _entries(folder):
            left -= 1
            if left < 0:
                return "there are too many installed packages to compare them"
            if baseline.is_newer(path) and (not path.is_dir() or _is_moved(path)):
                return f"`{path.name}` of {folder.name} was changed since the skill was given"
    return ""


def _is_moved(folder: Path) -> bool:
    """Whether a folder itself was renamed or given away: a new entry sets both times, these only one."""
    at = folder.lstat()
    return at.st_ctime != at.st_mtime


def _entries(folder: Path) -> Iterator[Path]:
    yield folder
    for above, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in _CACHES]
        yield from (Path(above, name) for name in (*names, *files) if not name.endswith(".pyc") and name not in _CACHES)


def _changed_at(path: Path) -> int:
    try:
        return path.lstat().st_ctime_ns
    except OSError:
        return -1
