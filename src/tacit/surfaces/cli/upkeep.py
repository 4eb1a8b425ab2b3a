"""`tacit history`, `stats`, `verify`, `backup`, `pause`: looking after the store. See also `restoring` and `purging`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from tacit import custody
from tacit.domain.errors import Mistake, NotFound, StoreOutage
from tacit.domain.identity import plain
from tacit.domain.ports import AuditEntry, Damage
from tacit.domain.safekeeping import Manifest
from tacit.surfaces.cli.session import Session, clean, command_options
from tacit.surfaces.cli.show import STATUS_STYLE

_DERIVED = ("vector", "version_words", "episode_words")
"""How the subjects of damage to indexes begin: these can be made again from the records."""
_MEND = "put a backup back: tacit restore FILE (--without-tombstones where what was purged cannot be read)"
_LONGEST_PAUSE_S = 366 * 86_400
_SHOWN_ID = 14
_SHOWN_HASH = len("sha256:") + 12
"""As many digits as `tacit purge --source` asks for."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@click.command()
@click.argument("subject", required=False, default="")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The last so many entries.")
@command_options
def history(session: Session, *, subject: str, limit: int) -> None:
    """Show what happened, from the audit chain: of everything, or of one skill, version, trajectory or use."""
    loop = session.loop
    if subject:
        named = loop.store.catalogue(name=subject)
        found = [named[-1].skill.id] if named else loop.store.resolve(subject)
        if not found:
            raise NotFound(f"nothing has the name or id {subject!r}", hint="tacit skills list --all")
        subject = found[0]
    entries = loop.history(subject)[-limit:]
    reasons = _reasons(session, entries)

    def show() -> None:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column in ("#", "when", "what", "of", "by", *(["why"] if reasons else [])):
            table.add_column(column)
        for entry in entries:
            when = f"{entry.at:%Y-%m-%d %H:%M:%S}"
            of = escape(clean(entry.subject[: _SHOWN_HASH if entry.subject.startswith("sha256:") else _SHOWN_ID]))
            why = escape(clean(reasons.get(entry.sequence, "")))
            by = escape(clean(entry.actor))
            table.add_row(str(entry.sequence), when, escape(entry.action), of, by, *([why] if reasons else []))
        session.console.print(table if entries else "Nothing has happened yet.")

    told = [plain(entry) | {"reason": reasons.get(entry.sequence, "")} for entry in entries]
    session.answer({"subject": subject, "entries": told}, show)


def _reasons(session: Session, entries: Sequence[AuditEntry]) -> dict[int, str]:
    """Entry → why something was purged: told by the stones that were set at the same moment."""
    purged = [entry for entry in entries if entry.action in ("purge", "tombstone")]
    told = {stone.at: stone.reason for stone in session.loop.store.tombstones() if stone.reason} if purged else {}
    return {entry.sequence: told[entry.at] for entry in purged if entry.at in told}


@click.command()
@command_options
def stats(session: Session) -> None:
    """Count what there is: trajectories, skills by status, uses and evidence."""
    counts = session.loop.stats()
    document = plain(counts) | {"store": session.place.database}

    def show() -> None:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        outcomes = ", ".join(f"{n} {outcome}" for outcome, n in counts.outcomes.items())
        statuses = ", ".join(f"[{STATUS_STYLE[s]}]{n} {s}[/]" for s, n in counts.skills.items())
        rows = {
            "trajectories": f"{counts.trajectories} ({outcomes})" if outcomes else str(counts.trajectories),
            "learned from": str(counts.learned),
            "skills": statuses or "none yet",
            "kinds": ", ".join(f"{n} {kind}" for kind, n in counts.kinds.items()) or "none yet",
            "versions": str(counts.versions),
            "uses": str(counts.uses),
            "evidence": ", ".join(f"{n} {grade}" for grade, n in counts.evidence.items()) or "none yet",
            "audit entries": str(counts.audit),
            "size": f"{counts.bytes / 1_048_576:.1f} MiB",
            "store": escape(session.place.database),
        }
        for name, value in rows.items():
            table.add_row(f"[bold]{name}[/bold]", value)
        session.console.print(table)

    session.answer(document, show)


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@command_options
def verify(session: Session, *, file: Path | None) -> None:
    """Check that the store is intact: every row, every hash, the audit chain, the indexes. Exit 0 means intact.

    With FILE, a backup is checked instead, against its manifest and as a whole; it is not changed.
    """
    if file is not None:
        _verify_backup(session, file)
        return
    try:
        damage = session.loop.verify()
    except StoreOutage as error:
        if "tacit verify" not in error.hint:
            raise
        raise StoreOutage(error.message, hint=_MEND) from error  # it was just run
    anchor = None if damage else session.loop.store.anchored()
    document = {"intact": not damage, "damage": damage, "store": session.place.database, "anchor": anchor}

    def show() -> None:
        if not damage:
            noted = f"anchored up to entry {anchor.sequence}" if anchor else "no anchor here: unknown to this home"
            session.console.print(f"[green]intact[/green] ({noted})")
        _show_damage(session, damage)

    session.answer(document, show)
    if damage:
        derived = all(item.subject.startswith(_DERIVED) for item in damage)
        hint = "`tacit index --rebuild` makes it anew" if derived else _MEND
        session.end_with(StoreOutage("the store is not as it was written", hint=hint))


