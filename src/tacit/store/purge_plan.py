"""Looking after a store as a whole: forgetting by provenance, with its copies; looking at backups and putting them back.

Store and sources in → what would go, and what went. Who may ask is decided by surfaces; what descends from what, in `memory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path

from tacit.domain.errors import Mistake, StoreOutage, TacitError
from tacit.domain.ports import Store
from tacit.domain.purging import Descent, Purge, Source, SourceKind
from tacit.store import restore as restoring
from tacit.store.anchors import Anchors
from tacit.store.restore import Looked, Restored, look

__all__ = ["Copy", "Looked", "Plan", "Restored", "look", "nearest_sources", "plan_purge", "purge", "restore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy of the store that is known of, and what it holds of what is to go."""

    path: str
    holds: int = 0
    """Attempts and versions."""
    problem: str = ""
    """Why that cannot be said, or what went wrong when it was purged."""
    purged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a purge would remove here, and which copies hold some of it."""

    descent: Descent
    copies: tuple[Copy, ...] = ()
    places: tuple[str, ...] = ()
    """Where the store and its backups lie or lay; unfinished copies that were left beside them go too."""


def plan_purge(store: Store, sources: Sequence[Source], *, database: str) -> Plan:
    """Find out what would go, without changing anything."""
    descent = store.descent(*sources)
    asked = _everywhere(descent)
    places = dict.fromkeys((database, *(manifest.path for manifest in store.backups() if manifest.path)))
    copies = tuple(_held(path, asked) for path in _copies(store, database))
    return Plan(descent=descent, copies=copies, places=tuple(places))


def nearest_sources(store: Store, asked: str, *, limit: int = 5) -> list[str]:
    """Where things in the store were read from, the most similar to what was asked for first."""
    told = {stored.version.provenance.source for stored in store.catalogue()}
    told |= {store.trajectory(episode.id).source for episode in store.episodes() if not episode.pruned}

    def likeness(source: str) -> tuple[float, float]:
        same_name = SequenceMatcher(None, Path(source).name, Path(asked).name).ratio()
        return -same_name, -SequenceMatcher(None, source, asked).ratio()

    return sorted(sorted(told - {""}), key=likeness)[:limit]


def purge(store: Store, plan: Plan, *, purge: Purge, backups: bool) -> tuple[bool, tuple[Copy, ...]]:
    """Carry a plan out, in the copies too if wanted; tells whether the log was emptied, and what became of each copy."""
    erased = store.purge(plan.descent, by=purge.by, at=purge.at, reason=purge.reason)
    restoring.remove_leftovers(plan.places)
    if not backups:
        return erased, plan.copies
    stones = store.tombstones()
    done = []
    for copy in plan.copies:
        if not copy.holds:
            done.append(copy)
            continue
        try:
            manifest = restoring.purge_copy(Path(copy.path), _everywhere(plan.descent), stones, purge=purge)
            store.keep_manifest(manifest)
            done.append(Copy(path=copy.path, holds=copy.holds, purged=True))
        except TacitError as error:
            done.append(Copy(path=copy.path, holds=copy.holds, problem=error.message))
    return erased, tuple(done)


def restore(
    file: Path, database: str, *, by: str, at: datetime, home: Path | None = None, options: Iterable[str] = ()
) -> tuple[Looked, Restored]:
    """Look at a backup and put it in place of a store, unless something is wrong with it.

    `options` may hold `without-manifest` and `without-tombstones`, each of which gives up one safeguard.
    """
    chosen = set(options)
    if restoring.same_file(file, database):
        raise Mistake("the backup is the store itself", hint="name the file that `tacit backup` wrote")
    looked = look(file)
    if looked.damage:
        first = looked.damage[0]
        raise StoreOutage(
            f"the backup is not as it was written: {first.subject}: {first.problem}", hint="choose another backup"
        )
    if looked.manifest is None and "without-manifest" not in chosen:
        raise Mistake(
            f"there is no manifest beside {file.name}, so nothing vouches for it",
            hint="--without-manifest puts it back all the same",
        )
    done = restoring.restore(
        file,
        database,
        purge=Purge(by=by, at=at),
        anchors=Anchors(home) if home else None,
        keep_tombstones="without-tombstones" not in chosen,
    )
    return looked, done


def _copies(store: Store, database: str) -> list[Path]:
    """Every copy that is known of and still there: backups by their manifests, and what lies beside the store."""
    known = [Path(manifest.path) for manifest in store.backups() if manifest.path]
    found = dict.fromkeys(path.resolve() for path in [*known, *restoring.siblings(database)])
    return [path for path in found if path.is_file()]


def _held(path: Path, sources: Sequence[Source]) -> Copy:
    try:
        found = restoring.descent_in(path, sources)
    except TacitError as error:
        return Copy(path=str(path), problem=error.message)
    return Copy(path=str(path), holds=len(found.trajectories) + len(found.versions) + len(found.uses))


def _everywhere(descent: Descent) -> list[Source]:
    """What goes, named so that a copy finds it too: by the sources asked for, and by every id and hash."""
    attempts = [Source(kind=SourceKind.TRAJECTORY, value=identity) for identity in descent.trajectories]
    contents = [Source(kind=SourceKind.IMPORTED, value=hash_) for hash_ in descent.hashes]
    return [*descent.sources, *attempts, *contents]
