"""The environment of a check: this process's own, without variables that could make a check do nothing.

Removes variables that switch checks off, load code into them or name other programs, and removes folders of the workspace
from the search path, except its usual environments. Variables that a project's own tests read are unknown here.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path

_REMOVED = re.compile(
    r"(?:PYTHON|PYTEST|PY_|NODE|NPM_|YARN_|PNPM_|BUN_|DENO_|JEST|VITEST|MOCHA|CYPRESS|PLAYWRIGHT|LD_|DYLD_|GIT_|MAKE|MFLAGS|"
    r"GNUMAKE|GOFLAGS|GOTEST|CARGO_|RUST|JAVA_TOOL|_JAVA|JDK_JAVA|MAVEN_|MVN_|GRADLE_|PERL5|PERL_|RUBY|BUNDLE_|GEM_|PHP|"
    r"COVERAGE|COV_|TOX|NOX|UNITTEST|MYPY|RUFF|FLAKE8|PYLINT|ESLINT|TSC_|CTEST|BASH_|BASHOPTS|SHELLOPTS|ZDOTDIR|PROMPT_COMMAND|"
    r"DOTNET_|VSTEST|MSBUILD).*|ENV|SKIP|IFS|CDPATH|PS4",
    re.IGNORECASE,
)
_USUAL = re.compile(r"(?:.*/)?(?:\.?v?env(?:-[\w.]+)?/bin|node_modules/\.bin|\.tox/[\w.-]+/bin|\.nox/[\w.-]+/bin)/?")

_SYSTEM = re.compile(r"/(?:usr|bin|sbin|opt|nix|snap|System|Library|lib)(?:/.*)?")
_ACCOUNT_TOOLS = re.compile(r"(?:\.[\w.-]+|bin|go|[\w.-]*(?:conda|mamba|forge)[\w.-]*)/.*|bin")


def is_usual_place(folder: Path) -> bool:
    """Whether a folder usually has programs: of the system, of an environment, or of the account's own tools."""
    inside = _inside_home(folder)
    return (
        bool(_SYSTEM.fullmatch(str(folder)))
        or (folder.parent / "pyvenv.cfg").is_file()
        or (folder.parent / "conda-meta").is_dir()
        or folder.parts[-2:] == ("node_modules", ".bin")
        or bool(inside and _ACCOUNT_TOOLS.fullmatch(inside))
    )


def _inside_home(folder: Path) -> str:
    """Return the path relative to the account's own home, whatever HOME is; empty outside of it."""
    try:
        return str(folder.relative_to(pwd.getpwuid(os.getuid()).pw_dir))
    except (KeyError, ValueError):
        return ""


def check_environment(
    workspace: Path, *, search_path: str = "", variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables that a check of this workspace sees; `search_path` overrides where programs are looked for."""
    env = os.environ if variables is None else variables
    kept = {name: value for name, value in env.items() if not _REMOVED.fullmatch(name)}
    kept["PATH"] = search_path or _outside(env.get("PATH", os.defpath), workspace)
    kept["PYTHONIOENCODING"] = "utf-8"
    return kept


def _outside(path: str, workspace: Path) -> str:
    """Return the search path without folders of the workspace, except its environments, and without relative folders."""
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
