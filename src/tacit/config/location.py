"""Where the store is: a starting folder and the environment → a `StoreLocation`. Finding it creates nothing.

Variables that the checkout's own files set must not redirect the store, the home or the settings: a client starts hooks
with the variables of the project's `.claude/settings.json`, direnv loads `.envrc`, and a stranger may have written both.
Hooks run hundreds of times a day, so this module imports only `os` and the errors.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping

from tacit.domain.errors import ConfigError, Mistake, NotPermitted, StoreOutage

TYPE_CHECKING = False  # hooks import this module, and `typing` is slow to load
if TYPE_CHECKING:
    from pathlib import Path

    from tacit.config.environment import UserEnvironment

GUARDED = ("TACIT_STORE", "TACIT_HOME", "TACIT_CONFIG", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "HOME")
"""Variables that decide which store, settings and transcripts are used."""
_HOMES = ("TACIT_HOME", "HOME")
"""Of these, the ones that decide whose signatures count."""
FILES = (
    ".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".codex/config.toml", ".gemini/settings.json",
    ".gemini/.env", ".qwen/settings.json", ".qwen/.env", ".cursor/mcp.json", ".vscode/settings.json", ".vscode/mcp.json",
    ".devcontainer/devcontainer.json", ".devcontainer.json", "opencode.json", ".env", ".env.local", ".envrc", "mise.toml",
    ".mise.toml", "mise.local.toml", ".mise/config.toml", ".config/mise.toml", ".config/mise/config.toml",
)  # fmt: skip
"""Files of a checkout from which clients and shells take environment variables."""
_BYTES_MAX = 1 << 20
MODEL_CALL = "TACIT_MODEL_CALL"
"""Set for a client that Tacit asks as a language model: its hooks do nothing, and nothing is learned from it."""
MODEL_CALL_FOLDER = "tacit-model-"
"""How the name of the folder begins that such a client runs in."""


def without_repository_settings(
    variables: Mapping[str, str], starts: Iterable[str], *, guarded: Iterable[str] = GUARDED
) -> tuple[Mapping[str, str], tuple[tuple[str, str], ...]]:
    """Return the variables without guarded ones that a file of the checkout assigns, and those with their file.

    An assignment is enough: its value may be computed (`$PWD/x`), so values are not compared. A home inside the checkout is
    ignored whoever names it: such a file may load another one. `starts` are folders inside the checkout. The person's home
    folder is not a checkout.
    """
    home = account_home()
    names = [name for name in guarded if variables.get(name) and not (name == "HOME" and variables[name] == home)]
    if not names:
        return variables, ()
    homes = {os.path.realpath(each) for each in (home, variables.get("HOME", "")) if each}
    folders = _folders(starts, homes)
    ignored = {
        name: os.path.realpath(variables[name])
        for name in names
        if name in _HOMES and any(_is_home_of_checkout(variables[name], each) for each in folders)
    }
    for file in _setting_files(folders):
        text = _read(file)
        ignored.update((name, file) for name in names if name in text and _assigns(text, name))
    if not ignored:
        return variables, ()
    return {name: value for name, value in variables.items() if name not in ignored}, tuple(sorted(ignored.items()))


def _folders(starts: Iterable[str], homes: set[str]) -> list[str]:
    """Return the folders of the checkouts around some folders."""
    return list(dict.fromkeys(above for each in starts if os.path.isabs(each) for above in _checkout(each, homes)))


def _is_home_of_checkout(home: str, folder: str) -> bool:
    return os.path.exists(os.path.join(folder, ".git")) and is_within(os.path.realpath(home), folder)


def _setting_files(folders: Iterable[str]) -> Iterator[str]:
    """Yield the existing setting files in some folders."""
    for folder in folders:
        for name in FILES:
            file = os.path.join(folder, name)
            if os.path.isfile(file):
                yield file


def _checkout(start: str, homes: set[str]) -> Iterator[str]:
    """Yield a folder and those above it, up to the root of its repository or below the home folder."""
    folder = os.path.realpath(start)
    while folder not in homes:
        yield folder
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return
        folder = above


def _assigns(text: str, name: str) -> bool:
    """Whether a text assigns the variable, in JSON, TOML or shell syntax."""
    import re

    return re.search(rf"""(?:^|[\s"'{{,;.]){name}["']?\s*[:=]""", text, re.MULTILINE) is not None


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read(_BYTES_MAX)
    except OSError:
        return ""


FOLDER = ".tacit"
DATABASE = "tacit.db"
PAUSED = "paused"
_PAUSES_KEPT = 100
CHOSEN = ("--store", "TACIT_STORE")
MEMORY = ":memory:"
"""The address of a store that lives as long as the process."""
PROJECT_MARKERS = (
    ".git", ".hg", ".svn", ".jj", "pyproject.toml", "setup.py", "requirements.txt", "package.json", "deno.json", "Cargo.toml",
    "go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "Gemfile", "composer.json", "mix.exs", "CMakeLists.txt",
    "Makefile", "Dockerfile", "AGENTS.md", "CLAUDE.md", ".claude", ".codex", ".agents", "tacit.toml",
)  # fmt: skip
"""Files and folders that make a folder a project."""
EVERY_PROJECT = "every-project"
"""A file in the person's home folder of Tacit: hooks may create a store in any repository (`tacit init --user`)."""
_HOOK_FILES = (
    ".claude/settings.local.json", ".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json",
    ".qwen/settings.json",
)  # fmt: skip
"""Files of a project that connect a client to Tacit."""
_HOOK_WORDS = "hook --client "
_CLIENT_FOLDERS = (".github", ".claude", ".codex")


class StoreLocation:
    """A store's file, the project folder it belongs to, and how it was chosen.

    Paths are kept as strings, and `pathlib` is imported when a `Path` is asked for, because hooks must start quickly.
    """

    __slots__ = ("chosen_by", "database", "home", "project_path")

    def __init__(self, *, database: str, project: str | Path, chosen_by: str, home: Path | None = None) -> None:
        self.database = database
        self.project_path = os.fspath(project)
        self.chosen_by = chosen_by
        self.home = home
        """The folder of the person's own store, which keeps what is broader than a project; None if there is none."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreLocation) and all(
            getattr(self, name) == getattr(other, name) for name in StoreLocation.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.database, self.project_path))

    def __repr__(self) -> str:
        return f"StoreLocation({self.database!r}, project={self.project_path!r}, chosen_by={self.chosen_by!r})"

    @property
    def project(self) -> Path:
        """The project folder."""
        from pathlib import Path

        return Path(self.project_path)

    @property
    def folder_path(self) -> str:
        """The folder that holds the database, as a string."""
        return os.path.dirname(self.database)

    @property
    def folder(self) -> Path:
        """The folder that holds the database."""
        from pathlib import Path

        return Path(self.folder_path)

    @property
    def exists(self) -> bool:
        """Whether there is a store."""
        return self.database == MEMORY or os.path.exists(self.database)

    @property
    def project_name(self) -> str:
        """Name of the project: distinguishes projects that share one store."""
        return os.path.basename(self.project_path)

    @property
    def is_chosen(self) -> bool:
        """Whether the option or the environment named this store."""
        return self.chosen_by in CHOSEN

    @property
    def is_projects_own(self) -> bool:
        """Whether the store lies in the project itself, so that renaming the folder loses nothing."""
        return os.path.basename(self.folder_path) == FOLDER and os.path.dirname(self.folder_path) == self.project_path

    def may_be_made(self, home: str) -> bool:
        """Whether a hook may create a store here: one that was named, or in a repository that was connected.

        It was connected if its `.tacit` folder is there, by its own settings, or as every project is.
        """
        project = self.project_path
        if self.is_chosen:
            return True
        if _is_home_or_root(project) or not os.path.exists(os.path.join(project, ".git")):
            return False
        return (
            os.path.isdir(self.folder_path)
            or os.path.exists(os.path.join(home, EVERY_PROJECT))
            or any(_HOOK_WORDS in _read(os.path.join(project, name)) for name in _HOOK_FILES)
        )

    @property
    def is_project(self) -> bool:
        """Whether the folder has a repository or a marker file, and is neither the root nor the home folder."""
        if _is_home_or_root(self.project_path):
            return False
        return any(os.path.exists(os.path.join(self.project_path, name)) for name in PROJECT_MARKERS)

    def require_project(self, *, has_sessions: bool = False) -> None:
        """Raise `Mistake` unless a store may be created here: it was named, or this folder is a project.

        A folder with an agent's sessions is a project too, except the root and the home folder.
        """
        if self.exists or self.is_chosen or self.is_project:
            return
        if not has_sessions or _is_home_or_root(self.project_path):
            raise Mistake(
                f"{self.project_path} is not a project, so no store is created here",
                code="not_a_project",
                hint="run it in a project's folder, or name a store: --store PATH",
            )

    def in_memory(self) -> StoreLocation:
        """Return the same project with a store that lives as long as the process."""
        return StoreLocation(database=MEMORY, project=self.project_path, chosen_by=self.chosen_by, home=self.home)

    def with_home(self, home: Path | None) -> StoreLocation:
        """Return the same location with the folder of the person's own store."""
        return StoreLocation(database=self.database, project=self.project_path, chosen_by=self.chosen_by, home=home)

    def prepare(self) -> None:
        """Create the folder; one named `.tacit` keeps itself out of version control."""
        if self.database == MEMORY:
            return
        try:
            make_folder(self.folder_path)
        except OSError as error:
            hint = "choose another folder with --store or TACIT_STORE"
            raise StoreOutage(
                f"cannot create {self.folder_path}: {error.strerror}", code="cannot_create", hint=hint
            ) from error

    @property
    def paused_until(self) -> float | None:
        """When the pause ends, as a Unix time (infinite for "until resumed"); `None` when not paused."""
        return None if self.database == MEMORY else paused_until(self.folder_path)

    @property
    def pauses(self) -> list[tuple[float, float]]:
        """When Tacit was paused here, as Unix times, the oldest first; what happened then is not captured later either."""
        return [] if self.database == MEMORY else _pauses(self.folder_path)

    def pause(self, seconds: float | None) -> None:
        """Stop capturing and recalling, for a while or until resumed."""
        if self.database == MEMORY:
            raise Mistake("a store in memory cannot be paused", code="store_in_memory", hint="close it instead")
        self.prepare()
        now, known = time.time(), self.pauses
        begun = known.pop()[0] if self.paused_until is not None else now
        self._write_pauses([*known, (begun, now + seconds if seconds is not None else float("inf"))])

    def resume(self) -> None:
        """End a pause."""
        if self.database != MEMORY and self.paused_until is not None:
            *before, (begun, _) = self.pauses
            self._write_pauses([*before, (begun, time.time())])

    def _write_pauses(self, pauses: list[tuple[float, float]]) -> None:
        try:
            with open(self._pause_file, "w", encoding="utf-8") as file:
                file.writelines(f"{begun} {end}\n" for begun, end in pauses[-_PAUSES_KEPT:])
        except OSError as error:
            message = f"cannot write {self._pause_file}: {error.strerror}"
            raise StoreOutage(message, code="cannot_write", hint="check permissions") from error

    @property
    def _pause_file(self) -> str:
        return os.path.join(self.folder_path, PAUSED)


class HookEnvironment:
    """What a hook needs of the environment. Variables that the checkout's own files set are ignored."""

    __slots__ = (
        "account", "account_home", "claude_project", "config_file", "home", "ignored", "is_model_call", "owners", "store",
        "user_home", "variables",
    )  # fmt: skip

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        env = os.environ if variables is None else variables
        self.is_model_call = bool(env.get(MODEL_CALL))
        self.claude_project = env.get("CLAUDE_PROJECT_DIR", "")
        env, self.ignored = without_repository_settings(env, (self.claude_project, working_folder()))
        self.variables = env
        self.user_home = user_home = env.get("HOME") or account_home() or os.path.expanduser("~")
        self.store = env.get("TACIT_STORE", "")
        self.config_file = env.get("TACIT_CONFIG", "")
        self.home = env.get("TACIT_HOME") or os.path.join(user_home, FOLDER)
        self.account = account_name()
        self.account_home = os.path.join(account_home() or user_home, FOLDER)
        self.owners = owners(env.get("SUDO_UID", ""))


def working_folder() -> str:
    """The current folder; empty if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def account_home() -> str:
    """Return the home folder from the account database; empty outside Unix, or for an unknown account."""
    return _account()[0]


def account_name() -> str:
    """Return the name of the account from the account database, whatever the environment says. Empty as above."""
    return _account()[1]


def _account() -> tuple[str, str]:
    try:
        import pwd

        found = pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):
        return "", ""
    return found.pw_dir, found.pw_name


def owners(sudo_uid: str) -> frozenset[int]:
    """Return the user ids whose folders belong to this person; empty where the system has none."""
    if not hasattr(os, "getuid"):
        return frozenset()
    return frozenset({os.getuid(), *([int(sudo_uid)] if sudo_uid.isdecimal() and os.getuid() == 0 else [])})


def locate(
    here: str, *, home: str, owners: Collection[int] = frozenset(), store: str = "", variable: str = ""
) -> StoreLocation:
    """Find the store: the option, then the environment, then the nearest `.tacit`, then this project's default."""
    here = os.path.realpath(here)
    project = project_root(here)
    for address, chosen_by in zip((store, variable), CHOSEN, strict=True):
        if address:
            database = database_path(address, chosen_by)
            if chosen_by == CHOSEN[1] and is_within(os.path.realpath(database), project):
                _check_owner(database, project, owners)  # only --store uses a store that came with the checkout
            return StoreLocation(database=database, project=project, chosen_by=chosen_by)
    home = os.path.realpath(home)
    inside = here if is_within(here, project) else project  # a worktree looks where its main checkout is
    for folder in _upwards(inside):
        candidate = os.path.join(folder, FOLDER)
        if os.path.isdir(candidate) and os.path.realpath(candidate) != home:
            _check_owner(candidate, folder, owners)
            database = os.path.join(candidate, DATABASE)
            return StoreLocation(database=database, project=folder, chosen_by=f"nearest {FOLDER} folder")
        if os.path.exists(os.path.join(folder, ".git")):
            break
    database = os.path.join(project, FOLDER, DATABASE)
    return StoreLocation(database=database, project=project, chosen_by="default for this project")


def find_location(environment: UserEnvironment, *, store: str = "", start: Path | None = None) -> StoreLocation:
    """Find the store: the option, then the environment, then the nearest `.tacit`, then this project's default."""
    return locate(
        str(start) if start else os.getcwd(),
        home=str(environment.home),
        owners=environment.owners,
        store=store,
        variable=environment.store,
    )


def database_path(address: str, chosen_by: str) -> str:
    """Return the file of an address; for a folder, the database in it."""
    hint = "give a file path such as .tacit/tacit.db"
    if address.startswith(("postgresql://", "postgres://")):
        message = f"{chosen_by}: this version keeps its store in a SQLite file, not in PostgreSQL"
        raise ConfigError(message, code="store_not_sqlite", hint=hint)
    if address == MEMORY:
        return address
    path = os.path.expanduser(address)
    if path.startswith("~"):
        raise ConfigError(f"{chosen_by}: {address}: there is no user of that name", code="unknown_user", hint=hint)
    if os.path.isdir(path) or address.endswith(("/", os.sep)):
        path = os.path.join(path, DATABASE)
    return os.path.normpath(os.path.join(os.getcwd(), path))


def project_root(start: str) -> str:
    """Return the main checkout of the git repository around `start`, or `start` itself."""
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
    until = max((end for _, end in _pauses(folder)[-1:]), default=0.0)
    return until if until > time.time() else None


def _pauses(folder: str) -> list[tuple[float, float]]:
    """Read the file of pauses: in each line when one begins and ends. What cannot be read is a pause without end.

    Earlier versions wrote the end alone, or nothing for no end.
    """
    path = os.path.join(folder, PAUSED)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().strip().split("\n")
        written = os.stat(path).st_mtime
    except OSError:
        return []
    found: list[tuple[float, float]] = []
    for line in lines:
        words = line.split()
        try:
            found.append((float(words[0]) if len(words) > 1 else written, float(words[-1]) if words else float("inf")))
        except ValueError:
            found.append((written, float("inf")))
    return found


class CardPlaces:
    """Where the card workflow keeps its files: the repository, the account's name, and the shared folder."""

    __slots__ = ("account", "root", "shared")

    def __init__(self, root: str, account: str, *, shared: str = "") -> None:
        self.root = root
        self.account = account
        self.shared = shared
        """The folder that SELF_LEARNING_GLOBAL_DIR names; empty: below `home`, by the account's name."""

    @property
    def home(self) -> str:
        """The account's home folder, with the shared folder unless it was moved."""
        return os.path.expanduser("~")


def card_places(here: str, variables: Mapping[str, str] | None = None) -> CardPlaces:
    """Find the repository of the cards: the named one, the nearest with `.git`, that of a client's folder, or `here`."""
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
    """Refuse a store that another person may have filled: another user's, or one that came with the repository."""
    hint = "look at it first; then pass `--store PATH` to use it, or remove the folder to start a new store"
    if owners and os.path.exists(found) and os.stat(found).st_uid not in owners:
        raise NotPermitted(
            f"{found} belongs to another user, so its skills are not yours", code="foreign_store", hint=hint
        )
    below = FOLDER if os.path.basename(found) == FOLDER else os.path.relpath(os.path.realpath(found), project)
    if is_tracked(project, below):
        message = f"{found} came with the repository, so nobody here approved its skills"
        raise NotPermitted(message, code="store_from_repository", hint=hint)


def _is_home_or_root(folder: str) -> bool:
    real = os.path.realpath(folder)
    homes = {os.path.realpath(home) for home in (account_home(), os.path.expanduser("~")) if home}
    return real == os.path.dirname(real) or real in homes


def is_tracked(folder: str, below: str = FOLDER) -> bool:
    """Whether git tracks something below a folder. Runs git, because only git knows all its rules."""
    if not any(os.path.lexists(os.path.join(above, ".git")) for above in _upwards(folder)):
        return False
    # In any case: some file systems find `.tacit` where git tracks `.Tacit`.
    pathspec = f":(literal,icase){below}"
    words = ["git", "-C", folder, "-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--", pathspec]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, nowhere, stream) for stream in range(3)]
        child = os.posix_spawnp("git", words, environment, file_actions=actions)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except OSError:
        status = -1
    finally:
        os.close(nowhere)
    return status == 0 or (status != 1 and _is_in_index(folder, below))  # 1: git tracks nothing there


def _is_in_index(folder: str, below: str) -> bool:
    """The same without running git, for an ordinary index."""
    try:
        with open(os.path.join(folder, ".git", "index"), "rb") as file:
            return f"{below}/".encode() in file.read()
    except OSError:
        return False


def _main_checkout(marker: str) -> str | None:
    """Follow a worktree's `.git` file to its main checkout; None for a submodule."""
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
    """Return a folder and all above it."""
    found = [folder]
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        found.append(folder)
    return found


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder itself or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
