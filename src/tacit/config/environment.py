"""The environment variables that Tacit reads, read once at a surface and passed on as one value.

Only secrets, the store's address and the locations of files come from the environment. Every other module takes what it
needs as a parameter, so tests and embedding programs decide. A check that Tacit runs sees this process's environment, without
variables that could make it do nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tacit.config.location import (
    MODEL_CALL,
    HookEnvironment,
    account_home,
    is_within,
    project_root,
    without_repository_settings,
    working_folder,
)

SESSION_VARIABLES = (
    "TACIT_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "GEMINI_SESSION_ID",
    "QWEN_CODE_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
)
"""Variables that hold the id of an agent's session."""
AGENT_MARKERS = tuple(
    "CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID CLAUDE_CODE_CHILD_SESSION CLAUDE_PID CODEX_SANDBOX "
    "CODEX_SANDBOX_NETWORK_DISABLED CODEX_THREAD_ID CODEX_SESSION_ID CODEX_TOOL_CALL_ID CODEX_CI GEMINI_CLI "
    "GEMINI_SESSION_ID COPILOT_AGENT_SESSION_ID QWEN_CODE OPENCODE LETTA_AGENT_ID CURSOR_AGENT CURSOR_TRACE_ID AIDER_CHAT "
    "AI_AGENT".split()
)
"""Variables that coding agents set in the shells they start. They spare an agent mistakes; an approval rests on a signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEnvironment:
    """The values of the environment."""

    store: str = ""
    config_file: str = ""
    home: Path = Path()
    user_home: Path = Path()
    claude_home: Path = Path()
    codex_home: Path = Path()
    """Where Claude Code and Codex keep this person's settings and transcripts."""
    client_folders: Mapping[str, Path] = field(default_factory=dict)
    """Where other clients keep their sessions."""
    config_home: Path | None = None
    """Where programs that follow XDG keep the person's settings."""
    model_key: str = ""
    """Key for the language model at `model.base_url`."""
    user: str = ""
    editor: str = ""
    session: str = ""
    """The id of the agent's session that this process was started in, where its client tells."""
    agent_markers: tuple[str, ...] = ()
    account_home: Path | None = None
    """The account's own home folder, whatever HOME says."""
    ignored: tuple[tuple[str, str], ...] = ()
    """Variables that were ignored because a file of the checkout sets them, or is named by them: name and file."""
    owners: frozenset[int] = frozenset()
    """User ids whose folders are this person's; empty where the system has none."""

    @property
    def person_home(self) -> Path:
        """The folder with the person's key, signers, policy and skills."""
        return self.home

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> UserEnvironment:
        """Read the process environment, or the given variables instead."""
        found = HookEnvironment(variables)
        env, user_home, home = found.variables, Path(found.user_home), Path(found.home)
        own = Path(account) if (account := account_home()) else None
        return cls(
            store=found.store,
            config_file=found.config_file,
            home=home,
            user_home=user_home,
            claude_home=Path(env.get("CLAUDE_CONFIG_DIR") or user_home / ".claude"),
            codex_home=Path(env.get("CODEX_HOME") or user_home / ".codex"),
            client_folders=_client_folders(env, user_home),
            config_home=Path(env.get("XDG_CONFIG_HOME") or user_home / ".config"),
            model_key=env.get("TACIT_MODEL_KEY", ""),
            user=env.get("USER") or env.get("USERNAME") or "",
            editor=env.get("VISUAL") or env.get("EDITOR") or "",
            session=next((env[name] for name in SESSION_VARIABLES if env.get(name)), ""),
            agent_markers=tuple(name for name in AGENT_MARKERS if env.get(name)),
            account_home=own,
            ignored=found.ignored,
            owners=found.owners,
        )


def _client_folders(env: Mapping[str, str], home: Path) -> dict[str, Path]:
    """Return where clients other than Claude Code and Codex keep their sessions: client → folder."""
    data = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    mac = home / "Library" / "Application Support"
    return {
        "copilot": Path(env.get("COPILOT_HOME") or home / ".copilot"),
        "gemini": home / ".gemini",
        "qwen-code": home / ".qwen",
        "opencode": data / "opencode",
        "letta-code": home / ".letta",
        "openclaw": Path(env.get("OPENCLAW_STATE_DIR") or home / ".openclaw"),
        "pi": home / ".pi",
        "mini-swe-agent": Path(
            env.get("MSWEA_GLOBAL_CONFIG_DIR") or (mac if mac.is_dir() else config) / "mini-swe-agent"
        ),
        "cursor": home / ".cursor",
        "cursor-editor": (mac if mac.is_dir() else config) / "Cursor",
    }


