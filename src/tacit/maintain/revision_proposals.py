"""Proposals: runs compared with one version of a skill → the next versions that they suggest, with their sources.

What runs changed in the same way becomes an edit: another command where the old one does not work, a step that all
successes added, one that all skipped, a pitfall where something was refused. Two sessions must show it, or one in which
a person corrected it. Failed runs change nothing, and no text that was read is copied: only what agents did. A shorter
way is a revision of its own: two sessions must have taken the very same one, with every check of the skill made and
passed.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tacit.domain.care import CareReason
from tacit.domain.coded_reason import CodedReason, coded
from tacit.domain.skill import Pitfall, SkillContent, SkillStep, SkillVersion
from tacit.domain.trajectory import Span
from tacit.evidence.friction import Friction, FrictionKind, place_name
from tacit.evidence.runs import RunCall, SkillRun, command_in, edits_files, is_particular, step_key
from tacit.maintain.revision_edits import (
    MOST_SPANS,
    Edit,
    Revision,
    RevisionContext,
    applied,
    moved_pitfalls,
    revision,
    same_revision_content,
    step_of,
    was_rejected,
)
from tacit.text.near_duplicates import text_similarity
from tacit.text.shell import is_check
from tacit.text.tool_calls import Effect

SESSIONS = 2
"""How many independent sessions must show an edit or a shorter way."""
SESSIONS_TO_DROP = 3
"""With fewer sessions, a step that all skipped becomes optional instead of being removed."""
MOST_ADDED = 3
MOSTLY = 0.5
"""The share of a skill's changes and checks that a run must have made to show that one is missing, or not needed."""
_SIMILAR_TASK = 0.5
"""How similar a task must be to those of the skill."""
_CODE_MAX = 160
_STEP_FAULTS = frozenset(
    {
        FrictionKind.RETRY,
        FrictionKind.FALLBACK,
        FrictionKind.MISSING_FILE,
        FrictionKind.CORRECTION,
        FrictionKind.DENIED,
    }
)

_FrictionInRun = tuple[SkillRun, Friction]


def revisions(version: SkillVersion, runs: Sequence[SkillRun], context: RevisionContext) -> list[Revision]:
    """Return the revisions that the verified successes suggest: first corrections, then a shorter way."""
    proven = [run for run in runs if run.proven]
    found = (_corrections(version, proven, context), shorter(version, proven, context))
    return [each for each in found if each is not None and each.content != version.content]


def _corrections(version: SkillVersion, runs: Sequence[SkillRun], context: RevisionContext) -> Revision | None:
    content = version.content
    following = [run for run in runs if run.matched and run.followed]
    if not following or not content.steps:
        return None
    replaced = list(_replacements(content, following, context))
    corrected = {edit.step for edit in replaced if edit.pitfall is None}
    mostly = [run for run in following if _share(run, context) >= MOSTLY]
    omitted = [edit for edit in _omissions(content, mostly) if edit.step not in corrected]
    edits = [*replaced, *_exchanged(list(_additions(content, mostly, context)), omitted)]
    edits = [edit for edit in edits if not was_rejected(edit, content, context.rejected)]
    return applied(version, edits, following) if edits else None


# --- a step that does not work ----------------------------------------------------------------------------------------


def _replacements(content: SkillContent, runs: Sequence[SkillRun], context: RevisionContext) -> Iterator[Edit]:
    """Edits of steps that were refused or worked only in another way, the same one in several sessions."""
    groups: dict[tuple[int, str], list[_FrictionInRun]] = defaultdict(list)
    for run in runs:
        for met in context.met(run):
            if met.kind in _STEP_FAULTS and met.at_fault:
                other = run.call(met.instead) if met.instead is not None else None
                key = other.key if other else ""
                if met.kind is FrictionKind.DENIED or (other and _can_replace(run, other, met.step)):
                    groups[met.step, key].append((run, met))
    best: dict[int, list[_FrictionInRun]] = {}
    for (step, _), seen in groups.items():
        enough = _session_count(seen) >= (1 if _is_persons_correction(seen) else SESSIONS)
        if enough and _session_count(seen) > _session_count(best.get(step, ())):
            best[step] = seen
    for step, seen in sorted(best.items()):
        yield _replacement(content, step, seen, runs, context)


