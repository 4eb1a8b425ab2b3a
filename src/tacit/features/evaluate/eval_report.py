"""The report of a run: which arms are better or worse than the reference, the learning curve, and what was not measured.

`build_report` makes the data; `report_formats` writes it as JSON or text for a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tacit.features.evaluate.aids import FROM_MEMORY
from tacit.features.evaluate.comparison import (
    GROUPS_MIN,
    METRICS,
    NOTABLE,
    ArmDifference,
    ArmFigures,
    Comparison,
    ConstantAnswer,
    compare,
    forgetting,
    forward_transfer,
    margin_over_constant,
    points,
)
from tacit.features.evaluate.estimates import Estimate
from tacit.features.evaluate.run_record import Limitation
from tacit.features.evaluate.suite import ARMS, Arm, ResultRow
from tacit.features.evaluate.transcript import CallDivergence, RunTranscript

REFERENCE, NO_AID, UNKNOWN = "reference", "no aid", "–"
"""Results of an arm without a difference: the reference itself, an arm that never got an aid, and everything else."""
_IN_FULL = 3
"""How many arms are listed with their intervals in the verdict."""
_NEARLY_ALL = 0.9
"""If the agent abstains in this share of its attempts, the arm measures the abstaining and not the aid."""
_PURPOSES = {
    "placebo": "whether any text in the context would have done as much",
    "oracle": "how much an aid could do at most",
    "none": "what the agent does by itself",
    "trajectory": "whether the nearest recorded attempt does as well as a skill",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Success of an arm after so many training tasks; such arms are called `name@tasks`."""

    arm: str
    tasks: int
    success: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTally:
    """How often an arm had an aid, and how often its agent abstained."""

    attempts: int
    abstained: int
    aided: int | None = None
    """Attempts that got an aid from memory; None if the arm takes none from memory."""

    @property
    def is_unaided(self) -> bool:
        """Whether the arm should have had aids and never had one: it equals the bare agent."""
        return self.aided == 0

    @property
    def is_silent(self) -> bool:
        """Whether the agent abstained in nearly all attempts."""
        return self.attempts > 0 and self.abstained >= _NEARLY_ALL * self.attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The arms by their result, and the same as one sentence."""

    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    """Arms whose difference chance explains."""
    abstained: tuple[str, ...] = ()
    """Arms that were not measured because the agent abstained."""
    unaided: tuple[str, ...] = ()
    """Arms that were not measured because they never had an aid."""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalReport:
    """Everything that is reported about one run."""

    comparison: Comparison
    summary: Summary
    limitations: tuple[Limitation, ...]
    curve: tuple[CurvePoint, ...] = ()
    agent: str = ""
    tallies: Mapping[str, ArmTally] = field(default_factory=dict)
    """By arm."""
    constant: ConstantAnswer | None = None
    """What an agent earns that always gives the same answer; None if an attempt is more than one answer."""
    not_above_constant: tuple[str, ...] = ()
    """Arms that are not shown to be better than the constant answer."""
    divergences: Mapping[tuple[str, str], CallDivergence] = field(default_factory=dict)
    """Arm and exercise → what was asked, and the first call that differs from the reference's."""
    forward_transfer: ArmDifference | None = None
    """What the adapter adds where nothing else is given: `adapter` less `none`; None if one of them was not run."""
    forgetting: Mapping[str, ArmDifference] = field(default_factory=dict)
    """Arm → success in an earlier run of this suite less success now; empty without an earlier run."""

    @property
    def idle_metrics(self) -> tuple[str, ...]:
        """Metrics that are 0 in every arm and need no table."""
        return tuple(
            name
            for name in self.comparison.metrics
            if name != "success" and not any(arm.means[name].value for arm in self.comparison.arms if name in arm.means)
        )

    @property
    def has_abstentions(self) -> bool:
        """Whether the agent abstained in any attempt."""
        return any(tally.abstained for tally in self.tallies.values())

    def divergence(self, arm: str, exercise: str) -> CallDivergence:
        """Return what was asked in an exercise and what both arms did; empty if it was not recorded."""
        return self.divergences.get((arm, exercise), CallDivergence())

    def result(self, figures: ArmFigures, *, metric: str = "success") -> str:
        """Return the result of an arm: `better`, `worse`, `not shown`, `reference`, `no aid`, or a dash."""
        if found := figures.differences.get(metric):
            return result_of(found)
        if figures.arm == self.comparison.reference:
            return REFERENCE
        return NO_AID if self.tallies[figures.arm].is_unaided else UNKNOWN

    def footnotes(self, metrics: Sequence[str]) -> list[str]:
        """Return the sentences that belong under the table of success."""
        idle = [*(METRICS[name].label for name in self.idle_metrics), *([] if self.has_abstentions else ["abstained"])]
        return [line for line in (all_zero(idle), _correction_note(self, metrics)) if line]


