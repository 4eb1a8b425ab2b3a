"""Assessment: did an attempt succeed, and who verified it?

Machine-verified success needs a check (tests, build, linter, a condition that the user named) that ran after the last
change, ended with exit status 0 that nothing could mask, was not rewritten by the agent, and leaves no earlier failure
open. Writing tests is part of the work: then a check must pass that does not rest on them (types, a build, a linter, or
tests of files that the agent did not touch). A check that failed last is a verified failure; one that could not run is no
evidence. A clear rejection by the user outweighs a passing check; a clear acceptance does not outweigh a check that still
fails. Everything else is unknown. An outcome in an imported document counts only if the importing person trusts it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Self

from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.evidence.check_strength import checks_in, filled_in, hollow, pointed_outside, reaches_for_the_tests, swaps
from tacit.evidence.verifiers.test_results import count_results
from tacit.evidence.workspace_changes import (
    Reach,
    WorkspaceChange,
    changes,
    decides_checks,
    shell_changes,
    tests_written,
)
from tacit.text.exit_status import masks_exit
from tacit.text.shell import BARE, Command, is_check, parse_command
from tacit.text.tool_calls import command_of

_HEAD = 400  # what comes later is about something else


def stated_outcome(text: str) -> Outcome:
    """Return the outcome that a message states for the work before it; unknown where it is not clear."""
    message = text[:_HEAD].strip().casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if _MOCKING.search(message):
        return Outcome.UNKNOWN
    found = Outcome.UNKNOWN
    for clause, asks in _message_clauses(message):
        if _MANNERS.fullmatch(clause):
            continue
        if found is Outcome.SUCCESS and _WISHING.match(clause):
            break
        if asks or _SUPPOSING.search(clause):
            return Outcome.UNKNOWN
        if found is not Outcome.SUCCESS and _REJECTING.match(clause):
            return Outcome.FAILURE
        if not _ACCEPTING.fullmatch(clause):
            return Outcome.UNKNOWN  # ambiguous: "perfect, another crash"
        found = Outcome.SUCCESS
    return found


def is_courtesy(text: str) -> bool:
    """Whether a message is only thanks, assent or "commit it"."""
    message = text.strip().casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return len(message) <= _HEAD and all(
        _MANNERS.fullmatch(clause) and not asks for clause, asks in _message_clauses(message)
    )


def _message_clauses(message: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a message, each with whether its sentence is a question."""
    for sentence in _SENTENCE.findall(message):
        asks = sentence.rstrip().endswith("?")
        yield from ((clause, asks) for part in _BREAK.split(sentence) if (clause := part.strip(_EDGES)))


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?]+(?!\w)|\n|$)|[^\n]")
_BREAK = re.compile(r"[,;:–—()]|\.(?=\s|$)|\s-+\s|\s(?=(?:thanks?|thx|but|and)\b)")
_EDGES = " \t.,!?…*_~👍🎉✅🚀🙏😀😊🙂❤\N{VARIATION SELECTOR-16}❌👎"
_MOCKING = re.compile(r"🙄|😒|🤦|/s\b|yeah,? right|thanks for nothing|\blol\b|\bhaha|[\"“]")
_SUPPOSING = re.compile(r"\b(?:if|in case|when(?:ever)?|until|unless|whether|suppose|otherwise|before|should)\b")

