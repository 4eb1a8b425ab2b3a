"""Simulated runs of arms with known differences → what the statistics of `tacit eval report` make of them.

    PYTHONPATH=src python bench/statistics.py arms [--rounds 2000] [--seed 2026] [--out bench/results/arms_statistics.json]

A simulated task has one to five exercises that hang together (a share of its own), each attempted once to three times under every arm.
An aid helps half of the tasks and leaves the others as they are, so differences vary between tasks. Figures, each with its
Monte-Carlo error:

- **coverage**: how often the 95 % interval of a difference holds the true one, for 30, 60 and 120 tasks, shares of success of 5, 30, 50 and
  90 % and skewed counts, without and with a true difference; every kind of bootstrap beside the one that is used. Also of the arms' own means.
- **A/A**: how often two arms that are alike are said to differ, and how often any of seven arms is, after Holm's correction.
  The worst setting of two arms is looked at again with ten times the rounds and new dice: the worst of thirty looks worse than it is.
- **power**: how often a planted difference of 10 points is found at the number of tasks at which 10 points are stated as detectable, by data
  that have the difference and by data that have none ("alike": a reader whose arm shows nothing); and how many tasks are truly needed for 80 %.
  With fewer than 30 tasks nothing is judged, so no fewer are looked at.

The intervals of coverage and power are computed with arrays; `agreement` says how far that lies from `tacit.evidence.statistics` on the same data. All
else goes through `tacit.evidence.statistics` itself.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import tacit
from tacit.evidence.statistics import student
from tacit.features.evaluate.estimates import clustered, clustered_share, detectable, holm, paired_interval, sign_flip

ROUNDS, SEED, DRAWS, CHUNK = 2000, 2026, 999, 200
SIZES = (30, 60, 120)
PLANTED, POWER, GROUPS_MIN = 0.1, 0.8, 30
Z = 1.959963984540054
Array = Any
BAND = (0.93, 0.97)


@dataclass(frozen=True, slots=True)
class Setting:
    """One simulated world of tasks."""

    data: str
    """`binary` or `counts`."""
    share: float
    """Of success without an aid; of binary data."""
    effect: float
    """True difference: in shares, or as a part of the count that is saved."""
    exercises: int
    """At most so many in each task, at least one."""
    seeds: int

    def name(self, groups: int) -> str:
        """In words."""
        what = f"{100 * self.share:.0f} % success" if self.data == "binary" else "skewed counts"
        gain = (
            f"{100 * self.effect:.0f} {'points' if self.data == 'binary' else '% saved'}"
            if self.effect
            else "no difference"
        )
        each = "1 exercise" if self.exercises == 1 else f"1-{self.exercises} exercises"
        return f"{groups} tasks, {what}, {gain}, {each}, {self.seeds} seed{'s' if self.seeds > 1 else ''}"


def settings() -> Iterator[Setting]:
    """All worlds in which coverage is looked at."""
    for exercises in (1, 5):
        for seeds in (1, 2, 3):
            for share, effect in ((0.05, 0.1), (0.3, 0.1), (0.5, 0.1), (0.9, 0.05)):
                yield Setting("binary", share, 0.0, exercises, seeds)
                yield Setting("binary", share, effect, exercises, seeds)
            yield Setting("counts", 0.0, 0.0, exercises, seeds)
            yield Setting("counts", 0.0, 0.3, exercises, seeds)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rounds × tasks: sums of the reference and of each arm's differences, how many exercises, and what is true of them."""

    reference: Array
    differences: list[Array]
    counts: Array


def draw(setting: Setting, rng: Any, *, rounds: int, groups: int, arms: int = 1, planted: int = 1) -> Drawn:
    """Simulate; the first `planted` of the arms have the effect, the others are like the reference."""
    shape = (rounds, groups, setting.exercises)
    counts = rng.integers(1, setting.exercises + 1, shape[:2])
    there = np.arange(setting.exercises)[None, None, :] < counts[..., None]
    make = _binary if setting.data == "binary" else _counts
    reference, attempt = make(setting, rng, shape)
    found = [((attempt(setting.effect if arm < planted else 0.0) - reference) * there).sum(-1) for arm in range(arms)]
    return Drawn((reference * there).sum(-1), found, counts.astype(float))