def build_report(
    rows: Sequence[ResultRow],
    *,
    reference: str = "none",
    agent: str = "",
    wanted: int = 0,
    arms: Sequence[Arm] = (),
    remarks: Sequence[Limitation] = (),
    before: Sequence[ResultRow] = (),
) -> EvalReport:
    """Compare the arms of a run and report the result.

    `wanted` is the number of attempts of the complete run, `arms` what the run gave under each name, `remarks` what its record
    says about itself, and `before` the rows of an earlier run of the same suite, to measure forgetting.
    """
    tallies = tally_arms(rows, arms)
    comparison = _without_unaided(compare(rows, reference=reference), tallies)
    forgotten = {name: forgetting(before, rows, arm=name) for name in comparison.names} if before else {}
    return EvalReport(
        comparison=comparison,
        summary=summarize(comparison, tallies),
        limitations=(*remarks, *_limitations(comparison, rows, wanted, tallies)),
        curve=learning_curve(comparison),
        agent=agent,
        tallies=tallies,
        forward_transfer=forward_transfer(rows),
        forgetting={name: found for name, found in forgotten.items() if found},
    )


def with_transcript(report: EvalReport, rows: Sequence[ResultRow], transcript: RunTranscript) -> EvalReport:
    """Return the report with what was asked and done, and with what a constant answer would earn."""
    constant = transcript.constant_answer(rows)
    measured = [name for name in report.comparison.names if constant and not report.tallies[name].is_unaided]
    margins = {
        name: margin_over_constant([row for row in rows if row.arm == name], transcript.right) for name in measured
    }
    low = tuple(name for name, margin in margins.items() if margin and not margin.is_shown)
    summary, limitations = report.summary, report.limitations
    if constant and low:
        name = f"{constant_label(constant)} ({share(constant.success)})"
        summary = replace(summary, text=f"{summary.text} Not shown to be better than {name}: {', '.join(low)}.")
    if not transcript.asked:
        message = "The record has no transcript (words.jsonl): lost exercises are listed by id, without what was done."
        limitations = (*limitations, Limitation("no_transcript", message))
    return replace(
        report,
        summary=summary,
        constant=constant,
        not_above_constant=low,
        divergences=transcript.divergences(rows, reference=report.comparison.reference),
        limitations=limitations,
    )


def tally_arms(rows: Sequence[ResultRow], arms: Sequence[Arm] = ()) -> dict[str, ArmTally]:
    """Count how often each arm had an aid, and how often its agent abstained."""
    from_memory = {arm.name for arm in {**ARMS, **{arm.name: arm for arm in arms}}.values() if arm.aid in FROM_MEMORY}
    by_arm: dict[str, list[ResultRow]] = {}
    for row in rows:
        by_arm.setdefault(row.arm, []).append(row)
    return {
        name: ArmTally(
            attempts=len(held),
            abstained=sum(row.score.abstained for row in held),
            aided=sum(bool(row.aid_sources) for row in held) if name in from_memory else None,
        )
        for name, held in by_arm.items()
    }


