"""ATIF v1.0 to v1.8 → trajectories, and back: one JSON document, a list of them, or one per line, plain or gzip.

One step per tool call; the step's message stands with its first call. A claimed outcome is kept as a claim; labels and
other extras are not read. What the format has no field for is written under `extra.tacit`, and from there it is read so
that it never makes a text more trusted. Decides nothing about whether a run succeeded, and redacts nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from tacit.domain.errors import InvalidTrajectory, Mistake
from tacit.domain.scope import Scope
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Claim, Environment, Role, Step, StepResult, Task, Trajectory, Usage
from tacit.ingest.log_files import (
    MAX_TEXT_CHARACTERS,
    KeyedReader,
    Part,
    Parts,
    Place,
    all_texts,
    amount_of,
    bounded,
    bounded_value,
    count_of,
    decode,
    holds_json,
    moment_of,
    text_of,
)
from tacit.ingest.session_log import documents_in

_NOTHING = msgspec.Raw(b"")


Message = str | list[dict[str, Any]] | None


class Details(msgspec.Struct, gc=False):
    """What producers write under `extra` about how a call ended: ATIF has no field of its own for it."""

    is_error: Any = None
    tool_result_is_error: Any = None
    tool_result_metadata: dict[str, Any] | None = None
    exit_code: Any = None

    @property
    def is_failure(self) -> bool:
        """Whether any of the known marks says so, or, where there is none, an exit code other than 0."""
        nested = self.tool_result_metadata or {}
        marks = (self.is_error, self.tool_result_is_error, nested.get("is_error"))
        unmarked = not any(isinstance(mark, bool) for mark in marks)
        return True in marks or (unmarked and type(self.exit_code) is int and self.exit_code != 0)


class Noted(msgspec.Struct, gc=False):
    """What is written under `extra.tacit` of a step."""

    role: str = ""
    result: str = ""
    skill: str = ""
    arguments: dict[str, Any] | None = None


class _NotedStep(msgspec.Struct, gc=False):
    tacit: Noted | None = None


_details = msgspec.json.Decoder(Details)
_noted = msgspec.json.Decoder(_NotedStep)
_NO_DETAILS = Details()
_OWN = "tacit"


class _Extended(msgspec.Struct, gc=False):
    extra: msgspec.Raw = _NOTHING

    @property
    def has_extra(self) -> bool:
        """Whether there is anything under `extra`."""
        return self.extra is not _NOTHING

    def details(self) -> Details:
        """Read the marks in `extra`; an extra of some other form has none."""
        try:
            return _details.decode(self.extra)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _NO_DETAILS


class AtifCall(msgspec.Struct, gc=False):
    """A tool call as the model made it."""

    function_name: str
    tool_call_id: str | None = None
    arguments: dict[str, Any] | str | None = None


class Result(_Extended, gc=False):
    """What came back, and from which call."""

    source_call_id: str | None = None
    content: Message = None


class Observation(msgspec.Struct, gc=False):
    """All that came back in one step."""

    results: list[Result] = []


class Recorded(_Extended, gc=False):
    """One recorded step: a message, or an agent's turn with its calls and what came back."""

    source: str = ""
    message: Message = None
    timestamp: str | None = None
    tool_calls: list[AtifCall] | None = None
    observation: Observation | None = None
    metrics: dict[str, Any] | None = None
    """What the step cost."""
    is_copied_context: bool | None = None


class AtifAgent(msgspec.Struct, gc=False):
    """Who ran."""

    name: str | None = None
    version: str | None = None
    model_name: str | None = None
    tool_definitions: list[Any] | None = None


class Versioned(msgspec.Struct, gc=False):
    """Only the version, for a document whose form is not understood."""

    schema_version: Any = None


class AtifDocument(msgspec.Struct, gc=False):
    """One run."""

    steps: list[Recorded]
    schema_version: Any = None
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: AtifAgent | None = None
    final_metrics: dict[str, Any] | None = None
    """What the whole run cost."""
    subagent_trajectories: list[msgspec.Raw] | None = None
    extra: Any = None


VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
_FAILURE_NOTE = "[error] tool reported failure"
_ROLES = {"system": Role.SYSTEM, "user": Role.USER, "agent": Role.AGENT}
_VERSION_KEY = re.compile(rb'"schema_version"\s*:\s*"ATIF')

_document = msgspec.json.Decoder(AtifDocument)
_versioned = msgspec.json.Decoder(Versioned)
_arguments = msgspec.json.Decoder(dict[str, Any])


