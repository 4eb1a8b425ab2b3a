"""Replay: a skill's commands, run in the sandbox on a clean copy of a checkout, then its checks → passed or failed.

The checkout is never touched, and the copy holds only what is committed: no secrets that lie about untracked. What cannot be
told here raises `VerifierOutage`, and is no evidence: steps that are not commands, parameters without a value, programs that
are not there, a step that needs the network, checks that pass without the steps, and steps that change what the checks rest on.
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
from tacit.domain.sandbox import Alteration, BoxFile, Change, Confines, Ended, Errand, Ran, Sandbox
from tacit.domain.skill import SkillContent, SkillStep
from tacit.domain.verification import Check
from tacit.evidence.check_strength import shows_nothing
from tacit.evidence.independence.workspace_baseline import WorkspaceBaseline
from tacit.evidence.workspace_changes import decides_checks
from tacit.text.exit_status import masks_exit
from tacit.text.shell import shell_text
from tacit.text.tool_calls import is_shell

_SYSTEM = "/usr/bin:/usr/local/bin:/bin"
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_COPY_S = 120.0
_DETAIL_CHARACTERS = 400
_NO_NETWORK = re.compile(
    r"could not resolve|temporary failure in name resolution|name or service not known|network is unreachable|"
    r"failed to resolve|getaddrinfo|EAI_AGAIN|ENOTFOUND|no address associated|unable to connect to the server",
    re.IGNORECASE,
)
_ONLY_A_COMMAND = re.compile(r"\s*(?:(?:run|execute|call|start)\b:?\s*)?`([^`\n]+)`\s*\.?\s*", re.IGNORECASE)
_SAFE = re.compile(r"[\w@%+=:,./-]+")
# One shell for all steps, so that a step may change the folder for the next. The first that fails ends it with its status.
_STEPS = 'for step in "$@"; do eval "$step" || exit $?; done'


@dataclass(frozen=True, slots=True)
class Replay:
    """Does what a skill says, on a copy, and looks whether its postconditions hold."""

    content: SkillContent
    checkout: Path | str
    parameters: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    sandbox: Sandbox | None = None
    """None: that of this machine; without one nothing is run."""
    confines: Confines = Confines(
        wall_s=300,
        cpu_s=120,
        address_mb=4096,
        memory_mb=2048,
        file_mb=64,
        open_files=1024,
        processes=256,
        workspace_mb=512,
    )
    must_change: bool = True
    """Whether a check must fail before the steps: one that passes anyway says nothing about them."""
    baseline: WorkspaceBaseline | None = None
    """What the checkout is held against; not given: nobody looks whether the run committed changes of the checks."""

    def on(self, baseline: WorkspaceBaseline) -> Replay:
        """The same replay, held against what was there when the skill was given."""
        return self if self.baseline else replace(self, baseline=baseline)

    def verify(self) -> Check:
        """Run the steps and the checks."""
        done = self._replayed()
        return replace(done, doubt=self.baseline.committed()) if self.baseline else done

    def _replayed(self) -> Check:
        content, values = self.content, self.parameters
        steps = [filled(content, command_of(step, at), values, where=f"step {at + 1}") for at, step in _asked(content)]
        checks = [filled(content, check, values) for check in checks_of(content)]
        sandbox = self.sandbox or _sandbox_of_this_machine()
        with tempfile.TemporaryDirectory(prefix="tacit-replay-") as name:
            copy = Path(name) / "checkout"
            _copy(Path(self.checkout), copy)
            if self.must_change and all(self._run(sandbox, copy, (check,)).passed for check in checks):
                _not_here("its checks pass without its steps", "give a checkout on which the work is still to be done")
            done = self._run(sandbox, copy, tuple(steps))
            if not done.passed:
                return self._failed(done, checks)
            _refuse_altered(done.changes)
            for check in checks:
                ran = self._run(sandbox, copy, (check,), after=done.changes)
                if not ran.passed:
                    return self._failed(ran, checks)
        return Check(passed=True, verifier=_named(checks), detail=f"{len(steps)} steps and {len(checks)} checks passed")

    def _run(self, sandbox: Sandbox, copy: Path, commands: tuple[str, ...], *, after: tuple[Change, ...] = ()) -> Ran:
        shell = "bash" if shutil.which("bash", path=_SYSTEM) else "sh"
        kept = [change for change in after if change.how is not Alteration.REMOVED]
        errand = Errand(
            command=(shell, "-c", _STEPS, shell, *commands),
            workspace=copy,
            files=tuple(
                BoxFile(path=one.path, content=one.content, executable=one.executable, form=one.form) for one in kept
            ),
            removed=tuple(change.path for change in after if change.how is Alteration.REMOVED),
            confines=self.confines,
        )
        try:
            return sandbox.run(errand)
        except Mistake as mistake:
            raise VerifierOutage(f"not checkable here: {mistake.message}", hint=mistake.hint) from mistake

    def _failed(self, ran: Ran, checks: list[str]) -> Check:
        """A failure, or an outage where it is the sandbox that stood in the way."""
        tail = ran.output.strip()[-_DETAIL_CHARACTERS:]
        if ran.ended is not Ended.EXIT or ran.alarms:
            why = "; ".join(ran.alarms) or f"the {ran.ended} was reached"
            _not_here(why, "give larger `confines`, or check something smaller")
        if ran.status in (_NOT_EXECUTABLE, _NOT_FOUND):
            _not_here(f"a program is not there ({tail[-200:]})", "only what lies in /usr or in the checkout can be run")
        if _NO_NETWORK.search(ran.output):
            _not_here("it needs the network, which the sandbox has not", "check it where a network is to be had")
        return Check(passed=False, verifier=_named(checks), detail=tail or f"exit {ran.status}")


def filled(content: SkillContent, text: str, values: Mapping[str, str], *, where: str = "") -> str:
    """Put values for parameters; a parameter is what the skill declares, so that braces of a shell stay what they are."""
    for parameter in content.parameters:
        mark = re.compile(rf"(?<!\$)\{{{re.escape(parameter.name)}\}}")
        if not mark.search(text):
            continue
        value = values.get(parameter.name)
        if value is None:
            asked = where or f"the check `{text}`"
            _not_here(f"{asked} needs a value for {{{parameter.name}}}", f"give parameters={{'{parameter.name}': '…'}}")
        *pieces, last = mark.split(text)
        text = ""
        for piece in pieces:
            text += piece
            text += _quoted(value, before=text)
        text += last
    return text


def command_of(step: SkillStep, at: int) -> str:
    """The shell text of a step; an outage where it has none."""
    if is_shell(step.tool):
        command = shell_text(step.arguments)
    else:
        found = None if step.tool else _ONLY_A_COMMAND.fullmatch(step.text)
        command = found[1] if found else ""
    if not command.strip():
        _not_here(
            f"step {at + 1} is no command ({step.text[:80]})", "only skills whose steps are commands can be replayed"
        )
    return command


def checks_of(content: SkillContent) -> list[str]:
    """The commands of the postconditions; an outage where there are none, or where passing them would show nothing."""
    checks = [condition.check for condition in content.postconditions if condition.check.strip()]
    if not checks:
        _not_here("no postcondition has a check", "give the skill a command whose exit status shows the outcome")
    for check in checks:
        if masks_exit(check) or shows_nothing(check):
            _not_here(
                f"the exit status of `{check}` shows nothing", "give a check that fails where the work is not done"
            )
    return checks


def _asked(content: SkillContent) -> list[tuple[int, SkillStep]]:
    steps = [(at, step) for at, step in enumerate(content.steps) if not step.optional]
    if not steps:
        _not_here("the skill has no steps", "only skills whose steps are commands can be replayed")
    return steps


def _refuse_altered(changes: tuple[Change, ...]) -> None:
    altered = [one.path for one in changes if not one.path.startswith(".git/") and decides_checks(one.path, "")]
    if altered:
        shown = ", ".join(altered[:3])
        _not_here(f"the steps change what the checks rest on ({shown})", "have a person look at the outcome")


def _copy(checkout: Path, target: Path) -> None:
    """A clone of the last commit, without a remote. Git runs none of the checkout's hooks or settings for that."""
    git = shutil.which("git", path=_SYSTEM)
    if git is None:
        _not_here("git is not installed", "install git")
    line = [git, "clone", "--quiet", "--depth", "1", "--no-tags", "--", checkout.resolve().as_uri(), str(target)]
    plain = {
        "PATH": _SYSTEM,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "HOME": "/nonexistent",
    }
    try:
        done = subprocess.run(line, env=plain, capture_output=True, text=True, timeout=_COPY_S, check=False)
        if done.returncode == 0:
            line = [git, "-C", str(target), "remote", "remove", "origin"]
            done = subprocess.run(line, env=plain, capture_output=True, text=True, timeout=_COPY_S, check=False)
    except subprocess.TimeoutExpired:
        _not_here("copying the checkout took too long", "give a smaller checkout")
    if done.returncode:
        why = " ".join(done.stderr.split())[-200:]
        _not_here(f"there is no clean copy of {checkout} ({why})", "give a git checkout with at least one commit")


def _quoted(value: str, *, before: str) -> str:
    """A value as one word of a shell; inside quotes only what needs none."""
    if _SAFE.fullmatch(value):
        return value
    if before.count("'") % 2 or before.count('"') % 2:
        raise Mistake(
            f"the value {value!r} cannot stand between quotes", hint="give one of letters, digits and ./:@%+=,-_"
        )
    return shlex.quote(value)


def _named(checks: list[str]) -> str:
    return "replay: " + "; ".join(checks)


def _not_here(why: str, hint: str) -> NoReturn:
    raise VerifierOutage(f"not checkable here: {why}", hint=hint)


def _sandbox_of_this_machine() -> Sandbox:
    from tacit.providers.sandbox import open_sandbox

    return open_sandbox()