_REMOVED = re.compile(
    r"(?:PYTHON|PYTEST|PY_|NODE|NPM_|YARN_|PNPM_|BUN_|DENO_|JEST|VITEST|MOCHA|CYPRESS|PLAYWRIGHT|LD_|DYLD_|GIT_|MAKE|MFLAGS|"
    r"GNUMAKE|GOFLAGS|GOTEST|CARGO_|RUST|JAVA_TOOL|_JAVA|JDK_JAVA|MAVEN_|MVN_|GRADLE_|PERL5|PERL_|RUBY|BUNDLE_|GEM_|PHP|"
    r"COVERAGE|COV_|TOX|NOX|UNITTEST|MYPY|RUFF|FLAKE8|PYLINT|ESLINT|TSC_|CTEST|BASH_|BASHOPTS|SHELLOPTS|ZDOTDIR|"
    r"PROMPT_COMMAND|"
    r"DOTNET_|VSTEST|MSBUILD).*|ENV|SKIP|IFS|CDPATH|PS4",
    re.IGNORECASE,
)
_USUAL = re.compile(r"(?:.*/)?(?:\.?v?env(?:-[\w.]+)?/bin|node_modules/\.bin|\.tox/[\w.-]+/bin|\.nox/[\w.-]+/bin)/?")

_SYSTEM = re.compile(r"/(?:usr|bin|sbin|opt|nix|snap|System|Library|lib)(?:/.*)?")
_ACCOUNT_TOOLS = re.compile(r"(?:\.[\w.-]+|bin|go|[\w.-]*(?:conda|mamba|forge)[\w.-]*)/.*|bin")


def is_usual_place(folder: Path) -> bool:
    """Whether a folder usually has programs: of the system, of an environment, or of the account's own tools."""
    home = account_home()  # whatever HOME is
    inside = str(folder.relative_to(home)) if home and folder.is_relative_to(home) else ""
    return (
        bool(_SYSTEM.fullmatch(str(folder)))
        or (folder.parent / "pyvenv.cfg").is_file()
        or (folder.parent / "conda-meta").is_dir()
        or folder.parts[-2:] == ("node_modules", ".bin")
        or bool(inside and _ACCOUNT_TOOLS.fullmatch(inside))
    )


