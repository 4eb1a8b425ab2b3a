"""Checking, restoring and purging backups, and purging a store together with them.

A check never changes a backup. Before a backup replaces a store, everything that the store has purged is purged from it too,
and the store's tombstones are added. Other processes may have the store open: they see the old content or the new.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from tacit.domain.archive import (
    Anchor,
    Descent,
    Manifest,
    Purge,
    Source,
    SourceKind,
    Tombstone,
    is_purge_tombstone,
    session_tombstone,
)
from tacit.domain.errors import Mistake, NotFound, StoreOutage, TacitError
from tacit.domain.stored import Damage
from tacit.store.audit import Anchors, Audit, anchor_of
from tacit.store.backup import (
    SQLITE_SUFFIXES,
    copy_pages,
    copy_store,
    describe_copy,
    manifest_path,
    read_manifest,
    remove_stale_parts,
    write_manifest,
)
from tacit.store.connection import MEMORY, Connection, damage_of, open_read_only, printable_path, translate_errors
from tacit.store.encoding import UnreadableRecord
from tacit.store.purge import HASH
from tacit.store.record_log import TOMBSTONES_SINCE, RecordLog
from tacit.store.schema import schema_of
from tacit.store.sqlite_store import Store

ASIDE = "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBackup:
    """The result of checking a backup."""

    manifest: Manifest | None
    """The one next to it, if there is one."""
    damage: tuple[Damage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result of restoring a backup."""

    aside: Path | None
    """Where the replaced store is now."""
    descent: Descent
    """What the store had purged and the backup still had; it was purged from the backup first."""


def check_backup(file: Path) -> CheckedBackup:
    """Check a backup without changing or installing it: its manifest, its file, and everything in it."""
    manifest, damage = None, list[Damage]()
    try:
        manifest = read_manifest(file)
    except UnreadableRecord as error:
        damage.append(damage_of("the manifest", "bad_manifest", detail=str(error)))
    try:
        with _opened_copy(file) as (copy, schema):
            if manifest is not None:
                found = replace(describe_copy(copy.connection, file, at=manifest.at), schema=schema)
                # The manifest of an earlier schema lacks counts: the copy was upgraded for the check.
                found = replace(found, counts={name: found.counts.get(name, -1) for name in manifest.counts})
                for name in ("sha256", "bytes", "schema", "store_id", "sequence", "head", "counts"):
                    if getattr(manifest, name) != getattr(found, name):
                        damage.append(damage_of("the manifest", "manifest_mismatch", detail=name))
            damage += copy.verify()
    except StoreOutage as error:
        damage.append(Damage(subject="the file", problem=error.message, code=error.code))
    return CheckedBackup(manifest=manifest, damage=tuple(damage))


def restore_backup(
    file: Path, database: str, *, by: str, at: datetime, home: Path | None = None, options: Iterable[str] = ()
) -> tuple[CheckedBackup, Restored]:
    """Check a backup and put it in place of a store, unless it is damaged.

    `options` may hold `without-manifest` and `without-tombstones`, each of which gives up one safeguard.
    """
    chosen = set(options)
    with suppress(OSError):
        if file.samefile(database):
            raise Mistake(
                "the backup is the store itself", code="same_file", hint="name the file that `tacit store backup` wrote"
            )
    checked = check_backup(file)
    if checked.damage:
        first = checked.damage[0]
        raise StoreOutage(
            f"the backup is damaged: {first.subject}: {first.problem}",
            code="backup_damaged",
            hint="choose another backup",
        )
    if checked.manifest is None and "without-manifest" not in chosen:
        raise Mistake(
            f"there is no manifest next to {file.name}, so it cannot be checked against one",
            code="no_manifest",
            hint="--without-manifest restores it all the same",
        )
    if database == MEMORY:
        raise Mistake("a store in memory cannot be restored", code="store_in_memory", hint="choose a file with --store")
    keeps_tombstones = "without-tombstones" not in chosen
    return checked, _restore(file, Path(database), Purge(by=by, at=at), home=home, keep_tombstones=keeps_tombstones)


