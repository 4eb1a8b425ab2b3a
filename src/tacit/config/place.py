"""Where the store lives: the nearest `.tacit` folder, shared by the worktrees of one repository; and its pause marker.

Input is a starting folder; output is a `Place`. What decides is in `whereabouts`, which hooks share. Creating the folder
is asked for, never a side effect of looking.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tacit.config import whereabouts
from tacit.config.surroundings import Surroundings
from tacit.config.whereabouts import CHOSEN, FOLDER, MEMORY
from tacit.domain.errors import Mistake, StoreOutage


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A store's file, and the project folder it belongs to."""

    database: str
    project: Path
    chosen_by: str
    home: Path | None = None
    """Where the person's own store lies, which keeps what is broader than a project; nothing where nobody said."""

    @property
    def folder(self) -> Path:
        """The folder that holds the database."""
        return Path(self.database).parent

    @property
    def project_name(self) -> str:
        """Name of the project: tells projects apart that share one store."""
        return self.project.name

    @property
    def is_chosen(self) -> bool:
        """Whether somebody named this very place, by option or environment."""
        return self.chosen_by in CHOSEN

    @property
    def is_projects_own(self) -> bool:
        """Whether the store lies in the project itself, so that renaming the folder loses nothing."""
        return self.folder.name == FOLDER and self.folder.parent == self.project

    def prepare(self) -> None:
        """Create the folder; one named `.tacit` keeps itself out of version control."""
        if self.database == MEMORY:
            return
        try:
            whereabouts.make_folder(str(self.folder))
        except OSError as error:
            hint = "choose another place with --store or TACIT_STORE"
            raise StoreOutage(f"cannot create {self.folder}: {error.strerror}", hint=hint) from error

    @property
    def paused_until(self) -> float | None:
        """When the pause ends, as a Unix time (infinite for "until resumed"); `None` when not paused."""
        return None if self.database == MEMORY else whereabouts.paused_until(str(self.folder))

    def pause(self, seconds: float | None) -> None:
        """Stop capturing and recalling, for a while or until resumed."""
        if self.database == MEMORY:
            raise Mistake("a store in memory cannot be paused", hint="close it instead")
        self.prepare()
        text = "" if seconds is None else str(time.time() + seconds)
        try:
            self._pause_file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StoreOutage(f"cannot write {self._pause_file}: {error.strerror}", hint="check permissions") from error

    def resume(self) -> None:
        """End a pause."""
        if self.database == MEMORY:
            return
        try:
            self._pause_file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreOutage(
                f"cannot remove {self._pause_file}: {error.strerror}", hint="check permissions"
            ) from error

    @property
    def _pause_file(self) -> Path:
        return self.folder / whereabouts.PAUSED


def find_place(surroundings: Surroundings, *, store: str = "", start: Path | None = None) -> Place:
    """Decide which store is meant: the option, then the environment, then the nearest `.tacit`, then this project's."""
    found = whereabouts.locate(
        str(start or Path.cwd()),
        home=str(surroundings.home),
        owners=surroundings.owners,
        store=store,
        variable=surroundings.store,
    )
    return Place(database=found.database, project=Path(found.project), chosen_by=found.chosen_by)


def project_root(start: Path) -> Path:
    """The main checkout of the git repository around `start`, or `start` itself. Worktrees lead to the main one."""
    return Path(whereabouts.project_root(str(start)))
