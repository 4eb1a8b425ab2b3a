"""A `.zip` or `.skill` → the skill folders in it, as path → bytes. Writes nothing, runs nothing.

Everything happens in memory and within limits, so that a name cannot lead anywhere and a bomb stays small. What is wrong
with the archive is listed, and what could be read is given all the same: an import refuses an archive with an error in
it as a whole, a scanner looks at what is there. Archives inside an archive are bytes like any other and never opened.
"""

from __future__ import annotations

import io
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tacit.render.frontmatter import Problem, invalid
from tacit.render.safe_files import is_file, shown
from tacit.render.skill_folder import DEPTH_MAX, FILE_BYTES_MAX, FILE_NAMES, FILES_MAX, FOLDER_BYTES_MAX, unpack
from tacit.render.skill_md import Parsed
from tacit.render.validation import SKIPPED_NAMES, path_fault
from tacit.text.bundled_files import FileKind, file_kind

DIRECTORY_BYTES_MAX = 1 << 20
_PACKINGS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, NotImplementedError,
)  # fmt: skip
"""What the library raises for a damaged archive."""


class Damaged(Exception):
    """The archive, or one member of it, cannot be read: a rule, and words that follow its name."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


def _open_zip(data: bytes) -> zipfile.ZipFile:
    """Open an archive, by what it is and not by its name."""
    if data[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
        if b"PK\x05\x06" in data[-65557:]:
            raise Damaged("prefix", "is a zip archive behind something else")
        raise Damaged("format", "is no zip archive, whatever its name says")
    _check_directory(data)
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except _UNREADABLE as error:
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


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of one entry; raises `Damaged`."""
    if entry.flag_bits & 0x1:
        raise Damaged("encrypted", "is encrypted")
    if entry.compress_type not in _PACKINGS:
        raise Damaged("packing", "is packed in a way that is not read here")
    try:
        with archive.open(entry) as file:
            found = file.read(FILE_BYTES_MAX)
            if file.read(1):
                raise Damaged("size", "is larger than its entry says")
            return found
    except _UNREADABLE as error:
        raise Damaged("damaged", "is damaged: it cannot be unpacked") from error


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """The name as written, past what the library makes of it: it cuts at NUL and reads other bytes as of an old PC."""
    name = entry.orig_filename
    return name if entry.flag_bits & 0x800 else name.encode("cp437").decode("utf-8", "surrogateescape")


SUFFIXES = (".zip", ".skill")
ARCHIVE_BYTES_MAX = 64 << 20
MEMBERS_MAX = 2000
TOTAL_BYTES_MAX = 64 << 20
RATIO_MAX = 200
"""How often the archive's own size may come out of it, beyond the first megabyte; text packs to a tenth."""
NAME_PARTS_MAX = DEPTH_MAX + 4
_MACHINE_MADE = frozenset({"__MACOSX", *SKIPPED_NAMES})
_RATIO_FREE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFolder:
    """One skill's folder in an archive: where it lies there, and what is in it."""

    root: str
    name: str
    """Its own name; of a skill at the top of the archive, the archive's without the ending."""
    files: Mapping[str, bytes]
    executable: frozenset[str] = frozenset()

    def load(self, *, source: str = "", strict: bool = False) -> Parsed:
        """Read it as a skill; raises `InvalidSkill`."""
        return unpack(self.files, strict=strict, executable=self.executable, directory=self.name, source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillArchive:
    """What an archive holds, and what is wrong with it."""

    path: Path
    folders: tuple[PackedFolder, ...]
    strays: Mapping[str, bytes]
    """What belongs to no skill, or stands under a name that no file may have; for a scanner to look at."""
    problems: tuple[Problem, ...]

    def require_sound(self) -> None:
        """Raise `InvalidSkill` with every error, unless there is none."""
        if any(problem.severity == "error" for problem in self.problems):
            raise invalid(shown(self.path), self.problems)


@dataclass(slots=True)
class _Gathered:
    """What was read so far."""

    files: dict[str, bytes] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    strays: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    total: int = 0


def is_archive(path: Path) -> bool:
    """Whether a path is a file with the ending of an archive that can be read."""
    return path.name.lower().endswith(SUFFIXES) and is_file(path)


def open_archive(path: Path) -> SkillArchive:
    """Read an archive as far as its limits allow; nothing raises for a bad one."""
    gathered = _Gathered()
    try:
        data = _bytes_of(path)
        limit = min(TOTAL_BYTES_MAX, _RATIO_FREE + RATIO_MAX * len(data))
        archive = _open_zip(data)
        for number, entry in enumerate(archive.infolist()):
            if number == MEMBERS_MAX:
                raise Damaged("count", f"holds more than {MEMBERS_MAX} files")
            _take(archive, entry, gathered, limit=limit)
    except Damaged as fault:
        gathered.problems.append(_error(fault.rule, fault.message))
    _check_places(gathered)
    folders = tuple(_folders(gathered, stem=_stem(path)))
    if not folders:
        gathered.problems.append(_error("no-skill", "holds no SKILL.md"))
    return SkillArchive(path=path, folders=folders, strays=gathered.strays, problems=tuple(gathered.problems))


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(ARCHIVE_BYTES_MAX + 1)
    except OSError as error:
        raise Damaged("unreadable", f"cannot be opened: {error.strerror}") from error
    if len(data) > ARCHIVE_BYTES_MAX:
        raise Damaged("size", f"is larger than {ARCHIVE_BYTES_MAX >> 20} MiB")
    return data


def _take(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, gathered: _Gathered, *, limit: int) -> None:
    """Read one entry into what was gathered, or say why not."""
    name, size, mode = _zip_name(entry), entry.file_size, entry.external_attr >> 16
    label = shown(_visible(name))
    is_folder = name.endswith("/") or stat.S_ISDIR(mode)
    is_special = stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR)
    if is_folder and name in ("", "."):
        return  # the archive's own top
    overlooked = not _MACHINE_MADE.isdisjoint(name.split("/"))
    if fault := ("link", "is a link or a device") if is_special else _name_fault(name):
        gathered.problems.append(_error(fault[0], f"{label} {fault[1]}"))
    if is_folder or is_special:
        return
    if size > FILE_BYTES_MAX or (overlooked and gathered.total + size > limit):
        left = f"{label} is left out: it has {size} bytes"
        gathered.problems.append(_left_out(name, left))
        if overlooked:
            return
    if gathered.total + size > limit:
        raise Damaged("bomb", f"unpacks to more than {limit >> 20} MiB, from far less")
    if size > FILE_BYTES_MAX:
        return
    try:
        data = _read_entry(archive, entry)
    except Damaged as damage:
        gathered.problems.append(_error(damage.rule, f"{label} {damage.message}"))
        return
    gathered.total += len(data)
    if not fault and name in gathered.files:
        gathered.problems.append(_error("twice", f"{label} stands twice"))
        gathered.strays[f"{label} (again, {len(gathered.strays)})"] = data
        return
    if fault or overlooked or path_fault(name):
        gathered.strays[label] = data  # a hidden file, too, is for a scanner to see and for no skill to hold
        return
    gathered.files[name] = data
    if mode & 0o100:
        gathered.executable.add(name)


