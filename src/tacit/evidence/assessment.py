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
from enum import StrEnum
from itertools import pairwise
from pathlib import PurePosixPath

from tacit.domain.coded_reason import CodedReason, coded
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


class AssessmentCode(StrEnum):
    """Why an assessment is as it is. The stored reason is its sentence in `_SENTENCES`."""

    PASSED = "passed"
    CHECK_FAILED = "check_failed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CLAIM_TRUSTED = "claim_trusted"
    CLAIM_NOT_VOUCHED = "claim_not_vouched"
    CLAIM_WITHOUT_VERIFIER = "claim_without_verifier"

    # The outcome is unknown.
    NO_CHECK = "no_check"
    CHECK_STOPPED = "check_stopped"
    CHECK_COULD_NOT_RUN = "check_could_not_run"
    CHANGED_AFTER_CHECK = "changed_after_check"
    CHANGED_IN_CHECK_LINE = "changed_in_check_line"
    CHECK_REPLACED = "check_replaced"
    CHECK_ARGUMENTS_UNKNOWN = "check_arguments_unknown"
    CHECK_ELSEWHERE = "check_elsewhere"
    EXIT_STATUS_PROVES_NOTHING = "exit_status_proves_nothing"
    CHECK_WEAKENED = "check_weakened"
    CHECK_MAYBE_CHANGED = "check_maybe_changed"
    WORK_SET_ASIDE = "work_set_aside"
    LATER_CHECKS_CHANGED = "later_checks_changed"
    TEST_RUNNER_REACHED = "test_runner_reached"
    FAILURE_UNANSWERED = "failure_unanswered"


_SENTENCES = {
    AssessmentCode.PASSED: "`{command}` passed after the last change",
    AssessmentCode.CHECK_FAILED: "`{command}` was the last check and it failed",
    AssessmentCode.ACCEPTED: "the person accepted it: {reply}",
    AssessmentCode.REJECTED: "the person rejected it: {reply}",
    AssessmentCode.CLAIM_TRUSTED: "the source says {result}, verified by {verifier}, and the importer trusts it",
    AssessmentCode.CLAIM_NOT_VOUCHED: (
        "the source claims {result}; the importer did not vouch for it (`tacit learn --trust-outcomes` does)"
    ),
    AssessmentCode.CLAIM_WITHOUT_VERIFIER: "the source claims {result}; it names no verifier",
    AssessmentCode.NO_CHECK: "no test, build or linter was run",
    AssessmentCode.CHECK_STOPPED: "the last check was {result}",
    AssessmentCode.CHECK_COULD_NOT_RUN: "the last check, `{command}`, could not run",
    AssessmentCode.CHANGED_AFTER_CHECK: "something was changed after the last check (step {step})",
    AssessmentCode.CHANGED_IN_CHECK_LINE: "something was changed after the check in `{command}`",
    AssessmentCode.CHECK_REPLACED: "`{setting}` puts something else in the place of what the check runs",
    AssessmentCode.CHECK_ARGUMENTS_UNKNOWN: "it is not known what `{words}` made the check read",
    AssessmentCode.CHECK_ELSEWHERE: "the check ran in {place} or looked there, and the work was done elsewhere",
    AssessmentCode.EXIT_STATUS_PROVES_NOTHING: "the exit status of `{command}` proves nothing",
    AssessmentCode.CHECK_WEAKENED: "the agent changed `{file}`, which decides what the check means",
    AssessmentCode.CHECK_MAYBE_CHANGED: "step {step} may have changed what the check depends on",
    AssessmentCode.WORK_SET_ASIDE: "the work was put aside before the last check",
    AssessmentCode.LATER_CHECKS_CHANGED: "`{command}` changes what later checks mean",
    AssessmentCode.TEST_RUNNER_REACHED: "the agent made a program reach for what runs the tests (step {step})",
    AssessmentCode.FAILURE_UNANSWERED: "`{command}` failed, and no later check shows that it is fixed",
}


@dataclass(frozen=True, slots=True)
class ExplainedAssessment:
    """An assessment with the code and the values behind its stored sentence."""

    assessment: Assessment
    reason: CodedReason


@dataclass(frozen=True, slots=True)
class _Check:
    """A step that ran a check, and the first check in its line."""

    step: Step
    text: str
    first: Command
    passed: bool
    astray: CodedReason | None = None
    """Why it did not check the work, whatever its result; None if it did."""

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
    return explain_assessment(trajectory, trust_claim=trust_claim).assessment