class AtifReader(KeyedReader):
    """Reads files in the Agent Trajectory Interchange Format."""

    name = "atif"

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys of an ATIF document, be it of an unknown version."""
        if not holds_json(head, path):
            return False
        return _VERSION_KEY.search(head) is not None or (b'"steps"' in head and b'"agent"' in head)

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the trajectories of a file; a part that cannot be read is raised, and the next call goes on.

        A document does not grow, so it is always read from its beginning.
        """
        return Parts(_parts_of_file(path))


def from_documents(documents: Mapping[str, Any] | list[Any]) -> Parts:
    """Yield the trajectories of documents that are already in memory; problems as in `AtifReader.read`."""
    return Parts(_parts_in_memory(documents if isinstance(documents, list) else [documents]))


def _parts_in_memory(documents: list[Any]) -> Iterator[Part]:
    for number, document in enumerate(documents, start=1):
        place = Place("document in memory" if len(documents) == 1 else f"document {number} in memory")
        try:
            data = json.dumps(document, allow_nan=False, default=_as_dict).encode()
        except (TypeError, ValueError, RecursionError) as error:
            hint = "give a mapping of JSON's own types, as json.load returns it"
            yield place.problem(f"not a JSON document: {error}", code="not_json", hint=hint)
        else:
            yield from _parts_of_document(data, place)