def _can_replace(run: SkillRun, call: RunCall, step: int) -> bool:
    """Whether a call may replace a step: it is not specific to one task, and a check is replaced by a check only."""
    checks = is_final_check(run.content.steps[step], run.content)
    return not is_particular(run, call) and (call.effect is Effect.CHECK or not checks)


def _is_persons_correction(seen: Sequence[_FrictionInRun]) -> bool:
    """Whether a person corrected the step and the correction can be repeated: an edit of one file's text cannot."""
    run, met = seen[0]
    corrected = any(each.kind is FrictionKind.CORRECTION for _, each in seen)
    return corrected and met.instead is not None and not edits_files(run.call(met.instead))


def _replacement(
    content: SkillContent, step: int, seen: Sequence[_FrictionInRun], runs: Sequence[SkillRun], context: RevisionContext
) -> Edit:
    """The step as it worked; a pitfall where the old step works more often, or where nothing else worked."""
    run, first = seen[0]
    kinds = {met.kind for _, met in seen}
    warning = Edit(
        reason=coded(
            CareReason.STEP_DOES_NOT_WORK,
            step=step + 1,
            kinds=" ".join(sorted(kinds)),
            sessions=_session_count(seen),
            detail=first.detail,
        ),
        spans=tuple(_spans(seen)),
        runs=tuple(each for each, _ in seen),
        step=step,
        pitfall=_pitfall(content, step, seen),
    )
    unhindered = {each.session for each in runs if _works_unhindered(each, step, context)} - {
        each.session for each, _ in seen
    }
    outvoted = len(unhindered) > _session_count(seen) and FrictionKind.CORRECTION not in kinds
    if first.instead is None or kinds == {FrictionKind.DENIED} or outvoted:
        return warning
    made = step_of(content.steps[step], run.call(first.instead), context.word_step)
    return dataclasses.replace(warning, pitfall=None, made=made)


def _pitfall(content: SkillContent, step: int, seen: Sequence[_FrictionInRun]) -> Pitfall:
    """What may happen at a step, in fixed words and with agents' own commands: no text that was read."""
    run, met = seen[0]
    what = command_in(content.steps[step]) or content.steps[step].tool or place_name(step, len(content.steps))
    happened = "may be refused" if met.kind is FrictionKind.DENIED else "may not work as it stands"
    other = run.call(met.instead) if met.instead is not None else None
    way = f"{_code(_name(other))} did it then" if other else "ask for leave first"
    return Pitfall(text=f"{_code(what)} {happened}; {way}.", kind=str(met.kind), step=step, count=_session_count(seen))


def _works_unhindered(run: SkillRun, step: int, context: RevisionContext) -> bool:
    """Whether a run took a step as written, without friction."""
    return step in run.matched and not any(met.step == step and met.resisted for met in context.met(run))


def _spans(seen: Iterable[_FrictionInRun]) -> Iterator[Span]:
    for run, met in seen:
        if met.instead is not None:
            yield run.span(met.instead)
        yield run.span(met.run_step, "text" if met.kind is FrictionKind.CORRECTION else "arguments")


# --- a step that is missing, or not needed ----------------------------------------------------------------------------


def _additions(content: SkillContent, runs: Sequence[SkillRun], context: RevisionContext) -> Iterator[Edit]:
    """Edits for calls that every success made in the same place and the skill does not have."""
    sessions = len({run.session for run in runs})
    if sessions < SESSIONS:
        return
    own = {step_key(step) for step in content.steps}
    extra = [_extras(run, context) for run in runs]
    shared = [key for key in extra[0] if key[1] not in own and all(key in other for other in extra[1:])]
    for place, key in shared[:MOST_ADDED]:
        calls = [other[place, key] for other in extra]
        command = _code(_name(calls[0]))
        yield Edit(
            reason=coded(CareReason.STEP_ADDED_BY_ALL, after=place + 1, sessions=sessions, command=command),
            spans=tuple(run.span(call.index) for run, call in zip(runs, calls, strict=True)),
            runs=tuple(runs),
            step=place,
            made=step_of(None, calls[0], context.word_step),
            added=True,
        )


