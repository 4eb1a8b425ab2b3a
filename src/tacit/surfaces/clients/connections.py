"""Which connections of clients are there, whose they are, and which of their files one person may take back.

A connection is what one client is given for one audience. Reads the files; changes nothing.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake
from tacit.surfaces.clients.claude_code import CLAUDE_CODE
from tacit.surfaces.clients.client_files import Audience, Client, ClientFile, ClientFolders
from tacit.surfaces.clients.codex import CODEX
from tacit.surfaces.clients.installation import InstallationRecord, read
from tacit.surfaces.clients.json_settings import SettingsEntries
from tacit.surfaces.clients.launcher import SHARED, Launcher

CLIENTS = {client.name: client for client in (CLAUDE_CODE, CODEX)}


def find_client_folders(environment: UserEnvironment, start: Path) -> ClientFolders:
    """The folders, seen from `start`."""
    start = start.resolve()
    project = next((each for each in (start, *start.parents) if (each / ".git").exists()), start)
    return ClientFolders(
        project=project,
        user_home=environment.user_home,
        claude_home=environment.claude_home,
        codex_home=environment.codex_home,
        git_exclude=_git_exclude(project),
    )


def installed_clients(places: ClientFolders) -> list[Client]:
    """The clients that this person uses, as far as it shows."""
    return [c for c in CLIENTS.values() if c.home(places).is_dir() or shutil.which(c.program)]


def files_of(client: Client, places: ClientFolders, audience: Audience, *, launcher: Launcher) -> list[ClientFile]:
    """Everything one client is given for one audience."""
    return client.files(places, audience, SHARED if audience is Audience.SHARED else launcher)


def folders_of_project(places: ClientFolders, project: Path) -> ClientFolders:
    """The folders, seen from another project."""
    return ClientFolders(
        project=project,
        user_home=places.user_home,
        claude_home=places.claude_home,
        codex_home=places.codex_home,
        git_exclude=_git_exclude(project),
    )


def _git_exclude(project: Path) -> Path | None:
    """The list of ignored files that is not committed; worktrees share it. None outside git."""
    if not (project / ".git").exists():
        return None
    ask = ["git", "rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]
    try:
        done = subprocess.run(ask, cwd=project, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallPlan:
    """What an uninstall is about: the files to take Tacit out of, and what stays connected for everybody."""

    files: list[ClientFile]
    shared: dict[str, Path]
    """Title of a client → the project's file that connects it for everybody and that is not this person's to change."""


def parts_in(file: ClientFile) -> list[str]:
    """What a file has of Tacit's piece; nothing if it cannot be read."""
    try:
        content = read(file.path)
        return file.piece.names(content.decode("utf-8", "replace")) if content else []
    except Mistake:
        return []


def is_connected(files: Sequence[ClientFile]) -> bool:
    """Whether the first file, which holds the hooks, has anything of Tacit's."""
    return bool(parts_in(files[0]))


def is_connected_by_project(client: Client, places: ClientFolders, *, launcher: Launcher) -> bool:
    """Whether the project's shared files connect a client: every hook is there, and the client can read them."""
    (file, *_) = files_of(client, places, Audience.SHARED, launcher=launcher)
    assert isinstance(file.piece, SettingsEntries)
    wanted = {entry.name for entry in file.piece.entries if entry.at[0] == "hooks"}
    return wanted <= set(parts_in(file))


def without_shared_parts(
    client: Client, places: ClientFolders, files: Sequence[ClientFile], *, launcher: Launcher
) -> list[ClientFile]:
    """Those of a person's own files that are not the project's shared ones at the same time."""
    shared = files_of(client, places, Audience.SHARED, launcher=launcher)
    taken = {file.path for file in shared} if is_connected(shared) else set()
    return [file for file in files if file.audience is Audience.SHARED or file.path not in taken]


def find_uninstall_plan(
    places: ClientFolders, record: InstallationRecord, *, launcher: Launcher, clients: Collection[str], shared: bool
) -> UninstallPlan:
    """What this person's own `init` wrote, here and elsewhere, by the record or by its form.

    The project's shared files belong to everybody: they go if the record names them, or if that is asked for.
    """
    going: list[ClientFile] = []
    held: set[Path] = set()
    left: dict[str, Path] = {}
    for client, files in _connections(places, record, launcher=launcher):
        here = files[0].project == str(places.project)
        for_all = files[0].audience is Audience.SHARED and not (shared and here)
        mine = [file for file in files if client.name in clients and (not for_all or record.of(file))]
        going += mine
        if len(mine) < len(files) and is_connected(files):
            held |= {file.path for file in files if file not in mine}
            if here and for_all and client.name in clients and files[0] not in mine:
                left[client.title] = files[0].path
    return UninstallPlan(files=[file for file in going if file.path not in held], shared=left)


def _connections(
    places: ClientFolders, record: InstallationRecord, *, launcher: Launcher
) -> Iterator[tuple[Client, list[ClientFile]]]:
    """Every connection that may be there: in this project, of this person, and in the other projects on record."""
    for project in dict.fromkeys((str(places.project), *(note.project for note in record.notes if note.project))):
        seen = places if project == str(places.project) else folders_of_project(places, Path(project))
        for client in CLIENTS.values():
            for audience in Audience:
                yield client, files_of(client, seen, audience, launcher=launcher)
