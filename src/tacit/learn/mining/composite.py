"""Attempts at one kind of task that were made of several units → a composite: the parts in order, each with its case.

A composite has no calls of its own: it says what to look at first, which parts there are and when each is needed. Its
parts are skills that stand for themselves. Fewer than three attempts of a kind make none.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.scope import Scope
from tacit.domain.skill import Condition, Kind, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Span
from tacit.learn.mining.candidates import MADE_BY, Grounds, examples_of, free_name, task_spans, weakest
from tacit.learn.mining.study import Study
from tacit.learn.mining.units import MIN_SUPPORT
from tacit.learn.naming import MAX_DESCRIPTION, slug
from tacit.learn.wording import code, shorten
from tacit.text.words import STOP_WORDS, term_set

MAX_COMPARED = 400
ALIKE = 0.6
"""Tasks that share this part of their words are of one kind."""
_NAME_WORDS = 5
_SPANS = 5
_MAX_PARTS = 24
_MAX_TASK = 160


@dataclass(slots=True)
class _Kind:
    """Attempts at one kind of task."""

    words: frozenset[str]
    members: list[str]


def composites(
    study: Study, parts: Mapping[str, Candidate], order: Sequence[str], *, taken: set[str]
) -> list[Candidate]:
    """The composites of a group; `parts` are its units' candidates by key, `order` their keys in the order of phases.

    None gets a name that is `taken`.
    """
    sequences = {
        outline.trajectory_id: [key for key in study.units.sequence(outline) if key in parts]
        for outline in study.group.successes[-MAX_COMPARED:]
    }
    found: list[Candidate] = []
    for kind in _kinds(study, sequences):
        used = Counter(key for identity in kind.members for key in dict.fromkeys(sequences[identity]))
        lasting = [key for key in order if used[key] > 1][:_MAX_PARTS]
        if len(kind.members) >= MIN_SUPPORT and len(lasting) > 1:
            made = _composite(study, kind, [(key, parts[key], used[key]) for key in lasting])
            name = free_name(made.content.name, taken)
            found.append(dataclasses.replace(made, content=dataclasses.replace(made.content, name=name)))
    return found


def _kinds(study: Study, sequences: Mapping[str, Sequence[str]]) -> list[_Kind]:
    """Attempts sorted by what was asked; the first of a kind stands for it."""
    kinds: list[_Kind] = []
    for identity in sequences:
        words = term_set(study.outlines[identity].task)
        for kind in kinds:
            if words and len(words & kind.words) >= ALIKE * len(words | kind.words):
                kind.members.append(identity)
                break
        else:
            kinds.append(_Kind(words=words, members=[identity]))
    return kinds


def _composite(study: Study, kind: _Kind, parts: Sequence[tuple[str, Candidate, int]]) -> Candidate:
    grounds = Grounds(study)
    sources = study.sample(kind.members)
    spans = task_spans(study, sources)
    examples = examples_of(study, sources)
    told = (f"example_queries.{number}" for number in range(len(examples)))
    for path in ("name", "description", "sub_skills", *told):
        grounds.rest(path, spans[:_SPANS])
    for _, candidate, _ in parts:  # both name the parts
        for path in ("description", "sub_skills"):
            grounds.rest(path, candidate.provenance.grounding.get("name", ())[:_SPANS])
    steps: list[SkillStep] = []
    for _, candidate, used in parts:
        grounds.rest(f"steps.{len(steps)}", _part_spans(candidate, kind.members))
        steps.append(_step(candidate, used, of=len(kind.members)))
    task = examples[0]
    goal = _goal(parts, study.outlines[sources[0]].task)
    for number, each in enumerate(goal):
        grounds.rest(f"postconditions.{number}", goal[each])
    names = [candidate.content.name for _, candidate, _ in parts]
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name=_name(task),
        description=_description(task, [(part.content.name, used) for _, part, used in parts], of=len(kind.members)),
        example_queries=examples,
        steps=tuple(steps),
        postconditions=tuple(goal),
        sub_skills=tuple(names),
    )
    return Candidate(
        content=content,
        scope=Scope(),
        origins=grounds.origins,
        provenance=Provenance(trajectory_ids=tuple(kind.members), grounding=grounds.spans, made_by=MADE_BY),
        assessment=weakest([study.source.assessment(identity) for identity in sources]),
    )


def _step(candidate: Candidate, used: int, *, of: int) -> SkillStep:
    """A part and its case; how often it was needed is told beside, for counts alone make no new account."""
    content = candidate.content
    ways = " or ".join(
        " and ".join(condition.text.rstrip(".") for condition in case.conditions) for case in content.cases
    )
    text = f"If {ways}: {code(content.name)}" if ways else code(content.name)
    return SkillStep(text=text, optional=used < of)


def _part_spans(candidate: Candidate, members: Sequence[str]) -> list[Span]:
    of_kind = set(members)
    last = len(candidate.content.steps) - 1
    grounding = candidate.provenance.grounding
    spans = grounding.get(f"steps.{last}", ())
    own = [span for span in spans if span.trajectory_id in of_kind][:_SPANS] or list(spans[:_SPANS])
    # The step repeats the part's case, so it can be no more trusted than what the case was read from.
    cases = [span for number in range(len(candidate.content.cases)) for span in grounding.get(f"cases.{number}", ())]
    return own + cases


def _goal(parts: Sequence[tuple[str, Candidate, int]], task: str) -> dict[Condition, tuple[Span, ...]]:
    """What shows that such a task is done, each with what a part rests it on."""
    said = term_set(task)
    found: dict[Condition, tuple[Span, ...]] = {}
    for _, candidate, _ in parts:
        for number, goal in enumerate(candidate.content.postconditions):
            spans = candidate.provenance.grounding.get(f"postconditions.{number}", ())
            if not goal.when or goal.when in said:
                found[goal] = found.get(goal) or spans
    return found


def _description(task: str, parts: Sequence[tuple[str, int]], *, of: int) -> str:
    like = shorten(task, _MAX_TASK).rstrip(".")
    told = ", ".join(f"{name} ({used} times)" for name, used in parts)
    return shorten(f"{of} tasks like “{like}” came down to these skills: {told}.", MAX_DESCRIPTION)


def _name(task: str) -> str:
    words = [word.strip(".,;:!?'\"()").lower() for word in task.split()]
    telling = [word for word in words if word.isalpha() and word not in STOP_WORDS and len(word) > 2]
    return slug(dict.fromkeys(telling[:_NAME_WORDS])) or "composite"
