"""What a volatile store holds, and plain answers about it: collections with snapshots, words → ranking, events → entries.

Keeps no rule of its own; `volatile` is the store around it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from tacit.domain.bookmark import Bookmark
from tacit.domain.candidate import Verdict
from tacit.domain.document import Passage
from tacit.domain.entry import Entry
from tacit.domain.evidence import Evidence, Use
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.outline import OUTLINE_VERSION, Outline
from tacit.domain.ports import AuditEntry, Counts, Episode, Rendering, Store, Stored
from tacit.domain.purging import Tombstone
from tacit.domain.remark import Remark
from tacit.domain.safekeeping import Manifest
from tacit.domain.skill import Kind, Skill
from tacit.domain.trust import Approval
from tacit.domain.working import Jotting
from tacit.store import laws
from tacit.store.chain import Event
from tacit.store.lexical import distinct, rarity, score
from tacit.store.records import pack, unpack

T = TypeVar("T")
Words = tuple[list[str], ...]


@dataclass(slots=True)
class Held:
    """Everything held. Values are immutable, so a shallow copy of each collection is a snapshot."""

    skills: dict[str, Skill] = field(default_factory=dict)
    versions: dict[str, Stored] = field(default_factory=dict)
    transitions: dict[str, Transition] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    backups: dict[str, Manifest] = field(default_factory=dict)
    uses: dict[str, Use] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    remarks: dict[str, Remark] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    passages: dict[str, tuple[Passage, ...]] = field(default_factory=dict)
    """Version → its passages, in order."""
    jottings: dict[str, Jotting] = field(default_factory=dict)
    renderings: dict[str, Rendering] = field(default_factory=dict)
    vectors: dict[tuple[str, str], tuple[bytes, ...]] = field(default_factory=dict)
    """Space and version → codes of its parts."""
    dimensions: dict[str, int] = field(default_factory=dict)
    """Space → how many numbers its vectors have."""
    episodes: dict[str, Episode] = field(default_factory=dict)
    bookmarks: dict[str, Bookmark] = field(default_factory=dict)
    outlines: dict[str, Outline] = field(default_factory=dict)
    mined: set[str] = field(default_factory=set)
    contents: dict[str, bytes] = field(default_factory=dict)
    version_words: dict[str, Words] = field(default_factory=dict)
    episode_words: dict[str, Words] = field(default_factory=dict)
    chain: list[tuple[Event, str]] = field(default_factory=list)
    log: list[Callable[[Store], object]] = field(default_factory=list)
    """What was done, to do it again on another store."""

    def snapshot(self) -> Held:
        return Held(*(getattr(self, each.name).copy() for each in fields(self)))


def reread(value: T) -> T:
    """The value as it reads back, cut off from whatever the caller still holds of it."""
    return unpack(pack(value), type(value))


def get(known: dict[str, T], identity: str, noun: str) -> T:
    """Look up an id; raises `NotFound`."""
    if identity not in known:
        raise laws.unknown(noun, identity)
    return known[identity]


def counts(state: Held, trajectory_id: str) -> bool:
    """Whether a trajectory counts: it is neither superseded nor pruned."""
    episode = state.episodes.get(trajectory_id)
    return episode is not None and not episode.superseded and not episode.pruned


def counting(state: Held) -> list[Outline]:
    """The outlines that count, oldest first."""
    kept = state.outlines.items()
    return [outline for id_, outline in kept if outline.version == OUTLINE_VERSION and counts(state, id_)]


def unoutlined(state: Held) -> list[str]:
    """Learned trajectories that count and have no outline, oldest first."""
    made = {outline.trajectory_id for outline in counting(state)}
    learned = [id_ for id_, episode in state.episodes.items() if episode.learned_at is not None]
    return [id_ for id_ in learned if id_ not in made and counts(state, id_)]


def recallable(state: Held) -> list[str]:
    """Versions that may be recalled, oldest first."""
    return [id_ for id_, stored in state.versions.items() if stored.status in RECALLABLE]


def forget_derived(state: Held, version_id: str, *, before: Status) -> None:
    """End what is derived from a version whose status changed."""
    state.renderings.pop(version_id, None)
    changed = state.versions[version_id]
    if (before in RECALLABLE) != (changed.status in RECALLABLE):
        unrender_composites(state, [changed.version.name])
    if changed.status not in RECALLABLE:
        for key in [key for key in state.vectors if key[1] == version_id]:
            del state.vectors[key]


def unrender_composites(state: Held, names: Collection[str]) -> None:
    """Drop the renderings of all that are made of these: they repeat what their parts say."""
    for version_id in list(state.renderings):
        if not set(names).isdisjoint(state.versions[version_id].version.content.sub_skills):
            del state.renderings[version_id]


def wanted(stored: Stored, statuses: Collection[Status] | None, kinds: Collection[Kind] | None) -> bool:
    """Whether a version passes the filters."""
    return (statuses is None or stored.status in statuses) and (kinds is None or stored.version.content.kind in kinds)


def count_documents(terms: Sequence[str], documents: dict[str, Words]) -> dict[str, int]:
    """In how many documents each term occurs."""
    sets = [{term for part in words for term in part} for words in documents.values()]
    return {term: sum(term in each for each in sets) for term in distinct(terms)}


def rank(terms: Sequence[str], documents: dict[str, Words], *, weights: Sequence[float]) -> list[tuple[str, float]]:
    """Matching documents with their scores, best first, newer first among equals."""
    frequencies = count_documents(terms, documents)
    query = {term: rarity(count, len(documents), term=term) for term, count in frequencies.items() if count}
    scored = [(identity, score(query, words, weights=weights)) for identity, words in documents.items()]
    newest_first = reversed(scored)
    return sorted((found for found in newest_first if found[1] > 0), key=lambda found: -found[1])


def count_all(state: Held) -> Counts:
    """How much is held."""
    attempts = [episode for episode in state.episodes.values() if not episode.superseded]
    current: dict[str, Stored] = {}
    for stored in state.versions.values():
        known = current.get(stored.skill.id)
        if known is None or stored.status in RECALLABLE or known.status not in RECALLABLE:
            current[stored.skill.id] = stored
    return Counts(
        trajectories=len(attempts),
        learned=sum(episode.learned_at is not None for episode in attempts),
        outcomes=tally(laws.known_outcome(episode.assessment) for episode in attempts),
        skills=tally(stored.status for stored in current.values()),
        kinds=tally(skill.kind for skill in state.skills.values()),
        versions=len(state.versions),
        uses=len(state.uses),
        evidence=tally(piece.grade for piece in state.evidence.values()),
        audit=len(state.chain),
        bytes=sum(map(len, state.contents.values())),
    )


def tally(values: Iterable[StrEnum]) -> dict[str, int]:
    """How many there are of each value."""
    return dict(Counter(map(str, values)))


def entry(event: Event, found: str) -> AuditEntry:
    """What callers see of a link."""
    return AuditEntry(
        sequence=event.sequence,
        at=datetime.fromisoformat(event.at),
        actor=event.actor,
        action=event.action,
        subject=event.subject,
        digest=event.digest,
        hash=found,
    )


class Part(ABC):
    """One part of a volatile store: what all parts share, and what the store as a whole does for them."""

    _state: Held

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Make several writes one."""

    @abstractmethod
    def _open(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _is_new(self, known: dict[str, T], value: T, identity: str) -> bool: ...

    @abstractmethod
    def _note(self, action: str, subject: str, *, value: Any, actor: str, at: datetime) -> None: ...
