"""The output of a test run → how many tests ran, failed and were left out; nothing where it does not say. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
class Tally:
    """How a test run ended."""

    passed: int = 0
    failed: int = 0
    left_out: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.left_out} left out"


def tally(output: str) -> Tally | None:
    """Read the counts that common test runners print at their end."""
    text = _ESCAPE.sub("", output)
    return _unittest(text) or _counted(text) or _lines(text) or (Tally() if _NONE.search(text) else None)


def _unittest(text: str) -> Tally | None:
    ran = [int(number) for number in _UNITTEST.findall(text)]
    if not ran:
        return None
    parts = [end["parts"] or "" for end in _UNITTEST_END.finditer(text)]
    failed = sum(map(int, re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", " ".join(parts))))
    left_out = sum(map(int, re.findall(r"(?:skipped|expected failures)=(\d+)", " ".join(parts))))
    return Tally(max(sum(ran) - failed - left_out, 0), failed, left_out)


def _counted(text: str) -> Tally | None:
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
    return Tally(passed, failed, left_out) if found else None


def _lines(text: str) -> Tally | None:
    """Runners that print one line per package (Go) or per test (TAP)."""
    go = [line for line in _GO.finditer(text) if not line["none"]]
    if go:
        return Tally(sum(bool(line["ok"]) for line in go), sum(bool(line["fail"]) for line in go))
    tap = list(_TAP.finditer(text))
    if not tap:
        return None
    left_out = sum(bool(line["left"]) for line in tap)
    failed = sum(bool(line["no"] and not line["left"]) for line in tap)
    return Tally(len(tap) - left_out - failed, failed, left_out)
