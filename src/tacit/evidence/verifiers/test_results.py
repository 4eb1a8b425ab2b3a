"""Test results: counts from the output of a test run, from a JUnit report, or from the result file of a CI run.

A CI result must be newer than the use, belong to the commit that is checked out where it names one, and show that
something ran. A file in the workspace is in doubt, because the run itself could have written it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from tacit.config.checkout import checked_out
from tacit.domain.errors import VerifierOutage
from tacit.domain.ports import Check
from tacit.evidence.independence.workspace_baseline import WorkspaceBaseline

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_COUNTED = re.compile(
    r"\b(?P<number>\d+) (?P<word>passed|passing|failed|failing|failures?|errors?|skipped|pending|todo|xfailed|xpassed|"
    r"deselected|ignored)\b",
    re.IGNORECASE,
)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_UNITTEST_END = re.compile(r"^(?:OK|FAILED)(?: \((?P<parts>[^)]*)\))?\s*$", re.MULTILINE)
_GO = re.compile(
    r"^(?:(?P<ok>ok)|(?P<fail>FAIL))\s+\S+\s+(?:[\d.]+s|\(cached\))(?P<none>.*no tests to run)?", re.MULTILINE
)
_TAP = re.compile(r"^(?P<no>not )?ok \d+\b(?P<left>.*#\s*(?:skip|todo))?", re.MULTILINE | re.IGNORECASE)
_NONE = re.compile(
    r"collected 0 items|no tests ran|no tests? (?:files? )?found|no test files|no tests to run|running 0 tests|0 passing",
    re.IGNORECASE,
)
_PASSED = frozenset({"passed", "passing"})
_FAILED = frozenset({"failed", "failing", "failure", "failures", "error", "errors"})


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """The counts of a test run."""

    passed: int = 0
    failed: int = 0
    left_out: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.left_out} left out"


def count_results(output: str) -> ResultCounts | None:
    """Return the counts that common test runners print at their end; None where there are none."""
    text = _ESCAPE.sub("", output)
    return _unittest(text) or _counted(text) or _lines(text) or (ResultCounts() if _NONE.search(text) else None)


def _unittest(text: str) -> ResultCounts | None:
    ran = [int(number) for number in _UNITTEST.findall(text)]
    if not ran:
        return None
    parts = [end["parts"] or "" for end in _UNITTEST_END.finditer(text)]
    failed = sum(map(int, re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", " ".join(parts))))
    left_out = sum(map(int, re.findall(r"(?:skipped|expected failures)=(\d+)", " ".join(parts))))
    return ResultCounts(max(sum(ran) - failed - left_out, 0), failed, left_out)


def _counted(text: str) -> ResultCounts | None:
    """Lines with counts, such as `2 passed, 1 skipped in 0.1s`; of one run the last, of several the sum."""
    passed = failed = left_out = 0
    found = False
    for line in text.splitlines():
        counts = list(_COUNTED.finditer(line))
        if not counts or len(line) > 300 or re.match(r"\s*Test (?:Suites|Files)\b", line):
            continue
        found = True
        for count in counts:
            number, word = int(count["number"]), count["word"].lower()
            passed += number if word in _PASSED else 0
            failed += number if word in _FAILED else 0
            left_out += number if word not in _PASSED | _FAILED else 0
    return ResultCounts(passed, failed, left_out) if found else None


def _lines(text: str) -> ResultCounts | None:
    """Runners that print one line per package (Go) or per test (TAP)."""
    go = [line for line in _GO.finditer(text) if not line["none"]]
    if go:
        return ResultCounts(sum(bool(line["ok"]) for line in go), sum(bool(line["fail"]) for line in go))
    tap = list(_TAP.finditer(text))
    if not tap:
        return None
    left_out = sum(bool(line["left"]) for line in tap)
    failed = sum(bool(line["no"] and not line["left"]) for line in tap)
    return ResultCounts(len(tap) - left_out - failed, failed, left_out)


MOST_BYTES = 32 * 1024 * 1024
_MOST_DEPTH = 64
_COMMIT_NAMES = frozenset("commit commit_sha git.commit git_commit head_sha sha github_sha ci_commit_sha".split())


@dataclass(slots=True)
class Report:
    """A parsed report."""

    passed: int = 0
    failed: int = 0
    left_out: int = 0
    commits: list[str] = field(default_factory=list)
    depth: int = 0
    case: str = ""
    """What is known of the test that is being read."""

    @property
    def count_results(self) -> ResultCounts:
        """The counts."""
        return ResultCounts(self.passed, self.failed, self.left_out)

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise ValueError("it is nested too deeply")
        if name == "testcase":
            self.case = "left out" if attributes.get("status") in ("notrun", "skipped", "disabled") else "passed"
        elif name in ("failure", "error"):
            self.case, self.failed = "", self.failed + 1
        elif name == "skipped" and self.case:
            self.case = "left out"
        elif name == "property" and attributes.get("name", "").casefold() in _COMMIT_NAMES:
            self.commits.append(attributes.get("value", "").strip())

    def end(self, name: str) -> None:
        """An element ends."""
        self.depth -= 1
        if name == "testcase":
            self.passed += self.case == "passed"
            self.left_out += self.case == "left out"
            self.case = ""


def read_junit(file: Path) -> Report:
    """Read a report file; a missing, too large or invalid one is an outage."""
    return parse_junit(read_bytes(file), str(file))


def read_bytes(file: Path) -> bytes:
    """Return the bytes of a result file, up to a size."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise VerifierOutage(
            f"cannot read {file}: {error.strerror}", code="unreadable_file", hint="give the path of a result file"
        ) from error
    if len(data) > MOST_BYTES:
        raise VerifierOutage(
            f"{file} is larger than {MOST_BYTES} bytes",
            code="file_too_large",
            hint="give the report of the tests alone",
        )
    return data


