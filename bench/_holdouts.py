"""How often the interval of a measured lift holds the true one: simulated hold-outs through lot, evidence and lift.

Every cell is a truth (success without the skill, what the skill adds), a number of runs and a share; in half of the cells the
share shrinks as the interval narrows, and tasks grow easier all the while, which is what misleads a comparison that does
not keep to its strata. Two models differ in how well they do without the skill. Steps and tokens are skewed, retries scatter
more than counts do. A second set of cells lets the skill add more for one model than for the other, and asks for each.

    python bench/_holdouts.py [--rounds 100] [--seed 1] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from tacit.domain.evidence import Effort, Evidence, Grade, Outcome
from tacit.domain.holdout import is_held_back
from tacit.domain.skill import Kind, SkillContent
from tacit.evidence.control_runs import Lift, Measure, by_key, lift, unproven

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
MODELS = {"small": -0.05, "large": 0.05}
"""Model → how far it is from the cell's success without the skill."""
AGAIN = 5
"""How many times the rounds a few cells get: the worst ones when they are looked at again, and those of the lift by model."""
LOOKED_EVERY = 20
"""Runs after which the share is set anew."""
DRIFT = 0.1
"""How much easier the last task is than the first, where tasks grow easier."""
MULTIPLIER = 0.8
"""Of steps and tokens, with the skill."""
RETRIES = (0.8, 0.5)
"""A run without the skill, and with it."""
CONTENT = SkillContent(kind=Kind.PROCEDURE, name="build", description="Build the package")
Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One truth and one way of looking at it."""

    success: float
    lift: float
    runs: int
    share: float
    adaptive: bool
    apart: float = 0.0
    """How much more the skill adds for the one model than for the other."""

    @property
    def name(self) -> str:
        """As it is told."""
        how = "adaptive" if self.adaptive else "fixed"
        more = f", models {self.apart:+.2f} apart" if self.apart else ""
        return f"p={self.success:.2f} lift={self.lift:+.2f} n={self.runs} share={self.share:.1f} {how}{more}"

    @property
    def possible(self) -> bool:
        """Whether no probability leaves 0 to 1."""
        edge, swing = max(MODELS.values()), self.apart / 2 + (DRIFT / 2 if self.adaptive else 0)
        ends = (self.success, self.success + self.lift)
        return min(ends) - edge - swing >= 0.02 and max(ends) + edge + swing <= 0.98

    def added(self, model: str) -> float:
        """What the skill adds for one model."""
        return self.lift + math.copysign(self.apart / 2, MODELS[model])


def cells() -> Iterator[Cell]:
    """The grid of the whole lift."""
    for success in (0.3, 0.5, 0.7, 0.9):
        for added in (-0.2, 0.0, 0.05, 0.15, 0.3):
            for runs in (40, 100, 400):
                for share in (0.1, 0.3, 0.5):
                    for adaptive in (False, True):
                        cell = Cell(success=success, lift=added, runs=runs, share=share, adaptive=adaptive)
                        if cell.possible:
                            yield cell


def keyed_cells() -> Iterator[Cell]:
    """The grid of the lift by model."""
    for apart in (0.0, 0.1, 0.2, 0.3):
        for runs in (60, 200):
            yield Cell(success=0.5, lift=0.1, runs=runs, share=0.5, adaptive=False, apart=apart)


def simulated(cell: Cell, seed: str) -> list[Evidence]:
    """The evidence of one round."""
    dice = random.Random(seed)
    rows: list[Evidence] = []
    chance = cell.share
    for number in range(cell.runs):
        if cell.adaptive and number % LOOKED_EVERY == 0:
            chance = cell.share * unproven(CONTENT, rows)
        model = dice.choice(tuple(MODELS))
        control = is_held_back(f"{seed}/{number}", "s_skill", chance)
        drift = DRIFT * (number / cell.runs - 0.5) if cell.adaptive else 0.0
        likely = cell.success + MODELS[model] + drift + (0.0 if control else cell.added(model))
        rows.append(
            Evidence(
                version_id="v",
                outcome=Outcome.SUCCESS if dice.random() < likely else Outcome.FAILURE,
                grade=Grade.MACHINE,
                at=BEGUN + timedelta(minutes=number),
                use_id=f"u{number}",
                control=control,
                share=chance,
                effort=_effort(dice, model, control=control),
                model=model,
                id=f"e{number}",
            )
        )
    return rows


def _effort(dice: random.Random, model: str, *, control: bool) -> Effort:
    factor = 1.0 if control else MULTIPLIER
    steps = max(1, round(factor * dice.lognormvariate(2.7, 0.5)))
    tokens = max(1, round(factor * dice.lognormvariate(10.0 if model == "large" else 9.3, 1.0)))
    busy = dice.gammavariate(1.5, RETRIES[not control] / 1.5)
    return Effort(steps=steps, retries=_poisson(dice, busy), tokens=tokens)


def _poisson(dice: random.Random, mean: float) -> int:
    count, left = 0, math.exp(-mean)
    product = dice.random()
    while product > left:
        count += 1
        product *= dice.random()
    return count


def true_ratio(draws: int = 400_000) -> float:
    """The logarithm by which steps, rounded as they are, shrink with the skill."""
    dice = random.Random(0)
    drawn = [dice.lognormvariate(2.7, 0.5) for _ in range(draws)]
    return fmean(math.log(max(1, round(MULTIPLIER * x))) - math.log(max(1, round(x))) for x in drawn)


def _truths(cell: Cell, steps: float) -> dict[Measure, float]:
    return {
        Measure.SUCCESS: cell.lift,
        Measure.STEPS: math.expm1(steps),
        Measure.TOKENS: MULTIPLIER - 1,
        Measure.RETRIES: RETRIES[1] - RETRIES[0],
    }


def coverage(rounds: int, seed: int) -> dict[str, Any]:
    """Simulate every cell so often, and count how often the interval holds the truth: overall, by what, and at worst."""
    held: dict[str, dict[Measure, list[bool]]] = {}
    silent = asked = 0
    widths: list[float] = []
    pooled: dict[str, list[bool]] = {"fixed": [], "adaptive": []}
    steps = true_ratio()
    for cell in cells():
        seen: dict[Measure, list[bool]] = defaultdict(list)
        for number in range(rounds):
            rows = simulated(cell, f"{seed}/{cell.name}/{number}")
            measured = lift(rows)
            asked += 1
            silent += measured.success is None
            _count(seen, measured, _truths(cell, steps))
            if measured.success is not None:
                widths.append(measured.success.high - measured.success.low)
                pooled["adaptive" if cell.adaptive else "fixed"].append(_wald_holds(rows, cell.lift))
        held[cell.name] = seen
    return {
        "rounds_per_cell": rounds,
        "seed": seed,
        "cells": len(held),
        "coverage": {measure.value: _share(seen[measure] for seen in held.values()) for measure in Measure},
        "fixed": _share(seen[Measure.SUCCESS] for name, seen in held.items() if name.endswith("fixed")),
        "adaptive": _share(seen[Measure.SUCCESS] for name, seen in held.items() if name.endswith("adaptive")),
        "worst": {measure.value: _worst(held, measure) for measure in Measure},
        "worst_again": _again(held, rounds, seed, steps),
        "not_known_yet": round(silent / asked, 4),
        "median_width": round(sorted(widths)[len(widths) // 2], 4),
        "simple_rule": {
            "what": "Wald interval over all runs, without strata",
            **{how: _share([seen]) for how, seen in pooled.items()},
        },
        "by_model": _by_model(AGAIN * rounds, seed),
    }


def _again(held: dict[str, dict[Measure, list[bool]]], rounds: int, seed: int, steps: float) -> dict[str, Any]:
    """The worst cells with fresh dice and more rounds: the least of so many is low by chance alone."""
    named = {each["cell"] for measure in Measure for each in _worst(held, measure, named=2)}
    found: dict[str, Any] = {}
    for cell in (cell for cell in cells() if cell.name in named):
        seen: dict[Measure, list[bool]] = defaultdict(list)
        for number in range(AGAIN * rounds):
            _count(seen, lift(simulated(cell, f"{seed}/again/{cell.name}/{number}")), _truths(cell, steps))
        found[cell.name] = {measure.value: _share([seen[measure]]) for measure in Measure}
    return found


def _by_model(rounds: int, seed: int) -> dict[str, Any]:
    """The same for each model, where the skill adds more for one than for the other."""
    found: dict[str, Any] = {}
    alone: list[bool] = []
    both: list[bool] = []
    for cell in keyed_cells():
        seen: list[bool] = []
        for number in range(rounds):
            rows = simulated(cell, f"{seed}/keyed/{cell.name}/{number}")
            for model, measured in by_key(rows, lambda row: row.model).items():
                if measured.success is not None:
                    seen.append(measured.success.low <= cell.added(model) <= measured.success.high)
            whole = lift(rows).success
            if whole is not None:
                alone.append(whole.low <= cell.lift <= whole.high)
        found[cell.name] = _share([seen])
        both += seen
    return {"rounds_per_cell": rounds, "coverage": _share([both]), "whole": _share([alone]), "cells": found}


def _count(seen: dict[Measure, list[bool]], measured: Lift, truths: dict[Measure, float]) -> None:
    for measure, difference in measured.differences.items():
        seen[measure].append(difference.low <= truths[measure] <= difference.high)


def _wald_holds(rows: list[Evidence], truth: float) -> bool:
    """The simple rule: all runs of one arm together, and a normal interval."""
    arms = [[row.outcome is Outcome.SUCCESS for row in rows if row.control is control] for control in (False, True)]
    with_it, without = (fmean(arm) for arm in arms)
    error = math.sqrt(sum(fmean(arm) * (1 - fmean(arm)) / len(arm) for arm in arms))
    return abs(with_it - without - truth) <= Z_95 * error


def _share(parts: Any) -> float | None:
    every = [one for part in parts for one in part]
    return round(sum(every) / len(every), 4) if every else None


def _worst(held: dict[str, dict[Measure, list[bool]]], measure: Measure, *, named: int = 5) -> list[dict[str, Any]]:
    """The cells that cover least, and how many rounds said anything at all in them."""
    told = [
        {"cell": name, "coverage": round(fmean(seen[measure]), 4), "rounds": len(seen[measure])}
        for name, seen in held.items()
        if len(seen[measure]) >= 20
    ]
    return sorted(told, key=lambda each: (each["coverage"], each["cell"]))[:named]


def main() -> None:
    """Print what the simulation found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100, help="of each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    text = json.dumps(coverage(options.rounds, options.seed), indent=2) + "\n"
    if options.out:
        Path(options.out).write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
