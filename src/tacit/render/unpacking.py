"""The bytes of a zip or tar archive → its members, one after another. Judges no names; opens and writes no file.

The directory of a zip and the headers of a tar are bounded before anything is made of them, and a member's bytes are
read only when asked for, never more than asked for. The tar reader is our own: the library's searches header text with
patterns that take quadratic time, and follows chains of headers by recursion.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

DIRECTORY_BYTES_MAX = 1 << 20
HEADER_BYTES_MAX = 1 << 16
_BLOCK = 512
_PACKINGS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_PLAIN_FLAGS = ("\0", "0", "5", "7")
_KINDS = {"1": "a hard link", "2": "a link", "3": "a device", "4": "a device", "6": "a pipe", "S": "a sparse file"}


class Damaged(Exception):
    """The archive, or one member of it, cannot be read: a rule, and words that follow its name."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry of an archive, as it calls itself."""

    name: str
    size: int
    is_folder: bool = False
    kind: str = ""
    """What it is if it is neither file nor folder, such as "a link"."""
    may_run: bool = False
    read: Callable[[int], bytes]
    """Give its bytes, at most so many; raises `Damaged`."""


def members(data: bytes, *, limit: int) -> Iterator[Member]:
    """List what an archive holds, by what it is and not by its name; `limit` bounds what a packed tar may grow to."""
    if data[:2] == b"\x1f\x8b":
        yield from _tar_members(_gunzip(data, limit))
    elif data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        yield from _zip_members(data)
    elif b"PK\x05\x06" in data[-65557:]:
        raise Damaged("prefix", "is a zip archive behind something else")
    elif len(data) >= _BLOCK and _checksum_holds(data[:_BLOCK]):
        yield from _tar_members(data)
    else:
        raise Damaged("format", "is neither zip nor tar, whatever its name says")


def _gunzip(data: bytes, limit: int) -> bytes:
    room = limit + (limit >> 2) + _BLOCK  # headers and padding come on top of what the files hold
    done = bytearray()
    try:
        while data[:2] == b"\x1f\x8b":
            stream = zlib.decompressobj(wbits=31)
            done += stream.decompress(data, room + 1 - len(done))
            if len(done) > room:
                raise Damaged("bomb", f"unpacks to more than {room >> 20} MiB, from far less")
            if not stream.eof:
                raise Damaged("damaged", "ends early")
            data = stream.unused_data
    except zlib.error as error:
        raise Damaged("damaged", "is damaged: it cannot be unpacked") from error
    return bytes(done)


def _zip_members(data: bytes) -> Iterator[Member]:
    _check_directory(data)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        for info in archive.infolist():
            yield _zip_member(archive, info)
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, EOFError) as error:
        raise Damaged("damaged", "is damaged: its list of files cannot be read") from error


