"""Proposals: runs compared with one version of a skill → the next versions that they suggest, with their sources.

What runs changed in the same way becomes an edit: another command where the old one does not work, a step that all
successes added, one that all skipped, a pitfall where something was refused. Two sessions must show it, or one in which
a person corrected it. Failed runs change nothing, and no text that was read is copied: only what agents did. An unchanged
field keeps its origin and sources; what agents did has the agent's origin.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.care import CareReason
from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.skill import Pitfall, SkillContent, SkillStep, SkillVersion, with_default_origins
from tacit.domain.trajectory import Origin, Role, Span, Step, lowest
from tacit.evidence.friction import (
    Friction,
    FrictionKind,
    RunCall,
    SkillRun,
    command_in,
    edits_files,
    is_particular,
    place_name,
    step_key,
)
from tacit.learn.wording import step_text
from tacit.text.shell import is_check
from tacit.text.tool_calls import Effect, tool_call

MOST_SPANS = 6
"""How many spans are added to the sources of one field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A proposed next version: its content, why, and the sources of each field."""

    content: SkillContent
    origins: Mapping[str, Origin]
    grounding: Mapping[str, tuple[Span, ...]]
    reasons: tuple[CodedReason, ...]
    trajectory_ids: tuple[str, ...]
    """The runs behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of the steps or pitfalls, with the runs behind it."""

    reason: CodedReason
    spans: tuple[Span, ...]
    runs: tuple[SkillRun, ...]
    step: int
    """Number of the step in the present version; -1: before the first."""
    made: SkillStep | None = None
    """The new step; None removes the step."""
    added: bool = False
    """Whether the new step comes after that step, rather than in its place."""
    pitfall: Pitfall | None = None
    """A warning that is added instead of changing the step."""


def same_revision_content(left: SkillContent, right: SkillContent) -> bool:
    """Whether two contents differ in nothing but the counts of pitfalls."""
    one, other = (
        dataclasses.replace(each, pitfalls=tuple(dataclasses.replace(pitfall, count=1) for pitfall in each.pitfalls))
        for each in (left, right)
    )
    return one == other


def step_of(before: SkillStep | None, call: RunCall) -> SkillStep:
    """Return a step that describes a call; the words of the step it replaces are kept where they name its command."""
    text = step_text(tool_call(call.step), call.arguments)
    old = command_in(before) if before else ""
    if before and old and call.command and f"`{old}`" in before.text:
        text = before.text.replace(f"`{old}`", f"`{call.command}`")
    optional = before.optional if before else False
    return SkillStep(text=text, tool=call.step.tool, arguments=call.arguments, optional=optional)


def _makes_edit(edit: Edit, content: SkillContent, other: SkillContent) -> bool:
    """Whether another version of the content makes an edit too."""
    theirs = {step_key(step) for step in other.steps}
    if edit.pitfall:
        return edit.pitfall.text in {each.text for each in other.pitfalls}
    if edit.made is None:
        return step_key(content.steps[edit.step]) not in theirs
    key = step_key(edit.made)
    if key in {step_key(step) for step in content.steps}:  # it became optional
        return any(step.optional and step_key(step) == key for step in other.steps)
    return key in theirs


def _applied(version: SkillVersion, edits: Sequence[Edit], runs: Sequence[SkillRun]) -> Revision:
    """Apply all edits at once; `runs` are also sources of the steps that stay."""
    content = version.content
    steps: list[SkillStep] = []
    moved: dict[int, int] = {}
    grounding: dict[str, tuple[Span, ...]] = {}

    def put(step: SkillStep, spans: Iterable[Span]) -> None:
        grounding[f"steps.{len(steps)}"] = _first_spans(spans)
        steps.append(step)

    for place in range(-1, len(content.steps)):
        here = [edit for edit in edits if edit.step == place and edit.pitfall is None]
        change = next((edit for edit in here if not edit.added), None)
        if place >= 0 and (change is None or change.made is not None):
            moved[place] = len(steps)
            if change and change.made:
                put(change.made, change.spans)
            else:  # its sources are also where the runs took it as it is written
                put(content.steps[place], [run.span(at) for run in runs for at in run.matched.get(place, ())[-1:]])
        for edit in here:
            if edit.added and edit.made:
                put(edit.made, edit.spans)
    pitfalls = [
        dataclasses.replace(each, step=moved.get(each.step)) if each.step is not None else each
        for each in content.pitfalls
    ]
    for edit in edits:
        if edit.pitfall and edit.pitfall.text not in {each.text for each in pitfalls}:
            grounding[f"pitfalls.{len(pitfalls)}"] = _first_spans(edit.spans)
            pitfalls.append(dataclasses.replace(edit.pitfall, step=moved.get(edit.step)))
    body = _corrected_body(content, edits, grounding)
    changed = dataclasses.replace(content, steps=tuple(steps), pitfalls=tuple(pitfalls), body=body)
    return _revision(version, changed, moved, grounding, edits)


def _revision(
    version: SkillVersion,
    content: SkillContent,
    moved: Mapping[int, int],
    grounding: Mapping[str, tuple[Span, ...]],
    edits: Sequence[Edit],
) -> Revision:
    """Return the next version with the origin of every field; `moved` maps old step numbers to new ones."""
    stays = {now for old, now in moved.items() if content.steps[now] == version.content.steps[old]}

    def new_path(path: str) -> str:
        """The new path of an unchanged field; empty where it is gone or changed."""
        name, _, rest = path.partition(".")
        number, dot, tail = rest.partition(".")
        if name != "steps" or not number.isdigit():
            return path
        now = moved.get(int(number))
        return f"steps.{now}{dot}{tail}" if now in stays else ""

    defaults = with_default_origins(version.content, version.origins)
    origins = {now: origin for path, origin in defaults.items() if (now := new_path(path))}
    rests = dict(grounding)
    for path, spans in version.provenance.grounding.items():
        if now := new_path(path):
            rests[now] = tuple(dict.fromkeys((*spans, *rests.get(now, ()))))[: len(spans) + MOST_SPANS]
    for path in grounding:
        if not (path.startswith("steps.") and int(path.removeprefix("steps.")) in stays):
            origins[path] = lowest((Origin.AGENT, origins.get(path, Origin.AGENT)))
    return Revision(
        content=content,
        origins=origins,
        grounding=rests,
        reasons=tuple(edit.reason for edit in edits),
        trajectory_ids=tuple(dict.fromkeys(run.trajectory.id for edit in edits for run in edit.runs)),
    )


def _corrected_body(content: SkillContent, edits: Sequence[Edit], grounding: dict[str, tuple[Span, ...]]) -> str:
    """The body with old commands replaced by working ones, where it repeats them."""
    body, spans = content.body, list[Span]()
    for edit in edits:
        if edit.made is None or edit.added:
            continue
        old, new = command_in(content.steps[edit.step]), command_in(edit.made)
        if old and new and old != new and f"`{old}`" in body:
            body = body.replace(f"`{old}`", f"`{new}`")
            spans += edit.spans
    if spans:
        grounding["body"] = _first_spans(spans)
    return body


def _first_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(spans))[:MOST_SPANS]


SESSIONS = 2
"""How many independent sessions must show an edit."""
SESSIONS_TO_DROP = 3
"""With fewer sessions, a step that all skipped becomes optional instead of being removed."""
MOST_ADDED = 3
MOSTLY = 0.5
"""The share of a skill's changes and checks that a run must have made to show that one is missing, or not needed."""
_CODE_MAX = 160

