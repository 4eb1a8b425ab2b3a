"""Stores where runs had trouble with the skills they were shown, as one remark per version and run.

Noting a run again adds nothing. Revisions are made of these notes elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tacit.domain.errors import TacitError
from tacit.domain.evidence import Assessment, Following
from tacit.domain.ledger import About, Remark
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Trajectory
from tacit.evidence.attribution import align
from tacit.evidence.friction import DETAIL_MAX, MADE_BY, Friction, FrictionKind, SkillRun
from tacit.learn.statements import objections_of
from tacit.store import Store
from tacit.text.tool_calls import Effect, tool_calls

MOST_MET = 24
"""Friction entries stored per run: a revision needs the same friction in several runs, not all of one."""


def note_friction(store: Store, trajectory: Trajectory, shown: Mapping[str, int], *, at: datetime) -> list[Remark]:
    """Store the friction of a run with each version it was shown; return the new remarks.

    `shown` maps a version to the first step that it could have guided.
    """
    kept: list[Remark] = []
    for version_id, start in shown.items():
        try:
            content = store.version(version_id).version.content
        except TacitError:  # purged meanwhile
            continue
        run = compare_run(trajectory, content, start=start)
        met = run.frictions[:MOST_MET] if run is not None else ()
        if not met or trajectory.id in frictions_by_run(store, version_id):
            continue
        text = json.dumps([_to_record(each) for each in met], separators=(",", ":"), ensure_ascii=False)
        remark = Remark(subject=version_id, about=About.FRICTION, by=MADE_BY, at=at, other=trajectory.id, text=text)
        kept += [remark] if store.add(remark) else []
    return kept


def frictions_by_run(store: Store, version_id: str) -> dict[str, tuple[Friction, ...]]:
    """Return the stored friction with a version, by trajectory."""
    return {
        remark.other: tuple(_parse_remark(remark.text))
        for remark in store.remarks(version_id, about=About.FRICTION)
        if remark.other
    }


def compare_run(
    trajectory: Trajectory, content: SkillContent, *, start: int = 0, assessment: Assessment | None = None
) -> SkillRun | None:
    """Compare a run with a procedure; nothing where the two cannot be compared."""
    if content.kind is not Kind.PROCEDURE or not content.steps or content.sub_skills:
        return None
    found = align(trajectory, content, start=start)
    if found is None:
        return None
    return SkillRun(
        trajectory=trajectory,
        content=content,
        matched=found.matched,
        objections=objections_of(trajectory, tool_calls(trajectory)),
        followed=found.following in (Following.FOLLOWED, Following.PARTLY),
        proven=assessment is not None and assessment.verified_success,
    )


def stays_within(trajectory: Trajectory, content: SkillContent, *, start: int = 0) -> bool:
    """Whether every change of a run was a step of the procedure it followed, or replaced a step that failed."""
    run = compare_run(trajectory, content, start=start)
    if run is None or not run.followed:
        return False
    in_place = {friction.instead for friction in run.frictions if friction.resisted}
    changes = [call.index for call in run.calls if call.effect is Effect.WRITE and call.worked]
    return bool(changes) and all(index in run.at or index in in_place for index in changes)


def _to_record(friction: Friction) -> dict[str, Any]:
    """Return the fields that have a value."""
    fields = {name: getattr(friction, name) for name in Friction.__dataclass_fields__}
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _parse_remark(text: str) -> Iterator[Friction]:
    """Parse a remark; entries of another format version are skipped."""
    try:
        records = json.loads(text)
    except ValueError:
        return
    for record in records if isinstance(records, list) else ():
        try:
            yield Friction(**{**record, "kind": FrictionKind(record["kind"]), "detail": record["detail"][:DETAIL_MAX]})
        except (KeyError, TypeError, ValueError):
            continue
