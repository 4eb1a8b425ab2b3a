"""Assessment: did an attempt succeed, and who verified it?

Machine-verified success needs a check (tests, build, linter, a condition that the user named) that ran after the last
change, ended with exit status 0 that nothing could mask, was not rewritten by the agent, and leaves no earlier failure
open. A check that failed last is a verified failure; one that could not run is no evidence. A clear rejection by the user
outweighs a passing check; a clear acceptance does not outweigh a check that still fails. Everything else is unknown. An
outcome in an imported document counts only if the importing person trusts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.evidence.check_strength import checks_in, filled_in, hollow, pointed_outside, reaches_for_the_tests, swaps
from tacit.evidence.user_reply import checks_named_by_user, is_courtesy, only_command, stated_outcome
from tacit.evidence.verifiers.test_results import count_results
from tacit.evidence.workspace_changes import Reach, WorkspaceChange, changes, decides_checks, shell_changes
from tacit.text.exit_status import masks_exit
from tacit.text.shell import BARE, Command, is_check, parse_command
from tacit.text.tool_calls import command_of

_COULD_NOT_RUN = frozenset({124, 126, 127, 130, 137, 143})
"""Exit statuses of a shell: time limit, not executable, not found, interrupted, killed."""
_PYTEST_NOTHING_RAN = frozenset({4, 5})
_NO_PROGRAM = re.compile(
    r"command not found|: not found$|No module named '?(?:pytest|tox|nox|mypy|ruff)\b", re.MULTILINE
)
_NOTHING_RAN = re.compile(
    r"collected 0 items|no tests ran|\bRan 0 tests|\b0 passing|no tests to run|No tests? (?:files )?found|\[no test files\]"
    r"|running 0 tests|Tests: +\d+ skipped, \d+ total",
    re.IGNORECASE,
)
_SOMETHING_RAN = re.compile(
    r"\b[1-9]\d* (?:passed|passing)|\bRan [1-9]|running [1-9]|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))\s*$", re.MULTILINE
)
_SAYS_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures)\b|\bFAILED \((?:failures|errors)=|^FAIL\b", re.MULTILINE
)
_RUNS_ITS_OPERANDS = frozenset(
    "pytest py.test unittest doctest jest vitest mocha ava tap rspec phpunit pest busted node make gmake just task "
    "ninja".split()
)
_TESTING = re.compile(
    r"test|spec|verify|jest|mocha|\bava\b|\btox\b|\bnox\b|karma|cypress|playwright|make (?:check|all|ci)|nose"
)
_NARROWING = frozenset("-k -m -t -g -run --grep --testNamePattern --select --filter --only".split())
_EXCLUDING = frozenset("--deselect --ignore --ignore-glob --exclude --skip --testPathIgnorePatterns".split())

_SETTING = frozenset({"export", "declare", "typeset", "readonly"})
_REPLACING = re.compile(r"\s*(?:alias\s+([\w.-]+)=|function\s+([\w.-]+)|([\w.-]+)\s*\(\)).*", re.DOTALL)
"""An alias or a function, with the name that it replaces."""
_LONGEST_OUTPUT = 20_000
_SCRATCH = ("/tmp/", "/var/tmp/", "/private/tmp/")
_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) ([\w./-]+\.\w+)((?:::\S+)?)", re.MULTILINE)
"""A failed test as pytest names it: its file and its test."""

_Made = Mapping[int, tuple[WorkspaceChange, ...]]
"""Index of a step → its changes; steps without changes are left out."""


@dataclass(frozen=True, slots=True)
class _Check:
    """A step that ran a check, and the first check in its line."""

    step: Step
    text: str
    first: Command
    passed: bool
    astray: str = ""
    """Why it did not check the work, whatever its result; empty if it did."""

    @property
    def label(self) -> str:
        return f"{self.first.program} {self.first.subcommand}".strip()

    @property
    def excluded(self) -> set[str]:
        """What it excludes."""
        words = self.first.words
        named = {word for word in words if word.split("=")[0] in _EXCLUDING}
        return named | {word for flag, word in pairwise(words) if flag == "-k" and "not " in word}

    @property
    def chosen(self) -> set[str]:
        """What it is limited to; empty means everything."""
        flags = {word for word in self.first.words if word.split("=")[0] in _NARROWING | _EXCLUDING}
        return flags | set(self.first.operands)


def assess(trajectory: Trajectory, *, trust_claim: bool = False) -> Assessment:
    """Return the outcome of an attempt, as far as it is shown independently of the agent."""
    claimed = _claimed(trajectory, trusted=trust_claim)
    if claimed and claimed.grade is Grade.MACHINE:
        return claimed
    made = {step.index: found for step in trajectory.actions if (found := changes(step))}
    checks = list(_checks(trajectory, made))
    seen = _seen(checks, made, trajectory)
    stated = _stated_by_user(trajectory, made)
    if stated and (stated.verified_failure and not seen.verified_failure):
        return stated
    if stated and stated.verified_success and not seen.verified_success and not _still_failing(made, checks):
        return stated
    return seen if seen.outcome is not Outcome.UNKNOWN or not claimed else claimed


def _claimed(trajectory: Trajectory, *, trusted: bool) -> Assessment | None:
    claim = trajectory.claim
    if claim is None or claim.result not in set(Outcome) - {Outcome.UNKNOWN}:
        return None
    if trusted and claim.verified_by:
        return Assessment(
            outcome=Outcome(claim.result),
            grade=Grade.MACHINE,
            verifier=claim.verified_by,
            reason=f"the source says {claim.result}, verified by {claim.verified_by}, and the importer trusts it",
        )
    unvouched = "the importer did not vouch for it (`tacit learn --trust-outcomes` does)"
    why = unvouched if claim.verified_by else "it names no verifier"
    return Assessment(
        outcome=Outcome(claim.result), grade=Grade.SELF, reason=f"the source claims {claim.result}; {why}"
    )


def _stated_by_user(trajectory: Trajectory, made: _Made) -> Assessment | None:
    """The user's last clear statement on the result, if the agent did not continue working after it."""
    actions = [step.index for step in trajectory.actions]
    if not actions:
        return None
    after = [step for step in trajectory.steps if step.role is Role.USER and step.index > actions[0] and step.text]
    last = next((step for step in reversed(after) if not is_courtesy(step.text)), None)
    found, text, at = stated_outcome(trajectory.reply), trajectory.reply, None
    if found is Outcome.UNKNOWN and last is not None:
        found, text, at = stated_outcome(last.text), last.text, last.index
    worked = (
        made if found is Outcome.SUCCESS else actions
    )  # what was accepted may be committed; a "no" is answered by work
    if found is Outcome.UNKNOWN or (at is not None and any(index > at for index in worked)):
        return None
    word = "accepted" if found is Outcome.SUCCESS else "rejected"
    reason = f"the person {word} it: {_short(text)}"
    return Assessment(outcome=found, grade=Grade.HUMAN, verifier="reply", reason=reason, step=at)


