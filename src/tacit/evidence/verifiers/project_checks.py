"""Checks of a project: the state of a file, a person's verdict, and the postconditions of skills.

A file state that held before the run shows nothing about the run; it is reported as a doubt. A person's verdict may be
made by a person's surface only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from tacit.domain.errors import Mistake, VerifierOutage
from tacit.domain.evidence import Grade
from tacit.domain.ports import Check
from tacit.domain.skill import SkillContent
from tacit.evidence.independence.workspace_baseline import WorkspaceBaseline
from tacit.evidence.replay import checks_of, filled
from tacit.evidence.verifiers.command import Command

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
class FileState:
    """A condition on one file."""

    path: str
    state: State = State.EXISTS
    value: str = ""
    _: KW_ONLY
    cwd: Path | None = None
    baseline: WorkspaceBaseline | None = None
    reservation: str = ""

    @classmethod
    def parse(cls, text: str) -> FileState:
        """Read `PATH`, `PATH exists`, `PATH absent`, `PATH changed`, `PATH contains TEXT` or `PATH sha256 HASH`."""
        found = re.fullmatch(
            r"(?P<path>\S.*?)(?:\s+(?P<state>exists|absent|changed|contains|sha256)(?:\s+(?P<value>.+))?)?\s*",
            text.strip(),
        )
        if found and not found["state"] and re.search(r"\s", found["path"]):
            words = ", ".join(f"PATH {state}{_VALUES.get(state, '')}" for state in State)
            raise Mistake(
                f"{text!r} is no condition on a file",
                code="invalid_file_check",
                hint=f"use one of: {words}; a name with spaces needs one too",
            )
        state = State(found["state"] or "exists") if found else State.EXISTS
        value = (found["value"] or "") if found else ""
        if not found or bool(value) != (state in (State.CONTAINS, State.SHA256)):
            raise Mistake(
                f"{text!r} is no condition on a file",
                code="invalid_file_check",
                hint="such as `dist/app.js exists` or `VERSION contains 2.0`",
            )
        if state is State.SHA256 and not re.fullmatch(r"[0-9a-fA-F]{64}", value):
            raise Mistake(
                f"{value!r} is no SHA-256",
                code="invalid_file_check",
                hint="64 hexadecimal digits, as `sha256sum FILE` prints them",
            )
        return cls(found["path"], state, value)

    def on(self, baseline: WorkspaceBaseline) -> FileState:
        """Return the same check, compared with the workspace as it was when the skill was shown."""
        return self if self.baseline else replace(self, baseline=baseline)

    def verify(self) -> Check:
        """Check the file."""
        folder = (self.cwd or (self.baseline.folder if self.baseline else Path.cwd())).resolve()
        file = folder / self.path
        if not file.resolve().is_relative_to(folder):
            raise VerifierOutage(
                f"{self.path} is outside the workspace", code="outside_workspace", hint="name a file of the workspace"
            )
        data = _read(file)
        holds = self._changed(file, data) if self.state is State.CHANGED else self._is_so(data)
        words = f"{self.path} {self.state} {self.value}".strip()
        doubt = self.reservation or (f"{words}: this held before the run" if holds and self._was_so(file) else "")
        return Check(passed=holds, verifier=f"file: {words}", detail=_detail_of(data), doubt=doubt)

    def _is_so(self, data: bytes | None) -> bool:
        if self.state is State.ABSENT or data is None:
            return self.state is State.ABSENT and data is None
        if self.state is State.CONTAINS:
            return self.value.encode() in data
        return self.state is State.EXISTS or hashlib.sha256(data).hexdigest() == self.value.lower()

    def _changed(self, file: Path, data: bytes | None) -> bool:
        if self.baseline is None:
            raise VerifierOutage(
                "the time of the use is not known",
                code="no_baseline",
                hint="record it for a use, or check something else of the file",
            )
        before = self.baseline.held_before(file)
        return data != before if before is not None or data is None else self.baseline.is_newer(file)

    def _was_so(self, file: Path) -> bool:
        if self.baseline is None or self.state is State.CHANGED:
            return False
        before = self.baseline.held_before(file)
        if before is None and self.state is not State.ABSENT and not self.baseline.is_newer(file):
            return True  # unchanged since, committed or not
        return self._is_so(before)


def _read(file: Path) -> bytes | None:
    """The content; None if there is no file."""
    try:
        if not file.is_file():
            if file.exists():
                raise VerifierOutage(f"{file.name} is no regular file", code="not_a_file", hint="name a file")
            return None
        if file.stat().st_size > _MOST_BYTES:
            raise VerifierOutage(
                f"{file.name} is too large", code="file_too_large", hint=f"at most {_MOST_BYTES} bytes"
            )
        return file.read_bytes()
    except OSError as error:
        raise VerifierOutage(
            f"cannot read {file.name}: {error.strerror}", code="unreadable_file", hint="check its permissions"
        ) from error


def _detail_of(data: bytes | None) -> str:
    return "not there" if data is None else f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person's verdict."""

    passed: bool
    by: str
    note: str = ""

    def verify(self) -> Check:
        """Return the verdict."""
        if not self.by.strip():
            raise VerifierOutage("a person's verdict needs their name", code="name_missing", hint="give by=")
        return Check(passed=self.passed, verifier=f"person: {self.by}", detail=self.note, grade=Grade.HUMAN)


@dataclass(frozen=True, slots=True)
class Postconditions:
    """The checks of the postconditions of one or more skills."""

    contents: Sequence[SkillContent]
    cwd: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    timeout_s: float = 600.0
    baseline: WorkspaceBaseline | None = None

    def on(self, baseline: WorkspaceBaseline) -> Postconditions:
        """Return the same checks, compared with the workspace as it was when the skill was shown."""
        return self if self.baseline else replace(self, baseline=baseline)

    def verify(self) -> Check:
        """Run each check; the first that fails decides."""
        checks = [filled(content, check, self.parameters) for content in self.contents for check in checks_of(content)]
        if not checks:
            raise VerifierOutage("no skill was given", code="not_checkable", hint="name the use of a skill")
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
