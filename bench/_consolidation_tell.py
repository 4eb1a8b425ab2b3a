"""Answers of the consolidation experiment → scores, the table of arms, the learning curve, what was forgotten, and the verdict.

Answers are scored here and by the suite alone, as if an agent had given them. Where an answer was cut before its call was
whole, its tool counts and its arguments do not.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from _consolidation_data import SEEDS, SIZES, bfcl_questions
from _consolidation_run import ANSWERS, MACHINE, TRAININGS

from tacit.consolidation.conversation import is_done, understood
from tacit.evaluation.comparing import Comparison, Difference, compare, forgetting, forward_transfer, paired
from tacit.evaluation.judging import judged
from tacit.evaluation.suite import Exercise, Row
from tacit.evaluation.suites.bfcl import BfclSuite
from tacit.evaluation.suites.next_call import NextCallSuite
from tacit.evaluation.suites.retail import RetailSuite

_BEGUN = re.compile(r'<tool_call>\s*\{\s*"name":\s*"([^"]+)"')
MOST = max(SIZES)
ARMS_ASKED = ("trajectory", "knowledge", "placebo", "oracle")


class Answers:
    """Rows by set of prompts and adapter."""

    def __init__(self, suites: Mapping[str, tuple[NextCallSuite, Sequence[Exercise]]], path: Path) -> None:
        self._exercises = {
            name: {exercise.key: exercise for exercise in exercises} for name, (_, exercises) in suites.items()
        }
        self._suites = {name: suite for name, (suite, _) in suites.items()}
        self._rows: dict[tuple[str, str], list[Row]] = {}
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                said = json.loads(line)
                self._rows.setdefault((said["set"], said["adapter"]), []).append(self._scored(said))

    def rows(self, asked: str, adapter: str = "", *, arm: str, seed: int = 0) -> list[Row]:
        """The rows of one set under one adapter, named as an arm."""
        return [replace(row, arm=arm, seed=seed) for row in self._rows.get((asked, adapter), ())]

    def _scored(self, said: Mapping[str, Any]) -> Row:
        suite = said["set"].partition("/")[0]
        exercise = self._exercises[suite][said["exercise"]]
        world = self._suites[suite].begin(exercise)
        text = said["text"]
        if is_done(text):
            world.finish()
        elif call := understood(text):
            world.call(call.tool, **{name: value for name, value in call.arguments.items() if name != "self"})
        elif begun := _BEGUN.match(text.strip()):
            world.call(begun[1])
        return Row(
            suite=suite,
            arm="",
            seed=0,
            exercise=exercise.key,
            group=exercise.group,
            score=world.score(),
            context_tokens=said["context_tokens"],
            output_tokens=said["output_tokens"],
            seconds=said["seconds"],
        )


def tell(retail_data: Path, bfcl_data: Path, *, out: Path, results: Path) -> None:
    """Score, compare, and write the results."""
    retail, bfcl = RetailSuite(retail_data), BfclSuite(bfcl_data)
    suites = {"retail": (retail, retail.exercises()), "bfcl": (bfcl, bfcl_questions(bfcl))}
    answers = Answers(suites, out / ANSWERS)
    trainings = [json.loads(line) for line in (out / TRAININGS).read_text("utf-8").splitlines()]
    home, elsewhere = compare(_arms(answers), reference="none"), _elsewhere(answers)
    over_skills = compare(
        [row for row in _arms(answers) if row.arm in {"skills", "skills+adapter", "adapter"}], reference="skills"
    )
    ruling, reason = judged(over_skills, elsewhere, arm="skills+adapter")
    told = {
        "machine": json.loads((out / MACHINE).read_text("utf-8")),
        "questions": {name: len(exercises) for name, (_, exercises) in suites.items()},
        "baselines": _baselines(retail),
        "arms": _table(home),
        "over_skills": {
            arm: _difference(over_skills.arm(arm).differences["success"]) for arm in ("adapter", "skills+adapter")
        },
        "forward_transfer": _difference(forward_transfer(_arms(answers))),
        "elsewhere": _table(elsewhere),
        "ruling": str(ruling),
        "reason": reason,
        "curve": _curve(answers),
        "forgetting": _forgetting(answers),
        "trainings": [_brief(training) for training in trainings],
    }
    results.mkdir(parents=True, exist_ok=True)
    (results / "consolidation.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    print(json.dumps({name: value for name, value in told.items() if name != "trainings"}, indent=1))


def _arms(answers: Answers) -> list[Row]:
    rows = [*answers.rows("retail/none", arm="none"), *answers.rows(f"retail/skills-{MOST}", arm="skills")]
    for arm in ARMS_ASKED:
        rows += answers.rows(f"retail/{arm}", arm=arm)
    for seed in SEEDS:
        adapter = f"retail-{MOST}-{seed}"
        rows += answers.rows("retail/none", adapter, arm="adapter", seed=seed)
        rows += answers.rows(f"retail/skills-{MOST}", adapter, arm="skills+adapter", seed=seed)
    return rows


def _elsewhere(answers: Answers) -> Comparison:
    """What the shop's adapter does to a domain that it was not trained on."""
    rows = answers.rows("bfcl/none", arm="none")
    for seed in SEEDS:
        rows += answers.rows("bfcl/none", f"retail-{MOST}-{seed}", arm="adapter", seed=seed)
    return compare(rows, reference="none")


