"""What a space is called: a model's own name, its dimensions and a digest, the same on every machine. Reads no file."""

from __future__ import annotations

import os.path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_DIGITS = 12


def identity_of(name: str, dimensions: int, digest: bytes) -> str:
    """Such as `MiniLM-L6-H384-uncased/384@0f1e2d3c4b5a`."""
    return f"{name}/{dimensions}@{digest.hex()[:_DIGITS]}"


def name_in(config: Mapping[str, Any], *, otherwise: str) -> str:
    """The name that a model's own config.json gives it; its folder may be called anything."""
    told = config.get("_name_or_path")
    last = told.rstrip("/").rpartition("/")[2] if isinstance(told, str) else ""
    plain = "".join(mark for mark in last if mark.isascii() and (mark.isalnum() or mark in "._-"))
    return plain[:60] or otherwise


def is_path(choice: str) -> bool:
    """Whether a setting names a folder by its path; a bare name is never looked for in the folder one happens to be in."""
    return os.path.isabs(choice) or choice.startswith(("./", "../", "~")) or choice in (".", "..")  # noqa: PTH117
