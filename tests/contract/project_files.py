"""Which files belong to the project: what git would commit, or all but caches where there is no git."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {
    ".git", ".venv", ".clients", ".tacit", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    ".import_linter_cache", "__pycache__", "build", "dist",
}  # fmt: skip


def text_files(root: Path = ROOT) -> dict[str, str]:
    """Path below the root → content, for every project file that is UTF-8 text."""
    texts: dict[str, str] = {}
    for path in _committed(root) or _walked(root):
        if not path.is_file() or path.is_symlink():
            continue
        try:
            texts[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return texts


def _committed(root: Path) -> list[Path]:
    if not (root / ".git").exists():
        return []
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [root / name for name in done.stdout.split("\0") if name]


def _walked(root: Path) -> list[Path]:
    return [p for p in sorted(root.rglob("*")) if not LEFT_OUT & set(p.relative_to(root).parts)]
