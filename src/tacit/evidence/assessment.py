"""Assessment: did an attempt succeed, and who verified it?

A check that is only seen in a log counts as machine-verified by one rule: it ran in a plain, known form after the last change
and passed, it leaves no earlier failure open, and nothing that decides checks was changed in the session, by the agent or a
subagent. Whatever is not known to be plain or harmless leaves the outcome unknown, and accuses nobody: then a check that Tacit
runs itself (`evidence.verifiers`) can show it. A check that failed last is a verified failure; one that could not run is no
evidence. A clear rejection by the user outweighs a passing check; a clear acceptance does not outweigh a check that still
fails. An outcome in an imported document counts only if the importing person trusts it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Self

from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.evidence.deciding_files import ENDS_PROCESS, SILENCES_CHECK, TESTS_INSIDE, decides_checks
from tacit.evidence.plain_checks import PlainCheck, is_plain_setting, looks_elsewhere, plain_check
from tacit.evidence.service_evidence import (
    ServiceResult,
    acts_on_host,
    is_committed,
    is_named,
    merged_by_session,
    put_into_service,
    service_changed,
    service_results,
)
from tacit.evidence.verifiers.test_results import count_results
from tacit.evidence.workspace_changes import StepEffect, WorkspaceChange, shell_effect, step_effect
from tacit.text.exit_status import masks_exit
from tacit.text.service_commands import ServiceKind
from tacit.text.shell import Command, is_check, nested_script, parse_command
from tacit.text.tool_calls import Effect, ToolKind, command_of, tool_calls

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


_COULD_NOT_RUN = frozenset({124, 126, 127, 130, 137, 143})
"""Exit statuses of a shell: time limit, not executable, not found, interrupted, killed."""
_PYTEST_NOTHING_RAN = frozenset({4, 5})
_NO_PROGRAM = re.compile(
    r"command not found|: not found$|No module named '?(?:pytest|tox|nox|mypy|ruff)\b", re.MULTILINE
)
_NOTHING_RAN = re.compile(
    r"collected 0 items|no tests ran|\bRan 0 tests|\b0 passing|no tests to run|No tests? (?:files )?found|\[no test files\]"
    r"|running 0 tests|Tests: +\d+ skipped, \d+ total|Tests are skipped|matched no packages"
    r"|^make: (?:'[^'\n]*' is up to date|Nothing to be done for)",
    re.IGNORECASE | re.MULTILINE,
)
_SOMETHING_RAN = re.compile(
    r"\b[1-9]\d* (?:passed|passing)|\bRan [1-9]|running [1-9]|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))\s*$", re.MULTILINE
)
_SAYS_FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures)\b|\bFAILED \((?:failures|errors)=|^FAIL\b", re.MULTILINE
)
_READ_AT_THE_END = re.compile(r"\s*(?:2>&1\s*)?\|\s*(?:tail|head)(?:\s+-n\s*|\s+-)?\s*(?:[1-9]\d*)?\s*$")
"""What shows only the end or the beginning of a check's output, and hides its exit status."""
_LONGEST_OUTPUT = 20_000
_PROSE = (".md", ".rst", ".txt", ".adoc")
_SCRATCH = ("/tmp/", "/var/tmp/", "/private/tmp/")
_FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) ([\w./-]+\.\w+)((?:::\S+)?)", re.MULTILINE)
"""A failed test as pytest names it: its file and its test."""


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
    MERGED = "merged", "the pull request was merged: `{command}`"
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
    NOT_PLAIN = "not_plain", "`{command}` is not a check in a plain form, so Tacit would have to run one itself"
    CHECK_ELSEWHERE = "check_elsewhere", "the check ran in {place} or looked there, and the work was done elsewhere"
    EXIT_STATUS_PROVES_NOTHING = "exit_status_proves_nothing", "the exit status of `{command}` proves nothing"
    DECIDING_FILE_CHANGED = "deciding_file_changed", "`{file}`, which may decide what the check means, was changed too"
    EXIT_CHANGED = (
        "exit_changed",
        "code was added that may end a check, silence it, or know that it is being tested (step {step})",
    )
    EFFECT_UNKNOWN = "effect_unknown", "it is not known what `{command}` changed (step {step})"
    SUBAGENT_UNSEEN = "subagent_unseen", "a subagent worked too, and what it changed is not known"
    SERVICE_CHANGED = "service_changed", "`{what}` may have changed what answers `{command}`"
    TARGET_CHOSEN = "target_chosen", "nothing but the agent names what `{command}` asks"
    MERGED_BY_SESSION = "merged_by_session", "the session may have merged it itself, so nobody else accepted it"
    CHANGE_FAILED = "change_failed", "the only changes it tried failed (step {step})"
    FAILURE_UNANSWERED = "failure_unanswered", "`{command}` failed, and no later check shows that it is fixed"


