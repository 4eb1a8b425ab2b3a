"""The material that a model may see of a candidate and its attempts: quoted data, and the texts in it.

Everything is one JSON document between marks that it cannot write, limited in size, without hidden characters and secrets.
Answers are checked against its texts: `own` are trusted ones, `names` those whose names may be used, `all` also answers of
tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.skill import SkillContent
from tacit.domain.trajectory import Origin, Span, Step, Trajectory, lowest
from tacit.learn.values import FieldOrigins
from tacit.text.redaction import redact_value
from tacit.text.safe_markdown import clean

_MAX_TEXT = 400
_MAX_TASK = 600
"""Characters of a text, and of a task: larger ones tell the model more and cost more tokens."""
_MAX_TASKS = 3
_MAX_STEPS = 24
"""Steps of the skill, and entries of a list or mapping in an argument."""
_MAX_ATTEMPTS = 2
_MAX_RECORDED = 30
"""Attempts whose records are quoted, and steps of each."""
_MAX_BYTES = 16_000
"""Characters of all records together."""


@dataclass(frozen=True, slots=True)
class MaterialText:
    """A quoted text and its origin."""

    text: str
    origin: Origin
    names: bool = True
    """Whether an answer may use its names; not so the values of one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The quoted material, as a prompt and for the checks."""

    text: str
    pieces: tuple[MaterialText, ...]
    spans: Mapping[str, Span] = field(default_factory=dict)
    """Ids that an answer may cite."""

    @property
    def origin(self) -> Origin:
        """The origin of anything a model writes after reading this: the lowest of all, at most an agent's."""
        return lowest([Origin.AGENT, *(piece.origin for piece in self.pieces)])

    @property
    def own(self) -> str:
        """The texts that are not external."""
        return "\n".join(piece.text for piece in self.pieces if piece.origin is not Origin.EXTERNAL)

    @property
    def names(self) -> str:
        """Those whose tools, commands, files and addresses an answer may name."""
        return "\n".join(p.text for p in self.pieces if p.names and p.origin is not Origin.EXTERNAL)

    @property
    def all(self) -> str:
        """Every text."""
        return "\n".join(piece.text for piece in self.pieces)


def wording_material(candidate: Candidate, trajectories: Mapping[str, Trajectory]) -> Material:
    """Return the mined skill and its tasks, without answers of tools, which could instruct the model."""
    document, pieces = _skill_document(candidate)
    sources = _sources(candidate, trajectories)[:_MAX_TASKS]
    tasks = [_shortened(source.task.text, _MAX_TASK) for source in sources]
    pieces += [
        MaterialText(task, _task_origin(source), names=False) for task, source in zip(tasks, sources, strict=True)
    ]
    return Material(text=quote({"skill": document, "tasks": tasks}), pieces=tuple(pieces))


def records_material(candidate: Candidate, trajectories: Mapping[str, Trajectory]) -> Material | None:
    """Return the mined skill with records of its attempts, including answers of tools; nothing without attempts."""
    document, pieces = _skill_document(candidate)
    spans: dict[str, Span] = {}
    records: list[dict[str, Any]] = []
    room = _MAX_BYTES
    for number, source in enumerate(_sources(candidate, trajectories)[:_MAX_ATTEMPTS], start=1):
        entries: list[dict[str, Any]] = []
        for entry, found, quoted in _step_entries(source, number):
            room -= len(json.dumps(entry, default=str))
            if room < 0:
                break
            entries.append(entry)
            spans |= found
            pieces += quoted
        records.append({"task": _shortened(source.task.text, _MAX_TASK), "entries": entries})
        pieces.append(MaterialText(records[-1]["task"], _task_origin(source), names=False))
    if not spans:
        return None
    brief = {key: document[key] for key in ("name", "description")}
    brief["steps"] = [step["text"] for step in document["steps"]]
    return Material(text=quote({"skill": brief, "records": records}), pieces=tuple(pieces), spans=spans)


def quote(value: Any) -> str:
    """Return a value as JSON between marks that no text inside can write."""
    document = json.dumps(_without_hidden_characters(redact_value(value).value), ensure_ascii=False, default=str)
    inside = document.replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<material>\n{inside}\n</material>"


def _sources(candidate: Candidate, trajectories: Mapping[str, Trajectory]) -> list[Trajectory]:
    return [trajectories[each] for each in candidate.provenance.trajectory_ids if each in trajectories]


def _task_origin(trajectory: Trajectory) -> Origin:
    """Return the origin of the task: that of the step that states it; else the user, or an agent for a subagent."""
    task = trajectory.task.text.strip()
    stated = [step.origin_of("text") for step in trajectory.steps if not step.tool and task and task in step.text]
    return lowest(stated) if stated else Origin.AGENT if trajectory.parent_session_id else Origin.USER


