"""Disguised text made plain: escapes, base 64, 32 and 85, hex, bits, codes, gzip, hidden characters and lookalikes.

Every pattern is read once from left to right, and what is unpacked has a limit, so the time grows with the text. Pure.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import html
import lzma
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator

_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+|(?:=[0-9A-F]{2}){2,}")
_ESCAPED = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8}))|\\([0-3][0-7]{2})"
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{40,}\r?\n)*[A-Za-z0-9+/_-]{12,}={0,2}")
_BASE32 = re.compile(r"(?<![A-Za-z0-9])(?:[A-Z2-7]{16,}|[a-z2-7]{16,})={0,6}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_SPACED_HEX = re.compile(r"(?<!\w)(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s,:;]{1,3}){5,}(?:0x|\\x)?[0-9a-fA-F]{2}(?!\w)")
_HEX_PAIR = re.compile(r"(?<!0)[0-9a-fA-F]{2}")
_BINARY = re.compile(r"(?<!\w)(?:[01]{8}[\s,;]{1,3}){5,}[01]{8}(?!\w)|(?<!\w)(?:[01]{8}){6,}(?!\w)")
_BASE85 = re.compile(r"[!-~]{24,}")
_ODD_SIGNS = re.compile(r"[!#$%&()*+;<>?@^`{|}~\"'\\\[\]]")
"""A run of base 85 has many of these; other long words have few."""
_CODES = re.compile(r"(?<!\w)(?:\d{2,3}[\s,;]{1,3}){5,}\d{2,3}(?!\w)")
_TAGS = re.compile(r"[\U000e0020-\U000e007e]+")
_SELECTORS = re.compile(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
"""Characters that show nothing and can each stand for a byte."""
_TEXT_BYTES = bytes([9, 10, 13, *range(32, 127)])
_MAX_UNPACKED = 256 * 1024
"""Bytes that are unpacked for one text."""
_MAX_POINT = 0x10FFFF
_LATIN = (
    ("АВЕКМНОРСТУХЅІЈҮԌԚԜ", "ABEKMHOPCTYXSIJYGQW"),
    ("авекмнорстухѕіјүԁԍԛԝһѵѡӏгпь", "abekmhopctyxsijydgqwhvwlrnb"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEZHIKMNOPTYXC"),
    ("αβγεηικμνοπρστυχωϲϳ", "abyenikuvonpotuxwcj"),
    ("օոսհզյցՏՍՕԼ", "onuhqjgSUOL"),
    ("ᎪᏴᏟᎠᎬᏀᎻᏆᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᎩᏃ", "ABCDEGHIJKLMPRSTVWYZ"),
    ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "ABCDEFGHIJKLMNOPRSTUVWXYZ"),
    ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
    ("ıɑɡɩłøđħŧƅƨɵʋɯɾǀⲁⲟⲣⲥⲕ", "iagilodhtbsovwrlaopck"),
    ("ːꓸꓽ", ":.:"),
)
"""Characters that look like Latin ones, with these, for what compatibility decomposition leaves alone."""
_LETTER_SIGNS = (0x1F150, 0x1F170, 0x1F1E6)
"""Signs that are the letters A to Z in circles, squares and flags."""
_INVISIBLE = frozenset({"Cf", "Mn", "Me"})
_FILLERS = frozenset({0x115F, 0x1160, 0x17B4, 0x17B5})


def decoded_parts(text: str) -> Iterator[str]:
    """Yield the text with its escapes read, and everything in it that is encoded, decoded."""
    unescaped = _ESCAPED.sub(_character, html.unescape(_PERCENT.sub(_octets, text)))
    unescaped = _TAGS.sub(lambda match: "".join(chr(ord(each) - 0xE0000) for each in match[0]), unescaped)
    if unescaped != text:
        yield unescaped
    inside: list[bytes] = []
    for match in _BASE64.finditer(text):
        run = match[0].rstrip("=").translate(_STANDARD)
        inside += _read(base64.b64decode, run + "=" * (-len(run) % 4))
    for match in _BASE32.finditer(text):
        run = match[0].rstrip("=").upper()
        inside += _read(base64.b32decode, run + "=" * (-len(run) % 8))
    inside += map(bytes.fromhex, _HEX.findall(text))
    inside += (bytes.fromhex("".join(_HEX_PAIR.findall(run))) for run in _SPACED_HEX.findall(text))
    inside += (bytes(codes) for run in _CODES.findall(text) if max(codes := [*map(int, re.findall(r"\d+", run))]) < 256)
    inside += (bytes(map(_byte, run)) for run in _SELECTORS.findall(text))
    inside += (_of_bits("".join(re.findall("[01]", run))) for run in _BINARY.findall(text))
    for run in _BASE85.findall(text):
        if len(_ODD_SIGNS.findall(run)) * 10 > len(run):
            inside += [
                *_read(base64.b85decode, run),
                *_read(base64.a85decode, run.removeprefix("<~").removesuffix("~>")),
            ]
    left = _MAX_UNPACKED
    readable: list[str] = []
    for data in inside:
        if (unpacked := _unpacked(data, left)) is not data:
            left -= len(unpacked)
        if shown := _shown(unpacked):
            readable.append(shown)
    if readable:
        yield "\n".join(readable)


_STANDARD = str.maketrans("-_", "+/", "\r\n")


def _octets(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "").replace("=", "")).decode("utf-8", "replace")


def _character(match: re.Match[str]) -> str:
    point = int(match[5], 8) if match[5] else int(match[1] or match[2] or match[3] or match[4], 16)
    return chr(point) if point <= _MAX_POINT else match[0]


def _read(decode: Callable[[str], bytes], run: str) -> list[bytes]:
    try:
        return [decode(run)]
    except (binascii.Error, ValueError):
        return []


def _of_bits(bits: str) -> bytes:
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def _byte(selector: str) -> int:
    point = ord(selector)
    return point - 0xFE00 if point < 0xE0000 else point - 0xE0100 + 16


def _unpacked(data: bytes, most: int) -> bytes:
    """Return what compressed data holds, up to a limit; other data as it is."""
    try:
        if data.startswith((b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda")):
            return zlib.decompressobj(47).decompress(data, max(most, 1))
        if data.startswith(b"BZh"):
            return bz2.BZ2Decompressor().decompress(data, max(most, 0))
        if data.startswith((b"\xfd7zXZ\x00", b"\x5d\x00\x00")):
            return lzma.LZMADecompressor().decompress(data, max(most, 0))
    except (zlib.error, OSError, lzma.LZMAError, EOFError):
        pass
    return data


def _shown(data: bytes) -> str:
    """Return data as text if all of it is text; of two bytes to a character too."""
    if data[1::2].count(0) == len(data) // 2:
        data = data[::2]
    return data.decode("ascii") if data and not data.translate(None, _TEXT_BYTES) else ""


class _Folding(dict[int, "int | str | None"]):
    """For `str.translate`: asks for the category of a character once."""

    def __missing__(self, point: int) -> int | str | None:
        unseen = unicodedata.category(chr(point)) in _INVISIBLE or point in _FILLERS
        self[point] = None if unseen else point
        return self[point]


_FOLDING = _Folding(
    {ord(a): b for others, latin in _LATIN for a, b in zip(others, latin, strict=True)}
    | {start + number: chr(ord("a") + number) for start in _LETTER_SIGNS for number in range(26)}
)


def unmasked(text: str) -> str:
    """Return a text with Latin letters for lookalikes, and without accents and invisible characters: for comparing only."""
    return text if text.isascii() else unicodedata.normalize("NFKD", text).translate(_FOLDING)
