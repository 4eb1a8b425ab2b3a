"""Runs beside one version of a skill → the next versions that they show, with the spans that every change rests on. Pure.

What runs changed in the same way becomes a change of the skill: another command where the old one does not work, a step
that all successes added, one that all did without, a pitfall where something was refused. Two sessions must show it, or one
in which a person said so. Failed runs change nothing, and no word of what was read is taken over: only what agents did.
A shorter way to the same end is a revision of its own. Whether any of it becomes a version is decided at the gate.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tacit.domain.skill import Pitfall, SkillContent, SkillVersion
from tacit.domain.trajectory import Span
from tacit.evidence.friction import Friction, FrictionKind, place_name
from tacit.evidence.runs import CHECK, READ, Call, Run, command_in, edits_files, is_particular, step_key
from tacit.maintain.refinement.revision import Beside, Edit, Revision, applied, step_of, was_refused
from tacit.maintain.refinement.shortening import SESSIONS, shorter, shows_the_end

SESSIONS_TO_DROP = 3
"""With fewer, a step that all did without is only optional."""
MOST_ADDED = 3
MOSTLY = 0.5
"""The share of a skill's changes and checks that a run must have made to show that one is missing, or not needed."""
_CODE_MAX = 160
_IN_WORDS = {
    FrictionKind.RETRY: "only worked with other arguments",
    FrictionKind.FALLBACK: "failed, and something else did it",
    FrictionKind.MISSING_FILE: "names a file that is not there",
    FrictionKind.CORRECTION: "a person corrected it",
    FrictionKind.DENIED: "was refused",
}

_Met = tuple[Run, Friction]


def revisions(version: SkillVersion, runs: Sequence[Run], beside: Beside) -> list[Revision]:
    """What the verified successes among the runs show: first what mends the skill, then a shorter way to its end."""
    proven = [run for run in runs if run.proven]
    found = (_mended(version, proven, beside), shorter(version, proven, beside))
    return [each for each in found if each is not None and each.content != version.content]


def _mended(version: SkillVersion, runs: Sequence[Run], beside: Beside) -> Revision | None:
    content = version.content
    following = [run for run in runs if run.matched and run.followed]
    if not following or not content.steps:
        return None
    replaced = list(_replacements(content, following, beside))
    mended = {edit.step for edit in replaced if edit.pitfall is None}
    mostly = [run for run in following if _share(run, beside) >= MOSTLY]
    omitted = [edit for edit in _omissions(content, mostly) if edit.step not in mended]
    edits = [*replaced, *_exchanged(list(_additions(content, mostly, beside)), omitted)]
    edits = [edit for edit in edits if not was_refused(edit, content, beside.refused)]
    return applied(version, edits, following) if edits else None


# --- a step that does not work as it stands -----------------------------------------------------------------------


def _replacements(content: SkillContent, runs: Sequence[Run], beside: Beside) -> Iterator[Edit]:
    """Steps that were refused or only worked otherwise, the same way in several sessions."""
    groups: dict[tuple[int, str], list[_Met]] = defaultdict(list)
    for run in runs:
        for met in beside.met(run):
            if met.kind in _IN_WORDS and met.at_fault:
                other = run.call(met.instead) if met.instead is not None else None
                key = other.key if other else ""
                if met.kind is FrictionKind.DENIED or (other and _may_stand(run, other, met.step)):
                    groups[met.step, key].append((run, met))
    best: dict[int, list[_Met]] = {}
    for (step, _), seen in groups.items():
        enough = _voices(seen) >= (1 if _was_said(seen) else SESSIONS)
        if enough and _voices(seen) > _voices(best.get(step, ())):
            best[step] = seen
    for step, seen in sorted(best.items()):
        yield _replacement(content, step, seen, runs, beside)


def _may_stand(run: Run, call: Call, step: int) -> bool:
    """Whether a call may stand for a step: it holds nothing of one task alone, and a check is replaced by a check."""
    checks = shows_the_end(run.content.steps[step], run.content)
    return not is_particular(run, call) and (call.effect == CHECK or not checks)


def _was_said(seen: Sequence[_Met]) -> bool:
    """Whether a person said so, and what was done then may be done again: a change of one file's text may not."""
    run, met = seen[0]
    said = any(each.kind is FrictionKind.CORRECTION for _, each in seen)
    return said and met.instead is not None and not edits_files(run.call(met.instead))


def _replacement(content: SkillContent, step: int, seen: Sequence[_Met], runs: Sequence[Run], beside: Beside) -> Edit:
    """The step as it worked; where the old one works more often, or nothing else did, a pitfall beside it."""
    run, first = seen[0]
    kinds = {met.kind for _, met in seen}
    at = place_name(step, len(content.steps))
    warning = Edit(
        reason=f"{at}: {' and '.join(_IN_WORDS[k] for k in sorted(kinds))} in {_sessions(_voices(seen))} ({first.detail})",
        spans=tuple(_spans(seen)),
        runs=tuple(each for each, _ in seen),
        step=step,
        pitfall=_pitfall(content, step, seen),
    )
    unhindered = {each.session for each in runs if _works_at(each, step, beside)} - {each.session for each, _ in seen}
    outvoted = len(unhindered) > _voices(seen) and FrictionKind.CORRECTION not in kinds
    if first.instead is None or kinds == {FrictionKind.DENIED} or outvoted:
        return warning
    made = step_of(content.steps[step], run.call(first.instead), beside.word)
    return dataclasses.replace(warning, pitfall=None, made=made)


