"""Control runs: hold selected skills out of some runs at random, and compare these runs with the others.

Off unless a person has set `policy.hold_out`. The random draw comes after everything else was decided, so a control is
a run in which the skill would have been shown. `unproven` decides how often a skill is held out.

Lift is what a skill adds to a run, as an interval from control runs, or not known yet. Only runs that took part in a draw
are compared, each in the arm it was drawn into, whether it followed the skill or not (intention to treat). Only verified
outcomes count, and of one session the first run. The intervals hold for a single look; repeated looks are tested in
`maintain.status_changes`.
"""

from __future__ import annotations

import dataclasses
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from statistics import NormalDist, fmean

from tacit.config.channels import SKILL, channels
from tacit.config.location import StoreLocation
from tacit.domain.errors import NotFound
from tacit.domain.evidence import WORTH, Evidence, Grade, Use
from tacit.domain.holdout import is_held_back
from tacit.domain.identity import content_id
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Item, LeftOut, Selection
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.evidence.reliability import RunKey, run_of
from tacit.evidence.statistics import student
from tacit.store import Store
from tacit.text.capabilities import HashedContent, needed_capabilities
from tacit.text.field_texts import field_texts

LEAST_RUNS = 10
"""Runs with the skill, and runs without it, that are needed before anything is claimed."""


