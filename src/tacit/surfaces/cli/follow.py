"""A very small agent: follows a recalled procedure step by step in a folder. The demo's stand-in for a real one.

It takes the skill's steps and the values for its parameters, runs shell commands, reads and edits files for real, and stops
at the first step that fails. It thinks nothing; what it shows is that the skill alone says enough.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tacit.domain.skill import SkillStep

TIMEOUT_S = 60


def follow(steps: tuple[SkillStep, ...], values: Mapping[str, str], *, folder: Path) -> Iterator[tuple[str, bool]]:
    """Carry out each step; yields what was done and whether it worked, and ends after a failure."""
    for step in steps:
        arguments = {key: fill(value, values) for key, value in step.arguments.items() if isinstance(value, str)}
        if step.tool == "Bash":
            worked = _run(arguments["command"], folder)
        elif step.tool == "Read":
            worked = Path(arguments["file_path"]).is_file()
        elif step.tool == "Edit":
            worked = _edit(Path(arguments["file_path"]), arguments["old_string"], arguments["new_string"])
        else:
            worked = False
        yield fill(step.text, values), worked
        if not worked:
            return


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in place of their parameters."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def search_path(folder: Path) -> str:
    """A PATH on which `python3` is this interpreter, wherever it is installed."""
    shims = folder / ".shims"
    shims.mkdir(exist_ok=True)
    shim = shims / "python3"
    if not shim.exists():
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
    return os.pathsep.join([str(shims), os.defpath])


def _run(command: str, folder: Path) -> bool:
    environment = {"PATH": search_path(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
    )
    return done.returncode == 0


def _edit(path: Path, old: str, new: str) -> bool:
    if not path.is_file() or old not in (text := path.read_text(encoding="utf-8")):
        return False
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return True