def parse_junit(data: bytes, name: str) -> Report:
    """Parse the bytes of a report."""
    report, parser = Report(), expat.ParserCreate()
    names: list[str] = []

    def begin(element: str, attributes: dict[str, str]) -> None:
        if not names:
            names.append(element)
        report.begin(element.rpartition(":")[2], attributes)

    def refuse(*_: object) -> None:
        raise ValueError("it brings a document type or entities of its own")

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda element: report.end(element.rpartition(":")[2])
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError) as error:
        raise VerifierOutage(
            f"{name} is no JUnit report: {error}",
            code="invalid_report",
            hint="give the XML that the test run wrote",
        ) from error
    if not names or names[0].rpartition(":")[2] not in ("testsuite", "testsuites"):
        raise VerifierOutage(
            f"{name} is no JUnit report", code="invalid_report", hint="give the XML that the test run wrote"
        )
    return report


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
class CIResult:
    """The result file of a CI run."""

    path: Path
    cwd: Path | None = None
    _: KW_ONLY
    baseline: WorkspaceBaseline | None = None
    reservation: str = ""

    def on(self, baseline: WorkspaceBaseline) -> CIResult:
        """Return the same check, compared with the workspace as it was when the skill was shown."""
        return self if self.baseline else replace(self, baseline=baseline)

    def verify(self) -> Check:
        """Read it."""
        folder = (self.cwd or (self.baseline.folder if self.baseline else Path.cwd())).resolve()
        file = (folder / self.path).resolve()
        data = read_bytes(file)
        if self.baseline and not self.baseline.is_newer(file):
            _no_evidence(
                "result_too_old",
                f"{self.path.name} is older than the use of the skill",
                "give the result of a run after it",
            )
        counted, commits = _junit(data, file) if data.lstrip().startswith(b"<") else _json(data, file)
        here = checked_out(folder)
        for commit in filter(None, commits):
            if not re.fullmatch(r"[0-9a-f]{7,64}", commit) or not here.startswith(commit):
                _no_evidence(
                    "other_commit",
                    f"{self.path.name} is of another commit ({commit[:12]})",
                    f"checked out is {here[:12] or 'none'}",
                )
        if not counted.passed and not counted.failed:
            _no_evidence(
                "no_test_ran",
                f"{self.path.name} shows no test that ran ({counted})",
                "give the result of a run that tested something",
            )
        inside = f"{self.path.name} is in the workspace, where the run itself could write it"
        doubt = self.reservation or (inside if file.is_relative_to(folder) else "")
        return Check(passed=not counted.failed, verifier=f"ci: {file.name}", detail=str(counted), doubt=doubt)


def _junit(data: bytes, file: Path) -> tuple[ResultCounts, list[str]]:
    report = parse_junit(data, str(file))
    return report.count_results, report.commits


def _json(data: bytes, file: Path) -> tuple[ResultCounts, list[str]]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        _no_evidence("invalid_report", f"{file} is neither JUnit XML nor JSON", "give the result file of a CI run")
    found = list(_verdicts(document))
    if not found:
        _no_evidence(
            "no_conclusion",
            f"{file} states no conclusion",
            'such as {"conclusion": "success", "head_sha": …, "tests": 12}',
        )
    return _sum([each for each, _ in found]), [commit for _, commit in found if commit]


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
        _no_evidence("run_not_ended", "a run in it has not ended", "wait for it, and give the result then")
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


def _sum(found: list[ResultCounts]) -> ResultCounts:
    return ResultCounts(sum(t.passed for t in found), sum(t.failed for t in found), sum(t.left_out for t in found))


def _no_evidence(code: str, message: str, hint: str) -> NoReturn:
    raise VerifierOutage(message, code=code, hint=hint)