def truth(setting: Setting) -> tuple[float, float]:
    """Of the reference, and of the difference: what the draws below come to on average."""
    if setting.data == "binary":
        return setting.share, setting.effect
    mean = 5 * math.exp(0.5**2 / 2) + 2
    return mean, -setting.effect * mean


def _binary(setting: Setting, rng: Any, shape: tuple[int, ...]) -> tuple[Array, Callable[[float], Array]]:
    """Tasks differ widely (Beta with two imagined attempts), exercises of one task less (six)."""
    share, seeds = setting.share, setting.seeds
    of_task = rng.beta(2 * share, 2 * (1 - share), shape[:2])[..., None] * np.ones(shape[2])
    chance = rng.beta(np.maximum(6 * of_task, 1e-3), np.maximum(6 * (1 - of_task), 1e-3))

    def attempt(effect: float) -> Array:
        helped = (rng.random(shape[:2]) < 0.5)[..., None] * 2 * effect / (1 - share)
        better = np.clip(chance + helped * (1 - chance), 0, 1)
        return rng.binomial(seeds, better) / seeds

    return rng.binomial(seeds, chance) / seeds, attempt


def _counts(setting: Setting, rng: Any, shape: tuple[int, ...]) -> tuple[Array, Callable[[float], Array]]:
    """Steps: tasks of different length, and in one attempt of ten a loop of twenty more."""
    length = rng.lognormal(math.log(5), 0.5, shape[:2])[..., None] * np.ones(shape[2])

    def attempt(saved: float) -> Array:
        total = np.zeros(shape)
        for _ in range(setting.seeds):
            loops = rng.random(shape) < 0.1 * (1 - saved)
            total += rng.poisson(length * (1 - saved)) + loops * rng.geometric(1 / 20, shape)
        return total / setting.seeds

    return attempt(0.0), attempt


# --- intervals, many at once ----------------------------------------------------------------------------------------


def _ratio(sums: Array, counts: Array) -> tuple[Array, Array]:
    n, whole = sums.shape[1], counts.sum(1)
    value = sums.sum(1) / whole
    off = sums - value[:, None] * counts
    return value, np.sqrt((off**2).sum(1) * n / (n - 1)) / whole


def with_imagined(sums: Array, counts: Array, widest: float) -> tuple[Array, Array]:
    """As `tacit.evidence.statistics` does it."""
    differ = np.abs(sums) > 1e-9
    some, count = differ.sum(1), counts.mean(1)[:, None]
    size = np.where(some > 0, np.sqrt((sums**2).sum(1) / np.maximum(some, 1)), widest * count[:, 0])[:, None]
    return np.concatenate([sums, size, -size], 1), np.concatenate([counts, count, count], 1)


def used(sums: Array, counts: Array, rng: Any, *, widest: float) -> tuple[Array, Array]:
    """The interval that is used: symmetric, with two imagined groups, stretched."""
    value, groups = _ratio(sums, counts)[0], sums.shape[1]
    more, sizes = with_imagined(sums, counts, widest)
    n = groups + 2
    weights = rng.multinomial(n, np.ones(n) / n, DRAWS).astype(float).T
    off = np.abs((more @ weights) / (sizes @ weights) - _ratio(more, sizes)[0][:, None])
    reach = np.quantile(off, 0.95, axis=1) * math.sqrt(n / (n - 1)) * student(0.975, groups - 1) / Z
    return value - reach, value + reach