def _pitfall(content: SkillContent, step: int, seen: Sequence[_Met]) -> Pitfall:
    """What may happen at a step, in our words and with agents' own commands: nothing that was read."""
    run, met = seen[0]
    what = command_in(content.steps[step]) or content.steps[step].tool or place_name(step, len(content.steps))
    happened = "may be refused" if met.kind is FrictionKind.DENIED else "may not work as it stands"
    other = run.call(met.instead) if met.instead is not None else None
    way = f"{_code(_name(other))} did it then" if other else "ask for leave first"
    return Pitfall(text=f"{_code(what)} {happened}; {way}.", kind=str(met.kind), step=step, count=_voices(seen))


def _works_at(run: Run, step: int, beside: Beside) -> bool:
    """Whether a run did a step as the skill says, and nothing stood in the way."""
    return step in run.matched and not any(met.step == step and met.resisted for met in beside.met(run))


def _spans(seen: Iterable[_Met]) -> Iterator[Span]:
    for run, met in seen:
        if met.instead is not None:
            yield run.span(met.instead)
        yield run.span(met.run_step, "text" if met.kind is FrictionKind.CORRECTION else "arguments")


# --- a step that is missing, or not needed ------------------------------------------------------------------------


def _additions(content: SkillContent, runs: Sequence[Run], beside: Beside) -> Iterator[Edit]:
    """Calls that every success made in the same place, and the skill does not say."""
    sessions = len({run.session for run in runs})
    if sessions < SESSIONS:
        return
    own = {step_key(step) for step in content.steps}
    extra = [_extras(run, beside) for run in runs]
    shared = [key for key in extra[0] if key[1] not in own and all(key in other for other in extra[1:])]
    for place, key in shared[:MOST_ADDED]:
        calls = [other[place, key] for other in extra]
        at = place_name(place, len(content.steps)) if place < 0 else f"after step {place + 1}"
        yield Edit(
            reason=f"{at}: all successes, of {_sessions(sessions)}, did {_code(_name(calls[0]))}",
            spans=tuple(run.span(call.index) for run, call in zip(runs, calls, strict=True)),
            runs=tuple(runs),
            step=place,
            made=step_of(None, calls[0], beside.word),
            added=True,
        )


def _share(run: Run, beside: Beside) -> float:
    """How much of what the skill asks for, beyond looking, a run did."""
    asked = [n for n, step in enumerate(run.content.steps) if not step.optional and not beside.looks(step)]
    return sum(run.did(number) for number in asked) / len(asked) if asked else 0.0


def _extras(run: Run, beside: Beside) -> dict[tuple[int, str], Call]:
    """What a run did beside the skill's steps: place and call, each once."""
    repairs = {met.instead for met in beside.met(run) if met.resisted}
    found: dict[tuple[int, str], Call] = {}
    for call in run.calls:
        beside_it = call.worked and call.index not in repairs and not run.is_placed(call)
        if beside_it and call.effect != READ and not is_particular(run, call) and not beside.elsewhere(call):
            found.setdefault((run.gap(call), call.key), call)
    return found


def _omissions(content: SkillContent, runs: Sequence[Run]) -> Iterator[Edit]:
    """Steps that every success did without; what shows the end of the work is never left out for that."""
    sessions = len({run.session for run in runs})
    if sessions < SESSIONS:
        return
    drop = sessions >= SESSIONS_TO_DROP
    for number, step in enumerate(content.steps):
        needed = any(run.did(number) for run in runs) or shows_the_end(step, content)
        if needed or (step.optional and not drop):
            continue
        how = "not needed" if drop else "optional"
        yield Edit(
            reason=f"step {number + 1}: {how}, as all successes, of {_sessions(sessions)}, did without it",
            spans=tuple(run.span(max(run.at)) for run in runs),
            runs=tuple(runs),
            step=number,
            made=None if drop else dataclasses.replace(step, optional=True),
        )


def _exchanged(added: Sequence[Edit], omitted: Sequence[Edit]) -> Iterator[Edit]:
    """Where all left a step out and did the same other thing in its place, that takes its place."""
    before = {edit.step: edit for edit in reversed(added)}
    taken = [before[edit.step - 1] for edit in omitted if edit.step - 1 in before]
    yield from (edit for edit in added if edit not in taken)
    for edit in omitted:
        other = before.get(edit.step - 1)
        yield dataclasses.replace(other, step=edit.step, added=False) if other else edit


def _voices(seen: Iterable[_Met]) -> int:
    """How many independent sessions show something."""
    return len({run.session for run, _ in seen})


def _name(call: Call) -> str:
    return call.command or call.step.tool


def _sessions(number: int) -> str:
    return "1 session" if number == 1 else f"{number} sessions"


def _code(text: str) -> str:
    line = re.sub(r"\s+", " ", text).replace("`", "'").strip()
    return f"`{line if len(line) <= _CODE_MAX else line[: _CODE_MAX - 1] + '…'}`"
