"""Applies a model's answers: rewords a candidate, keeps the wording of an earlier version, and reads proposed lessons.

Tools, arguments, order, conditions, kind and links stay as mined. Name and description are replaced; other wording is added
to the mined text. What fails a check is left out with a remark.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.skill import Kind, Parameter, Pitfall, Provenance, SkillContent, SkillStep, SkillVersion
from tacit.domain.trajectory import Origin, Span, Trajectory, lowest
from tacit.learn.language.answer_checks import FAULT_TEXT, AnswerCheck, AnswerFault, name_fault, text_fault
from tacit.learn.parameters import generalise
from tacit.learn.values import FieldOrigins, Timeline, action_spans
from tacit.learn.wording import MAX_DESCRIPTION, category_of, slug, step_text, tags_of
from tacit.text.tool_calls import Effect, ToolCall, tool_calls

ANSWER = "answer"
"""The field of a remark on the whole answer."""
_MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRemark:
    """Why a text of the model was refused or is missing."""

    skill: str
    field: str
    reason: CodedReason

    @property
    def text(self) -> str:
        """The remark as a sentence."""
        why = FAULT_TEXT[AnswerFault(self.reason.code)].format(**self.reason.values)
        return f"The model's {self.field} for `{self.skill}` {why}."


@dataclass(slots=True)
class _Draft:
    """A rewording in progress."""

    candidate: Candidate
    check: AnswerCheck
    content: SkillContent
    origins: dict[str, Origin]
    grounding: dict[str, tuple[Span, ...]]
    remarks: list[ModelRemark] = field(default_factory=list)
    changed: bool = False

    def accepts(self, path: str, fault: CodedReason | None) -> bool:
        """Record a fault, if there is one, and return whether the text may be used."""
        if fault:
            self.remarks.append(ModelRemark(skill=self.candidate.content.name, field=path, reason=fault))
        return fault is None

    def write(self, path: str, **changes: Any) -> None:
        """Change the content and lower the origin of the field to that of the material."""
        self.content = dataclasses.replace(self.content, **changes)
        self.origins[path] = lowest((self.origins.get(path, Origin.EXTERNAL), self.check.material.origin))
        self.changed = True


def reword(
    candidate: Candidate, answer: Mapping[str, Any], *, check: AnswerCheck, renames: bool
) -> tuple[Candidate, tuple[ModelRemark, ...]]:
    """Use the parts of a model's answer that pass the checks; `renames`: nothing refers to the candidate by name."""
    draft = _Draft(
        candidate=candidate,
        check=check,
        content=candidate.content,
        origins=dict(candidate.origins),
        grounding=dict(candidate.provenance.grounding),
    )
    if renames:
        _reword_name(draft, answer.get("name"))
    _reword_description(draft, answer.get("description"), answer.get("when"))
    _reword_steps(draft, answer.get("steps"))
    _reword_parameters(draft, answer.get("parameters"))
    _reword_pitfalls(draft, answer.get("pitfalls"))
    if not draft.changed:
        return candidate, tuple(draft.remarks)
    provenance = dataclasses.replace(candidate.provenance, grounding=draft.grounding)
    made = dataclasses.replace(candidate, content=draft.content, origins=draft.origins, provenance=provenance)
    return made, tuple(draft.remarks)


def _reword_name(draft: _Draft, name: Any) -> None:
    if not isinstance(name, str) or name in ("", draft.content.name):
        return
    if draft.accepts("name", name_fault(name, draft.check)):
        draft.write("name", name=name)


