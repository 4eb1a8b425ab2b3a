"""Sandbox request → a folder on the host that bubblewrap binds, and the archive that comes back → what changed. Starts nothing.

The archive was written next to code that nobody trusts, so it is read by a reader that knows four kinds of entry, takes no
length on trust and unpacks nothing: its contents become values.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tacit.domain.errors import Mistake
from tacit.domain.sandbox import Alteration, FileChange, Form, SandboxFile, SandboxRequest
from tacit.providers.sandbox import profile

GIVEN = "given"
"""The folder's name on the host."""
_BLOCK = 512
_LONGEST_NAME = 8192
_MOST_ENTRIES = 100_000
_MEBI = 1024 * 1024


class InvalidArchive(Exception):
    """The archive is not one that `tar` wrote. The code is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def inside(path: str) -> str:
    """A path below the workspace or home, in its plain form; a mistake if it leads out or says nothing."""
    plain = PurePosixPath(path)
    if plain.is_absolute() or ".." in plain.parts or not plain.parts or "\0" in path:
        message = f"{path!r} does not lie below the sandbox's folder"
        raise Mistake(message, code="outside_workspace", hint="give a relative path without `..`")
    return str(plain)


def prepare_workspace(request: SandboxRequest, folder: Path) -> None:
    """Write the copy for the workspace below a new folder, if there is anything to copy."""
    if request.workspace is None and not request.files:
        return
    given = folder / GIVEN
    most = request.limits.workspace_mb * _MEBI
    if request.workspace is None:
        given.mkdir()
    else:
        _copy(request.workspace, given, most=most)
    for path in request.removed:
        _take_out(given / inside(path))
    for file in request.files:
        _write(given, file)
    files = (path for path in _walk(given) if path.is_file() and not path.is_symlink())
    _refuse_too_large(sum(path.lstat().st_size for path in files), most)


def change_owner(number: int, folder: Path) -> None:
    """Make a user the owner of all that lies there, links themselves included."""
    for path in (folder, *_walk(folder)):
        os.chown(path, number, number, follow_symlinks=False)


def changes(archive: BinaryIO, given: Path) -> Iterator[FileChange]:
    """Compare what came back with what was given."""
    seen: set[str] = set()
    begun = archive.tell()
    empty = archive.read(len(profile.NOTHING) + 1) == profile.NOTHING
    archive.seek(begun)
    for entry in () if empty else entries(archive):
        seen.add(entry.path)
        before = _found(given / entry.path)
        if before is None:
            yield FileChange(path=entry.path, how=Alteration.ADDED, **_traits(entry))
        elif _traits(before) != _traits(entry):
            yield FileChange(path=entry.path, how=Alteration.ALTERED, **_traits(entry))
    for path in _walk(given):
        name = path.relative_to(given).as_posix()
        if name not in seen and not _is_folder(path):
            yield FileChange(path=name, how=Alteration.REMOVED)


def entries(archive: BinaryIO) -> Iterator[SandboxFile]:
    """The files, links and folders of a GNU archive; pipes and devices say nothing here."""
    name = target = b""
    for _ in range(_MOST_ENTRIES):
        header = _exactly(archive, _BLOCK)
        if not header.strip(b"\0"):
            return
        if _number(header[148:156]) != sum(header) - sum(header[148:156]) + 8 * 32:
            raise InvalidArchive("wrong_checksum", "a header's checksum is wrong")
        kind, size = header[156:157], _number(header[124:136])
        if size < 0 or (kind in b"LK" and size > _LONGEST_NAME):
            raise InvalidArchive("wrong_length", "a length is wrong")
        content = _exactly(archive, size)
        _exactly(archive, -size % _BLOCK)
        if kind == b"L":
            name = content.rstrip(b"\0")
            continue
        if kind == b"K":
            target = content.rstrip(b"\0")
            continue
        path = _plain(name or header[:100].rstrip(b"\0"))
        if kind in (b"0", b"\0"):
            yield SandboxFile(path=path, content=content, executable=bool(_number(header[100:108]) & stat.S_IXUSR))
        elif kind == b"2":
            yield SandboxFile(path=path, content=target or header[157:257].rstrip(b"\0"), form=Form.LINK)
        elif kind == b"5" and path != ".":
            yield SandboxFile(path=path, form=Form.FOLDER)
        name = target = b""
    raise InvalidArchive("too_many_entries", "there are too many entries")


def _exactly(archive: BinaryIO, count: int) -> bytes:
    found = archive.read(count)
    if len(found) != count:
        raise InvalidArchive("cut_off", "it ends too early")
    return found


def _number(digits: bytes) -> int:
    try:
        return int(digits.strip(b"\0 ") or b"0", 8)
    except ValueError:
        raise InvalidArchive("not_a_number", "a header holds something else where a number belongs") from None


def _plain(name: bytes) -> str:
    path = PurePosixPath(name.decode("utf-8", "surrogateescape"))
    if path.is_absolute() or ".." in path.parts:
        raise InvalidArchive("outside_workspace", "a name leads out of the workspace")
    return str(path)


def _found(path: Path) -> SandboxFile | None:
    """What lies there; nothing for what is neither file, link nor folder."""
    if path.is_symlink():
        return SandboxFile(path="", content=os.fsencode(path.readlink()), form=Form.LINK)
    if path.is_dir():
        return SandboxFile(path="", form=Form.FOLDER)
    if not path.is_file():
        return None
    return SandboxFile(path="", content=path.read_bytes(), executable=bool(path.stat().st_mode & stat.S_IXUSR))


def _traits(file: SandboxFile) -> dict[str, Any]:
    return {"content": file.content, "executable": file.executable, "form": file.form}


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _copy(source: Path, target: Path, *, most: int) -> None:
    """Copy files, folders and links; stop as soon as it is too much, before the disk is full."""
    if not source.is_dir():
        hint = "give the folder whose copy is to be the workspace"
        raise Mistake(f"{source} is no folder", code="not_a_folder", hint=hint)
    total = 0
    target.mkdir()
    for path in _walk(source):
        copied = target / path.relative_to(source)
        if path.is_symlink():
            copied.symlink_to(path.readlink())
        elif path.is_dir():
            copied.mkdir(mode=0o700)
        elif path.is_file():
            total += path.stat().st_size
            _refuse_too_large(total, most)
            shutil.copy2(path, copied)


def _refuse_too_large(size: int, most: int) -> None:
    if size > most:
        message = f"the workspace would hold {size / _MEBI:.0f} MB or more; the limit is {most / _MEBI:.0f} MB"
        hint = "give a larger `workspace_mb`, or less to copy"
        raise Mistake(message, code="workspace_too_large", hint=hint)


def _take_out(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _write(folder: Path, file: SandboxFile) -> None:
    """Write a file, through no link that the copied folder may hold."""
    path = folder
    *parents, name = PurePosixPath(inside(file.path)).parts
    for part in parents:
        path /= part
        if path.is_symlink() or path.is_file():
            path.unlink()
        path.mkdir(exist_ok=True)
    path /= name
    if file.form is Form.FOLDER and _is_folder(path):
        return
    _take_out(path)
    if file.form is Form.LINK:
        path.symlink_to(os.fsdecode(file.content))
        return
    if file.form is Form.FOLDER:
        path.mkdir()
        return
    path.write_bytes(file.content)
    path.chmod(0o755 if file.executable else 0o644)


def _walk(folder: Path) -> Iterator[Path]:
    """Everything below a folder, parents first; links are not followed."""
    for root, folders, files in os.walk(folder):
        for name in sorted((*folders, *files)):
            yield Path(root, name)