_IT = r"(?:it|that|this|everything|all of it|the (?:fix|change|patch|code|script|build|app|page|site|feature|command))"
_IS = r"(?:'s| is| are| was)"
_HOW = (
    r"(?: (?:now|again|great|well|fine|perfectly|nicely|correctly|properly|as (?:expected|intended)|like a charm|for me|"
    r"on my (?:machine|end|side)|locally|too|in production|everywhere|to me|here|indeed))*"
)
_MANNERS = _any_of(
    r"(?:many |lots of |a million )?(?:thanks?|thx|ty|cheers)(?: you)?(?: so much| very much| a lot| again| a ton)?"
    r"(?: for (?:the|your|all the|all your) (?:help|work|fix|effort))?",
    r"(?:and |ok |oh )?(?:yes|yep|yeah|ok(?:ay)?|oh|ah|wow|great|cool|nice|awesome|excellent|good|amazing|fantastic|"
    r"brilliant|sweet|wonderful)",
    r"(?:no|nope|nah|hmm+|hm|sorry|unfortunately|ugh|wait|hey|hi|stop|damn|well|actually|please)",
    r"i(?:'ve| have)? (?:just )?(?:tested|tried|checked|ran) (?:it|that|this)",
    r"much appreciated|appreciate it|that's all|that is all",
    r"(?:and |so |please )*(?:go ahead and )?(?:commit|push|deploy|release)"
    r"(?: (?:it|this|that|them|everything|the changes?))?(?: (?:to (?:main|master)|please|then|now))*",
)
_ACCEPTING = _any_of(
    rf"(?:and |yes |so )?(?:{_IT} )?(?:just |all |finally |now |really )*"
    rf"(?:works?|worked|is working|are working|did the trick|does the trick){_HOW}",
    rf"{_IT}'s working{_HOW}",
    rf"{_IT} (?:has |really )?(?:fixed|solved|resolved|did) (?:it|(?:the|my) (?:problem|issue|bug|error)){_HOW}",
    rf"(?:{_IT}{_IS} )?(?:all )?(?:fixed|solved|resolved|confirmed|verified|correct)(?: now)?",
    r"(?:and )?(?:you (?:fixed|solved|nailed) it|problem solved|all green(?: now)?)",
    rf"(?:all )?(?:the |my )?(?:tests?|checks?|build|ci|pipeline|suite){_IS}? (?:all )?(?:pass(?:es|ed|ing)?|green){_HOW}",
    r"lgtm|approved|flawless|well done|(?:i )?love it",
    rf"(?:(?:it|that|this|everything|all) )?looks? (?:good|great|perfect|excellent|right|correct){_HOW}",
    rf"(?:(?:it|that|this){_IS} )?(?:just |absolutely |simply )?perfect",
    rf"(?:(?:it|that|this){_IS} )?(?:exactly|just|precisely) "
    r"(?:what (?:i|we) (?:wanted|needed|asked for|had in mind|meant)|right)",
    r"(?:and )?(?:ship|merge) (?:it|this)|(?:all|everything(?:'s| is)) good(?: now)?",
    r"(?:great|excellent|good|nice|amazing|fantastic|awesome|brilliant) (?:work|job)",
)
_WISHING = re.compile(
    r"(?:and |so |ok )?(?:now|next|then|also|please|can you|could you|would you|let's|i'd like|i want|i need|we need|new task|"
    r"one more thing)\b(?! (?:it|that|this|the|everything|nothing|my|i|we|there|they|you|all)\b)"
)
_NOT = r"(?:does not|doesn't|doesnt|did not|didn't|didnt|do not|don't|is not|isn't|isnt|was not|wasn't|won't|are not|aren't)"
_BAD = r"(?:wrong|incorrect|broken|worse|nonsense|useless|a mess|not right|not correct|not working|not fixed)"
_TESTS = r"(?:the |my |all )*(?:tests?|build|ci|pipeline|checks?|linter)"
_REJECTING = _any_of(
    rf"(?:no |but |and |now |unfortunately |sadly )*(?:(?:{_IT}|{_TESTS}){_IS}? )?still "
    rf"(?:(?:fail|crash|break|hang|throw)(?:e?s|ing|ed)?|{_BAD}|{_NOT}|red|no luck|the same)\b",
    r"(?:i(?:'m| am)? )?still (?:get(?:ting)?|see(?:ing)?|have|having) (?:the|that|this|an?|exactly) (?:\w+ ){0,3}"
    r"(?:error|problem|issue|failure|bug|exception|traceback|crash)",
    r"(?:exactly )?(?:the )?same (?:error|problem|issue|failure|bug|traceback)(?: again| as before| here)?$",
    rf"{_IT} {_NOT} (?:work|help|fix|solve|compile|build|run|pass)(?:ing|ed)?\b",
    rf"{_IT}{_IS}? (?:just |simply |completely |totally |all |even )*{_BAD}\b",
    rf"(?:{_IT} (?:{_NOT}|is not|was not) |{_IT}'s not |not )(?:at all |really |quite )?what i (?:asked|wanted|meant)",
    rf"{_IT} (?:broke|breaks|fails|failed|crashes|crashed|made (?:it|things) worse|is failing|is crashing)\b",
    r"(?:wrong|no luck|doesn't work|does not work|didn't work|did not work|not working|not fixed)"
    r"(?: again| at all| for me| either| yet)?$",
    r"you (?:broke|ruined|messed up|misunderstood|overwrote|did the wrong)\b",
    r"(?:please |just )*(?:revert|undo|roll back|rollback|back out|discard|scrap) "
    r"(?:it|this|that|everything|all|your|those|these|the (?:changes?|last|commit|edits?))\b",
    r"(?:please |just )*(?:undo|revert|roll back|rollback)$|put (?:it|that|everything) back\b",
    rf"{_TESTS}{_IS}? (?:now )?(?:failing|red|broken|fails?)(?: again| now)?$",
    rf"now (?:{_IT}|{_TESTS}){_IS}? (?:crash(?:es|ing)|broken|fail(?:s|ing)|worse|red)",
)


