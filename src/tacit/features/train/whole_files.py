"""Files that are there whole or not at all, also where the disk is full or the power goes."""

from __future__ import annotations

import os
from pathlib import Path


def put(path: Path, data: bytes) -> None:
    """Write a file in place of one that may stand there."""
    half_done = path.with_name(f"{path.name}.new")
    half_done.write_bytes(data)
    settle(half_done, path)


def settle(half_done: Path, path: Path) -> None:
    """Let a file that was written elsewhere in the same folder take its place."""
    with half_done.open("rb") as file:
        os.fsync(file.fileno())
    half_done.replace(path)