def others(sums: Array, counts: Array, rng: Any) -> dict[str, tuple[Array, Array]]:
    """What was tried besides: percentile, stretched percentile, BCa, studentised, symmetric studentised, and no bootstrap at all."""
    n = sums.shape[1]
    value, error = _ratio(sums, counts)
    t = student(0.975, n - 1)
    weights = rng.multinomial(n, np.ones(n) / n, DRAWS).astype(float).T
    drawn_counts = counts @ weights
    drawn = (sums @ weights) / drawn_counts
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    stretch = math.sqrt(n / (n - 1)) * t / Z
    squares = (sums**2) @ weights - 2 * drawn * ((sums * counts) @ weights) + drawn**2 * ((counts**2) @ weights)
    errors = np.sqrt(np.maximum(squares, 0) * n / (n - 1)) / drawn_counts
    far = np.sign(drawn - value[:, None]) * 50.0
    ratios = np.where(errors > 1e-12, (drawn - value[:, None]) / np.where(errors > 1e-12, errors, 1.0), far)
    first, last = np.quantile(ratios, [0.025, 0.975], axis=1)
    both = np.quantile(np.abs(ratios), 0.95, axis=1)
    return {
        "percentile": (low, high),
        "percentile, stretched": (value + (low - value) * stretch, value + (high - value) * stretch),
        "BCa": _bca(sums, counts, drawn, value),
        "studentised": (value - last * error, value - first * error),
        "studentised, symmetric": (value - both * error, value + both * error),
        "Student's t, no bootstrap": (value - t * error, value + t * error),
    }


def _bca(sums: Array, counts: Array, drawn: Array, value: Array) -> tuple[Array, Array]:
    same = np.abs(drawn - value[:, None]) <= 1e-12
    below = ((drawn < value[:, None]) & ~same).mean(1) + same.mean(1) / 2
    bias = _ndtri(np.clip(below, 1 / (DRAWS + 1), DRAWS / (DRAWS + 1)))
    left_out = (sums.sum(1)[:, None] - sums) / (counts.sum(1)[:, None] - counts)
    off = left_out.mean(1)[:, None] - left_out
    scale = 6 * ((off**2).sum(1)) ** 1.5
    bend = np.where(scale > 0, (off**3).sum(1) / np.where(scale > 0, scale, 1), 0)
    ordered, ends = np.sort(drawn, 1), []
    for z in (-Z, Z):
        level = _ndtr(bias + (bias + z) / (1 - bend * (bias + z)))
        at = np.clip((level * (DRAWS + 1)).astype(int), 1, DRAWS) - 1
        ends.append(ordered[np.arange(len(ordered)), at])
    return ends[0], ends[1]


_ndtr = np.vectorize(NormalDist().cdf, otypes=[float])
_ndtri = np.vectorize(NormalDist().inv_cdf, otypes=[float])


# --- figures --------------------------------------------------------------------------------------------------------


