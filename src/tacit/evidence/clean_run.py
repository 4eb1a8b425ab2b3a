"""Clean run: run a check in a clean copy of the workspace, with an environment and a home folder of Tacit's own.

Where there is a sandbox the copy stands in the place of the workspace, the rest of the machine is read-only, and the home
folder and /tmp are empty but for the person's toolchains. Unlike the sandbox for foreign code it lends those and the network:
what runs is the project's own check. Elsewhere the check runs in a temporary folder with the caller's
rights.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

from tacit.config.environment import TOOL_FOLDERS, check_environment, clean_environment
from tacit.config.location import account_home
from tacit.domain.errors import VerifierOutage
from tacit.evidence.clean_copy import CleanCopy, make_copy
from tacit.evidence.repository import WorkspaceBaseline

_SYSTEM = "/usr/bin:/usr/local/bin:/bin"


@cache
def bubblewrap() -> str:
    """Return the path of a bubblewrap that works here; empty if there is none."""
    program = shutil.which("bwrap", path=_SYSTEM)
    if program is None:
        return ""
    line = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--", "/bin/true"]
    try:
        done = subprocess.run(line, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return program if done.returncode == 0 else ""


def confined(
    command: Sequence[str], *, copy: Path, workspace: Path, folder: Path, lent: Iterable[Path], hidden: Iterable[Path]
) -> list[str]:
    """Return the command line that runs a command in the sandbox; empty folders stand in the place of hidden ones."""
    empty = [str(path) for path in dict.fromkeys(hidden) if path.is_dir() and path != Path("/")]
    line = [bubblewrap(), "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/"]
    line += ["--dev", "/dev", "--proc", "/proc"]
    for place in empty:
        line += ["--tmpfs", place]
    for path in dict.fromkeys(lent):
        hidden_away = str(path) not in empty and any(path.is_relative_to(place) for place in empty)
        if hidden_away and path.exists() and not path.is_relative_to(workspace):
            line += ["--ro-bind", str(path), str(path)]
    line += ["--bind", str(copy), str(workspace)]
    for path in dict.fromkeys(lent):
        if path.is_relative_to(workspace):
            line += ["--ro-bind", str(path), str(path)]
            for name in (".cache", ".vite"):
                line += ["--tmpfs", str(path / name)] if (path / name).is_dir() else []
    return [*line, "--chdir", os.fspath(folder), "--", *command]


def no_evidence(code: str, message: str, hint: str) -> NoReturn:
    """Raise the outage of a check that shows nothing."""
    raise VerifierOutage(message, code=code, hint=hint)


@dataclass(frozen=True, slots=True)
class CleanResult:
    """What came of a run in a clean copy."""

    status: int
    output: str
    doubt: str = ""
    """What decides the check and could not be put back."""
    left_out: str = ""
    """What decides the check, was changed in the workspace, and was put back in the copy."""


def run_in_clean_copy(
    command: str, baseline: WorkspaceBaseline, folder: Path, *, timeout_s: float, search_path: str = ""
) -> CleanResult | None:
    """Run a command in a clean copy of the workspace around a folder; None where there is too much to copy."""
    with tempfile.TemporaryDirectory(prefix="tacit-check-", ignore_cleanup_errors=True) as name:
        private = Path(name)
        home = private / "home"
        environment = clean_environment(baseline.folder, home, is_newer=baseline.is_newer, search_path=search_path)
        places = [] if search_path else [Path(place) for place in environment["PATH"].split(os.pathsep)]
        named = list(_named_programs(command))
        places += [program.parent for program in named]
        copy = make_copy(baseline, private / "copy", command=command, search_path=places)
        if copy is None:
            return None
        inside = os.path.relpath(folder, copy.root.resolve())
        lent = [prefix for program in named for prefix in (_prefix(program.parent), _prefix(program.resolve().parent))]
        lent += [Path(sys.prefix), Path(sys.base_prefix)]  # the interpreter that Tacit runs in, wherever it lies
        line, environment = _line(command, copy, inside, home=home, environment=environment, lent=lent)
        started = private / "copy" / inside
        if not started.is_dir():
            started.mkdir(parents=True)
        copy.seal()
        status, output = ended(line, started, environment=environment, timeout_s=timeout_s)
        _require_run(command, status)
        left_out = f"`{copy.left_out[0]}` may decide what the check means, and was changed" if copy.left_out else ""
        doubt = copy.doubt or copy.disturbed()
        return CleanResult(status, output.decode("utf-8", "replace"), doubt, left_out)


def _line(
    command: str, copy: CleanCopy, inside: str, *, home: Path, environment: Mapping[str, str], lent: Iterable[Path]
) -> tuple[Sequence[str], dict[str, str]]:
    """The command line, confined where there is a sandbox, and its environment."""
    from tacit.evidence.clean_run import bubblewrap, confined

    shell = ("/bin/sh", "-c", command)
    account = account_home()
    variables = dict(environment)
    if bubblewrap() and account:
        own = Path(account)
        hidden = [own, Path("/tmp"), Path("/var/tmp")]
        lent = [*(own / name for name in TOOL_FOLDERS), *_prefixes(environment), *copy.packages, *lent]
        variables |= {"HOME": str(own), "TMPDIR": "/tmp", "PYTHONPYCACHEPREFIX": "/tmp/pycache"}
        root = copy.root.resolve()
        line = confined(shell, copy=copy.folder, workspace=root, folder=root / inside, lent=lent, hidden=hidden)
        return line, variables
    home.mkdir()
    for name in TOOL_FOLDERS if account else ():
        if (Path(account or home) / name).exists():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).symlink_to(Path(account or home) / name)
    for folder in copy.packages:
        place = copy.folder / folder.relative_to(copy.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(folder)
    variables |= {"PYTHONPYCACHEPREFIX": str(home / "pycache"), "JAVA_TOOL_OPTIONS": f"-Duser.home={home}"}
    return shell, variables


def _prefixes(environment: Mapping[str, str]) -> Iterator[Path]:
    """Folders that hold the programs and what belongs to them."""
    yield from map(_prefix, map(Path, environment["PATH"].split(os.pathsep)))
    yield from (Path(value) for name, value in environment.items() if name.endswith(("_HOME", "_ROOT", "_DIR")))


def _prefix(place: Path) -> Path:
    """The folder of an installation, given that of its programs."""
    return place.parent if (place.parent / "pyvenv.cfg").is_file() or (place.parent / "lib").is_dir() else place


def _named_programs(command: str) -> Iterator[Path]:
    """Programs that a command names by their whole path."""
    for word in _WHOLE_PATH.findall(command):
        program = Path(word)
        if program.is_file() and os.access(program, os.X_OK):
            yield program


_WHOLE_PATH = re.compile(r"(?:^|(?<=[\s;&|(=\"']))/[^\s;&|()<>\"'$`]+")
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
SIGNAL_BASE = 128
"""A shell adds this to the signal that ended a command."""
_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
"""Signals from outside the work; a crash (segmentation fault, abort) is a failure."""


def run(command: str, folder: Path, *, timeout_s: float, search_path: str = "") -> tuple[int, str]:
    """Run a command to its end; a missing program, a kill from outside or a timeout is an outage."""
    if not command.strip():
        no_evidence("no_command", "there is no command to run", "give a command whose exit status shows the outcome")
    with tempfile.TemporaryDirectory() as caches:
        environment = check_environment(folder, search_path=search_path) | {"PYTHONPYCACHEPREFIX": caches}
        status, output = ended(("/bin/sh", "-c", command), folder, environment=environment, timeout_s=timeout_s)
    _require_run(command, status)
    return status, output.decode("utf-8", "replace")


def _require_run(command: str, status: int) -> None:
    """Raise an outage where the status says that the command did not come to its own end."""
    if status in (_NOT_EXECUTABLE, _NOT_FOUND):
        hint = "install the program or correct the command; no outcome was recorded"
        no_evidence("command_not_runnable", f"`{command}` could not be run (exit {status})", hint)
    killer = -status if status < 0 else status - SIGNAL_BASE
    if killer in _FROM_OUTSIDE:
        no_evidence("command_killed", f"`{command}` was killed by signal {killer}", "run it again")


def ended(line: Sequence[str], folder: Path, *, environment: dict[str, str], timeout_s: float) -> tuple[int, bytes]:
    """Exit status and output. The command gets its own process group, so that all of it ends at a timeout."""
    try:
        process = subprocess.Popen(
            line,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise VerifierOutage(
            f"the check could not be started: {error}", code="command_not_started", hint="check the folder"
        ) from error
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            hint = "give it more time, or check something smaller"
            raise VerifierOutage(f"the check did not end within {timeout_s:g} s", code="timeout", hint=hint) from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output
