"""Reliability: how often a version helped, as an interval from its votes.

A *principal* is the person the agent worked for (`Evidence.principal`); empty: the owner of the store.
Runs that followed the version are credited, and results recorded without saying who followed what; no control runs. One
principal has one vote for one task. Verified outcomes count, later ones more; a partial success counts half. A self-reported
failure counts half, and those of one principal at most as three votes; a self-reported success counts nothing, so no number
of them moves a rank.

Example: five verified successes of five tasks give the interval 0.64 to 1. The fifth task once more changes nothing, and
neither do a hundred self-reported successes. Ten self-reported failures give 0.34 to 0.83, one verified failure 0.48 to 0.96.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from tacit.domain.evidence import WORTH, Evidence, Following, Grade, Reliability
from tacit.evidence.statistics import capped, wilson

HALF_LIFE_USES = 30
"""After this many later votes a result weighs half."""
SELF_REPORT_WEIGHT = 0.5
DOUBTS_MAX = 3.0
"""The most that one principal's self-reported failures weigh, in verified failures: they lower a version that was not measured,
and cannot outweigh a proven one."""
PRINCIPAL_SHARE = 1 / 3
"""The most that one principal contributes to the evidence, or an equal share where there are fewer than three."""
PRINCIPAL_FREE = 5.0
"""A principal keeps at least this many votes; otherwise the first vote of a new principal would cut all others."""
POOLED_VOTES = 2.0
"""With this many votes under a key (a model, a scope), results from elsewhere weigh half; with twice as many a quarter."""
NEUTRAL = 0.5
"""The score of a skill without evidence."""

_GRADE_ORDER = {Grade.MACHINE: 2, Grade.HUMAN: 1, Grade.SELF: 0}


RunKey = Callable[[Evidence], str]
"""Returns the key by which results are grouped."""


def run_of(row: Evidence) -> str:
    """Return the key of the run that a result belongs to."""
    return row.use_id or row.trajectory_id or row.id


def votes(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the verified results that count, in order of time: one for each principal and task."""
    return [item for item in _ordered(evidence) if item.grade.verified]


def reliability(evidence: Iterable[Evidence], *, model: str = "", scope: str = "") -> Reliability:
    """Return the reliability of one version; with a model or a scope, weighted towards results from there.

    Results from elsewhere are used where that key has none, and weigh less as its own votes come in.
    """
    rows = list(evidence)
    by_distance: list[list[Evidence]] = [[], [], [], []]  # from the key: same, another scope, another model, both
    for item in rows:
        by_distance[2 * (bool(model) and item.model != model) + (bool(scope) and item.scope != scope)].append(item)
    successes = trials = 0.0
    for results in reversed(by_distance):
        worked, cast = _tally(votes(results))
        kept = 0.5 ** (cast / POOLED_VOTES)
        successes, trials = worked + kept * successes, cast + kept * trials
    claims = [item for item in _ordered(rows) if not item.grade.verified]
    doubts: defaultdict[str, float] = defaultdict(float)
    for item in claims:
        doubts[item.principal] += SELF_REPORT_WEIGHT * item.weight * (1 - WORTH[item.outcome])
    doubted = math.fsum(min(DOUBTS_MAX, doubt) for doubt in doubts.values())
    low, high = wilson(min(successes, trials), trials + doubted)
    cast_at_all = votes(rows)
    return Reliability(
        successes=successes,
        trials=trials,
        low=low,
        high=high,
        self_reported=len(claims),
        votes=len(cast_at_all),
        worked=math.fsum(WORTH[item.outcome] for item in cast_at_all),
    )


def reliability_over_time(evidence: Sequence[Evidence], *, most: int = 60) -> list[tuple[datetime, Reliability]]:
    """Return how reliable one version was after each of its latest verified results."""
    times = [each.at for each in votes(evidence)][-most:]
    return [(at, reliability(each for each in evidence if each.at <= at)) for at in times]


def reliability_score(known: Reliability) -> float:
    """Return one number from an interval: neutral until the evidence is clear on one side.

    The lower bound counts if it is above neutral, the upper bound if it is below.
    """
    if known.low > NEUTRAL:
        return known.low
    return min(NEUTRAL, known.high)


def _tally(cast: Sequence[Evidence]) -> tuple[float, float]:
    """Successes and trials: discounted by later votes, and no principal with more than its share.

    Of a principal with too many votes the latest are taken, because all of them would also discount those of others.
    """
    given: defaultdict[str, float] = defaultdict(float)
    for item in cast:
        given[item.principal] += item.weight
    allowed = capped(given, share=PRINCIPAL_SHARE, free=PRINCIPAL_FREE)
    successes: defaultdict[str, float] = defaultdict(float)
    trials: defaultdict[str, float] = defaultdict(float)
    age = 0.0
    for item in reversed(cast):
        taken = min(item.weight, allowed[item.principal])
        allowed[item.principal] -= taken
        weight = _faded(age) - _faded(age + taken)
        age += taken
        trials[item.principal] += weight
        successes[item.principal] += weight * WORTH[item.outcome]
    fair = capped(trials, share=PRINCIPAL_SHARE, free=PRINCIPAL_FREE)
    worked = math.fsum(successes[who] * (fair[who] / trials[who]) for who in trials if trials[who])
    return worked, math.fsum(fair.values())


def _faded(age: float) -> float:
    """The total weight of all results from this age on. A new result weighs one.

    Age is counted in results, so a fraction of a result ages the others by that fraction.
    """
    fading = 0.5 ** (1 / HALF_LIFE_USES)
    return float(fading**age / (1 - fading))


def _ordered(evidence: Iterable[Evidence]) -> list[Evidence]:
    """One credited result for each principal and task, the best graded; without a task, for each run.

    Of several verified ones the latest counts; of several self-reports the worst, since they may lower but never raise.
    """

    def preference(item: Evidence) -> tuple[int, float, datetime]:
        doubt = 0.0 if item.grade.verified else 1 - WORTH[item.outcome]
        return _GRADE_ORDER[item.grade], doubt, item.at

    followed = [item for item in evidence if not item.control and item.following in (None, Following.FOLLOWED)]
    credited = [item for item in followed if item.outcome in WORTH]
    tasks = {run_of(item): (item.principal, item.task) for item in credited if item.task}
    best: dict[tuple[str, str], Evidence] = {}
    for item in credited:
        run = run_of(item)
        key = (item.principal, item.task) if item.task else tasks.get(run, ("", run))
        previous = best.get(key)
        if previous is None or preference(item) >= preference(previous):
            best[key] = item
    return sorted(best.values(), key=lambda item: item.at)
