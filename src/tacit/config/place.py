"""Where the store lives: the nearest `.tacit` folder, shared by the worktrees of one repository; and its pause marker.

Input is a starting folder; output is a `Place`. Creating the folder is asked for, never a side effect of looking.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from tacit.config.surroundings import Surroundings
from tacit.domain.errors import ConfigError, Mistake, NotPermitted, StoreOutage

FOLDER = ".tacit"
DATABASE = "tacit.db"
CHOSEN = ("--store", "TACIT_STORE")
MEMORY = ":memory:"
"""The address of a store that lives as long as the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A store's file, and the project folder it belongs to."""

    database: str
    project: Path
    chosen_by: str

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
            self.folder.mkdir(parents=True, exist_ok=True)
            ignore = self.folder / ".gitignore"
            if self.folder.name == FOLDER and not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        except OSError as error:
            hint = "choose another place with --store or TACIT_STORE"
            raise StoreOutage(f"cannot create {self.folder}: {error.strerror}", hint=hint) from error

    @property
    def paused_until(self) -> float | None:
        """When the pause ends, as a Unix time (infinite for "until resumed"); `None` when not paused."""
        if self.database == MEMORY:
            return None
        try:
            text = self._pause_file.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None
        try:
            until = float(text) if text else float("inf")
        except ValueError:
            until = float("inf")
        return until if until > time.time() else None

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
        return self.folder / "paused"


def find_place(surroundings: Surroundings, *, store: str = "", start: Path | None = None) -> Place:
    """Decide which store is meant: the option, then the environment, then the nearest `.tacit`, then this project's."""
    here = (start or Path.cwd()).resolve()
    project = project_root(here)
    for address, chosen_by in zip((store, surroundings.store), CHOSEN, strict=True):
        if address:
            return Place(database=_database_path(address, chosen_by), project=project, chosen_by=chosen_by)
    home = surroundings.home.resolve()
    inside = here if here.is_relative_to(project) else project  # a worktree looks where its main checkout is
    for folder in (inside, *inside.parents):
        candidate = folder / FOLDER
        if candidate.is_dir() and candidate.resolve() != home:
            _check_owner(candidate, folder, surroundings)
            return Place(database=str(candidate / DATABASE), project=folder, chosen_by=f"nearest {FOLDER} folder")
        if (folder / ".git").exists():
            break
    return Place(database=str(project / FOLDER / DATABASE), project=project, chosen_by="default for this project")


def _check_owner(found: Path, project: Path, surroundings: Surroundings) -> None:
    """Refuse a store that somebody else may have filled: another user's folder, or one that came with the repository."""
    hint = "look at it first; `--store PATH` uses it on your word, removing the folder starts afresh"
    if surroundings.owners and found.stat().st_uid not in surroundings.owners:
        raise NotPermitted(f"{found} belongs to another user, so its skills are not yours", hint=hint)
    try:
        listed = (project / ".git" / "index").read_bytes()
    except OSError:
        return
    if f"{FOLDER}/{DATABASE}".encode() in listed:
        raise NotPermitted(f"{found} came with the repository, so nobody here approved its skills", hint=hint)


def project_root(start: Path) -> Path:
    """The main checkout of the git repository around `start`, or `start` itself. Worktrees lead to the main one."""
    for folder in (start, *start.parents):
        marker = folder / ".git"
        if marker.is_dir():
            return folder
        if marker.is_file():
            return _main_checkout(marker) or folder
    return start


def _main_checkout(marker: Path) -> Path | None:
    """Follow a worktree's `.git` file to the repository it belongs to; a submodule stands for itself."""
    try:
        line = marker.read_text(encoding="utf-8", errors="replace").strip()
        git_dir = (marker.parent / line.removeprefix("gitdir:").strip()).resolve()
    except (OSError, ValueError):
        return None
    if git_dir.parent.name == "worktrees" and git_dir.parent.parent.name == ".git":
        return git_dir.parent.parent.parent
    return None


def _database_path(address: str, chosen_by: str) -> str:
    if address.startswith(("postgresql://", "postgres://")):
        raise ConfigError(
            f"{chosen_by}: this version keeps its store in a SQLite file, not in PostgreSQL",
            hint="give a file path such as .tacit/tacit.db",
        )
    if address == MEMORY:
        return address
    try:
        path = Path(address).expanduser()
    except RuntimeError as error:
        raise ConfigError(
            f"{chosen_by}: {address}: {error}", hint="give a file path such as .tacit/tacit.db"
        ) from error
    if path.is_dir() or address.endswith(("/", os.sep)):
        path = path / DATABASE
    return str(path.absolute())