_CODES = {code.value: code for code in AssessmentCode}


@dataclass(frozen=True, slots=True)
class ExplainedAssessment:
    """An assessment with the code and the values behind its stored sentence."""

    assessment: Assessment
    reason: CodedReason


Mates = Callable[[], Iterable[Trajectory]]
"""Gives the other attempts of the same session: earlier ones, and those of its subagents."""


@dataclass(frozen=True, slots=True)
class _Check:
    """A step that ran a check."""

    step: Step
    text: str
    plain: PlainCheck | None
    """What it checked, where every check in its line is plain."""
    passed: bool
    """Whether it passed by an exit status, or by a count, that nothing could hide."""
    elsewhere: str = ""


def assess(trajectory: Trajectory, *, trust_claim: bool = False, mates: Mates = tuple) -> Assessment:
    """Return the outcome of an attempt, as far as it is shown independently of the agent."""
    return explain_assessment(trajectory, trust_claim=trust_claim, mates=mates).assessment


def explain_assessment(
    trajectory: Trajectory, *, trust_claim: bool = False, mates: Mates = tuple
) -> ExplainedAssessment:
    """Assess an attempt like `assess`, and return the code of the reason too."""
    claimed = _claimed(trajectory, trusted=trust_claim)
    if claimed and claimed.assessment.grade is Grade.MACHINE:
        return claimed
    effects = {step.index: step_effect(step) for step in trajectory.actions}
    made = {index: effect.changes for index, effect in effects.items() if effect.changes}
    checks = list(_checks(trajectory, made))
    seen = _seen(checks, effects, trajectory, mates)
    service = _seen_by_service(checks, effects, trajectory, mates)
    if service and (seen.assessment.outcome is Outcome.UNKNOWN or service.assessment.verified_failure):
        seen = service
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


def _stated_by_user(trajectory: Trajectory, made: Collection[int]) -> ExplainedAssessment | None:
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


def _seen(
    checks: Sequence[_Check], effects: Mapping[int, StepEffect], trajectory: Trajectory, mates: Mates
) -> ExplainedAssessment:
    """The outcome that the steps themselves show."""
    if not checks:
        return _explained(coded(AssessmentCode.NO_CHECK))
    last = checks[-1]
    at, command = last.step.index, _short(last.text)
    if last.step.failed:
        if last.step.result is not StepResult.FAILED:
            return _explained(coded(AssessmentCode.CHECK_STOPPED, result=str(last.step.result)), step=at)
        if _could_not_run(last):
            return _explained(coded(AssessmentCode.CHECK_COULD_NOT_RUN, command=command), step=at)
        failed = coded(AssessmentCode.CHECK_FAILED, command=command)
        return _explained(failed, Outcome.FAILURE, Grade.MACHINE, verifier=last.text, step=at)
    doubt = (
        _changed_later(effects, last)
        or _changed_nothing(trajectory, effects)
        or (coded(AssessmentCode.NOT_PLAIN, command=command) if last.plain is None else None)
        or (coded(AssessmentCode.CHECK_ELSEWHERE, place=_short(last.elsewhere)) if last.elsewhere else None)
        or (coded(AssessmentCode.EXIT_STATUS_PROVES_NOTHING, command=command) if not last.passed else None)
        or _unanswered(checks)
        or _decided_by_session(trajectory, effects, checks)
        or _decided_by_mates(trajectory, effects, list(mates()))
    )
    if doubt:
        return _explained(doubt, step=at)
    return _explained(
        coded(AssessmentCode.PASSED, command=command), Outcome.SUCCESS, Grade.MACHINE, verifier=last.text, step=at
    )


def _changed_nothing(trajectory: Trajectory, effects: Mapping[int, StepEffect]) -> CodedReason | None:
    """The doubt where an edit failed and nothing else was changed: what passes then passed before, too."""
    if any(effect.changes or effect.unknown for effect in effects.values()):
        return None
    tried = [call for call in tool_calls(trajectory) if call.kind is ToolKind.FILE and call.effect is Effect.WRITE]
    return coded(AssessmentCode.CHANGE_FAILED, step=tried[-1].index + 1) if tried and tried[-1].step.failed else None