def _curve(answers: Answers) -> list[dict[str, Any]]:
    found = []
    for size in SIZES:
        arms: dict[str, list[Row]] = {"skills": [], "adapter": [], "skills+adapter": []}
        for seed in SEEDS:
            skills, adapter = _skills(size, seed), f"retail-{size}-{seed}"
            arms["skills"] += answers.rows(skills, arm="skills", seed=seed)
            arms["adapter"] += answers.rows("retail/none", adapter, arm="adapter", seed=seed)
            arms["skills+adapter"] += answers.rows(skills, adapter, arm="skills+adapter", seed=seed)
        if not arms["adapter"]:
            continue
        compared = compare([row for rows in arms.values() for row in rows], reference="skills")
        found.append(
            {
                "tasks": size,
                "seeds": sorted({row.seed for row in arms["adapter"]}),
                "success": {arm: _estimate(compared.arm(arm).means["success"]) for arm in arms if arms[arm]},
                "over_skills": {
                    arm: _difference(paired(arms[arm], arms["skills"])) for arm in ("adapter", "skills+adapter")
                },
            }
        )
    return found


def _skills(size: int, seed: int) -> str:
    return f"retail/skills-{size}" if size == MOST else f"retail/skills-{size}-{seed}"


def _forgetting(answers: Answers) -> dict[str, Any]:
    """Success in the shop before and after a second domain was learned, and in that second domain."""
    told: dict[str, Any] = {}
    before = [
        row for seed in SEEDS for row in answers.rows("retail/none", f"retail-{MOST}-{seed}", arm="adapter", seed=seed)
    ]
    bare = answers.rows("bfcl/none", arm="adapter")
    for way in ("alone", "replay"):
        after = [
            row for seed in SEEDS for row in answers.rows("retail/none", f"bfcl-{way}-{seed}", arm="adapter", seed=seed)
        ]
        second = [
            row for seed in SEEDS for row in answers.rows("bfcl/none", f"bfcl-{way}-{seed}", arm="adapter", seed=seed)
        ]
        told[way] = {
            "seeds": sorted({row.seed for row in after}),
            "shop_after": _share(after),
            "shop_forgotten": _difference(forgetting(before, after)),
            "second_after": _share(second),
            "second_gained": _difference(paired(second, bare)),
        }
    return {"shop_before": _share(before), "second_bare": _share(bare), **told}


def _baselines(retail: RetailSuite) -> dict[str, float]:
    """What one would get without reading the task: always the commonest answer after so many calls."""
    seen: dict[int, Counter[str]] = {}
    for trajectory in retail.training_trajectories():
        names = [step.tool for step in trajectory.actions]
        for place, name in enumerate([*names, ""]):
            seen.setdefault(place, Counter())[name] += 1
    right = [
        (exercise.answer[0].tool if exercise.answer else "")
        == seen.get(len(exercise.turns), Counter({"": 1})).most_common(1)[0][0]
        for exercise in retail.exercises()
    ]
    return {"commonest after so many calls": round(sum(right) / len(right), 4)}


def _table(compared: Comparison) -> list[dict[str, Any]]:
    rows = []
    for name in compared.names:
        figures = compared.arm(name)
        rows.append(
            {
                "arm": name,
                "attempts": figures.attempts,
                "seeds": list(figures.seeds),
                **{metric: _estimate(estimate) for metric, estimate in figures.means.items()},
                "difference": _difference(figures.differences.get("success")),
                "regressions": len(figures.regressions),
                "gains": len(figures.gains),
            }
        )
    return rows


def _estimate(estimate: Any) -> dict[str, float]:
    return {key: round(value, 4) for key, value in asdict(estimate).items()}


def _difference(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in asdict(difference).items()}


def _share(rows: Iterable[Row]) -> float | None:
    flags = [row.score.success for row in rows]
    return round(sum(flags) / len(flags), 4) if flags else None


def _brief(training: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("adapter", "examples", "steps", "tokens", "seconds", "best_held_out", "best_step", "stopped_early")
    return {name: training[name] for name in kept}
