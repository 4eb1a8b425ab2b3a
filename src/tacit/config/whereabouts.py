"""Which store is meant, decided on plain strings: where one stands and what the environment says → a `Whereabouts`.

The one source of these decisions, for `Place` and for the hooks, which run hundreds of times a day inside somebody's
agent: it imports `os` and the errors, nothing that is slow to load. Looking creates nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping

from tacit.domain.errors import ConfigError, NotPermitted

FOLDER = ".tacit"
DATABASE = "tacit.db"
PAUSED = "paused"
CHOSEN = ("--store", "TACIT_STORE")
MEMORY = ":memory:"
"""The address of a store that lives as long as the process."""
_CLIENT_FOLDERS = (".github", ".claude", ".codex")


class Whereabouts:
    """A store's file, the project folder it belongs to, and who chose it."""

    __slots__ = ("chosen_by", "database", "project")

    def __init__(self, database: str, project: str, *, chosen_by: str) -> None:
        self.database = database
        self.project = project
        self.chosen_by = chosen_by

    @property
    def folder(self) -> str:
        """The folder that holds the database."""
        return os.path.dirname(self.database)

    @property
    def is_projects_own(self) -> bool:
        """Whether the store lies in the project itself, so that renaming the folder loses nothing."""
        return os.path.basename(self.folder) == FOLDER and os.path.dirname(self.folder) == self.project

    @property
    def may_be_made(self) -> bool:
        """Whether a store may be made here unasked: where somebody named it, or inside a repository."""
        return self.chosen_by in CHOSEN or os.path.exists(os.path.join(self.project, ".git"))


class Variables:
    """What a hook needs of the environment."""

    __slots__ = ("account", "account_home", "claude_project", "config_file", "home", "owners", "store")

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        env = os.environ if variables is None else variables
        user_home = env.get("HOME") or os.path.expanduser("~")
        self.store = env.get("TACIT_STORE", "")
        self.config_file = env.get("TACIT_CONFIG", "")
        self.home = env.get("TACIT_HOME") or os.path.join(user_home, FOLDER)
        self.account = account_name()
        self.account_home = os.path.join(account_home() or user_home, FOLDER)
        self.claude_project = env.get("CLAUDE_PROJECT_DIR", "")
        self.owners = owners(env.get("SUDO_UID", ""))


def account_home() -> str:
    """The home folder that the account database gives; empty outside Unix, or for an account it does not know."""
    return _account()[0]


def account_name() -> str:
    """Who works here, by the account database: no variable of a shell makes anybody somebody else. Empty as above."""
    return _account()[1]


def _account() -> tuple[str, str]:
    try:
        import pwd

        found = pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):
        return "", ""
    return found.pw_dir, found.pw_name


def owners(sudo_uid: str) -> frozenset[int]:
    """User ids whose folders are this person's; empty where the system has none."""
    if not hasattr(os, "getuid"):
        return frozenset()
    return frozenset({os.getuid(), *([int(sudo_uid)] if sudo_uid.isdecimal() and os.getuid() == 0 else [])})


def locate(
    here: str, *, home: str, owners: Collection[int] = frozenset(), store: str = "", variable: str = ""
) -> Whereabouts:
    """Decide which store is meant: the option, then the environment, then the nearest `.tacit`, then this project's."""
    here = os.path.realpath(here)
    project = project_root(here)
    for address, chosen_by in zip((store, variable), CHOSEN, strict=True):
        if address:
            return Whereabouts(database_path(address, chosen_by), project, chosen_by=chosen_by)
    home = os.path.realpath(home)
    inside = here if _is_within(here, project) else project  # a worktree looks where its main checkout is
    for folder in _upwards(inside):
        candidate = os.path.join(folder, FOLDER)
        if os.path.isdir(candidate) and os.path.realpath(candidate) != home:
            _check_owner(candidate, folder, owners)
            return Whereabouts(os.path.join(candidate, DATABASE), folder, chosen_by=f"nearest {FOLDER} folder")
        if os.path.exists(os.path.join(folder, ".git")):
            break
    return Whereabouts(os.path.join(project, FOLDER, DATABASE), project, chosen_by="default for this project")


def database_path(address: str, chosen_by: str) -> str:
    """The file that an address names; a folder stands for the database in it."""
    hint = "give a file path such as .tacit/tacit.db"
    if address.startswith(("postgresql://", "postgres://")):
        raise ConfigError(f"{chosen_by}: this version keeps its store in a SQLite file, not in PostgreSQL", hint=hint)
    if address == MEMORY:
        return address
    path = os.path.expanduser(address)
    if path.startswith("~"):
        raise ConfigError(f"{chosen_by}: {address}: nobody of that name has a home here", hint=hint)
    if os.path.isdir(path) or address.endswith(("/", os.sep)):
        path = os.path.join(path, DATABASE)
    return os.path.normpath(os.path.join(os.getcwd(), path))


