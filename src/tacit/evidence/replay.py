"""Replay: run a skill's commands in the sandbox on a clean copy of a checkout, then its checks.

The checkout is never changed, and the copy contains only what is committed. What cannot be checked here raises
`VerifierOutage` and is no evidence: steps that are no commands, parameters without a value, missing programs, steps
that need the network, checks that ask a service or pass without the steps, and steps that change what checks depend on.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from tacit.domain.errors import Mistake, VerifierOutage
from tacit.domain.ports import Check
from tacit.domain.sandbox import (
    Alteration,
    Ended,
    FileChange,
    Sandbox,
    SandboxFile,
    SandboxLimits,
    SandboxRequest,
    SandboxResult,
)
from tacit.domain.skill import SkillContent, SkillStep
from tacit.evidence.deciding_files import is_of_checks
from tacit.evidence.repository import BaselineCheck
from tacit.text.exit_status import masks_exit, shows_nothing
from tacit.text.service_commands import service_check
from tacit.text.shell import shell_text
from tacit.text.tool_calls import is_shell

NOT_CHECKABLE_HERE = "not checkable here: "
"""How the message of an outage begins where a skill cannot be checked here."""
_SYSTEM = "/usr/bin:/usr/local/bin:/bin"
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_COPY_S = 120.0
_DETAIL_CHARACTERS = 400
"""Seconds for cloning the checkout, and characters of output in a result."""
_NO_NETWORK = re.compile(
    r"could not resolve|temporary failure in name resolution|name or service not known|network is unreachable|"
    r"failed to resolve|getaddrinfo|EAI_AGAIN|ENOTFOUND|no address associated|unable to connect to the server",
    re.IGNORECASE,
)
_ONLY_A_COMMAND = re.compile(r"\s*(?:(?:run|execute|call|start)\b:?\s*)?`([^`\n]+)`\s*\.?\s*", re.IGNORECASE)
_SAFE = re.compile(r"[\w@%+=:,./-]+")
# One shell runs all steps, so that a step may change the folder for the next. The first failure ends it with its status.

_STEPS = 'for step in "$@"; do eval "$step" || exit $?; done'


@dataclass(frozen=True, slots=True)
class Replay(BaselineCheck):
    """Runs a skill's steps on a copy and checks its postconditions."""

    content: SkillContent
    checkout: Path | str
    parameters: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    sandbox: Sandbox | None = None
    """None: the sandbox of this machine; without a sandbox nothing is run."""
    limits: SandboxLimits = SandboxLimits(
        wall_s=300,
        cpu_s=120,
        address_mb=4096,
        memory_mb=2048,
        file_mb=64,
        open_files=1024,
        processes=256,
        workspace_mb=512,
    )

    def verify(self) -> Check:
        """Run the steps and the checks."""
        done = self._replayed()
        return replace(done, doubt=self.baseline.committed()) if self.baseline else done

    def _replayed(self) -> Check:
        from tacit.providers.sandbox import open_sandbox

        content, values = self.content, self.parameters
        steps = [
            filled(content, command_of(step, at), values, where=f"step {at + 1}")
            for at, step in enumerate(content.steps)
            if not step.optional
        ]
        if not steps:
            _not_checkable("no_steps", "the skill has no steps", "only skills whose steps are commands can be replayed")
        checks = [filled(content, check, values) for check in checks_of(content)]
        if asking := next((each for each in (*steps, *checks) if service_check(each)), ""):
            hint = "let Tacit ask it after a real run: tacit record USE --with postconditions"
            _not_checkable("asks_service", f"`{asking}` asks a service, which the sandbox does not reach", hint)
        verifier = "replay: " + "; ".join(checks)
        sandbox = self.sandbox or open_sandbox()
        with tempfile.TemporaryDirectory(prefix="tacit-replay-") as name:
            copy = Path(name) / "checkout"
            _copy(Path(self.checkout), copy)
            if all(self._run(sandbox, copy, (check,)).passed for check in checks):  # shows nothing about the steps
                hint = "give a checkout on which the work is still to be done"
                _not_checkable("checks_pass_before_steps", "its checks pass without its steps", hint)
            done = self._run(sandbox, copy, tuple(steps))
            if not done.passed:
                return _failed(done, verifier)
            changed = [one.path for one in done.changes if not one.path.startswith(".git/")]
            if altered := [path for path in changed if is_of_checks(path)]:
                why = f"the steps change what the checks depend on ({', '.join(altered[:3])})"
                _not_checkable("steps_change_checks", why, "let a person check the outcome")
            for check in checks:
                ran = self._run(sandbox, copy, (check,), after=done.changes)
                if not ran.passed:
                    return _failed(ran, verifier)
        return Check(passed=True, verifier=verifier, detail=f"{len(steps)} steps and {len(checks)} checks passed")

    def _run(
        self, sandbox: Sandbox, copy: Path, commands: tuple[str, ...], *, after: tuple[FileChange, ...] = ()
    ) -> SandboxResult:
        shell = "bash" if shutil.which("bash", path=_SYSTEM) else "sh"
        kept = [change for change in after if change.how is not Alteration.REMOVED]
        request = SandboxRequest(
            command=(shell, "-c", _STEPS, shell, *commands),
            workspace=copy,
            files=tuple(
                SandboxFile(path=one.path, content=one.content, executable=one.executable, form=one.form)
                for one in kept
            ),
            removed=tuple(change.path for change in after if change.how is Alteration.REMOVED),
            limits=self.limits,
        )
        try:
            return sandbox.run(request)
        except Mistake as mistake:
            raise VerifierOutage(
                f"{NOT_CHECKABLE_HERE}{mistake.message}", code="not_checkable", hint=mistake.hint
            ) from mistake


