"""The rules of a store: what may be added, what supersedes what, what may be pruned. Pure functions over domain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from tacit.domain.archive import Tombstone, session_tombstone
from tacit.domain.errors import GateRefusal, Mistake, StaleVersion
from tacit.domain.evidence import Assessment, Outcome
from tacit.domain.ledger import LedgerEntry
from tacit.domain.lifecycle import RECALLABLE, Status, Transition, check_transition
from tacit.domain.skill import Skill, SkillVersion
from tacit.domain.stored import Episode, Passage, StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.store.encoding import aware

FindTombstone = Callable[[str], Tombstone | None]
MAX_FILES = 50
"""Paths by which an attempt is found; more would drown the words of its task."""
_FILE_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSteps:
    """What retention needs to know of a trajectory whose steps are still stored."""

    id: str
    captured_at: datetime
    bytes: int
    droppable: bool
    """Learned from, or superseded by a longer one."""


def check_first_transition(skill: Skill, version: SkillVersion, transition: Transition) -> None:
    """Raise unless skill, version and first transition belong together and the lifecycle allows it."""
    if version.hash != version.content.hash() or version.id != version.content_id():
        raise _id_mismatch(f"version {version.id}")
    if version.skill_id != skill.id or version.content.kind is not skill.kind:
        raise Mistake(f"version {version.id} belongs to another skill or kind than {skill.id}", code="wrong_skill")
    if transition.version_id != version.id or transition.content_hash != version.hash or transition.before is not None:
        raise Mistake(
            f"transition {transition.id} is not the first one of version {version.id}", code="not_first_transition"
        )
    aware(skill.created_at)
    aware(version.created_at)
    aware(transition.at)
    check_transition(None, transition.after)


def check_step(transition: Transition, *, status: Status, content_hash: str) -> None:
    """Raise unless a transition starts from the stored status and content and is legal."""
    aware(transition.at)
    if transition.content_hash != content_hash:
        raise StaleVersion(
            f"the content of version {transition.version_id} changed since the decision",
            code="stale_content",
            hint="look at the version again and decide again",
        )
    if transition.before is not status:
        raise StaleVersion(
            f"version {transition.version_id} is {status}, not {transition.before or 'new'}",
            code="stale_status",
            hint="look at the version again and decide again",
        )
    check_transition(status, transition.after)


def check_approval(approval: Approval, *, content_hash: str) -> None:
    """Raise unless the approved content is that of the version."""
    aware(approval.at)
    if approval.content_hash != content_hash:
        raise StaleVersion(
            f"the content of version {approval.version_id} is not the approved one",
            code="stale_content",
            hint="look at the version again and decide again",
        )


def check_recallable(stored: StoredVersion) -> None:
    """Raise unless agents may see the version: only then it has a rendering and vectors."""
    if stored.status not in RECALLABLE:
        raise Mistake(
            f"version {stored.version.id} is {stored.status}",
            code="not_recallable",
            hint="only versions on trial and trusted ones are rendered and embedded",
        )


def check_entry(entry: LedgerEntry, tombstone: FindTombstone) -> None:
    """Raise unless the entry has a sort and a key, or if its session or something it is based on was purged."""
    if not entry.SORT:
        raise Mistake(
            f"a {type(entry).__name__} has no sort", code="entry_without_sort", hint="give its class a `SORT`"
        )
    if not entry.key:
        raise Mistake(
            f"this {entry.SORT} has no key", code="entry_without_key", hint="give the key of what it describes"
        )
    session = [session_tombstone(entry.session_id)] if entry.session_id else []
    if any(tombstone(identity) for identity in (entry.id, *session, *sorted(bases_of(entry)))):
        raise _was_purged(f"the {entry.SORT} {entry.key}")


def check_trajectory(trajectory: Trajectory, tombstone: FindTombstone) -> None:
    """Raise if this trajectory, or its whole session, was purged, or unless the id is the content's own."""
    sessions = {session for session in (trajectory.session_id, trajectory.parent_session_id) if session}
    for identity in (trajectory.id, *map(session_tombstone, sorted(sessions))):
        if tombstone(identity):
            raise _was_purged(f"the trajectory {trajectory.id}")
    if trajectory.id != trajectory.content_id():
        raise _id_mismatch(f"trajectory {trajectory.id}")


