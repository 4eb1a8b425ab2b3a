"""A recovery → a lesson candidate: the error, what helped, and where it was seen.

The recovery itself is the evidence, so the attempt as a whole need not have succeeded. Failure without recovery gives
nothing, and neither does a call that worked on the second try by itself. Where what was missing was installed under its own
name, the name becomes a parameter and the lesson holds for whatever is missing; else it holds for that name alone.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.origin import Origin
from tacit.domain.skill import Kind, Parameter, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Span, Trajectory
from tacit.synthesis.actions import Action, Family
from tacit.synthesis.grounding import Ledger, action_spans
from tacit.synthesis.naming import MAX_DESCRIPTION, category_of, slug, tags_of
from tacit.synthesis.parameters import Binding, Generalisation, generalise
from tacit.synthesis.recovery import Means, Recovery, shown
from tacit.synthesis.timeline import Sighting, Timeline
from tacit.synthesis.wording import code, local, shorten, step_text
from tacit.text.signature import without_name

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
    if recovery.wrapped:
        general = _for_any_command(recovery)
    if recovery.installed:
        general = _for_any_name(general, recovery)
        used = recovery.enablers or used  # what to repeat then is whatever failed
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


def _for_any_name(general: Generalisation, recovery: Recovery) -> Generalisation:
    """Put a parameter in place of what was missing; the agent typed it into the command that helped."""
    kind = _what_is_missing(recovery)
    place = Sighting(Origin.AGENT, (*recovery.enablers, recovery.worked)[0].index, "arguments")
    others = tuple(binding for binding in general.bindings if binding.text != recovery.installed)
    taken = {binding.parameter.name for binding in others}
    name = next(name for name in (kind, f"missing_{kind}", f"the_missing_{kind}") if name not in taken)
    # An error's text is the world's: what it names must not be installed on its word alone.
    meant = f"the {kind} that the error says is missing, if the work is meant to use it"
    parameter = Parameter(name=name, description=meant, type="string")
    return dataclasses.replace(
        general, bindings=(*others, Binding(parameter=parameter, original=recovery.installed, place=place))
    )


def _for_any_command(recovery: Recovery) -> Generalisation:
    """What the failed call was run through helps whatever fails so: the call itself becomes the parameter."""
    place = Sighting(Origin.AGENT, recovery.failed.index, "arguments")
    parameter = Parameter(name="command", description="the command that failed", type="string")
    return Generalisation((Binding(parameter=parameter, original=recovery.failed.command.strip(), place=place),))


def _what_is_missing(recovery: Recovery) -> str:
    return "program" if recovery.signature.endswith(": command not found") else "module"


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
        signature=without_name(recovery.signature) if recovery.installed else recovery.signature,
        body=_body(draft).strip(),
    )


def _description(recovery: Recovery) -> str:
    return f"{_when(recovery)}, {_fix(recovery)}."


def _when(recovery: Recovery) -> str:
    if recovery.installed:
        return f"When {shown(recovery.failed)} or the like fails because a {_what_is_missing(recovery)} is missing"
    if recovery.wrapped:
        return "When a command fails with this error"
    if recovery.replaced:
        return f"Where {code(recovery.missing)} is not to be had"
    return f"When {shown(recovery.failed)} fails"


def _fix(recovery: Recovery) -> str:
    first = " and ".join(shown(action) for action in recovery.enablers)
    if recovery.means is Means.ENABLED:
        return f"run {first} first and then repeat it"
    if recovery.enablers:
        return f"run {first} and then {shown(recovery.worked)}"
    if recovery.wrapped:
        return f"run it as {code(shorten(recovery.wrapped, 200))}"
    if recovery.replaced:
        return f"run {shown(recovery.worked)} instead of {shown(recovery.failed)}"
    return f"call it as {shown(recovery.worked)}"


def _body(draft: _Draft) -> str:
    recovery = draft.recovery
    fix = _fix(recovery)
    problem = f"{shown(recovery.failed)} failed with “{shorten(recovery.error, 300)}”."
    return local(draft.general.text(f"**Problem.** {problem}\n\n**Fix.** {fix[:1].upper()}{fix[1:]}.\n"))


def _name(recovery: Recovery) -> str:
    """A name of the calls alone: the error's words are somebody else's."""
    failed = _label(recovery.failed)
    if recovery.installed:
        installer = (*recovery.enablers, recovery.worked)[0]
        return slug(["install", "missing", _what_is_missing(recovery), "with", *_label(installer)[:1]])
    if recovery.wrapped:
        outside = recovery.wrapped.partition("{command}")[0].split()
        return slug(["run", "with", *([word for word in outside if word.isalpha()] or outside or ["ampersand"])])
    if recovery.replaced:
        return slug(["use", *_label(recovery.worked), "instead", "of", recovery.missing])
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