class Measure(StrEnum):
    """What is compared: the share of successes, retries per run, and the ratio of steps and tokens."""

    SUCCESS = "success"
    STEPS = "steps"
    RETRIES = "retries"
    TOKENS = "tokens"

    @property
    def is_ratio(self) -> bool:
        """Whether it is a ratio to the runs without the skill: −0.2 means a fifth less."""
        return self in (Measure.STEPS, Measure.TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftDifference:
    """The difference between runs with the skill and runs without it, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """What a skill adds, by measure; a missing measure is not known yet."""

    shown: int = 0
    """Runs that were drawn to see the skill."""
    held_back: int = 0
    """Control runs."""
    differences: Mapping[Measure, LiftDifference] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether anything is claimed about success."""
        return Measure.SUCCESS in self.differences

    @property
    def success(self) -> LiftDifference | None:
        """The share of successes that it adds."""
        return self.differences.get(Measure.SUCCESS)


def lift(
    evidence: Iterable[Evidence], *, session: RunKey = run_of, measures: Collection[Measure] = tuple(Measure)
) -> Lift:
    """Compare the runs that saw a skill with its control runs.

    `session` returns what the draw was made for, where several runs share one draw; by default each run is its own.
    """
    runs = _runs(evidence, session)
    return _lift_of(runs, {measure: _compared(runs, measure) for measure in measures} if _enough(runs) else {})


def by_key(evidence: Iterable[Evidence], key: RunKey, *, session: RunKey = run_of) -> dict[str, Lift]:
    """Return the lift for each key (a model, a scope), from its own runs alone."""
    split: dict[str, list[Evidence]] = {}
    for row in _runs(evidence, session):
        split.setdefault(key(row), []).append(row)
    return {name: lift(rows) for name, rows in sorted(split.items())}


def _lift_of(runs: Sequence[Evidence], found: Mapping[Measure, LiftDifference | None]) -> Lift:
    differences = {measure: _on_scale(measure, interval) for measure, interval in found.items() if interval is not None}
    without = sum(row.control for row in runs)
    return Lift(shown=len(runs) - without, held_back=without, differences=differences)


def _on_scale(measure: Measure, interval: LiftDifference) -> LiftDifference:
    if measure is Measure.RETRIES:
        return interval
    scale = math.expm1 if measure.is_ratio else lambda share: min(1.0, max(-1.0, share))
    return LiftDifference(value=scale(interval.value), low=scale(interval.low), high=scale(interval.high))


def _enough(runs: Sequence[Evidence]) -> bool:
    without = sum(row.control for row in runs)
    return min(without, len(runs) - without) >= LEAST_RUNS


def _compared(runs: Sequence[Evidence], measure: Measure) -> LiftDifference | None:
    """The difference within strata of one chance and one model; None where too little was measured."""
    strata: dict[tuple[float, str], tuple[list[float], list[float]]] = {}
    for row in runs:
        value = _measured(row, measure)
        if value is not None:
            strata.setdefault((round(row.share, 4), row.model), ([], []))[row.control].append(value)
    arms = [Arms(shown=tuple(shown), held_back=tuple(without)) for shown, without in strata.values()]
    return proportion_difference(arms) if measure is Measure.SUCCESS else mean_difference(arms)


def _measured(row: Evidence, measure: Measure) -> float | None:
    """The value of one run; of steps and tokens the logarithm, because a few runs take many times what most take."""
    if measure is Measure.SUCCESS:
        return WORTH[row.outcome]
    if row.effort is None:
        return None
    taken = int(getattr(row.effort, measure.value))
    if not measure.is_ratio:
        return float(taken)
    return math.log(taken) if taken > 0 else None  # a run with zero was not measured


def _runs(evidence: Iterable[Evidence], session: RunKey) -> list[Evidence]:
    """One result per run: the best graded, and of these the latest; of each session the first run."""
    best: dict[str, Evidence] = {}
    for row in evidence:
        if not row.grade.verified or row.share <= 0 or row.outcome not in WORTH:
            continue
        held = best.get(run_of(row))
        if held is None or (row.grade is Grade.MACHINE, row.at) >= (held.grade is Grade.MACHINE, held.at):
            best[run_of(row)] = row
    first: dict[str, Evidence] = {}
    for row in sorted(best.values(), key=lambda row: (row.at, row.id)):
        first.setdefault(session(row), row)
    return list(first.values())


Z_95 = NormalDist().inv_cdf(0.975)
_STEPS = 30
"""Bisection steps when searching a bound; the error is far below what is ever shown."""


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The values of one stratum: of runs that saw the skill, and of control runs."""

    shown: tuple[float, ...]
    held_back: tuple[float, ...]

    @property
    def information(self) -> float:
        """The weight of the stratum in the difference; 0 where one arm is empty."""
        first, second = len(self.shown), len(self.held_back)
        return first * second / (first + second) if first and second else 0.0

    @cached_property
    def means(self) -> tuple[float, float]:
        """The mean with the skill, and the mean without it."""
        return fmean(self.shown), fmean(self.held_back)

    @property
    def difference(self) -> float:
        """Mean with the skill minus mean without it."""
        return self.means[0] - self.means[1]

    def variance(self, difference: float) -> float:
        """Of the difference of two proportions, if this were the true one: at the likeliest proportions that differ by it."""
        shown = self._likeliest(difference)
        held_back = min(1.0, max(0.0, shown - difference))
        plain = shown * (1 - shown) / len(self.shown) + held_back * (1 - held_back) / len(self.held_back)
        runs = len(self.shown) + len(self.held_back)
        return plain * runs / (runs - 1)

    def _likeliest(self, difference: float) -> float:
        """The root of the likelihood's cubic that is a proportion (Farrington and Manning)."""
        (p_shown, p_held_back), d = self.means, difference
        ratio = len(self.held_back) / len(self.shown)
        a = 1 + ratio
        b = -(1 + ratio + p_shown + ratio * p_held_back + d * (ratio + 2))
        c = d * d + d * (2 * p_shown + ratio + 1) + p_shown + ratio * p_held_back
        e = -p_shown * d * (1 + d)
        v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + e / (2 * a)
        u = math.copysign(math.sqrt(max(0.0, (b / (3 * a)) ** 2 - c / (3 * a))), v)
        turn = (math.pi + math.acos(min(1.0, max(-1.0, v / u**3)))) / 3 if u else math.pi / 2
        root = 2 * u * math.cos(turn) - b / (3 * a)
        return min(1.0, 1 + d, max(0.0, d, root))


def proportion_difference(strata: Sequence[Arms]) -> LiftDifference | None:
    """Return the difference of two proportions (values from 0 to 1); None where no stratum has both arms."""
    complete = [arms for arms in strata if arms.information]
    if not complete:
        return None
    whole = math.fsum(each.information for each in complete)
    value = math.fsum(each.information * each.difference for each in complete) / whole

    def off(difference: float) -> float:
        """How many standard errors the data are above this difference."""
        spread = math.fsum((each.information / whole) ** 2 * each.variance(difference) for each in complete)
        return (value - difference) / math.sqrt(max(spread, 1e-12))

    low = _crossing(lambda at: off(at) - Z_95, -1.0, value)
    high = _crossing(lambda at: off(at) + Z_95, value, 1.0)
    return LiftDifference(value=value, low=low, high=high)


def mean_difference(strata: Sequence[Arms]) -> LiftDifference | None:
    """Return the difference of two means; None where no stratum has both arms, or the variance is not known."""
    complete = [arms for arms in strata if arms.information]
    spreads = [_spread([arms.shown for arms in complete]), _spread([arms.held_back for arms in complete])]
    if not complete or spreads[0] is None or spreads[1] is None:
        return None
    whole = math.fsum(arms.information for arms in complete)
    weights = [arms.information / whole for arms in complete]
    value = math.fsum(weight * arms.difference for weight, arms in zip(weights, complete, strict=True))
    (first, first_free), (second, second_free) = spreads[0], spreads[1]
    parts = (
        first * math.fsum(weight**2 / len(arms.shown) for weight, arms in zip(weights, complete, strict=True)),
        second * math.fsum(weight**2 / len(arms.held_back) for weight, arms in zip(weights, complete, strict=True)),
    )
    error = math.sqrt(sum(parts))
    if not error:
        return LiftDifference(value=value, low=value, high=value)
    free = sum(parts) ** 2 / (parts[0] ** 2 / first_free + parts[1] ** 2 / second_free)
    reach = student(0.975, free) * error
    return LiftDifference(value=value, low=value - reach, high=value + reach)


def _spread(arms: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """Variance within the strata of one arm, and its degrees of freedom; None where no stratum has two runs."""
    free = sum(len(values) - 1 for values in arms)
    if free < 1:
        return None
    within = math.fsum((value - fmean(values)) ** 2 for values in arms for value in values)
    return within / free, free


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses zero; the end of the range if it does not."""
    if function(low) <= 0:
        return low
    if function(high) >= 0:
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


HELD_BACK = "held back at random as a control (policy.hold_out)"


def draw_controls(
    store: Store,
    selection: Selection,
    *,
    hold_out: float,
    session: str = "",
    place: StoreLocation | None = None,
    random_number: Callable[[], float] = random.random,
) -> DrawnSelection:
    """Draw for each item that may be held out; those that are drawn leave the selection, with a reason code.

    `hold_out` is the largest share. A composite contains its parts: one draw decides for all of them. A query about an
    error gets everything.
    """
    if hold_out <= 0 or selection.abstained or selection.query.state.get("error"):
        return DrawnSelection(selection=selection)
    # Procedures that are also exported to a client's folder are seen by the agent anyway.
    exported = place is not None and SKILL in channels(str(place.folder)).values()
    shares: dict[str, float] = {}
    held_back: list[str] = []
    out, kept = set[str](), set[str]()
    for root, shown, drawn in _draws(selection.items):
        known = store.renderings.get(shown)
        unproven = [known[version_id].unproven if version_id in known else 0.0 for version_id in shown]
        # 0 where it is seen anyway, or where a part of it is never held out
        is_seen = exported and root.version.content.kind is Kind.PROCEDURE
        chance = hold_out * unproven[0] if all(unproven) and not is_seen else 0.0
        shares |= dict.fromkeys(drawn, chance)
        if is_held_back(session, root.version.skill_id, chance, random_number=random_number):
            held_back += drawn
            out.update(shown)
        else:
            kept.update(shown)
    return DrawnSelection(
        selection=_without(selection, out - kept) if out else selection,
        held_back=tuple(held_back),
        shares={key: share for key, share in shares.items() if share > 0},
    )


def _draws(items: Sequence[Item]) -> list[tuple[Item, list[str], list[str]]]:
    """What is drawn for: each item with the versions that it shows, and those of them that no other item shows as well.

    A composite shows its parts, and their parts as far as these are selected too.
    """
    given = {item.version_id: item for item in items}
    inside = {part.id for item in items for part in item.parts if part.id != item.version_id}
    roots = [item for item in items if item.version_id not in inside]
    shown: list[list[str]] = []
    for root in roots:
        found, pending = [root.version_id], [root]
        while pending:
            new = [part.id for part in pending.pop().parts if part.id not in found]
            found += dict.fromkeys(new)
            pending += [given[version_id] for version_id in new if version_id in given]
        shown.append(found)
    times = Counter(version_id for each in shown for version_id in each)
    return [
        (root, each, [version_id for version_id in each if times[version_id] == 1])
        for root, each in zip(roots, shown, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSelection:
    """A selection after the draw, what was held out, and the chance that each drawn version had."""

    selection: Selection
    held_back: tuple[str, ...] = ()
    shares: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def store_uses(self, store: Store, use: Use) -> Selection:
        """Store the shown versions as this use and the held-out ones as a second use; return the selection with the use id.

        An outcome is recorded for one id: that of the shown use, which leads to its control (`control_uses`), or that
        of the control itself where nothing was shown.
        """
        selection, shown = self.selection, self.selection.version_ids
        if not shown and not self.held_back:
            return selection
        control = control_id(use.id)
        with store.transaction():
            if shown:
                shares = tuple(self.shares.get(version_id, 0.0) for version_id in shown)
                store.add(dataclasses.replace(use, version_ids=shown, shares=shares if any(shares) else ()))
            if self.held_back:
                out = dataclasses.replace(use, version_ids=self.held_back, held_back=True, id=control)
                store.add(dataclasses.replace(out, shares=tuple(self.shares[each] for each in self.held_back)))
        return dataclasses.replace(selection, use_id=use.id if shown else control)


def control_id(use_id: str) -> str:
    """Return the id of the control use that belongs to a use."""
    return content_id("u", ("control beside", use_id))


def control_uses(store: Store, use: Use) -> tuple[Use, ...]:
    """Return the control use that was drawn together with a use, if there is one: the run is evidence on both."""
    try:
        return (store.use(control_id(use.id)),)
    except NotFound:
        return ()


def sessions(store: Store, rows: Iterable[Evidence]) -> RunKey:
    """Return a function that names what a draw was made for: the session of a use, or the use itself without one."""
    known: dict[str, str] = {}
    for use_id in {row.use_id for row in rows if row.share > 0 and row.use_id}:
        try:
            known[use_id] = store.use(use_id).session_id
        except NotFound:
            continue
    return lambda row: known.get(row.use_id) or run_of(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLift:
    """The lift of a skill: of its current version, of all versions together, and of these by model and by scope."""

    stored: StoredVersion
    lift: Lift
    of_all: Lift
    models: Mapping[str, Lift]
    scopes: Mapping[str, Lift]

    @property
    def was_drawn(self) -> bool:
        """Whether any run took part in a draw."""
        return bool(self.of_all.shown or self.of_all.held_back)


def measure(store: Store, stored: StoredVersion, *, model: str = "") -> MeasuredLift:
    """Compare the runs with a skill and its control runs; of one model only, if it is named."""
    versions = [held.version.id for held in store.versions(stored.skill.id)]
    found = store.evidence(versions)
    rows = [row for version_id in versions for row in found[version_id]]
    naming = sessions(store, rows)
    by_model = by_key(rows, lambda row: row.model, session=naming)
    by_scope = by_key(rows, lambda row: row.scope, session=naming)
    own, every = ([row for row in some if not model or row.model == model] for some in (found[stored.version.id], rows))
    current, whole = lift(own, session=naming), lift(every, session=naming)
    return MeasuredLift(stored=stored, lift=current, of_all=whole, models=by_model, scopes=by_scope)


def _without(selection: Selection, gone: Collection[str]) -> Selection:
    """The selection without what is held out, which is listed as left out."""
    left_out = [
        LeftOut(
            version_id=item.version_id,
            name=item.name,
            code=ReasonCode.HELD_BACK,
            reason=HELD_BACK,
            score=item.score,
            signals=item.signals,
        )
        for item in selection.items
        if item.version_id in gone
    ]
    before = [each for each in selection.left_out if each.version_id in gone]
    left_out += [dataclasses.replace(each, code=ReasonCode.HELD_BACK, reason=HELD_BACK) for each in before]
    kept = tuple(item for item in selection.items if item.version_id not in gone)
    plan = selection.plan
    return dataclasses.replace(
        selection,
        items=kept,
        left_out=(*left_out, *(each for each in selection.left_out if each.version_id not in gone)),
        plan=dataclasses.replace(
            plan,
            chosen=tuple(each for each in plan.chosen if each.version_id not in gone),
            steps=tuple(each for each in plan.steps if each.version_id not in gone),
            strengths={key: strength for key, strength in plan.strengths.items() if key not in gone},
        ),
        code=selection.code if kept else ReasonCode.HELD_BACK,
        reason=selection.reason if kept else f"what fits is {HELD_BACK}",  # unnamed: an agent could fetch it by name
    )


FULLY, PARTLY, LITTLE, LEAST = 1.0, 0.75, 0.5, 0.25
"""Only a few levels, because runs are compared within one chance, and many chances would leave few runs in each."""

_LEVELS = ((0.2, FULLY), (0.15, PARTLY), (0.1, LITTLE))
"""Half-width of the lift's interval above which a level applies."""
_HARMFUL = frozenset({"deletes", "sends", "publishes", "reveals", "pays", "persists"})
_WARNING = re.compile(
    r"(?i)\b(?:never|must not|irreversibl[ey]|destructive|dangerous|danger|caution|beware|data loss|loses? data|"
    r"back ?ups? (?:first|before)|in production|outage|credentials?|secrets?|passwords?)\b"
)
"""Words of texts that warn of harm."""


def unproven(
    content: SkillContent, evidence: Iterable[Evidence], *, pinned: bool = False, session: RunKey = run_of
) -> float:
    """Return how much control runs would add to what is known of a skill; 0 means it is never held out.

    It depends on the width of the interval, not on its position: shares that followed the estimate would bias it.
    """
    if pinned or content.kind in (Kind.NORM, Kind.PREFERENCE) or content.signature:
        return 0.0
    if any(_WARNING.search(text) for _, text in field_texts(content)):
        return 0.0  # a run without it may cause harm
    needed = needed_capabilities(HashedContent(content, content.hash()))
    if not _HARMFUL.isdisjoint({*needed.effects, *content.capabilities.effects}):
        return 0.0
    known = lift(evidence, session=session, measures=(Measure.SUCCESS,)).success
    if known is None:
        return FULLY
    half = (known.high - known.low) / 2
    return next((level for width, level in _LEVELS if half > width), LEAST)
