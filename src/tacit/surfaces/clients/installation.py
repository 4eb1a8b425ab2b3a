"""Files with their pieces → changes to show, and changes carried out: all of them, or none.

Everything is read and decided before the first byte is written. A change that would touch a file which somebody altered
since it was shown is refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tacit.domain.errors import Mistake, StaleVersion, TacitError
from tacit.surfaces.clients.text_edits import WholeFile
from tacit.surfaces.clients.text_edits import TextDraft, without
from tacit.surfaces.clients.entries import SettingsEntries
from tacit.surfaces.clients.plan import ClientFile
from tacit.surfaces.clients.record import InstalledPart, InstallationRecord
from tacit.surfaces.clients.writing import missing_folders, read, remove, remove_empty, write_whole
from tacit.text.redaction import redact

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
        old, new = (_lines(content) for content in (self.before, self.after))
        name = str(self.file.path)
        lines = difflib.unified_diff(
            old, new, "/dev/null" if self.before is None else name, "/dev/null" if self.after is None else name, n=2,
            lineterm="",
        )  # fmt: skip
        return [redact(line[:_LONGEST_LINE]).text for line in lines]


def plan_install(files: Iterable[ClientFile], record: InstallationRecord, *, instead_of: Iterable[ClientFile] = ()) -> list[SettingsChange]:
    """What has to change so that every piece is in its file, and those that they replace are gone."""
    former = [(file, partial(_taking, file, record)) for file in instead_of]
    return _chained([*former, *((file, partial(_putting, file, record)) for file in files)])


def plan_uninstall(files: Iterable[ClientFile], record: InstallationRecord) -> list[SettingsChange]:
    """What has to change so that nothing of Tacit's is left in these files: what came last goes first.

    A file that cannot be read is named and left as it is; it does not keep the others.
    """
    steps = [(file, partial(_taking, file, record)) for file in sorted(files, key=record.age)]
    return _chained(steps, despite_problems=True)


def _chained(
    steps: Iterable[tuple[ClientFile, Callable[[bytes | None], SettingsChange]]], *, despite_problems: bool = False
) -> list[SettingsChange]:
    """One change per path: a file that holds several pieces goes through the steps of all of them."""
    changes: dict[Path, SettingsChange] = {}
    for file, step in steps:
        former = changes.get(file.path)
        if former and (former.kept or former.problem):
            continue
        try:
            change = step(former.after if former else read(file.path))
        except Mistake as error:
            if not despite_problems:
                raise
            message = f"{error.message}; delete by hand: {file.piece.by_hand}"
            before = former.before if former else None
            changes[file.path] = SettingsChange(file=file, before=before, after=before, problem=message)
            continue
        if former:
            gone, new = (*former.gone, *change.gone), (*former.new, *change.new)
            change = replace(former, after=change.after, gone=gone, new=new, kept=change.kept)
        changes[file.path] = change
    return list(changes.values())


def apply_changes(changes: Sequence[SettingsChange], record: InstallationRecord, home: Path, *, at: float) -> None:
    """Write what changes, at a Unix time. If one file cannot be written, those before it are put back."""
    for change in changes:
        if change.is_change and read(change.file.path) != change.before:
            raise StaleVersion(f"{change.file.path} has changed meanwhile", hint="run the command again")
    notes = [replace(note, written_at=at) for change in changes for note in change.new]
    gone = [note for change in changes for note in change.gone]
    made = [folder for change in changes if change.after is not None for folder in missing_folders(change.file.path)]
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
        remove_empty(made)
        record.save(home)
        raise
    lone = [str(change.file.path.parent) for change in changes if change.after is None and change.before is not None]
    remove_empty({*record.folders, *(folder for folder in lone if Path(folder).name == "tacit")})
    record.updated(gone, notes, folders=made).save(home)


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        remove(path)
    else:
        write_whole(path, content)


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
    made = record.made(file.path) or (note is None and isinstance(file.piece, WholeFile))
    nothing_left = bare.strip("\ufeff\r\n\t ") in ("", "{}")
    return SettingsChange(file=file, before=before, after=None if made and nothing_left else bare.encode(), gone=gone)


def _bare(file: ClientFile, text: str, note: InstalledPart | None) -> tuple[str, bool]:
    """The text without Tacit's piece, and whether it is a file of Tacit's own that a person has made theirs."""
    exact = without(text, note.inserted) if note else None
    if note and isinstance(file.piece, WholeFile) and exact != "":
        return text, bool(text.strip())
    formal = file.piece.take(text, note.names if note else None)
    return (exact if exact is not None and file.piece.is_taken(exact, formal) else formal), False


def _decoded(file: ClientFile, content: bytes | None) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        line = (content or b"").count(b"\n", 0, error.start) + 1
        raise Mistake(f"{file.path}, line {line}: this is not UTF-8", hint="nothing was changed") from error


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


@contextmanager
def _named(file: ClientFile) -> Iterator[None]:
    """Say in an error which file it is about."""
    try:
        yield
    except Mistake as error:
        hint = error.hint or "mend the file first; nothing was changed"
        raise Mistake(f"{file.path}: {error.message}", hint=hint) from error
