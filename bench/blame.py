"""How often blame names the kind of failure and the first step at fault, against simple ways of guessing.

    PYTHONPATH=src python bench/blame.py --data DATA [--out bench/results/blame.json]

Retail: every failed run carries a label that compares its writes with a reference. Labels and all other extras are taken
off before a run is read. Scored are the labelled failures whose task another agent solved; those successful runs are what a
failure is compared with. A failure at a task that nobody solved is not explained; how many there are is in `unexplained`. A
step is right if it is the labelled one, or none where the label has none. Baselines, in the same table: the commonest kind
(which looks at the labels); the first, the last effect and the first failing call at fault, none where there is no such
call; always none. `plain` calls a run without effects "no action" and every other "wrong arguments" at its first effect.
Intervals are bootstrapped over tasks, also those of the paired differences. A write in the labels is a tool whose name
does not begin like a reading one; how often the product's own notion of an effect differs is counted in `effects`.

Telecom: the kind only. Labels say what was missing or unneeded: a needless hand-over is a wrong end; otherwise missing and
unneeded effects together are a wrong tool, one alone a missing or an extra step; "unneeded change" is an extra step.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.domain.trajectory import Trajectory
from tacit.ingest.atif import from_documents
from tacit.learn.mining.failures import FailureKind, changes_made, explain_failure, hands_over

SEED = 0
RESAMPLES = 10_000
READING = ("get_", "find_", "list_", "search_", "calculate", "think", "transfer")
KINDS = {
    "no write at all": FailureKind.NO_ACTION,
    "right writes, wrong arguments": FailureKind.WRONG_ARGUMENTS,
    "missing write": FailureKind.MISSING_STEP,
    "extra write": FailureKind.EXTRA_STEP,
    "wrong write tool": FailureKind.WRONG_TOOL,
    "writes match; output or termination": FailureKind.WRONG_END,
}

Answer = tuple[str, int | None]
"""Kind and step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt as the learner sees it, and beside it what only the scoring sees."""

    trajectory: Trajectory
    task: int
    agent: str
    succeeded: bool
    label: Answer | None = None


def read(document: dict[str, Any]) -> Trajectory:
    """The trajectory of a document without any of its extras."""
    (trajectory,) = from_documents({key: value for key, value in document.items() if key != "extra"})
    return trajectory


def retail_runs(path: Path) -> list[Run]:
    with gzip.open(path, "rt") as lines:
        return [_retail_run(json.loads(line)) for line in lines]


def _retail_run(document: dict[str, Any]) -> Run:
    extra, trajectory = document["extra"], read(document)
    numbers = [step["step_id"] for step in document["steps"] for _ in step.get("tool_calls") or []]
    places = dict(zip(numbers, (step.index for step in trajectory.actions), strict=True))
    said = extra.get("label")
    wrong = said["first_wrong_write_step"] if said else None
    return Run(
        trajectory=trajectory,
        task=extra["task_id"],
        agent=f"{document['agent']['name']} {document['agent'].get('model_name')}",
        succeeded=extra["result"] == "success",
        label=(KINDS[said["kind"]], places[wrong] if wrong is not None else None) if said else None,
    )


def telecom_runs(folder: Path) -> list[Run]:
    labels = json.loads((folder / "failure_labels.json").read_text())
    documents = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    groups = {name: number for number, name in enumerate(sorted({d["extra"]["group"] for d in documents}))}
    return [
        Run(
            trajectory=read(document),
            task=groups[document["extra"]["group"]],
            agent=document["trajectory_id"],
            succeeded=document["extra"]["result"] == "success",
            label=_telecom_label(labels.get(document["trajectory_id"])),
        )
        for document in documents
    ]


def _telecom_label(label: Mapping[str, Any] | None) -> Answer | None:
    if label is None:
        return None
    unneeded = [call for call in label["unneeded"] if not hands_over(call[0])]
    if len(unneeded) < len(label["unneeded"]):
        return FailureKind.WRONG_END, None
    if label["kind"] == "an unneeded change was made" or not label["missing"]:
        return FailureKind.EXTRA_STEP, None
    return (FailureKind.WRONG_TOOL if unneeded else FailureKind.MISSING_STEP), None


def by_siblings(runs: Sequence[Run], failed: Sequence[Run]) -> list[Answer | None]:
    """Explain with the successful runs of other agents at the same task; nothing where there is none."""
    found: list[Answer | None] = []
    for run in failed:
        siblings = [r.trajectory for r in runs if r.succeeded and r.task == run.task and r.agent != run.agent]
        cause = explain_failure(run.trajectory, siblings) if siblings else None
        found.append((cause.kind, cause.step) if cause else None)
    return found


def baselines(failed: Sequence[Run]) -> dict[str, list[Answer]]:
    kind = Counter(run.label[0] for run in failed if run.label).most_common(1)[0][0]

    def guess(step: Callable[[Run], int | None]) -> list[Answer]:
        return [(kind, step(run)) for run in failed]

    def effect(run: Run, place: int) -> int | None:
        done = changes_made(run.trajectory).done
        return done[place].index if done else None

    plain = [
        (FailureKind.WRONG_ARGUMENTS if changes_made(run.trajectory).done else FailureKind.NO_ACTION, effect(run, 0))
        for run in failed
    ]
    return {
        "commonest kind, no step": guess(lambda run: None),
        "commonest kind, first effect": guess(lambda run: effect(run, 0)),
        "commonest kind, last effect": guess(lambda run: effect(run, -1)),
        "commonest kind, first failing call": guess(
            lambda run: next((step.index for step in run.trajectory.actions if step.failed), None)
        ),
        "plain": [(str(kind), step) for kind, step in plain],
    }


def table(failed: Sequence[Run], said: Mapping[str, Sequence[Answer]], *, steps: bool) -> dict[str, Any]:
    """Shares right with their intervals, and how much the first row is ahead of each other one."""
    tasks = [run.task for run in failed]
    right: dict[str, dict[str, list[float]]] = {}
    for name, given in said.items():
        pairs = [(answer, run.label) for answer, run in zip(given, failed, strict=True) if run.label]
        right[name] = {"kind": [float(answer[0] == label[0]) for answer, label in pairs]}
        if steps:
            right[name]["step"] = [float(answer[1] == label[1]) for answer, label in pairs]
    first = next(iter(right))
    report: dict[str, Any] = {"failures": len(failed), "tasks": len(set(tasks))}
    for name, parts in right.items():
        report[name] = {part: _measured(tasks, values) for part, values in parts.items()}
    for name, parts in right.items():
        if name != first:
            report[f"{first} minus {name}"] = {
                part: _measured(tasks, [a - b for a, b in zip(right[first][part], values, strict=True)])
                for part, values in parts.items()
            }
    return report


def _measured(tasks: Sequence[int], values: Sequence[float]) -> dict[str, Any]:
    by_task: dict[int, list[float]] = defaultdict(list)
    for task, value in zip(tasks, values, strict=True):
        by_task[task].append(value)
    sums = [(sum(group), len(group)) for group in by_task.values()]
    rng, means = random.Random(SEED), []
    for _ in range(RESAMPLES):
        drawn = rng.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    interval = [round(means[int(RESAMPLES * share)], 3) for share in (0.025, 0.975)]
    return {"mean": round(sum(values) / len(values), 3), "interval": interval}


def evaluate(runs: Sequence[Run], *, steps: bool) -> dict[str, Any]:
    labelled = [run for run in runs if run.label]
    explained = [(run, found) for run, found in zip(labelled, by_siblings(runs, labelled), strict=True) if found]
    failed, given = [run for run, _ in explained], [found for _, found in explained]
    return {
        "with sibling": table(failed, {"tacit": given, **baselines(failed)}, steps=steps),
        "unexplained": len(labelled) - len(failed),
        "confusion": _confusion(failed, given),
    }


def _confusion(failed: Sequence[Run], given: Sequence[Answer]) -> dict[str, int]:
    pairs = Counter(f"{run.label[0]} → {answer[0]}" for run, answer in zip(failed, given, strict=True) if run.label)
    return dict(sorted(pairs.items()))


def effects_compared(runs: Sequence[Run]) -> dict[str, int]:
    """Calls by the labels' notion of a write and by the product's notion of an effect."""
    counts: Counter[str] = Counter()
    for run in runs:
        ours = {call.index for call in changes_made(run.trajectory).done}
        for step in run.trajectory.actions:
            theirs = not step.tool.startswith(READING)
            counts[f"label {'write' if theirs else 'read'}, product {'effect' if step.index in ours else 'none'}"] += 1
    return dict(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with `retail` and `telecom`")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    retail = retail_runs(options.data / "retail" / "trajectories.jsonl.gz")
    report: dict[str, Any] = {"commit": commit(), "python": platform.python_version()}
    report["retail"] = {**evaluate(retail, steps=True), "effects": effects_compared(retail)}
    if (options.data / "telecom" / "episodes.jsonl").exists():
        report["telecom"] = evaluate(telecom_runs(options.data / "telecom"), steps=False)
    print(json.dumps(report, indent=1))
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def commit() -> str:
    command = ["git", "-C", str(Path(__file__).resolve().parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