def _seen_by_service(
    checks: Sequence[_Check], effects: Mapping[int, StepEffect], trajectory: Trajectory, mates: Mates
) -> ExplainedAssessment | None:
    """What a service, a CI server or a code host showed of the work after it was deployed or pushed; None where none did."""
    results = service_results(trajectory)
    last = results[-1] if results else None
    put = put_into_service(trajectory, last.check) if last else []
    begun = max((index for index in put if last and index <= last.step.index), default=None)
    if last is None or begun is None or (checks and (checks[-1].step.failed or _unanswered(checks))):
        return None
    at, command, kind = last.step.index, _short(last.text), last.check.kind
    doubt = _doubt_of_service(last, begun, effects, trajectory, list(mates()))
    if doubt or not (last.passed or last.failed):
        return _explained(doubt, step=at) if doubt else None
    verifier = f"{kind}: {last.text}"
    if last.failed:
        failed = coded(AssessmentCode.CHECK_FAILED, command=command)
        return _explained(failed, Outcome.FAILURE, Grade.MACHINE, verifier=verifier, step=at)
    if open_failure := _unanswered_by_service(results):
        return _explained(coded(AssessmentCode.FAILURE_UNANSWERED, command=_short(open_failure.text)), step=at)
    code, grade = (
        (AssessmentCode.MERGED, Grade.HUMAN) if kind is ServiceKind.MERGED else (AssessmentCode.PASSED, Grade.MACHINE)
    )
    return _explained(coded(code, command=command), Outcome.SUCCESS, grade, verifier=verifier, step=at)


def _doubt_of_service(
    last: ServiceResult,
    begun: int,
    effects: Mapping[int, StepEffect],
    trajectory: Trajectory,
    mates: Sequence[Trajectory],
) -> CodedReason | None:
    """Why the answer of a service may be the session's own, or about something else."""
    command, attempts = _short(last.text), [*mates, trajectory]
    if not is_named(trajectory, last):
        return coded(AssessmentCode.TARGET_CHOSEN, command=command)
    put = put_into_service(trajectory, last.check)
    for index, effect in effects.items():
        if index > last.step.index and (effect.changes or index in put):
            return coded(AssessmentCode.CHANGED_AFTER_CHECK, step=index)
    if last.check.kind in (ServiceKind.CI, ServiceKind.MERGED):
        if unpushed := next((i for i, each in effects.items() if begun < i <= last.step.index and each.changes), None):
            return coded(AssessmentCode.CHANGED_AFTER_CHECK, step=unpushed)
        if not is_committed(trajectory, (i for i, each in effects.items() if each.changes), begun):
            return coded(AssessmentCode.CHANGED_AFTER_CHECK, step=begun)
        if what := acts_on_host(attempts):
            return coded(AssessmentCode.SERVICE_CHANGED, what=_short(what), command=command)
        if last.check.kind is ServiceKind.MERGED:
            return _merged_unseen(effects, trajectory, attempts)
        check = _Check(last.step, last.text, None, passed=True)
        return _decided_by_session(trajectory, effects, [check]) or _decided_by_mates(trajectory, effects, mates)
    if sum(effect.delegates for effect in effects.values()) > sum(bool(mate.parent_session_id) for mate in mates):
        return coded(AssessmentCode.SUBAGENT_UNSEEN)
    what = service_changed(attempts)
    return coded(AssessmentCode.SERVICE_CHANGED, what=_short(what), command=command) if what else None


def _merged_unseen(
    effects: Mapping[int, StepEffect], trajectory: Trajectory, attempts: Sequence[Trajectory]
) -> CodedReason | None:
    """Why it may not be a person who merged a pull request; what its tests say is for that person to judge."""
    if merged_by_session(attempts):
        return coded(AssessmentCode.MERGED_BY_SESSION)
    workspace = trajectory.environment.workspace
    for index, effect in effects.items():
        outside = (
            each.file
            for each in effect.changes
            if each.file.startswith(("/", "~")) and not _is_in(each.file, workspace)
        )
        if file := next((file for file in outside if decides_checks(file)), ""):
            return coded(AssessmentCode.DECIDING_FILE_CHANGED, file=_short(file))
        if effect.unknown and not effect.setup:
            return coded(AssessmentCode.EFFECT_UNKNOWN, command=_short(effect.unknown), step=index)
    return None


def _unanswered_by_service(results: Sequence[ServiceResult]) -> ServiceResult | None:
    """An earlier bad answer that no later good one of the same kind about the same thing follows."""
    for at, each in enumerate(results):
        if each.failed and not any(later.passed and later.check == each.check for later in results[at + 1 :]):
            return each
    return None


