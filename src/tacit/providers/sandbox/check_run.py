"""Sandbox for checks: the machine is read-only, the clean copy stands in the place of the workspace, the home folder is empty.

Unlike the sandbox for foreign code it lends the person's toolchains and the network: what runs is the project's own check.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

_SYSTEM = "/usr/bin:/usr/local/bin:/bin"


@cache
def bubblewrap() -> str:
    """Return the path of a bubblewrap that works here; empty if there is none."""
    program = shutil.which("bwrap", path=_SYSTEM)
    if program is None:
        return ""
    line = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--", "/bin/true"]
    try:
        done = subprocess.run(line, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return program if done.returncode == 0 else ""


def confined(
    command: Sequence[str], *, copy: Path, workspace: Path, folder: Path, lent: Iterable[Path], hidden: Iterable[Path]
) -> list[str]:
    """Return the command line that runs a command in the sandbox; empty folders stand in the place of hidden ones."""
    empty = [str(path) for path in dict.fromkeys(hidden) if path.is_dir() and path != Path("/")]
    line = [bubblewrap(), "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/"]
    line += ["--dev", "/dev", "--proc", "/proc"]
    for place in empty:
        line += ["--tmpfs", place]
    for path in dict.fromkeys(lent):
        hidden_away = str(path) not in empty and any(path.is_relative_to(place) for place in empty)
        if hidden_away and path.exists() and not path.is_relative_to(workspace):
            line += ["--ro-bind", str(path), str(path)]
    line += ["--bind", str(copy), str(workspace)]
    for path in dict.fromkeys(lent):
        if path.is_relative_to(workspace):
            line += ["--ro-bind", str(path), str(path)]
            for name in (".cache", ".vite"):
                line += ["--tmpfs", str(path / name)] if (path / name).is_dir() else []
    return [*line, "--chdir", os.fspath(folder), "--", *command]
