"""Runs the command of a check: a shell text in, exit status and output out, or `VerifierOutage` where it could not run.

It runs with the caller's rights in a process group of its own, in a clean environment, with caches of compiled Python in
a folder of its own: a forged one beside a test would be run in its place. It does not judge what the status means.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

from tacit.config.check_environment import check_environment
from tacit.domain.errors import VerifierOutage

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_SIGNAL_STATUS = 128
"""A shell adds this to the signal that ended a command."""
_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
"""Signals that say nothing about the work; a crash (segmentation fault, abort) is a failure."""


def run(command: str, folder: Path, *, timeout_s: float, search_path: str = "") -> tuple[int, str]:
    """Run a command to its end; what is missing, stopped from outside or too slow is an outage."""
    if not command.strip():
        raise VerifierOutage("there is no command to run", hint="give a command whose exit status shows the outcome")
    with tempfile.TemporaryDirectory() as caches:
        environment = check_environment(folder, search_path=search_path) | {"PYTHONPYCACHEPREFIX": caches}
        status, output = _ended(command, folder, environment=environment, timeout_s=timeout_s)
    if status in (_NOT_EXECUTABLE, _NOT_FOUND):
        hint = "install the program or correct the command; no outcome was recorded"
        raise VerifierOutage(f"`{command}` could not be run (exit {status})", hint=hint)
    killer = -status if status < 0 else status - _SIGNAL_STATUS
    if killer in _FROM_OUTSIDE:
        raise VerifierOutage(f"`{command}` was killed by signal {killer}", hint="run it again")
    return status, output.decode("utf-8", "replace")


def _ended(command: str, folder: Path, *, environment: dict[str, str], timeout_s: float) -> tuple[int, bytes]:
    """Exit status and output. The command gets a process group of its own, so that nothing of it outlives a time limit."""
    try:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise VerifierOutage(f"`{command}` could not be started: {error}", hint="check the folder") from error
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            hint = "give it more time, or check something smaller"
            raise VerifierOutage(f"`{command}` did not end within {timeout_s:g} s", hint=hint) from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output
