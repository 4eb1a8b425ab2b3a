"""Decides from a comparison whether an arm is better than the reference, and why.

Success says how often the right tool was called. If the suite measures it, whole calls count too: an adapter that finds the
tools and gets the arguments wrong is not better.
"""

from __future__ import annotations

from typing import NamedTuple

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
from tacit.features.train.adapter import AdapterRuling


class ArmVerdict(NamedTuple):
    """The ruling on an arm, a code for the reason, and the reason in words."""

    ruling: AdapterRuling
    code: str
    reason: str


def judge_arm(
    comparison: Comparison,
    regression: Comparison | None = None,
    *,
    arm: str = "",
    margin: MarginOverConstant | None = None,
) -> ArmVerdict:
    """Decide whether an arm is better than the reference. Without `arm` it is the only arm besides the reference.

    "No better" is concluded only if a notable difference would have been found; otherwise the data are too few. An arm is not
    better if whole calls are right less often, or if it is not shown to beat a constant answer (`margin`): the reference may
    have failed at the format of every answer. `regression` compares both on other work, where nothing may be lost.
    """
    figures = _arm_of(comparison, arm)
    found, exact = figures.differences.get("success"), figures.differences.get("exact")
    if found is None or found.groups < GROUPS_MIN:
        tasks = found.groups if found else 0
        return ArmVerdict(
            AdapterRuling.TOO_LITTLE,
            "too_few_tasks",
            f"both arms attempted {tasks} tasks; at least {GROUPS_MIN} are needed",
        )
    change = f"success changes by {_interval(found)}"
    if exact:
        change += f", whole calls right by {_interval(exact)}"
    if found.is_worse or (exact and exact.is_worse):
        return ArmVerdict(AdapterRuling.WORSE, "worse", change)
    if not found.is_better:
        if found.detectable > NOTABLE or found.high > NOTABLE:
            size = f"only a difference of {points(found.detectable)} or more would be found with so few tasks"
            return ArmVerdict(AdapterRuling.TOO_LITTLE, "inconclusive", f"{change}, which chance explains; {size}")
        return ArmVerdict(AdapterRuling.NO_BETTER, "no_difference", f"{change}, which chance explains")
    if exact and exact.low < -NOTABLE:
        loss = f"a loss of more than {100 * NOTABLE:.0f} points in whole calls is not ruled out"
        return ArmVerdict(AdapterRuling.TOO_LITTLE, "exact_loss_possible", f"{change}: {loss}")
    if exact and not figures.means["exact"].value:
        return ArmVerdict(
            AdapterRuling.TOO_LITTLE,
            "no_exact_call",
            f"{change}: no whole call was right, so its arguments are not measured",
        )
    if margin and not margin.is_shown:
        ruling = AdapterRuling.NO_BETTER if margin.above.high <= 0 else AdapterRuling.TOO_LITTLE
        constant = f"always answering {margin.constant.answer} has {100 * margin.constant.success:.1f} % success"
        return ArmVerdict(
            ruling,
            "not_above_constant",
            f"{change}, but {constant}, and the difference from that is {_interval(margin.above)}",
        )
    if regression is None:
        return ArmVerdict(AdapterRuling.BETTER, "no_regression_test", f"{change}; nothing was measured on other work")
    return _judge_regression(regression, change)


def _judge_regression(regression: Comparison, change: str) -> ArmVerdict:
    """The arm is better; on other work it must not lose, and a notable loss must be ruled out."""
    suite = regression.suite
    for figures in regression.others or [None]:
        lost = figures.differences.get("success") if figures else None
        if figures is None or lost is None:
            return ArmVerdict(
                AdapterRuling.TOO_LITTLE,
                "regression_not_measured",
                f"{change}, but no exercise of {suite} was attempted by both arms",
            )
        if lost.is_worse:
            return ArmVerdict(
                AdapterRuling.WORSE_ELSEWHERE, "regression", f"{change}, but in {suite} by {_interval(lost)}"
            )
        exact = figures.differences.get("exact")
        if exact and exact.is_worse:
            return ArmVerdict(
                AdapterRuling.WORSE_ELSEWHERE,
                "regression_exact",
                f"{change}, but in {suite} whole calls right by {_interval(exact)}",
            )
        if lost.low < -NOTABLE:
            loss = f"a loss of more than {100 * NOTABLE:.0f} points there is not ruled out"
            return ArmVerdict(
                AdapterRuling.TOO_LITTLE,
                "regression_possible",
                f"{change}, but in {suite} by {_interval(lost)}: {loss}",
            )
    return ArmVerdict(AdapterRuling.BETTER, "better", f"{change}, without a loss in {suite}")


def _interval(found: ArmDifference) -> str:
    return f"{points(found.value)} ({points(found.low)} to {points(found.high)}, {found.groups} tasks)"


def _arm_of(comparison: Comparison, arm: str) -> ArmFigures:
    if not arm and len(comparison.others) != 1:
        raise Mistake("no arm is named", code="no_arm", hint=f"name one of {', '.join(comparison.names)}")
    return comparison.arm(arm) if arm else comparison.others[0]
