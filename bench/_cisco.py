"""The Cisco skill scanner as a safety check, for `bench/scanner.py`: a skill's content → findings.

It is large (658 MB with its dependencies) and takes seconds to open, so it is imported once, at the first skill. Only its
offline analysers are used. The skill is written to a temporary folder, and nothing in it is run. An analyser that fails is
a finding; a scanner that fails as a whole is an outage. Neither counts as "nothing found".
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import Mistake, Outage
from tacit.domain.skill import SkillContent, SkillFile

PACKAGE = "cisco-ai-skill-scanner"
INSTALL = f"pip install {PACKAGE}"
EXCERPT_MAX = 160
SKILL_MD = "SKILL.md"


class CiscoScanner:
    """Cisco's scanner as a `SafetyCheck`; raises `Mistake` with the install command if the package is missing."""

    name = "cisco"

    def __init__(self) -> None:
        """Read the installed version; raises `Mistake` where there is none."""
        try:
            self.version = version(PACKAGE)
        except PackageNotFoundError:
            raise Mistake("the Cisco scanner is not installed", hint=INSTALL) from None
        self._scanner: Any = None

    def examine(self, content: SkillContent) -> Iterable[Finding]:
        """Return what the scanner finds in a copy of the skill; raises `Outage` where it fails."""
        self._scanner = self._scanner or _open()
        with TemporaryDirectory(prefix="tacit-cisco-") as scratch:
            folder = Path(scratch) / "skill"
            above = _write(content, folder)
            try:
                result = self._scanner.scan_skill(folder, lenient=True)
            except (OSError, RuntimeError, ValueError, _errors()) as error:
                raise Outage(f"the Cisco scanner failed: {error}", hint=f"{INSTALL} --upgrade") from error
            locations = _Locations(content, folder, above=above)
            return (*_failed(result.analyzers_failed), *(_finding(each, locations) for each in result.findings))


class _Locations:
    """Maps the scanner's files and lines to fields of a content."""

    def __init__(self, content: SkillContent, folder: Path, *, above: int) -> None:
        self._fields = {file.path: f"files.{number}" for number, file in enumerate(content.files)}
        self._folder = str(folder.resolve())
        self._above = above
        self._body_lines = content.body.count("\n") + 1

    def of(self, path: str | None, line: int | None) -> tuple[str, int]:
        """Return field and line; a finding in SKILL.md outside the body has no line."""
        name = (path or SKILL_MD).removeprefix(self._folder).lstrip("/")
        if name in self._fields:
            return self._fields[name], line or 0
        within = (line or 0) - self._above
        return "body", within if 0 < within <= self._body_lines else 0


def _open() -> Any:
    try:
        policy = import_module("skill_scanner.core.scan_policy").ScanPolicy.default()
        analysers = import_module("skill_scanner.core.analyzer_factory").build_analyzers(policy, use_behavioral=True)
        return import_module("skill_scanner.core.scanner").SkillScanner(analyzers=analysers, policy=policy)
    except (ImportError, AttributeError, TypeError, RuntimeError, ValueError) as error:
        raise Outage(f"the Cisco scanner cannot be opened: {error}", hint=f"{INSTALL} --upgrade") from error


def _errors() -> type[Exception]:
    found: type[Exception] = import_module("skill_scanner.core.exceptions").SkillScannerError
    return found


def _write(content: SkillContent, folder: Path) -> int:
    """Write the skill to a folder, and return the number of lines above its body."""
    head = ["---", f"name: {json.dumps(content.name)}", f"description: {json.dumps(content.description)}"]
    head += [f"license: {json.dumps(content.license)}"] if content.license else []
    head += [f"allowed-tools: {json.dumps(list(content.allowed_tools))}"] if content.allowed_tools else []
    head += [f"compatibility: {json.dumps(content.compatibility)}"] if content.compatibility else []
    head += ["---", ""]
    texts = "\n".join(["\n".join(head), content.body, "", *_apart(content), ""])
    _place(folder, SKILL_MD, texts.encode("utf-8", "replace"))
    for file in content.files:
        _place(folder, file.path, _bytes_of(file))
    return len(head)


def _apart(content: SkillContent) -> Iterator[str]:
    """Return the fields of a content other than the body, as lines of Markdown."""
    for number, step in enumerate(content.steps, 1):
        given = f" `{step.tool} {json.dumps(dict(step.arguments), default=str)}`" if step.tool else ""
        yield f"{number}. {step.text}{given}"
    for condition in (*content.preconditions, *content.postconditions):
        yield f"- {condition.text}" + (f" `{condition.check}`" if condition.check else "")
    yield from (f"- {pitfall.text}" for pitfall in content.pitfalls)
    yield from (f"- {parameter.name}: {parameter.description}" for parameter in content.parameters)


def _place(folder: Path, name: str, data: bytes) -> None:
    """Write one file below the folder; raises `Outage` for a name outside it, since it could not be scanned."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise Outage(f"the Cisco scanner cannot scan the file {name!r}", code="file_not_scannable", hint="rename it")
    target = folder.joinpath(*parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        raise Outage(f"a copy for the Cisco scanner cannot be written: {error}", hint="free some space") from error


def _bytes_of(file: SkillFile) -> bytes:
    if file.encoding != "base64":
        return file.content.encode("utf-8", "replace")
    try:
        return base64.b64decode(file.content, validate=True)
    except binascii.Error:
        return file.content.encode("utf-8", "replace")


def _failed(failures: Iterable[Mapping[str, str]]) -> Iterator[Finding]:
    """Yield a finding for each analyser that failed; an unknown finding type is not a failure."""
    real_failures = [each for each in failures if not each.get("error", "").startswith("FindingContract:")]
    for name in sorted({each.get("analyzer", "unknown") for each in real_failures}):
        message = f"the Cisco scanner's {name} analyser failed on this skill, so it was not scanned completely"
        yield Finding(rule="cisco_analyser_failed", message=message, severity=Severity.MEDIUM)


def _finding(found: Any, locations: _Locations) -> Finding:
    field, line = locations.of(found.file_path, found.line_number)
    severity_found = str(found.severity.value).lower()
    return Finding(
        rule=f"cisco_{str(found.rule_id).lower()}",
        message=str(found.title),
        severity=Severity(severity_found) if severity_found in set(Severity) else Severity.INFO,
        field=field,
        line=line,
        excerpt=_visible(str(found.snippet or ""))[:EXCERPT_MAX],
    )


def _visible(text: str) -> str:
    """Return a text as one line with control and invisible characters escaped."""
    flat = " ".join(text.split())
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in flat)