def summarize(comparison: Comparison, tallies: Mapping[str, ArmTally] | None = None) -> Summary:
    """Sort the arms into better, worse, unclear and not measured, and say it in one sentence."""
    tallies = tallies or {}
    unaided = tuple(name for name, tally in tallies.items() if tally.is_unaided and name != comparison.reference)
    found = {
        figures.arm: figures.differences["success"]
        for figures in comparison.others
        if "success" in figures.differences and figures.arm not in unaided
    }
    ranked = sorted(found, key=lambda name: -found[name].value)
    silent = [name for name in ranked if not found[name].is_shown and name in tallies and tallies[name].is_silent]
    summary = Summary(
        better=tuple(name for name in ranked if found[name].is_better),
        worse=tuple(name for name in reversed(ranked) if found[name].is_worse),
        unclear=tuple(name for name in ranked if not found[name].is_shown and name not in silent),
        abstained=tuple(silent),
        unaided=unaided,
    )
    return replace(summary, text=_sentence(comparison, summary, found))


def _sentence(comparison: Comparison, summary: Summary, found: Mapping[str, ArmDifference]) -> str:
    own = comparison.arm(comparison.reference).means["success"]
    start = f"Compared with {comparison.reference} ({share(own.value)} success, {_counted(own.n, 'task')})"
    unaided = f"not measured because no aid was given: {', '.join(summary.unaided)}"
    if not found:
        return f"{start}, no other arm was measured{f' ({unaided})' if summary.unaided else ''}."
    parts = ["no arm is shown to be better"]
    if summary.better:
        parts = [f"better: {_listed(summary.better, found)}"]
    if summary.worse:
        parts.append(f"worse: {_listed(summary.worse, found)}")
    if summary.unclear:
        largest = max(found[name].detectable for name in summary.unclear)
        parts.append(f"no difference shown: {', '.join(summary.unclear)} ({undetectable(largest)})")
    if summary.abstained:
        parts.append(f"not measured because the agent abstained: {', '.join(summary.abstained)}")
    if summary.unaided:
        parts.append(unaided)
    return f"{start}: {'; '.join(parts)}."


def learning_curve(comparison: Comparison) -> tuple[CurvePoint, ...]:
    """Return success by the number of training tasks, for arms called `name@tasks`."""
    found = []
    for figures in comparison.arms:
        name, at, tasks = figures.arm.rpartition("@")
        if at and tasks.isdecimal() and "success" in figures.means:
            found.append(CurvePoint(arm=name, tasks=int(tasks), success=figures.means["success"]))
    return tuple(sorted(found, key=lambda point: (point.arm, point.tasks)))


# --- figures as text ------------------------------------------------------------------------------------------------


def share(value: float) -> str:
    """Format a share as a percentage."""
    return f"{100 * value:.1f} %"


def constant_label(constant: ConstantAnswer) -> str:
    """Return the row name of the agent that always gives the same answer."""
    return f"always {constant.answer}"


def constant_sentence(constant: ConstantAnswer) -> str:
    """Return the sentence about what a constant answer would earn."""
    return f"An agent that always answers {constant.answer} would have {share(constant.success)} success."


def undetectable(detectable: float) -> str:
    """Say which differences a sample of this size cannot show."""
    if detectable > 1:
        return "no difference could be found at this size"
    return f"a difference below {100 * detectable:.1f} points may be missed"


def of_attempts(count: int | None, attempts: int) -> str:
    """Format a count of attempts: `3 of 40`."""
    return UNKNOWN if count is None else f"{count:,} of {attempts:,}"


def tally_text(tally: ArmTally, *, abstentions: bool = True) -> str:
    """Say how often an arm had an aid and, if asked for, how often the agent abstained."""
    aided = [] if tally.aided is None else [f"aided {of_attempts(tally.aided, tally.attempts)}"]
    abstained = [f"abstained {of_attempts(tally.abstained, tally.attempts)}"] if abstentions else []
    return ", ".join([*aided, *abstained])


def all_zero(labels: Sequence[str]) -> str:
    """Name the figures that are 0 in every arm; empty if there are none."""
    return f"0 in every arm: {', '.join(labels)}." if labels else ""


def metric_value(metric: str, value: float) -> str:
    """Format a value of a metric."""
    return share(value) if METRICS[metric].share else f"{value:,.1f}"


def metric_difference(metric: str, value: float) -> str:
    """Format a difference of a metric with its sign."""
    return points(value).removesuffix(" points") if METRICS[metric].share else f"{value:+,.1f}"