def _checks(trajectory: Trajectory, made: Mapping[int, tuple[WorkspaceChange, ...]]) -> Iterator[_Check]:
    places = _places(made, trajectory.environment.workspace)
    for step in trajectory.actions:
        text = command_of(step.tool, step.arguments)
        commands = parse_command(text) if text else ()
        if not any(map(is_check, commands)):
            continue
        found = [(command, plain_check(command)) for command in _commands_of_checks(commands)]
        plain = found[-1][1] if found and all(each for _, each in found) else None
        elsewhere = next((there for command, _ in found if (there := looks_elsewhere(command, places))), "")
        yield _Check(step, text, plain, passed=_passed(step, text), elsewhere=elsewhere)


def _commands_of_checks(commands: Sequence[Command]) -> Iterator[Command]:
    """The checks of a line, also those in a script that a shell is called to run."""
    for command in commands:
        nested = nested_script(command)
        if nested and all(map(is_plain_setting, command.assignments)):
            yield from _commands_of_checks(parse_command(nested))
        elif is_check(command):
            yield command


def _places(made: Mapping[int, tuple[WorkspaceChange, ...]], workspace: str) -> list[str]:
    """Where the work was done: the workspace, and what was changed outside it; scratch files count only if nothing
    else was."""
    files = [change.file for found in made.values() for change in found if change.file]
    outside = [file for file in files if file.startswith("/") and not _is_in(file, workspace)]
    lasting = [file for file in outside if not file.startswith(_SCRATCH)]
    return [workspace, *(lasting if len(outside) < len(files) else outside)]


def _is_in(file: str, workspace: str) -> bool:
    return bool(workspace) and f"{file}/".startswith(f"{workspace.rstrip('/')}/")


def _could_not_run(check: _Check) -> bool:
    step = check.step
    no_tests = "pytest" in check.text and step.exit_code in _PYTEST_NOTHING_RAN
    return step.exit_code in _COULD_NOT_RUN or no_tests or bool(_NO_PROGRAM.search(step.observation[-2000:]))


def _passed(step: Step, text: str) -> bool:
    """Whether a check passed: by its exit status, or by the counts at the end of its output where only that was shown."""
    if step.result is not StepResult.OK or step.exit_code not in (None, 0) or step.arguments.get("run_in_background"):
        return False
    seen = step.observation
    if _SAYS_FAILED.search(seen) or (_NOTHING_RAN.search(seen) and not _SOMETHING_RAN.search(seen)):
        return False
    counted = count_results(seen[-_LONGEST_OUTPUT:])
    if counted and (counted.failed or (counted.left_out and not counted.passed)):
        return False
    if not masks_exit(text):
        return True
    cut = _READ_AT_THE_END.search(text)
    return bool(cut and counted and counted.passed) and not masks_exit(text[: cut.start()] if cut else text)


def _changed_later(effects: Mapping[int, StepEffect], last: _Check) -> CodedReason | None:
    commands = parse_command(last.text)
    at = max((i for i, command in enumerate(commands) if is_check(command)), default=0)
    while at < len(commands) and commands[at].connector == "|":  # a reader of its output belongs to the check
        at += 1
    if any(shell_effect(command.text).changes for command in commands[at + 1 :]):
        return coded(AssessmentCode.CHANGED_AFTER_CHECK, step=last.step.index)
    later = next((i for i, effect in effects.items() if i > last.step.index and effect.changes), None)
    return None if later is None else coded(AssessmentCode.CHANGED_AFTER_CHECK, step=later)


def _decided_by_session(
    trajectory: Trajectory, effects: Mapping[int, StepEffect], checks: Sequence[_Check]
) -> CodedReason | None:
    """What decides checks and was changed by these steps, or may have been.

    What a session fetched or installed before it changed anything and before any check had a result is where it began.
    """
    last = checks[-1]
    named = (
        {PurePosixPath(word.split("::")[0]).name for word in last.plain.chosen}
        if last.plain and last.plain.tests
        else set()
    )
    written = {PurePosixPath(change.file).name for effect in effects.values() for change in effect.changes}
    begun = min((check.step.index for check in checks if not _could_not_run(check)), default=0)
    for step in trajectory.actions:
        effect = effects[step.index]
        if effect.setup and step.index < begun:
            continue
        begun = min(begun, step.index) if effect.changes else begun
        if doubt := _decided(step, effect, trajectory.environment.workspace):
            return doubt
        if last.plain and not last.plain.tests and any(SILENCES_CHECK.search(each.text) for each in effect.changes):
            return coded(AssessmentCode.EXIT_CHANGED, step=step.index)
        if run := next((change.file for change in effect.changes if PurePosixPath(change.file).name in named), ""):
            return coded(AssessmentCode.DECIDING_FILE_CHANGED, file=_short(run))
        own = next((script for script in effect.runs if PurePosixPath(script).name in written), "")
        if (effect.unknown or own) and step.index <= last.step.index:
            return coded(AssessmentCode.EFFECT_UNKNOWN, command=_short(effect.unknown or own), step=step.index)
    return None