def _as_dict(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _parts_of_file(path: Path) -> Iterator[Part]:
    for found in documents_in(path):
        if isinstance(found, InvalidTrajectory):
            yield found
        else:
            yield from _parts_of_document(*found)


def _parts_of_document(data: bytes | msgspec.Raw, place: Place) -> Iterator[Part]:
    """Yield a document's trajectory and then those of its subagents, which may have subagents of their own."""
    waiting: list[tuple[bytes | msgspec.Raw, str]] = [(data, "")]
    while waiting:
        text, parent = waiting.pop(0)
        try:
            document = _decoded(text, place, embedded=bool(parent))
            trajectory = _trajectory(document, place, parent)
        except InvalidTrajectory as problem:
            yield problem
            continue
        yield trajectory
        own = trajectory.session_id or trajectory.id
        waiting += [(sub, own) for sub in document.subagent_trajectories or ()]


def _decoded(data: bytes | msgspec.Raw, place: Place, *, embedded: bool) -> AtifDocument:
    try:
        document = decode(_document, data, place)
    except InvalidTrajectory:
        # A document of another version has another form; its version is then the better answer.
        _check_version(decode(_versioned, data, place).schema_version, place, embedded=embedded)
        raise
    _check_version(document.schema_version, place, embedded=embedded)
    return document


def _check_version(version: Any, place: Place, *, embedded: bool) -> None:
    if version in VERSIONS or (embedded and version is None):
        return
    hint = f"ATIF-v1.0 to {VERSIONS[-1]} are read; export the document again in one of these"
    if version is None:
        raise place.problem("the document has no schema_version", code="no_schema_version", hint=hint)
    raise place.problem(f"unknown schema_version {str(version)[:40]!r}", code="unknown_schema_version", hint=hint)


def _trajectory(document: AtifDocument, place: Place, parent: str) -> Trajectory:
    steps: list[Step] = []
    asked = copied = ""
    for recorded in document.steps:
        text, role = _text(recorded.message), _ROLES.get(recorded.source)
        if role is None:
            hint = "a step's source is system, user or agent"
            raise place.problem(f"unknown step source {recorded.source[:40]!r}", code="unknown_step_source", hint=hint)
        if role is Role.USER and recorded.is_copied_context:
            copied = copied or text
        elif role is Role.SYSTEM and steps:
            role = Role.CONTEXT  # what a host puts in later is no system prompt
        elif role is Role.USER:
            asked = asked or text
            # What a subagent is asked comes from another agent, so no person vouches for it.
            role = Role.CONTEXT if parent else role
        steps += _restored(recorded, role, text, _steps(recorded, role, text, place, first=len(steps)), len(steps))
    names = [document.session_id or "", document.trajectory_id or ""]
    if parent:
        # A subagent may carry its parent's session_id; its own trajectory_id tells it apart.
        names = [name for name in reversed(names) if name != parent]
    found = Trajectory(
        task=Task(text=(asked or copied).strip(), by="agent" if parent else ""),
        steps=tuple(steps),
        environment=_environment(document.agent),
        claim=_claim(document.extra),
        session_id=next(filter(None, names), ""),
        parent_session_id=parent,
        usage=_usage(document),
        source=place.whole_source,
    )
    own = document.extra.get(_OWN) if isinstance(document.extra, dict) else None
    return (
        _with_own(replace(found, session_id=document.session_id or "", id=""), own) if isinstance(own, dict) else found
    )


def _restored(recorded: Recorded, role: Role, text: str, steps: list[Step], first: int) -> list[Step]:
    """Give a step back what was written under its `extra.tacit`."""
    try:
        noted = _noted.decode(recorded.extra).tacit if recorded.has_extra else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        noted = None
    if noted is None or len(steps) > 1:
        return steps
    step = steps[0] if steps else Step(index=first, role=role, text=text, at=moment_of(recorded.timestamp))
    if step.is_action:
        result = StepResult(noted.result) if noted.result in set(StepResult) else step.result
        return [replace(step, result=result, skill=bounded(noted.skill))]
    if noted.role == Role.CONTEXT:
        step = replace(step, role=Role.CONTEXT, arguments=bounded_value(noted.arguments or {}, Place("")))
    return [replace(step, skill=bounded(noted.skill))]


def _with_own(found: Trajectory, own: dict[str, Any]) -> Trajectory:
    """Give a trajectory back what was written under the document's `extra.tacit`."""
    text, scope = {key: bounded(text_of(value)) for key, value in own.items()}, found.task.scope
    with suppress(Mistake):
        scope = Scope.parse(text.get("scope", ""))
    task = Task(text=text.get("task", ""), project=text.get("project", ""), by=text.get("by", ""), scope=scope)
    environment = replace(found.environment, workspace=text.get("workspace", ""), branch=text.get("branch", ""))
    return replace(
        found,
        task=replace(task, by=found.task.by) if found.parent_session_id else task,
        environment=environment,
        parent_session_id=found.parent_session_id or text.get("parent_session_id", ""),
        reply=text.get("reply", ""),
        id="",
    )


def to_document(trajectory: Trajectory) -> dict[str, Any]:
    """Return a trajectory as an ATIF document, which reads back as the same trajectory."""
    task, place, usage = trajectory.task, trajectory.environment, trajectory.usage
    own = {
        "task": task.text,
        "project": task.project,
        "by": task.by,
        "scope": str(task.scope),
        "workspace": place.workspace,
        "branch": place.branch,
        "parent_session_id": trajectory.parent_session_id,
        "reply": trajectory.reply,
    }
    claim = trajectory.claim
    claimed = {"result": claim.result, "score": claim.score, "verified_by": claim.verified_by} if claim else {}
    tools = [{"type": "function", "function": {"name": name}} for name in place.tools]
    return {
        "schema_version": VERSIONS[-1],
        "session_id": trajectory.session_id,
        "trajectory_id": trajectory.id,
        "agent": {
            "name": place.client,
            "version": place.client_version,
            "model_name": place.model or None,
            "tool_definitions": tools or None,
        },
        "steps": [_step_document(step) for step in trajectory.steps],
        "final_metrics": {
            "total_prompt_tokens": usage.input_tokens,
            "total_completion_tokens": usage.output_tokens,
            "total_cached_tokens": usage.cached_tokens,
            "total_cost_usd": usage.cost_usd,
        },
        "extra": {**claimed, _OWN: {key: value for key, value in own.items() if value}},
    }


_SOURCES = {Role.USER: "user", Role.AGENT: "agent"}


def _step_document(step: Step) -> dict[str, Any]:
    noted: dict[str, Any] = {"skill": step.skill} if step.skill else {}
    document: dict[str, Any] = {
        "step_id": step.index + 1,
        "source": _SOURCES.get(step.role, "system"),
        "message": step.text,
    }
    if step.at:
        document["timestamp"] = step.at.isoformat()
    if step.is_action:
        call_id = f"call_{step.index + 1}"
        call = {"tool_call_id": call_id, "function_name": step.tool, "arguments": dict(step.arguments)}
        document["tool_calls"] = [call]
        noted["result"] = str(step.result)
        result: dict[str, Any] = {"source_call_id": call_id, "content": step.observation}
        marks = {"exit_code": step.exit_code} if step.exit_code is not None else {}
        if extra := marks | ({"is_error": True} if step.failed else {}):
            result["extra"] = extra
        if step.observation or extra or step.result is not StepResult.UNKNOWN:
            document["observation"] = {"results": [result]}
    else:
        noted |= {"role": str(step.role)}
        noted |= {"arguments": dict(step.arguments)} if step.arguments else {}
        if step.observation:
            document["observation"] = {"results": [{"content": step.observation}]}
    return document | ({"extra": {_OWN: noted}} if noted else {})


def _steps(recorded: Recorded, role: Role, text: str, place: Place, *, first: int) -> list[Step]:
    at = moment_of(recorded.timestamp)
    if recorded.is_copied_context:
        return [Step(index=first, role=Role.CONTEXT, text=text, at=at)] if text else []
    results = recorded.observation.results if recorded.observation else []
    calls = recorded.tool_calls
    if not calls:
        observation = _joined(results)
        step = Step(index=first, role=role, text=text, observation=observation, at=at)
        return [step] if text or observation else []
    # A mark on the whole step says which call it means only if there is one.
    flagged = len(calls) == 1 and recorded.has_extra and recorded.details().is_failure
    matched = [results] if len(calls) == 1 else _matched(calls, results)
    steps: list[Step] = []
    for call, own in zip(calls, matched, strict=True):
        observation = _joined(own)
        result, exit_code = _outcome(own, observation, flagged=flagged) if own else (StepResult.UNKNOWN, None)
        step = Step(
            index=first + len(steps),
            role=Role.AGENT,
            text="" if steps else text,
            tool=bounded(call.function_name) or "unknown",
            arguments=_arguments_of(call, place),
            observation=observation,
            result=result,
            exit_code=exit_code,
            at=at,
        )
        steps.append(step)
    return steps


def _arguments_of(call: AtifCall, place: Place) -> dict[str, Any]:
    """Read arguments, also those that a client left as the JSON text the model wrote; other text is one argument."""
    given = call.arguments
    if isinstance(given, str):
        try:
            given = decode(_arguments, given.encode(), Place(""))
        except InvalidTrajectory:
            given = {"input": given}
    return bounded_value(given, place) if given else {}


def _matched(calls: list[AtifCall], results: list[Result]) -> list[list[Result]]:
    """Give each call its results: by call id, and what names no known call in order of the calls left over."""
    places: dict[str, int] = {}
    for index, call in enumerate(calls):
        if call.tool_call_id:
            places.setdefault(call.tool_call_id, index)
    matched: list[list[Result]] = [[] for _ in calls]
    unnamed: list[Result] = []
    for result in results:
        index = places.get(result.source_call_id or "", -1)
        (matched[index] if index >= 0 else unnamed).append(result)
    free = [entry for entry in matched if not entry]
    for order, result in enumerate(unnamed):
        (free[order] if order < len(free) else matched[-1]).append(result)
    return matched


def _outcome(results: list[Result], observation: str, *, flagged: bool) -> tuple[StepResult, int | None]:
    noted = flagged or (_FAILURE_NOTE in observation and observation.rstrip().endswith(_FAILURE_NOTE))
    details = [result.details() for result in results if result.has_extra]
    if not details:
        return StepResult.FAILED if noted else StepResult.OK, None
    code = next((entry.exit_code for entry in details if type(entry.exit_code) is int), None)
    if code is not None and abs(code) >= 2**31:
        code = None
    if noted or any(entry.is_failure for entry in details):
        return StepResult.FAILED, code
    return StepResult.OK, code


def _joined(results: list[Result]) -> str:
    if len(results) == 1:
        return _text(results[0].content)
    return bounded("\n".join(filter(None, (_text(result.content) for result in results))))


def _text(message: Message) -> str:
    """Give a message as text; pictures and sounds become a short note."""
    if isinstance(message, str):
        return message if len(message) <= MAX_TEXT_CHARACTERS else bounded(message)
    if not message:
        return ""
    return bounded("\n".join(text for part in message for text in all_texts(part)))


def _environment(agent: AtifAgent | None) -> Environment:
    if agent is None:
        return Environment()
    named = [tool.get("function", tool) for tool in agent.tool_definitions or () if isinstance(tool, dict)]
    names = (bounded(text_of(tool.get("name"))) for tool in named if isinstance(tool, dict))
    return Environment(
        client=agent.name or "",
        client_version=agent.version or "",
        model=agent.model_name or "",
        tools=tuple(dict.fromkeys(filter(None, names))),
    )


def _claim(extra: Any) -> Claim | None:
    if not isinstance(extra, dict):
        return None
    result, score = text_of(extra.get("result")), amount_of(extra.get("score"))
    if not result and score is None:
        return None
    return Claim(result=bounded(result), score=score, verified_by=bounded(text_of(extra.get("verified_by"))))


def _usage(document: AtifDocument) -> Usage:
    """Take the document's totals; without them the sum over its steps."""
    total = document.final_metrics
    steps = [step.metrics for step in document.steps if step.metrics and not step.is_copied_context]

    def values(name: str) -> list[Any]:
        return [step.get(name) for step in steps] if total is None else [total.get(f"total_{name}")]

    costs = [cost for value in values("cost_usd") if (cost := amount_of(value)) is not None]
    return Usage(
        input_tokens=sum(map(count_of, values("prompt_tokens"))),
        output_tokens=sum(map(count_of, values("completion_tokens"))),
        cached_tokens=sum(map(count_of, values("cached_tokens"))),
        cost_usd=sum(costs) if costs else None,
    )