_LONGEST_MESSAGE = 20_000
_CLAUSES_OF_MESSAGE = re.compile(r"(?:[^.!?\n`]|`[^`\n]{1,200}`|[.!?](?!\s|$))+")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_DEMANDS = re.compile(
    r"\b(?:pass(?:es)?|succeeds?|exits? (?:with )?(?:status |code )?(?:0|zero)|(?:must|should|needs? to|has to) (?:work|run)|"
    r"verify with|check with|confirm with|make sure|ensure|is green|done when)\b",
    re.IGNORECASE,
)
_SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "pushd", "popd"})
_SAYS_NOTHING = frozenset({"echo", "printf", "true", ":", "exit", "pwd", "sleep"})


def checks_named_by_user(trajectory: Trajectory) -> dict[str, int]:
    """Return the commands that the user named as a condition, with the step of the first message that did."""
    named: dict[str, int] = {}
    if trajectory.task.by == "agent":
        return named
    messages = [(step.index, step.text) for step in trajectory.steps if step.role is Role.USER]
    for index, text in ((-1, trajectory.task.text), *messages):
        for sentence in _CLAUSES_OF_MESSAGE.findall(text[:_LONGEST_MESSAGE]):
            for quoted in _QUOTED.findall(sentence) if _DEMANDS.search(_QUOTED.sub("", sentence)) else ():
                command = only_command(parse_command(quoted))
                if command and command.program not in _SAYS_NOTHING:
                    named.setdefault(command.text, index)
    return named


def only_command(commands: Sequence[Command]) -> Command | None:
    """Return the only command of a line that does something; None if there are several."""
    real = [command for command in commands if command.program not in _SILENT]
    return real[0] if len(real) == 1 else None


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

_PASSED_PACKAGE = re.compile(r"^ok\s+(\S+)\s+(?:[\d.]+s|\(cached\))\s*$", re.MULTILINE)
"""A package whose tests passed, as Go names it."""
_PASSED_FILE = re.compile(r"^\s*(?:PASS|✓)\s+(\S+\.(?:test|spec)\.\w+)", re.MULTILINE)
"""A file whose tests passed, as Jest and Vitest name it; each runs in a context of its own."""

