"""Pure statistics: intervals for proportions. No effects, stdlib only."""

from __future__ import annotations

import math

Z_ONE_SIDED_95 = 1.6448536269514722
"""Normal quantile for a one-sided 95 % bound, which is a two-sided 90 % interval."""


def wilson(successes: float, trials: float, *, z: float = Z_ONE_SIDED_95) -> tuple[float, float]:
    """Wilson score interval of a proportion; without trials, everything is possible.

    Fractional counts are allowed, so that a partial success can weigh a half.
    """
    if trials <= 0:
        return 0.0, 1.0
    if not 0 <= successes <= trials:
        raise ValueError("successes must lie between 0 and trials")
    share = successes / trials
    weight = z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return max(0.0, centre - half), min(1.0, centre + half)
