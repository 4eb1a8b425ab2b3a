"""Archives bundled with a skill → the files in them, in memory and within limits, so that packing hides nothing.

An archive in an archive is opened too, one level deep. What could not be looked at is named, for a finding to tell.
"""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from tacit.text.file_sorts import Sort, sort_of

MEMBERS_MAX = 200
BYTES_MAX = 4 << 20
"""Unpacked, of one archive and all that are in it."""
_DEPTH = 2
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_CLOSED = (b"Rar!", b"7z\xbc\xaf")
_FAULTS = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError),
    *(RuntimeError, NotImplementedError),  # locked, or packed in a way that is not known here
)


@dataclass(slots=True)
class Unpacked:
    """What an archive holds, as far as it was looked at."""

    files: list[tuple[str, bytes]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Members that are code or text, or archives in turn, and were not looked at; an empty name is the archive itself."""
    room: int = BYTES_MAX


def is_packed(data: bytes) -> bool:
    """Whether these bytes are an archive, or begin as one."""
    return data.startswith((*_MAGIC, *_CLOSED)) or data[257:262] == b"ustar"


def members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the files in an archive; nothing where it is none, is locked or cannot be read."""
    yield from unpacked(data).files


def unpacked(data: bytes) -> Unpacked:
    """Open an archive, and those in it."""
    found = Unpacked()
    _open(data, "", found, depth=_DEPTH)
    return found


def _open(data: bytes, name: str, found: Unpacked, *, depth: int) -> None:
    if not is_packed(data):
        return
    if not depth:
        found.left.append(name)
        return
    try:
        for inner, content in _inside(data, found, name):
            path = f"{name}/{inner}" if name and inner else name or inner
            if is_packed(content):
                _open(content, path, found, depth=depth - 1)
            else:
                found.files.append((path, content))
    except _FAULTS:
        found.left.append(name)


def _inside(data: bytes, found: Unpacked, name: str) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"PK"):
        yield from _zipped(data, found)
    elif data.startswith(_CLOSED):
        found.left.append(name)
    elif data[257:262] == b"ustar":
        yield from _tarred(data, found)
    else:
        plain = _unpacked(data, found)
        if plain[257:262] == b"ustar":
            yield from _tarred(plain, found)
        elif plain:
            yield "", plain


def _zipped(data: bytes, found: Unpacked) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for number, member in enumerate(archive.infolist()):
            if member.is_dir():
                continue
            if number >= MEMBERS_MAX or member.flag_bits & 1 or found.room <= 0:
                _leave(member.filename, found)
                continue
            with archive.open(member) as file:
                content = file.read(found.room)
                if file.read(1):
                    _leave(member.filename, found)
            found.room -= len(content)
            yield member.filename, content


def _tarred(data: bytes, found: Unpacked) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for number in range(10 * MEMBERS_MAX):
            member = archive.next()
            if member is None:
                return
            if number >= MEMBERS_MAX or found.room <= 0:
                _leave(member.name, found)
                continue
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                content = file.read(found.room)
                if file.read(1):
                    _leave(member.name, found)
                found.room -= len(content)
                yield member.name, content
        found.left.append("")


def _leave(name: str, found: Unpacked) -> None:
    if sort_of(name) is not Sort.DATA:
        found.left.append(name)


def _unpacked(data: bytes, found: Unpacked) -> bytes:
    """The first bytes of what was packed; more than there is room for is told as left."""
    most = max(1, found.room)
    if data.startswith(b"\x1f\x8b"):
        plain = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, most)
    elif data.startswith(b"BZh"):
        plain = bz2.BZ2Decompressor().decompress(data, most)
    else:
        plain = lzma.LZMADecompressor().decompress(data, most)
    if len(plain) >= most:
        found.left.append("")
    if plain[257:262] != b"ustar":
        found.room -= len(plain)
    return plain
