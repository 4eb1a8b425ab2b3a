"""Bundled archives, unpacked in memory within limits: bytes → the files inside."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from tacit.text.bundled_files import FileKind, file_kind

MEMBERS_MAX = 200
BYTES_MAX = 4 << 20
"""Unpacked bytes of one archive and all archives inside it."""
_DEPTH = 2
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_CLOSED = (b"Rar!", b"7z\xbc\xaf")
_FAULTS = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError),
    *(RuntimeError, NotImplementedError),  # encrypted, or an unknown compression
)


@dataclass(slots=True)
class ArchiveContents:
    """The files of an archive, as far as they were read."""

    files: list[tuple[str, bytes]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Members that are code, text or archives and were not read; an empty name is the archive itself."""
    bytes_left: int = BYTES_MAX


def is_packed(data: bytes) -> bool:
    """Whether these bytes begin like an archive."""
    return data.startswith((*_MAGIC, *_CLOSED)) or data[257:262] == b"ustar"


def unpacked(data: bytes) -> ArchiveContents:
    """Unpack an archive and the archives inside it."""
    found = ArchiveContents()
    if is_packed(data):
        _open(data, "", found, depth=_DEPTH)
    return found


def _open(data: bytes, name: str, found: ArchiveContents, *, depth: int) -> None:
    if not depth:
        found.skipped.append(name)
        return
    try:
        for inner, content in _inside(data, found, name):
            path = f"{name}/{inner}" if name and inner else name or inner
            if is_packed(content):
                _open(content, path, found, depth=depth - 1)
            else:
                found.files.append((path, content))
    except _FAULTS:
        found.skipped.append(name)


def _inside(data: bytes, found: ArchiveContents, name: str) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"PK"):
        yield from _zipped(data, found)
    elif data.startswith(_CLOSED):
        found.skipped.append(name)
    elif data[257:262] == b"ustar":
        yield from _tarred(data, found)
    else:
        plain = _unpacked(data, found)
        if plain[257:262] == b"ustar":
            yield from _tarred(plain, found)
        elif plain:
            yield "", plain


def _zipped(data: bytes, found: ArchiveContents) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for number, member in enumerate(archive.infolist()):
            if member.is_dir():
                continue
            if number >= MEMBERS_MAX or member.flag_bits & 1 or found.bytes_left <= 0:
                _skip(member.filename, found)
                continue
            with archive.open(member) as file:
                yield member.filename, _read(file, member.filename, found)


def _tarred(data: bytes, found: ArchiveContents) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for number in range(10 * MEMBERS_MAX):
            member = archive.next()
            if member is None:
                return
            if number >= MEMBERS_MAX or found.bytes_left <= 0:
                _skip(member.name, found)
            elif member.isfile() and (file := archive.extractfile(member)):
                yield member.name, _read(file, member.name, found)
        found.skipped.append("")


def _read(file: IO[bytes], name: str, found: ArchiveContents) -> bytes:
    """Read a member within the limit; what is longer is noted as not read."""
    content = file.read(found.bytes_left)
    if file.read(1):
        _skip(name, found)
    found.bytes_left -= len(content)
    return content


def _skip(name: str, found: ArchiveContents) -> None:
    if file_kind(name) is not FileKind.DATA:
        found.skipped.append(name)


def _unpacked(data: bytes, found: ArchiveContents) -> bytes:
    """Return the unpacked bytes up to the limit; a longer stream is noted as not read."""
    most = max(1, found.bytes_left)
    if data.startswith(b"\x1f\x8b"):
        plain = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, most)
    elif data.startswith(b"BZh"):
        plain = bz2.BZ2Decompressor().decompress(data, most)
    else:
        plain = lzma.LZMADecompressor().decompress(data, most)
    if len(plain) >= most:
        found.skipped.append("")
    if plain[257:262] != b"ustar":
        found.bytes_left -= len(plain)
    return plain
