"""Backups looked at, put back and purged: a file in → what is wrong with it; or a store in its place, and the old one aside.

A backup is never changed by looking at it. One that is put back first loses what the store in its place had purged, and takes
that store's tombstones over. Others may have the store open all the while: they see the old content or the new.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import apsw

from tacit.domain.errors import Mistake, NotFound, StoreOutage
from tacit.domain.ports import Damage
from tacit.domain.purging import Descent, Purge, Source, SourceKind, Tombstone, is_purge_stone, session_stone
from tacit.domain.safekeeping import Anchor, Manifest
from tacit.store.anchors import Anchors
from tacit.store.audit import Audit
from tacit.store.backup import copy_pages, copy_store, part_names, remove_stale
from tacit.store.backups import (
    Backups,
    anchor_of,
    describe,
    differences,
    manifest_path,
    read_manifest,
    write_manifest,
)
from tacit.store.connection import MEMORY, Connection, shown, translated
from tacit.store.descent import HASH
from tacit.store.encoding import Unreadable
from tacit.store.integrity import Integrity
from tacit.store.migrations import migrate, schema_of
from tacit.store.purge import purging_on
from tacit.store.schema import MIGRATIONS
from tacit.store.sqlite_store import SqliteStore
from tacit.store.tombstones import SINCE, Tombstones

ASIDE = "replaced"
_BESIDE = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look at a backup showed."""

    manifest: Manifest | None
    """The one beside it, if there is one."""
    damage: tuple[Damage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What putting a backup back did."""

    aside: Path | None
    """Where the store that was replaced is kept now."""
    descent: Descent
    """What the backup still held of what had been purged, and lost before it was put back."""


def look(file: Path) -> Looked:
    """Check a backup without changing or installing it: its manifest, its file, and everything in it."""
    manifest, damage = None, list[Damage]()
    try:
        manifest = read_manifest(file)
    except Unreadable as error:
        damage.append(Damage(subject="the manifest", problem=str(error)))
    try:
        with _copy_in_memory(file) as (copy, schema):
            if manifest is not None:
                found = replace(describe(copy, file, at=manifest.at), schema=schema)
                damage += [
                    Damage(subject="the manifest", problem=f"tells another {name} than the file has")
                    for name in differences(manifest, _comparable(manifest, found))
                ]
            damage += Integrity(copy, MIGRATIONS).damages()
    except StoreOutage as error:
        damage.append(Damage(subject="the file", problem=error.message))
    return Looked(manifest=manifest, damage=tuple(damage))


def descent_in(file: Path, sources: Iterable[Source]) -> Descent:
    """What a copy of a store still holds that came from these sources."""
    with _copy_in_memory(file) as (copy, _):
        return purging_on(copy).descent(sources)


def siblings(store: str) -> list[Path]:
    """Copies that Tacit itself left beside a store: before upgrades, and when it was replaced."""
    if store == MEMORY:
        return []
    path = Path(store)
    found = [
        *path.parent.glob(f"{_literal(path.name)}.before-*.bak"),
        *path.parent.glob(f"{_literal(path.name)}.{ASIDE}-*"),
    ]
    return sorted(each for each in found if each.is_file() and not each.name.endswith(_BESIDE))


def remove_leftovers(places: Iterable[str]) -> None:
    """Remove unfinished copies that killed backups, restores and purges left beside these files: nobody else finds them."""
    for path in (Path(place) for place in places if place != MEMORY):
        with suppress(OSError):  # the folder is gone, or is not ours
            remove_stale(path)


def purge_copy(file: Path, sources: Sequence[Source], stones: Sequence[Tombstone], *, purge: Purge) -> Manifest:
    """Purge a backup as its store was; it is replaced as a whole, with a new manifest where it had one.

    It stays the backup of the day it was made; the manifest tells besides when it was purged.
    """
    made_at = _made_at(file) or purge.at
    with _working_copy(file, beside=file) as temporary:
        store = SqliteStore(temporary)
        try:
            store.purge(store.descent(*sources), by=purge.by, at=purge.at, reason=purge.reason)
            store.bury(stones)
        finally:
            store.close()
        made = list[Manifest]()
        copy_store(str(temporary), file, replace=True, check=lambda copy: made.append(_described(copy, made_at)))
    manifest = replace(made[0], path=str(file.resolve()), purged_at=purge.at)
    if manifest_path(file).exists():
        write_manifest(file, manifest)
    return manifest


def restore(
    file: Path, target: str, *, purge: Purge, anchors: Anchors | None = None, keep_tombstones: bool = True
) -> Restored:
    """Put a backup in place of a store. `purge` says who does it and when; the caller has looked at the backup before."""
    if target == MEMORY:
        raise Mistake("a store in memory cannot be restored", hint="choose a file with --store")
    place = Path(target)
    stones, manifests = _left_behind(place) if keep_tombstones else ([], [])
    with _working_copy(file, beside=place) as temporary:
        descent = _prepare(temporary, stones, manifests, purge)
        with _opened(temporary) as connection:
            anchor = anchor_of(connection, at=purge.at)
        noted = _noted(anchors, target)
        if anchors is not None and noted:  # whoever dies here leaves the store as it was, or as it will be
            anchors.write(target, *noted, anchor)
        aside = _install(temporary, place, at=purge.at, expected=stones if keep_tombstones else None)
    if anchors is not None:
        anchors.write(target, anchor)
    return Restored(aside=aside, descent=descent)


def _noted(anchors: Anchors | None, target: str) -> tuple[Anchor, ...]:
    try:
        return anchors.read(target) if anchors is not None else ()
    except ValueError:  # it gives way to the new one
        return ()


def _prepare(file: Path, stones: Sequence[Tombstone], manifests: Sequence[Manifest], purge: Purge) -> Descent:
    """Purge in the copy what was purged in the store that it replaces, and note in its chain that it was put back."""
    store = SqliteStore(file)
    try:
        known = {stone.id for stone in store.tombstones()}  # what the backup has buried itself may have come back since
        fresh = [stone for stone in stones if stone.id not in known]
        with store.transaction():
            descent = store.descent(*(source for stone in fresh for source in _source_of(stone)))
            store.bury(fresh)
            if not descent.is_empty:
                store.purge(
                    replace(descent, sources=()), by=purge.by, at=purge.at, reason="purged before it was restored"
                )
            for manifest in manifests:
                store.keep_manifest(manifest)
            store.note_restored(by=purge.by, at=purge.at)
        if not descent.is_empty:
            store.wipe()
        return descent
    finally:
        store.close()


def _install(temporary: Path, place: Path, *, at: datetime, expected: Sequence[Tombstone] | None) -> Path | None:
    if not place.exists():
        copy_store(str(temporary), place)
        return None
    aside = place.with_name(f"{place.name}.{ASIDE}-{at:%Y%m%dT%H%M%SZ}")
    try:
        with _opened(place) as connection:
            schema_of(connection)
            is_store = connection.single("PRAGMA journal_mode") == "wal"
    except StoreOutage:
        is_store = False
    if is_store:
        _overwrite(temporary, place, aside=aside, expected=expected)
    else:  # nobody can be using it: it is moved away as it is
        for end in ("", *_BESIDE):
            with suppress(FileNotFoundError):
                place.with_name(place.name + end).replace(aside.with_name(aside.name + end))
        copy_store(str(temporary), place)
    return aside


def _overwrite(temporary: Path, place: Path, *, aside: Path, expected: Sequence[Tombstone] | None) -> None:
    """Replace the content of a store that others may have open, in one transaction, keeping the old one aside first.

    From the first page on nobody else can write, so that the copy aside is exactly what was replaced.
    """
    with _opened(place) as live, _opened(temporary) as source, translated(str(place)):
        with live.raw.backup("main", source.raw, "main") as pages:
            live.patiently(lambda: pages.step(1))
            if expected is not None and _left_behind(place)[0] != list(expected):
                raise StoreOutage(
                    f"{shown(place)} changed meanwhile; nothing was replaced", hint="try again", retryable=True
                )
            copy_store(str(place), aside)
            while not pages.done:
                pages.step(-1)
        live.wipe()


def _left_behind(place: Path) -> tuple[list[Tombstone], list[Manifest]]:
    """The tombstones and the list of backups of the store that is replaced."""
    if not place.exists():
        return [], []
    try:
        with _opened(place) as connection, connection.reading():
            if schema_of(connection) < SINCE:
                return [], []
            audit = Audit(connection)
            return Tombstones(connection, audit).all(), Backups(connection, audit).all()
    except StoreOutage as error:
        raise StoreOutage(
            f"what was purged from {shown(place)} cannot be read, so the backup could bring it back: {error.message}",
            hint="--without-tombstones puts the backup back all the same",
        ) from error


def _source_of(stone: Tombstone) -> Iterator[Source]:
    if is_purge_stone(stone.id):
        return
    if stone.id.startswith(session_stone("")):
        yield Source(kind=SourceKind.SESSION, value=stone.id.removeprefix(session_stone("")))
    elif stone.id.startswith(HASH):
        yield Source(kind=SourceKind.IMPORTED, value=stone.id)
    else:
        yield Source(kind=SourceKind.TRAJECTORY, value=stone.id)


def _comparable(manifest: Manifest, found: Manifest) -> Manifest:
    """A backup of an earlier schema was upgraded to be looked at: only what that leaves as it was can be compared."""
    return replace(found, counts={name: found.counts.get(name, -1) for name in manifest.counts})


def _made_at(file: Path) -> datetime | None:
    try:
        manifest = read_manifest(file)
    except Unreadable:
        return None
    return manifest.at if manifest else None


def _described(file: Path, at: datetime) -> Manifest:
    with _opened(file) as connection:
        return describe(connection, file, at=at)


@contextmanager
def _opened(file: Path) -> Iterator[Connection]:
    connection = Connection(file)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _copy_in_memory(file: Path) -> Iterator[tuple[Connection, int]]:
    """A store's file, brought to the newest schema in memory; the file itself is only read."""
    if not file.is_file():
        raise NotFound(f"no backup at {shown(file)}", hint="check the path")
    copy = Connection(MEMORY)
    try:
        with translated(str(file)):
            still = not any(file.with_name(file.name + end).exists() for end in ("-wal", "-journal"))
            mode = "immutable=1" if still else "mode=ro"
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            source = apsw.Connection(f"{file.absolute().as_uri()}?{mode}", flags=flags)
            try:
                copy_pages(source, copy.raw)
            finally:
                source.close()
        try:
            schema = schema_of(copy)
            migrate(copy, MIGRATIONS)
        except StoreOutage as error:
            raise StoreOutage(error.message.replace(MEMORY, shown(file)), hint=error.hint) from error
        yield copy, schema
    finally:
        copy.close()


@contextmanager
def _working_copy(file: Path, *, beside: Path) -> Iterator[Path]:
    """A copy to work on, in a folder of its own beside the place it is for; gone afterwards, whatever happened."""
    if not file.is_file():
        raise NotFound(f"no backup at {shown(file)}", hint="check the path")
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(beside)
        prefix, suffix = part_names(beside)
        with tempfile.TemporaryDirectory(prefix=prefix, suffix=suffix, dir=beside.parent) as folder:
            temporary = Path(folder) / "store.db"
            copy_store(str(file), temporary)
            yield temporary
    except OSError as error:
        raise StoreOutage(
            f"cannot write beside {shown(beside)}: {error.strerror or error}", hint="check permissions and free space"
        ) from error


def _literal(name: str) -> str:
    """A name as a pattern that matches it alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def same_file(one: Path, other: str) -> bool:
    """Whether a backup is the store itself."""
    try:
        return one.samefile(other)
    except OSError:
        return False