def _decided(step: Step, effect: StepEffect, workspace: str) -> CodedReason | None:
    for change in effect.changes:
        if change.file and decides_checks(change.file, workspace):
            return coded(AssessmentCode.DECIDING_FILE_CHANGED, file=_short(change.file))
        before = str(step.arguments.get("old_string", ""))
        if TESTS_INSIDE.search(f"{before}\n{change.text}") and not change.file.endswith(_PROSE):
            return coded(AssessmentCode.DECIDING_FILE_CHANGED, file=_short(change.file))
        if set(ENDS_PROCESS.findall(change.text)) - set(ENDS_PROCESS.findall(before)) and not change.file.endswith(
            _PROSE
        ):
            return coded(AssessmentCode.EXIT_CHANGED, step=step.index)
    return None


def _decided_by_mates(
    trajectory: Trajectory, effects: Mapping[int, StepEffect], mates: Sequence[Trajectory]
) -> CodedReason | None:
    """What decides checks and was changed by the other attempts of the session; of subagents also what is not known."""
    delegated = sum(effect.delegates for effect in effects.values())
    if delegated > sum(bool(mate.parent_session_id) for mate in mates):
        return coded(AssessmentCode.SUBAGENT_UNSEEN)
    written = {
        PurePosixPath(change.file).name
        for changed in (*effects.values(), *(step_effect(step) for mate in mates for step in mate.actions))
        for change in changed.changes
    }
    if run := next(
        (script for effect in effects.values() for script in effect.runs if PurePosixPath(script).name in written), ""
    ):
        return coded(AssessmentCode.EFFECT_UNKNOWN, command=_short(run), step=0)
    for mate in mates:
        together = bool(mate.parent_session_id or trajectory.parent_session_id)
        for step in mate.actions:
            effect = step_effect(step)
            if doubt := _decided(step, effect, mate.environment.workspace):
                return doubt
            if together and (effect.unknown or any(PurePosixPath(script).name in written for script in effect.runs)):
                return coded(
                    AssessmentCode.EFFECT_UNKNOWN, command=_short(effect.unknown or effect.runs[0]), step=step.index
                )
    return None


def _unanswered(checks: Sequence[_Check]) -> CodedReason | None:
    """An earlier failed check that no later one repeats."""
    for failed in checks:
        if failed.step.result is StepResult.FAILED and not _could_not_run(failed):
            later = [check for check in checks if check.step.index > failed.step.index]
            if not any(_answers(check, failed) for check in later):
                return coded(AssessmentCode.FAILURE_UNANSWERED, command=_short(failed.text))
    return None


def _still_failing(made: Collection[int], checks: Sequence[_Check]) -> bool:
    """Whether a check fails in the present state: nothing changed since, and no later check repeats it."""
    failed = (check for check in checks if check.step.result is StepResult.FAILED and not _could_not_run(check))
    return any(
        not any(index > check.step.index for index in made)
        and not any(_answers(later, check) for later in checks if later.step.index > check.step.index)
        for check in failed
    )


def _answers(later: _Check, failed: _Check) -> bool:
    """Whether a later check looks at what failed: the same check, all tests, or the failed tests by name."""
    if not later.passed or later.elsewhere or later.plain is None or _leaves_out(later, failed):
        return False
    if later.plain == failed.plain or later.text == failed.text:
        return True
    if later.plain.tests and not (later.plain.chosen and (failed.plain is None or failed.plain.tests)):
        return True
    named = [f"{file}{test}" for file, test in _FAILED_TEST.findall(failed.step.observation[-_LONGEST_OUTPUT:])]
    words = {word.removeprefix("-k ") for word in later.plain.chosen}
    return later.plain.tests and bool(named) and all(any(word in name for word in words) for name in named)


def _leaves_out(later: _Check, failed: _Check) -> bool:
    """Whether the same check counts fewer passed tests than ran before: a test was skipped or removed, and none repaired."""
    if later.plain != failed.plain:
        return False
    now, before = (count_results(check.step.observation[-_LONGEST_OUTPUT:]) for check in (later, failed))
    if now is None or before is None or now.passed >= before.passed + before.failed:
        return False
    return bool(before.passed) or now.left_out > before.left_out


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 80 else line[:77] + "..."