def _reword_description(draft: _Draft, description: Any, when: Any) -> None:
    """Replace the description; the mined one becomes an example query, so that it is still found."""
    sentences = [
        _sentence(text)
        for path, text in (("description", description), ("when", when))
        if isinstance(text, str) and text.strip() and draft.accepts(path, _text_fault(draft, text, least=12, most=300))
    ]
    if not sentences:
        return
    mined, examples = draft.content.description, draft.content.example_queries
    text = " ".join(
        sentences if isinstance(description, str) and _sentence(description) in sentences else [mined, *sentences]
    )
    if mined not in examples and mined not in text and len(examples) < _MAX_EXAMPLES:
        path = f"example_queries.{len(examples)}"
        draft.origins[path] = lowest(o for at, o in draft.origins.items() if at == "description")
        draft.grounding[path] = draft.grounding.get("description", ())
        draft.content = dataclasses.replace(draft.content, example_queries=(*examples, mined))
    draft.write("description", description=text[:MAX_DESCRIPTION])


def _reword_steps(draft: _Draft, wordings: Any) -> None:
    steps = list(draft.content.steps)
    for number, purpose in _numbered_entries(wordings, "purpose", of=len(steps)):
        path = f"steps.{number}"
        if draft.accepts(path, _text_fault(draft, purpose, least=8, most=200)):
            mined: SkillStep = steps[number]
            steps[number] = dataclasses.replace(mined, text=f"{_sentence(purpose)} {mined.text}")
            draft.write(path, steps=tuple(steps))


def _reword_parameters(draft: _Draft, wordings: Any) -> None:
    places = {parameter.name: number for number, parameter in enumerate(draft.content.parameters)}
    found: list[Parameter] = list(draft.content.parameters)
    for entry in _entries(wordings):
        name, meaning = entry.get("name"), entry.get("meaning")
        number = places.pop(name, None) if isinstance(name, str) else None
        if number is None or not isinstance(meaning, str):
            continue
        path, mined = f"parameters.{number}", found[number].description
        text = meaning.strip(" .,;:")
        if text.casefold() in mined.casefold():  # nothing new, or empty
            continue
        if draft.accepts(path, _text_fault(draft, text, least=3, most=160)):
            text = f"{text}; {mined}" if mined else text
            found[number] = dataclasses.replace(found[number], description=text)
            draft.write(path, parameters=tuple(found))


def _reword_pitfalls(draft: _Draft, wordings: Any) -> None:
    found: list[Pitfall] = list(draft.content.pitfalls)
    for number, why in _numbered_entries(wordings, "why", of=len(found)):
        path = f"pitfalls.{number}"
        if draft.accepts(path, _text_fault(draft, why, least=8, most=240)):
            found[number] = dataclasses.replace(found[number], text=f"{_sentence(found[number].text)} {_sentence(why)}")
            draft.write(path, pitfalls=tuple(found))


def _text_fault(draft: _Draft, text: str, *, least: int, most: int) -> CodedReason | None:
    return text_fault(text.strip(), draft.check, least=least, most=most)


def _numbered_entries(wordings: Any, key: str, *, of: int) -> Iterator[tuple[int, str]]:
    """Yield the entries that exist, once each, as position and text."""
    seen: set[int] = set()
    for entry in _entries(wordings):
        number, text = entry.get("number"), entry.get(key)
        if type(number) is int and 1 <= number <= of and number not in seen and isinstance(text, str) and text.strip():
            seen.add(number)
            yield number - 1, text


def _entries(wordings: Any) -> list[dict[str, Any]]:
    return [entry for entry in wordings if isinstance(entry, dict)] if isinstance(wordings, list) else []


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "!", "?")) else f"{stripped}."


