"""`Command`, the exit status of a named check, and `Tests`, a test run in which at least one test must have run.

A check that cannot be run (missing program, time limit, no such folder), or that ran nothing, raises `VerifierOutage`:
that is no evidence. A command runs with the caller's rights, not in a sandbox; give it only commands you would run
yourself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from tacit.config.environment import check_environment
from tacit.domain.errors import VerifierOutage
from tacit.domain.ports import Check
from tacit.evidence.check_strength import misaimed, shows_nothing
from tacit.evidence.independence.workspace_baseline import WorkspaceBaseline
from tacit.evidence.verifiers.test_results import ResultCounts, count_results, read_junit
from tacit.text.exit_status import masks_exit
from tacit.text.shell import parse_command

_DETAIL_CHARACTERS = 400
_COUNTING = frozenset({"pytest", "py.test", "unittest"})
"""Test runners that always print how many tests they ran."""
_SIGNAL_STATUS = 128
"""A shell adds this to the signal that ended a command: the tests crashed before they printed a result."""


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command whose exit status is the outcome: 0 passed, anything else failed."""

    command: str
    cwd: Path | None = None
    timeout_s: float = 600.0
    _: KW_ONLY
    search_path: str = ""
    """The search path for its programs; empty: that of this process, without the workspace."""
    baseline: WorkspaceBaseline | None = None
    """The earlier state of the workspace; without it, changes of the check are not noticed."""
    reservation: str = ""
    """A doubt that is known already when the check is chosen."""

    def on(self, baseline: WorkspaceBaseline) -> Command:
        """Return the same check, compared with the workspace as it was when the skill was shown."""
        if self.baseline:
            return self
        doubt = self.reservation or misaimed(self.command, str(self.cwd or baseline.folder))
        return replace(self, baseline=baseline, reservation=doubt)

    def verify(self) -> Check:
        """Run the command."""
        began_s = time.time()  # before anything is read, so that later changes are noticed
        doubt = self.reservation or weakness(self.command) or self._shaky()
        folder = self.cwd or (self.baseline.folder if self.baseline else Path.cwd())
        status, output = run(self.command, folder, timeout_s=self.timeout_s, search_path=self.search_path)
        doubt = doubt or (self.baseline.disturbed(began_s, self.command) if self.baseline else "")
        found = count_results(output) if _counts(self.command) else None
        if _counts(self.command):
            _require_a_run(self.command, status, found)
        if status == 0 and found and found.failed:
            doubt = doubt or f"it ended with status 0 although its output says {found}"
        return Check(
            passed=status == 0, verifier=self.command, detail=output.strip()[-_DETAIL_CHARACTERS:], doubt=doubt
        )

    def _shaky(self) -> str:
        return self.baseline.doubt(self.command, search_path=self.search_path) if self.baseline else ""


@dataclass(frozen=True, slots=True)
class Tests:
    """A test run: its output, or the JUnit report that it writes, must show that a test ran and that none failed."""

    __test__ = False
    """Keeps pytest from collecting it."""

    command: str
    cwd: Path | None = None
    timeout_s: float = 600.0
    _: KW_ONLY
    report: Path | None = None
    """The JUnit file that the run writes, relative to its folder; None: its output is read."""
    baseline: WorkspaceBaseline | None = None
    reservation: str = ""

    def on(self, baseline: WorkspaceBaseline) -> Tests:
        """Return the same check, compared with the workspace as it was when the skill was shown."""
        if self.baseline:
            return self
        doubt = self.reservation or misaimed(self.command, str(self.cwd or baseline.folder))
        return replace(self, baseline=baseline, reservation=doubt)

    def verify(self) -> Check:
        """Run the tests and count."""
        began_s, weak = time.time(), self.reservation or weakness(self.command)
        doubt = weak or (self.baseline.doubt(self.command) if self.baseline else "")
        folder = self.cwd or (self.baseline.folder if self.baseline else Path.cwd())
        report = folder / self.report if self.report else None
        if report:
            report.unlink(missing_ok=True)  # an old report must not count for this run
        status, output = run(self.command, folder, timeout_s=self.timeout_s)
        doubt = doubt or (self.baseline.disturbed(began_s, self.command) if self.baseline else "")
        found = read_junit(report).count_results if report else count_results(output)
        _require_a_run(self.command, status, found)
        failed = status != 0 or found is None or found.failed > 0
        if failed and status == 0:
            doubt = doubt or "it ended with status 0 although a test failed"
        detail = f"{found or 'crashed'}\n{output.strip()[-_DETAIL_CHARACTERS:]}"
        return Check(passed=not failed, verifier=self.command, detail=detail, doubt=doubt)


def weakness(command: str) -> str:
    """Return why the exit status of a command proves nothing; empty if it does."""
    if shows_nothing(command):
        return f"`{command}` cannot fail, so passing shows nothing"
    return f"the exit status of `{command}` can hide a failure" if masks_exit(command) else ""


def _counts(command: str) -> bool:
    return any(part.program in _COUNTING for part in parse_command(command))


def _require_a_run(command: str, status: int, found: ResultCounts | None) -> None:
    """Raise unless tests ran: nothing collected and everything skipped are no evidence."""
    hint = "let it run at least one test, and print how many"
    if found is None and not _crashed(status):
        raise VerifierOutage(
            f"the output of `{command}` does not show that any test ran (exit {status})", code="no_test_ran", hint=hint
        )
    if found and not found.passed and not found.failed:
        raise VerifierOutage(f"`{command}` ran no test ({found})", code="no_test_ran", hint=hint)


def _crashed(status: int) -> bool:
    return status < 0 or status > _SIGNAL_STATUS


_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_SIGNAL_BASE = 128
"""A shell adds this to the signal that ended a command."""
_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
"""Signals from outside the work; a crash (segmentation fault, abort) is a failure."""


def run(command: str, folder: Path, *, timeout_s: float, search_path: str = "") -> tuple[int, str]:
    """Run a command to its end; a missing program, a kill from outside or a timeout is an outage."""
    if not command.strip():
        raise VerifierOutage(
            "there is no command to run", code="no_command", hint="give a command whose exit status shows the outcome"
        )
    with tempfile.TemporaryDirectory() as caches:
        environment = check_environment(folder, search_path=search_path) | {"PYTHONPYCACHEPREFIX": caches}
        status, output = _ended(command, folder, environment=environment, timeout_s=timeout_s)
    if status in (_NOT_EXECUTABLE, _NOT_FOUND):
        hint = "install the program or correct the command; no outcome was recorded"
        raise VerifierOutage(f"`{command}` could not be run (exit {status})", code="command_not_runnable", hint=hint)
    killer = -status if status < 0 else status - _SIGNAL_BASE
    if killer in _FROM_OUTSIDE:
        raise VerifierOutage(f"`{command}` was killed by signal {killer}", code="command_killed", hint="run it again")
    return status, output.decode("utf-8", "replace")


def _ended(command: str, folder: Path, *, environment: dict[str, str], timeout_s: float) -> tuple[int, bytes]:
    """Exit status and output. The command gets its own process group, so that all of it ends at a timeout."""
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
        raise VerifierOutage(
            f"`{command}` could not be started: {error}", code="command_not_started", hint="check the folder"
        ) from error
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            hint = "give it more time, or check something smaller"
            raise VerifierOutage(
                f"`{command}` did not end within {timeout_s:g} s", code="timeout", hint=hint
            ) from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output