def coverage(rounds: int, seed: int) -> dict[str, Any]:
    """By setting and method, with how wide the interval is on average."""
    rows = []
    for number, (groups, setting) in enumerate((g, s) for s in settings() for g in SIZES):
        rng = np.random.default_rng([seed, number])
        true_mean, true_difference = truth(setting)
        widest = 1.0 if setting.data == "binary" else 0.0
        hits: dict[str, float] = {}
        wide: dict[str, float] = {}
        for _ in range(rounds // CHUNK):
            drawn = draw(setting, rng, rounds=CHUNK, groups=groups)
            sums, counts = drawn.differences[0], drawn.counts
            for name, (low, high) in {
                "used": used(sums, counts, rng, widest=widest),
                **others(sums, counts, rng),
            }.items():
                inside = (low <= true_difference + 1e-9) & (true_difference - 1e-9 <= high)
                hits[name] = hits.get(name, 0.0) + float(inside.sum())
                wide[name] = wide.get(name, 0.0) + float((high - low).sum())
            name, share = _mean_hits(drawn, true_mean, widest)
            hits[name] = hits.get(name, 0.0) + share
        rows.append({
            "setting": setting.name(groups), "groups": groups, "data": setting.data, "effect": setting.effect, "share": setting.share,
            "coverage": {name: round(hit / rounds, 4) for name, hit in hits.items()},
            "width": {name: round(each / rounds, 4) for name, each in wide.items()},
        })  # fmt: skip
    return {"rounds": rounds, "error": round(math.sqrt(0.95 * 0.05 / rounds), 4), "settings": rows, **summary(rows)}


def _mean_hits(drawn: Drawn, true_mean: float, widest: float) -> tuple[str, float]:
    """How many intervals of the reference's own mean hold the true one; by the code that is shipped."""
    figure = clustered_share if widest else clustered
    found = [
        figure(list(zip(*both, strict=True)))
        for both in zip(drawn.reference.tolist(), drawn.counts.tolist(), strict=True)
    ]
    return "mean of an arm", float(sum(one.low - 1e-9 <= true_mean <= one.high + 1e-9 for one in found))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each method: lowest and highest coverage, and how many settings lie within the band."""
    methods = sorted({name for row in rows for name in row["coverage"]})
    told: dict[str, Any] = {}
    for name in methods:
        for part, wanted in (("with a difference", True), ("no difference", False)):
            held = [(row["coverage"][name], row["setting"]) for row in rows if bool(row["effect"]) is wanted]
            told.setdefault(name, {})[part] = {
                "lowest": min(held), "highest": max(held), "mean": round(float(np.mean([each for each, _ in held])), 4),
                "within 93-97 %": sum(BAND[0] <= each <= BAND[1] for each, _ in held), "below 93 %": sum(each < BAND[0] for each, _ in held),
                "of": len(held),
            }  # fmt: skip
    outside = {
        name: {row["setting"]: row["coverage"][name] for row in rows if not BAND[0] <= row["coverage"][name] <= BAND[1]}
        for name in ("used", "mean of an arm")
    }
    return {"summary": told, "outside 93-97 %": outside}


def agreement(seed: int) -> dict[str, float]:
    """Reach of the shipped code by that of the arrays, on the same data: the mean of the ratio, and its extremes."""
    rng = np.random.default_rng([seed, 7])
    found = []
    for setting in (
        Setting("binary", 0.3, 0.1, 5, 3),
        Setting("binary", 0.05, 0.1, 1, 1),
        Setting("counts", 0.0, 0.3, 1, 1),
    ):
        widest = 1.0 if setting.data == "binary" else 0.0
        drawn = draw(setting, rng, rounds=60, groups=60)
        low, high = used(drawn.differences[0], drawn.counts, rng, widest=widest)
        for at in range(60):
            ours = paired_interval(_totals(drawn, 0, at), widest=widest)
            reach = ours.high - ours.value if ours.high < 1 else ours.value - ours.low
            found.append(reach / ((high[at] - low[at]) / 2))
    return {"mean": round(float(np.mean(found)), 4), "least": round(min(found), 3), "most": round(max(found), 3)}


def _totals(drawn: Drawn, arm: int, at: int) -> list[tuple[float, float]]:
    return list(zip(drawn.differences[arm][at].tolist(), drawn.counts[at].tolist(), strict=True))


def _shown(totals: list[tuple[float, float]], p: float, widest: float) -> bool:
    """What `evaluation.comparing` calls shown: a small p, and an interval without 0."""
    if p > 0.05:
        return False
    found = paired_interval(totals, widest=widest)
    return not found.low <= 0 <= found.high


def alike(rounds: int, seed: int) -> dict[str, Any]:
    """Arms that are alike: how often one is said to differ, and how often any of seven, after Holm."""
    found, looked_at = [], []
    worlds = [Setting("binary", share, 0.0, *each) for share in (0.05, 0.3, 0.5, 0.9) for each in ((1, 1), (5, 3))]
    for number, setting in enumerate([*worlds, Setting("counts", 0.0, 0.0, 1, 1), Setting("counts", 0.0, 0.0, 5, 3)]):
        widest = 1.0 if setting.data == "binary" else 0.0
        for groups in SIZES:
            rng = np.random.default_rng([seed, 11, number, groups])
            drawn = draw(setting, rng, rounds=rounds, groups=groups, arms=7, planted=0)
            one = family = plain = 0
            for at in range(rounds):
                totals = {arm: _totals(drawn, arm, at) for arm in range(7)}
                p = {arm: sign_flip([total for total, _ in each], rounds=2000) for arm, each in totals.items()}
                one += _shown(totals[0], p[0], widest)
                plain += any(each <= 0.05 for each in p.values())
                family += any(_shown(totals[arm], each, widest) for arm, each in holm(p).items())
            looked_at.append((setting, groups))
            found.append({
                "setting": setting.name(groups), "two arms": one / rounds, "any of seven": family / rounds,
                "any of seven, uncorrected": plain / rounds,
            })  # fmt: skip
    worst = max(range(len(found)), key=lambda at: found[at]["two arms"])
    setting, groups = looked_at[worst]
    more = 10 * rounds
    drawn = draw(setting, np.random.default_rng([seed, 12]), rounds=more, groups=groups, planted=0)
    totals = [_totals(drawn, 0, at) for at in range(more)]
    widest = 1.0 if setting.data == "binary" else 0.0
    again = sum(_shown(each, sign_flip([total for total, _ in each], rounds=2000), widest) for each in totals) / more
    return {
        "rounds": rounds, "error": round(math.sqrt(0.05 * 0.95 / rounds), 4), "settings": found,
        "worst again": {"setting": setting.name(groups), "rounds": more, "first": found[worst]["two arms"], "two arms": again,
                        "error": round(math.sqrt(0.05 * 0.95 / more), 4)},
    }  # fmt: skip


def power(rounds: int, seed: int) -> dict[str, Any]:
    """At the size at which 10 points are stated as detectable: how often 10 planted points are found."""
    shares = (0.05, 0.3, 0.5, 0.8)
    worlds = [Setting("binary", share, PLANTED, *each) for each in ((1, 1), (1, 3), (5, 3)) for share in shares]
    found = [
        _power_in(setting, np.random.default_rng([seed, 13, number, arms]), arms, rounds)
        for number, setting in enumerate(worlds)
        for arms in (1, 7)
    ]
    return {"rounds": rounds, "settings": found}


def _power_in(setting: Setting, rng: Any, arms: int, rounds: int) -> dict[str, Any]:
    planted, alike_ = (_stated_size(setting, rng, arms, planted=each) for each in (1, 0))
    sizes = sorted({planted, alike_, math.ceil(0.6 * planted), math.ceil(0.8 * planted)})
    shown = {groups: _found(setting, rng, groups, arms, rounds) for groups in sizes}
    slope, start = np.polyfit([math.sqrt(n) for n in shown], _ndtri(np.clip(list(shown.values()), 0.001, 0.999)), 1)
    needed = float(((NormalDist().inv_cdf(POWER) - start) / slope) ** 2)
    judged = max(GROUPS_MIN, alike_)
    told = shown[alike_] if judged == alike_ else _found(setting, rng, judged, arms, rounds)
    return {
        "setting": setting.name(planted), "arms": arms, "tasks": planted, "found": shown[planted],
        "error": round(math.sqrt(shown[planted] * (1 - shown[planted]) / rounds), 4),
        "tasks needed": round(needed, 1), "stated by needed": round(planted / needed, 3),
        "alike": {"tasks": alike_, "found": shown[alike_], "stated by needed": round(alike_ / needed, 3), "found where judged": told},
    }  # fmt: skip


def _stated_size(setting: Setting, rng: Any, arms: int, *, planted: int) -> int:
    """The number of tasks at which, on average, the planted difference is stated as detectable."""
    groups = 100
    for looks in (100, 100, 200, 400, 800):
        drawn = draw(setting, rng, rounds=looks, groups=groups, planted=planted)
        stated = [detectable(_totals(drawn, 0, at), widest=1.0, comparisons=arms) for at in range(looks)]
        groups = max(8, math.ceil(groups * (float(np.mean(stated)) / PLANTED) ** 2))
    return groups


def _found(setting: Setting, rng: Any, groups: int, arms: int, rounds: int) -> float:
    """How often the one planted difference is shown and has the right sign."""
    drawn = draw(setting, rng, rounds=rounds, groups=groups, arms=arms, planted=1)
    low, _ = used(drawn.differences[0], drawn.counts, rng, widest=1.0)
    hits = 0
    for at in np.flatnonzero(low > 0):
        p = holm({arm: sign_flip(sums[at].tolist()) for arm, sums in enumerate(drawn.differences)})
        hits += p[0] <= 0.05
    return hits / rounds


def bars(found: dict[str, Any]) -> dict[str, Any]:
    """What must hold; Monte-Carlo error is granted at two standard errors."""
    cover, same, planted = found["coverage"], found["alike"], found["power"]
    with_difference = [row["coverage"]["used"] for row in cover["settings"] if row["effect"]]
    again = same["worst again"]
    worst_family = max(row["any of seven"] for row in same["settings"])
    least = min(row["found"] for row in planted["settings"])
    least_alike = min(row["alike"]["found where judged"] for row in planted["settings"])
    ratio = float(np.mean([row["stated by needed"] for row in planted["settings"]]))
    slack, small = 2 * same["error"], 2 * max(row["error"] for row in planted["settings"])
    within = sum(BAND[0] <= each <= BAND[1] for each in with_difference)
    mean = float(np.mean(with_difference))
    return {
        "mean coverage with a difference": _bar(mean, "93-97 %", met=BAND[0] <= mean <= BAND[1]),
        "settings with a difference within 93-97 %": _bar(within / len(with_difference), ">= 0.85", met=within / len(with_difference) >= 0.85),
        "A/A: shown at worst, looked at again": _bar(again["two arms"], f"<= 0.05 + {2 * again['error']:.3f}", met=again["two arms"] <= 0.05 + 2 * again["error"]),
        "A/A: any of seven at worst": _bar(worst_family, f"<= 0.05 + {slack:.3f}", met=worst_family <= 0.05 + slack),
        "10 points found at the stated size": _bar(least, f">= 0.80 - {small:.3f}", met=least >= POWER - small),
        "the same, stated by arms that are alike": _bar(least_alike, f">= 0.80 - {small:.3f}", met=least_alike >= POWER - small),
        "stated by needed tasks, mean": _bar(ratio, "1-1.25", met=1 <= ratio <= 1.25),
    }  # fmt: skip


def _bar(measured: float, bar: str, *, met: bool) -> dict[str, Any]:
    return {"measured": round(measured, 4), "bar": bar, "met": bool(met)}


def main(arguments: list[str] | None = None) -> int:
    """Simulate, write the result, and fail where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of each setting; a multiple of {CHUNK}")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args(arguments)
    if given.rounds < CHUNK:
        parser.error(f"--rounds must be {CHUNK} or more: so many are drawn together")
    started = time.perf_counter()
    with ProcessPoolExecutor(3) as pool:
        half = given.rounds // 2
        parts = {
            "coverage": pool.submit(coverage, given.rounds, given.seed),
            "alike": pool.submit(alike, half, given.seed),
            "power": pool.submit(power, half, given.seed),
            "agreement": pool.submit(agreement, given.seed),
        }
        found = {name: part.result() for name, part in parts.items()}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    result = {
        "command": f"PYTHONPATH=src python bench/statistics.py arms --rounds {given.rounds} --seed {given.seed}",
        "commit": commit, "python": platform.python_version(), "numpy": np.__version__, "tacit": tacit.__version__,
        "bars": bars(found), **found, "seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip
    for name, bar in result["bars"].items():
        print(f"{'ok  ' if bar['met'] else 'MISS'} {name:44} {bar['measured']} (bar {bar['bar']})")
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if all(bar["met"] for bar in result["bars"].values()) else 1
