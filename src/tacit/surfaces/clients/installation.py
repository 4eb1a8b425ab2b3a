"""Files with their pieces → changes to show, and changes carried out: all of them, or none.

Everything is read and decided before the first byte is written. A change that would touch a file which somebody altered
since it was shown is refused.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import msgspec

from tacit.config.files import write_atomically
from tacit.domain.errors import Mistake, StaleVersion, StoreOutage, TacitError
from tacit.surfaces.clients.connections import (
    CLIENTS,
    Audience,
    Client,
    ClientFile,
    ClientFolders,
    Launcher,
    files_of,
    git_exclude_of,
)
from tacit.surfaces.clients.json_settings import InvalidJson, SettingsEntries
from tacit.surfaces.clients.text_edits import Insertion, TextDraft, WholeFile, without
from tacit.text.redaction import redact


def read(path: Path) -> bytes | None:
    """A file's content, or `None` if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = "check the path and its permissions"
        raise Mistake(f"cannot read {path}: {error.strerror}", code="unreadable", hint=hint) from error


def _write(path: Path, content: bytes | None) -> None:
    """Put a file in place in one step, making folders where needed; without content, delete it. A link to it stays."""
    target = _target(path)
    try:
        if content is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, content)
    except OSError as error:
        verb, code = ("remove", "not_removable") if content is None else ("write", "not_writable")
        hint = "check permissions" if content is None else "check permissions and free space"
        raise StoreOutage(f"cannot {verb} {path}: {error.strerror}", code=code, hint=hint) from error


def _remove_empty(folders: Iterable[str]) -> None:
    """Delete those of the folders that hold nothing, the innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # somebody else uses it
            Path(folder).rmdir()


def _target(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise Mistake(f"{path} is a link that leads nowhere", code="broken_link", hint="mend the link first") from error


RECORD = "installed.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPart:
    """What was written into one file."""

    path: str
    client: str
    audience: str
    project: str
    created: bool = False
    """Whether the file was not there before."""
    names: tuple[str, ...] = ()
    inserted: tuple[Insertion, ...] = ()
    written_at: float | None = None
    """Unix time; unknown in records of former versions."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it apart: one file may hold something for several projects."""
        return self.path, self.audience, self.project