def _share(run: SkillRun, context: RevisionContext) -> float:
    """The share of the skill's required changes and checks that a run made."""
    required = [n for n, step in enumerate(run.content.steps) if not step.optional and not context.only_reads(step)]
    return sum(run.did(number) for number in required) / len(required) if required else 0.0


def _extras(run: SkillRun, context: RevisionContext) -> dict[tuple[int, str], RunCall]:
    """The calls of a run that are no steps of the skill, by place and key, each once."""
    repairs = {met.instead for met in context.met(run) if met.resisted}
    found: dict[tuple[int, str], RunCall] = {}
    for call in run.calls:
        extra = call.worked and call.index not in repairs and not run.is_placed(call)
        if (
            extra
            and call.effect is not Effect.READ
            and not is_particular(run, call)
            and not context.used_elsewhere(call)
        ):
            found.setdefault((run.gap(call), call.key), call)
    return found


def _omissions(content: SkillContent, runs: Sequence[SkillRun]) -> Iterator[Edit]:
    """Edits for steps that every success skipped; a final check is never removed for that."""
    sessions = len({run.session for run in runs})
    if sessions < SESSIONS:
        return
    drop = sessions >= SESSIONS_TO_DROP
    for number, step in enumerate(content.steps):
        needed = any(run.did(number) for run in runs) or is_final_check(step, content)
        if needed or (step.optional and not drop):
            continue
        result = "removed" if drop else "optional"
        yield Edit(
            reason=coded(CareReason.STEP_SKIPPED_BY_ALL, step=number + 1, sessions=sessions, result=result),
            spans=tuple(run.span(max(run.at)) for run in runs),
            runs=tuple(runs),
            step=number,
            made=None if drop else dataclasses.replace(step, optional=True),
        )


def _exchanged(added: Sequence[Edit], omitted: Sequence[Edit]) -> Iterator[Edit]:
    """Combine edits: where all skipped a step and made the same other call in its place, that call replaces it."""
    before = {edit.step: edit for edit in reversed(added)}
    taken = [before[edit.step - 1] for edit in omitted if edit.step - 1 in before]
    yield from (edit for edit in added if edit not in taken)
    for edit in omitted:
        other = before.get(edit.step - 1)
        yield dataclasses.replace(other, step=edit.step, added=False) if other else edit


def _session_count(seen: Iterable[_FrictionInRun]) -> int:
    """How many independent sessions there are."""
    return len({run.session for run, _ in seen})


def _name(call: RunCall) -> str:
    return call.command or call.step.tool


def _code(text: str) -> str:
    line = re.sub(r"\s+", " ", text).replace("`", "'").strip()
    return f"`{line if len(line) <= _CODE_MAX else line[: _CODE_MAX - 1] + '…'}`"


# --- a shorter way ----------------------------------------------------------------------------------------------------


def shorter(version: SkillVersion, runs: Sequence[SkillRun], context: RevisionContext) -> Revision | None:
    """Return the shortest way in which several sessions reached the same end with fewer changes and checks.

    Steps that only read something make no way longer, and stay where all of the runs took them.
    """
    content = version.content
    required = sum(not step.optional and not context.only_reads(step) for step in content.steps)
    groups: dict[tuple[str, ...], list[SkillRun]] = defaultdict(list)
    for run in runs:
        refused = any(met.resisted for met in context.met(run))  # a step that was refused was not skipped
        way = [] if refused else effective_calls(run)
        new = [call for call in way if call.index not in run.at]
        if not 0 < len(way) < required or any(is_particular(run, call) for call in new):
            continue
        if _reaches_the_end(run, way, runs):
            groups[tuple(call.key for call in way)].append(run)
    fitting = [group for group in groups.values() if len({run.session for run in group}) >= SESSIONS]
    if not fitting:
        return None
    group = min(fitting, key=lambda each: (len(effective_calls(each[0])), -len(each)))
    sessions, length = len({run.session for run in group}), len(effective_calls(group[0]))
    reason = coded(CareReason.SHORTER_WAY, sessions=sessions, length=length, required=required)
    made = _shorter_revision(version, group, context, reason=reason)
    return None if any(same_revision_content(made.content, other) for other in context.rejected) else made