def keep_wording(candidate: Candidate, version: SkillVersion) -> Candidate:
    """Give a candidate the wording of a version, if a model worded it and both do the same."""
    mined, known = candidate.content, version.content
    if not version.provenance.model or not does_the_same(mined, known):
        return candidate
    content = dataclasses.replace(
        mined,
        name=known.name,
        description=known.description,
        example_queries=tuple(dict.fromkeys((*mined.example_queries, *known.example_queries))),
        steps=tuple(
            dataclasses.replace(step, text=worded.text) for step, worded in zip(mined.steps, known.steps, strict=True)
        ),
        parameters=tuple(
            dataclasses.replace(parameter, description=worded.description)
            for parameter, worded in zip(mined.parameters, known.parameters, strict=True)
        ),
        pitfalls=tuple(_kept_pitfall(pitfall, known) for pitfall in mined.pitfalls),
    )
    changed = [path for path in _worded_paths(content) if _field_value(content, path) != _field_value(mined, path)]
    before = {path: _origin(version, _earlier_path(content, path, known)) for path in changed}
    origins = {path: lowest((origin, candidate.origins.get(path, origin))) for path, origin in before.items()}
    grounding = {path: version.provenance.grounding.get(_earlier_path(content, path, known), ()) for path in changed}
    provenance = dataclasses.replace(
        candidate.provenance,
        grounding={**grounding, **candidate.provenance.grounding},
        model=version.provenance.model,
        prompt_version=version.provenance.prompt_version,
    )
    return dataclasses.replace(
        candidate, content=content, origins={**candidate.origins, **origins}, provenance=provenance
    )


def does_the_same(one: SkillContent, other: SkillContent) -> bool:
    """Whether two contents differ only in words and counts; for a lesson the tags are its result."""

    def _comparable(content: SkillContent) -> object:
        calls = [(step.tool, dict(step.arguments), step.optional) for step in content.steps]
        inputs = [(each.name, each.type, each.reading, each.key) for each in content.parameters]
        return content.kind, calls, inputs, set(content.tags) if content.kind is Kind.LESSON else set()

    return _comparable(one) == _comparable(other)


def _kept_pitfall(pitfall: Pitfall, known: SkillContent) -> Pitfall:
    """Return the pitfall with the explanation of the version, if it has one."""
    stem = pitfall.text.rstrip(".!? ")
    worded = (each.text for each in known.pitfalls if each.kind == pitfall.kind and each.text.startswith(stem))
    return dataclasses.replace(pitfall, text=next(worded, pitfall.text))


def _worded_paths(content: SkillContent) -> list[str]:
    numbered = ("steps", "parameters", "pitfalls", "example_queries")
    return ["name", "description", *(f"{name}.{n}" for name in numbered for n in range(len(getattr(content, name))))]


def _field_value(content: SkillContent, path: str) -> object:
    """Return the value of a field, or of one entry of a list; None where there is no such entry."""
    name, _, number = path.partition(".")
    value = getattr(content, name)
    if not number:
        return value
    return value[int(number)] if int(number) < len(value) else None


def _earlier_path(content: SkillContent, path: str, known: SkillContent) -> str:
    """Return where the wording of a field is in its version; lists may be ordered differently."""
    name = path.partition(".")[0]
    if name not in ("pitfalls", "example_queries"):
        return path
    earlier = [_entry_text(entry) for entry in getattr(known, name)]
    text = _entry_text(_field_value(content, path))
    return f"{name}.{earlier.index(text)}" if text in earlier else path


def _entry_text(entry: object) -> object:
    """Return the text of a pitfall or example query, without the count of a pitfall."""
    return entry.text if isinstance(entry, Pitfall) else entry


def _origin(version: SkillVersion, path: str) -> Origin:
    """Return the origin of a field in a version, or the lowest of its parts; unknown is external."""
    parts = [origin for at, origin in version.origins.items() if at == path or at.startswith(f"{path}.")]
    return lowest(parts) if parts else version.origins.get(path.partition(".")[0], Origin.EXTERNAL)


MADE_BY = "tacit.synthesis.language/1"
_MAX_PROPOSALS = 3
_WORDED = ("name", "description", "category")
_UNTRIED = Assessment(reason="a language model proposed it from records; no attempt has tried it")