_WITHOUT_TESTS = re.compile(
    r"(?:tsc|vue-tsc|mypy|pyright|basedpyright|eslint|flake8|pylint|golangci-lint|staticcheck|shellcheck|ruff)(?: \w+)?"
    r"|(?:cargo|go|zig|swift|dotnet) (?:check|build|clippy|vet)"
    r"|(?:npm|pnpm|yarn|bun|make|just|task)(?: run)? (?:lint|build|check-?types|type-?check)(?::\w+)?"
)
"""Checks that run no tests."""
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
    """Why an assessment is as it is: the code, and the sentence that is stored."""

    sentence: str

    def __new__(cls, code: str, sentence: str) -> Self:
        """Make a member, whose value is the code."""
        made = str.__new__(cls, code)
        made._value_, made.sentence = code, sentence
        return made

    PASSED = "passed", "`{command}` passed after the last change"
    CHECK_FAILED = "check_failed", "`{command}` was the last check and it failed"
    ACCEPTED = "accepted", "the person accepted it: {reply}"
    REJECTED = "rejected", "the person rejected it: {reply}"
    CLAIM_TRUSTED = "claim_trusted", "the source says {result}, verified by {verifier}, and the importer trusts it"
    CLAIM_NOT_VOUCHED = (
        "claim_not_vouched",
        "the source claims {result}; the importer did not vouch for it (`tacit learn --trust-outcomes` does)",
    )
    CLAIM_WITHOUT_VERIFIER = "claim_without_verifier", "the source claims {result}; it names no verifier"

    # The outcome is unknown.
    NO_CHECK = "no_check", "no test, build or linter was run"
    CHECK_STOPPED = "check_stopped", "the last check was {result}"
    CHECK_COULD_NOT_RUN = "check_could_not_run", "the last check, `{command}`, could not run"
    CHANGED_AFTER_CHECK = "changed_after_check", "something was changed after the last check (step {step})"
    CHANGED_IN_CHECK_LINE = "changed_in_check_line", "something was changed after the check in `{command}`"
    CHECK_REPLACED = "check_replaced", "`{setting}` puts something else in the place of what the check runs"
    CHECK_ARGUMENTS_UNKNOWN = "check_arguments_unknown", "it is not known what `{words}` made the check read"
    CHECK_ELSEWHERE = "check_elsewhere", "the check ran in {place} or looked there, and the work was done elsewhere"
    EXIT_STATUS_PROVES_NOTHING = "exit_status_proves_nothing", "the exit status of `{command}` proves nothing"
    CHECK_WEAKENED = "check_weakened", "the agent changed `{file}`, which decides what the check means"
    CHECK_MAYBE_CHANGED = "check_maybe_changed", "step {step} may have changed what the check depends on"
    WORK_SET_ASIDE = "work_set_aside", "the work was put aside before the last check"
    LATER_CHECKS_CHANGED = "later_checks_changed", "`{command}` changes what later checks mean"
    TEST_RUNNER_REACHED = "test_runner_reached", "the agent made a program reach for what runs the tests (step {step})"
    FAILURE_UNANSWERED = "failure_unanswered", "`{command}` failed, and no later check shows that it is fixed"


_CODES = {code.value: code for code in AssessmentCode}


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
    if stated and stated.assessment.verified_failure and not shown.verified_failure:
        return stated
    accepted = stated and stated.assessment.verified_success and not shown.verified_success
    if stated and accepted and not _still_failing(made, checks):
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
    sentence = _CODES[reason.code].sentence.format(**reason.values)
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
    # What was accepted may be committed; a "no" is answered by work.
    worked = made if found is Outcome.SUCCESS else actions
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
    if last.step.failed:
        command, at = _short(last.text), last.step.index
        if last.step.result is not StepResult.FAILED:
            return _explained(coded(AssessmentCode.CHECK_STOPPED, result=str(last.step.result)), step=at)
        if _could_not_run(last):
            return _explained(coded(AssessmentCode.CHECK_COULD_NOT_RUN, command=command), step=at)
        failed = coded(AssessmentCode.CHECK_FAILED, command=command)
        return _explained(failed, Outcome.FAILURE, Grade.MACHINE, verifier=last.text, step=at)
    weakened, proof = _weakened(made, last, workspace), last
    tests = tests_written(trajectory) if weakened and last.passed else {}
    if independent := [check for check in checks if check.passed and _rests_on_others(check, tests)]:
        weakened, proof = None, independent[-1]
    doubt = (
        _changed_later(made, proof)
        or proof.astray
        or (coded(AssessmentCode.EXIT_STATUS_PROVES_NOTHING, command=_short(proof.text)) if not proof.passed else None)
        or weakened
        or _overrun(made, checks, workspace)
        or _put_aside(made, proof)
        or _rigged(trajectory, made, last)
        or _unanswered(made, checks, tests)
    )
    if doubt:
        return _explained(doubt, step=proof.step.index)
    reason = coded(AssessmentCode.PASSED, command=_short(proof.text))
    return _explained(reason, Outcome.SUCCESS, Grade.MACHINE, verifier=proof.text, step=proof.step.index)


