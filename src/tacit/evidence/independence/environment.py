"""The programs of a check and what they load by themselves → what of it came after a moment, or from an odd place.

Looks at environments (the program's own, those of the workspace and the search path, the account's packages) by the times
of their files. It cannot see what was replaced before that moment, nor every package that a test imports.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tacit.config.check_environment import check_environment, is_usual_place

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
