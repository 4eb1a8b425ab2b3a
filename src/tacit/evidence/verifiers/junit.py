"""JUnit XML → how many tests ran, and the commit it names. Reads bytes of a stated size and nothing else.

No document type, so no entities of any sort: a report has none, and one that brings them is refused. The file is parsed as a
stream; nothing of it is kept but counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from tacit.domain.errors import VerifierOutage
from tacit.evidence.verifiers.tally import Tally

MOST_BYTES = 32 * 1024 * 1024
_MOST_DEPTH = 64
_COMMIT_NAMES = frozenset("commit commit_sha git.commit git_commit head_sha sha github_sha ci_commit_sha".split())


@dataclass(slots=True)
class Report:
    """What a report says."""

    passed: int = 0
    failed: int = 0
    left_out: int = 0
    commits: list[str] = field(default_factory=list)
    depth: int = 0
    case: str = ""
    """What is known of the test that is being read."""

    @property
    def tally(self) -> Tally:
        """The counts."""
        return Tally(self.passed, self.failed, self.left_out)

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
    """Read a report file; one that is not there, too large or no JUnit is an outage."""
    return parse_junit(read_bytes(file), str(file))


def read_bytes(file: Path) -> bytes:
    """The bytes of a result file, up to a size."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise VerifierOutage(f"cannot read {file}: {error.strerror}", hint="give the path of a result file") from error
    if len(data) > MOST_BYTES:
        raise VerifierOutage(f"{file} is larger than {MOST_BYTES} bytes", hint="give the report of the tests alone")
    return data


def parse_junit(data: bytes, name: str) -> Report:
    """Read the bytes of a report."""
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
            f"{name} is no JUnit report: {error}", hint="give the XML that the test run wrote"
        ) from error
    if not names or names[0].rpartition(":")[2] not in ("testsuite", "testsuites"):
        raise VerifierOutage(f"{name} is no JUnit report", hint="give the XML that the test run wrote")
    return report
