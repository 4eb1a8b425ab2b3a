"""The `files` check: bundled programs, archives, misleading names, images with appended data, files that are not read."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent, SkillFile
from tacit.gate.checks.bundled_archives import is_packed, unpacked
from tacit.gate.checks.text_segments import TEXT_MAX, TOTAL_MAX, files_within_limit
from tacit.text.bundled_files import FileKind, bytes_of, file_kind, text_of
from tacit.text.resource_uses import is_overfull

_HIGH, _MEDIUM, _LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW
_PROGRAMS = (
    (b"\x7fELF", "a Linux program"),
    (b"MZ", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"),
    (b"\xce\xfa\xed\xfe", "a macOS program"),
    (b"\xca\xfe\xba\xbe", "a compiled program"),
    (b"dex\n", "an Android program"),
    (b"\x00asm", "a WebAssembly program"),
    (b"L\x00\x00\x00\x01\x14\x02\x00", "a Windows shortcut"),
    (b"!<arch>", "a package or library"),
    (b"\xd0\xcf\x11\xe0", "an old Office file, which can hold macros"),
)
_PICTURES = {b"\x89PNG": b"IEND\xaeB`\x82", b"\xff\xd8\xff": b"\xff\xd9", b"GIF8": b"\x00;"}
_RUNS_BY_ITSELF = frozenset(
    "exe msi scr com pif dll so dylib dmg pkg deb rpm apk jar appimage vbs vbe hta wsf lnk reg cpl iso img chm xll".split()
)
_OFFICE = frozenset("docx xlsx pptx dotx xltx potx odt ods odp epub whl docm xlsm pptm".split())
_MACROS = re.compile(r"vbaProject\.bin$|\.(?:exe|dll|scr|vbs|js|jse|wsf|hta|bat|cmd|ps1|lnk|so|dylib)$", re.IGNORECASE)
_SHOWN_AS_DATA = frozenset("png jpg jpeg gif webp ico bmp pdf mp3 mp4 woff woff2 ttf csv log dat bin txt".split())
_START_FILES = re.compile(
    r"(?:^|/)(?:sitecustomize\.py|usercustomize\.py|[\w.-]+\.pth|autorun\.inf|\.bashrc|\.zshrc|\.profile|\.bash_profile)$",
    re.IGNORECASE,
)
_STEERING = re.compile(
    r"(?:^|/)\.(?:claude|cursor|vscode|codex|github)/|(?:^|/)(?:\.mcp\.json|CLAUDE\.md|AGENTS\.md|\.cursorrules)$"
)
_SCRIPT = re.compile(r"#!/|<\?php|import os\b|\bcurl |powershell|<script|\beval\(")
_DOCUMENTS = _OFFICE - {"whl"}
"""Archives of images and markup, which may exceed the limits; macros in them are found by name."""
_LOCK = "\0"
_TAIL = 64


class FilesCheck:
    """Programs, archives, misleading names, and files that take effect by being present."""

    name = "files"
    version = "2"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield files that a reviewer cannot read, and files that act without being called."""
        paths = {file.path for file in content.files}
        yield from _not_looked_at(content)
        for index, file in enumerate(content.files):
            for rule, severity, reason in (*_by_name(file, paths), *_by_bytes(file)):
                message = f"{file.path} {reason}"
                yield Finding(rule=rule, message=message, severity=severity, field=f"files.{index}", excerpt=file.path)


def _not_looked_at(content: SkillContent) -> Iterator[Finding]:
    """Yield what exceeds the limits: severe for code and text, since padding is a way to hide."""
    taken, skipped = files_within_limit(content.files)
    for severity, kept in (
        (_HIGH, [file.path for file in skipped if file_kind(file.path) is not FileKind.DATA]),
        (_LOW, [file.path for file in skipped if file_kind(file.path) is FileKind.DATA]),
    ):
        if kept:
            named = ", ".join(kept[:3]) + (f" and {len(kept) - 3} more" if len(kept) > 3 else "")
            message = f"{named}: not checked, because the files together exceed {TOTAL_MAX >> 20} MiB"
            yield Finding(rule="not_looked_at", message=message, severity=severity, field="files", excerpt=kept[0])
    for each in taken:
        path, field = each.file.path, f"files.{each.index}"
        if each.text is not None and len(each.text) > TEXT_MAX:
            severity = _LOW if file_kind(path) is FileKind.DATA else _HIGH
            message = f"{path} is too long to be checked completely"
            yield Finding(rule="not_looked_at", message=message, severity=severity, field=field, excerpt=path)
        elif any(len(data) > TEXT_MAX and file_kind(name) is not FileKind.DATA for name, data in each.packed.files):
            message = f"{path} contains a file that is too long to be checked completely"
            yield Finding(rule="not_looked_at", message=message, severity=_HIGH, field=field, excerpt=path)
        elif each.text is not None and is_overfull(each.text):
            message = f"{path} has more commands than can be checked"
            yield Finding(rule="not_looked_at", message=message, severity=_HIGH, field=field, excerpt=path)
    for name in ("description", "body"):
        if is_overfull(getattr(content, name)):
            message = f"the {name} has more commands than can be checked"
            yield Finding(rule="not_looked_at", message=message, severity=_HIGH, field=name)
        if len(getattr(content, name)) > TEXT_MAX:
            message = f"the {name} is too long to be checked completely"
            yield Finding(rule="not_looked_at", message=message, severity=_HIGH, field=name)


