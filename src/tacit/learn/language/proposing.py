"""What a model says that mining missed → lesson candidates of their own, or remarks on why not.

A proposal must point at something the agent did that worked, in a record that was shown. Its steps are those calls,
worded by us; only its name and sentence are the model's. Nothing has tried it, so its outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.skill import Kind, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.actions import Action, Effect, actions_of
from tacit.learn.grounding import Ledger, action_spans
from tacit.learn.language.checks import Ground, name_fault, text_fault
from tacit.learn.language.rewording import Remark
from tacit.learn.naming import category_of, slug, tags_of
from tacit.learn.parameters import generalise
from tacit.learn.timeline import Timeline
from tacit.learn.wording import step_text

MADE_BY = "tacit.synthesis.language/1"
_MAX_PROPOSALS = 3
_WORDED = ("name", "description", "category")
_UNTRIED = Assessment(reason="a language model proposed it from records; no attempt has tried it")


def proposals(
    candidate: Candidate, answer: Mapping[str, Any], *, ground: Ground, trajectories: Mapping[str, Trajectory]
) -> tuple[tuple[Candidate, ...], tuple[Remark, ...]]:
    """Take what holds from a model's list of missed lessons."""
    made: list[Candidate] = []
    remarks: list[Remark] = []
    listed = answer.get("lessons")
    for entry in [e for e in listed if isinstance(e, dict)][:_MAX_PROPOSALS] if isinstance(listed, list) else []:
        found = _proposal(entry, candidate, ground=ground, trajectories=trajectories)
        if isinstance(found, str):
            remarks.append(Remark(skill=candidate.content.name, field="proposal", reason=found))
        else:
            made.append(found)
    return tuple(made), tuple(remarks)


def _proposal(
    entry: Mapping[str, Any], candidate: Candidate, *, ground: Ground, trajectories: Mapping[str, Trajectory]
) -> Candidate | str:
    """One proposal, or what is wrong with it."""
    title, lesson, cited = entry.get("title"), entry.get("lesson"), entry.get("spans")
    if not isinstance(title, str) or not isinstance(lesson, str) or not isinstance(cited, list):
        return "is not of the agreed form"
    known = ground.material.spans
    if not cited or any(not isinstance(each, str) or each not in known for each in cited):
        return "points at records that were not shown"
    name = slug(title.split())
    fault = name_fault(name, ground) or text_fault(lesson.strip(), ground, least=20, most=300)
    if fault:
        return fault
    spans = tuple(dict.fromkeys(known[each] for each in cited))
    source = trajectories[spans[0].trajectory_id]
    own = [span for span in spans if span.trajectory_id == source.id]
    done = [action for action in actions_of(source) if _shows(action, own)]
    if not done:
        return "points at nothing that the agent did and that worked"
    return _candidate(candidate, (name, lesson.strip()), actions=done, spans=own, ground=ground, source=source)


def _shows(action: Action, spans: Sequence[Span]) -> bool:
    cited = any(span.step == action.index and span.part == "arguments" for span in spans)
    return cited and action.surely_worked and action.effect is not Effect.ASIDE


def _candidate(
    mined: Candidate,
    words: tuple[str, str],
    *,
    actions: Sequence[Action],
    spans: Sequence[Span],
    ground: Ground,
    source: Trajectory,
) -> Candidate:
    timeline, ledger = Timeline(source), Ledger(source)
    general = generalise(actions, timeline, workspace=source.environment.workspace)
    steps: list[SkillStep] = []
    for number, action in enumerate(actions):
        arguments = general.arguments(action.step.arguments)
        steps.append(SkillStep(text=step_text(action, arguments), tool=action.step.tool, arguments=arguments))
        called = action_spans(action, timeline, arguments=arguments, workspace=source.environment.workspace)
        for path in (f"steps.{number}", f"steps.{number}.arguments"):
            ledger.rest(path, called)
    for number, binding in enumerate(general.bindings):
        ledger.rest(f"parameters.{number}", [Span(source.id, binding.place.step, binding.part)])
    for path in _WORDED:
        ledger.rest(path, spans)
    ledger.rest("tags", [Span(source.id, action.index, "tool") for action in actions])
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
        origins=ledger.origins | dict.fromkeys(_WORDED, ground.material.origin),
        provenance=Provenance(trajectory_ids=(source.id,), grounding=ledger.grounding, made_by=MADE_BY),
        assessment=_UNTRIED,
    )
