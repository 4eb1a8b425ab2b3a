"""Contradictions: two skills that cannot both be followed → of which kind that is, and what to do about it. Pure.

Nothing is deleted, and nobody is overruled: what is obsolete is set aside and can be brought back, what depends on the
scope stays, a genuine tension is for a person, and what rests on too little is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.scope import Scope
from tacit.domain.skill import SkillContent

FAR_APART = timedelta(days=90)
"""Of two that lie so far apart the older may be out of date."""


class Discord(StrEnum):
    """Kinds of contradictions."""

    OBSOLETE = "obsolete"
    """One is much older, and nothing has confirmed it since the other came."""
    SCOPE = "scope-dependent"
    """Each holds in a place, or a case, of its own."""
    TENSION = "genuine tension"
    """Both stand."""
    NOISE = "noise"
    """One of them rests on too little to say so."""


RESOLUTION = {
    Discord.OBSOLETE: "the older one is set aside; `tacit review --restore` brings it back",
    Discord.SCOPE: "both stay; the narrower one goes before where it holds",
    Discord.TENSION: "both stay until a person decides",
    Discord.NOISE: "both stay; nothing is to be done",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two, as far as the kind of a contradiction depends on it."""

    content: SkillContent
    scope: Scope
    status: Status
    made_at: datetime
    confirmed_at: datetime | None = None
    """When a verified success, or a further attempt, last confirmed it."""
    confirmations: int = 0


def discord(one: Side, other: Side) -> Discord:
    """Tell the kind of a contradiction; the order of the two makes no difference."""
    older, newer = sorted((one, other), key=lambda side: (side.made_at, side.content.hash()))
    if one.scope != other.scope or _cases_apart(one.content, other.content):
        return Discord.SCOPE
    if any(side.status not in RECALLABLE and not side.confirmations for side in (one, other)):
        return Discord.NOISE
    last = older.confirmed_at or older.made_at
    if newer.made_at - older.made_at >= FAR_APART and last < newer.made_at:
        return Discord.OBSOLETE
    return Discord.TENSION


def _cases_apart(left: SkillContent, right: SkillContent) -> bool:
    """Whether each says for itself in which case it holds, and they are not the same."""
    ours, theirs = _conditions(left), _conditions(right)
    return bool(ours and theirs) and ours.isdisjoint(theirs)


def _conditions(content: SkillContent) -> frozenset[str]:
    cases = (condition.text for case in content.cases for condition in case.conditions)
    return frozenset([*cases, *(condition.text for condition in content.preconditions)])
