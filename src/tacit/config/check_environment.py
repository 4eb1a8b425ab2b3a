"""The environment that a check runs in: this process's own, without what could tell a check to do nothing.

Takes out variables that switch checks off, load code into them or name other programs, and folders of the workspace from
the search path, its usual environments aside. What a project's own tests read from the environment it cannot know.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path

_MEDDLING = re.compile(
    r"(?:PYTHON|PYTEST|PY_|NODE|NPM_|YARN_|PNPM_|BUN_|DENO_|JEST|VITEST|MOCHA|CYPRESS|PLAYWRIGHT|LD_|DYLD_|GIT_|MAKE|MFLAGS|"
    r"GNUMAKE|GOFLAGS|GOTEST|CARGO_|RUST|JAVA_TOOL|_JAVA|JDK_JAVA|MAVEN_|MVN_|GRADLE_|PERL5|PERL_|RUBY|BUNDLE_|GEM_|PHP|"
    r"COVERAGE|COV_|TOX|NOX|UNITTEST|MYPY|RUFF|FLAKE8|PYLINT|ESLINT|TSC_|CTEST|BASH_|BASHOPTS|SHELLOPTS|ZDOTDIR|PROMPT_COMMAND|"
    r"DOTNET_|VSTEST|MSBUILD).*|ENV|SKIP|IFS|CDPATH|PS4",
    re.IGNORECASE,
)
_USUAL = re.compile(r"(?:.*/)?(?:\.?v?env(?:-[\w.]+)?/bin|node_modules/\.bin|\.tox/[\w.-]+/bin|\.nox/[\w.-]+/bin)/?")

_SYSTEM = re.compile(r"/(?:usr|bin|sbin|opt|nix|snap|System|Library|lib)(?:/.*)?")
_OF_THE_ACCOUNT = re.compile(r"(?:\.[\w.-]+|bin|go|[\w.-]*(?:conda|mamba|forge)[\w.-]*)/.*|bin")


def is_usual_place(folder: Path) -> bool:
    """Whether programs are usually found in a folder: the system's, those of an environment, or of the account's own tools."""
    inside = _inside_home(folder)
    return (
        bool(_SYSTEM.fullmatch(str(folder)))
        or (folder.parent / "pyvenv.cfg").is_file()
        or (folder.parent / "conda-meta").is_dir()
        or folder.parts[-2:] == ("node_modules", ".bin")
        or bool(inside and _OF_THE_ACCOUNT.fullmatch(inside))
    )


def _inside_home(folder: Path) -> str:
    """The path from the account's own home, whatever variables say where that is; empty outside of it."""
    try:
        return str(folder.relative_to(pwd.getpwuid(os.getuid()).pw_dir))
    except (KeyError, ValueError):
        return ""


def check_environment(
    workspace: Path, *, search_path: str = "", variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a check of this workspace may see; `search_path` is where programs are looked for, on the caller's word."""
    env = os.environ if variables is None else variables
    kept = {name: value for name, value in env.items() if not _MEDDLING.fullmatch(name)}
    kept["PATH"] = search_path or _outside(env.get("PATH", os.defpath), workspace)
    kept["PYTHONIOENCODING"] = "utf-8"
    return kept


def _outside(path: str, workspace: Path) -> str:
    """The search path without folders of the workspace, but with its environments; relative ones name no place."""
    root = os.path.realpath(workspace)
    kept = [
        folder
        for folder in path.split(os.pathsep)
        if folder.startswith("/") and (not _is_within(folder, root) or _USUAL.fullmatch(folder))
    ]
    return os.pathsep.join(kept) or os.defpath


def _is_within(folder: str, root: str) -> bool:
    real = os.path.realpath(folder)
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)
