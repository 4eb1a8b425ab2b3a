"""What a person does by hand about a skill that is there: leave it alone, declare it invalid, take the last change back.

Says which decisions that takes; carrying them out, with the approvals that go with them, is review's. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tacit import gate
from tacit.domain.errors import Mistake
from tacit.domain.ledger import About, Remark, pinned
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store
from tacit.domain.stored import Stored

INVALID = "invalid: "
UNDONE = "undone: "
ROLLED_BACK = "rolled back to"

Decisions = list[tuple[str, gate.Review, str]]
"""Version, decision and reason, in the order in which they are to be carried out."""
_WAITS = frozenset({Status.CANDIDATE, Status.QUARANTINED})


def pin(store: Store, stored: Stored, *, by: str, at: datetime, reason: str = "", off: bool = False) -> Remark:
    """Note that a skill is to be left alone, or no longer."""
    is_pinned = bool(pinned(store.remarks(stored.skill.id, about=About.PIN)))
    if is_pinned is not off:
        state = "not pinned" if off else "pinned already"
        raise Mistake(f"`{stored.version.name}` is {state}", hint="nothing to do")
    if not by.strip():
        raise Mistake("a pin needs the name of the person who sets it", hint="pass --by NAME (or by=…)")
    text = "" if off else reason.strip() or "left alone"
    remark = Remark(subject=stored.skill.id, about=About.PIN, by=by, at=at, text=text)
    store.add_remark(remark)
    return remark


def invalidation(store: Store, stored: Stored, reason: str) -> Decisions:
    """What takes a whole skill out of use: all its versions, those that wait too."""
    if not reason.strip():
        raise Mistake("say why it is invalid", hint="--reason TEXT is kept, and shown to whoever wants it back")
    versions = store.versions(stored.skill.id)
    told = f"{INVALID}{reason.strip()}"
    gone = [
        (held.version.id, gate.Review.RETIRE, told) for held in versions if held.status in {*RECALLABLE, Status.STALE}
    ]
    waiting = [(held.version.id, gate.Review.REJECT, told) for held in versions if held.status in _WAITS]
    if not gone and not waiting:
        raise Mistake(f"`{stored.version.name}` is not in use", hint="nothing to do")
    return [*gone, *waiting]


def last_change(store: Store, stored: Stored) -> list[Transition]:
    """The last change to a skill, whoever made it: one move, or all moves of one roll-back; the newest first."""
    moves = [move for held in store.versions(stored.skill.id) for move in store.transitions(held.version.id)]
    newest = sorted(moves, key=lambda move: move.at, reverse=True)
    if not newest[0].reason.startswith(ROLLED_BACK):
        return newest[:1]
    of_one = [move.reason.startswith(ROLLED_BACK) and move.by == newest[0].by for move in newest]
    return newest[: of_one.index(False) if False in of_one else len(newest)]


def way_back(changes: Sequence[Transition], name: str) -> Decisions:
    """What takes a change back."""
    return [(move.version_id, _inverse(move, name), f"{UNDONE}{move.reason}"[:400]) for move in changes]


def _inverse(move: Transition, name: str) -> gate.Review:
    if move.reason.startswith(UNDONE):
        raise Mistake(
            f"the last change to `{name}` was taken back already",
            hint="`tacit skills rollback VERSION` goes further back",
        )
    if Status.TRUSTED in (move.before, move.after) and move.after in RECALLABLE:
        raise Mistake(
            f"the last change to `{name}` was earned by evidence: {move.reason}",
            hint="`tacit skills pin` keeps it as it is",
        )
    if move.after in (Status.RETIRED, Status.STALE):
        return gate.Review.RESTORE
    if move.after is Status.REJECTED or (move.after is Status.TRIAL and move.before in _WAITS):
        return gate.Review.REOPEN
    return gate.Review.RETIRE if move.after is Status.TRIAL else gate.Review.REJECT