def _rests_on_others(check: _Check, tests: Mapping[int, tuple[str, ...]]) -> bool:
    """Whether a passing check shows something beside the tests that the agent wrote: it runs none, or others passed as well.

    Only runners that keep test files apart count: in one process a test file may change what the others see.
    """
    if not tests or not check.label:
        return False
    if _WITHOUT_TESTS.fullmatch(check.label):
        return True
    files = [PurePosixPath(file) for step in tests.values() for file in step]
    seen = check.step.observation[-_LONGEST_OUTPUT:]
    if check.label == "go test":
        packages = {package.rsplit("/", 1)[-1] for package in _PASSED_PACKAGE.findall(seen)}
        return bool(packages - {file.parent.name for file in files})
    names = {PurePosixPath(file).name for file in _PASSED_FILE.findall(seen)}
    return bool(names - {file.name for file in files})


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
        if step.index in made and (not text or "<<" in text):
            before, written = step.arguments.get("old_string"), text or " ".join(map(str, step.arguments.values()))
            if reaches_for_the_tests(written) - reaches_for_the_tests(before if isinstance(before, str) else ""):
                return coded(AssessmentCode.TEST_RUNNER_REACHED, step=step.index)
    return None


def _put_aside(made: _Made, last: _Check) -> CodedReason | None:
    """Whether the work was set aside, so that the check ran on something else."""
    working = aside = False
    before = [change for index, found in made.items() if index < last.step.index for change in found]
    for change in (*before, *shell_changes(last.text)):
        aside = change.sets_aside and (working or aside)
        working = working or not change.sets_aside
    return coded(AssessmentCode.WORK_SET_ASIDE) if aside else None


def _unanswered(made: _Made, checks: Sequence[_Check], tests: Collection[int] = ()) -> CodedReason | None:
    """An earlier failed check that no later one repeats; failed tests are answered only as they were when they failed."""
    for failed in checks:
        later_tests = [index for index in tests if index > failed.step.index and _TESTING.search(failed.label)]
        end = min(later_tests, default=checks[-1].step.index + 1)
        if failed.step.result is StepResult.FAILED and not any(
            _answers(later, failed, made) for later in checks if failed.step.index < later.step.index < end
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
    if later.first.program in ("pytest", "py.test"):  # it must include every test that is known to have failed
        given = [word.removeprefix("./").rstrip("/") for word in later.first.operands]
        paths = [word for word in given if "/" in word or "::" in word or PurePosixPath(word).suffix]
        wanted = [word for flag, word in pairwise(later.first.words) if flag == "-k" and re.fullmatch(r"\w+", word)]
        for file, test in _FAILED_TEST.findall(failed.step.observation[-_LONGEST_OUTPUT:]):
            name = f"{file}{test}/"
            looked = any(name.startswith((f"{path}/", f"{path}::")) or path.endswith(f"/{file}") for path in paths)
            if (paths and not looked) or any(word not in f"{file}{test}" for word in wanted):
                return False
    if later.label != failed.label:
        return bool(_TESTING.search(later.label))
    changed = any(failed.step.index < index < later.step.index for index in made)
    return changed or not later.chosen - failed.chosen


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 80 else line[:77] + "..."
