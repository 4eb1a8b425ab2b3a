"""Bundled files that cannot be read as text, or are not what their name says: programs, archives, pictures with a tail."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent, SkillFile
from tacit.gate.checks.pieces import TEXT_MAX, TOTAL_MAX, file_bytes, file_text

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
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
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
_MEMBERS_MAX = 500
_TAIL = 64


class FilesCheck:
    """Programs, archives, false names, and files that start or steer something by lying there."""

    name = "files"
    version = "1"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """List files that a reviewer cannot read, and those that act without being called."""
        paths = {file.path for file in content.files}
        total = sum(len(file.content) for file in content.files)
        if total > TOTAL_MAX:
            message = f"its files hold {total >> 20} MiB, of which only the first {TOTAL_MAX >> 20} are looked at"
            yield Finding(rule="large_file", message=message, severity=_MEDIUM, field="files")
        for index, file in enumerate(content.files):
            for rule, severity, reason in (*_by_name(file, paths), *_by_bytes(file)):
                message = f"{file.path} {reason}"
                yield Finding(rule=rule, message=message, severity=severity, field=f"files.{index}", excerpt=file.path)


def _by_name(file: SkillFile, paths: set[str]) -> Iterator[tuple[str, Severity, str]]:
    path = PurePosixPath(file.path)
    suffix = path.suffix[1:].lower()
    if suffix in _RUNS_BY_ITSELF:
        yield "program", _HIGH, "is a program or installer that cannot be read"
    if suffix in ("pyc", "pyo", "pyd"):
        source = f"{path.stem.partition('.')[0]}.py"
        beside = any(PurePosixPath(other).name == source for other in paths)
        yield "program", _LOW if beside else _HIGH, "is compiled Python" + ("" if beside else " without its source")
    if _START_FILES.search(file.path):
        yield "start_file", _MEDIUM, "is run by others without being called"
    if _STEERING.search(file.path):
        yield "steering_file", _LOW, "steers an agent or editor by lying there"
    if (
        len(path.suffixes) > 1
        and suffix in ("exe", "scr", "bat", "cmd", "js", "vbs", "sh", "app", "command")
        and path.suffixes[-2][1:].lower() in _SHOWN_AS_DATA
    ):
        yield "false_name", _HIGH, "has a name that passes for a document"
    if len(file.content) > TEXT_MAX and file.encoding != "base64":
        yield "large_file", _MEDIUM, "is too long to be looked at as a whole"


def _by_bytes(file: SkillFile) -> Iterator[tuple[str, Severity, str]]:
    data = file_bytes(file)
    suffix = PurePosixPath(file.path).suffix[1:].lower()
    text = file_text(file)
    for magic, what in _PROGRAMS:
        if data.startswith(magic) and (text is None or magic != b"MZ"):
            yield "program", _LOW if suffix in ("wasm", "doc", "xls", "ppt") else _HIGH, f"is {what}"
            return
    if data.startswith(_ARCHIVES):
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
    if not data.startswith(b"PK"):
        yield (
            "archive",
            _MEDIUM if suffix not in ("gz", "svgz") else _LOW,
            "is an archive, whose files are not looked at",
        )
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()[:_MEMBERS_MAX]
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        yield "archive", _MEDIUM, "is an archive that cannot be opened"
        return
    if any(member.flag_bits & 1 for member in members):
        yield "locked_archive", _HIGH, "is locked with a password, so that nobody can look into it"
    elif found := next((member.filename for member in members if _MACROS.search(member.filename)), ""):
        yield "program", _HIGH, f"contains {found[-60:]}, which can run"
    elif suffix in _SHOWN_AS_DATA:
        yield "false_name", _HIGH, "is an archive under the name of something else"
    elif suffix not in _OFFICE:
        yield "archive", _LOW, "is an archive, whose files are not looked at"


def _tail(data: bytes) -> Iterator[tuple[str, Severity, str]]:
    """A picture with something behind its end."""
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
            yield "picture_tail", _HIGH if telling else _MEDIUM, f"is a picture with {len(tail)} bytes behind its end"