def _name_fault(name: str) -> tuple[str, str] | None:
    """Why an entry of this name makes the whole archive untrustworthy: rule and words."""
    if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
        return "name", "has a name that holds NUL or is not UTF-8"
    if name.startswith(("/", "~")) or "\\" in name or (len(name) > 1 and name[1] == ":"):
        return "zip-slip", "has a name that is not relative to the archive"
    parts = name.rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "zip-slip", "has a name that leads out of the archive or is not in its plain form"
    if len(parts) > NAME_PARTS_MAX:
        return "depth", f"lies more than {NAME_PARTS_MAX} folders deep"
    if not name.isprintable() or len(name.encode()) > 1000:
        return "name", "has a name that holds unprintable characters or is too long"
    return None


def _check_places(gathered: _Gathered) -> None:
    """Find names that are one file to some file systems, and files that are folders to others."""
    folders = {
        _folded("/".join(name.split("/")[:at])) for name in gathered.files for at in range(1, name.count("/") + 1)
    }
    seen: dict[str, str] = {}
    for name in gathered.files:
        known = seen.setdefault(_folded(name), name)
        if known != name:
            gathered.problems.append(_error("collision", f"{name} and {known} differ by nothing but case or accents"))
        if _folded(name) in folders:
            gathered.problems.append(_error("collision", f"{name} is both a file and a folder"))


def _folders(gathered: _Gathered, *, stem: str) -> Iterator[PackedFolder]:
    """The topmost folders that hold a SKILL.md; what lies in none of them becomes a stray."""
    holding = {name.rpartition("/")[0] for name in gathered.files if name.rpartition("/")[2] in FILE_NAMES}
    roots = sorted(root for root in holding if not any(_above(other, root) for other in holding if other != root))
    for root in roots:
        prefix = f"{root}/" if root else ""
        chosen = {name[len(prefix) :]: data for name, data in gathered.files.items() if name.startswith(prefix)}
        kept = dict(_bounded(chosen, root, gathered.problems))
        runs = frozenset(name for name in kept if prefix + name in gathered.executable)
        yield PackedFolder(root=root, name=root.rpartition("/")[2] or stem, files=kept, executable=runs)
    for name, data in gathered.files.items():
        if not any(_above(root, name) for root in roots):
            gathered.strays[name] = data


def _bounded(files: Mapping[str, bytes], root: str, problems: list[Problem]) -> Iterable[tuple[str, bytes]]:
    """As much as a skill's folder may hold, scripts and texts before data; the rest is left out with a warning."""
    room = FOLDER_BYTES_MAX
    for count, name in enumerate(sorted(files, key=lambda name: (name not in FILE_NAMES, file_kind(name), name))):
        room -= len(files[name])
        if room < 0 or count > FILES_MAX or name.count("/") > DEPTH_MAX:
            message = f"{shown(f'{root}/{name}')} is left out: the folder is too full or too deep"
            problems.append(_left_out(name, message))
            continue
        yield name, files[name]


def _above(root: str, name: str) -> bool:
    return not root or name == root or name.startswith(f"{root}/")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _stem(path: Path) -> str:
    return next(
        path.name[: -len(end)] for end in (*SUFFIXES[-2:], *SUFFIXES[:-2], "") if path.name.lower().endswith(end)
    )


def _visible(name: str) -> str:
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in name)


def _left_out(name: str, message: str) -> Problem:
    rule = "file-left-out" if file_kind(name) is FileKind.DATA else "not-looked-at"
    return Problem(rule=rule, message=message, field="files", severity="warning")


def _error(rule: str, message: str) -> Problem:
    hint = "ask whoever made the archive for a sound one"
    return Problem(rule=f"archive-{rule}", message=message, field="files", hint=hint)