_FrictionInRun = tuple[SkillRun, Friction]
UsedElsewhere = Callable[[RunCall], bool]
"""Whether another skill has this call as a step; then it is not specific to this skill."""


def proposed_revision(
    version: SkillVersion,
    runs: Sequence[SkillRun],
    *,
    used_elsewhere: UsedElsewhere = lambda call: False,
    rejected: Sequence[SkillContent] = (),
) -> Revision | None:
    """Return the next version that the verified successes suggest; None where they suggest none.

    No edit is made again of `rejected` revisions of the same version.
    """
    content = version.content
    following = [run for run in runs if run.proven and run.matched and run.followed]
    if not following or not content.steps:
        return None
    replaced = list(_replacements(content, following))
    corrected = {edit.step for edit in replaced if edit.pitfall is None}
    mostly = [run for run in following if _share(run) >= MOSTLY]
    omitted = [edit for edit in _omissions(content, mostly) if edit.step not in corrected]
    edits = [*replaced, *_exchanged(list(_additions(content, mostly, used_elsewhere)), omitted)]
    edits = [edit for edit in edits if not any(_makes_edit(edit, content, other) for other in rejected)]
    made = _applied(version, edits, following) if edits else None
    return made if made and made.content != content else None


# --- a step that does not work ----------------------------------------------------------------------------------------


def _replacements(content: SkillContent, runs: Sequence[SkillRun]) -> Iterator[Edit]:
    """Edits of steps that were refused or worked only in another way, the same one in several sessions."""
    groups: dict[tuple[int, str], list[_FrictionInRun]] = defaultdict(list)
    for run in runs:
        for met in run.frictions:
            if met.resisted and met.at_fault:
                other = run.call(met.instead) if met.instead is not None else None
                key = other.key if other else ""
                # A replacement is not specific to one task, and a check is replaced by a check only.
                checks = is_final_check(run.content.steps[met.step], run.content)
                fits = other and not is_particular(run, other) and (other.effect is Effect.CHECK or not checks)
                if met.kind is FrictionKind.DENIED or fits:
                    groups[met.step, key].append((run, met))
    best: dict[int, list[_FrictionInRun]] = {}
    for (step, _), seen in groups.items():
        run, met = seen[0]
        corrected = any(each.kind is FrictionKind.CORRECTION for _, each in seen)
        # A person's correction is enough if it can be repeated: an edit of one file's text cannot.
        repeatable = met.instead is not None and not edits_files(run.call(met.instead))
        enough = _session_count(seen) >= (1 if corrected and repeatable else SESSIONS)
        if enough and _session_count(seen) > _session_count(best.get(step, ())):
            best[step] = seen
    for step, seen in sorted(best.items()):
        yield _replacement(content, step, seen, runs)


