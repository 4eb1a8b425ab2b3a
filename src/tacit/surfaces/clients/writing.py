"""Bytes → one settings file, whole or not at all. Links are followed, permissions and owner stay.

Unlike a skill's export, which writes nothing through a link, this is about files that their owner may keep elsewhere:
many people's settings are links into a repository of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tacit.config.files import write_atomically
from tacit.domain.errors import Mistake, StoreOutage


def read(path: Path) -> bytes | None:
    """A file's content, or `None` if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Mistake(f"cannot read {path}: {error.strerror}", hint="check the path and its permissions") from error


def missing_folders(path: Path) -> tuple[str, ...]:
    """The folders that have to be made before a file can be written, the outermost first."""
    return tuple(str(each) for each in reversed(_target(path).parents) if not each.exists())


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place in one step, making folders where needed."""
    target = _target(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data)
    except OSError as error:
        raise StoreOutage(f"cannot write {path}: {error.strerror}", hint="check permissions and free space") from error


def remove(path: Path) -> None:
    """Delete a file; a link to it stays."""
    try:
        _target(path).unlink(missing_ok=True)
    except OSError as error:
        raise StoreOutage(f"cannot remove {path}: {error.strerror}", hint="check permissions") from error


def remove_empty(folders: Iterable[str]) -> None:
    """Delete those of the folders that hold nothing, the innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # somebody else uses it
            Path(folder).rmdir()


def _target(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise Mistake(f"{path} is a link that leads nowhere", hint="mend the link first") from error
