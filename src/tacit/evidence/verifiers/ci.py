"""`CIResult`: the result file of a continuous integration run (JUnit XML, or JSON with a conclusion) → passed or failed.

It must be newer than the use, name the commit that is checked out where it names one, and show that something ran. Whoever can
write the file can write what it says: one that lies in the workspace is in doubt, and a surface that does not know who brought
it says so too. It reads the file and fetches nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from tacit.config.checkout import checked_out
from tacit.domain.errors import VerifierOutage
from tacit.domain.verification import Check
from tacit.evidence.independence.ground import Ground
from tacit.evidence.verifiers.junit import parse_junit, read_bytes
from tacit.evidence.verifiers.tally import Tally

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
    """A result file."""

    path: Path
    cwd: Path | None = None
    _: KW_ONLY
    ground: Ground | None = None
    reservation: str = ""

    def on(self, ground: Ground) -> CIResult:
        """The same file, held against what was there when the skill was given."""
        return self if self.ground else replace(self, ground=ground)

    def verify(self) -> Check:
        """Read it."""
        folder = (self.cwd or (self.ground.folder if self.ground else Path.cwd())).resolve()
        file = (folder / self.path).resolve()
        data = read_bytes(file)
        if self.ground and not self.ground.is_newer(file):
            _no_evidence(f"{self.path.name} is older than the use of the skill", "give the result of a run after it")
        counted, commits = _junit(data, file) if data.lstrip().startswith(b"<") else _json(data, file)
        here = checked_out(folder)
        for commit in filter(None, commits):
            if not re.fullmatch(r"[0-9a-f]{7,64}", commit) or not here.startswith(commit):
                _no_evidence(
                    f"{self.path.name} is of another commit ({commit[:12]})", f"checked out is {here[:12] or 'none'}"
                )
        if not counted.passed and not counted.failed:
            _no_evidence(
                f"{self.path.name} shows no test that ran ({counted})", "give the result of a run that tested something"
            )
        inside = f"{self.path.name} lies in the workspace, where the run itself could write it"
        doubt = self.reservation or (inside if file.is_relative_to(folder) else "")
        return Check(passed=not counted.failed, verifier=f"ci: {file.name}", detail=str(counted), doubt=doubt)


def _junit(data: bytes, file: Path) -> tuple[Tally, list[str]]:
    report = parse_junit(data, str(file))
    return report.tally, report.commits


def _json(data: bytes, file: Path) -> tuple[Tally, list[str]]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        _no_evidence(f"{file} is neither JUnit XML nor JSON", "give the result file of a CI run")
    found = list(_verdicts(document))
    if not found:
        _no_evidence(f"{file} states no conclusion", 'such as {"conclusion": "success", "head_sha": …, "tests": 12}')
    return _sum([each for each, _ in found]), [commit for _, commit in found if commit]


def _verdicts(document: Any) -> Iterator[tuple[Tally, str]]:
    """Each run that a document tells of, counted, with its commit."""
    if isinstance(document, list):
        for item in document[:10_000]:
            yield from _verdicts(item)
    elif isinstance(document, Mapping):
        runs = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
        commit = next((str(document[name]) for name in _COMMIT if isinstance(document.get(name), str)), "")
        if runs is not None:
            yield from ((counted, own or commit) for counted, own in _verdicts(runs))
        elif counted := _counted(document):
            yield counted, commit


def _counted(document: Mapping[str, Any]) -> Tally | None:
    """One run: by its tests where it counts them, else by its conclusion."""
    if document.get("status") in _UNFINISHED or document.get("conclusion") == "cancelled":
        _no_evidence("a run that it tells of has not ended", "wait for it, and give the result then")
    said = next((str(document[name]).casefold() for name in _VERDICT if isinstance(document.get(name), str)), "")
    summary = document.get("summary") if isinstance(document.get("summary"), Mapping) else document
    assert isinstance(summary, Mapping)
    counts = {name: sum(_number(summary.get(key)) for key in keys) for name, keys in _COUNTS.items()}
    total = max(_number(summary.get(key)) for key in ("tests", "total", "numTotalTests"))
    if total and not counts["passed"]:
        counts["passed"] = max(total - counts["failed"] - counts["left_out"], 0) if said in _GOOD else 0
    tests = Tally(**counts)
    if any(key in summary for key in ("tests", "total", "numTotalTests")) or tests != Tally():
        return replace(tests, failed=tests.failed or 1) if said in _BAD else tests
    if said in _GOOD | _BAD | _LEFT_OUT:
        return Tally(said in _GOOD, said in _BAD, said in _LEFT_OUT)
    return None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _sum(found: list[Tally]) -> Tally:
    return Tally(sum(t.passed for t in found), sum(t.failed for t in found), sum(t.left_out for t in found))


def _no_evidence(why: str, hint: str) -> NoReturn:
    raise VerifierOutage(why, hint=hint)
