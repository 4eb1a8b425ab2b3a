"""`Command`, the exit status of a named check, and `Tests`, a test run in which at least one test must have run.

A check that cannot be run (missing program, time limit, no such folder), or that ran nothing, raises `VerifierOutage`:
that is no evidence. A command runs with the caller's rights, not in a sandbox; give it only commands you would run yourself.
"""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from tacit.domain.errors import VerifierOutage
from tacit.domain.verification import Check
from tacit.evidence.aim import misaimed
from tacit.evidence.independence.ground import Ground
from tacit.evidence.proof import shows_nothing
from tacit.evidence.verifiers.junit import read_junit
from tacit.evidence.verifiers.running import run
from tacit.evidence.verifiers.tally import Tally, tally
from tacit.text.exit_status import masks_exit
from tacit.text.shell import parse_command

_DETAIL_CHARACTERS = 400
_COUNTING = frozenset({"pytest", "py.test", "unittest"})
"""Test runners that always say how many tests they ran."""
_SIGNAL_STATUS = 128
"""A shell adds this to the signal that ended a command: the tests crashed before they could say anything."""


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command whose exit status is the outcome: 0 passed, anything else failed."""

    command: str
    cwd: Path | None = None
    timeout_s: float = 600.0
    _: KW_ONLY
    search_path: str = ""
    """Where its programs are looked for, on the caller's word; empty: where this process looks, the workspace aside."""
    ground: Ground | None = None
    """What it is held against; not given: nobody looks whether the run changed the check."""
    reservation: str = ""
    """What whoever chose the check already holds against it."""

    def on(self, ground: Ground) -> Command:
        """The same check, held against what was there when the skill was given."""
        if self.ground:
            return self
        doubt = self.reservation or misaimed(self.command, str(self.cwd or ground.folder))
        return replace(self, ground=ground, reservation=doubt)

    def verify(self) -> Check:
        """Run it and report."""
        began_s = time.time()  # before anything is looked at: what changes from here on is seen
        doubt = self.reservation or weakness(self.command) or self._shaky()
        folder = self.cwd or (self.ground.folder if self.ground else Path.cwd())
        status, output = run(self.command, folder, timeout_s=self.timeout_s, search_path=self.search_path)
        doubt = doubt or (self.ground.disturbed(began_s, self.command) if self.ground else "")
        found = tally(output) if _counts(self.command) else None
        if _counts(self.command):
            _require_a_run(self.command, status, found)
        if status == 0 and found and found.failed:
            doubt = doubt or f"it ended with status 0 although its output says {found}"
        return Check(
            passed=status == 0, verifier=self.command, detail=output.strip()[-_DETAIL_CHARACTERS:], doubt=doubt
        )

    def _shaky(self) -> str:
        return self.ground.doubt(self.command, search_path=self.search_path) if self.ground else ""


@dataclass(frozen=True, slots=True)
class Tests:
    """A test run: its output, or the JUnit report that it writes, must show that a test ran and that none failed."""

    __test__ = False
    """No test itself, whatever its name makes a test runner think."""

    command: str
    cwd: Path | None = None
    timeout_s: float = 600.0
    _: KW_ONLY
    report: Path | None = None
    """The JUnit file that the run writes, from the folder it runs in; not given: its output is read."""
    ground: Ground | None = None
    reservation: str = ""

    def on(self, ground: Ground) -> Tests:
        """The same check, held against what was there when the skill was given."""
        if self.ground:
            return self
        doubt = self.reservation or misaimed(self.command, str(self.cwd or ground.folder))
        return replace(self, ground=ground, reservation=doubt)

    def verify(self) -> Check:
        """Run the tests and count."""
        began_s, weak = time.time(), self.reservation or weakness(self.command)
        doubt = weak or (self.ground.doubt(self.command) if self.ground else "")
        folder = self.cwd or (self.ground.folder if self.ground else Path.cwd())
        report = folder / self.report if self.report else None
        if report:
            report.unlink(missing_ok=True)  # an old report must not speak for this run
        status, output = run(self.command, folder, timeout_s=self.timeout_s)
        doubt = doubt or (self.ground.disturbed(began_s, self.command) if self.ground else "")
        found = read_junit(report).tally if report else tally(output)
        _require_a_run(self.command, status, found)
        failed = status != 0 or found is None or found.failed > 0
        if failed and status == 0:
            doubt = doubt or "it ended with status 0 although a test failed"
        detail = f"{found or 'crashed'}\n{output.strip()[-_DETAIL_CHARACTERS:]}"
        return Check(passed=not failed, verifier=self.command, detail=detail, doubt=doubt)


def weakness(command: str) -> str:
    """Why the exit status of a command would prove nothing, whoever chose it; empty if it would."""
    if shows_nothing(command):
        return f"`{command}` cannot fail, so that it passes shows nothing"
    return f"the exit status of `{command}` can hide a failure" if masks_exit(command) else ""


def _counts(command: str) -> bool:
    return any(part.program in _COUNTING for part in parse_command(command))


def _require_a_run(command: str, status: int, found: Tally | None) -> None:
    """Raise unless tests really ran: nothing collected and everything skipped are no evidence."""
    hint = "let it run at least one test, and print how many"
    if found is None and not _crashed(status):
        raise VerifierOutage(f"the output of `{command}` does not show that any test ran (exit {status})", hint=hint)
    if found and not found.passed and not found.failed:
        raise VerifierOutage(f"`{command}` ran no test ({found})", hint=hint)


def _crashed(status: int) -> bool:
    return status < 0 or status > _SIGNAL_STATUS
