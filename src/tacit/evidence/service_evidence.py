"""Service evidence: what running services, CI servers and code hosts said in a session, and what of it the session decided.

A service that answers well after a deployment shows that the deployment worked, as long as the session changed nothing that is
deployed but a version, took only known ways to deploy it, and did not make up the address. A CI run counts for the commit that
was pushed before it, a merged pull request as the word of the person who merged it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.evidence.workspace_changes import shell_effect, step_effect
from tacit.text.service_commands import (
    SERVICE_TOOLS,
    ServiceCheck,
    ServiceKind,
    asks_only,
    commands_within,
    deploys,
    request_state,
    service_check,
)
from tacit.text.shell import Command
from tacit.text.tool_calls import Effect, ToolKind, command_of, tool_call

_PROSE = (".md", ".rst", ".txt", ".adoc", ".log")
_VERSION = re.compile(
    r"(?<![\w.])v?\d+\.\d+(?:\.\d+)?(?:[-+][\w.]+)?(?!\.\d)|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b|(?<=[a-z]:)v?\d+\b"
)
_SUBSTITUTION = re.compile(r"s(?P<mark>[/|#,])(?P<old>.+?)(?P=mark)(?P<new>.+?)(?P=mark)g?")
_LOOPBACK = re.compile(r"(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0)(?::(?P<port>\d+))?")
_SENDING_FLAG = re.compile(r"-[a-zA-Z]*[XdTF]|--(?:request|data|json|form|upload|url-query)")
_COMMON_NAMES = frozenset(
    "www com org net dev app api http https web local localhost svc cluster prod production staging stage test example default "
    "internal service deployment deploy make bash scripts kubectl apply compose docker helm upgrade install restart".split()
)
_SAYS_FAILED = re.compile(
    r"returned error: [45]\d\d|ERROR [45]\d\d|exceeded its progress deadline|timed out waiting for the condition|"
    r"\tfail\t|^X .+|\b[1-9]\d* failing\b",
    re.MULTILINE,
)
_FAILED_STATUS = {ServiceKind.HEALTH: 22}
"""The exit status of curl for an HTTP error; others say that it did not get there."""


@dataclass(frozen=True, slots=True)
class ServiceResult:
    """A step that asked a service about the work."""

    step: Step
    text: str
    check: ServiceCheck

    @property
    def passed(self) -> bool:
        """Whether the service said that all is well."""
        step = self.step
        if (
            step.result is not StepResult.OK
            or step.exit_code not in (None, 0)
            or step.arguments.get("run_in_background")
        ):
            return False
        return self.check.kind is not ServiceKind.MERGED or request_state(step.observation) == "MERGED"

    @property
    def failed(self) -> bool:
        """Whether the service said that it is not, and did not merely fail to answer."""
        step = self.step
        status = _FAILED_STATUS.get(self.check.kind)
        denied = _SAYS_FAILED.search(step.observation) is not None or (status is not None and step.exit_code == status)
        return step.result is StepResult.FAILED and denied and self.check.kind is not ServiceKind.MERGED


def service_results(trajectory: Trajectory) -> list[ServiceResult]:
    """The steps that asked a service, in order."""
    texts = ((step, command_of(step.tool, step.arguments)) for step in trajectory.actions)
    return [ServiceResult(step, text, found) for step, text in texts if text and (found := service_check(text))]


def put_into_service(trajectory: Trajectory, check: ServiceCheck) -> list[int]:
    """The steps that deployed or pushed what a service is asked about."""
    puts = _pushes if check.kind in (ServiceKind.CI, ServiceKind.MERGED) else deploys
    return [step.index for step in trajectory.actions if not step.failed and _surely_did(step, puts)]


def _surely_did(step: Step, puts: Callable[[Command], bool]) -> bool:
    """Whether a step that worked did this: nothing in its line could leave it out or hide that it failed."""
    commands = commands_within(command_of(step.tool, step.arguments))
    at = next((index for index, command in enumerate(commands) if puts(command)), None)
    if at is None or "Everything up-to-date" in step.observation:
        return False
    after = [command.connector for command in commands[at:]]
    return (
        all(command.connector in ("&&", ";") for command in commands[:at])
        and all(connector == "&&" for connector in after[:-1])
        and after[-1] in ("", ";")
    )


def _pushes(command: Command) -> bool:
    flags = {"--dry-run", "-n", "--delete", "-d", "--mirror"} & set(command.flags)
    return command.program == "git" and command.subcommand == "push" and not command.assignments and not flags


def is_committed(trajectory: Trajectory, changed: Iterable[int], pushed: int) -> bool:
    """Whether the last change of a session was committed before a push."""
    last = max((index for index in changed if index <= pushed), default=None)
    return last is None or any(
        last <= step.index <= pushed and not step.failed
        for step in trajectory.actions
        for command in commands_within(command_of(step.tool, step.arguments))
        if command.program == "git" and command.subcommand == "commit"
    )


def service_changed(attempts: Sequence[Trajectory]) -> str:
    """A file or command that may have changed the service that answers by more than its version; empty if there is none."""
    return next(filter(None, (_change(step) for each in attempts for step in _acting(each))), "")


def _acting(trajectory: Trajectory) -> Iterator[Step]:
    """The steps of an attempt, without what it fetched before it did anything else."""
    began = False
    for step in trajectory.actions:
        effect = step_effect(step)
        if effect.setup and not began:
            continue
        began = began or bool(effect.changes)
        yield step


def _change(step: Step) -> str:
    """What a step changed of a service."""
    if step.result is StepResult.DENIED:
        return ""
    text = command_of(step.tool, step.arguments)
    if not text:
        return _changed_by_tool(step)
    if "<<" in text:
        return _changed_by(text)
    for command in commands_within(text):
        settings = (*command.assignments, *(command.operands if command.program in ("export", "declare") else ()))
        if any("proxy" in setting.casefold() for setting in settings):
            return command.text
        if asks_only(command) or deploys(command) or (service_check(command.text) and not command.outputs):
            continue
        if command.program in SERVICE_TOOLS:
            return command.text
        found = _SUBSTITUTION.fullmatch(" ".join(command.operands[:1])) if command.program == "sed" else None
        if found and _only_a_version(found["old"].replace("\\", ""), found["new"].replace("\\", "")):
            continue
        if command.program == "curl" and any(map(_SENDING_FLAG.match, command.flags)):
            return command.text
        if changed := _changed_by(command.text):
            return changed
    return ""


def _changed_by_tool(step: Step) -> str:
    """What a call of another tool than a shell changed, or may have changed."""
    call = tool_call(step)
    old, new = (step.arguments.get(name) for name in ("old_string", "new_string"))
    if call.delegates or (isinstance(old, str) and isinstance(new, str) and _only_a_version(old, new)):
        return ""
    effect = step_effect(step)
    if changed := next((each.file or step.tool for each in effect.changes if not each.file.endswith(_PROSE)), ""):
        return changed
    acts = call.kind is ToolKind.FUNCTION and call.effect is Effect.WRITE and not step.failed
    return effect.unknown or (step.tool if acts else "")


def _changed_by(text: str) -> str:
    effect = shell_effect(text)
    return effect.unknown or next((each.file or text for each in effect.changes if not each.file.endswith(_PROSE)), "")


def _only_a_version(old: str, new: str) -> bool:
    """Whether two texts differ in nothing but version numbers or commits."""
    return _VERSION.search(old) is not None and _VERSION.sub("#", old) == _VERSION.sub("#", new)


def is_named(trajectory: Trajectory, result: ServiceResult) -> bool:
    """Whether something else than the agent named what was asked: the person, an earlier output, or the deployment itself."""
    target, at = result.check.target, result.step.index
    user = "\n".join(
        [trajectory.task.text, *(s.text for s in trajectory.steps if s.role is Role.USER and s.index < at)]
    )
    if result.check.kind in (ServiceKind.CI, ServiceKind.MERGED):
        return not target or _is_of_this_push(trajectory, result, user)
    loopback = _LOOPBACK.fullmatch(target)
    word = (loopback["port"] or "") if loopback else target
    if word and _mentions(user, word):
        return True
    names = _names(" ".join(_deployed(trajectory, at, by_name=True)))
    if names & _names(target):
        return True
    for step in trajectory.actions:
        asked = command_of(step.tool, step.arguments)
        about = not names or loopback or names & _names(f"{asked} {step.arguments.get('file_path', '')}")
        if step.index < at and about and word and word not in asked and _mentions(step.observation, word):
            return True
    return (
        not names and not loopback and bool(_names(target) & _names(" ".join(_deployed(trajectory, at, by_name=False))))
    )


def _mentions(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?!\w|-(?!>))", text) is not None  # `0.0.0.0:8080->80/tcp` has 8080


def _is_of_this_push(trajectory: Trajectory, result: ServiceResult, user: str) -> bool:
    """Whether a run or pull request was first seen after the push; of several runs, that it is the newest."""
    number, at = result.check.target, result.step.index
    pushed = max((index for index in put_into_service(trajectory, result.check) if index <= at), default=at)
    if re.search(rf"(?:#|pull/|\bPR |\bpull request ){number}\b", user):
        return True
    seen = {True: "", False: ""}
    for step in trajectory.actions:
        if step.index < at:
            seen[step.index >= pushed] += f"\n{step.observation}"
    if "run" not in result.text.split("gh ", 1)[-1].split(" ")[0]:
        return bool(re.search(rf"pull/(?:new/)?{number}\b", seen[True])) and f"pull/{number}" not in seen[False]
    runs = [int(found) for found in re.findall(r"\b\d{6,}\b", seen[True])]
    return bool(runs) and int(number) == max(runs) and number not in seen[False]


def _deployed(trajectory: Trajectory, before: int, *, by_name: bool) -> Iterator[str]:
    """The words of the deployments up to a step: of those that name what they deploy, or of all, with the project's folder."""
    if not by_name:
        yield PurePosixPath(trajectory.environment.workspace).name
    for step in trajectory.actions:
        if step.index <= before:
            for command in commands_within(command_of(step.tool, step.arguments)):
                if deploys(command) and (not by_name or command.program in ("kubectl", "helm", "systemctl", "service")):
                    yield from command.words[1:]


def _names(text: str) -> set[str]:
    return {name.casefold() for name in re.findall(r"[A-Za-z][A-Za-z0-9]{2,}", text)} - _COMMON_NAMES


def merged_by_session(attempts: Sequence[Trajectory]) -> bool:
    """Whether a session merged a pull request itself."""
    return any(
        re.search(r"\bgh\b.*\bmerge\b|merge_?pull_?request|pulls/\d+/merge|\bgit push\b.*\b(?:main|master)\b", asked)
        for each in attempts
        for step in each.actions
        for asked in (f"{step.tool} {command_of(step.tool, step.arguments)}",)
    )


def acts_on_host(attempts: Sequence[Trajectory]) -> str:
    """A call that acts on a CI server or code host by more than a push or a pull request; empty if there is none."""
    for each in attempts:
        for step in each.actions:
            for command in commands_within(command_of(step.tool, step.arguments)):
                if command.program in ("gh", "glab") and not asks_only(command) and not service_check(command.text):
                    return command.text
    return ""
