"""A comparison in → whether the arm is better, and why: the ruling that a paired test comes to. Pure; measures nothing.

Two figures decide. Success says how often the right tool was called; where the suite tells, it is also asked how often the
whole call was right: an adapter that finds the tools and spoils the arguments is not better.
"""

from __future__ import annotations

from tacit.domain.adapter import Ruling
from tacit.domain.errors import Mistake
from tacit.features.evaluate.comparison import (
    GROUPS_MIN,
    NOTABLE,
    ArmDifference,
    ArmFigures,
    Comparison,
    MarginOverConstant,
    points,
)


def judge_arm(
    comparison: Comparison,
    elsewhere: Comparison | None = None,
    *,
    arm: str = "",
    height: MarginOverConstant | None = None,
) -> tuple[Ruling, str]:
    """Whether an arm is better than the reference on held-out tasks without a loss elsewhere, and why.

    Without a name it is the only arm beside the reference. "No better" is said only where a notable difference would have
    been seen; otherwise it was too little to tell. Nothing is better whose whole calls are right less often, or that is
    not shown to be above the floor (`height`): what it was held against may have failed at the form of every answer.
    """
    figures = _arm_of(comparison, arm)
    found, exact = figures.differences.get("success"), figures.differences.get("exact")
    if found is None or found.groups < GROUPS_MIN:
        tasks = found.groups if found else 0
        return Ruling.TOO_LITTLE, f"{tasks} tasks were attempted under both; at least {GROUPS_MIN} are needed"
    said = f"success changes by {_told(found)}"
    if exact:
        said += f", wholly right calls by {_told(exact)}"
    if found.is_worse or (exact and exact.is_worse):
        return Ruling.WORSE, said
    if not found.is_better:
        if found.detectable > NOTABLE or found.high > NOTABLE:
            return Ruling.TOO_LITTLE, (
                f"{said}, which chance explains; only a difference of {points(found.detectable)} "
                "or more would be found at this size"
            )
        return Ruling.NO_BETTER, f"{said}, which chance explains"
    if exact and exact.low < -NOTABLE:
        return Ruling.TOO_LITTLE, f"{said}: a loss of more than {100 * NOTABLE:.0f} points there is not ruled out"
    if exact and not figures.means["exact"].value:
        return (
            Ruling.TOO_LITTLE,
            f"{said}: not one call was wholly right, so nothing tells what its arguments are worth",
        )
    if height and not height.is_shown:
        ruling = Ruling.NO_BETTER if height.above.high <= 0 else Ruling.TOO_LITTLE
        floor = f"{height.floor.answer} as the answer to everything has {100 * height.floor.success:.1f} % success"
        return ruling, f"{said}, but {floor}, and beside that it is {_told(height.above)}"
    if elsewhere is None:
        return Ruling.BETTER, f"{said}; nothing was measured elsewhere"
    return _judged_elsewhere(elsewhere, said)


def _judged_elsewhere(elsewhere: Comparison, said: str) -> tuple[Ruling, str]:
    """Better at home; elsewhere no arm may lose, and a notable loss must be ruled out."""
    for figures in elsewhere.others or [None]:
        lost = figures.differences.get("success") if figures else None
        if figures is None or lost is None:
            told = f"no exercise of {elsewhere.suite} was attempted under both"
            return Ruling.TOO_LITTLE, f"{said}, but what is lost elsewhere is unknown: {told}"
        if lost.is_worse:
            return Ruling.WORSE_ELSEWHERE, f"{said}, but in {elsewhere.suite} by {_told(lost)}"
        exact = figures.differences.get("exact")
        if exact and exact.is_worse:
            return Ruling.WORSE_ELSEWHERE, f"{said}, but in {elsewhere.suite} wholly right calls by {_told(exact)}"
        if lost.low < -NOTABLE:
            return Ruling.TOO_LITTLE, (
                f"{said}, but in {elsewhere.suite} by {_told(lost)}: a loss of more than "
                f"{100 * NOTABLE:.0f} points there is not ruled out"
            )
    return Ruling.BETTER, f"{said}, without a loss in {elsewhere.suite}"


def _told(found: ArmDifference) -> str:
    return f"{points(found.value)} ({points(found.low)} to {points(found.high)}, {found.groups} tasks)"


def _arm_of(comparison: Comparison, arm: str) -> ArmFigures:
    if not arm and len(comparison.others) != 1:
        raise Mistake("which arm is to be judged?", hint=f"name one of {', '.join(comparison.names)}")
    return comparison.arm(arm) if arm else comparison.others[0]
