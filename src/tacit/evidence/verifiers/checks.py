"""Verifiers: checks that Tacit runs itself, so that an outcome is verified.

A check is a command with its exit status, a test run, the state of a file, a person's verdict, the postconditions of
skills, or the result file of a CI run. One that cannot be run, or that ran nothing, raises `VerifierOutage`, which is no
evidence. One that the run itself could influence counts as a self-report (`Check.doubt`). For a use in a git checkout a command
runs in a clean copy (`evidence.clean_run`); where it fails there it runs again in the workspace as it is, and what passes
only there is a self-report. A command runs with the caller's rights; give it only commands you would run yourself. Verifiers
by name are in `registry`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from tacit.config.checkout import checked_out
from tacit.domain.errors import Mistake, VerifierOutage
from tacit.domain.evidence import Grade, Use
from tacit.domain.ports import Check, Verifier
from tacit.domain.skill import SkillContent
from tacit.evidence.clean_run import SIGNAL_BASE, no_evidence, run, run_in_clean_copy
from tacit.evidence.plain_checks import not_plain, plain_check
from tacit.evidence.replay import checks_of, filled
from tacit.evidence.repository import BaselineCheck, WorkspaceBaseline
from tacit.evidence.verifiers.test_results import ResultCounts, count_results, parse_junit, ran_nothing, read_bytes
from tacit.text.exit_status import masks_exit, shows_nothing
from tacit.text.service_commands import ServiceCheck, ServiceKind, request_state, service_check
from tacit.text.shell import parse_command

_DETAIL_CHARACTERS = 400
_COUNTING = frozenset({"pytest", "py.test", "unittest"})
"""Test runners of which a run without a count is no evidence."""
_SERVICE_SETTINGS = tuple(
    ".curlrc .wgetrc .netrc .kube/config .config/gh/config.yml .config/gh/hosts.yml /etc/hosts".split()
)
"""What decides, below the home folder, whom these programs ask."""
_PRINTING = re.compile(
    r"(?:cargo|go|deno|bun|mix|dart|swift|dotnet) (?:t|test|nextest run)|jest|vitest|mocha|node|rspec|phpunit|rails test"
)
"""Test runners that print how many tests or packages passed."""


def verify(verifier: Verifier, *, use: Use, project: Path | None) -> Check:
    """Run a verifier for a use, in its own folder if it names one, else in the current folder of the project."""
    folder = getattr(verifier, "cwd", None) or getattr(verifier, "checkout", None)
    if folder is None and project is not None:
        folder = Path.cwd() if Path.cwd().is_relative_to(project) else project
    if folder is not None and isinstance(verifier, BaselineCheck):
        verifier = verifier.on(WorkspaceBaseline.of(use, Path(folder)))
    return verifier.verify()


@dataclass(frozen=True, slots=True)
class Command(BaselineCheck):
    """A shell command whose exit status is the outcome: 0 passed, anything else failed.

    What a pull request says is the outcome as the person who merged or closed it saw it.
    """

    command: str
    cwd: Path | None = None
    timeout_s: float = 600.0
    _: KW_ONLY
    search_path: str = ""
    """The search path for its programs; empty: that of this process, without the workspace."""

    def on(self, baseline: WorkspaceBaseline) -> Self:
        """Return the same check with a baseline, and with a doubt if it does not look at the work."""
        doubt = self.reservation or not_plain(self.command, str(self.cwd or baseline.folder))
        return self if self.baseline else replace(self, baseline=baseline, reservation=doubt)

    def verify(self) -> Check:
        """Run the command."""
        asked = service_check(self.command)
        if asked:
            return self._ask(asked)
        counting = any(part.program in _COUNTING for part in parse_command(self.command))
        status, output, found, doubt = self._run(counting=counting)
        if status == 0 and found and found.failed:
            doubt = doubt or f"it ended with status 0 although its output says {found}"
        detail = output.strip()[-_DETAIL_CHARACTERS:]
        return Check(passed=status == 0, verifier=self.command, detail=detail, doubt=doubt)

    def _ask(self, asked: ServiceCheck) -> Check:
        """Ask a service, with the caller's own settings: nothing in the workspace decides the answer."""
        status, output = run(
            self.command, self.folder(self.cwd), timeout_s=self.timeout_s, search_path=self.search_path
        )
        passed, grade = status == 0, Grade.MACHINE
        if asked.kind is ServiceKind.MERGED:
            state, grade = request_state(output), Grade.HUMAN
            passed = passed and state == "MERGED"
            if not passed and state != "CLOSED":
                why = f"`{self.command}` does not say that the pull request was merged or closed"
                no_evidence("not_decided", why, "record it once somebody merged or closed it")
        detail = output.strip()[-_DETAIL_CHARACTERS:]
        verifier = f"{asked.kind}: {self.command}"
        return Check(passed=passed, verifier=verifier, detail=detail, grade=grade, doubt=self._doubt_of_answer())

    def _doubt_of_answer(self) -> str:
        """Why it may not be the service itself that answered."""
        if self.reservation or self.baseline is None:
            return self.reservation
        if doubt := self.baseline.cannot_compare():
            return doubt
        programs = (shutil.which(part.program) for part in parse_command(self.command))
        files = [*(Path.home() / name for name in _SERVICE_SETTINGS), *map(Path, filter(None, programs))]
        changed = next((file for file in files if self.baseline.is_newer(file)), None)
        return f"`{changed}` decides who answers, and was changed since the skill was given" if changed else ""

    def _run(self, *, counting: bool) -> tuple[int, str, ResultCounts | None, str]:
        """Exit status, output, counts of tests, and why the check is not independent of the run that it judges.

        An outage where tests are counted and none ran: nothing collected and everything skipped are no evidence.
        """
        doubt = self.reservation or weakness(self.command)
        left_out = ""
        if self.baseline and not doubt and not (doubt := self.baseline.cannot_compare()):
            if self.baseline.repository() is None:
                doubt = self.baseline.changed_here()
            else:
                status, output, doubt, left_out = self._run_clean(self.baseline)
                found = count_results(output)
                doubt = doubt or (self._shows_no_test(output) if status == 0 else "")
                if status == 0 and not (found and found.failed) and (not counting or (found and found.passed)):
                    return status, output, found if counting else None, doubt
        status, output = run(
            self.command, self.folder(self.cwd), timeout_s=self.timeout_s, search_path=self.search_path
        )
        found = count_results(output) if counting else None
        why, crashed = "", status < 0 or status > SIGNAL_BASE  # a crash ends tests before they print a result
        if counting and found is None and not crashed:
            why = f"the output of `{self.command}` does not show that any test ran (exit {status})"
        elif found and not found.passed and not found.failed:
            why = f"`{self.command}` ran no test ({found})"
        if why:
            no_evidence("no_test_ran", why, "let it run at least one test, and print how many")
        failed = status != 0 or bool(found and found.failed)
        return status, output, found, doubt or ("" if failed and not left_out.startswith("`") else left_out)

    def _shows_no_test(self, output: str) -> str:
        """Why an output does not show that something was tested."""
        runners = {found.runner for part in parse_command(self.command) if (found := plain_check(part)) and found.tests}
        counted = count_results(output)
        if ran_nothing(output) or (any(map(_PRINTING.fullmatch, runners)) and not (counted and counted.passed)):
            return "its output does not show that any test passed"
        return ""

    def _run_clean(self, baseline: WorkspaceBaseline) -> tuple[int, str, str, str]:
        """Exit status, output and doubt of the run in a clean copy, and what a run in the workspace would add to it."""
        try:
            ran = run_in_clean_copy(
                self.command, baseline, self.folder(self.cwd), timeout_s=self.timeout_s, search_path=self.search_path
            )
        except VerifierOutage as outage:
            return 1, "", "", f"in a clean copy it could not be run: {outage.message}"
        if ran is None:
            return 1, "", "", "there is too much here for a clean copy"
        return (
            ran.status,
            ran.output,
            ran.doubt,
            ran.left_out or "it does not pass in a clean copy with a plain environment",
        )


