"""What of the shop is forgotten while a second domain is learned on top of it: alone, and with replay of the shop's examples.

Ways are those that adapters are found for: `bfcl-WAY-SEED`. A way is held against the shop's adapter of the same seeds, and
against learning the second domain alone: whether replay helps is that second difference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _consolidation_answers import Answers, Suites
from _consolidation_data import SEEDS, SIZES, bfcl_questions
from _consolidation_figures import brief, difference_told, share, trainings
from _consolidation_run import MACHINE

from tacit.features.evaluate.comparison import ArmDifference, forgetting, paired
from tacit.features.evaluate.estimates import holm
from tacit.features.evaluate.suite import ResultRow
from tacit.features.evaluate.suites.public_tasks import BfclSuite, RetailSuite

ALONE = "alone"
SHOP, SECOND = "retail/none", "bfcl/none"
_SECOND_ADAPTER = re.compile(r"bfcl-([a-z]+)(\d*)-(\d+)")


def tell_forgetting(retail_data: Path, bfcl_data: Path, *, outs: Sequence[Path], results: Path) -> None:
    """Score answers that need hold nothing but the shop before and after, and write what was forgotten."""
    retail, bfcl = RetailSuite(retail_data), BfclSuite(bfcl_data)
    suites: Suites = {"retail": (retail, retail.exercises()), "bfcl": (bfcl, bfcl_questions(bfcl))}
    ends = {exercise.key for exercise in retail.exercises() if not exercise.answer}
    told = {
        "machine": json.loads((outs[0] / MACHINE).read_text("utf-8")),
        "questions": {name: len(exercises) for name, (_, exercises) in suites.items()},
        "ends": len(ends),
        "groups": len({exercise.group for exercise in retail.exercises()}),
        "free": forgotten(Answers.free(suites, outs), ends=ends),
        "given": forgotten(Answers.given(suites, outs)),
        "trainings": [brief(training) for training in trainings(outs)],
    }
    results.mkdir(parents=True, exist_ok=True)
    (results / "consolidation_replay.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    print("\n".join(_lines(told)))


def forgotten(answers: Answers, *, ends: Collection[str] = ()) -> dict[str, Any]:
    """Success in the shop before and after a second domain was learned, and in that second domain; one entry for each way.

    `ends` are the shop's questions where nothing is left to do: where there are any, success is also told for these and for
    the others apart.
    """
    before = _rows(answers, SHOP, f"retail-{max(SIZES)}")
    bare = [row for seed in SEEDS for row in answers.rows(SECOND, arm="adapter", seed=seed)]
    ways = ways_of(answers.adapters)
    shop = {way: _rows(answers, SHOP, f"bfcl-{way}") for way in ways}
    second = {way: _rows(answers, SECOND, f"bfcl-{way}") for way in ways}
    lost = _corrected({way: forgetting(_of_seeds(before, shop[way]), shop[way]) for way in ways})
    told: dict[str, Any] = {"shop_before": share(before), "second_bare": share(bare)}
    if ends:
        told["shop_before_by_kind"] = _by_kind(before, ends)
    over = {
        "shop_over_alone": _corrected(_over_alone(shop)),
        "second_over_alone": _corrected(_over_alone(second)),
    }
    for way in ways:
        told[way] = {
            "seeds": sorted({row.seed for row in shop[way]}),
            "shop_after": share(shop[way]),
            "shop_forgotten": difference_told(lost[way]),
            "second_after": share(second[way]),
            "second_gained": difference_told(paired(second[way], _of_seeds(bare, second[way]))),
            **{name: difference_told(found[way]) for name, found in over.items() if way in found},
            **({"shop_after_by_kind": _by_kind(shop[way], ends)} if ends else {}),
        }
    return told


def ways_of(adapters: Collection[str]) -> list[str]:
    """The ways in which the second domain was learned, as far as there are adapters of them: alone first, then ever more replay."""
    found = [named for adapter in adapters if (named := _SECOND_ADAPTER.fullmatch(adapter))]
    ranked = {(named[1] != ALONE, named[1], int(named[2] or 0), named[1] + named[2]) for named in found}
    return [way for *_, way in sorted(ranked)]


def _rows(answers: Answers, asked: str, adapters: str) -> list[ResultRow]:
    return [row for seed in SEEDS for row in answers.rows(asked, f"{adapters}-{seed}", arm="adapter", seed=seed)]


def _of_seeds(rows: Sequence[ResultRow], others: Sequence[ResultRow]) -> list[ResultRow]:
    """The rows of seeds that the others have too: where a run was broken off, seeds are missing on one side."""
    seeds = {row.seed for row in others}
    return [row for row in rows if row.seed in seeds]


def _over_alone(ways: Mapping[str, Sequence[ResultRow]]) -> dict[str, ArmDifference | None]:
    """Each way with replay less the way without, on the seeds that both have."""
    alone = ways.get(ALONE, ())
    return {
        way: paired(_of_seeds(rows, alone), _of_seeds(alone, rows))
        for way, rows in ways.items()
        if alone and way != ALONE
    }


def _corrected(found: Mapping[str, ArmDifference | None]) -> dict[str, ArmDifference | None]:
    """The same differences, their p-values corrected for the number of ways."""
    chances = holm({way: difference.p for way, difference in found.items() if difference})
    return {way: difference and replace(difference, p_holm=chances[way]) for way, difference in found.items()}


def _by_kind(rows: Sequence[ResultRow], ends: Collection[str]) -> dict[str, float | None]:
    """Success where a call is wanted, and where the end is."""
    return {
        "call": share(row for row in rows if row.exercise not in ends),
        "end": share(row for row in rows if row.exercise in ends),
    }


def _lines(told: Mapping[str, Any]) -> list[str]:
    """The table to look at: one line for each reading and way."""
    lines = []
    for reading in ("free", "given"):
        found = told[reading]
        lines.append(f"{reading}: shop before {found['shop_before']} {found.get('shop_before_by_kind', '')}")
        for way, one in found.items():
            if isinstance(one, dict) and "shop_after" in one:
                lines.append(
                    f"  {way:9} seeds {one['seeds']} shop {one['shop_after']} {one.get('shop_after_by_kind', '')}"
                    f" lost {_interval(one['shop_forgotten'])}; over alone {_interval(one.get('shop_over_alone'))};"
                    f" second {one['second_after']}, over alone {_interval(one.get('second_over_alone'))}"
                )
    return lines


def _interval(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "–"
    return (
        f"{one['value']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}] p {one['p']:.3f} (corrected {one['p_holm']:.3f})"
    )
