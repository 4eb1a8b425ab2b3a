"""A recorded backport ↔ the files of its target: written, or put back, each whole or not at all, under the deck's lock.

The record goes before the first file and is finished after the last, so a stop in between is seen and can be mended: a file
that is as it was before, or as the backport left it, is known by its fingerprint, and any other was edited by somebody.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.domain.card import Backport
from tacit.domain.errors import NotPermitted, StaleVersion
from tacit.features.cards.backport.bundle import put_back, way_back
from tacit.features.cards.backport.edit_plan import EditPlan, Prints, block_print, edited_pieces, plan_removal
from tacit.features.cards.backport.targets import (
    FileChange,
    Target,
    TargetKind,
    find_target,
    fingerprint,
    read_file,
    read_files,
    read_text,
)
from tacit.render.safe_files import locked, refused, require_no_links

APPLYING, UNDOING = "applying", "undoing"
EXACT, BY_MARKERS, ALREADY = "exact", "markers", "already"
_FILE_MODE = 0o644
_LOCK = Path("exports", ".lock")


@contextmanager
def alone(exports: Path) -> Iterator[None]:
    """Wait until no other process applies or undoes anything; one that died lets go by itself."""
    lock = exports / _LOCK
    require_no_links(exports, _LOCK.parent)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(lock, error) from error
    with locked(lock):
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertedFile:
    """How one file goes back."""

    change: FileChange
    how: str
    """`exact` to the byte, by its `markers` because it was edited since, or `already` as it was."""
    kept: tuple[str, ...] = ()
    """Pieces that somebody edited there, and that were left."""


def recorded(root: Path, target: Target, planned: EditPlan) -> dict[str, Any]:
    """What has to be known to undo a planned backport."""
    made = [str(Path(change.path).parent.as_posix()) for change in planned.changes if change.before is None]
    return {
        "kind": str(target.kind),
        "name": target.name,
        "path": target.path,
        "main": target.main,
        "reference": target.reference,
        "files": {change.path: way_back(change.before, change.after) for change in planned.changes},
        "folders": [folder for folder in made if not (root / folder).exists()],
        "replaced": dict(planned.replaced),
        "blocks": dict(planned.blocks),
    }


def target_of(root: Path, backport: Backport) -> Target:
    """The target of a backport; of one that another tool recorded, as it is found now."""
    recorded_graft = backport.graft
    if not recorded_graft:
        return find_target(root, root / backport.target_path)
    return Target(
        kind=TargetKind(recorded_graft["kind"]),
        name=recorded_graft["name"],
        path=recorded_graft["path"],
        main=recorded_graft["main"],
        reference=recorded_graft["reference"],
    )


def write(root: Path, planned: EditPlan, backport_id: str) -> None:
    """Write the files of a plan, unless one is no longer what the plan was made for; then none is written."""
    edited = [change.path for change in planned.changes if read_file(root, change.path) != change.before]
    if edited:
        raise StaleVersion(f"{', '.join(edited)} changed meanwhile; nothing was written", hint="try again")
    for change in planned.changes:
        _put(root, change, backport_id)


def revert(root: Path, backport: Backport, *, prints: Prints | None = None) -> list[RevertedFile]:
    """Plan how the files of a backport go back; writes nothing. `prints` are of blocks that others wrote there too."""
    target = target_of(root, backport)
    held = read_files(root, target)
    ways: Mapping[str, Any] = backport.graft.get("files", {})
    exact = dict(_exactly(ways, held))
    others = [path for path in target.files if path not in exact and held[path] is not None]
    if not others:
        return list(exact.values())
    created = {path for path, way in ways.items() if not way["was"]}
    replaced, written = backport.graft.get("replaced", {}), _prints(backport, prints or {})
    marked = plan_removal(target, held, backport.key, replaced=replaced, created=created, written=written)
    found = {change.path: RevertedFile(change=change, how=BY_MARKERS) for change in marked if change.path in others}
    if target.host in others and (
        kept := edited_pieces(read_text(held[target.host], path=target.host).text, written or {})
    ):
        as_it_is = FileChange(path=target.host, before=held[target.host], after=held[target.host])
        host = found.get(target.host, RevertedFile(change=as_it_is, how=BY_MARKERS))
        found[target.host] = replace(host, kept=kept)
    return [one for path in target.files if (one := exact.get(path) or found.get(path))]


def _exactly(ways: Mapping[str, Any], held: Mapping[str, bytes | None]) -> Iterator[tuple[str, RevertedFile]]:
    """Files that are as the backport left them, or as they were before it."""
    for path, way in ways.items():
        now = held[path]
        if fingerprint(now) == way["is"] and now is not None:
            yield path, RevertedFile(change=FileChange(path=path, before=now, after=put_back(way, now)), how=EXACT)
        elif fingerprint(now) == way["was"]:
            yield path, RevertedFile(change=FileChange(path=path, before=now, after=now), how=ALREADY)


def _prints(backport: Backport, others: Prints) -> Prints | None:
    """The prints of the blocks of a backport; nothing of one that another tool carried out."""
    if not backport.graft:
        return None
    replaced = {one: block_print(block) for one, block in backport.graft.get("replaced", {}).items()}
    own = backport.graft.get("blocks", {})
    return {one: {own[one], replaced.get(one, own[one]), *others.get(one, ())} for one in own}


def put_all_back(root: Path, backport: Backport, *, prints: Prints | None = None) -> list[RevertedFile]:
    """Put the files of a backport back, the last written first, and remove folders that it made and that are empty."""
    done = revert(root, backport, prints=prints)
    for one in reversed(done):
        if one.change.before != one.change.after:
            _put(root, one.change, backport.key)
    for path in backport.graft.get("files", ()):
        _draft(root.resolve() / path, backport.key).unlink(missing_ok=True)
    for folder in backport.graft.get("folders", ()):
        with suppress(OSError):  # somebody keeps something else there by now
            (root / folder).rmdir()
    return done


def how_far(root: Path, backport: Backport) -> dict[str, str]:
    """Of a backport that was interrupted: each file, and whether it is written, not written, or edited since."""
    states = {}
    for path, way in backport.graft.get("files", {}).items():
        now = fingerprint(read_file(root, path))
        states[path] = "written" if now == way["is"] else "not written" if now == way["was"] else "edited since"
    return states


def without_state(backport: Backport, **changes: Any) -> Backport:
    """The next version of a backport, with nothing under way."""
    return replace(backport, state="", id="", **changes)


def _put(root: Path, change: FileChange, backport_id: str) -> None:
    """Write or remove one file, whole or not at all, never through a link."""
    top = root.resolve()
    file = top / change.path
    require_no_links(top, Path(change.path).parent)
    try:
        if change.after is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.parent.resolve() != file.parent:
            raise NotPermitted(f"{change.path} lies behind a link", hint="remove the link, or choose another target")
        draft = _draft(file, backport_id)
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as writer:
            writer.write(change.after)
            os.fchmod(writer.fileno(), _mode(file))
            writer.flush()
            os.fsync(writer.fileno())
        draft.replace(file)
    except OSError as error:
        raise refused(Path(change.path), error) from error


def _draft(file: Path, backport_id: str) -> Path:
    """Where a file is written before it is put in place: named so that one left over by a stop is found again."""
    return file.with_name(f".{backport_id}.{file.suffix[1:]}.draft")


def _mode(file: Path) -> int:
    try:
        return stat.S_IMODE(file.stat(follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return _FILE_MODE