def _verify_backup(session: Session, file: Path) -> None:
    looked = custody.look(file)
    document = {
        "intact": not looked.damage, "damage": looked.damage, "backup": str(file), "manifest": looked.manifest,
    }  # fmt: skip

    def show() -> None:
        if not looked.damage:
            session.console.print(f"[green]intact[/green] ({_age(looked.manifest)})")
        _show_damage(session, looked.damage)

    session.answer(document, show)
    if looked.damage:
        session.end_with(StoreOutage("the backup is not as it was written", hint="choose another one"))


def _age(manifest: Manifest | None) -> str:
    if manifest is None:
        return "without a manifest"
    since = f"; purged {manifest.purged_at:%Y-%m-%d %H:%M:%S} UTC" if manifest.purged_at else ""
    return f"of {manifest.at:%Y-%m-%d %H:%M:%S} UTC{since}"


def _show_damage(session: Session, damage: Sequence[Damage]) -> None:
    for item in damage:
        session.console.print(f"[red]damaged[/red] {escape(clean(item.subject))}: {escape(clean(item.problem))}")


@click.command()
@click.argument("path", type=click.Path(dir_okay=False))
@command_options
def backup(session: Session, *, path: str) -> None:
    """Write a verified copy of the store to PATH, and PATH.manifest.json, while others go on working.

    `tacit verify PATH` checks it, `tacit restore PATH` puts it back.
    """
    target = Path(path)
    if path.endswith((os.sep, os.altsep or os.sep)):
        raise Mistake(f"{path} names a folder", hint=f"name the file, e.g. {path}tacit-backup.db")
    if not target.parent.is_dir():
        raise Mistake(f"there is no folder {target.parent}", hint="make it first, or choose another")
    manifest = session.loop.backup(target)
    document = {"backup": path, "manifest": manifest}
    session.answer(document, lambda: session.console.print(f"wrote {escape(clean(path))}", soft_wrap=True))


@click.command()
@click.option("--for", "duration", metavar="TIME", help="Only for so long, e.g. 30m, 2h, 1d.")
@click.option("--resume", is_flag=True, help="Go on again.")
@click.option("--status", "ask", is_flag=True, help="Only say whether it is paused.")
@command_options
def pause(session: Session, *, duration: str | None, resume: bool, ask: bool) -> None:
    """Stop capturing, learning and recalling in this project, until resumed or for a while."""
    if resume:
        session.place.resume()
    elif not ask:
        session.place.pause(_seconds(duration) if duration else None)
    until = session.place.paused_until
    end = None if until is None or math.isinf(until) else datetime.fromtimestamp(until, UTC)
    told = (
        "not paused" if until is None else f"paused until {end:%Y-%m-%d %H:%M} UTC" if end else "paused until resumed"
    )
    session.answer({"paused": until is not None, "until": end}, lambda: session.console.print(told))


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not match:
        raise Mistake(f"{text!r} is not a duration", hint="write a number and a unit: 45s, 30m, 2h, 1d")
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds > _LONGEST_PAUSE_S:
        raise Mistake(f"{text!r} is too long", hint="leave --for out to pause until resumed")
    return seconds
