"""Test results: counts from the output of a test run, or from a JUnit report."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from tacit.domain.errors import VerifierOutage

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
_NODE = re.compile(r"^[#ℹ] (?P<word>pass|fail|cancelled|skipped|todo) (?P<number>\d+)\s*$", re.MULTILINE)
_TOTALS = re.compile(
    r"Tests run: (?P<run>\d+), Failures: (?P<failed>\d+)(?:, Errors: (?P<errors>\d+))?(?:, Skipped: (?P<left>\d+))?\s*$"
    r"|\b(?P<examples>\d+) (?:examples?|runs?), (?:\d+ assertions, )?(?P<bad>\d+) failures?(?:, (?P<wrong>\d+) errors?)?"
    r"(?:, (?P<pending>\d+) (?:pending|skips))?",
    re.MULTILINE,
)
"""Maven, RSpec and Minitest: how many ran, and of these how many failed."""
_NONE = re.compile(
    r"collected 0 items|no tests ran|no tests? (?:files? )?found|no test files|no tests to run|running 0 tests|0 passing|"
    r"matched no packages|^make: (?:'[^'\n]*' is up to date|Nothing to be done for)",
    re.IGNORECASE | re.MULTILINE,
)
_PASSED = frozenset({"passed", "passing"})
_FAILED = frozenset({"failed", "failing", "failure", "failures", "error", "errors"})


def ran_nothing(output: str) -> bool:
    """Whether the output says that nothing was run, and shows no test that was."""
    counted = count_results(output)
    return _NONE.search(output) is not None and not (counted and (counted.passed or counted.failed))


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
    return (
        _unittest(text)
        or _totals(text)
        or _node(text)
        or _counted(text)
        or _lines(text)
        or (ResultCounts() if _NONE.search(text) else None)
    )


def _unittest(text: str) -> ResultCounts | None:
    ran = [int(number) for number in _UNITTEST.findall(text)]
    if not ran:
        return None
    parts = [end["parts"] or "" for end in _UNITTEST_END.finditer(text)]
    failed = sum(map(int, re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", " ".join(parts))))
    left_out = sum(map(int, re.findall(r"(?:skipped|expected failures)=(\d+)", " ".join(parts))))
    return ResultCounts(max(sum(ran) - failed - left_out, 0), failed, left_out)


def _totals(text: str) -> ResultCounts | None:
    found = list(_TOTALS.finditer(text))
    if not found:
        return None
    last = {name: int(value or 0) for name, value in found[-1].groupdict().items()}
    failed = last["failed"] + last["errors"] + last["bad"] + last["wrong"]
    left_out = last["left"] + last["pending"]
    return ResultCounts(max(last["run"] + last["examples"] - failed - left_out, 0), failed, left_out)


def _node(text: str) -> ResultCounts | None:
    """The summary of the test runner that is part of Node."""
    counts = Counter[str]()
    for found in _NODE.finditer(text):
        counts[found["word"]] += int(found["number"])
    if not counts:
        return None
    return ResultCounts(counts["pass"], counts["fail"] + counts["cancelled"], counts["skipped"] + counts["todo"])


def _counted(text: str) -> ResultCounts | None:
    """Lines with counts, such as `2 passed, 1 skipped in 0.1s`; of one run the last, of several the sum."""
    found: Counter[str] | None = None
    for line in text.splitlines():
        counts = list(_COUNTED.finditer(line))
        if not counts or len(line) > 300 or re.match(r"\s*Test (?:Suites|Files)\b", line):
            continue
        found = Counter() if found is None else found
        for count in counts:
            word = count["word"].lower()
            found["passed" if word in _PASSED else "failed" if word in _FAILED else "left_out"] += int(count["number"])
    return None if found is None else ResultCounts(found["passed"], found["failed"], found["left_out"])


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
        hint = "give the report of the tests alone"
        raise VerifierOutage(f"{file} is larger than {MOST_BYTES} bytes", code="file_too_large", hint=hint)
    return data


def parse_junit(data: bytes, name: str) -> tuple[ResultCounts, list[str]]:
    """Return the counts of a JUnit report, and the commits that it names."""
    counts: Counter[str] = Counter()
    commits: list[str] = []
    depth, root, case = 0, "", ""  # `case`: what is known of the test that is being read

    def begin(element: str, attributes: dict[str, str]) -> None:
        nonlocal depth, root, case
        depth, tag = depth + 1, element.rpartition(":")[2]
        root = root or tag
        if depth > _MOST_DEPTH:
            raise ValueError("it is nested too deeply")
        if tag == "testcase":
            case = "left out" if attributes.get("status") in ("notrun", "skipped", "disabled") else "passed"
        elif tag in ("failure", "error"):
            case = ""
            counts["failed"] += 1
        elif tag == "skipped" and case:
            case = "left out"
        elif tag == "property" and attributes.get("name", "").casefold() in _COMMIT_NAMES:
            commits.append(attributes.get("value", "").strip())

    def end(element: str) -> None:
        nonlocal depth, case
        depth -= 1
        if element.rpartition(":")[2] == "testcase":
            counts[case] += 1
            case = ""

    def refuse(*_: object) -> None:
        raise ValueError("it brings a document type or entities of its own")

    parser, problem = expat.ParserCreate(), ""
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError) as error:
        problem = f": {error}"
    if problem or root not in ("testsuite", "testsuites"):
        hint = "give the XML that the test run wrote"
        raise VerifierOutage(f"{name} is no JUnit report{problem}", code="invalid_report", hint=hint)
    return ResultCounts(counts["passed"], counts["failed"], counts["left out"]), commits