def _skill_document(candidate: Candidate) -> tuple[dict[str, Any], list[MaterialText]]:
    """Return the mined skill as a document, and its texts with their origins."""
    content = candidate.content
    document: dict[str, Any] = {
        "kind": str(content.kind),
        "name": content.name,
        "description": _shortened(content.description, _MAX_TASK),
        "steps": [
            {
                "number": number,
                "text": _shortened(step.text),
                "tool": step.tool,
                "arguments": _shortened_value(step.arguments),
            }
            for number, step in enumerate(content.steps[:_MAX_STEPS], start=1)
        ],
        "parameters": [
            {"name": p.name, "meaning": _shortened(p.description), "example": p.example} for p in content.parameters
        ],
        "conditions": list(_conditions(content)),
        "pitfalls": [{"number": n, "text": _shortened(p.text)} for n, p in enumerate(content.pitfalls, start=1)],
        "error": _shortened(content.signature),
        "notes": _shortened(content.body, _MAX_TASK),
    }
    # These two repeat text of tools; the skill can be worded without them.
    for key, path in (("error", "signature"), ("notes", "body")):
        if _origin(candidate, path) is Origin.EXTERNAL:
            document[key] = ""
    shown_fields = (*_content_fields(content), ("signature", document["error"]), ("body", document["notes"]))
    pieces = [MaterialText(text, _origin(candidate, path)) for path, text in shown_fields if text]
    examples = enumerate(content.parameters)
    pieces += [
        MaterialText(p.example, _origin(candidate, f"parameters.{n}"), names=False) for n, p in examples if p.example
    ]
    return {key: value for key, value in document.items() if value or key == "steps"}, pieces


def _content_fields(content: SkillContent) -> Iterator[tuple[str, str]]:
    """Yield the texts of a skill, each with the path of its field."""
    yield from (("name", content.name.replace("-", " ")), ("name", content.name))
    yield from (("description", content.description), ("category", content.category))
    for number, step in enumerate(content.steps):
        yield f"steps.{number}", f"{step.text}\n{step.tool}\n{step.tool.replace('_', ' ')}"
        yield f"steps.{number}", json.dumps(_shortened_value(step.arguments), ensure_ascii=False, default=str)
    for number, parameter in enumerate(content.parameters):
        yield f"parameters.{number}", f"{{{parameter.name}}} {parameter.name.replace('_', ' ')} {parameter.description}"
    for name in ("preconditions", "postconditions", "pitfalls", "example_queries", "tags"):
        for number, entry in enumerate(getattr(content, name)):
            yield f"{name}.{number}", entry if isinstance(entry, str) else entry.text
    for number, case in enumerate(content.cases):
        yield from ((f"cases.{number}", condition.text) for condition in case.conditions)


def _conditions(content: SkillContent) -> Iterator[str]:
    for condition in (
        *content.preconditions,
        *content.postconditions,
        *(c for case in content.cases for c in case.conditions),
    ):
        yield _shortened(condition.text)


def _origin(candidate: Candidate, path: str) -> Origin:
    """Return the origin of a field: its own, that of its whole, or the lowest of its parts."""
    whole = path.partition(".")[0]
    own = [origin for at, origin in candidate.origins.items() if at in (path, whole) or at.startswith(f"{path}.")]
    return lowest(own)


def _step_entries(
    trajectory: Trajectory, number: int
) -> Iterator[tuple[dict[str, Any], dict[str, Span], list[MaterialText]]]:
    """Yield the steps: quoted, with span ids and texts."""
    field_origins = FieldOrigins(trajectory)
    shown = [step for step in trajectory.steps if step.tool or step.text][:_MAX_RECORDED]
    for step in shown:
        at = f"{number}.{step.index}"
        entry = _step_entry(step, at)
        parts = {at: "arguments" if step.tool else "text"} | ({f"{at}.out": "observation"} if "answer" in entry else {})
        spans = {name: Span(trajectory.id, step.index, part) for name, part in parts.items()}
        texts = (json.dumps(entry.get("arguments", ""), ensure_ascii=False) + f"\n{step.tool}", entry.get("answer", ""))
        if not step.tool:
            texts = (entry["text"], "")
        pieces = [
            MaterialText(text, field_origins.origin_of(span)) for text, span in zip(texts, spans.values(), strict=False)
        ]
        yield entry, spans, pieces


def _step_entry(step: Step, at: str) -> dict[str, Any]:
    if not step.tool:
        return {"id": at, "who": str(step.role), "text": _shortened(step.text)}
    entry: dict[str, Any] = {"id": at, "who": "agent", "tool": step.tool, "arguments": _shortened_value(step.arguments)}
    entry["ended"] = str(step.result)
    if step.observation:
        entry |= {"answer_id": f"{at}.out", "answer": _shortened(step.observation)}
    return entry


def _shortened(text: str, limit: int = _MAX_TEXT) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _shortened_value(value: Any) -> Any:
    if isinstance(value, str):
        return _shortened(value)
    if isinstance(value, Mapping):
        return {str(key): _shortened_value(item) for key, item in list(value.items())[:_MAX_STEPS]}
    if isinstance(value, Sequence):
        return [_shortened_value(item) for item in value[:_MAX_STEPS]]
    return value


def _without_hidden_characters(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _without_hidden_characters(item) for key, item in value.items()}
    return [_without_hidden_characters(item) for item in value] if isinstance(value, list | tuple) else value