@dataclass(frozen=True, slots=True)
class InstallationRecord:
    """All notes of one person."""

    notes: tuple[InstalledPart, ...] = ()
    folders: tuple[str, ...] = ()
    """Folders that were made for those files."""

    @classmethod
    def load(cls, home: Path) -> InstallationRecord:
        """Read the record; one that is missing or damaged is an empty one."""
        try:
            document = json.loads((home / RECORD).read_text(encoding="utf-8"))
            notes = msgspec.convert(document["files"], tuple[InstalledPart, ...])
            return cls(notes, msgspec.convert(document["folders"], tuple[str, ...]))
        except (OSError, ValueError, TypeError, KeyError):
            return cls()

    def save(self, home: Path) -> None:
        """Write the record, or remove it when there is nothing to remember."""
        path = home / RECORD
        if self.notes:
            document = {"version": 1, "files": [asdict(note) for note in self.notes], "folders": self.folders}
            _write(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
            return
        path.unlink(missing_ok=True)
        if home.is_dir() and not any(home.iterdir()):
            home.rmdir()

    def of(self, file: ClientFile) -> InstalledPart | None:
        """The note on a file."""
        key = str(file.path), file.audience, file.project
        return next((note for note in self.notes if note.key == key), None)

    def audiences(self, client: str) -> set[str]:
        """For whom a client was connected, here or anywhere."""
        return {note.audience for note in self.notes if note.client == client}

    def former(self, client: str, project: Path, audience: Audience) -> set[str]:
        """For whom else this client was connected in this project alone.

        What is for all projects, or for everybody in this one, is not moved along with one person's choice.
        """
        audiences = {note.audience for note in self.notes if note.client == client and note.project == str(project)}
        return audiences - {audience, Audience.SHARED}

    def age(self, file: ClientFile) -> int:
        """How many notes are newer than that on this file; more than there are if there is none."""
        note = self.of(file)
        return self.notes[::-1].index(note) if note else len(self.notes)

    def updated(
        self, gone: Iterable[InstalledPart], new: Iterable[InstalledPart], *, folders: Iterable[str] = ()
    ) -> InstallationRecord:
        """The record without some notes, with new ones, and with folders made for them."""
        fresh = {note.key: note for note in new}
        dropped = {*(note.key for note in gone), *fresh}
        return InstallationRecord(
            (*(note for note in self.notes if note.key not in dropped), *fresh.values()),
            tuple(dict.fromkeys((*self.folders, *folders))),
        )


_LONGEST_LINE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """One file as it is and as it is to be; no content means no file."""

    file: ClientFile
    before: bytes | None
    after: bytes | None
    new: tuple[InstalledPart, ...] = ()
    """What will be there of Tacit's and was not."""
    gone: tuple[InstalledPart, ...] = ()
    """What was there of Tacit's and will not be."""
    kept: str = ""
    """Why the file is left as it is although it is not as it should be."""
    problem: str = ""
    """Why nothing could be taken out of it, and what a person has to delete there."""

    @property
    def is_change(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after

    def diff(self) -> list[str]:
        """The lines that change and those around them, without the secrets that others keep there."""
        contents = (self.before, self.after)
        old, new = ((content or b"").decode("utf-8", "replace").splitlines() for content in contents)
        before, after = ("/dev/null" if content is None else str(self.file.path) for content in contents)
        lines = difflib.unified_diff(old, new, before, after, n=2, lineterm="")
        return [redact(line[:_LONGEST_LINE]).text for line in lines]


def plan_install(
    files: Iterable[ClientFile], record: InstallationRecord, *, instead_of: Iterable[ClientFile] = ()
) -> list[SettingsChange]:
    """What has to change so that every piece is in its file, and those that they replace are gone."""
    changes: dict[Path, SettingsChange] = {}
    for file in instead_of:
        _chain(changes, file, partial(_taking, file, record))
    for file in files:
        _chain(changes, file, partial(_putting, file, record))
    return list(changes.values())


def plan_uninstall(files: Iterable[ClientFile], record: InstallationRecord) -> list[SettingsChange]:
    """What has to change so that nothing of Tacit's is left in these files: what came last goes first.

    A file that cannot be read is named and left as it is; it does not keep the others.
    """
    changes: dict[Path, SettingsChange] = {}
    for file in sorted(files, key=record.age):
        try:
            _chain(changes, file, partial(_taking, file, record))
        except Mistake as error:
            message = f"{error.message}; delete by hand: {file.piece.by_hand}"
            before = changes[file.path].before if file.path in changes else None
            changes[file.path] = SettingsChange(file=file, before=before, after=before, problem=message)
    return list(changes.values())


def _chain(
    changes: dict[Path, SettingsChange], file: ClientFile, step: Callable[[bytes | None], SettingsChange]
) -> None:
    """Add a step to the one change of its path: a file that holds several pieces goes through the steps of all of them."""
    former = changes.get(file.path)
    if former is None:
        changes[file.path] = step(read(file.path))
    elif not (former.kept or former.problem):
        change = step(former.after)
        gone, new = (*former.gone, *change.gone), (*former.new, *change.new)
        changes[file.path] = replace(former, after=change.after, gone=gone, new=new, kept=change.kept)


def apply_changes(changes: Sequence[SettingsChange], record: InstallationRecord, home: Path, *, at: float) -> None:
    """Write what changes, at a Unix time. If one file cannot be written, those before it are put back."""
    for change in changes:
        if change.is_change and read(change.file.path) != change.before:
            raise StaleVersion(f"{change.file.path} has changed meanwhile", hint="run the command again")
    notes = [replace(note, written_at=at) for change in changes for note in change.new]
    gone = [note for change in changes for note in change.gone]
    written = [change.file.path for change in changes if change.after is not None]
    # The folders that have to be made, the outermost first.
    made = [str(each) for path in written for each in reversed(_target(path).parents) if not each.exists()]
    # The record comes first: whatever interrupts us, what was written can be found again.
    record.updated((), notes, folders=made).save(home)
    done: list[SettingsChange] = []
    try:
        for change in (each for each in changes if each.is_change):
            _write(change.file.path, change.after)
            done.append(change)
    except TacitError:
        for change in reversed(done):
            _write(change.file.path, change.before)
        _remove_empty(made)
        record.save(home)
        raise
    lone = [str(change.file.path.parent) for change in changes if change.after is None and change.before is not None]
    _remove_empty({*record.folders, *(folder for folder in lone if Path(folder).name == "tacit")})
    record.updated(gone, notes, folders=made).save(home)


def _putting(file: ClientFile, record: InstallationRecord, before: bytes | None) -> SettingsChange:
    note = record.of(file)
    text = _decoded(file, before)
    with _named(file):
        if before is not None and file.piece.is_complete(text):
            return SettingsChange(file=file, before=before, after=before)
        if note is None and isinstance(file.piece, SettingsEntries):
            bare, edited = file.piece.take(text, file.piece.unmistakable), False
        else:
            bare, edited = _bare(file, text, note)
        if edited:
            return SettingsChange(file=file, before=before, after=before, kept="you have changed it")
        draft = TextDraft(bare)
        names = file.piece.put(draft)
    made = InstalledPart(
        path=str(file.path),
        client=file.client,
        audience=file.audience,
        project=file.project,
        created=before is None or (note is not None and note.created),
        names=tuple(names),
        inserted=draft.insertions,
    )
    return SettingsChange(file=file, before=before, after=draft.text.encode(), new=(made,))


def _taking(file: ClientFile, record: InstallationRecord, before: bytes | None) -> SettingsChange:
    note = record.of(file)
    gone = (note,) if note else ()
    if note is None and b"tacit" not in (before or b""):
        return SettingsChange(file=file, before=before, after=before)
    text = _decoded(file, before)
    with _named(file):
        if before is None or (note is None and not file.piece.names(text)):
            return SettingsChange(file=file, before=before, after=before, gone=gone)
        bare, edited = _bare(file, text, note)
    if edited:
        return SettingsChange(file=file, before=before, after=before, gone=gone, kept="you have changed it")
    created = any(each.created for each in record.notes if each.path == str(file.path))
    made = created or (note is None and isinstance(file.piece, WholeFile))
    nothing_left = bare.strip("\ufeff\r\n\t ") in ("", "{}")
    return SettingsChange(file=file, before=before, after=None if made and nothing_left else bare.encode(), gone=gone)


def _bare(file: ClientFile, text: str, note: InstalledPart | None) -> tuple[str, bool]:
    """The text without Tacit's piece, and whether it is a file of Tacit's own that a person has made theirs."""
    exact = without(text, note.inserted) if note else None
    if note and isinstance(file.piece, WholeFile) and not file.piece.is_kept_current and exact != "":
        return text, bool(text.strip())
    try:
        formal = file.piece.take(text, note.names if note else None)
    except InvalidJson:  # somebody has added a comment
        if exact is None:
            raise
        return exact, False
    with suppress(Mistake, ValueError):  # without the exact insertions it may be no document any more
        if exact is not None and file.piece.meaning(exact) == file.piece.meaning(formal):
            return exact, False
    return formal, False


def _decoded(file: ClientFile, content: bytes | None) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        line = (content or b"").count(b"\n", 0, error.start) + 1
        message = f"{file.path}, line {line}: this is not UTF-8"
        raise Mistake(message, code="not_utf8", hint="nothing was changed") from error


@contextmanager
def _named(file: ClientFile) -> Iterator[None]:
    """Say in an error which file it is about."""
    try:
        yield
    except Mistake as error:
        hint = error.hint or "mend the file first; nothing was changed"
        raise Mistake(f"{file.path}: {error.message}", code=error.code, hint=hint) from error


# --- which connections are there ------------------------------------------------------------------------------------


def parts_in(file: ClientFile) -> list[str]:
    """What a file has of Tacit's piece; nothing if it cannot be read."""
    try:
        content = read(file.path)
        return file.piece.names(content.decode("utf-8", "replace")) if content else []
    except Mistake:
        return []


def is_connected(files: Sequence[ClientFile]) -> bool:
    """Whether the first file, which holds the hooks, has anything of Tacit's."""
    return bool(files) and bool(parts_in(files[0]))


def shared_files(client: Client, places: ClientFolders, *, launcher: Launcher) -> list[ClientFile]:
    """The files that connect a client for everybody; none where it can only be connected for one person."""
    files = files_of(client, places, Audience.SHARED, launcher=launcher)
    return [file for file in files if file.audience is Audience.SHARED]


def is_connected_by_project(client: Client, places: ClientFolders, *, launcher: Launcher) -> bool:
    """Whether the project's shared files connect a client: every hook is there, and the client can read them."""
    files = shared_files(client, places, launcher=launcher)
    if not files or not isinstance(files[0].piece, SettingsEntries):
        return is_connected(files)
    wanted = {entry.name for entry in files[0].piece.entries if entry.at[0] == "hooks"}
    return wanted <= set(parts_in(files[0]))


def without_shared_parts(
    client: Client, places: ClientFolders, files: Sequence[ClientFile], *, launcher: Launcher
) -> list[ClientFile]:
    """Those of a person's own files that are not the project's shared ones at the same time."""
    shared = shared_files(client, places, launcher=launcher)
    taken = {file.path for file in shared} if is_connected(shared) else set()
    return [file for file in files if file.audience is Audience.SHARED or file.path not in taken]


def find_uninstall_plan(
    places: ClientFolders, record: InstallationRecord, *, launcher: Launcher, clients: Collection[str], shared: bool
) -> tuple[list[ClientFile], dict[str, Path]]:
    """What this person's own `init` wrote, here and elsewhere, by the record or by its form; and what stays connected for
    everybody: title of a client → the project's file, which is not this person's to change.

    The project's shared files belong to everybody: they go if the record names them, or if that is asked for.
    """
    going: list[ClientFile] = []
    held: set[Path] = set()
    left: dict[str, Path] = {}
    # Every connection that may be there: in this project, of this person, and in the other projects on record.
    others = dict.fromkeys(note.project for note in record.notes if note.project not in ("", str(places.project)))
    elsewhere = [replace(places, project=Path(each), git_exclude=git_exclude_of(Path(each))) for each in others]
    candidates = product((places, *elsewhere), CLIENTS.values(), Audience)
    for seen, client, audience in candidates:
        files = files_of(client, seen, audience, launcher=launcher)
        here = files[0].project == str(places.project)
        for_all = files[0].audience is Audience.SHARED and not (shared and here)
        mine = [file for file in files if client.name in clients and (not for_all or record.of(file))]
        going += mine
        if len(mine) < len(files) and is_connected(files):
            held |= {file.path for file in files if file not in mine}
            if here and for_all and client.name in clients and files[0] not in mine:
                left[client.title] = files[0].path
    return [file for file in going if file.path not in held], left
