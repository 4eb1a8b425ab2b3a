"""Files bundled with a skill: their bytes, their text, and whether they are scripts, texts or data.

A shell runs a script whatever bytes its comments contain, so text is read as far as possible: invalid UTF-8 becomes U+FFFD,
and UTF-16 and UTF-32 are recognised with and without a byte order mark.
"""

from __future__ import annotations

import base64
import binascii
import re
from enum import IntEnum
from pathlib import PurePosixPath

from tacit.domain.skill import SkillFile

_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SCRIPTS = re.compile(
    r"\.(?:sh|bash|zsh|ksh|fish|command|py|pyw|js|mjs|cjs|ts|jsx|tsx|rb|pl|php|lua|ps1|psm1|bat|cmd|vbs|applescript|md|"
    r"markdown|mdx|txt|rst|json|ya?ml|toml|ini|cfg|conf|env|html?|svg|xml|css|csv|sql)\Z|(?:^|/)(?:Makefile|Dockerfile|\.\w+rc)\Z",
    re.IGNORECASE,
)
_TEXT = bytes([9, 10, 12, 13, *range(32, 127)])
_BINARY_MARKS = (
    b"\x7fELF", b"MZ", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF", b"\x1f\x8b", b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"\x00asm",
)  # fmt: skip
_LOOKED_AT = 1 << 16
_MOSTLY = 0.7
_NULS = 0.4
"""Bytes looked at from each end; the plain characters of a text; the zero bytes at even or odd places of UTF-16."""


def bytes_of(file: SkillFile) -> bytes:
    """Return the bytes of a bundled file; empty if its base64 is invalid."""
    if file.encoding != "base64":
        return file.content.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(file.content)
    except (binascii.Error, ValueError):
        return b""


def text_of(file: SkillFile) -> str | None:
    """Return a bundled file as text; None if it is binary."""
    if file.encoding != "base64" and "\0" not in file.content:
        return file.content
    return read_as_text(bytes_of(file), file.path)


def read_as_text(data: bytes, path: str = "") -> str | None:
    """Decode bytes as UTF-8, UTF-16, UTF-32 or mostly UTF-8; None if they are binary."""
    wide = _wide(data)
    if wide:
        return data.decode(wide, "replace").removeprefix("\ufeff")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if data.startswith(b"#!") or (
        not data.startswith(_BINARY_MARKS) and (_SCRIPTS.search(path) or _is_mostly_text(data))
    ):
        return data.decode("utf-8", "replace")
    return None


def _wide(data: bytes) -> str:
    """Return the encoding of a text with several bytes per character; empty for others."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:_LOOKED_AT]
    half = len(head) // 2
    if half < 2 or b"\0" not in head:
        return ""
    even, odd = head[::2].count(0) / half, head[1::2].count(0) / half
    if even >= _NULS and odd >= _NULS and len(head) >= 8:
        return "utf-32-be" if head[:3] == b"\0\0\0" else "utf-32-le" if head[1:4] == b"\0\0\0" else ""
    if max(even, odd) >= _NULS and _is_mostly_text(head[::2] if odd > even else head[1::2]):
        return "utf-16-le" if odd > even else "utf-16-be"
    return ""


def _is_mostly_text(data: bytes) -> bool:
    """Whether most bytes are plain text, at the front and at the end, so that padding hides neither."""
    parts = (data[:_LOOKED_AT], data[-_LOOKED_AT:])
    return any(part and len(part.translate(None, _TEXT)) <= (1 - _MOSTLY) * len(part) for part in parts)


_SCRIPT_ENDINGS = frozenset(
    "py pyw sh bash zsh ksh fish command js mjs cjs ts mts cts tsx jsx ps1 psm1 psd1 bat cmd rb pl php lua go rs"
    " vbs vbe wsf hta applescript scpt osascript tcl awk r jl swift java kt c cc cpp cs make mk gradle".split()
)
_DATA = frozenset(
    "png jpg jpeg gif webp ico bmp tif tiff heic avif psd woff woff2 ttf otf eot mp3 mp4 wav ogg webm mov avi flac"
    " csv tsv json jsonl ndjson geojson parquet arrow feather npy"
    " npz h5 hdf5 safetensors onnx pt pdf map sqlite db idx pack rev".split()
)
_SHEBANG = (b"#!", b"\xef\xbb\xbf#!")
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_STEERING = frozenset(
    {"package.json", ".mcp.json", "settings.json", "settings.local.json", "hooks.json", "plugin.json"}
)
"""Data files that make something run."""


class FileKind(IntEnum):
    """What a file is, in the order in which files are examined."""

    SCRIPT = 0
    TEXT = 1
    """Also everything of unknown type."""
    DATA = 2


def file_kind(path: str, head: bytes = b"", *, executable: bool = False) -> FileKind:
    """Return the kind of a file; `head` are its first bytes if known."""
    pure = PurePosixPath(path.lower())
    if head.startswith((*_SHEBANG, *_PROGRAMS)):
        return FileKind.SCRIPT
    suffix = pure.suffix[1:]
    in_git = pure.parts[pure.parts.index(".git") + 1 :] if ".git" in pure.parts else ()
    is_gits_own = in_git[:1] in (("objects",), ("lfs",)) or in_git == ("index",)
    if (suffix in _DATA and pure.name not in _STEERING) or is_gits_own:
        return FileKind.DATA
    if suffix in _SCRIPT_ENDINGS or executable or pure.name in ("makefile", "dockerfile", "justfile", "rakefile"):
        return FileKind.SCRIPT
    return FileKind.TEXT
