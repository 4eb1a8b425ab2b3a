"""The clients that Tacit knows, and the folders of this person and project that their settings lie in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tacit.config.environment import UserEnvironment
from tacit.surfaces.clients.claude_code import CLAUDE_CODE
from tacit.surfaces.clients.codex import CODEX
from tacit.surfaces.clients.launcher import SHARED, Launcher
from tacit.surfaces.clients.plan import Audience, Client, ClientFile, ClientFolders

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