def _seen(checks: Sequence[_Check], made: _Made, trajectory: Trajectory) -> Assessment:
    """The outcome that the steps themselves show."""
    workspace = trajectory.environment.workspace
    if not checks:
        return Assessment(reason="no test, build or linter was run")
    last = checks[-1]
    command = f"`{_short(last.text)}`"
    if last.step.failed:
        return _failed(last)
    doubt = (
        _changed_later(made, last)
        or last.astray
        or (f"the exit status of {command} proves nothing" if not last.passed else "")
        or _weakened(made, last, workspace)
        or _overrun(made, checks, workspace)
        or _put_aside(made, last)
        or _rigged(trajectory, made, last)
        or _unanswered(made, checks)
    )
    if doubt:
        return Assessment(reason=doubt, step=last.step.index)
    return Assessment(
        outcome=Outcome.SUCCESS,
        grade=Grade.MACHINE,
        verifier=last.text,
        reason=f"{command} passed after the last change",
        step=last.step.index,
    )


def _checks(trajectory: Trajectory, made: _Made) -> Iterator[_Check]:
    named = checks_named_by_user(trajectory)
    places = _places(made, trajectory.environment.workspace)
    for step in trajectory.actions:
        text = command_of(step.tool, step.arguments)
        commands = parse_command(text) if text else ()
        first = next((command for command in commands if is_check(command)), None)
        if first is None and (only := only_command(commands)) and step.index > named.get(only.text, step.index):
            first = only
        if first is not None:
            asked = {line for line, index in named.items() if index < step.index}
            astray = _astray([*checks_in(text)] or [first], places, asked=asked)
            passed = step.result is StepResult.OK and not _proves_nothing(step, text)
            yield _Check(step, text, first, passed=passed, astray=astray)


