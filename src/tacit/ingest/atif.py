"""ATIF v1.0 to v1.8 → trajectories: one JSON document, a list of them, or one per line, plain or gzip.

One step per tool call; the step's message stands with its first call. A claimed outcome is kept as a claim; labels and
other extras are not read. Decides nothing about whether a run succeeded, and redacts nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Claim, Environment, Role, Step, StepResult, Task, Trajectory, Usage
from tacit.ingest.log_files import (
    MAX_TEXT_CHARACTERS,
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
        """Whether any of the known marks says so."""
        nested = self.tool_result_metadata or {}
        return True in (self.is_error, self.tool_result_is_error, nested.get("is_error"))


_details = msgspec.json.Decoder(Details)
_NO_DETAILS = Details()


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


class AtifReader:
    """Reads files in the Agent Trajectory Interchange Format."""

    name = "atif"

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys of an ATIF document, be it of an unknown version."""
        if not holds_json(head, path):
            return False
        return _VERSION_KEY.search(head) is not None or (b'"steps"' in head and b'"agent"' in head)

    def session_file(self, path: Path) -> Path | None:
        """Every document is read on its own."""
        return None

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
        steps += _steps(recorded, role, text, place, first=len(steps))
    names = [document.session_id or "", document.trajectory_id or ""]
    if parent:
        # A subagent may carry its parent's session_id; its own trajectory_id tells it apart.
        names = [name for name in reversed(names) if name != parent]
    return Trajectory(
        task=Task(text=(asked or copied).strip(), by="agent" if parent else ""),
        steps=tuple(steps),
        environment=_environment(document.agent),
        claim=_claim(document.extra),
        session_id=next(filter(None, names), ""),
        parent_session_id=parent,
        usage=_usage(document),
        source=place.whole_source,
    )


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