def _failed(ran: SandboxResult, verifier: str) -> Check:
    """A failure, or an outage where the sandbox is the cause."""
    tail = ran.output.strip()[-_DETAIL_CHARACTERS:]
    if ran.ended is not Ended.EXIT or ran.alarms:
        why = "; ".join(ran.alarms) or f"the {ran.ended} was reached"
        code = "sandbox_alarm" if ran.alarms else ran.ended.replace(" ", "_")
        _not_checkable(code, why, "give larger `confines`, or check something smaller")
    if ran.status in (_NOT_EXECUTABLE, _NOT_FOUND):
        hint = "only programs in /usr or in the checkout can be run"
        _not_checkable("program_missing", f"a program is not there ({tail[-200:]})", hint)
    if _NO_NETWORK.search(ran.output):
        _not_checkable(
            "needs_network", "it needs the network, which the sandbox has not", "check it outside the sandbox"
        )
    return Check(passed=False, verifier=verifier, detail=tail or f"exit {ran.status}")


def filled(content: SkillContent, text: str, values: Mapping[str, str], *, where: str = "") -> str:
    """Fill in parameters that the skill declares; other braces of the shell stay as they are."""
    for parameter in content.parameters:
        mark = re.compile(rf"(?<!\$)\{{{re.escape(parameter.name)}\}}")
        if not mark.search(text):
            continue
        value = values.get(parameter.name)
        if value is None:
            why = f"{where or f'the check `{text}`'} needs a value for {{{parameter.name}}}"
            _not_checkable("value_missing", why, f"give parameters={{'{parameter.name}': '…'}}")
        *pieces, last = mark.split(text)
        text = ""
        for piece in pieces:
            text += piece
            text += _quoted(value, before=text)
        text += last
    return text


def command_of(step: SkillStep, at: int) -> str:
    """Return the shell text of a step; an outage where it has none."""
    if is_shell(step.tool):
        command = shell_text(step.arguments)
    else:
        found = None if step.tool else _ONLY_A_COMMAND.fullmatch(step.text)
        command = found[1] if found else ""
    if not command.strip():
        why = f"step {at + 1} is not a command ({step.text[:80]})"
        _not_checkable("step_not_a_command", why, "only skills whose steps are commands can be replayed")
    return command


def checks_of(content: SkillContent) -> list[str]:
    """Return the commands of the postconditions; an outage where there are none, or where passing them shows nothing."""
    checks = [condition.check for condition in content.postconditions if condition.check.strip()]
    if not checks:
        hint = "give the skill a command whose exit status shows the outcome"
        _not_checkable("no_check", "no postcondition has a check", hint)
    for check in checks:
        if masks_exit(check) or shows_nothing(check):
            hint = "give a check that fails where the work is not done"
            _not_checkable("check_proves_nothing", f"the exit status of `{check}` shows nothing", hint)
    return checks


def _copy(checkout: Path, target: Path) -> None:
    """Clone the last commit without a remote. Git runs none of the checkout's hooks and reads none of its settings."""
    git = shutil.which("git", path=_SYSTEM)
    if git is None:
        _not_checkable("git_missing", "git is not installed", "install git")
    clone = [git, "clone", "--quiet", "--depth", "1", "--no-tags", "--", checkout.resolve().as_uri(), str(target)]
    plain = {
        "PATH": _SYSTEM,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "HOME": "/nonexistent",
    }
    for line in (clone, [git, "-C", str(target), "remote", "remove", "origin"]):
        try:
            done = subprocess.run(line, env=plain, capture_output=True, text=True, timeout=_COPY_S, check=False)
        except subprocess.TimeoutExpired:
            _not_checkable("copy_too_slow", "copying the checkout took too long", "give a smaller checkout")
        if done.returncode:
            why = f"there is no clean copy of {checkout} ({' '.join(done.stderr.split())[-200:]})"
            _not_checkable("no_clean_copy", why, "give a git checkout with at least one commit")


def _quoted(value: str, *, before: str) -> str:
    """A value as one shell word; inside quotes only a value that needs no quoting."""
    if _SAFE.fullmatch(value):
        return value
    if before.count("'") % 2 or before.count('"') % 2:
        hint = "give one of letters, digits and ./:@%+=,-_"
        raise Mistake(f"the value {value!r} cannot be put between quotes", code="value_needs_quoting", hint=hint)
    return shlex.quote(value)


def _not_checkable(code: str, why: str, hint: str) -> NoReturn:
    raise VerifierOutage(f"{NOT_CHECKABLE_HERE}{why}", code=code, hint=hint)
