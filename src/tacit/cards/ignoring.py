"""Keeping the card folder out of version control: a repository's root → its `.gitignore` with one line more."""

from __future__ import annotations

from pathlib import Path

LINE = ".agent-skills/"
_COMMENT = "# Agents' own notes, per user"


def ignore_folder(root: Path) -> bool:
    """Add the folder to `.gitignore` unless it is named there; False if nothing had to, or could, be changed."""
    path = root / ".gitignore"
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if LINE in before:
            return False
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{gap}{_COMMENT}\n{LINE}\n")
    except (OSError, UnicodeDecodeError):
        return False
    return True