def _astray(checks: Sequence[Command], places: Sequence[str], *, asked: set[str]) -> str:
    """Why checks did not check the work: replaced programs, unreadable arguments, or another folder."""
    for command in checks:
        if command.text not in asked:
            if found := hollow(command) or next((one for one in command.assignments if swaps(one, places[0])), ""):
                return f"`{_short(found)}` puts something else in the place of what the check runs"
            if found := filled_in(command):
                return f"it is not known what `{_short(found)}` made the check read"
        if there := pointed_outside(command, places, above=True):
            return f"the check ran in {_short(there)} or looked there, and the work was done elsewhere"
    return ""


def _places(made: _Made, workspace: str) -> list[str]:
    """Where the work was done: the workspace, and what was changed outside it; scratch files count only if nothing
    else was."""
    files = [change.file for found in made.values() for change in found if change.file and change.reach is Reach.NAMED]
    outside = [file for file in files if file.startswith("/") and not _is_in(file, workspace)]
    lasting = [file for file in outside if not file.startswith(_SCRATCH)]
    return [workspace, *(lasting if len(outside) < len(files) else outside)]


def _is_in(file: str, workspace: str) -> bool:
    return bool(workspace) and f"{file}/".startswith(f"{workspace.rstrip('/')}/")


def _failed(last: _Check) -> Assessment:
    step = last.step
    if step.result is not StepResult.FAILED:
        return Assessment(reason=f"the last check was {step.result}", step=step.index)
    if _could_not_run(last):
        return Assessment(reason=f"the last check, `{_short(last.text)}`, could not run", step=step.index)
    reason = f"`{_short(last.text)}` was the last check and it failed"
    return Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE, verifier=last.text, reason=reason, step=step.index)


def _could_not_run(check: _Check) -> bool:
    step = check.step
    no_tests = check.first.program == "pytest" and step.exit_code in _PYTEST_NOTHING_RAN
    return step.exit_code in _COULD_NOT_RUN or no_tests or bool(_NO_PROGRAM.search(step.observation[-2000:]))


def _proves_nothing(step: Step, text: str) -> bool:
    """Whether status 0 shows nothing: masked, not waited for, or contradicted by the output."""
    seen = step.observation
    if masks_exit(text) or step.exit_code not in (None, 0) or step.arguments.get("run_in_background"):
        return True
    if _SAYS_FAILED.search(seen) or (_NOTHING_RAN.search(seen) and not _SOMETHING_RAN.search(seen)):
        return True
    counted = count_results(seen[-_LONGEST_OUTPUT:])
    return counted is not None and counted.left_out > 0 and not counted.passed and not counted.failed


def _changed_later(made: _Made, last: _Check) -> str:
    commands = parse_command(last.text)
    at = max((i for i, command in enumerate(commands) if is_check(command)), default=commands.index(last.first))
    while commands[at].connector == "|":  # a reader of its output belongs to the check
        at += 1
    if any(True for command in commands[at + 1 :] for _ in shell_changes(command.text)):
        return f"something was changed after the check in `{_short(last.text)}`"
    later = next((index for index in made if index > last.step.index), None)
    return "" if later is None else f"something was changed after the last check (step {later})"


def _weakened(made: _Made, last: _Check, workspace: str) -> str:
    """Whether the agent changed something that the check depends on or runs."""
    run = {PurePosixPath(last.first.program).name}
    if last.first.program in _RUNS_ITS_OPERANDS:
        given = (*last.first.operands, *(flag.partition("=")[2] for flag in last.first.flags))
        run |= {PurePosixPath(word.split("::")[0]).name for word in given if word}
        run |= {f"{name}.py" for name in run}
    for file in dict.fromkeys(change.file for found in made.values() for change in found if change.file):
        if decides_checks(file, workspace) or PurePosixPath(file).name in run:
            return f"the agent changed `{file}`, which decides what the check means"
    return ""


