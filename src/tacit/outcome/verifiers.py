"""Verifiers: checks that Tacit runs itself, so that an outcome is machine-verified.

A check that cannot be run (missing program, time limit, no such folder) raises `VerifierOutage`: that is no evidence.
The command runs with the caller's rights, not in a sandbox; give it only commands you would run yourself.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tacit.domain.errors import VerifierOutage
from tacit.domain.verification import Check

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_SIGNAL_STATUS = 128
"""A shell adds this to the signal that ended a command."""
_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
"""Signals that say nothing about the work; a crash (segmentation fault, abort) is a failure."""
_DETAIL_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command whose exit status is the outcome: 0 passed, anything else failed."""

    command: str
    cwd: Path | None = None
    timeout_s: float = 600.0

    def verify(self) -> Check:
        """Run it and report."""
        if not self.command.strip():
            raise VerifierOutage(
                "there is no command to run", hint="give a command whose exit status shows the outcome"
            )
        status, output = self._run()
        if status in (_NOT_EXECUTABLE, _NOT_FOUND):
            hint = "install the program or correct the command; no outcome was recorded"
            raise VerifierOutage(f"`{self.command}` could not be run (exit {status})", hint=hint)
        killer = -status if status < 0 else status - _SIGNAL_STATUS
        if killer in _FROM_OUTSIDE:
            raise VerifierOutage(f"`{self.command}` was killed by signal {killer}", hint="run it again")
        tail = output.decode("utf-8", "replace").strip()[-_DETAIL_CHARACTERS:]
        return Check(passed=status == 0, verifier=self.command, detail=tail)

    def _run(self) -> tuple[int, bytes]:
        """Exit status and output. The command gets a process group of its own, so that nothing of it outlives a time limit."""
        try:
            process = subprocess.Popen(
                self.command,
                shell=True,
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise VerifierOutage(f"`{self.command}` could not be started: {error}", hint="check the folder") from error
        with process:
            try:
                output, _ = process.communicate(timeout=self.timeout_s)
            except subprocess.TimeoutExpired as error:
                hint = "give it more time, or check something smaller"
                raise VerifierOutage(f"`{self.command}` did not end within {self.timeout_s:g} s", hint=hint) from error
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, output
