"""The project that a skill comes from: its name, its identity, and the names that tie a text to it; and the person's store.

Reads the checkout's `.git` files and runs nothing. Two clones of one repository are one project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tacit.config.location import DATABASE, FOLDER, MEMORY, StoreLocation
from tacit.config.signers import Signers
from tacit.domain.identity import digest
from tacit.maintain.portability import NO_PROJECT_FACTS, ProjectFacts
from tacit.store import Store, open_store

_REMOTE = re.compile(r"^\s*url\s*=\s*(?:\S*[:/])?([\w.-]+/[\w.-]+?)(?:\.git)?/?\s*$", re.MULTILINE)
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProject:
    """A project, as far as promotion needs to know it."""

    project: str = ""
    identity: str = ""
    """Unique per project: the repository's remote, or else the name with a digest of the folder."""
    local: ProjectFacts = NO_PROJECT_FACTS


def _has_file(folder: Path, path: str) -> bool:
    """Whether a relative path is a file below a folder."""
    try:
        return ".." not in path.split("/") and (folder / path).is_file()
    except (OSError, ValueError):
        return False


def source_project(place: StoreLocation | None) -> SourceProject:
    """Return what is known of the project that a store belongs to."""
    if place is None:
        return SourceProject()
    folder = place.project
    remotes = tuple(dict.fromkeys(_REMOTE.findall(_read(folder / ".git" / "config"))))
    _, _, branch = _read(folder / ".git" / "HEAD").strip().partition("refs/heads/")
    user = place.home.parent.name if place.home and place.home.name == FOLDER else ""
    identity = remotes[0].lower() if remotes else f"{place.project_name}@{digest(str(folder))[-12:]}"
    local = ProjectFacts(
        project=place.project_name,
        workspace=str(folder),
        remotes=remotes,
        branches=(branch,) if branch else (),
        users=(user,) if user else (),
        has_file=partial(_has_file, folder),
    )
    return SourceProject(project=place.project_name, identity=identity, local=local)


def home_database(place: StoreLocation | None) -> Path | None:
    """Return the path of the person's own store, which keeps what is broader than a project; None if it is this one."""
    if place is None or place.home is None:
        return None
    database = place.home / DATABASE
    if place.database != MEMORY and Path(place.database).resolve() == database.resolve():
        return None
    return database


@contextmanager
def home_store(place: StoreLocation | None, *, signers: Signers | None, create: bool = False) -> Iterator[Store | None]:
    """Open the person's own store for a while; None where there is none, unless `create` is set."""
    database = home_database(place)
    if database is None or place is None or not (create or database.exists()):
        yield None
        return
    if create:
        database.parent.mkdir(parents=True, exist_ok=True)
    store = open_store(database, home=place.home)
    store.require_signatures(signers)
    try:
        yield store
    finally:
        store.close()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