class Tests(Command):
    """A test run whose output must show that a test ran and that none failed."""

    __slots__ = ()
    __test__ = False
    """Keeps pytest from collecting it."""

    def verify(self) -> Check:
        """Run the tests and count."""
        status, output, found, doubt = self._run(counting=True)
        failed = status != 0 or found is None or found.failed > 0
        if failed and status == 0:
            doubt = doubt or "it ended with status 0 although a test failed"
        detail = f"{found or 'crashed'}\n{output.strip()[-_DETAIL_CHARACTERS:]}"
        return Check(passed=not failed, verifier=self.command, detail=detail, doubt=doubt)


def weakness(command: str) -> str:
    """Return why the exit status of a command proves nothing; empty if it does."""
    if shows_nothing(command):
        asks = parse_command(command)[-1:]
        why = "passes whatever status is answered (add --fail)" if asks and asks[0].program == "curl" else "cannot fail"
        return f"`{command}` {why}, so passing shows nothing"
    return f"the exit status of `{command}` can hide a failure" if masks_exit(command) else ""


_MOST_BYTES = 256 * 1024 * 1024


class State(StrEnum):
    """What can be checked of a file."""

    EXISTS = "exists"
    ABSENT = "absent"
    CONTAINS = "contains"
    SHA256 = "sha256"
    CHANGED = "changed"
    """Since the skill was shown; needs a baseline."""


