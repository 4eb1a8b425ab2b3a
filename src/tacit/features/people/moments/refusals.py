"""What a person turned down of what sessions made → corrective moments of those sessions. Keeps each once; decides nothing."""

from __future__ import annotations

from contextlib import suppress

from tacit.domain.errors import TacitError
from tacit.domain.lifecycle import Status
from tacit.domain.moment import Moment, Phase
from tacit.domain.origin import Origin
from tacit.domain.ports import Store, Stored
from tacit.features.people.moments.stating import moment_key

_TEXT_MAX = 300


def note_refusal(store: Store, stored: Stored) -> None:
    """Keep that a version was just rejected, with each session that it came from; nothing where it was not."""
    for moment in _refused(store, stored) if store.version(stored.version.id).status is Status.REJECTED else ():
        if not store.entries(Moment, key=moment.key):
            store.add_entry(moment)


def note_refusals(store: Store) -> int:
    """The same for all that stand rejected; returns how many are new."""
    known = {moment.key for moment in store.entries(Moment) if moment.what == "gate"}
    new = [moment for stored in store.catalogue(statuses={Status.REJECTED}) for moment in _refused(store, stored)]
    with store.transaction():
        return sum(store.add_entry(moment) for moment in new if moment.key not in known)


def _refused(store: Store, stored: Stored) -> list[Moment]:
    version = stored.version
    moves = [move for move in store.transitions(version.id) if move.after is Status.REJECTED]
    sessions: dict[str, str] = {}
    for trajectory_id in version.provenance.trajectory_ids:
        with suppress(TacitError):
            sessions.setdefault(store.episode(trajectory_id).session_id, trajectory_id)
    return [
        Moment(
            key=moment_key("gate", version.id, session, move.at.isoformat()),
            at=move.at,
            by=move.by,
            session_id=session,
            sources=(version.id, trajectory_id),
            phase=Phase.CORRECTIVE,
            what="gate",
            text=f"rejected: {version.name}{f' ({move.reason})' if move.reason else ''}"[:_TEXT_MAX],
            origin=Origin.USER,
        )
        for move in moves[-1:]
        for session, trajectory_id in sessions.items()
    ]
