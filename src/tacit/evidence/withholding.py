"""A skill and what is known of it → how much a control would tell, 0 to 1. Pure; the lot itself is drawn by `domain.lot`.

Nothing is held back whose absence may do harm: rules and preferences, answers to errors, warnings, what deletes, sends,
publishes, reveals, pays or persists, and what a person has pinned. Of the rest the more, the less its lift is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.domain.evidence import Evidence
from tacit.domain.skill import Kind, SkillContent
from tacit.evidence.lift import Measure, Naming, lift, run_of
from tacit.text.allowance import Keyed, needed
from tacit.text.touches import field_texts

FULLY, PARTLY, LITTLE, LEAST = 1.0, 0.75, 0.5, 0.25
"""A few levels only: runs are compared within one chance, and many chances would leave few runs in each."""

_LEVELS = ((0.2, FULLY), (0.15, PARTLY), (0.1, LITTLE))
"""Beyond this half-width of the lift's interval → how much a control would tell."""
_HARMFUL = frozenset({"deletes", "sends", "publishes", "reveals", "pays", "persists"})
_WARNING = re.compile(
    r"(?i)\b(?:never|must not|irreversibl[ey]|destructive|dangerous|danger|caution|beware|data loss|loses? data|"
    r"back ?ups? (?:first|before)|in production|outage|credentials?|secrets?|passwords?)\b"
)
"""Words of those who write to keep somebody from harm."""


def unproven(
    content: SkillContent, evidence: Iterable[Evidence], *, pinned: bool = False, session: Naming = run_of
) -> float:
    """How much a control would tell of this skill; 0: it is never held back.

    It depends on how wide the interval is and not on where it lies: shares that followed the estimate would bias it.
    """
    if pinned or is_needed(content):
        return 0.0
    known = lift(evidence, session=session, measures=(Measure.SUCCESS,)).success
    if known is None:
        return FULLY
    half = (known.high - known.low) / 2
    return next((level for width, level in _LEVELS if half > width), LEAST)


def is_needed(content: SkillContent) -> bool:
    """Whether a run without it is likely to come to harm, so that it is never held back."""
    if content.kind in (Kind.NORM, Kind.PREFERENCE) or content.signature:
        return True
    if any(_WARNING.search(text) for _, text in field_texts(content)):
        return True
    return not _HARMFUL.isdisjoint({*needed(Keyed(content, content.hash())).effects, *content.capabilities.effects})
