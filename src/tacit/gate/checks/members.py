"""Archives bundled with a skill → the files in them, in memory and within limits, so that packing hides nothing."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

MEMBERS_MAX = 200
BYTES_MAX = 4 << 20
"""Unpacked, of one archive."""


def members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the files in an archive; nothing where it is none, is locked or cannot be read."""
    try:
        if data.startswith(b"PK"):
            yield from _zipped(data)
        elif data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ")):
            plain = _unpacked(data)
            if plain[257:262] == b"ustar":
                yield from _tarred(plain)
            elif plain:
                yield "", plain
        elif data[257:262] == b"ustar":
            yield from _tarred(data)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return
    except (RuntimeError, NotImplementedError):  # locked, or packed in a way that is not known here
        return


def _zipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    room = BYTES_MAX
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist()[:MEMBERS_MAX]:
            if member.is_dir() or member.flag_bits & 1 or room <= 0:
                continue
            with archive.open(member) as file:
                content = file.read(room)
            room -= len(content)
            yield member.filename, content


def _tarred(data: bytes) -> Iterator[tuple[str, bytes]]:
    room = BYTES_MAX
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for _ in range(MEMBERS_MAX):
            member = archive.next()
            if member is None or room <= 0:
                return
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                content = file.read(room)
                room -= len(content)
                yield member.name, content


def _unpacked(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, BYTES_MAX)
    if data.startswith(b"BZh"):
        return bz2.BZ2Decompressor().decompress(data, BYTES_MAX)
    return lzma.LZMADecompressor().decompress(data, BYTES_MAX)
