"""Writes the files of a recorded backport, and restores them; each file whole or not at all.

The record is stored before the first file is written and completed after the last, so that an interruption is visible and can
be repaired: a file with the fingerprint of before or after is known, and any other was edited by somebody.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.config.files import write_atomically
from tacit.domain.errors import NotPermitted, StaleVersion
from tacit.features.cards.backport.bundle import put_back, rollback_decisions
from tacit.features.cards.backport.edit_plan import EditPlan, Prints, block_print, edited_pieces, plan_removal
from tacit.features.cards.backport.targets import (
    Target,
    TargetChange,
    TargetKind,
    find_target,
    fingerprint,
    read_file,
    read_files,
    read_text,
)
from tacit.features.cards.card import Backport
from tacit.render.safe_files import locked, refused, require_no_links

APPLYING, UNDOING = "applying", "undoing"
EXACT, BY_MARKERS, ALREADY = "exact", "markers", "already"
_FILE_MODE = 0o644
_LOCK = Path("exports", ".lock")
_DRAFTS = ".tacit-*.part"
"""Drafts that an interrupted write left behind."""


@contextmanager
def exclusive(exports: Path) -> Iterator[None]:
    """Wait until no other process applies or undoes a backport; the lock ends with the process."""
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
    """How one file is restored."""

    change: TargetChange
    how: str
    """`exact` to the byte, by its `markers` because it was edited since, or `already` as it was."""
    kept: tuple[str, ...] = ()
    """Pieces that somebody edited there, and that stay."""


def undo_record(root: Path, target: Target, planned: EditPlan) -> dict[str, Any]:
    """Return what has to be known to undo a planned backport."""
    made = [str(Path(change.path).parent.as_posix()) for change in planned.changes if change.before is None]
    return {
        "kind": str(target.kind),
        "name": target.name,
        "path": target.path,
        "main": target.main,
        "reference": target.reference,
        "files": {change.path: rollback_decisions(change.before, change.after) for change in planned.changes},
        "folders": [folder for folder in made if not (root / folder).exists()],
        "replaced": dict(planned.replaced),
        "blocks": dict(planned.blocks),
    }


def target_of(root: Path, backport: Backport) -> Target:
    """Return the target of a backport; of one that another tool recorded, as it is found now."""
    record = backport.graft
    if not record:
        return find_target(root, root / backport.target_path)
    return Target(
        kind=TargetKind(record["kind"]),
        name=record["name"],
        path=record["path"],
        main=record["main"],
        reference=record["reference"],
    )


def write(root: Path, planned: EditPlan) -> None:
    """Write the files of a plan; none is written if one of them changed since the plan was made."""
    edited = [change.path for change in planned.changes if read_file(root, change.path) != change.before]
    if edited:
        raise StaleVersion(f"{', '.join(edited)} changed meanwhile; nothing was written", hint="try again")
    for change in planned.changes:
        _write_file(root, change)


def revert(root: Path, backport: Backport, *, prints: Prints | None = None) -> list[RevertedFile]:
    """Plan how the files of a backport are restored; writes nothing. `prints` are of blocks of other backports there."""
    target = target_of(root, backport)
    held = read_files(root, target)
    ways: Mapping[str, Any] = backport.graft.get("files", {})
    exact = dict(_exact_files(ways, held))
    others = [path for path in target.files if path not in exact and held[path] is not None]
    if not others:
        return list(exact.values())
    created = {path for path, way in ways.items() if not way["was"]}
    replaced, written = backport.graft.get("replaced", {}), _block_prints(backport, prints or {})
    marked = plan_removal(target, held, backport.key, replaced=replaced, created=created, written=written)
    found = {change.path: RevertedFile(change=change, how=BY_MARKERS) for change in marked if change.path in others}
    if target.host in others:
        text = read_text(held[target.host], path=target.host).text
        if kept := edited_pieces(text, written or {}):
            unchanged = TargetChange(path=target.host, before=held[target.host], after=held[target.host])
            host = found.get(target.host, RevertedFile(change=unchanged, how=BY_MARKERS))
            found[target.host] = replace(host, kept=kept)
    return [one for path in target.files if (one := exact.get(path) or found.get(path))]


def _exact_files(ways: Mapping[str, Any], held: Mapping[str, bytes | None]) -> Iterator[tuple[str, RevertedFile]]:
    """Yield the files that are as the backport left them, or as they were before it."""
    for path, way in ways.items():
        now = held[path]
        if fingerprint(now) == way["is"] and now is not None:
            yield path, RevertedFile(change=TargetChange(path=path, before=now, after=put_back(way, now)), how=EXACT)
        elif fingerprint(now) == way["was"]:
            yield path, RevertedFile(change=TargetChange(path=path, before=now, after=now), how=ALREADY)


def _block_prints(backport: Backport, others: Prints) -> Prints | None:
    """Return the prints of the blocks of a backport; None for one that another tool applied."""
    if not backport.graft:
        return None
    replaced = {one: block_print(block) for one, block in backport.graft.get("replaced", {}).items()}
    own = backport.graft.get("blocks", {})
    return {one: {own[one], replaced.get(one, own[one]), *others.get(one, ())} for one in own}


def restore_files(root: Path, backport: Backport, *, prints: Prints | None = None) -> list[RevertedFile]:
    """Restore the files of a backport, the last written first, and remove empty folders that it made."""
    done = revert(root, backport, prints=prints)
    for one in reversed(done):
        if one.change.before != one.change.after:
            _write_file(root, one.change)
    for path in backport.graft.get("files", ()):
        for draft in (root.resolve() / path).parent.glob(_DRAFTS):
            draft.unlink(missing_ok=True)
    for folder in backport.graft.get("folders", ()):
        with suppress(OSError):  # it holds something else by now
            (root / folder).rmdir()
    return done


def file_states(root: Path, backport: Backport) -> dict[str, str]:
    """Return for each file of an interrupted backport whether it is written, not written, or edited since."""
    states = {}
    for path, way in backport.graft.get("files", {}).items():
        now = fingerprint(read_file(root, path))
        states[path] = "written" if now == way["is"] else "not written" if now == way["was"] else "edited since"
    return states


def without_state(backport: Backport, **changes: Any) -> Backport:
    """Return the next version of a backport, with nothing under way."""
    return replace(backport, state="", id="", **changes)


def _write_file(root: Path, change: TargetChange) -> None:
    """Write or remove one file, never through a link."""
    top = root.resolve()
    file = top / change.path
    require_no_links(top, Path(change.path).parent)
    try:
        if change.after is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.parent.resolve() != file.parent:
            message = f"{change.path} is behind a link"
            raise NotPermitted(message, code="behind_link", hint="remove the link, or choose another target")
        write_atomically(file, change.after, mode=_mode(file))
    except OSError as error:
        raise refused(Path(change.path), error) from error


def _mode(file: Path) -> int:
    try:
        return stat.S_IMODE(file.stat(follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return _FILE_MODE