def explain_assessment(trajectory: Trajectory, *, trust_claim: bool = False) -> ExplainedAssessment:
    """Assess an attempt like `assess`, and return the code of the reason too."""
    claimed = _claimed(trajectory, trusted=trust_claim)
    if claimed and claimed.assessment.grade is Grade.MACHINE:
        return claimed
    made = {step.index: found for step in trajectory.actions if (found := changes(step))}
    checks = list(_checks(trajectory, made))
    seen = _seen(checks, made, trajectory)
    shown = seen.assessment
    stated = _stated_by_user(trajectory, made)
    if stated and (stated.assessment.verified_failure and not shown.verified_failure):
        return stated
    accepted = stated is not None and stated.assessment.verified_success
    if stated and accepted and not shown.verified_success and not _still_failing(made, checks):
        return stated
    return seen if shown.outcome is not Outcome.UNKNOWN or not claimed else claimed


def _explained(
    reason: CodedReason,
    outcome: Outcome = Outcome.UNKNOWN,
    grade: Grade = Grade.SELF,
    *,
    verifier: str = "",
    step: int | None = None,
) -> ExplainedAssessment:
    sentence = _SENTENCES[AssessmentCode(reason.code)].format(**reason.values)
    found = Assessment(outcome=outcome, grade=grade, verifier=verifier, reason=sentence, step=step)
    return ExplainedAssessment(found, reason)


def _claimed(trajectory: Trajectory, *, trusted: bool) -> ExplainedAssessment | None:
    claim = trajectory.claim
    if claim is None or claim.result not in set(Outcome) - {Outcome.UNKNOWN}:
        return None
    outcome, values = Outcome(claim.result), {"result": claim.result, "verifier": claim.verified_by}
    if trusted and claim.verified_by:
        reason = coded(AssessmentCode.CLAIM_TRUSTED, **values)
        return _explained(reason, outcome, Grade.MACHINE, verifier=claim.verified_by)
    code = AssessmentCode.CLAIM_NOT_VOUCHED if claim.verified_by else AssessmentCode.CLAIM_WITHOUT_VERIFIER
    return _explained(coded(code, **values), outcome, Grade.SELF)


def _stated_by_user(trajectory: Trajectory, made: _Made) -> ExplainedAssessment | None:
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
    code = AssessmentCode.ACCEPTED if found is Outcome.SUCCESS else AssessmentCode.REJECTED
    return _explained(coded(code, reply=_short(text)), found, Grade.HUMAN, verifier="reply", step=at)


def _seen(checks: Sequence[_Check], made: _Made, trajectory: Trajectory) -> ExplainedAssessment:
    """The outcome that the steps themselves show."""
    workspace = trajectory.environment.workspace
    if not checks:
        return _explained(coded(AssessmentCode.NO_CHECK))
    last = checks[-1]
    command = _short(last.text)
    if last.step.failed:
        return _failed(last)
    doubt = (
        _changed_later(made, last)
        or last.astray
        or (coded(AssessmentCode.EXIT_STATUS_PROVES_NOTHING, command=command) if not last.passed else None)
        or _weakened(made, last, workspace)
        or _overrun(made, checks, workspace)
        or _put_aside(made, last)
        or _rigged(trajectory, made, last)
        or _unanswered(made, checks)
    )
    if doubt:
        return _explained(doubt, step=last.step.index)
    reason = coded(AssessmentCode.PASSED, command=command)
    return _explained(reason, Outcome.SUCCESS, Grade.MACHINE, verifier=last.text, step=last.step.index)


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


def _astray(checks: Sequence[Command], places: Sequence[str], *, asked: set[str]) -> CodedReason | None:
    """Why checks did not check the work: replaced programs, unreadable arguments, or another folder."""
    for command in checks:
        if command.text not in asked:
            if found := hollow(command) or next((one for one in command.assignments if swaps(one, places[0])), ""):
                return coded(AssessmentCode.CHECK_REPLACED, setting=_short(found))
            if found := filled_in(command):
                return coded(AssessmentCode.CHECK_ARGUMENTS_UNKNOWN, words=_short(found))
        if there := pointed_outside(command, places, above=True):
            return coded(AssessmentCode.CHECK_ELSEWHERE, place=_short(there))
    return None


def _places(made: _Made, workspace: str) -> list[str]:
    """Where the work was done: the workspace, and what was changed outside it; scratch files count only if nothing
    else was."""
    files = [change.file for found in made.values() for change in found if change.file and change.reach is Reach.NAMED]
    outside = [file for file in files if file.startswith("/") and not _is_in(file, workspace)]
    lasting = [file for file in outside if not file.startswith(_SCRATCH)]
    return [workspace, *(lasting if len(outside) < len(files) else outside)]


