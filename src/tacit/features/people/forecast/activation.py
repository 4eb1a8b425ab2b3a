"""How present a memory is, after ACT-R: traces with ages → activation, counted in interactions and not in days. Pure.

Every time something is met it leaves a trace, and traces fade by a power of their age: `B = ln(sum age^-d)`. What was met
often and lately is present; what was met once, long ago, is not. An explicit correction leaves several traces at once. Knows
nothing of what the memories say.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

DECAY = 0.5
"""How fast traces fade in ACT-R."""
CORRECTION_TRACES = 5
"""Traces that one explicit correction leaves."""
FORGOTTEN = -0.5
"""Activation below which a memory is not named as a reason; its share in a forecast is small anyway."""


def presence(ages: Iterable[float], *, decay: float = DECAY) -> float:
    """The sum of faded traces, `e^B`: 0 for what was never met. No age is less than one interaction."""
    return math.fsum(max(1.0, age) ** -decay for age in ages)


def activation(ages: Iterable[float], *, decay: float = DECAY) -> float:
    """Base-level activation `B` of a memory; minus infinity for what was never met."""
    total = presence(ages, decay=decay)
    return math.log(total) if total else -math.inf


def jittered(value: float, *, scale: float = 0.0, dice: random.Random | None = None) -> float:
    """A value with logistic noise. Without dice, or with a scale of 0, as it is: forecasts can be made again."""
    if dice is None or scale <= 0:
        return value
    draw = min(max(dice.random(), 1e-12), 1 - 1e-12)
    return value + scale * math.log(draw / (1 - draw))


def traces_of(*, explicit: bool) -> int:
    """How many traces one decision leaves."""
    return CORRECTION_TRACES if explicit else 1