def _restore(file: Path, place: Path, purge: Purge, *, home: Path | None, keep_tombstones: bool) -> Restored:
    """Put a checked backup in place of a store. `purge` says who does it and when."""
    anchors = Anchors(home) if home else None
    tombstones, manifests = _tombstones_and_backups(place) if keep_tombstones else ([], [])
    with _opened_copy(file) as (copy, _):
        descent = _prepare(copy, tombstones, manifests, purge)
        anchor = anchor_of(copy.connection, at=purge.at)
        if anchors is not None:
            known: tuple[Anchor, ...] = ()
            with suppress(ValueError):  # the new one replaces it
                known = anchors.read(str(place))
            if known:  # a crash here leaves the store as it was, or as it will be
                anchors.write(str(place), *known, anchor)
        aside = _install(copy.connection, place, at=purge.at, expected=tombstones if keep_tombstones else None)
    if anchors is not None:
        anchors.write(str(place), anchor)
    return Restored(aside=aside, descent=descent)


def _prepare(store: Store, tombstones: Sequence[Tombstone], manifests: Sequence[Manifest], purge: Purge) -> Descent:
    """Purge in the copy what the store it replaces has purged, and note in its chain that it was restored."""
    known = {found.id for found in store.tombstones()}  # what the backup purged itself may have come back since
    fresh = [found for found in tombstones if found.id not in known]
    with store.transaction():
        descent = store.descent(*(_source_of(found) for found in fresh if not is_purge_tombstone(found.id)))
        for tombstone in fresh:
            store.add(tombstone)
        if not descent.is_empty:
            reason = "purged before it was restored"
            store.purge(replace(descent, sources=()), by=purge.by, at=purge.at, reason=reason)
        for manifest in manifests:
            store.add(manifest)
        store.note_restored(by=purge.by, at=purge.at)
    if not descent.is_empty:
        store.wipe()
    return descent


def _source_of(tombstone: Tombstone) -> Source:
    if tombstone.id.startswith(session_tombstone("")):
        return Source(kind=SourceKind.SESSION, value=tombstone.id.removeprefix(session_tombstone("")))
    kind = SourceKind.IMPORTED if tombstone.id.startswith(HASH) else SourceKind.TRAJECTORY
    return Source(kind=kind, value=tombstone.id)


def _install(copy: Connection, place: Path, *, at: datetime, expected: Sequence[Tombstone] | None) -> Path | None:
    if not place.exists():
        copy_store(copy.raw, place)
        return None
    aside = place.with_name(f"{place.name}.{ASIDE}-{at:%Y%m%dT%H%M%SZ}")
    try:
        with closing(Connection(place)) as connection:
            schema_of(connection)
            is_store = connection.single("PRAGMA journal_mode") == "wal"
    except StoreOutage:
        is_store = False
    if is_store:
        _overwrite(copy, place, aside=aside, expected=expected)
    else:  # no process can be using it: it is moved away as it is
        for end in ("", *SQLITE_SUFFIXES):
            with suppress(FileNotFoundError):
                place.with_name(place.name + end).replace(aside.with_name(aside.name + end))
        copy_store(copy.raw, place)
    return aside


def _overwrite(copy: Connection, place: Path, *, aside: Path, expected: Sequence[Tombstone] | None) -> None:
    """Replace the content of a store that others may have open, in one transaction, keeping the old one aside first.

    From the first page on no other process can write, so that the copy is exactly what was replaced.
    """
    with closing(Connection(place)) as live, translate_errors(str(place)):
        with live.raw.backup("main", copy.raw, "main") as pages:
            live.patiently(lambda: pages.step(1))
            if expected is not None and _tombstones_and_backups(place)[0] != list(expected):
                raise StoreOutage(
                    f"{printable_path(place)} changed meanwhile; nothing was replaced",
                    code="store_changed",
                    hint="try again",
                    retryable=True,
                )
            copy_store(str(place), aside)
            while not pages.done:
                pages.step(-1)
        live.wipe()


def _tombstones_and_backups(place: Path) -> tuple[list[Tombstone], list[Manifest]]:
    """The tombstones and backups of the store that is replaced."""
    if not place.exists():
        return [], []
    try:
        with closing(Connection(place)) as connection, connection.reading():
            if schema_of(connection) < TOMBSTONES_SINCE:
                return [], []
            records = RecordLog(connection, Audit(connection))
            return records.list_tombstones(), records.list_backups()
    except StoreOutage as error:
        raise StoreOutage(
            f"what was purged from {printable_path(place)} cannot be read, so the backup could bring it back: {error.message}",
            code="tombstones_unreadable",
            hint="--without-tombstones restores the backup all the same",
        ) from error