def _is_in(file: str, workspace: str) -> bool:
    return bool(workspace) and f"{file}/".startswith(f"{workspace.rstrip('/')}/")


def _failed(last: _Check) -> ExplainedAssessment:
    step, command = last.step, _short(last.text)
    if step.result is not StepResult.FAILED:
        return _explained(coded(AssessmentCode.CHECK_STOPPED, result=str(step.result)), step=step.index)
    if _could_not_run(last):
        return _explained(coded(AssessmentCode.CHECK_COULD_NOT_RUN, command=command), step=step.index)
    reason = coded(AssessmentCode.CHECK_FAILED, command=command)
    return _explained(reason, Outcome.FAILURE, Grade.MACHINE, verifier=last.text, step=step.index)


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


def _changed_later(made: _Made, last: _Check) -> CodedReason | None:
    commands = parse_command(last.text)
    at = max((i for i, command in enumerate(commands) if is_check(command)), default=commands.index(last.first))
    while commands[at].connector == "|":  # a reader of its output belongs to the check
        at += 1
    if any(True for command in commands[at + 1 :] for _ in shell_changes(command.text)):
        return coded(AssessmentCode.CHANGED_IN_CHECK_LINE, command=_short(last.text))
    later = next((index for index in made if index > last.step.index), None)
    return None if later is None else coded(AssessmentCode.CHANGED_AFTER_CHECK, step=later)


def _weakened(made: _Made, last: _Check, workspace: str) -> CodedReason | None:
    """Whether the agent changed something that the check depends on or runs."""
    run = {PurePosixPath(last.first.program).name}
    if last.first.program in _RUNS_ITS_OPERANDS:
        given = (*last.first.operands, *(flag.partition("=")[2] for flag in last.first.flags))
        run |= {PurePosixPath(word.split("::")[0]).name for word in given if word}
        run |= {f"{name}.py" for name in run}
    for file in dict.fromkeys(change.file for found in made.values() for change in found if change.file):
        if decides_checks(file, workspace) or PurePosixPath(file).name in run:
            return coded(AssessmentCode.CHECK_WEAKENED, file=file)
    return None


def _overrun(made: _Made, checks: Sequence[_Check], workspace: str) -> CodedReason | None:
    """Whether something was unpacked, applied or added that may have changed the check."""
    failures = [one.step.index for one in checks if one.step.result is StepResult.FAILED and not _could_not_run(one)]
    for index, found in made.items():
        for change in found:
            late = any(failure < index for failure in failures)
            away = change.file.startswith("/") and bool(workspace) and not _is_in(change.file, workspace)
            spread = change.reach is Reach.ANYTHING or (change.reach is not Reach.NAMED and late)
            if spread and not away:
                return coded(AssessmentCode.CHECK_MAYBE_CHANGED, step=index)
    return None


def _rigged(trajectory: Trajectory, made: _Made, last: _Check) -> CodedReason | None:
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
                return coded(AssessmentCode.LATER_CHECKS_CHANGED, command=_short(command.text))
        if step.index in made and _reaches(step, text):
            return coded(AssessmentCode.TEST_RUNNER_REACHED, step=step.index)
    return None


def _reaches(step: Step, text: str) -> bool:
    if text and "<<" not in text:
        return False
    before, written = step.arguments.get("old_string"), text or " ".join(map(str, step.arguments.values()))
    return bool(reaches_for_the_tests(written) - reaches_for_the_tests(before if isinstance(before, str) else ""))


def _put_aside(made: _Made, last: _Check) -> CodedReason | None:
    """Whether the work was set aside, so that the check ran on something else."""
    working = aside = False
    before = [change for index, found in made.items() if index < last.step.index for change in found]
    for change in (*before, *shell_changes(last.text)):
        aside = change.sets_aside and (working or aside)
        working = working or not change.sets_aside
    return coded(AssessmentCode.WORK_SET_ASIDE) if aside else None


def _unanswered(made: _Made, checks: Sequence[_Check]) -> CodedReason | None:
    """An earlier failed check that no later one repeats."""
    for failed in checks:
        if failed.step.result is StepResult.FAILED and not any(
            _answers(later, failed, made) for later in checks if later.step.index > failed.step.index
        ):
            return coded(AssessmentCode.FAILURE_UNANSWERED, command=_short(failed.text))
    return None


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