def _check_directory(data: bytes) -> None:
    """Look at the end record first: the library makes an object of each entry, however many there are."""
    at = data.rfind(b"PK\x05\x06", -65557)
    if at < 0 or len(data) < at + 22:
        raise Damaged("damaged", "is damaged: its list of files is missing")
    if data[max(0, at - 20) : at][:4] == b"PK\x06\x07":
        raise Damaged("size", "is of the kind for huge archives (zip64)")
    if int.from_bytes(data[at + 12 : at + 16], "little") > DIRECTORY_BYTES_MAX:
        raise Damaged("count", "lists more files than a skill can have")


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    mode = info.external_attr >> 16
    kind = "" if stat.S_IFMT(mode) in (0, stat.S_IFREG, stat.S_IFDIR) else "a link or a device"

    def read(most: int) -> bytes:
        if info.flag_bits & 0x1:
            raise Damaged("encrypted", "is encrypted")
        if info.compress_type not in _PACKINGS:
            raise Damaged("packing", "is packed in a way that is not read here")
        try:
            with archive.open(info) as file:
                found = file.read(most)
                if file.read(1):
                    raise Damaged("size", "is larger than its entry says")
                return found
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            struct.error,
            ValueError,
            NotImplementedError,
        ) as error:
            raise Damaged("damaged", "is damaged: it cannot be unpacked") from error

    name = _zip_name(info)
    is_folder = name.endswith("/") or stat.S_ISDIR(mode)
    return Member(name=name, size=info.file_size, is_folder=is_folder, kind=kind, may_run=bool(mode & 0o100), read=read)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name as written, past what the library makes of it: it cuts at NUL and reads other bytes as of an old PC."""
    name = info.orig_filename
    return name if info.flag_bits & 0x800 else name.encode("cp437").decode("utf-8", "surrogateescape")


def _tar_members(data: bytes) -> Iterator[Member]:
    at, name, size_told = 0, "", -1
    while at + _BLOCK <= len(data) and any(header := data[at : at + _BLOCK]):
        if not _checksum_holds(header):
            raise Damaged("damaged", "is damaged: a header's sum is wrong")
        flag = header[156:157].decode("latin-1")
        size = size_told if size_told >= 0 and flag not in "xgLK" else _number(header[124:136])
        at += _BLOCK
        if at + size > len(data):
            raise Damaged("damaged", "ends early")
        body, at = (at, at + size), at + -(-size // _BLOCK) * _BLOCK
        if flag in "xgLK":
            if size > HEADER_BYTES_MAX:
                raise Damaged("header", "has a header beyond any need")
            told = _told(flag, data[slice(*body)])
            name = told.get("path", name)
            size_told = _decimal(told["size"]) if "size" in told else size_told
            continue
        yield _tar_member(data, header, name=name or _tar_name(header), body=body)
        name, size_told = "", -1


def _tar_member(data: bytes, header: bytes, *, name: str, body: tuple[int, int]) -> Member:
    flag = header[156:157].decode("latin-1")
    kind = "" if flag in _PLAIN_FLAGS else _KINDS.get(flag, "of an unknown kind")
    return Member(
        name=name[2:] if name.startswith("./") else name,  # as `tar -c .` writes them
        size=body[1] - body[0],
        is_folder=flag == "5" or (flag == "\0" and name.endswith("/")),
        kind=kind,
        may_run=bool(_number(header[100:108]) & 0o100),
        read=lambda most: data[body[0] : min(body[1], body[0] + most)],
    )


def _tar_name(header: bytes) -> str:
    name, prefix = (
        part.split(b"\0", 1)[0].decode("utf-8", "surrogateescape") for part in (header[:100], header[345:500])
    )
    return f"{prefix}/{name}" if prefix and header[257:262] == b"ustar" and header[262:264] != b" \0" else name


def _told(flag: str, body: bytes) -> dict[str, str]:
    """What an extra header says of the next member; those for the whole archive, and of links' targets, say nothing."""
    if flag == "L":
        return {"path": body.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    told: dict[str, str] = {}
    while flag == "x" and body:
        length, _, _ = body.partition(b" ")
        if not length.isdigit() or not len(length) + 1 < int(length[:9]) <= len(body):
            raise Damaged("header", "has a header that cannot be read")
        key, _, value = body[len(length) + 1 : int(length) - 1].partition(b"=")
        told[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        body = body[int(length) :]
    if any(key.startswith("GNU.sparse") for key in told):
        raise Damaged("sparse", "holds a sparse file")
    return told


def _number(written: bytes) -> int:
    """An octal number of a header; the other notation is for sizes that nothing here may have."""
    digits = written.strip(b" \0")
    if not digits:
        return 0
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        raise Damaged("header", "has a header that cannot be read")
    return int(digits, 8)


def _decimal(written: str) -> int:
    if not (written.isascii() and written.isdigit() and len(written) < 16):
        raise Damaged("header", "has a header that cannot be read")
    return int(written)


def _checksum_holds(header: bytes) -> bool:
    digits = header[148:156].strip(b" \0")
    if not digits or not all(48 <= digit <= 55 for digit in digits):
        return False
    return int(digits, 8) == sum(header) - sum(header[148:156]) + 8 * 32