def check_environment(
    workspace: Path, *, search_path: str = "", variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables that a check of this workspace sees; `search_path` overrides where programs are looked for."""
    env = os.environ if variables is None else variables
    kept = {name: value for name, value in env.items() if not _REMOVED.fullmatch(name) or _TOOLCHAIN.fullmatch(name)}
    kept["PATH"] = search_path or _outside(env.get("PATH", os.defpath), workspace)
    kept["PYTHONIOENCODING"] = "utf-8"
    return kept


_KEPT = re.compile(
    r"LANG|LANGUAGE|LC_\w+|TZ|TERM|USER|LOGNAME|SSL_CERT_(?:FILE|DIR)|NIX_SSL_CERT_FILE|(?:RUSTUP|PYENV|RBENV|GOENV|"
    r"NODENV)_(?:TOOLCHAIN|VERSION)"
)
"""Variables that a check in a clean copy sees as they are."""
_TOOLCHAIN = re.compile(
    r"RUSTUP_HOME|GOROOT|GOMODCACHE|JAVA_HOME|JDK_HOME|M2_HOME|MAVEN_HOME|GRADLE_HOME|NVM_DIR|FNM_DIR|PYENV_ROOT|"
    r"RBENV_ROOT|GEM_HOME|GEM_PATH|"
    r"VOLTA_HOME|ASDF_DIR|ASDF_DATA_DIR|MISE_DATA_DIR|SDKMAN_DIR|ANDROID_HOME|ANDROID_SDK_ROOT|CONDA_PREFIX|"
    r"DOTNET_ROOT|BUN_INSTALL|PNPM_HOME"
)
"""Variables that name the folder of a toolchain."""
TOOL_FOLDERS = tuple(
    ".rustup .cargo/bin .cargo/registry .cargo/git go/pkg/mod go/bin .m2/repository .m2/wrapper .gradle/wrapper "
    ".pyenv .nvm .rbenv .rvm .asdf .volta .sdkman .gem .local/bin .local/lib .local/share/uv "
    ".local/share/mise .local/share/gem "
    ".local/share/pnpm "
    ".bun .deno .dotnet .nuget/packages .cache/ms-playwright .cache/pypoetry miniconda3 anaconda3 miniforge3 mambaforge".split()
)
"""Where toolchains lie below a home folder: programs and what they have downloaded, and no settings."""


def clean_environment(
    workspace: Path,
    home: Path,
    *,
    is_newer: Callable[[Path], bool],
    search_path: str = "",
    variables: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the few variables of a check in a clean copy: where its toolchain is, and nothing that changes what it does.

    A folder that a variable names, or that programs are looked for in, counts only if it was not made since (`is_newer`).
    """
    env = os.environ if variables is None else variables
    own = Path(account_home() or env.get("HOME") or home)
    kept = {name: value for name, value in env.items() if _KEPT.fullmatch(name)}
    for name, value in env.items():
        if _TOOLCHAIN.fullmatch(name) and value.startswith("/") and not is_newer(Path(value)):
            kept[name] = value
    folders = _outside(env.get("PATH", os.defpath), workspace).split(os.pathsep)
    usual = [
        folder
        for folder in folders
        if is_usual_place(Path(folder)) or (folder.endswith("/bin") and not is_newer(Path(folder)))
    ]
    kept["PATH"] = search_path or os.pathsep.join(usual) or os.defpath
    rustup = env.get("RUSTUP_HOME") or str(own / ".rustup")
    if Path(rustup).is_dir() and not is_newer(Path(rustup)):
        kept["RUSTUP_HOME"] = rustup
    usual_home = {"HOME": str(home), "PYTHONIOENCODING": "utf-8", "GOENV": "off", "GOTOOLCHAIN": "local"}
    return kept | usual_home


_REDIRECTS = re.compile(
    r"(?:ANTHROPIC|CLAUDE|OPENAI|CODEX|AWS|GOOGLE|VERTEX|CLOUD_ML|AZURE|NODE|SSL|LD|DYLD)_.*|.*_(?:PROXY|BASE_URL)|HOME",
    re.IGNORECASE,
)
"""Variables that decide where a client sends what it is asked, with whose login, and what it loads first."""
_SESSION = frozenset({*AGENT_MARKERS, "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_EFFORT"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEnvironment:
    """What a client sees that is asked as a language model."""

    variables: Mapping[str, str]
    user_home: Path
    claude_home: Path
    codex_home: Path
    ignored: tuple[tuple[str, str], ...] = ()
    """Variables that were left out because a file of the checkout sets them: name and file."""


def drop_repository_variables(project: Path) -> None:
    """Take out of this process's environment what a file of the checkout sets to decide where a model's prompts go."""
    for name, _ in client_environment(project).ignored:
        os.environ.pop(name, None)


def client_environment(project: Path | None = None, *, variables: Mapping[str, str] | None = None) -> ClientEnvironment:
    """Return what a client sees: nothing of an agent's session around it, of Tacit's own, or that the project's files set."""
    given = os.environ if variables is None else variables
    starts = (given.get("CLAUDE_PROJECT_DIR", ""), working_folder(), str(project or ""))
    decisive = [name for name in given if _REDIRECTS.fullmatch(name)]
    env, ignored = without_repository_settings(given, starts, guarded=decisive)
    kept = {name: value for name, value in env.items() if name not in _SESSION and not name.startswith("TACIT_")}
    user_home = Path(env.get("HOME") or account_home() or Path.home())
    workspace = project or Path(project_root(working_folder() or os.sep))
    # The person's own programs lie below the home folder, also where that is what they work in.
    inside = Path(os.devnull) if user_home.is_relative_to(workspace) else workspace
    path = _outside(kept.get("PATH", os.defpath), inside)
    return ClientEnvironment(
        variables={**kept, "HOME": str(user_home), "PATH": path, MODEL_CALL: "1"},
        user_home=user_home,
        claude_home=Path(env.get("CLAUDE_CONFIG_DIR") or user_home / ".claude"),
        codex_home=Path(env.get("CODEX_HOME") or user_home / ".codex"),
        ignored=ignored,
    )


def _outside(path: str, workspace: Path) -> str:
    """Return the search path without folders of the workspace, except its environments, and without relative folders."""
    root = os.path.realpath(workspace)
    kept = [
        folder
        for folder in path.split(os.pathsep)
        if folder.startswith("/") and (not is_within(os.path.realpath(folder), root) or _USUAL.fullmatch(folder))
    ]
    return os.pathsep.join(kept) or os.defpath
