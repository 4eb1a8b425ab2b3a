"""A candidate and a model's words for it → the same candidate, better worded where the words hold.

Tools, arguments, order, conditions, kind and links stay as they were mined. The name and description are replaced; every
other wording is added to the mined one. Whatever does not hold is left out and remarked upon.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import Parameter, Pitfall, SkillContent, SkillStep
from tacit.domain.trajectory import Span
from tacit.learn.language.checks import Ground, name_fault, text_fault
from tacit.learn.naming import MAX_DESCRIPTION

ANSWER = "answer"
"""The field of a remark on the answer as a whole."""
_MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Why something that a model wrote, or should have written, is not there."""

    skill: str
    field: str
    reason: str

    @property
    def text(self) -> str:
        """The same as a sentence."""
        why = self.reason if self.field == ANSWER else f"was left out: it {self.reason}"
        return f"The model's {self.field} for `{self.skill}` {why}."


@dataclass(slots=True)
class _Draft:
    """A rewording in progress."""

    candidate: Candidate
    ground: Ground
    content: SkillContent
    origins: dict[str, Origin]
    grounding: dict[str, tuple[Span, ...]]
    remarks: list[Remark] = field(default_factory=list)
    changed: bool = False

    def accepts(self, path: str, fault: str) -> bool:
        """Note a fault, if there is one, and say whether the text may be taken."""
        if fault:
            self.remarks.append(Remark(skill=self.candidate.content.name, field=path, reason=fault))
        return not fault

    def write(self, path: str, **changes: Any) -> None:
        """Change the content, and lower the origin of the field to that of what the model read."""
        self.content = dataclasses.replace(self.content, **changes)
        self.origins[path] = lowest((self.origins.get(path, Origin.EXTERNAL), self.ground.material.origin))
        self.changed = True


def reworded(
    candidate: Candidate, answer: Mapping[str, Any], *, ground: Ground, renames: bool
) -> tuple[Candidate, tuple[Remark, ...]]:
    """Take from a model's answer what holds; `renames` says whether nothing else knows the candidate by its name."""
    draft = _Draft(
        candidate=candidate,
        ground=ground,
        content=candidate.content,
        origins=dict(candidate.origins),
        grounding=dict(candidate.provenance.grounding),
    )
    if renames:
        _name(draft, answer.get("name"))
    _description(draft, answer.get("description"), answer.get("when"))
    _steps(draft, answer.get("steps"))
    _parameters(draft, answer.get("parameters"))
    _pitfalls(draft, answer.get("pitfalls"))
    if not draft.changed:
        return candidate, tuple(draft.remarks)
    provenance = dataclasses.replace(candidate.provenance, grounding=draft.grounding)
    made = dataclasses.replace(candidate, content=draft.content, origins=draft.origins, provenance=provenance)
    return made, tuple(draft.remarks)


def _name(draft: _Draft, name: Any) -> None:
    if not isinstance(name, str) or name in ("", draft.content.name):
        return
    if draft.accepts("name", name_fault(name, draft.ground)):
        draft.write("name", name=name)


def _description(draft: _Draft, description: Any, when: Any) -> None:
    """Replace the description; the mined one stays among the example queries, where it can still be found."""
    said = [
        _sentence(text)
        for path, text in (("description", description), ("when", when))
        if isinstance(text, str) and text.strip() and draft.accepts(path, _fault(draft, text, least=12, most=300))
    ]
    if not said:
        return
    mined, examples = draft.content.description, draft.content.example_queries
    text = " ".join(said if isinstance(description, str) and _sentence(description) in said else [mined, *said])
    if mined not in examples and mined not in text and len(examples) < _MAX_EXAMPLES:
        path = f"example_queries.{len(examples)}"
        draft.origins[path] = lowest(o for at, o in draft.origins.items() if at == "description")
        draft.grounding[path] = draft.grounding.get("description", ())
        draft.content = dataclasses.replace(draft.content, example_queries=(*examples, mined))
    draft.write("description", description=text[:MAX_DESCRIPTION])


def _steps(draft: _Draft, wordings: Any) -> None:
    steps = list(draft.content.steps)
    for number, purpose in _numbered(wordings, "purpose", of=len(steps)):
        path = f"steps.{number}"
        if draft.accepts(path, _fault(draft, purpose, least=8, most=200)):
            mined: SkillStep = steps[number]
            steps[number] = dataclasses.replace(mined, text=f"{_sentence(purpose)} {mined.text}")
            draft.write(path, steps=tuple(steps))


def _parameters(draft: _Draft, wordings: Any) -> None:
    places = {parameter.name: number for number, parameter in enumerate(draft.content.parameters)}
    found: list[Parameter] = list(draft.content.parameters)
    for entry in _entries(wordings):
        name, meaning = entry.get("name"), entry.get("meaning")
        number = places.pop(name, None) if isinstance(name, str) else None
        if number is None or not isinstance(meaning, str):
            continue
        path, mined = f"parameters.{number}", found[number].description
        text = meaning.strip(" .,;:")
        if text.casefold() in mined.casefold():  # nothing new; also true of an empty text
            continue
        if draft.accepts(path, _fault(draft, text, least=3, most=160)):
            text = f"{text}; {mined}" if mined else text
            found[number] = dataclasses.replace(found[number], description=text)
            draft.write(path, parameters=tuple(found))


def _pitfalls(draft: _Draft, wordings: Any) -> None:
    found: list[Pitfall] = list(draft.content.pitfalls)
    for number, why in _numbered(wordings, "why", of=len(found)):
        path = f"pitfalls.{number}"
        if draft.accepts(path, _fault(draft, why, least=8, most=240)):
            found[number] = dataclasses.replace(found[number], text=f"{_sentence(found[number].text)} {_sentence(why)}")
            draft.write(path, pitfalls=tuple(found))


def _fault(draft: _Draft, text: str, *, least: int, most: int) -> str:
    return text_fault(text.strip(), draft.ground, least=least, most=most)


def _numbered(wordings: Any, key: str, *, of: int) -> Iterator[tuple[int, str]]:
    """Entries for what is there, each once, as position and text."""
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