def _by_name(file: SkillFile, paths: set[str]) -> Iterator[tuple[str, Severity, str]]:
    path = PurePosixPath(file.path)
    suffix = path.suffix[1:].lower()
    if suffix in _RUNS_BY_ITSELF:
        yield "program", _HIGH, "is a program or installer that cannot be read"
    if suffix in ("pyc", "pyo", "pyd"):
        source = f"{path.stem.partition('.')[0]}.py"
        has_source = any(PurePosixPath(other).name == source for other in paths)
        yield (
            "program",
            _LOW if has_source else _HIGH,
            "is compiled Python" + ("" if has_source else " without its source"),
        )
    if _START_FILES.search(file.path):
        yield "start_file", _MEDIUM, "is run by other programs without being called"
    if _STEERING.search(file.path):
        yield "steering_file", _LOW, "changes the behaviour of an agent or editor by being present"
    if (
        len(path.suffixes) > 1
        and suffix in ("exe", "scr", "bat", "cmd", "js", "vbs", "sh", "app", "command")
        and path.suffixes[-2][1:].lower() in _SHOWN_AS_DATA
    ):
        yield "false_name", _HIGH, "has a name that looks like a document"


def _by_bytes(file: SkillFile) -> Iterator[tuple[str, Severity, str]]:
    data = bytes_of(file)
    suffix = PurePosixPath(file.path).suffix[1:].lower()
    text = text_of(file)
    for magic, what in _PROGRAMS:
        if data.startswith(magic) and (text is None or magic != b"MZ"):
            yield "program", _LOW if suffix in ("wasm", "doc", "xls", "ppt") else _HIGH, f"is {what}"
            return
    if is_packed(data):
        yield from _archive(data, suffix)
        return
    yield from _tail(data)
    if (
        text is not None
        and suffix in _SHOWN_AS_DATA - {"txt", "csv", "log", "dat", "bin"}
        and _SCRIPT.search(text[:4000])
    ):
        yield "false_name", _HIGH, "is a script under the name of a picture or document"
    elif text is not None and suffix in ("txt", "csv", "log", "dat", "bin") and text.startswith("#!"):
        yield "false_name", _MEDIUM, "is a script under the name of a text"


def _archive(data: bytes, suffix: str) -> Iterator[tuple[str, Severity, str]]:
    found = unpacked(data)
    names = _listed(data) or [name for name, _ in found.files]
    if any(name.startswith(_LOCK) for name in names):
        yield "locked_archive", _HIGH, "is protected by a password, so it cannot be checked"
    elif runs := next((name for name in names if _MACROS.search(name)), ""):
        yield "program", _HIGH, f"contains {runs[-60:]}, which can run"
    elif suffix in _SHOWN_AS_DATA:
        yield "false_name", _HIGH, "is an archive under the name of something else"
    elif found.skipped and suffix not in _DOCUMENTS:
        what = next(filter(None, found.skipped), "")
        reason = f"{what[-60:]} in it is not checked" if what else "it is not checked, or not completely"
        yield "not_looked_at", _HIGH, f"is an archive, and {reason}: too deep, too large or unreadable"
    elif suffix not in _OFFICE:
        yield "archive", _LOW, "is an archive"


def _listed(data: bytes) -> list[str]:
    """Return the names in a zip, even if it cannot be unpacked; encrypted members have a mark before their name."""
    if not data.startswith(b"PK"):
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(_LOCK if each.flag_bits & 1 else "") + each.filename for each in archive.infolist()]
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return []


def _tail(data: bytes) -> Iterator[tuple[str, Severity, str]]:
    """Find images with data after their end."""
    for head, end in _PICTURES.items():
        if not data.startswith(head):
            continue
        at = data.rfind(end)
        tail = data[at + len(end) :] if at >= 0 else b""
        if head == b"\x89PNG" and (first := data.find(end)) >= 0:
            tail = data[first + len(end) :]
        if len(tail.strip(b"\x00\r\n ")) > _TAIL:
            telling = any(
                mark in tail
                for mark in (b"PK\x03\x04", b"#!/", b"\x7fELF", b"import ", b"http", b"<?php", b"bash", b"eval")
            )
            yield "picture_tail", _HIGH if telling else _MEDIUM, f"is an image with {len(tail)} bytes after its end"
