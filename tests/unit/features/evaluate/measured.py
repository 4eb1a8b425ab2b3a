"""Rows of runs that never were: arms with known shares of success."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tacit.features.evaluate.suite import AttemptScore, ResultRow


def row(arm: str = "none", exercise: str = "a#1", *, success: bool = True, seed: int = 0, **more: object) -> ResultRow:
    """One attempt; its group is what stands before the #."""
    score = AttemptScore(
        success=success, steps=3, retries=0, first_right=success, detail="" if success else "stopped too early"
    )
    result: dict[str, object] = {
        "suite": "shop",
        "group": exercise.partition("#")[0],
        "score": score,
        "context_tokens": 100,
        "aid_sources": () if arm == "none" else ("s1",),
        **more,
    }
    return ResultRow(arm=arm, exercise=exercise, seed=seed, **result)  # type: ignore[arg-type]


def run(
    shares: Mapping[str, float], *, tasks: int = 40, seeds: int = 1, each: int = 1, dice: int = 1
) -> list[ResultRow]:
    """Every arm attempts every exercise; the same dice for all arms, so that a higher share solves a superset."""
    rows = []
    for task in range(tasks):
        for number in range(each):
            for seed in range(seeds):
                luck = random.Random(f"{dice}/{task}/{number}/{seed}").random()
                rows += [
                    row(arm, f"t{task:03}#{number}", success=luck < share, seed=seed) for arm, share in shares.items()
                ]
    return rows
