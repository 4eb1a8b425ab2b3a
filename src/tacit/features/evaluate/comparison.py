"""Rows of a run → figures of each arm and its difference from the reference, with intervals. Pure arithmetic.

Arms are compared on the same exercises, each averaged over its seeds. Exercises of one task are dependent, so resampling
and sample sizes are by task. An agent that always gives the most common right answer is the baseline that an arm must beat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tacit.domain.errors import Mistake
from tacit.features.evaluate.estimates import (
    Estimate,
    clustered,
    clustered_share,
    detectable,
    holm,
    paired_interval,
    sign_flip,
)
from tacit.features.evaluate.suite import ARMS, Exercise, ResultRow

ALPHA = 0.05
NOTABLE = 0.10
"""A difference in success that matters; it must be ruled out before "no better" or "no loss" is concluded."""
GROUPS_MIN = 30
"""Intervals were validated by simulation down to this number of tasks; with fewer, nothing is concluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number that rows have."""

    name: str
    label: str
    higher_is_better: bool
    share: bool = False
    """Whether every value is 0 or 1."""
    of_acting: bool = False
    """Whether it counts several calls; if one answer ends an attempt, it adds nothing to success."""


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(name="success", label="success", higher_is_better=True, share=True),
        Metric(name="exact", label="whole call right", higher_is_better=True, share=True),
        Metric(name="first_right", label="first call right", higher_is_better=True, share=True, of_acting=True),
        Metric(name="steps", label="steps", higher_is_better=False, of_acting=True),
        Metric(name="retries", label="retries", higher_is_better=False, of_acting=True),
        Metric(name="context_tokens", label="context tokens", higher_is_better=False),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDifference:
    """The difference of two arms on the exercises that both attempted."""

    metric: str
    value: float
    low: float
    high: float
    p: float
    """Probability of a difference this large if both were equal (sign-flip permutation of tasks)."""
    p_holm: float
    """The same, corrected for all arms that are compared with this reference."""
    detectable: float
    """The smallest true difference that is found with a probability of 80 % at this size and with that correction."""
    groups: int
    exercises: int
    by_seed: Mapping[int, float]
    """The difference for each seed that both have. The interval is over tasks; this shows the variation between seeds."""

    @property
    def is_shown(self) -> bool:
        """Whether chance does not explain it."""
        return self.p_holm <= ALPHA and not self.low <= 0 <= self.high

    @property
    def is_better(self) -> bool:
        """Whether it is shown, and an improvement."""
        return self.is_shown and (self.value > 0) == METRICS[self.metric].higher_is_better

    @property
    def is_worse(self) -> bool:
        """Whether it is shown, and a deterioration."""
        return self.is_shown and not self.is_better


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseChange:
    """An exercise that an arm solved more or less often than the reference; shares of seeds."""

    exercise: str
    group: str
    reference: float
    arm: float
    detail: str = ""
    """The detail of the arm's first failed attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """The figures of one arm."""

    arm: str
    attempts: int
    seeds: tuple[int, ...]
    means: Mapping[str, Estimate]
    differences: Mapping[str, ArmDifference]
    """Differences from the reference by metric; empty for the reference itself."""
    regressions: tuple[ExerciseChange, ...] = ()
    gains: tuple[ExerciseChange, ...] = ()
    unpaired: int = 0
    """Exercises that only this arm or only the reference attempted; they are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All arms of a run compared with one of them."""

    suite: str
    reference: str
    arms: tuple[ArmFigures, ...]
    metrics: tuple[str, ...]
    exercises: int
    groups: int

    def arm(self, name: str) -> ArmFigures:
        """Return the figures of one arm."""
        for figures in self.arms:
            if figures.arm == name:
                return figures
        raise Mistake(f"no arm {name}", code="no_arm", hint=f"arms of this run: {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The arms, the reference first."""
        return tuple(figures.arm for figures in self.arms)

    @property
    def others(self) -> tuple[ArmFigures, ...]:
        """All arms except the reference."""
        return tuple(figures for figures in self.arms if figures.arm != self.reference)


def compare(
    rows: Iterable[ResultRow], *, reference: str = "none", metrics: Sequence[str] = (), arms: Sequence[str] = ()
) -> Comparison:
    """Compare every arm (or those named) with the reference; the rows must be of one suite.

    By default all metrics are used that are informative for these rows.
    """
    held = _checked(list(rows), reference=reference, metrics=metrics, arms=arms)
    means = informative_metrics(held)
    metrics = metrics or means
    # the reference, then the predefined arms, then the others by name
    places = {name: place for place, name in enumerate(ARMS)} | {reference: -1}
    names = sorted({row.arm for row in held}, key=lambda name: (places.get(name, len(places)), _by_size(name)))
    by_arm: dict[str, list[ResultRow]] = {name: [] for name in names}
    for row in held:
        by_arm[row.arm].append(row)
    differences = _differences(by_arm, reference, metrics)
    return Comparison(
        suite=held[0].suite,
        reference=reference,
        arms=tuple(_figures(name, by_arm, reference, differences, means=means) for name in by_arm),
        metrics=tuple(name for name in metrics if any(row.figure(name) is not None for row in held)),
        exercises=len({row.exercise for row in held}),
        groups=len({row.group for row in held}),
    )


def informative_metrics(rows: Iterable[ResultRow]) -> tuple[str, ...]:
    """Return the informative metrics: if one answer is the whole attempt, there are no steps to count."""
    scores = [row.score for row in rows]
    is_one_answer = all(
        score.steps <= 1 and not score.retries and score.first_right is score.success for score in scores
    )
    return tuple(name for name, metric in METRICS.items() if not (metric.of_acting and scores and is_one_answer))


def paired(
    first: Sequence[ResultRow], second: Sequence[ResultRow], *, metric: str = "success", comparisons: int = 1
) -> ArmDifference | None:
    """Return the first less the second on exercises that both attempted; None if there are none."""
    ours, theirs = _by_exercise(first, metric), _by_exercise(second, metric)
    both = [exercise for exercise in ours if exercise in theirs]
    if not both:
        return None
    if split := _in_several_groups([*first, *second]):
        raise Mistake(split, code="split_groups", hint="compare rows of one suite, measured in one version of it")
    held = _group_totals(first, {each: fmean(ours[each].values()) - fmean(theirs[each].values()) for each in both})
    widest = 1.0 if METRICS[metric].share else 0.0
    estimate = paired_interval(held, widest=widest)
    p = sign_flip([total for total, _ in held])
    return ArmDifference(
        metric=metric,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        p=p,
        p_holm=p,
        detectable=detectable(held, widest=widest, comparisons=comparisons, alpha=ALPHA),
        groups=len(held),
        exercises=len(both),
        by_seed=_by_seed(ours, theirs, both),
    )


def forward_transfer(rows: Sequence[ResultRow], *, arm: str = "adapter", without: str = "none") -> ArmDifference | None:
    """Return what an adapter adds when nothing else is given: its arm less the bare agent."""
    return paired([row for row in rows if row.arm == arm], [row for row in rows if row.arm == without])


def forgetting(
    before: Sequence[ResultRow], after: Sequence[ResultRow], *, arm: str = "adapter"
) -> ArmDifference | None:
    """Return what was lost on a first domain by learning a second one: success before less success after."""
    return paired([row for row in before if row.arm == arm], [row for row in after if row.arm == arm])


def points(value: float) -> str:
    """Format a difference of shares as percentage points with a sign."""
    text = f"{100 * value:+.1f}"
    return f"{'0.0' if float(text) == 0 else text} points"


# --- inside ---------------------------------------------------------------------------------------------------------


def _checked(rows: list[ResultRow], *, reference: str, metrics: Sequence[str], arms: Sequence[str]) -> list[ResultRow]:
    """Return the rows to compare; raise one error with everything that is wrong."""
    known = {row.arm for row in rows}
    problems = [f"unknown metric: {name}" for name in metrics if name not in METRICS]
    problems += [f"no row has the arm {name}" for name in dict.fromkeys((reference, *arms)) if name not in known]
    suites = sorted({row.suite for row in rows})
    if len(suites) > 1:
        problems.append(f"rows of several suites: {', '.join(suites)}")
    elif split := _in_several_groups(rows):
        problems.append(split)
    if not rows:
        problems = ["there are no rows to compare"]
    if problems:
        hint = f"arms here: {', '.join(sorted(known))}" if known else "run `tacit eval run` first"
        raise Mistake("; ".join(problems), code="cannot_compare", hint=hint)
    wanted = {reference, *arms} if arms else known
    return [row for row in rows if row.arm in wanted]


def _in_several_groups(rows: Iterable[ResultRow]) -> str:
    """Describe exercises that belong to different tasks in different rows; empty if there are none."""
    groups: dict[str, set[str]] = {}
    for row in rows:
        groups.setdefault(row.exercise, set()).add(row.group)
    examples = [f"{exercise} ({', '.join(sorted(names))})" for exercise, names in groups.items() if len(names) > 1]
    return f"{len(examples)} exercises are in several groups, such as {examples[0]}" if examples else ""


def _by_size(name: str) -> tuple[str, int, str]:
    """Sort arms of a learning curve (`name@tasks`) by their number."""
    start, at, tasks = name.rpartition("@")
    return (start, int(tasks), "") if at and tasks.isdecimal() else (name, 0, name)


def _differences(
    by_arm: Mapping[str, Sequence[ResultRow]], reference: str, metrics: Sequence[str]
) -> dict[str, dict[str, ArmDifference]]:
    """Return differences by arm and metric, corrected over the arms for each metric."""
    found: dict[str, dict[str, ArmDifference]] = {name: {} for name in by_arm}
    for metric in metrics:
        others = [name for name in by_arm if name != reference]
        made = {
            name: difference
            for name in others
            if (difference := paired(by_arm[name], by_arm[reference], metric=metric, comparisons=len(others)))
        }
        corrected = holm({name: difference.p for name, difference in made.items()})
        for name, difference in made.items():
            found[name][metric] = replace(difference, p_holm=corrected[name])
    return found


def _figures(
    name: str,
    by_arm: Mapping[str, Sequence[ResultRow]],
    reference: str,
    differences: Mapping[str, Mapping[str, ArmDifference]],
    *,
    means: Sequence[str],
) -> ArmFigures:
    rows = by_arm[name]
    ours, theirs = _by_exercise(rows, "success"), _by_exercise(by_arm[reference], "success")
    changes = sorted(_changes(rows, ours, theirs), key=lambda each: (-abs(each.arm - each.reference), each.exercise))
    return ArmFigures(
        arm=name,
        attempts=len(rows),
        seeds=tuple(sorted({row.seed for row in rows})),
        means={metric: mean for metric in means if (mean := _mean_of(rows, metric))},
        differences=differences[name],
        regressions=tuple(each for each in changes if each.arm < each.reference),
        gains=tuple(each for each in changes if each.arm > each.reference),
        unpaired=len(ours.keys() ^ theirs.keys()),
    )


def _changes(
    rows: Sequence[ResultRow], ours: Mapping[str, Mapping[int, float]], theirs: Mapping[str, Mapping[int, float]]
) -> list[ExerciseChange]:
    groups = {row.exercise: row.group for row in rows}
    details: dict[str, str] = {}
    for row in rows:
        if not row.score.success:
            details.setdefault(row.exercise, row.score.detail)
    return [
        ExerciseChange(
            exercise=exercise,
            group=groups[exercise],
            reference=fmean(theirs[exercise].values()),
            arm=fmean(ours[exercise].values()),
            detail=details.get(exercise, ""),
        )
        for exercise in ours
        if exercise in theirs
    ]


def _mean_of(rows: Sequence[ResultRow], metric: str) -> Estimate | None:
    means = {exercise: fmean(values.values()) for exercise, values in _by_exercise(rows, metric).items()}
    held = _group_totals(rows, means)
    if not held:
        return None
    return clustered_share(held) if METRICS[metric].share else clustered(held)


def _group_totals(rows: Sequence[ResultRow], values: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return the sum of the exercises' values, and their number, for each group."""
    groups = {row.exercise: row.group for row in rows}
    totals: dict[str, tuple[float, float]] = {}
    for exercise, value in values.items():
        total, count = totals.get(groups[exercise], (0.0, 0.0))
        totals[groups[exercise]] = (total + value, count + 1)
    return list(totals.values())


def _by_exercise(rows: Sequence[ResultRow], metric: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        value = row.figure(metric)
        if value is not None:
            found.setdefault(row.exercise, {})[row.seed] = value
    return found


def _by_seed(
    ours: Mapping[str, Mapping[int, float]], theirs: Mapping[str, Mapping[int, float]], both: Sequence[str]
) -> dict[int, float]:
    held: dict[int, list[float]] = {}
    for exercise in both:
        for seed in ours[exercise].keys() & theirs[exercise].keys():
            held.setdefault(seed, []).append(ours[exercise][seed] - theirs[exercise][seed])
    return {seed: fmean(values) for seed, values in sorted(held.items())}


DONE_ANSWER = "done"


@dataclass(frozen=True, slots=True)
class ConstantAnswer:
    """The success of an agent that always gives the most common right answer."""

    answer: str
    success: float


@dataclass(frozen=True, slots=True)
class MarginOverConstant:
    """How far an arm is above the constant answer."""

    constant: ConstantAnswer
    above: ArmDifference
    wholly: ArmDifference | None = None
    """The same for whole calls, if measured; a constant tool has no right whole call, a constant end has all ends."""

    @property
    def is_shown(self) -> bool:
        """Whether the arm is shown to beat the constant answer in one of both figures."""
        return self.above.is_better or (self.wholly is not None and self.wholly.is_better)


def correct_tools(exercises: Iterable[Exercise]) -> dict[str, str]:
    """Return the next tool of each exercise; empty if nothing is left to do."""
    return {each.key: each.answer[0].tool if each.answer else "" for each in exercises}


def constant_answer(rows: Sequence[ResultRow], right: Mapping[str, str]) -> ConstantAnswer | None:
    """Return the success of a constant answer; None if an attempt is more than one answer, or answers are unknown."""
    known = [right[exercise] for exercise in {row.exercise for row in rows} if exercise in right]
    answer = _most_common_answer(rows, right)
    return None if answer is None else ConstantAnswer(answer or DONE_ANSWER, known.count(answer) / len(known))


def margin_over_constant(rows: Sequence[ResultRow], right: Mapping[str, str]) -> MarginOverConstant | None:
    """Return how far the rows of one arm are above the constant answer; None if there is none."""
    constant, answer = constant_answer(rows, right), _most_common_answer(rows, right)
    if constant is None:
        return None
    above = paired(rows, [_with_success(row, answer == right[row.exercise]) for row in rows])
    if above is None:
        return None
    if all(row.score.exact is None for row in rows):
        return MarginOverConstant(constant, above)
    ending = [_with_success(row, not right[row.exercise]) for row in rows]
    whole = [_with_success(row, row.score.success if row.score.exact is None else row.score.exact) for row in rows]
    return MarginOverConstant(constant, above, wholly=paired(whole, ending))


def _most_common_answer(rows: Sequence[ResultRow], right: Mapping[str, str]) -> str | None:
    """Return the most frequent right answer (empty means the end); None if a constant answer is not defined."""
    exercises = {row.exercise for row in rows}
    known = [right[exercise] for exercise in exercises if exercise in right]
    if not any(known) or len(known) < len(exercises) or "steps" in informative_metrics(rows):
        return None
    return min(Counter(known).items(), key=lambda found: (-found[1], found[0]))[0]


def _with_success(row: ResultRow, success: bool) -> ResultRow:
    return replace(row, score=replace(row.score, success=success))