def proposals(
    candidate: Candidate, answer: Mapping[str, Any], *, check: AnswerCheck, trajectories: Mapping[str, Trajectory]
) -> tuple[tuple[Candidate, ...], tuple[ModelRemark, ...]]:
    """Return the proposals of a model's answer that pass the checks."""
    made: list[Candidate] = []
    remarks: list[ModelRemark] = []
    listed = answer.get("lessons")
    for entry in [e for e in listed if isinstance(e, dict)][:_MAX_PROPOSALS] if isinstance(listed, list) else []:
        found = _proposal(entry, candidate, check=check, trajectories=trajectories)
        if isinstance(found, CodedReason):
            remarks.append(ModelRemark(skill=candidate.content.name, field="proposal", reason=found))
        else:
            made.append(found)
    return tuple(made), tuple(remarks)


def _proposal(
    entry: Mapping[str, Any], candidate: Candidate, *, check: AnswerCheck, trajectories: Mapping[str, Trajectory]
) -> Candidate | CodedReason:
    """Return one proposal, or what is wrong with it."""
    title, lesson, cited = entry.get("title"), entry.get("lesson"), entry.get("spans")
    if not isinstance(title, str) or not isinstance(lesson, str) or not isinstance(cited, list):
        return coded(AnswerFault.BAD_FORM)
    known = check.material.spans
    if not cited or any(not isinstance(each, str) or each not in known for each in cited):
        return coded(AnswerFault.UNKNOWN_RECORD)
    name = slug(title.split())
    fault = name_fault(name, check) or text_fault(lesson.strip(), check, least=20, most=300)
    if fault:
        return fault
    spans = tuple(dict.fromkeys(known[each] for each in cited))
    source = trajectories[spans[0].trajectory_id]
    own = [span for span in spans if span.trajectory_id == source.id]
    done = [action for action in tool_calls(source) if _is_cited(action, own)]
    if not done:
        return coded(AnswerFault.NO_WORKING_CALL)
    return _proposed_candidate(candidate, (name, lesson.strip()), actions=done, spans=own, check=check, source=source)


def _is_cited(action: ToolCall, spans: Sequence[Span]) -> bool:
    cited = any(span.step == action.index and span.part == "arguments" for span in spans)
    return cited and action.surely_worked and action.effect is not Effect.INTERNAL


def _proposed_candidate(
    mined: Candidate,
    words: tuple[str, str],
    *,
    actions: Sequence[ToolCall],
    spans: Sequence[Span],
    check: AnswerCheck,
    source: Trajectory,
) -> Candidate:
    timeline, field_origins = Timeline(source), FieldOrigins(source)
    general = generalise(actions, timeline, workspace=source.environment.workspace)
    steps: list[SkillStep] = []
    for number, action in enumerate(actions):
        arguments = general.arguments(action.step.arguments)
        steps.append(SkillStep(text=step_text(action, arguments), tool=action.step.tool, arguments=arguments))
        called = action_spans(action, timeline, arguments=arguments, workspace=source.environment.workspace)
        for path in (f"steps.{number}", f"steps.{number}.arguments"):
            field_origins.add_spans(path, called)
    for number, binding in enumerate(general.bindings):
        field_origins.add_spans(f"parameters.{number}", [Span(source.id, binding.place.step, binding.part)])
    for path in _WORDED:
        field_origins.add_spans(path, spans)
    field_origins.add_spans("tags", [Span(source.id, action.index, "tool") for action in actions])
    name, lesson = words
    return Candidate(
        content=SkillContent(
            kind=Kind.LESSON,
            name=name,
            description=lesson,
            category=category_of(name.replace("-", " "), actions),
            tags=tags_of(actions),
            steps=tuple(steps),
            parameters=general.parameters,
        ),
        scope=mined.scope,
        origins=field_origins.origins | dict.fromkeys(_WORDED, check.material.origin),
        provenance=Provenance(trajectory_ids=(source.id,), grounding=field_origins.spans, made_by=MADE_BY),
        assessment=_UNTRIED,
    )
