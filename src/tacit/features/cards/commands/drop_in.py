"""The drop-in script: a repository and a skills folder → the original tool's script there, which hands on to `tacit cards`.

Policies and skills name the original by its place, so ours stands in the same one. What stood there is kept beside it unless
it is the very script that is written.
"""

from __future__ import annotations

import os
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake, StoreOutage
from tacit.render.paths import is_link, is_there
from tacit.render.plain_files import read_plain

FOLDER = ".agents/skills"
SCRIPT = Path("self-learning-skills", "scripts", "self_learning.py")
"""Where the original lies below a folder of skills."""
KEPT = "self_learning_original.py"
_LARGEST = 1 << 24


def place(root: Path, folder: str = FOLDER) -> dict[str, Any]:
    """Write the script below a folder of the repository; tells where, and where another script that stood there is now."""
    script = root / (folder or FOLDER) / SCRIPT
    _require_inside(root, script)
    kept = script.with_name(KEPT)
    moved = _is_anothers(script)
    if moved and (is_there(kept) or is_link(kept)):
        raise Mistake(f"both {SCRIPT.name} and {KEPT} are there already", hint=f"remove one of them in {script.parent}")
    try:
        script.parent.mkdir(parents=True, exist_ok=True)
        if moved:
            script.rename(kept)
        _write(script, _text())
    except OSError as error:
        raise StoreOutage(f"cannot write {script}: {error.strerror}", hint="check the folder's permissions") from error
    told = {"script": script.relative_to(root).as_posix(), "kept": None}
    return told | ({"kept": kept.relative_to(root).as_posix()} if moved else {})


def _require_inside(root: Path, script: Path) -> None:
    """A script lies in the repository, by its name and by every link on the way."""
    if not script.resolve().is_relative_to(root.resolve()):
        raise Mistake(f"{script} does not lie in {root}", hint="name a folder below the repository's root")


def _is_anothers(script: Path) -> bool:
    """Whether something stands there that is not what would be written; what merely speaks of Tacit is another's."""
    if not is_there(script):
        return False
    try:
        return read_plain(script, limit=_LARGEST, follow=True) != _text().encode()
    except OSError as error:
        hint = "move it away, or choose another folder"
        raise Mistake(f"{script} cannot be read as a file: {error.strerror}", hint=hint) from error


def _text() -> str:
    return (resources.files("tacit.surfaces.clients") / "texts" / SCRIPT.name).read_text(encoding="utf-8")


def _write(script: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=".self_learning.", dir=script.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o755)
        Path(name).replace(script)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
