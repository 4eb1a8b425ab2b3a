"""Purging a store together with its backups: a plan of what would be removed, and its execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from tacit.domain.archive import Descent, Purge, Source, SourceKind
from tacit.domain.errors import TacitError
from tacit.store.restore import descent_in, purge_copy, remove_leftovers, siblings
from tacit.store.sqlite_store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupCopy:
    """A known copy of the store, and what it has of what is to be purged."""

    path: str
    holds: int = 0
    """Trajectories, versions and uses."""
    problem: str = ""
    """Why it could not be read or purged."""
    purged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan:
    """What a purge would remove here, and which copies have some of it."""

    descent: Descent
    copies: tuple[BackupCopy, ...] = ()
    places: tuple[str, ...] = ()
    """Paths of the store and its backups; unfinished copies next to them are removed too."""


def plan_purge(store: Store, sources: Sequence[Source], *, database: str) -> PurgePlan:
    """Find out what would be removed, without changing anything."""
    descent = store.descent(*sources)
    asked = _everywhere(descent)
    places = dict.fromkeys((database, *(manifest.path for manifest in store.backups() if manifest.path)))
    copies = tuple(_contents_of(path, asked) for path in _known_copies(store, database))
    return PurgePlan(descent=descent, copies=copies, places=tuple(places))


def nearest_sources(store: Store, asked: str, *, limit: int = 5) -> list[str]:
    """Sources that things in the store were read from, the most similar to the one asked for first."""
    known = {stored.version.provenance.source for stored in store.catalogue()}
    known |= {store.trajectory(episode.id).source for episode in store.episodes() if not episode.pruned}

    def likeness(source: str) -> tuple[float, float]:
        same_name = SequenceMatcher(None, Path(source).name, Path(asked).name).ratio()
        return -same_name, -SequenceMatcher(None, source, asked).ratio()

    return sorted(sorted(known - {""}), key=likeness)[:limit]


def purge(store: Store, plan: PurgePlan, *, purge: Purge, backups: bool) -> tuple[bool, tuple[BackupCopy, ...]]:
    """Carry a plan out, in the copies too if wanted; returns whether the log was emptied, and the state of each copy."""
    erased = store.purge(plan.descent, by=purge.by, at=purge.at, reason=purge.reason)
    remove_leftovers(plan.places)
    if not backups:
        return erased, plan.copies
    tombstones = store.tombstones()
    done = []
    for copy in plan.copies:
        if not copy.holds:
            done.append(copy)
            continue
        try:
            manifest = purge_copy(Path(copy.path), _everywhere(plan.descent), tombstones, purge=purge)
            store.add(manifest)
            done.append(BackupCopy(path=copy.path, holds=copy.holds, purged=True))
        except TacitError as error:
            done.append(BackupCopy(path=copy.path, holds=copy.holds, problem=error.message))
    return erased, tuple(done)


def _known_copies(store: Store, database: str) -> list[Path]:
    """Every known copy that still exists: backups by their manifests, and copies next to the store."""
    known = [Path(manifest.path) for manifest in store.backups() if manifest.path]
    found = dict.fromkeys(path.resolve() for path in [*known, *siblings(database)])
    return [path for path in found if path.is_file()]


def _contents_of(path: Path, sources: Sequence[Source]) -> BackupCopy:
    try:
        found = descent_in(path, sources)
    except TacitError as error:
        return BackupCopy(path=str(path), problem=error.message)
    return BackupCopy(path=str(path), holds=len(found.trajectories) + len(found.versions) + len(found.uses))


def _everywhere(descent: Descent) -> list[Source]:
    """The sources asked for, and every id and hash they led to, so that copies of any age find them too."""
    attempts = [Source(kind=SourceKind.TRAJECTORY, value=identity) for identity in descent.trajectories]
    contents = [Source(kind=SourceKind.IMPORTED, value=hash_) for hash_ in descent.hashes]
    return [*descent.sources, *attempts, *contents]