_VALUES = {State.CONTAINS: " TEXT", State.SHA256: " HASH"}


@dataclass(frozen=True, slots=True)
class FileState(BaselineCheck):
    """A condition on one file."""

    path: str
    state: State = State.EXISTS
    value: str = ""
    _: KW_ONLY
    cwd: Path | None = None

    @classmethod
    def parse(cls, text: str) -> FileState:
        """Read `PATH`, `PATH exists`, `PATH absent`, `PATH changed`, `PATH contains TEXT` or `PATH sha256 HASH`."""
        found = re.fullmatch(
            r"(?P<path>\S.*?)(?:\s+(?P<state>exists|absent|changed|contains|sha256)(?:\s+(?P<value>.+))?)?\s*",
            text.strip(),
        )
        state = State(found["state"] or "exists") if found else State.EXISTS
        value, hint = (found["value"] or "") if found else "", ""
        if found and not found["state"] and re.search(r"\s", found["path"]):
            words = ", ".join(f"PATH {state}{_VALUES.get(state, '')}" for state in State)
            hint = f"use one of: {words}; a name with spaces needs one too"
        elif not found or bool(value) != (state in _VALUES):
            hint = "such as `dist/app.js exists` or `VERSION contains 2.0`"
        if not found or hint:
            raise Mistake(f"{text!r} is no condition on a file", code="invalid_file_check", hint=hint)
        if state is State.SHA256 and not re.fullmatch(r"[0-9a-fA-F]{64}", value):
            hint = "64 hexadecimal digits, as `sha256sum FILE` prints them"
            raise Mistake(f"{value!r} is no SHA-256", code="invalid_file_check", hint=hint)
        return cls(found["path"], state, value)

    def verify(self) -> Check:
        """Check the file."""
        folder = self.folder(self.cwd)
        file = folder / self.path
        if not file.resolve().is_relative_to(folder):
            no_evidence("outside_workspace", f"{self.path} is outside the workspace", "name a file of the workspace")
        data = _file_content(file)
        holds = self._changed(file, data) if self.state is State.CHANGED else self._is_so(data)
        words = f"{self.path} {self.state} {self.value}".strip()
        held = False
        if holds and not self.reservation and self.baseline and self.state is not State.CHANGED:
            before = self.baseline.held_before(file)
            unchanged = before is None and self.state is not State.ABSENT and not self.baseline.is_newer(file)
            held = unchanged or self._is_so(before)  # unchanged since, committed or not
        doubt = self.reservation or (f"{words}: this held before the run" if held else "")
        detail = "not there" if data is None else f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}"
        return Check(passed=holds, verifier=f"file: {words}", detail=detail, doubt=doubt)

    def _is_so(self, data: bytes | None) -> bool:
        if self.state is State.ABSENT or data is None:
            return self.state is State.ABSENT and data is None
        if self.state is State.CONTAINS:
            return self.value.encode() in data
        return self.state is State.EXISTS or hashlib.sha256(data).hexdigest() == self.value.lower()

    def _changed(self, file: Path, data: bytes | None) -> bool:
        if self.baseline is None:
            hint = "record it for a use, or check something else of the file"
            no_evidence("no_baseline", "the time of the use is not known", hint)
        before = self.baseline.held_before(file)
        return data != before if before is not None or data is None else self.baseline.is_newer(file)


