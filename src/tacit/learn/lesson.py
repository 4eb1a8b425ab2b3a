"""Makes a lesson candidate of a recovery: the error, what helped, and where it was seen.

The recovery is the evidence, so the attempt need not have succeeded. A temporary error or one without specific text gives no
lesson. Where the missing thing was installed under its own name, the name becomes a parameter. With several sessions
(`mining.error_lessons`) the lesson says how often the fix worked.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.origin import Origin
from tacit.domain.skill import Kind, Parameter, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.parameters import Binding, Generalisation, generalise
from tacit.learn.recovery import Means, Recovery, shown
from tacit.learn.values import FieldOrigins, Timeline, ValueSighting, action_spans, type_of
from tacit.learn.wording import MAX_DESCRIPTION, category_of, code, local, shorten, slug, step_text, tags_of
from tacit.text.error_signatures import tells, without_name
from tacit.text.shell import Command
from tacit.text.tool_calls import ToolCall, ToolKind

MADE_BY = "tacit.synthesis/1"
AVOID = "avoid"
"""The tag of a lesson about a call that does not work here."""
_MAX_ERROR = 100
_MIN_VARYING = 2  # a single sign stands in every command


@dataclass(frozen=True, slots=True, kw_only=True)
class FixCount:
    """How often an error was met, and what became of the fix, over several sessions."""

    failures: int
    tried: int
    worked: int
    sessions: int
    """Those in which it worked."""
    avoid: bool = False
    """Whether the very call failed in sessions apart and never worked again, though nothing passing was to blame."""
    avoid_form: bool = False
    """Whether that holds of the call whatever it was given."""
    others: tuple[tuple[int, int], ...] = ()
    """Other things that were tried: how often each worked, and how often it was tried."""
    varying: tuple[tuple[str, Any], ...] = ()
    """Values in the calls that differ from one attempt to the next, each with a name for them."""

    def text(self) -> str:
        """The figures in a sentence."""
        times = "attempt" if self.tried == 1 else "attempts"
        return f"Worked in {self.worked} of {self.tried} {times}, in {self.sessions} sessions."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    trajectory: Trajectory
    timeline: Timeline
    recovery: Recovery
    general: Generalisation
    field_origins: FieldOrigins
    tally: FixCount | None = None


def lesson(
    trajectory: Trajectory, recovery: Recovery, *, timeline: Timeline, tally: FixCount | None = None
) -> Candidate | None:
    """Make a lesson of one recovery, or nothing if it teaches nothing; `tally` where the same was seen elsewhere too."""
    teaches = recovery.teaches or (recovery.means is Means.REPLACED and tally is not None)
    if not teaches or not tells(recovery.signature):
        return None
    recovery = _narrowed(recovery) if recovery.replaced else recovery
    used = (*recovery.enablers, recovery.worked)
    general = generalise((recovery.failed, *used), timeline, workspace=trajectory.environment.workspace)
    if recovery.wrapped:
        general = _for_any_command(recovery)
    if recovery.installed:
        general = _for_any_name(general, recovery)
        used = recovery.enablers or used  # what to repeat then is whatever failed
    if tally:
        general = _for_any_value(general, recovery, tally)
    draft = _Draft(
        trajectory=trajectory,
        timeline=timeline,
        recovery=recovery,
        general=general,
        field_origins=FieldOrigins(trajectory),
        tally=tally,
    )
    return Candidate(
        content=_content(draft, used),
        scope=trajectory.task.scope,
        origins=draft.field_origins.origins,
        provenance=Provenance(trajectory_ids=(trajectory.id,), grounding=draft.field_origins.spans, made_by=MADE_BY),
        assessment=_assessment(recovery),
    )


def _narrowed(recovery: Recovery) -> Recovery:
    """Of two long lines, the command that was missing and the one that stood in for it."""
    failed = next((one for one in recovery.failed.programs if one.program == recovery.missing), None)
    if failed is None:
        return recovery
    given, called = set(failed.operands), {one.program for one in recovery.failed.programs}
    fresh = [one for one in recovery.worked.programs if one.program not in called] or recovery.worked.programs
    stood_in = max(fresh, key=lambda one: len(given & set(one.operands)))
    parts = _only(recovery.failed, failed), _only(recovery.worked, stood_in)
    return dataclasses.replace(recovery, failed=parts[0], worked=parts[1])


def _only(action: ToolCall, command: Command) -> ToolCall:
    """The action as if that command had been its whole line."""
    arguments = dict(action.step.arguments)
    key = next((key for key, value in arguments.items() if value == action.command), None)
    if key is None or not command.text:
        return action
    step = dataclasses.replace(action.step, arguments={**arguments, key: command.text})
    return dataclasses.replace(action, step=step, command=command.text, commands=(command,))


def _for_any_name(general: Generalisation, recovery: Recovery) -> Generalisation:
    """Put a parameter in place of what was missing; the agent typed it into the command that helped."""
    kind = _what_is_missing(recovery)
    place = ValueSighting(Origin.AGENT, (*recovery.enablers, recovery.worked)[0].index, "arguments")
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
    place = ValueSighting(Origin.AGENT, recovery.failed.index, "arguments")
    parameter = Parameter(name="command", description="the command that failed", type="string")
    return Generalisation((Binding(parameter=parameter, original=recovery.failed.command.strip(), place=place),))


def _for_any_value(general: Generalisation, recovery: Recovery, tally: FixCount) -> Generalisation:
    """Put a parameter in place of what other attempts gave otherwise."""
    bindings = list(general.bindings)
    for key, value in tally.varying:
        taken = {binding.parameter.name for binding in bindings}
        if general.arguments(value) != value or len(str(value)) < _MIN_VARYING:
            continue
        name = next(name for name in (key, *(f"{key}_{number}" for number in range(2, 99))) if name not in taken)
        parameter = Parameter(name=name, description="differs from one attempt to the next", type=type_of(str(value)))
        place = ValueSighting(Origin.AGENT, recovery.worked.index, "arguments")
        bindings.append(Binding(parameter=parameter, original=value, place=place))
    return dataclasses.replace(general, bindings=tuple(bindings))


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


def _content(draft: _Draft, used: tuple[ToolCall, ...]) -> SkillContent:
    recovery, general = draft.recovery, draft.general
    steps: list[SkillStep] = []
    typed: dict[Span, None] = {}
    for number, action in enumerate(used):
        arguments = general.arguments(action.step.arguments)
        workspace = draft.trajectory.environment.workspace
        spans = action_spans(action, draft.timeline, arguments=arguments, workspace=workspace)
        typed.update(dict.fromkeys(spans))
        steps.append(SkillStep(text=step_text(action, arguments), tool=action.step.tool, arguments=arguments))
        draft.field_origins.add_spans(f"steps.{number}", spans)
        draft.field_origins.add_spans(f"steps.{number}.arguments", spans)
    failed = Span(draft.trajectory.id, recovery.failed.index, "arguments")
    error = Span(draft.trajectory.id, recovery.failed.index, "observation")
    draft.field_origins.add_spans("name", [failed, *typed])
    draft.field_origins.add_spans("description", [*([error] if _named(draft) else ()), failed, *typed])
    draft.field_origins.add_spans("signature", [error])
    draft.field_origins.add_spans("body", [error, failed, *typed])
    for path in ("category", "tags"):
        draft.field_origins.add_spans(
            path, [failed, *(Span(draft.trajectory.id, action.index, "tool") for action in used)]
        )
    for number, binding in enumerate(general.bindings):
        draft.field_origins.add_spans(
            f"parameters.{number}", [Span(draft.trajectory.id, binding.place.step, binding.part)]
        )
    return SkillContent(
        kind=Kind.LESSON,
        name=_name(recovery),
        description=_counted(local(general.text(_description(draft))), draft.tally),
        category=category_of("", used) if recovery.worked.kind is ToolKind.FUNCTION else "debugging",
        tags=(*tags_of((recovery.failed, *used)), *((AVOID,) if _avoided(draft) else ())),
        steps=tuple(steps),
        parameters=general.parameters,
        signature=without_name(recovery.signature) if recovery.installed else recovery.signature,
        body=_body(draft).strip(),
    )


def _description(draft: _Draft) -> str:
    recovery = draft.recovery
    if _avoided(draft):
        return f"{shown(recovery.failed)} does not work here; {_fix(recovery)}."
    return f"{_when(recovery)}{_named(draft)}, {_fix(recovery)}."


def _named(draft: _Draft) -> str:
    """The error in a few words, where the description speaks of one call's failing; without it any failure is meant."""
    recovery = draft.recovery
    if recovery.installed or recovery.wrapped or recovery.replaced or _avoided(draft):
        return ""
    return f" with “{shorten(re.sub('[“”]', '', recovery.error), _MAX_ERROR)}”"


