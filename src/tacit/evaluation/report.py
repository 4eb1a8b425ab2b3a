"""A comparison → what is said of it: a verdict in one sentence, a learning curve, what was not measured; as one document.

Words and plain data only: `markdown` and `page` set them out. Nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.evaluation.aids import FROM_MEMORY
from tacit.evaluation.comparing import (
    GROUPS_MIN,
    METRICS,
    NOTABLE,
    ArmFigures,
    Change,
    Comparison,
    Difference,
    compare,
    points,
)
from tacit.evaluation.suite import ARMS, Arm, Row
from tacit.statistics import Estimate

FORMAT = 1
REFERENCE, UNAIDED, NOTHING = "reference", "no aid", "–"
"""What stands in place of a difference: for the reference itself, for an arm that had nothing to give, and else."""
_IN_FULL = 3
"""So many arms are told with their intervals in the verdict."""
_NEARLY_ALL = 0.9
"""An arm whose agent is silent in such a share of its attempts tells of the silence, and not of the aid."""
_WHAT_FOR = {
    "placebo": "whether any text in the context would have done as much",
    "oracle": "how much an aid could do at most",
    "none": "what the agent does by itself",
    "trajectory": "whether the nearest recorded attempt does as well as a skill",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Success of an arm that was trained on so many tasks; arms of a curve are called `name@tasks`."""

    arm: str
    tasks: int
    success: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What happened in an arm's attempts besides their success."""

    attempts: int
    abstained: int
    """Attempts in which the agent said that it does not know."""
    aided: int | None = None
    """Attempts for which memory had an aid; nothing where the arm asks memory for none."""

    @property
    def is_unaided(self) -> bool:
        """Whether the arm was to give something, and never did: it is the bare agent under another name."""
        return self.aided == 0

    @property
    def is_silent(self) -> bool:
        """Whether the agent abstained on nearly everything."""
        return self.attempts > 0 and self.abstained >= _NEARLY_ALL * self.attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that is said of one run."""

    comparison: Comparison
    verdict: str
    not_measured: tuple[str, ...]
    curve: tuple[CurvePoint, ...] = ()
    agent: str = ""
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    """By arm."""


def report(
    rows: Sequence[Row],
    *,
    reference: str = "none",
    agent: str = "",
    wanted: int = 0,
    arms: Sequence[Arm] = (),
    remarks: Sequence[str] = (),
) -> Report:
    """Compare the arms of a run and say what came of it.

    `wanted`: attempts that the whole run would have. `arms`: what it gave under each name, where that is not the usual.
    `remarks`: what its record says that nobody looked after.
    """
    tallies = tallied(rows, arms)
    comparison = _without_unaided(compare(rows, reference=reference), tallies)
    return Report(
        comparison=comparison,
        verdict=verdict(comparison, tallies),
        not_measured=(*remarks, *_not_measured(comparison, rows, wanted, tallies)),
        curve=curve(comparison),
        agent=agent,
        tallies=tallies,
    )


def tallied(rows: Sequence[Row], arms: Sequence[Arm] = ()) -> dict[str, Tally]:
    """How often each arm gave an aid, and how often its agent abstained."""
    known = {**ARMS, **{arm.name: arm for arm in arms}}
    by_arm: dict[str, list[Row]] = {}
    for row in rows:
        by_arm.setdefault(row.arm, []).append(row)
    return {
        name: Tally(
            attempts=len(held),
            abstained=sum(row.score.abstained for row in held),
            aided=sum(bool(row.aid_sources) for row in held) if _asks_memory(known.get(name)) else None,
        )
        for name, held in by_arm.items()
    }


def verdict(comparison: Comparison, tallies: Mapping[str, Tally] | None = None) -> str:
    """Which arms succeed more often than the reference, which less often, and of which nothing can be said."""
    tallies = tallies or {}
    unaided = [name for name, tally in tallies.items() if tally.is_unaided and name != comparison.reference]
    told = [
        (figures.arm, figures.differences["success"])
        for figures in comparison.others
        if "success" in figures.differences and figures.arm not in unaided
    ]
    own = comparison.arm(comparison.reference).means["success"]
    start = f"Against {comparison.reference} ({share(own.value)} success, {_counted(own.n, 'task')})"
    never = f"not measured, since no aid was ever given: {', '.join(unaided)}"
    if not told:
        return f"{start} no other arm was measured{f' ({never})' if unaided else ''}."
    told.sort(key=lambda one: -one[1].value)
    better = _listed([(name, found) for name, found in told if found.is_better])
    worse = _listed([(name, found) for name, found in reversed(told) if found.is_worse])
    silent = [name for name, found in told if not found.is_shown and name in tallies and tallies[name].is_silent]
    unclear = [(name, found) for name, found in told if not found.is_shown and name not in silent]
    parts = [f"better: {better}"] if better else ["no arm is shown to be better"]
    if worse:
        parts.append(f"worse: {worse}")
    if unclear:
        largest = max(found.detectable for _, found in unclear)
        names = ", ".join(name for name, _ in unclear)
        parts.append(f"not told apart: {names} ({missable(largest)})")
    if silent:
        parts.append(f"not measured, since the agent abstained: {', '.join(silent)}")
    if unaided:
        parts.append(never)
    return f"{start}: {'; '.join(parts)}."


def curve(comparison: Comparison) -> tuple[CurvePoint, ...]:
    """Success by the number of training tasks, of arms called `name@tasks`."""
    found = []
    for figures in comparison.arms:
        name, at, tasks = figures.arm.rpartition("@")
        if at and tasks.isdecimal() and "success" in figures.means:
            found.append(CurvePoint(arm=name, tasks=int(tasks), success=figures.means["success"]))
    return tuple(sorted(found, key=lambda point: (point.arm, point.tasks)))


def share(value: float) -> str:
    """A share in words."""
    return f"{100 * value:.1f} %"


def missable(detectable: float) -> str:
    """What a sample of this size cannot show, in words."""
    if detectable > 1:
        return "no difference could be found at this size"
    return f"a difference below {100 * detectable:.1f} points may be missed"


def least(found: Difference) -> str:
    """The smallest difference in success that would be found, in points; a dash where none would."""
    return f"{100 * found.detectable:.1f}" if found.detectable <= 1 else "–"


def part(count: int | None, attempts: int) -> str:
    """So many of so many attempts, in words."""
    return "–" if count is None else f"{count:,} of {attempts:,}"


def happened(tally: Tally) -> str:
    """How often there was an aid and how often silence, in words."""
    aided = "" if tally.aided is None else f"aided {part(tally.aided, tally.attempts)}, "
    return f"{aided}abstained {part(tally.abstained, tally.attempts)}"


def figure(metric: str, value: float) -> str:
    """A value of a metric in words."""
    return share(value) if METRICS[metric].share else f"{value:,.1f}"


def difference(metric: str, value: float) -> str:
    """A difference of a metric in words, with its sign."""
    return points(value).removesuffix(" points") if METRICS[metric].share else f"{value:+,.1f}"


def standing(found: Difference) -> str:
    """What is said of a difference in one word."""
    return "better" if found.is_better else "worse" if found.is_worse else "not shown"


def stands(told: Report, figures: ArmFigures, *, metric: str = "success") -> str:
    """How an arm stands to the reference, in a word or two, where there is a difference and where there is none."""
    if found := figures.differences.get(metric):
        return standing(found)
    if figures.arm == told.comparison.reference:
        return REFERENCE
    return UNAIDED if told.tallies[figures.arm].is_unaided else NOTHING


def document(told: Report) -> dict[str, Any]:
    """The whole report as plain data."""
    comparison = told.comparison
    return {
        "format": FORMAT,
        "suite": comparison.suite,
        "agent": told.agent,
        "reference": comparison.reference,
        "tasks": comparison.groups,
        "exercises": comparison.exercises,
        "verdict": told.verdict,
        "not_measured": list(told.not_measured),
        "arms": [
            {
                "arm": figures.arm,
                "attempts": figures.attempts,
                "standing": stands(told, figures),
                "aided": told.tallies[figures.arm].aided,
                "abstained": told.tallies[figures.arm].abstained,
                "seeds": list(figures.seeds),
                "means": {name: _estimate(mean) for name, mean in figures.means.items()},
                "differences": {name: _difference(found) for name, found in figures.differences.items()},
                "regressions": [_change(change) for change in figures.regressions],
                "gains": [_change(change) for change in figures.gains],
                "unpaired": figures.unpaired,
            }
            for figures in comparison.arms
        ],
        "curve": [{"arm": p.arm, "training_tasks": p.tasks, "success": _estimate(p.success)} for p in told.curve],
    }


# --- inside ---------------------------------------------------------------------------------------------------------


def _listed(told: Sequence[tuple[str, Difference]]) -> str:
    """The largest with their intervals, the others by name."""
    named = [f"{name} {_by(found)}" for name, found in told[:_IN_FULL]]
    return ", ".join([*named, *(f"{name} {points(found.value)}" for name, found in told[_IN_FULL:])])


def _by(found: Difference) -> str:
    return f"{points(found.value)} ({difference('success', found.low)} to {difference('success', found.high)})"


def _without_unaided(comparison: Comparison, tallies: Mapping[str, Tally]) -> Comparison:
    """No differences of arms that never gave an aid: what they would show is chance, under the name of something else."""
    return replace(
        comparison,
        arms=tuple(
            replace(figures, differences={}, regressions=(), gains=())
            if tallies[figures.arm].is_unaided and figures.arm != comparison.reference
            else figures
            for figures in comparison.arms
        ),
    )


def _asks_memory(arm: Arm | None) -> bool:
    return arm is not None and arm.aid in FROM_MEMORY


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _empty(tallies: Mapping[str, Tally]) -> list[str]:
    """Arms whose figures say nothing of what they are called after."""
    said = []
    for name, tally in tallies.items():
        if tally.is_unaided:
            said.append(
                f"Arm {name}: memory had nothing to give in any of {_counted(tally.attempts, 'attempt')}, so what it "
                "would do was not measured."
            )
        if tally.is_silent:
            said.append(
                f"Arm {name}: the agent abstained in {part(tally.abstained, tally.attempts)} attempts; what an agent that "
                "acts would do was not measured."
            )
    return said


def _not_measured(comparison: Comparison, rows: Sequence[Row], wanted: int, tallies: Mapping[str, Tally]) -> list[str]:
    said = _empty(tallies)
    if wanted > len(rows):
        said.append(f"The run is not complete: {len(rows):,} of {wanted:,} attempts were made.")
    if comparison.groups < GROUPS_MIN:
        few = "1 task is" if comparison.groups == 1 else f"{comparison.groups} tasks are"
        said.append(f"{few} few: the intervals were simulated from {GROUPS_MIN} tasks upwards.")
    said += [f"No arm {name}: {why} is not known." for name, why in _WHAT_FOR.items() if name not in comparison.names]
    if len({row.seed for row in rows}) < 2:
        said.append("One seed: how far results differ between seeds was not measured.")
    silent = [METRICS[name].label for name in METRICS if all(row.figure(name) is None for row in rows)]
    if silent:
        said.append(f"Nobody could tell of this suite: {', '.join(silent)}.")
    unpaired = {figures.arm: figures.unpaired for figures in comparison.others if figures.unpaired}
    if unpaired:
        told = ", ".join(f"{name} {count}" for name, count in unpaired.items())
        said.append(f"Exercises that only one side attempted are left out of differences: {told}.")
    broken = sum(bool(row.note) for row in rows)
    if broken:
        said.append(f"{_counted(broken, 'attempt')} broken off from outside: counted as they stood.")
    aided = [each for each in comparison.others if not tallies[each.arm].is_unaided]
    sizes = [found.detectable for each in aided if (found := each.differences.get("success"))]
    if sizes and max(sizes) > NOTABLE:
        said.append(f"Of success, {missable(max(sizes))}.")
    said.append(
        "Intervals are over tasks like these with this agent; other agents, suites and training runs may differ."
    )
    return said


def _estimate(mean: Estimate) -> dict[str, Any]:
    return {"value": round(mean.value, 6), "low": _finite(mean.low), "high": _finite(mean.high), "tasks": mean.n}


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "value": round(found.value, 6),
        "low": _finite(found.low),
        "high": _finite(found.high),
        "p": found.p,
        "p_holm": found.p_holm,
        "standing": standing(found),
        "detectable": _finite(found.detectable),
        "tasks": found.groups,
        "exercises": found.exercises,
        "by_seed": {str(seed): round(value, 6) for seed, value in found.by_seed.items()},
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity: nothing stands for "not bounded"."""
    return round(value, 6) if abs(value) < float("inf") else None


def _change(change: Change) -> Mapping[str, Any]:
    return {
        "exercise": change.exercise,
        "task": change.group,
        "reference": round(change.reference, 4),
        "arm": round(change.arm, 4),
        "detail": change.detail,
    }
