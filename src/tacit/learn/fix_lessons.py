"""Makes a lesson of a counted fix: which call fails, what fixes it, in how many sessions, and what the agent said about it.

The error's own words are left out of the text: the agent sees them anyway, and they come from outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.skill import BEFORE_TAG, CALL_TAG, Kind, Provenance, SkillContent, SkillStep
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.attempt_outlines import proven_end
from tacit.learn.fixes import MIN_SESSIONS, CountedFix, Fix, FixCounter, FixKind, Retry, SourcedCall
from tacit.learn.values import FieldOrigins, Timeline, action_spans
from tacit.learn.wording import code, shorten, slug
from tacit.text.tool_calls import Effect, ToolCall, tool_calls

MADE_BY = "tacit.fixes/1"
MAX_CITED = 5
"""Attempts that a lesson cites."""
_NUMBER = re.compile(r"-\d+$")
_MAX_FORM = 60
_MAX_SHOWN = 110
"""Characters of a call in a name or sentence: one line of a terminal. The step keeps it whole."""


def fix_lesson(counted: CountedFix, trajectory_of: Callable[[str], Trajectory]) -> Candidate | None:
    """Make a lesson of a counted fix; nothing where the calls behind it are gone."""
    cited = _cited(counted.retries)
    ids = tuple(dict.fromkeys(each.again.trajectory_id for each in cited))
    trajectories = {identity: trajectory_of(identity) for identity in _all_ids(cited)}
    first = cited[0].fixes[counted.fix].call
    action = _action(trajectories[first.trajectory_id], first)
    if action is None:
        return None
    trajectory = trajectories[first.trajectory_id]
    step = _step(counted, action)
    origins = FieldOrigins(*trajectories.values())
    timeline = Timeline(trajectory)
    done = action_spans(action, timeline, arguments=step.arguments, workspace=trajectory.environment.workspace)
    calls = [_span(each.failed) for each in cited] + [_span(each.again) for each in cited]
    reason = first.record.reason
    for path in ("name", "description", "tags", "steps.0", "steps.0.arguments"):
        origins.add_spans(path, [*done, *calls])
    origins.add_spans("signature", [Span(cited[0].failed.trajectory_id, cited[0].failed.record.step, "observation")])
    origins.add_spans("body", [*done, *calls, *_reason_spans(trajectory, first, reason)])
    origins.add_spans("category", calls)
    return Candidate(
        content=_content(counted, step, reason),
        scope=trajectory.task.scope,
        origins=origins.origins,
        provenance=Provenance(trajectory_ids=ids, grounding=origins.spans, made_by=MADE_BY),
        assessment=_assessment(cited, trajectories),
    )


def _content(counted: CountedFix, step: SkillStep, reason: str) -> SkillContent:
    fails, advice = code(shorten(_failing(counted), _MAX_FORM)), _advice(counted)
    problem, fix = f"{fails} {_failure(counted)}", f"{advice[:1].upper()}{advice[1:]}"
    seen = f"In {counted.sessions} of {counted.sessions_with_error} sessions that met this error."
    why = f"\n\n**Why.** {reason}" if reason else ""
    return SkillContent(
        kind=Kind.LESSON,
        name=lesson_name(counted),
        description=f"{_subject(counted, fails)} {advice}. ({_support(counted)})",
        category="debugging",
        tags=lesson_tags(counted),
        steps=(step,),
        signature=counted.signature,
        body=f"**Problem.** {problem}.\n\n**Fix.** {fix}.\n\n**Seen.** {seen}{why}",
    )


def _failing(counted: CountedFix) -> str:
    if counted.fix.kind is FixKind.TARGET:
        return counted.goal.typed
    modes = (word for word in counted.goal.goal.split() if word.startswith("-"))
    return " ".join((counted.goal.text, *modes))


def _failure(counted: CountedFix) -> str:
    return "is not found" if counted.fix.kind is FixKind.PROGRAM else "fails"


def _subject(counted: CountedFix, fails: str) -> str:
    if counted.warn_before or counted.fix.kind is FixKind.PROGRAM:
        return f"{fails} {_failure(counted)} here:"
    return f"If {fails} fails with this error:"


def _support(counted: CountedFix) -> str:
    return "once" if counted.sessions == 1 else f"{counted.sessions} sessions"


def _advice(counted: CountedFix) -> str:
    shown = code(shorten(counted.typed, _MAX_SHOWN))
    match counted.fix.kind:
        case FixKind.RUN_FIRST:
            return f"run {shown} first"
        case FixKind.EDIT:
            return f"correct {shown} first"
        case FixKind.FOLDER:
            return f"run it in {code(counted.fix.what)}"
        case FixKind.TARGET | FixKind.PROGRAM:
            return f"use {code(counted.fix.what)}"
        case _:
            return f"use {shown}"


def lesson_tags(counted: CountedFix) -> tuple[str, ...]:
    """Return which call the lesson is about, and whether it is worth saying before the call."""
    return (f"{CALL_TAG}{counted.goal.goal}", *((BEFORE_TAG,) if counted.warn_before else ()))


def advice_of(content: SkillContent) -> tuple[frozenset[str], list[list[str]]]:
    """Return what a lesson says apart from its counts: the call it is about, when it is shown, and what to do."""
    return frozenset(content.tags), [[step.text, *map(str, step.arguments.values())] for step in content.steps]


def lesson_name(counted: CountedFix) -> str:
    """Return the name of the lesson: what to do, and for which call."""
    return _name(counted.fix, counted.goal.goal)


def _name(fix: Fix, goal: str) -> str:
    verb = {FixKind.EDIT: "correct", FixKind.RUN_FIRST: "run"}.get(fix.kind, "use")
    what = fix.what.replace("/", " ").replace("=", " ").split()
    return slug([verb, *what[:5], "for", *goal.replace("/", " ").split()[:4]])


def _is_about(fix: Fix, *, goal: str, names: Collection[str]) -> bool:
    return _name(fix, goal) in names


def refuted(
    counter: FixCounter, lessons: Iterable[StoredVersion], confirmed: Collection[str]
) -> Iterator[tuple[StoredVersion, int]]:
    """Yield each lesson of a fix that later sessions speak against, and how many; none that the count supports."""
    for stored in lessons:
        content = stored.version.content
        goal = next((tag.removeprefix(CALL_TAG) for tag in content.tags if tag.startswith(CALL_TAG)), "")
        names = {content.name, _NUMBER.sub("", content.name)}  # the gate numbers a lesson of the same name
        if stored.version.provenance.made_by == MADE_BY and names.isdisjoint(confirmed):
            meant = partial(_is_about, goal=goal, names=names)
            against = counter.contradicted(goal, content.signature, meant)
            if against >= MIN_SESSIONS:
                yield stored, against


def _step(counted: CountedFix, action: ToolCall) -> SkillStep:
    if counted.fix.kind in (FixKind.EDIT, FixKind.PROGRAM) or not action.command:
        return SkillStep(text=f"{_advice(counted)[:1].upper()}{_advice(counted)[1:]}", tool=action.step.tool)
    key = next((key for key, value in action.step.arguments.items() if value == action.command), "command")
    return SkillStep(
        text=f"Run {code(shorten(counted.typed, _MAX_SHOWN))}", tool=action.step.tool, arguments={key: counted.typed}
    )


def _cited(retries: Sequence[Retry]) -> list[Retry]:
    """Return the newest retries, one of each session."""
    newest = {each.session: each for each in retries}
    return list(newest.values())[-MAX_CITED:]


def _all_ids(retries: Sequence[Retry]) -> list[str]:
    calls = (call for each in retries for call in (each.failed, each.again, *(t.call for t in each.fixes.values())))
    return list(dict.fromkeys(call.trajectory_id for call in calls))


def _action(trajectory: Trajectory, call: SourcedCall) -> ToolCall | None:
    return next((each for each in tool_calls(trajectory) if each.index == call.record.step), None)


def _span(call: SourcedCall) -> Span:
    return Span(call.trajectory_id, call.record.step, "arguments")


def _reason_spans(trajectory: Trajectory, call: SourcedCall, reason: str) -> list[Span]:
    """Return where the agent wrote its reason: the last step with text before the call."""
    if not reason:
        return []
    before = [step.index for step in trajectory.steps if step.text.strip() and step.index <= call.record.step]
    return [Span(call.trajectory_id, before[-1], "text")] if before else []


def _assessment(retries: Sequence[Retry], trajectories: Mapping[str, Trajectory]) -> Assessment:
    """Return a success: verified where a known check ended with a status that nothing could hide, else self-reported."""
    proven = next(
        (each for each in retries if _is_proven(_action(trajectories[each.again.trajectory_id], each.again))), None
    )
    retry = proven or retries[0]
    step = retry.again.record.step
    ended = "ended with exit status 0" if proven else "did not fail again"
    return Assessment(
        outcome=Outcome.SUCCESS,
        grade=Grade.MACHINE if proven else Grade.SELF,
        verifier="exit code" if proven else "",
        reason=f"step {retry.failed.record.step} failed and step {step} for the same goal {ended}",
        step=step,
    )


def _is_proven(action: ToolCall | None) -> bool:
    return action is not None and action.effect is Effect.CHECK and proven_end(action) is True
