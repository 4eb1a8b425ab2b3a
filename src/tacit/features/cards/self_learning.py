#!/usr/bin/env python3
"""Hands every argument on to `tacit cards`, so that a policy which names this script goes on working.

Written by `tacit cards init --drop-in`. Needs Python's own library only, and does nothing by itself.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

NOT_FOUND = 127
HOW = """\
Tacit is not installed here, and this script only hands on to it.
Install it from a checkout of Tacit with one of
  uv tool install .
  pipx install .
and run this again. A task does not depend on it: go on without recorded learnings, and do not invent any.
"""


def command() -> list[str]:
    """The words that start Tacit here; empty where it is not installed."""
    program = shutil.which("tacit") or shutil.which("tacit", path=str(Path("~/.local/bin").expanduser()))
    if program:
        return [program]
    return [sys.executable, "-m", "tacit"] if importlib.util.find_spec("tacit") else []


def main(arguments: list[str]) -> int:
    """Run `tacit cards` with these arguments, and end as it ends."""
    words = command()
    if not words:
        sys.stderr.write(HOW)
        return NOT_FOUND
    return subprocess.call([*words, "cards", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