def _overrun(made: _Made, checks: Sequence[_Check], workspace: str) -> str:
    """Whether something was unpacked, applied or added that may have changed the check."""
    failures = [one.step.index for one in checks if one.step.result is StepResult.FAILED and not _could_not_run(one)]
    for index, found in made.items():
        for change in found:
            late = any(failure < index for failure in failures)
            away = change.file.startswith("/") and bool(workspace) and not _is_in(change.file, workspace)
            spread = change.reach is Reach.ANYTHING or (change.reach is not Reach.NAMED and late)
            if spread and not away:
                return f"step {index} may have changed what the check depends on"
    return ""


def _rigged(trajectory: Trajectory, made: _Made, last: _Check) -> str:
    """Whether shell settings replace or weaken checks, or a program was made to manipulate the test runner."""
    for step in trajectory.actions:
        text = command_of(step.tool, step.arguments)
        if step.index >= last.step.index or step.result is StepResult.DENIED:
            continue
        for command in parse_command(text, bare=True) if text else ():
            given = command.operands if command.program in _SETTING else ()
            given = command.assignments if command.program == BARE else given
            taken = _REPLACING.match(command.text)
            replaces = taken is not None and is_check(f"{taken[1] or taken[2] or taken[3]} test")
            if replaces or any(swaps(setting, trajectory.environment.workspace) for setting in given):
                return f"`{_short(command.text)}` changes what later checks mean"
        if step.index in made and _reaches(step, text):
            return f"the agent made a program reach for what runs the tests (step {step.index})"
    return ""


def _reaches(step: Step, text: str) -> bool:
    if text and "<<" not in text:
        return False
    before, written = step.arguments.get("old_string"), text or " ".join(map(str, step.arguments.values()))
    return bool(reaches_for_the_tests(written) - reaches_for_the_tests(before if isinstance(before, str) else ""))


def _put_aside(made: _Made, last: _Check) -> str:
    """Whether the work was set aside, so that the check ran on something else."""
    working = aside = False
    before = [change for index, found in made.items() if index < last.step.index for change in found]
    for change in (*before, *shell_changes(last.text)):
        aside = change.sets_aside and (working or aside)
        working = working or not change.sets_aside
    return "the work was put aside before the last check" if aside else ""


def _unanswered(made: _Made, checks: Sequence[_Check]) -> str:
    """An earlier failed check that no later one repeats."""
    for failed in checks:
        if failed.step.result is StepResult.FAILED and not any(
            _answers(later, failed, made) for later in checks if later.step.index > failed.step.index
        ):
            return f"`{_short(failed.text)}` failed, and no later check shows that it is fixed"
    return ""


def _still_failing(made: _Made, checks: Sequence[_Check]) -> bool:
    """Whether a check fails in the present state: nothing changed since, and no later check repeats it."""
    failed = (check for check in checks if check.step.result is StepResult.FAILED and not _could_not_run(check))
    return any(
        not any(index > check.step.index for index in made)
        and not any(_answers(later, check, made) for later in checks if later.step.index > check.step.index)
        for check in failed
    )


def _answers(later: _Check, failed: _Check, made: _Made) -> bool:
    """Whether a later check repeats a failed one: the same check or tests, not fewer, unless something was changed."""
    if not later.passed or later.astray or later.excluded - failed.excluded:
        return False
    if not _covers(later, failed):
        return False
    if later.label != failed.label:
        return bool(_TESTING.search(later.label))
    changed = any(failed.step.index < index < later.step.index for index in made)
    return changed or not later.chosen - failed.chosen


def _covers(later: _Check, failed: _Check) -> bool:
    """Whether a later check includes every test that is known to have failed."""
    if later.first.program not in ("pytest", "py.test"):
        return True
    given = [word.removeprefix("./").rstrip("/") for word in later.first.operands]
    paths = [word for word in given if "/" in word or "::" in word or PurePosixPath(word).suffix]
    wanted = [word for flag, word in pairwise(later.first.words) if flag == "-k" and re.fullmatch(r"\w+", word)]
    for file, test in _FAILED_TEST.findall(failed.step.observation[-_LONGEST_OUTPUT:]):
        looked = any(
            f"{file}{test}/".startswith((f"{path}/", f"{path}::")) or path.endswith(f"/{file}") for path in paths
        )
        if (paths and not looked) or any(word not in f"{file}{test}" for word in wanted):
            return False
    return True


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 80 else line[:77] + "..."
