"""A candidate that does what a worded version already does → the candidate in that version's words, without asking anybody.

Mining the same skill again must neither cost a call nor bring a person the same skill in other words. Only wording is
carried over; where the deed differs in any step or parameter, nothing is.
"""

from __future__ import annotations

import dataclasses

from tacit.domain.candidate import Candidate
from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import Kind, Pitfall, SkillContent, SkillVersion


def kept_wording(candidate: Candidate, version: SkillVersion) -> Candidate:
    """Word a candidate as a version is worded; as it is if no model worded that one, or if it does something else."""
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
        pitfalls=tuple(_kept(pitfall, known) for pitfall in mined.pitfalls),
    )
    changed = [path for path in _worded_paths(content) if _text(content, path) != _text(mined, path)]
    before = {path: _origin(version, _stood(content, path, known)) for path in changed}
    origins = {path: lowest((origin, candidate.origins.get(path, origin))) for path, origin in before.items()}
    grounding = {path: version.provenance.grounding.get(_stood(content, path, known), ()) for path in changed}
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
    """Whether two contents differ in nothing but words and counts; of a lesson the tags say what came of the call."""

    def deed(content: SkillContent) -> object:
        calls = [(step.tool, dict(step.arguments), step.optional) for step in content.steps]
        inputs = [(each.name, each.type, each.reading, each.key) for each in content.parameters]
        return content.kind, calls, inputs, set(content.tags) if content.kind is Kind.LESSON else set()

    return deed(one) == deed(other)


def _kept(pitfall: Pitfall, known: SkillContent) -> Pitfall:
    """The pitfall with the words that explain it, if the version has it."""
    stem = pitfall.text.rstrip(".!? ")
    worded = (each.text for each in known.pitfalls if each.kind == pitfall.kind and each.text.startswith(stem))
    return dataclasses.replace(pitfall, text=next(worded, pitfall.text))


def _worded_paths(content: SkillContent) -> list[str]:
    numbered = ("steps", "parameters", "pitfalls", "example_queries")
    return ["name", "description", *(f"{name}.{n}" for name in numbered for n in range(len(getattr(content, name))))]


def _text(content: SkillContent, path: str) -> object:
    name, _, number = path.partition(".")
    value = getattr(content, name)
    if not number:
        return value
    return value[int(number)] if int(number) < len(value) else None


def _stood(content: SkillContent, path: str, known: SkillContent) -> str:
    """Where the wording of a field stood in the version it is from; lists need not have the same order in both."""
    name = path.partition(".")[0]
    if name not in ("pitfalls", "example_queries"):
        return path
    words = [_words(entry) for entry in getattr(known, name)]
    said = _words(_text(content, path))
    return f"{name}.{words.index(said)}" if said in words else path


def _words(entry: object) -> object:
    return entry.text if isinstance(entry, Pitfall) else entry


def _origin(version: SkillVersion, path: str) -> Origin:
    """Origin of a field in a version, or the lowest of its parts; unknown counts as external."""
    parts = [origin for at, origin in version.origins.items() if at == path or at.startswith(f"{path}.")]
    return lowest(parts) if parts else version.origins.get(path.partition(".")[0], Origin.EXTERNAL)
