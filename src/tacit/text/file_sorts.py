"""A bundled file's name and first bytes → whether it is a script, a text or plain data. Opens nothing, judges nothing.

Whoever cannot look at everything looks at scripts first and at data last, so that padding hides nothing; and what was not
looked at weighs by what it is.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import PurePosixPath

_SCRIPTS = frozenset(
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
"""Data that make something run."""
_STORED_BY_GIT = ("objects", "lfs")


class Sort(IntEnum):
    """What a file is, in the order in which it is worth looking at."""

    SCRIPT = 0
    TEXT = 1
    """And everything that is not known to be something else."""
    DATA = 2


def sort_of(path: str, head: bytes = b"", *, executable: bool = False) -> Sort:
    """The sort of a file; `head` are its first bytes, where they are known."""
    pure = PurePosixPath(path.lower())
    if head.startswith((*_SHEBANG, *_PROGRAMS)):
        return Sort.SCRIPT
    suffix = pure.suffix[1:]
    if (suffix in _DATA and pure.name not in _STEERING) or _is_gits_own(pure):
        return Sort.DATA
    if suffix in _SCRIPTS or executable or pure.name in ("makefile", "dockerfile", "justfile", "rakefile"):
        return Sort.SCRIPT
    return Sort.TEXT


def _is_gits_own(path: PurePosixPath) -> bool:
    """Whether Git keeps it packed for itself, so that nobody reads it as it lies there."""
    parts = path.parts
    at = parts.index(".git") if ".git" in parts else -1
    return at >= 0 and len(parts) > at + 1 and (parts[at + 1] in _STORED_BY_GIT or parts[at + 1 :] == ("index",))