def _replacement(content: SkillContent, step: int, seen: Sequence[_FrictionInRun], runs: Sequence[SkillRun]) -> Edit:
    """The step as it worked; a pitfall where the old step works more often, or where nothing else worked."""
    run, first = seen[0]
    kinds, sessions = {met.kind for _, met in seen}, _session_count(seen)
    spans: list[Span] = []
    for each, met in seen:
        spans += [each.span(met.instead)] if met.instead is not None else []
        spans.append(each.span(met.run_step, "text" if met.kind is FrictionKind.CORRECTION else "arguments"))
    as_written = [each for each in runs if step in each.matched]
    unhindered = {
        each.session for each in as_written if not any(met.step == step and met.resisted for met in each.frictions)
    }
    unhindered -= {each.session for each, _ in seen}
    outvoted = len(unhindered) > sessions and FrictionKind.CORRECTION not in kinds
    made = None
    if first.instead is not None and kinds != {FrictionKind.DENIED} and not outvoted:
        made = step_of(content.steps[step], run.call(first.instead))
    how, code = " ".join(sorted(kinds)), CareReason.STEP_DOES_NOT_WORK
    return Edit(
        reason=coded(code, step=step + 1, kinds=how, sessions=sessions, detail=first.detail),
        spans=tuple(spans),
        runs=tuple(each for each, _ in seen),
        step=step,
        made=made,
        pitfall=None if made else _pitfall(content, step, seen),
    )


def _pitfall(content: SkillContent, step: int, seen: Sequence[_FrictionInRun]) -> Pitfall:
    """What may happen at a step, in fixed words and with agents' own commands: no text that was read."""
    run, met = seen[0]
    what = command_in(content.steps[step]) or content.steps[step].tool or place_name(step, len(content.steps))
    happened = "may be refused" if met.kind is FrictionKind.DENIED else "may not work as it stands"
    other = run.call(met.instead) if met.instead is not None else None
    way = f"{_code(_name(other))} did it then" if other else "ask for leave first"
    return Pitfall(text=f"{_code(what)} {happened}; {way}.", kind=str(met.kind), step=step, count=_session_count(seen))


# --- a step that is missing, or not needed ----------------------------------------------------------------------------


def _additions(content: SkillContent, runs: Sequence[SkillRun], used_elsewhere: UsedElsewhere) -> Iterator[Edit]:
    """Edits for calls that every success made in the same place and the skill does not have."""
    sessions = len({run.session for run in runs})
    if sessions < SESSIONS:
        return
    own = {step_key(step) for step in content.steps}
    extra = [_extras(run, used_elsewhere) for run in runs]
    shared = [key for key in extra[0] if key[1] not in own and all(key in other for other in extra[1:])]
    for place, key in shared[:MOST_ADDED]:
        calls = [other[place, key] for other in extra]
        command = _code(_name(calls[0]))
        yield Edit(
            reason=coded(CareReason.STEP_ADDED_BY_ALL, after=place + 1, sessions=sessions, command=command),
            spans=tuple(run.span(call.index) for run, call in zip(runs, calls, strict=True)),
            runs=tuple(runs),
            step=place,
            made=step_of(None, calls[0]),
            added=True,
        )


def _only_reads(step: SkillStep) -> bool:
    call = Step(index=0, role=Role.AGENT, tool=step.tool, arguments=step.arguments)
    return bool(step.tool) and tool_call(call).effect is Effect.READ


def _share(run: SkillRun) -> float:
    """The share of the skill's required changes and checks that a run made."""
    required = [n for n, step in enumerate(run.content.steps) if not step.optional and not _only_reads(step)]
    return sum(run.did(number) for number in required) / len(required) if required else 0.0


def _extras(run: SkillRun, used_elsewhere: UsedElsewhere) -> dict[tuple[int, str], RunCall]:
    """The calls of a run that are no steps of the skill, by place and key, each once."""
    repairs = {met.instead for met in run.frictions if met.resisted}
    found: dict[tuple[int, str], RunCall] = {}
    for call in run.calls:
        extra = call.worked and call.effect is not Effect.READ and call.index not in repairs and not run.is_placed(call)
        if extra and not is_particular(run, call) and not used_elsewhere(call):
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


def is_final_check(step: SkillStep, content: SkillContent) -> bool:
    """Whether a step checks that the work is done; such a step is never removed because runs skipped it."""
    command = command_in(step)
    checks = {condition.check.strip() for condition in content.postconditions if condition.check}
    return bool(command) and (is_check(command) or command.strip() in checks)