def result_of(found: ArmDifference) -> str:
    """Return the result of a difference: `better`, `worse` or `not shown`."""
    return "better" if found.is_better else "worse" if found.is_worse else "not shown"


def _listed(names: Sequence[str], found: Mapping[str, ArmDifference]) -> str:
    """List the largest differences with their intervals, the others without."""
    full = [
        f"{name} {points(found[name].value)} ({metric_difference('success', found[name].low)} to "
        f"{metric_difference('success', found[name].high)})"
        for name in names[:_IN_FULL]
    ]
    return ", ".join([*full, *(f"{name} {points(found[name].value)}" for name in names[_IN_FULL:])])


def _correction_note(report: EvalReport, metrics: Sequence[str]) -> str:
    """Explain why an interval may exclude 0 although nothing is shown; empty if that does not happen."""
    arms = report.comparison.others
    found = [arm.differences[name] for arm in arms for name in metrics if name in arm.differences]
    if all(each.is_shown or each.low <= 0 <= each.high for each in found):
        return ""
    return (
        "An interval may exclude 0 although the result is “not shown”: the interval is for one comparison, and among "
        f"{len(arms)} comparisons some look so by chance. p (Holm) corrects for that and decides."
    )


# --- limitations ----------------------------------------------------------------------------------------------------


def _without_unaided(comparison: Comparison, tallies: Mapping[str, ArmTally]) -> Comparison:
    """Drop the differences of arms that never had an aid: they would show chance under another name."""
    return replace(
        comparison,
        arms=tuple(
            replace(figures, differences={}, regressions=(), gains=())
            if tallies[figures.arm].is_unaided and figures.arm != comparison.reference
            else figures
            for figures in comparison.arms
        ),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _limitations(
    comparison: Comparison, rows: Sequence[ResultRow], wanted: int, tallies: Mapping[str, ArmTally]
) -> list[Limitation]:
    found: list[Limitation] = []

    def add(code: str, message: str) -> None:
        found.append(Limitation(code, message))

    for name, tally in tallies.items():
        if tally.is_unaided:
            attempts = _counted(tally.attempts, "attempt")
            add("no_aid", f"Arm {name}: memory had no aid in any of {attempts}; its effect is unknown.")
        if tally.is_silent:
            often = f"Arm {name}: the agent abstained in {of_attempts(tally.abstained, tally.attempts)} attempts"
            add("agent_abstained", f"{often}; what an agent that acts would do is unknown.")
    if wanted > len(rows):
        add("incomplete", f"The run is incomplete: {len(rows):,} of {wanted:,} attempts were made.")
    if comparison.groups < GROUPS_MIN:
        tasks = _counted(comparison.groups, "task")
        add("few_tasks", f"Only {tasks}: the intervals were validated for {GROUPS_MIN} tasks and more.")
    for name, purpose in _PURPOSES.items():
        if name not in comparison.names:
            add("missing_arm", f"No arm {name}: it is unknown {purpose}.")
    if len({row.seed for row in rows}) < 2:
        add("one_seed", "One seed: the variation between seeds was not measured.")
    unmeasured = [METRICS[name].label for name in METRICS if all(row.figure(name) is None for row in rows)]
    if unmeasured:
        add("unmeasured_metric", f"This suite does not measure: {', '.join(unmeasured)}.")
    unpaired = {figures.arm: figures.unpaired for figures in comparison.others if figures.unpaired}
    if unpaired:
        counts = ", ".join(f"{name} {count}" for name, count in unpaired.items())
        add("unpaired", f"Exercises that only one of both arms attempted are not compared: {counts}.")
    broken = sum(bool(row.note) for row in rows)
    if broken:
        ended = f"{_counted(broken, 'attempt')} ended early by an error or a limit"
        add("broken_off", f"{ended}; scored as they were then.")
    aided = [each for each in comparison.others if not tallies[each.arm].is_unaided]
    sizes = [difference.detectable for each in aided if (difference := each.differences.get("success"))]
    if sizes and max(sizes) > NOTABLE:
        add("low_power", f"Success: {undetectable(max(sizes))}.")
    others = "other agents, suites and training runs may differ."
    add("scope", f"Intervals hold for tasks like these with this agent; {others}")
    return found
