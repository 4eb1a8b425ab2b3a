"""What `tacit init` wrote, kept in `<TACIT_HOME>/installed.json`: with it, uninstalling gives every byte back.

It holds Tacit's own passages and where they stand, and nothing of what else is in a file. Without it Tacit's entries are
still recognised by their form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.surfaces.clients.text_edits import Insertion
from tacit.surfaces.clients.plan import Audience, ClientFile
from tacit.surfaces.clients.writing import write_whole

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

    def is_about(self, file: ClientFile) -> bool:
        """Whether this is the note on that file."""
        return (self.path, self.audience, self.project) == (str(file.path), file.audience, file.project)

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
            return cls(tuple(_note(each) for each in document["files"]), tuple(map(str, document["folders"])))
        except (OSError, ValueError, TypeError, KeyError):
            return cls()

    def save(self, home: Path) -> None:
        """Write the record, or remove it when there is nothing to remember."""
        path = home / RECORD
        if self.notes:
            document = {"version": 1, "files": [asdict(note) for note in self.notes], "folders": self.folders}
            write_whole(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
            return
        path.unlink(missing_ok=True)
        if home.is_dir() and not any(home.iterdir()):
            home.rmdir()

    def of(self, file: ClientFile) -> InstalledPart | None:
        """The note on a file."""
        return next((note for note in self.notes if note.is_about(file)), None)

    def written_at(self, file: ClientFile) -> float:
        """When a file was last written, as a Unix time; 0 if nobody knows."""
        note = self.of(file)
        return (note and note.written_at) or 0.0

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
        newer = [index for index, note in enumerate(reversed(self.notes)) if note.is_about(file)]
        return newer[0] if newer else len(self.notes)

    def made(self, path: Path) -> bool:
        """Whether a file was not there before Tacit came."""
        return any(note.created for note in self.notes if note.path == str(path))

    def updated(self, gone: Iterable[InstalledPart], new: Iterable[InstalledPart], *, folders: Iterable[str] = ()) -> InstallationRecord:
        """The record without some notes, with new ones, and with folders made for them."""
        fresh = {note.key: note for note in new}
        dropped = {*(note.key for note in gone), *fresh}
        return InstallationRecord(
            (*(note for note in self.notes if note.key not in dropped), *fresh.values()),
            tuple(dict.fromkeys((*self.folders, *folders))),
        )


def _note(value: dict[str, Any]) -> InstalledPart:
    return InstalledPart(
        path=str(value["path"]),
        client=str(value["client"]),
        audience=str(value["audience"]),
        project=str(value["project"]),
        created=bool(value["created"]),
        names=tuple(map(str, value["names"])),
        inserted=tuple((int(at), str(text)) for at, text in value["inserted"]),
        written_at=float(at) if (at := value.get("written_at")) is not None else None,
    )
