"""What runs met when they used skills, kept: a run and the versions it was shown → remarks of friction, and back again.

Aligns the run with each version, has `refinement` find where the two rubbed, and keeps that as one remark of version and
run. Doing it again adds nothing. What should become of it is found in `refining`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tacit.domain.errors import TacitError
from tacit.domain.evidence import Assessment, Following
from tacit.domain.ledger import About, Remark
from tacit.domain.ports import Store
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Role, Step, Trajectory
from tacit.evidence.attribution import align
from tacit.evidence.friction import DETAIL_MAX, MADE_BY, Friction, FrictionKind, frictions_of
from tacit.evidence.runs import Run
from tacit.learn.correction import corrections_of, objections_of
from tacit.learn.wording import step_text
from tacit.text.tool_calls import Effect, tool_call, tool_calls

MOST_MET = 24
"""Places that are kept of one run; a run with more tells nothing new with them."""


def note_friction(store: Store, trajectory: Trajectory, shown: Mapping[str, int], *, at: datetime) -> list[Remark]:
    """Keep what a run met at the steps of each version that it was shown; only what is new is returned.

    `shown` is version → the first step that it could have guided.
    """
    kept: list[Remark] = []
    for version_id, start in shown.items():
        try:
            content = store.version(version_id).version.content
        except TacitError:  # purged meanwhile
            continue
        run = run_beside(trajectory, content, start=start)
        met = frictions_of(run)[:MOST_MET] if run is not None else ()
        if not met or trajectory.id in met_in(store, version_id):
            continue
        text = json.dumps([_record(each) for each in met], separators=(",", ":"), ensure_ascii=False)
        remark = Remark(subject=version_id, about=About.FRICTION, by=MADE_BY, at=at, other=trajectory.id, text=text)
        kept += [remark] if store.add(remark) else []
    return kept


def met_in(store: Store, version_id: str) -> dict[str, tuple[Friction, ...]]:
    """Trajectory → what was met in it at the steps of a version, as it was noted."""
    return {
        remark.other: tuple(_read(remark.text))
        for remark in store.remarks(version_id, about=About.FRICTION)
        if remark.other
    }


def run_beside(
    trajectory: Trajectory, content: SkillContent, *, start: int = 0, assessment: Assessment | None = None
) -> Run | None:
    """A run beside a procedure, as refinement looks at it; nothing where the two cannot be compared."""
    if content.kind is not Kind.PROCEDURE or not content.steps or content.sub_skills:
        return None
    found = align(trajectory, content, start=start)
    if found is None:
        return None
    actions = tool_calls(trajectory)
    said = {*objections_of(trajectory, actions), *(each.message.index for each in corrections_of(trajectory, actions))}
    return Run(
        trajectory=trajectory,
        content=content,
        matched=found.matched,
        objections=tuple(sorted(said)),
        followed=found.following in (Following.FOLLOWED, Following.PARTLY),
        proven=assessment is not None and assessment.verified_success,
    )


def stays_within(trajectory: Trajectory, content: SkillContent, *, start: int = 0) -> bool:
    """Whether all that a run changed was a step of a procedure that it followed, or had to be done in place of one."""
    run = run_beside(trajectory, content, start=start)
    if run is None or not run.followed:
        return False
    in_place = {friction.instead for friction in frictions_of(run) if friction.resisted}
    changes = [call.index for call in run.calls if call.effect is Effect.WRITE and call.worked]
    return bool(changes) and all(index in run.at or index in in_place for index in changes)


def worded(step: Step, arguments: Mapping[str, Any]) -> str:
    """A call as the sentence of a step, in the words of all that is learned from calls."""
    return step_text(tool_call(step), arguments)


def looks(step: SkillStep) -> bool:
    """Whether a step of a skill only looks at something."""
    call = Step(index=0, role=Role.AGENT, tool=step.tool, arguments=step.arguments)
    return bool(step.tool) and tool_call(call).effect is Effect.READ


def _record(friction: Friction) -> dict[str, Any]:
    """Only what is said."""
    told = {name: getattr(friction, name) for name in Friction.__dataclass_fields__}
    return {name: value for name, value in told.items() if value not in (None, "")}


def _read(text: str) -> Iterator[Friction]:
    """What a remark holds; what another version of Tacit may have written otherwise is left out."""
    try:
        records = json.loads(text)
    except ValueError:
        return
    for record in records if isinstance(records, list) else ():
        try:
            yield Friction(**{**record, "kind": FrictionKind(record["kind"]), "detail": record["detail"][:DETAIL_MAX]})
        except (KeyError, TypeError, ValueError):
            continue