def check_content_not_purged(version: SkillVersion, tombstone: FindTombstone) -> None:
    """Raise if this content was purged, unless it was learned again from trajectories that the purge left."""
    found = tombstone(version.hash)
    if found is None:
        return
    learned_from = trajectories_of(version)
    is_clean = not version.provenance.source and not any(tombstone(identity) for identity in learned_from)
    if not (is_clean and learned_from & set(found.survivors)):
        raise _was_purged(f"the content {version.hash}")


def trajectories_of(version: SkillVersion) -> set[str]:
    """The trajectories that a version was made from."""
    spans = version.provenance.grounding.values()
    return {*version.provenance.trajectory_ids, *(span.trajectory_id for found in spans for span in found)}


def bases_of(entry: LedgerEntry) -> set[str]:
    """Ids of what an entry is based on."""
    return {*entry.sources, getattr(entry, "version_id", "")} - {""}


def check_passages(passages: Sequence[Passage]) -> None:
    """Raise unless the indexes of the passages are different and in order."""
    places = [passage.index for passage in passages]
    if places != sorted(set(places)):
        raise Mistake("the passages of a document are not in order, or two have the same index", code="bad_passages")


def id_is_taken(noun: str, identity: str) -> Mistake:
    """The error for a second, different record under a known id."""
    return Mistake(
        f"another {noun} is already stored as {identity}",
        code="id_taken",
        hint="an id stands for one content; nothing was changed",
    )


def _id_mismatch(what: str) -> Mistake:
    return Mistake(f"{what} does not hold the content that its id names", code="id_mismatch")


def _was_purged(what: str) -> GateRefusal:
    return GateRefusal(
        f"{what} was purged and is not added again",
        code="purged",
        hint="see `tacit skills history` for who purged it, and why",
    )


def episode_of(trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> Episode:
    """The summary of a trajectory when it is captured."""
    return Episode(
        id=trajectory.id,
        task=trajectory.task.text,
        project=trajectory.task.project,
        client=trajectory.environment.client,
        session_id=trajectory.session_id,
        parent_session_id=trajectory.parent_session_id,
        assessment=assessment,
        files=touched_files(trajectory),
        steps=len(trajectory.steps),
        started_at=trajectory.started_at,
        captured_at=aware(at),
        learned_at=None,
        superseded=False,
        pruned=False,
    )


def touched_files(trajectory: Trajectory) -> tuple[str, ...]:
    """Paths in the arguments of the steps, each once, in order, at most `MAX_FILES`."""
    values = (step.arguments.get(key) for step in trajectory.steps for key in _FILE_ARGUMENTS)
    found = dict.fromkeys(value for value in values if isinstance(value, str) and value.strip())
    return tuple(found)[:MAX_FILES]


def same_attempt(one: Episode, other: Episode) -> bool:
    """Whether two captures show one growing session."""
    return (
        bool(one.session_id)
        and one.started_at is not None
        and (one.session_id, one.parent_session_id, one.task, one.started_at)
        == (other.session_id, other.parent_session_id, other.task, other.started_at)
    )


def choose_pruned(
    holdings: Iterable[StoredSteps], *, keep_days: int | None, cap_bytes: int | None, at: datetime
) -> list[str]:
    """Ids of the trajectories to prune: those past retention, then the oldest until the rest fits the cap."""
    held = sorted(holdings, key=lambda holding: holding.captured_at)
    horizon: datetime | None = None
    if keep_days is not None:
        with suppress(OverflowError):  # longer than history
            horizon = aware(at) - timedelta(days=keep_days)
    total = sum(holding.bytes for holding in held)
    chosen: list[str] = []
    for holding in held:  # the oldest first
        too_old = horizon is not None and holding.captured_at < horizon
        too_much = cap_bytes is not None and total > cap_bytes
        if holding.droppable and (too_old or too_much):
            chosen.append(holding.id)
            total -= holding.bytes
    return chosen


def known_outcome(assessment: Assessment) -> Outcome:
    """The outcome if it is verified; an agent's own claim counts as unknown."""
    return assessment.outcome if assessment.grade.verified else Outcome.UNKNOWN
