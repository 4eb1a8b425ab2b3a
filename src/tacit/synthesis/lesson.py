"""A recovery → a lesson candidate: the error, what helped, and where it was seen.

The recovery itself is the evidence, so the attempt as a whole need not have succeeded. Failure without recovery gives
nothing, and neither does a call that worked on the second try by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.skill import Kind, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Span, Trajectory
from tacit.synthesis.actions import Action, Family
from tacit.synthesis.grounding import Ledger, action_spans
from tacit.synthesis.naming import MAX_DESCRIPTION, category_of, slug, tags_of
from tacit.synthesis.parameters import Generalisation, generalise
from tacit.synthesis.recovery import Means, Recovery, shown
from tacit.synthesis.timeline import Timeline
from tacit.synthesis.wording import local, shorten, step_text

MADE_BY = "tacit.synthesis/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    trajectory: Trajectory
    timeline: Timeline
    recovery: Recovery
    general: Generalisation
    ledger: Ledger


def lesson(trajectory: Trajectory, recovery: Recovery, *, timeline: Timeline) -> Candidate | None:
    """Make a lesson of one recovery, or nothing if it teaches nothing."""
    if not recovery.teaches or not recovery.signature:
        return None
    used = (*recovery.enablers, recovery.worked)
    general = generalise((recovery.failed, *used), timeline, workspace=trajectory.environment.workspace)
    draft = _Draft(
        trajectory=trajectory, timeline=timeline, recovery=recovery, general=general, ledger=Ledger(trajectory)
    )
    return Candidate(
        content=_content(draft, used),
        scope=trajectory.task.scope,
        origins=draft.ledger.origins,
        provenance=Provenance(trajectory_ids=(trajectory.id,), grounding=draft.ledger.grounding, made_by=MADE_BY),
        assessment=_assessment(recovery),
    )


def _assessment(recovery: Recovery) -> Assessment:
    if recovery.exit_known:
        reason = f"step {recovery.failed.index} failed and step {recovery.worked.index} ended with exit status 0"
        grade, verifier = Grade.MACHINE, "exit code"
    else:
        reason = f"the client reported step {recovery.failed.index} as failed and step {recovery.worked.index} as done"
        grade, verifier = Grade.SELF, "client"
    step = recovery.worked.index
    return Assessment(outcome=Outcome.SUCCESS, grade=grade, verifier=verifier, reason=reason, step=step)


def _content(draft: _Draft, used: tuple[Action, ...]) -> SkillContent:
    recovery, general = draft.recovery, draft.general
    steps: list[SkillStep] = []
    typed: dict[Span, None] = {}
    for number, action in enumerate(used):
        arguments = general.arguments(action.step.arguments)
        workspace = draft.trajectory.environment.workspace
        spans = action_spans(action, draft.timeline, arguments=arguments, workspace=workspace)
        typed.update(dict.fromkeys(spans))
        steps.append(SkillStep(text=step_text(action, arguments), tool=action.step.tool, arguments=arguments))
        draft.ledger.rest(f"steps.{number}", spans)
        draft.ledger.rest(f"steps.{number}.arguments", spans)
    failed = Span(draft.trajectory.id, recovery.failed.index, "arguments")
    error = Span(draft.trajectory.id, recovery.failed.index, "observation")
    for path in ("name", "description"):
        draft.ledger.rest(path, [failed, *typed])
    draft.ledger.rest("signature", [error])
    draft.ledger.rest("body", [error, failed, *typed])
    for path in ("category", "tags"):
        draft.ledger.rest(path, [failed, *(Span(draft.trajectory.id, action.index, "tool") for action in used)])
    for number, binding in enumerate(general.bindings):
        part = binding.place.part if binding.stated else "tool"
        draft.ledger.rest(f"parameters.{number}", [Span(draft.trajectory.id, binding.place.step, part)])
    return SkillContent(
        kind=Kind.LESSON,
        name=_name(recovery),
        description=local(general.text(_description(recovery)))[:MAX_DESCRIPTION],
        category=category_of("", used) if recovery.worked.family is Family.CALL else "debugging",
        tags=tags_of((recovery.failed, *used)),
        steps=tuple(steps),
        parameters=general.parameters,
        signature=recovery.signature,
        body=_body(draft).strip(),
    )


def _description(recovery: Recovery) -> str:
    failing = shown(recovery.failed)
    if recovery.means is Means.ENABLED:
        first = " and ".join(shown(action) for action in recovery.enablers)
        return f"When {failing} fails, run {first} first and then repeat it."
    if recovery.enablers:
        first = " and ".join(shown(action) for action in recovery.enablers)
        return f"When {failing} fails, run {first} and then {shown(recovery.worked)}."
    return f"When {failing} fails, call it as {shown(recovery.worked)}."


def _body(draft: _Draft) -> str:
    recovery = draft.recovery
    fix = _description(recovery).split(" fails, ", 1)[-1]
    fix = fix[:1].upper() + fix[1:]
    problem = f"{shown(recovery.failed)} failed with “{shorten(recovery.error, 300)}”."
    return local(draft.general.text(f"**Problem.** {problem}\n\n**Fix.** {fix}\n"))


def _name(recovery: Recovery) -> str:
    """A name of the calls alone: the error's words are somebody else's."""
    failed = _label(recovery.failed)
    if recovery.means is Means.ENABLED:
        enabler = _label(recovery.enablers[0])
        telling = [word for word in enabler if word not in failed] or enabler
        return slug(["run", *telling, "before", *failed])
    before = set(recovery.failed.command.split()) | {str(value) for value in recovery.failed.step.arguments.values()}
    added = [word for word in recovery.worked.command.split() if word not in before and word.startswith("-")][:3]
    return slug(["call", *_label(recovery.worked), *(["with", *added] if added else ["in-another-way"])])


def _label(action: Action) -> list[str]:
    words = [word for word in action.label.replace("/", " ").split() if not word.startswith("-")]
    return [word for word in words if word not in ("python", "python3", "node", "bash", "sh")] or words