def _file_content(file: Path) -> bytes | None:
    """The content; None if there is no file."""
    try:
        if not file.is_file():
            if file.exists():
                no_evidence("not_a_file", f"{file.name} is no regular file", "name a file")
            return None
        if file.stat().st_size > _MOST_BYTES:
            no_evidence("file_too_large", f"{file.name} is too large", f"at most {_MOST_BYTES} bytes")
        return file.read_bytes()
    except OSError as error:
        raise VerifierOutage(
            f"cannot read {file.name}: {error.strerror}", code="unreadable_file", hint="check its permissions"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person's verdict."""

    passed: bool
    by: str
    note: str = ""

    def verify(self) -> Check:
        """Return the verdict."""
        if not self.by.strip():
            no_evidence("name_missing", "a person's verdict needs their name", "give by=")
        return Check(passed=self.passed, verifier=f"person: {self.by}", detail=self.note, grade=Grade.HUMAN)


@dataclass(frozen=True, slots=True)
class Postconditions(BaselineCheck):
    """The checks of the postconditions of one or more skills."""

    contents: Sequence[SkillContent]
    cwd: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    timeout_s: float = 600.0

    def verify(self) -> Check:
        """Run each check; the first that fails decides."""
        checks = [filled(content, check, self.parameters) for content in self.contents for check in checks_of(content)]
        if not checks:
            no_evidence("not_checkable", "no skill was given", "name the use of a skill")
        found: list[Check] = []
        for check in dict.fromkeys(checks):
            found.append(Command(check, self.cwd, self.timeout_s, baseline=self.baseline).verify())
            if not found[-1].passed:
                break
        named = "postconditions: " + "; ".join(dict.fromkeys(checks))
        doubt = next((one.doubt for one in found if one.doubt), "")
        return Check(passed=found[-1].passed, verifier=named, detail=found[-1].detail, doubt=doubt)


def own_checks(contents: Sequence[SkillContent]) -> set[str]:
    """Return the check commands of skills."""
    return {condition.check for content in contents for condition in content.postconditions if condition.check.strip()}


def is_own(command: str, contents: Sequence[SkillContent]) -> bool:
    """Whether a command is a skill's own check, with values for its parameters."""
    for content in contents:
        for check in own_checks([content]):
            pattern = re.escape(check)
            for parameter in content.parameters:
                pattern = pattern.replace(re.escape(f"{{{parameter.name}}}"), r"[\w@%+=:,./-]+")
            if re.fullmatch(pattern, command):
                return True
    return False


_GOOD = frozenset({"success", "passed", "pass", "succeeded", "ok", "green"})
_BAD = frozenset({"failure", "failed", "fail", "error", "errored", "timed_out", "startup_failure", "red", "broken"})
_LEFT_OUT = frozenset({"skipped", "neutral", "notrun", "not_run", "disabled"})
_UNFINISHED = ("queued", "in_progress", "waiting", "pending", "requested", "cancelled", "running")
_VERDICT = ("conclusion", "result", "outcome", "status", "state")
_COMMIT = ("head_sha", "commit", "sha", "commit_sha", "commit_id")
_LISTS = ("check_runs", "workflow_runs", "jobs", "checks", "statuses", "runs")
_COUNTS = {
    "passed": ("passed", "numPassedTests", "successes"),
    "failed": ("failed", "failures", "errors", "numFailedTests", "error"),
    "left_out": ("skipped", "numPendingTests", "ignored", "xfailed", "pending"),
}


@dataclass(frozen=True, slots=True)
class CIResult(BaselineCheck):
    """The result file of a CI run.

    It must be newer than the use, belong to the commit that is checked out where it names one, and show that something ran. A
    file in the workspace is in doubt, because the run itself could have written it.
    """

    path: Path
    cwd: Path | None = None

    def verify(self) -> Check:
        """Read it."""
        folder = self.folder(self.cwd)
        file = (folder / self.path).resolve()
        data = read_bytes(file)
        if self.baseline and not self.baseline.is_newer(file):
            why = f"{self.path.name} is older than the use of the skill"
            no_evidence("result_too_old", why, "give the result of a run after it")
        is_xml = data.lstrip().startswith(b"<")
        counted, commits = parse_junit(data, str(file)) if is_xml else _parse_json(data, file)
        here = checked_out(folder)
        for commit in filter(None, commits):
            if not re.fullmatch(r"[0-9a-f]{7,64}", commit) or not here.startswith(commit):
                why = f"{self.path.name} is of another commit ({commit[:12]})"
                no_evidence("other_commit", why, f"checked out is {here[:12] or 'none'}")
        if not counted.passed and not counted.failed:
            why = f"{self.path.name} shows no test that ran ({counted})"
            no_evidence("no_test_ran", why, "give the result of a run that tested something")
        inside = f"{self.path.name} is in the workspace, where the run itself could write it"
        doubt = self.reservation or (inside if file.is_relative_to(folder) else "")
        return Check(passed=not counted.failed, verifier=f"ci: {file.name}", detail=str(counted), doubt=doubt)


def _parse_json(data: bytes, file: Path) -> tuple[ResultCounts, list[str]]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        no_evidence("invalid_report", f"{file} is neither JUnit XML nor JSON", "give the result file of a CI run")
    found = list(_verdicts(document))
    if not found:
        example = '{"conclusion": "success", "head_sha": …, "tests": 12}'
        no_evidence("no_conclusion", f"{file} states no conclusion", f"such as {example}")
    counts = ((each.passed, each.failed, each.left_out) for each, _ in found)
    return ResultCounts(*map(sum, zip(*counts, strict=True))), [commit for _, commit in found if commit]


def _verdicts(document: Any) -> Iterator[tuple[ResultCounts, str]]:
    """The counts of each run in a document, with its commit."""
    if isinstance(document, list):
        for item in document[:10_000]:
            yield from _verdicts(item)
    elif isinstance(document, Mapping):
        runs = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
        commit = next((str(document[name]) for name in _COMMIT if isinstance(document.get(name), str)), "")
        if runs is not None:
            yield from ((counted, own or commit) for counted, own in _verdicts(runs))
        elif counted := _counted_run(document):
            yield counted, commit


def _counted_run(document: Mapping[str, Any]) -> ResultCounts | None:
    """The counts of one run: of its tests, or else of its conclusion."""
    if document.get("status") in _UNFINISHED or document.get("conclusion") == "cancelled":
        no_evidence("run_not_ended", "a run in it has not ended", "wait for it, and give the result then")
    verdict = next((str(document[name]).casefold() for name in _VERDICT if isinstance(document.get(name), str)), "")
    summary = document.get("summary") if isinstance(document.get("summary"), Mapping) else document
    assert isinstance(summary, Mapping)
    counts = {name: sum(_number(summary.get(key)) for key in keys) for name, keys in _COUNTS.items()}
    total = max(_number(summary.get(key)) for key in ("tests", "total", "numTotalTests"))
    if total and not counts["passed"]:
        counts["passed"] = max(total - counts["failed"] - counts["left_out"], 0) if verdict in _GOOD else 0
    tests = ResultCounts(**counts)
    if any(key in summary for key in ("tests", "total", "numTotalTests")) or tests != ResultCounts():
        return replace(tests, failed=tests.failed or 1) if verdict in _BAD else tests
    if verdict in _GOOD | _BAD | _LEFT_OUT:
        return ResultCounts(verdict in _GOOD, verdict in _BAD, verdict in _LEFT_OUT)
    return None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