def project_root(start: str) -> str:
    """The main checkout of the git repository around `start`, or `start` itself. Worktrees lead to the main one."""
    for folder in _upwards(start):
        marker = os.path.join(folder, ".git")
        if os.path.isdir(marker):
            return folder
        if os.path.isfile(marker):
            return _main_checkout(marker) or folder
    return start


def make_folder(folder: str) -> None:
    """Create a store's folder; one named `.tacit` keeps itself out of version control."""
    os.makedirs(folder, exist_ok=True)
    ignore = os.path.join(folder, ".gitignore")
    if os.path.basename(folder) == FOLDER and not os.path.exists(ignore):
        with open(ignore, "w", encoding="utf-8") as file:
            file.write("*\n")


def paused_until(folder: str) -> float | None:
    """When the pause ends, as a Unix time (infinite for "until resumed"); `None` when not paused."""
    try:
        with open(os.path.join(folder, PAUSED), encoding="utf-8", errors="replace") as file:
            text = file.read().strip()
    except OSError:
        return None
    try:
        until = float(text) if text else float("inf")
    except ValueError:
        until = float("inf")
    return until if until > time.time() else None


class CardPlaces:
    """Where the card workflow keeps its files: the repository's root, the account's name, the folder that projects share."""

    __slots__ = ("account", "root", "shared")

    def __init__(self, root: str, account: str, *, shared: str = "") -> None:
        self.root = root
        self.account = account
        self.shared = shared
        """The folder that SELF_LEARNING_GLOBAL_DIR names; empty: below `home`, by the account's name."""

    @property
    def home(self) -> str:
        """The account's home folder, in which the shared folder lies unless somebody moved it."""
        return os.path.expanduser("~")


def card_places(here: str, variables: Mapping[str, str] | None = None) -> CardPlaces:
    """Find the repository that cards belong to: the one named, the nearest with `.git`, a client's folder's, or `here`."""
    env = os.environ if variables is None else variables
    account = env.get("USER") or env.get("USERNAME") or ""
    shared = env.get("SELF_LEARNING_GLOBAL_DIR", "")
    shared = os.path.realpath(os.path.expanduser(shared)) if shared else ""
    named = env.get("SELF_LEARNING_REPO_ROOT", "")
    if named:
        return CardPlaces(os.path.realpath(os.path.expanduser(named)), account, shared=shared)
    folders = _upwards(os.path.realpath(here))
    around = [folder for folder in folders if os.path.exists(os.path.join(folder, ".git"))]
    above = [os.path.dirname(folder) for folder in folders if os.path.basename(folder) in _CLIENT_FOLDERS]
    return CardPlaces((around + above + folders)[0], account, shared=shared)


def _check_owner(found: str, project: str, owners: Collection[int]) -> None:
    """Refuse a store that somebody else may have filled: another user's folder, or one that came with the repository."""
    hint = "look at it first; `--store PATH` uses it on your word, removing the folder starts afresh"
    if owners and os.stat(found).st_uid not in owners:
        raise NotPermitted(f"{found} belongs to another user, so its skills are not yours", hint=hint)
    if is_tracked(project):
        raise NotPermitted(f"{found} came with the repository, so nobody here approved its skills", hint=hint)


def is_tracked(folder: str, below: str = FOLDER) -> bool:
    """Whether git tracks something below a folder, or anything in it. Asks git itself: it alone knows all its ways."""
    if not any(os.path.lexists(os.path.join(above, ".git")) for above in _upwards(folder)):
        return False
    words = ["git", "-C", folder, "-c", "core.fsmonitor=false", "ls-files", "-z", "--", below]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    out, into = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    listed, failed = b"", True
    try:
        actions = [(os.POSIX_SPAWN_DUP2, nowhere, 0), (os.POSIX_SPAWN_DUP2, into, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
        child = os.posix_spawnp("git", words, environment, file_actions=actions)
    except OSError:
        child = 0
    os.close(into)
    os.close(nowhere)
    if child:
        listed = os.read(out, 1)
    os.close(out)  # a long list need not be written to its end
    if child:
        failed = os.waitpid(child, 0)[1] != 0
    return bool(listed) or (failed and _is_in_index(folder, below))


def _is_in_index(folder: str, below: str) -> bool:
    """The same without git, as far as an ordinary index shows it."""
    try:
        with open(os.path.join(folder, ".git", "index"), "rb") as file:
            return f"{below}/".encode() in file.read()
    except OSError:
        return False


def _main_checkout(marker: str) -> str | None:
    """Follow a worktree's `.git` file to the repository it belongs to; a submodule stands for itself."""
    try:
        with open(marker, encoding="utf-8", errors="replace") as file:
            line = file.read().strip()
        git_dir = os.path.realpath(os.path.join(os.path.dirname(marker), line.removeprefix("gitdir:").strip()))
    except (OSError, ValueError):
        return None
    trees = os.path.dirname(git_dir)
    if os.path.basename(trees) == "worktrees" and os.path.basename(os.path.dirname(trees)) == ".git":
        return os.path.dirname(os.path.dirname(trees))
    return None


def _upwards(folder: str) -> list[str]:
    """A folder and all above it."""
    found = [folder]
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        found.append(folder)
    return found


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
