"""A comparison → what is said of it: a verdict in one sentence, a learning curve, what was not measured.

Words and plain data only: `document`, `markdown` and `page` set them out. Nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tacit.evidence.statistics import Estimate
from tacit.features.evaluate.aids import FROM_MEMORY
from tacit.features.evaluate.comparing import (
    GROUPS_MIN,
    METRICS,
    NOTABLE,
    ArmFigures,
    Comparison,
    Difference,
    compare,
    points,
)
from tacit.features.evaluate.floors import Floor, height_of
from tacit.features.evaluate.suite import ARMS, Arm, Row
from tacit.features.evaluate.words import Apart, Words

WORDLESS = "The record holds no words of this run (words.jsonl): what got worse is told by ids, without what was done."
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
    floor: Floor | None = None
    """What is trivial; nothing where an attempt is more than one answer, or the answers are not known."""
    at_floor: tuple[str, ...] = ()
    """Arms that are not shown to be better than what is trivial."""
    parted: Mapping[tuple[str, str], Apart] = field(default_factory=dict)
    """Arm and exercise → what was asked, and where the arm parts from the reference; for exercises with another outcome."""

    @property
    def idle(self) -> tuple[str, ...]:
        """Metrics that are 0 in every arm: a table of them would tell nothing."""
        every = self.comparison.arms
        return tuple(
            name
            for name in self.comparison.metrics
            if name != "success" and not any(arm.means[name].value for arm in every if name in arm.means)
        )

    @property
    def has_silence(self) -> bool:
        """Whether the agent abstained in any attempt."""
        return any(tally.abstained for tally in self.tallies.values())

    def apart(self, arm: str, exercise: str) -> Apart:
        """What was asked in an exercise, and what both did; empty where nobody knows."""
        return self.parted.get((arm, exercise), Apart())


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


def with_words(told: Report, rows: Sequence[Row], words: Words) -> Report:
    """The same with what was asked and done, and with what an agent would come to that always answers alike."""
    floor = words.floor(rows)
    low = _at_floor(told, rows, words) if floor else ()
    return replace(
        told,
        verdict=f"{told.verdict} {_no_better(floor, low)}" if floor and low else told.verdict,
        floor=floor,
        at_floor=low,
        parted=words.apart(rows, reference=told.comparison.reference),
        not_measured=told.not_measured if words.asked else (*told.not_measured, WORDLESS),
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


def trivial(floor: Floor) -> str:
    """The name of what always answers alike, beside the arms."""
    return f"always {floor.answer}"


def trivially(floor: Floor) -> str:
    """What is to be had without looking, in a sentence."""
    return f"An agent that answers {floor.answer} to everything would have {share(floor.success)} success."


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


def happened(tally: Tally, *, silence: bool = True) -> str:
    """How often there was an aid and, where anybody was silent, how often silence, in words."""
    told = [] if tally.aided is None else [f"aided {part(tally.aided, tally.attempts)}"]
    return ", ".join([*told, *([f"abstained {part(tally.abstained, tally.attempts)}"] if silence else [])])


def nowhere(labels: Sequence[str]) -> str:
    """That these are 0 in every arm, in place of columns and tables of them; empty where there are none."""
    return f"In every arm 0: {', '.join(labels)}." if labels else ""


def footnotes(told: Report, metrics: Sequence[str]) -> list[str]:
    """What a reader of the table of success must know beside it, in sentences."""
    idle = [*(METRICS[name].label for name in told.idle), *([] if told.has_silence else ["abstained"])]
    return [line for line in (nowhere(idle), _corrected(told, metrics)) if line]


def _corrected(told: Report, metrics: Sequence[str]) -> str:
    """Why an interval may leave out 0 and nothing is shown all the same; empty where that is not so."""
    found = [arm.differences[name] for arm in told.comparison.others for name in metrics if name in arm.differences]
    if all(each.is_shown or each.low <= 0 <= each.high for each in found):
        return ""
    return (
        "Where an interval leaves out 0 and it still says “not shown”: the interval is for that comparison alone, and among "
        f"{len(told.comparison.others)} some would look so by chance; p (Holm) allows for that, and decides."
    )


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


def _at_floor(told: Report, rows: Sequence[Row], words: Words) -> tuple[str, ...]:
    """Arms that are not shown to do better than one answer to everything; one that never gave an aid is the bare agent."""
    measured = [name for name in told.comparison.names if not told.tallies[name].is_unaided]
    heights = {name: height_of([row for row in rows if row.arm == name], words.right) for name in measured}
    return tuple(name for name, height in heights.items() if height and not height.is_shown)


def _no_better(floor: Floor, arms: Sequence[str]) -> str:
    return f"{', '.join(arms)}: no better than {trivial(floor)} ({share(floor.success)}), as far as these tasks show."


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
