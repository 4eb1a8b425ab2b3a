"""The rules that every store keeps, whatever it is made of: what may enter, what supersedes what, what may be pruned.

Pure functions over domain values; they raise or answer, and write nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from tacit.domain.candidate import Verdict
from tacit.domain.document import Passage
from tacit.domain.entry import Entry
from tacit.domain.errors import Mistake, NotFound, StaleVersion
from tacit.domain.evidence import Assessment, Outcome
from tacit.domain.ledger import SORTS
from tacit.domain.lifecycle import RECALLABLE, Status, Transition, check_transition
from tacit.domain.ports import Episode, Stored
from tacit.domain.remark import Remark
from tacit.domain.skill import Skill, SkillVersion
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.store.encoding import aware

MAX_FILES = 50
_FILE_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What retention needs to know of one trajectory whose steps are still held."""

    id: str
    captured_at: datetime
    bytes: int
    droppable: bool
    """Learned from, or superseded by a longer one."""


def check_trajectory(trajectory: Trajectory) -> None:
    """Raise unless the id is the content's own."""
    if trajectory.id != trajectory.content_id():
        raise Mistake(f"trajectory {trajectory.id} does not hold the content that its id names")


def check_birth(skill: Skill, version: SkillVersion, transition: Transition) -> None:
    """Raise unless skill, version and birth transition belong together and the lifecycle allows the birth."""
    if version.hash != version.content.hash() or version.id != version.content_id():
        raise Mistake(f"version {version.id} does not hold the content that its id and hash name")
    if version.skill_id != skill.id or version.content.kind is not skill.kind:
        raise Mistake(f"version {version.id} is of another skill or kind than {skill.id}")
    if transition.version_id != version.id or transition.content_hash != version.hash or transition.before is not None:
        raise Mistake(f"transition {transition.id} is not the birth of version {version.id}")
    aware(skill.created_at)
    aware(version.created_at)
    aware(transition.at)
    check_transition(None, transition.after)


def check_step(transition: Transition, *, status: Status, content_hash: str) -> None:
    """Raise unless this step starts from what is stored and the lifecycle has it."""
    aware(transition.at)
    if transition.content_hash != content_hash:
        raise StaleVersion(
            f"the content of version {transition.version_id} is not the one decided on", hint="look again"
        )
    if transition.before is not status:
        raise StaleVersion(
            f"version {transition.version_id} is {status}, not {transition.before or 'new'}", hint="look again"
        )
    check_transition(status, transition.after)


def check_approval(approval: Approval, *, content_hash: str) -> None:
    """Raise unless the content that was approved is the one that the version has."""
    aware(approval.at)
    if approval.content_hash != content_hash:
        raise StaleVersion(f"the content of version {approval.version_id} is not the one approved", hint="look again")


def check_rendered(stored: Stored) -> None:
    """Raise unless agents may see the version."""
    if stored.status not in RECALLABLE:
        raise Mistake(f"version {stored.version.id} is {stored.status}", hint="only recallable versions are rendered")


def check_embedded(stored: Stored) -> None:
    """Raise unless agents may find the version by its meaning."""
    if stored.status not in RECALLABLE:
        raise Mistake(f"version {stored.version.id} is {stored.status}", hint="only recallable versions have vectors")


def check_entry(entry: Entry) -> None:
    """Raise unless the entry is of a known sort and is a version of something."""
    aware(entry.at)
    if SORTS.get(entry.SORT) is not type(entry):
        raise Mistake(f"the ledger knows no sort {type(entry).__name__}", hint="register it in `domain.ledger`")
    if not entry.key:
        raise Mistake(f"this {entry.SORT} has no key", hint="say what it is a version of")


def entry_action(entry: Entry) -> str:
    """How the chain names an entry."""
    return f"entry {entry.SORT}"


def check_passages(passages: Sequence[Passage]) -> None:
    """Raise unless each passage has a place of its own, in order."""
    places = [passage.index for passage in passages]
    if places != sorted(set(places)):
        raise Mistake("the passages of a document are not in order, or two have one place")


def has_passages(version_id: str) -> Mistake:
    """The error for other passages of a version that has some."""
    return Mistake(
        f"version {version_id} has other passages already", hint="passages are kept once; add the document anew"
    )


def same_id(noun: str, identity: str) -> Mistake:
    """The error for a second, different record under an id that is taken."""
    return Mistake(
        f"another {noun} is already kept as {identity}", hint="ids stand for one content; nothing was changed"
    )


def unknown(noun: str, identity: str) -> NotFound:
    """The error for an id that nothing has."""
    return NotFound(f"no {noun} has the id {identity!r}")


def dropped(trajectory_id: str) -> NotFound:
    """The error for asking the steps of a pruned trajectory."""
    return NotFound(
        f"the steps of trajectory {trajectory_id} were pruned",
        hint="its summary and hash are kept; see `tacit history`",
    )


def verdict_subject(verdict: Verdict) -> str:
    """Whose history a verdict belongs to: the version's, else the first trajectory's, else its own."""
    return verdict.version_id or next(iter(verdict.trajectory_ids), verdict.id)


def remark_action(remark: Remark) -> str:
    """How the chain names a remark."""
    return f"remark {remark.about}"


def episode_of(trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> Episode:
    """Sum up a trajectory as it is captured."""
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


def vouched(episode: Episode, assessment: Assessment) -> Episode | None:
    """An attempt that somebody vouches for now, waiting to be learned from again; nothing where that changes nothing."""
    better = assessment.grade.verified and not episode.assessment.grade.verified
    if not better or episode.superseded or episode.pruned:
        return None
    return replace(episode, assessment=assessment, learned_at=None)


def touched_files(trajectory: Trajectory) -> tuple[str, ...]:
    """Paths that the steps' arguments name, each once, in order, at most `MAX_FILES`."""
    found = dict.fromkeys(path for step in trajectory.steps for path in _paths(step.arguments))
    return tuple(found)[:MAX_FILES]


def _paths(arguments: Any) -> Iterator[str]:
    for key in _FILE_ARGUMENTS:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            yield value


def same_attempt(one: Episode, other: Episode) -> bool:
    """Whether two captures show one growing session."""
    return (
        bool(one.session_id)
        and one.started_at is not None
        and (one.session_id, one.parent_session_id, one.task, one.started_at)
        == (other.session_id, other.parent_session_id, other.task, other.started_at)
    )


def choose_pruned(
    holdings: Iterable[Holding], *, keep_days: int | None, cap_bytes: int | None, at: datetime
) -> list[str]:
    """Which trajectories lose their steps: those past retention, then the oldest until the rest fits the cap."""
    held = sorted(holdings, key=lambda holding: holding.captured_at)
    horizon = None if keep_days is None else _days_before(aware(at), keep_days)
    total = sum(holding.bytes for holding in held)
    chosen: list[str] = []
    for holding in held:
        too_old = horizon is not None and holding.captured_at < horizon
        if holding.droppable and too_old:
            chosen.append(holding.id)
            total -= holding.bytes
    past = set(chosen)
    for holding in held:
        if cap_bytes is None or total <= cap_bytes:
            break
        if holding.droppable and holding.id not in past:
            chosen.append(holding.id)
            total -= holding.bytes
    return chosen


def _days_before(at: datetime, days: int) -> datetime | None:
    try:
        return at - timedelta(days=days)
    except OverflowError:
        return None


def known_outcome(assessment: Assessment) -> Outcome:
    """How an attempt ended as far as somebody other than the agent vouches for it; a claim alone is unknown."""
    return assessment.outcome if assessment.grade.verified else Outcome.UNKNOWN
