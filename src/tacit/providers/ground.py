"""Looks at the surroundings: what a skill relies on → what of it is there. Runs nothing of the project's own.

A version is asked only of well-known programs of the system itself, in an empty folder, without the caller's variables and
with a time limit.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a skill takes for granted."""

    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Paths below the project."""
    targets: tuple[str, ...] = ()
    """Targets that a file of the project defines: `make release`, `npm run build`."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.programs or self.files or self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRequirements:
    """The requirements that were found; what is missing is not in it. Stored as the text of a remark."""

    programs: Mapping[str, str] = field(default_factory=dict)
    """Name → version, empty where the program does not report one."""
    files: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


TIMEOUT_S = 5.0
LARGEST = 1 << 20
TELL_VERSIONS = frozenset(
    "git python python3 node npm pnpm yarn bun pip uv poetry cargo rustc go java javac mvn gradle docker kubectl helm "
    "terraform make cmake ruby bundle php composer dotnet deno psql sqlite3 gcc clang".split()
)
_PLAIN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_VERSION = re.compile(r"\d+(?:\.\d+){0,3}")
_OWN_FLAG = {
    "go": ("version",),
    "kubectl": ("version", "--client"),
    "java": ("-version",),
    "helm": ("version", "--short"),
}
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGET = re.compile(r"^([\w][\w./ -]*?)\s*::?(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([\w][\w-]*)(?:\s+[^:\n]*)?:(?!=)", re.MULTILINE)
_TASK = re.compile(r"^  ([\w][\w:-]*):\s*$", re.MULTILINE)


def look(relied: Requirements, project: Path) -> FoundRequirements:
    """Find what is there of all that is relied on."""
    places = {name: found for name in relied.programs if (found := shutil.which(name))}
    return FoundRequirements(
        programs={name: _version(name, Path(place), project) for name, place in places.items()},
        files=tuple(path for path in relied.files if _is_below(project / path, project)),
        targets=tuple(goal for goal in relied.targets if goal in _defined(project, goal)),
    )


def _is_below(path: Path, project: Path) -> bool:
    try:
        return path.exists() and path.resolve().is_relative_to(project.resolve())
    except OSError:
        return False


@cache  # many skills rely on the same few programs
def _version(name: str, place: Path, project: Path) -> str:
    real = place.resolve()
    if name not in TELL_VERSIONS or real.is_relative_to(project.resolve()) or not real.is_relative_to("/usr"):
        return ""
    flags = _OWN_FLAG.get(name, ("--version",))
    with tempfile.TemporaryDirectory(prefix="tacit-look-") as nowhere:
        try:
            done = subprocess.run(
                [str(real), *flags], cwd=nowhere, env=_PLAIN, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                stdin=subprocess.DEVNULL, errors="replace",
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return ""
    found = _VERSION.search(done.stdout or done.stderr) if done.returncode == 0 else None
    return found[0] if found else ""


def _defined(project: Path, goal: str) -> set[str]:
    """The goals that the project's files define for the program of this one."""
    program = goal.split(maxsplit=1)[0]
    if program in ("npm", "pnpm", "yarn", "bun"):
        try:
            package = json.loads(_text(project / "package.json") or "{}")
        except (ValueError, RecursionError):
            return set()
        scripts = package.get("scripts") if isinstance(package, dict) else None
        return {f"{program} run {name}" for name in scripts} if isinstance(scripts, dict) else set()
    files, pattern = {
        "just": (("justfile", "Justfile", ".justfile"), _RECIPE),
        "task": (("Taskfile.yml", "Taskfile.yaml"), _TASK),
    }.get(program, (_MAKEFILES, _TARGET))
    text = next(filter(None, (_text(project / name) for name in files)), "")
    return {f"{program} {word}" for names in pattern.findall(text) for word in names.split()}


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