def effective_calls(run: SkillRun) -> list[RunCall]:
    """Return the changes and checks of a run that worked, each once; of a repeated check the last."""
    worked = [call for call in run.calls if call.worked and call.effect in (Effect.WRITE, Effect.CHECK)]
    last = {call.key: call.index for call in worked if call.effect is Effect.CHECK}
    found: dict[str, RunCall] = {}
    for call in worked:
        if call.effect is Effect.WRITE or last[call.key] == call.index:
            found.setdefault(call.key, call)
    return list(found.values())


def is_final_check(step: SkillStep, content: SkillContent) -> bool:
    """Whether a step checks that the work is done; such a step is never removed because runs skipped it."""
    command = command_in(step)
    checks = {condition.check.strip() for condition in content.postconditions if condition.check}
    return bool(command) and (is_check(command) or command.strip() in checks)


def _shorter_revision(
    version: SkillVersion, group: Sequence[SkillRun], context: RevisionContext, *, reason: CodedReason
) -> Revision:
    """The shorter way as steps: the skill's own where they were taken, and the calls made instead."""
    content = version.content
    steps: list[SkillStep] = []
    moved: dict[int, int] = {}
    grounding: dict[str, tuple[Span, ...]] = {}
    for own, call, spans in _shared_calls(group, context):
        if own is None or own in moved:
            steps.append(step_of(None, call, context.word_step))
        else:
            moved[own] = len(steps)
            steps.append(content.steps[own])
        grounding[f"steps.{len(steps) - 1}"] = spans[:MOST_SPANS]
    made = dataclasses.replace(content, steps=tuple(steps), pitfalls=moved_pitfalls(content.pitfalls, moved))
    return revision(version, made, moved, grounding, reasons=[reason], runs=group)


def _shared_calls(
    group: Sequence[SkillRun], context: RevisionContext
) -> Iterator[tuple[int | None, RunCall, tuple[Span, ...]]]:
    """The calls that the runs of a group share, in order: the skill's step if it is one, the call, and its spans."""
    first = group[0]
    ways = {run.trajectory.id: effective_calls(run) for run in group}
    place = {call.index: number for number, call in enumerate(ways[first.trajectory.id])}
    for call in first.calls:
        own = first.at.get(call.index)
        if call.index in place:
            number = place[call.index]
            yield own, call, tuple(run.span(ways[run.trajectory.id][number].index) for run in group)
        elif own is not None and call.index == first.matched[own][-1] and _all_took(own, group, context):
            yield own, call, tuple(run.span(run.matched[own][-1]) for run in group)


def _all_took(step: int, group: Sequence[SkillRun], context: RevisionContext) -> bool:
    """Whether a step only reads something, and all runs of a group took it."""
    return context.only_reads(group[0].content.steps[step]) and all(step in run.matched for run in group)


def _reaches_the_end(run: SkillRun, way: Sequence[RunCall], runs: Sequence[SkillRun]) -> bool:
    content = run.content
    done = {run.at[call.index] for call in way if call.index in run.at}
    keys = {call.key for call in way}
    for number, step in enumerate(content.steps):
        if is_final_check(step, content) and number not in done and step_key(step) not in keys:
            return False
    checks = [condition.check.strip() for condition in content.postconditions if condition.check]
    shown = all(any(check in call.command for call in way) for check in checks)
    if not shown or (not checks and len(content.steps) - 1 not in done):
        return False
    followed = [each.trajectory.task.text for each in runs if len(each.matched) == len(content.steps)]
    tasks = [*content.example_queries, *followed] or [content.description]
    return any(text_similarity(run.trajectory.task.text, other) >= _SIMILAR_TASK for other in tasks) or bool(done)