@contextmanager
def _opened_copy(file: Path) -> Iterator[tuple[Store, int]]:
    """A copy of a store in memory, brought to the newest schema, and the schema of the file; the file is only read."""
    if not file.is_file():
        raise NotFound(f"no backup at {printable_path(file)}", hint="check the path")
    copy = Connection(MEMORY)
    try:
        with translate_errors(str(file)), closing(open_read_only(file)) as source:
            copy_pages(source, copy.raw)
        try:
            schema = schema_of(copy)
            store = Store(copy)
        except StoreOutage as error:
            raise StoreOutage(error.message.replace(MEMORY, printable_path(file)), hint=error.hint) from error
        yield store, schema
    finally:
        copy.close()


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


def purge(store: Store, plan: PurgePlan, *, purge: Purge, backups: bool) -> tuple[bool, tuple[BackupCopy, ...]]:
    """Carry a plan out, in the copies too if wanted; returns whether the log was emptied, and the state of each copy."""
    erased = store.purge(plan.descent, by=purge.by, at=purge.at, reason=purge.reason)
    for place in plan.places:
        if place != MEMORY:
            with suppress(OSError):  # the folder is gone, or we may not
                remove_stale_parts(Path(place))
    if not backups:
        return erased, plan.copies
    sources, tombstones, done = _everywhere(plan.descent), store.tombstones(), list[BackupCopy]()
    for copy in plan.copies:
        if not copy.holds:
            done.append(copy)
            continue
        try:
            store.add(_purge_copy(Path(copy.path), sources, tombstones, purge=purge))
            done.append(BackupCopy(path=copy.path, holds=copy.holds, purged=True))
        except TacitError as error:
            done.append(BackupCopy(path=copy.path, holds=copy.holds, problem=error.message))
    return erased, tuple(done)


def _purge_copy(file: Path, sources: Sequence[Source], tombstones: Sequence[Tombstone], *, purge: Purge) -> Manifest:
    """Purge a backup as its store was; it is replaced as a whole, with a new manifest where it had one.

    It keeps the time it was made; the manifest also has the time it was purged.
    """
    known: Manifest | None = None
    with suppress(UnreadableRecord):
        known = read_manifest(file)
    made = list[Manifest]()

    def describe(copy: Path) -> None:
        with closing(Connection(copy)) as connection:
            made.append(describe_copy(connection, copy, at=known.at if known else purge.at))

    with _opened_copy(file) as (store, _):
        store.purge(store.descent(*sources), by=purge.by, at=purge.at, reason=purge.reason)
        for tombstone in tombstones:
            store.add(tombstone)
        copy_store(store.connection.raw, file, overwrite=True, check=describe)
    manifest = replace(made[0], path=str(file.resolve()), purged_at=purge.at)
    if manifest_path(file).exists():
        write_manifest(file, manifest)
    return manifest


def _known_copies(store: Store, database: str) -> list[Path]:
    """Every known copy that still exists: backups, and what upgrades and restores left next to the store."""
    known = [Path(manifest.path) for manifest in store.backups() if manifest.path]
    if database != MEMORY:
        path = Path(database)
        name = glob.escape(path.name)
        left = [*path.parent.glob(f"{name}.before-*.bak"), *path.parent.glob(f"{name}.{ASIDE}-*")]
        known += sorted(each for each in left if not each.name.endswith(SQLITE_SUFFIXES))
    return [path for path in dict.fromkeys(path.resolve() for path in known) if path.is_file()]


def _contents_of(path: Path, sources: Sequence[Source]) -> BackupCopy:
    try:
        with _opened_copy(path) as (copy, _):
            found = copy.descent(*sources)
    except TacitError as error:
        return BackupCopy(path=str(path), problem=error.message)
    return BackupCopy(path=str(path), holds=len(found.trajectories) + len(found.versions) + len(found.uses))


def _everywhere(descent: Descent) -> list[Source]:
    """The sources asked for, and every id and hash they led to, so that copies of any age find them too."""
    attempts = [Source(kind=SourceKind.TRAJECTORY, value=identity) for identity in descent.trajectories]
    contents = [Source(kind=SourceKind.IMPORTED, value=hash_) for hash_ in descent.hashes]
    return [*descent.sources, *attempts, *contents]
