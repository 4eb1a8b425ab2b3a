"""Answers of the consolidation experiment → the tables of arms, learning curves, what was forgotten, the verdict and a picture."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from _consolidation_answers import Answers
from _consolidation_data import SEEDS, SIZES, bfcl_questions
from _consolidation_figures import brief, difference_told, estimate_told, trainings
from _consolidation_forgetting import forgotten
from _consolidation_plot import picture
from _consolidation_run import MACHINE

from tacit.features.evaluate.comparison import Comparison, compare, forward_transfer, paired
from tacit.features.evaluate.suite import ResultRow
from tacit.features.evaluate.suites.public_tasks import BfclSuite, RetailSuite
from tacit.features.train.verdict import judge_arm

MOST = max(SIZES)
ARMS_ASKED = ("trajectory", "knowledge", "placebo", "oracle")


def tell(retail_data: Path, bfcl_data: Path, *, outs: Sequence[Path], results: Path) -> None:
    """Score, compare, and write the results."""
    retail, bfcl = RetailSuite(retail_data), BfclSuite(bfcl_data)
    suites = {"retail": (retail, retail.exercises()), "bfcl": (bfcl, bfcl_questions(bfcl))}
    free, given = Answers.free(suites, outs), Answers.given(suites, outs)
    elsewhere = compare(_elsewhere(free), reference="none")
    ruling, _, reason = judge_arm(_over_skills(free), elsewhere, arm="skills+adapter")
    trained = trainings(outs)
    told = {
        "machine": json.loads((outs[0] / MACHINE).read_text("utf-8")),
        "questions": {name: len(exercises) for name, (_, exercises) in suites.items()},
        "groups": len({exercise.group for exercise in retail.exercises()}),
        "baselines": _baselines(retail),
        "free": _measured(free),
        "given": _measured(given),
        "elsewhere": _table(elsewhere),
        "ruling": str(ruling),
        "reason": reason,
        "cost": _cost(free, trained),
        "trainings": [brief(training) for training in trained],
    }
    results.mkdir(parents=True, exist_ok=True)
    (results / "consolidation.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    (results / "consolidation.svg").write_text(picture(told), "utf-8")
    print(json.dumps({name: value for name, value in told.items() if name != "trainings"}, indent=1))


def _measured(answers: Answers) -> dict[str, Any]:
    """Everything that one way of reading the answers says."""
    over = _over_skills(answers)
    return {
        "arms": _table(compare(_arms(answers), reference="none")),
        "over_skills": {
            arm: difference_told(over.arm(arm).differences["success"]) for arm in ("adapter", "skills+adapter")
        },
        "forward_transfer": difference_told(forward_transfer(_arms(answers))),
        "curve": _curve(answers),
        "forgetting": forgotten(answers),
    }


def _over_skills(answers: Answers) -> Comparison:
    compared = [row for row in _arms(answers) if row.arm in {"skills", "skills+adapter", "adapter"}]
    return compare(compared, reference="skills")


def _cost(answers: Answers, trained: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds on the machine, each process counted by itself, and what passed through the model."""
    rows = answers.every()
    return {
        "training_s": round(sum(training["seconds"] for training in trained), 1),
        "training_tokens": sum(training["tokens"] for training in trained),
        "answers": len(rows),
        "answering_s": round(sum(row.seconds for row in rows), 1),
    }


def _arms(answers: Answers) -> list[ResultRow]:
    rows = [*answers.rows("retail/none", arm="none"), *answers.rows(f"retail/skills-{MOST}", arm="skills")]
    for arm in ARMS_ASKED:
        rows += answers.rows(f"retail/{arm}", arm=arm)
    for seed in SEEDS:
        adapter = f"retail-{MOST}-{seed}"
        rows += answers.rows("retail/none", adapter, arm="adapter", seed=seed)
        rows += answers.rows(f"retail/skills-{MOST}", adapter, arm="skills+adapter", seed=seed)
    return rows


def _elsewhere(answers: Answers) -> list[ResultRow]:
    """What the shop's adapter does to a domain that it was not trained on."""
    rows = answers.rows("bfcl/none", arm="none")
    for seed in SEEDS:
        rows += answers.rows("bfcl/none", f"retail-{MOST}-{seed}", arm="adapter", seed=seed)
    return rows


def _curve(answers: Answers) -> list[dict[str, Any]]:
    found = []
    for size in SIZES:
        arms: dict[str, list[ResultRow]] = {"skills": [], "adapter": [], "skills+adapter": []}
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
                "success": {arm: estimate_told(compared.arm(arm).means["success"]) for arm in arms if arms[arm]},
                "over_skills": {
                    arm: difference_told(paired(arms[arm], arms["skills"])) for arm in ("adapter", "skills+adapter")
                },
            }
        )
    return found


def _skills(size: int, seed: int) -> str:
    return f"retail/skills-{size}" if size == MOST else f"retail/skills-{size}-{seed}"


def _baselines(retail: RetailSuite) -> dict[str, float]:
    """What one would get without reading the task: always the commonest answer, or the commonest tool, after so many calls."""
    seen: dict[int, Counter[str]] = {}
    for trajectory in retail.training_trajectories():
        names = [step.tool for step in trajectory.actions]
        for place, name in enumerate([*names, ""]):
            seen.setdefault(place, Counter())[name] += 1
    right: dict[str, list[bool]] = {"free": [], "given": []}
    for exercise in retail.exercises():
        commonest = seen.get(len(exercise.turns), Counter()).most_common()
        wanted = exercise.answer[0].tool if exercise.answer else ""
        right["free"].append(next((name for name, _ in commonest), "") == wanted)
        if wanted:
            right["given"].append(next((name for name, _ in commonest if name), "") == wanted)
    return {way: round(sum(flags) / len(flags), 4) for way, flags in right.items()}


def _table(compared: Comparison) -> list[dict[str, Any]]:
    rows = []
    for name in compared.names:
        figures = compared.arm(name)
        rows.append(
            {
                "arm": name,
                "attempts": figures.attempts,
                "seeds": list(figures.seeds),
                **{metric: estimate_told(estimate) for metric, estimate in figures.means.items()},
                "difference": difference_told(figures.differences.get("success")),
                "regressions": len(figures.regressions),
                "gains": len(figures.gains),
            }
        )
    return rows