def _avoided(draft: _Draft) -> bool:
    """Whether to say that the failing call does not work: of this call, or, where values became parameters, of its form."""
    tally, call = draft.tally, draft.recovery.failed.command
    if tally is None or draft.recovery.replaced:
        return False
    return tally.avoid_form or (tally.avoid and local(draft.general.text(call)) == call)


def _counted(text: str, tally: FixCount | None) -> str:
    if tally is None:
        return text[:MAX_DESCRIPTION]
    return f"{shorten(text, MAX_DESCRIPTION - len(tally.text()) - 1)} {tally.text()}"


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
    if recovery.means is Means.REPLACED:
        return f"call {shown(recovery.worked)} instead"
    return f"call it as {shown(recovery.worked)}"


def _body(draft: _Draft) -> str:
    recovery = draft.recovery
    fix = _fix(recovery)
    problem = f"{shown(recovery.failed)} failed with “{shorten(recovery.error, 300)}”."
    seen = f"\n**Seen.** {_seen(draft, draft.tally)}\n" if draft.tally else ""
    return local(draft.general.text(f"**Problem.** {problem}\n\n**Fix.** {fix[:1].upper()}{fix[1:]}.\n{seen}"))


def _seen(draft: _Draft, tally: FixCount) -> str:
    """What several sessions show, the failing call's fate and other fixes included."""
    sentences = [f"This error was met {tally.failures} times. {tally.text()}"]
    if _avoided(draft):
        sentences.append("The failing call itself never worked afterwards.")
    if tally.others:
        worked, tried = (sum(column) for column in zip(*tally.others, strict=True))
        sentences.append(f"Other things that were tried worked in {worked} of {tried} attempts.")
    return " ".join(sentences)


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
    if recovery.means is Means.REPLACED:
        return slug([*_label(recovery.worked), "when", *failed, "fails"])
    if recovery.means is Means.ENABLED:
        enabler = _label(recovery.enablers[0])
        telling = [word for word in enabler if word not in (*failed, "run")] or enabler
        return slug(["run", *telling, "before", *failed])
    before = set(recovery.failed.command.split()) | {str(value) for value in recovery.failed.step.arguments.values()}
    added = [word for word in recovery.worked.command.split() if word not in before and word.startswith("-")][:3]
    return slug(["call", *_label(recovery.worked), *(["with", *added] if added else ["in-another-way"])])


def _label(action: ToolCall) -> list[str]:
    words = [word for word in action.label.replace("/", " ").split() if not word.startswith("-")]
    return [word for word in words if word not in ("python", "python3", "node", "bash", "sh")] or words
