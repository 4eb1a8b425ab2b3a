"""Answers of the consolidation experiment → the tables of arms, learning curves, what was forgotten, the verdict and a picture."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from _consolidation_answers import Answers
from _consolidation_data import SEEDS, SIZES, bfcl_questions
from _consolidation_plot import picture
from _consolidation_run import MACHINE, TRAININGS

from tacit.evaluation.comparing import Comparison, Difference, compare, forgetting, forward_transfer, paired
from tacit.evaluation.judging import judged
from tacit.evaluation.suite import Row
from tacit.evaluation.suites.bfcl import BfclSuite
from tacit.evaluation.suites.retail import RetailSuite

MOST = max(SIZES)
ARMS_ASKED = ("trajectory", "knowledge", "placebo", "oracle")


def tell(retail_data: Path, bfcl_data: Path, *, outs: Sequence[Path], results: Path) -> None:
    """Score, compare, and write the results."""
    retail, bfcl = RetailSuite(retail_data), BfclSuite(bfcl_data)
    suites = {"retail": (retail, retail.exercises()), "bfcl": (bfcl, bfcl_questions(bfcl))}
    free, given = Answers.free(suites, outs), Answers.given(suites, outs)
    elsewhere = compare(_elsewhere(free), reference="none")
    ruling, reason = judged(_over_skills(free), elsewhere, arm="skills+adapter")
    trained = _trainings(outs)
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
        "trainings": [_brief(training) for training in trained],
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
            arm: _difference(over.arm(arm).differences["success"]) for arm in ("adapter", "skills+adapter")
        },
        "forward_transfer": _difference(forward_transfer(_arms(answers))),
        "curve": _curve(answers),
        "forgetting": _forgetting(answers),
    }


def _over_skills(answers: Answers) -> Comparison:
    compared = [row for row in _arms(answers) if row.arm in {"skills", "skills+adapter", "adapter"}]
    return compare(compared, reference="skills")


def _trainings(outs: Sequence[Path]) -> list[dict[str, Any]]:
    lines = [line for out in outs for line in (out / TRAININGS).read_text("utf-8").splitlines()]
    return list({training["adapter"]: training for training in map(json.loads, lines)}.values())


def _cost(answers: Answers, trainings: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds on the machine, each process counted by itself, and what passed through the model."""
    rows = answers.every()
    return {
        "training_s": round(sum(training["seconds"] for training in trainings), 1),
        "training_tokens": sum(training["tokens"] for training in trainings),
        "answers": len(rows),
        "answering_s": round(sum(row.seconds for row in rows), 1),
    }


def _arms(answers: Answers) -> list[Row]:
    rows = [*answers.rows("retail/none", arm="none"), *answers.rows(f"retail/skills-{MOST}", arm="skills")]
    for arm in ARMS_ASKED:
        rows += answers.rows(f"retail/{arm}", arm=arm)
    for seed in SEEDS:
        adapter = f"retail-{MOST}-{seed}"
        rows += answers.rows("retail/none", adapter, arm="adapter", seed=seed)
        rows += answers.rows(f"retail/skills-{MOST}", adapter, arm="skills+adapter", seed=seed)
    return rows


def _elsewhere(answers: Answers) -> list[Row]:
    """What the shop's adapter does to a domain that it was not trained on."""
    rows = answers.rows("bfcl/none", arm="none")
    for seed in SEEDS:
        rows += answers.rows("bfcl/none", f"retail-{MOST}-{seed}", arm="adapter", seed=seed)
    return rows


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
    bare = [row for seed in SEEDS for row in answers.rows("bfcl/none", arm="adapter", seed=seed)]
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
            "second_gained": _difference(paired(second, bare)) if second else None,
        }
    return {"shop_before": _share(before), "second_bare": _share(bare), **told}


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
