"""Verifiers: checks that Tacit runs itself, so that an outcome is machine-verified.

A check that cannot be run (missing program, time limit, no such folder) raises `VerifierOutage`: that is no evidence.
The command runs with the caller's rights, not in a sandbox; give it only commands you would run yourself.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tacit.domain.errors import VerifierOutage
from tacit.domain.ports import Check

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_DETAIL_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command whose exit status is the outcome: 0 passed, anything else failed."""

    command: str
    cwd: Path | None = None
    timeout_s: float = 600.0

    def verify(self) -> Check:
        """Run it and report."""
        try:
            done = subprocess.run(
                self.command,
                shell=True,
                cwd=self.cwd,
                timeout=self.timeout_s,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            hint = "give it more time, or check something smaller"
            raise VerifierOutage(f"`{self.command}` did not end within {self.timeout_s:g} s", hint=hint) from error
        except OSError as error:
            raise VerifierOutage(f"`{self.command}` could not be started: {error}", hint="check the folder") from error
        if done.returncode in (_NOT_EXECUTABLE, _NOT_FOUND):
            hint = "install the program or correct the command; no outcome was recorded"
            raise VerifierOutage(f"`{self.command}` could not be run (exit {done.returncode})", hint=hint)
        if done.returncode < 0:
            raise VerifierOutage(f"`{self.command}` was killed by signal {-done.returncode}", hint="run it again")
        tail = done.stdout.decode("utf-8", "replace").strip()[-_DETAIL_CHARACTERS:]
        return Check(passed=done.returncode == 0, verifier=self.command, detail=tail)
