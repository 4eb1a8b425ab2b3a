"""Arms on one suite in one table: what an agent makes of nothing, a raw episode, skills, a placebo and the right answer.

    PYTHONPATH=src python bench/arms.py telecom DATA --checkout CHECKOUT [--driver telecom_env.py] [--work FOLDER]
    PYTHONPATH=src python bench/arms.py telecom DATA --checkout CHECKOUT --base MODEL [--adapter FOLDER | --train SIZE]
    PYTHONPATH=src python bench/arms.py telecom DATA --checkout CHECKOUT --server http://127.0.0.1:8080/v1 --arms ARMS
    PYTHONPATH=src python bench/arms.py retail|bfcl DATA --base MODEL [--adapter FOLDER]

A fresh memory learns from what the suite lets be learned from, less the tasks that have the words and the solution of an
asked one, though another cause (6 of the 120 telecom tasks); what it holds for review is approved, since no person sits in
a benchmark. Then the reference agent acts (no language model), or with `--base` a local model does, with an adapter in arms of
their own (or one behind a server of llama.cpp, whose adapter is its first): a given one, or with `--train` one that is trained first, on the very successes that the memory learned from, once
for each of `--seeds`. Every attempt has a world of its own; attempts and adapters are kept in `--work`, so that a run that is
killed goes on: give the same options again.

- **none**: the reference agent knows nothing and says so.
- **trajectory**: the most similar success, found by the words of the task. The reference agent makes its calls again.
- **trajectory by readings** (telecom, reference agent): looks at the phone first, and repeats the changes of the success whose
  phone looked most alike. In telecom different tasks have the same words, so this is what a raw episode can do at best.
- **skills**, **placebo** (the least fitting skills), **oracle** (the right calls).

Printed and kept are means with 95 % intervals (over tasks), the paired difference to `none` with its corrected p, the
smallest difference that would have been found, and every task that an arm lost against the skills.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from _arms_training import Lessons, recipe_of

from tacit.api import Tacit
from tacit.config.settings import Size
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.actors.model_agent import ChatServer, ModelActor
from tacit.features.evaluate.actors.reference import ReferenceActor
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.base_model import load_base_model
from tacit.features.evaluate.comparison import METRICS, Comparison, compare
from tacit.features.evaluate.leakage import PastAttempt, known_tasks
from tacit.features.evaluate.local_model import LocalModel
from tacit.features.evaluate.runner import run_suite
from tacit.features.evaluate.suite import Actor, Aid, Arm, AttemptCost, Exercise, ResultRow, Suite, World, named_arms
from tacit.features.evaluate.suites import TeachingSuite, open_suite
from tacit.features.evaluate.suites.own import learned_memory
from tacit.features.evaluate.suites.telecom import TelecomSuite
from tacit.text.words import estimate_tokens

BY_READINGS = Arm(name="trajectory by readings")
REFERENCE_ARMS = "none,trajectory,skills,placebo,oracle"
MODEL_ARMS = "none,trajectory,skills,placebo,oracle"
ADAPTED_ARMS = "adapter,skills+adapter"
MAX_CALLS = 80
"""The driver's own limit, so that a raw episode can be repeated to its end."""
MODEL_CALLS = 45
"""For a model. Solved telecom tasks took 25 to 35 calls; of more than these, with an episode before the task, a small model
(8,192 tokens) could not read the end."""

SERVER_S, SERVER_CONTEXT = 1800.0, 8_192


class Limited:
    """The first exercises of a suite."""

    def __init__(self, suite: Suite, count: int) -> None:
        self.name = suite.name
        self._suite = suite
        self._count = count

    def exercises(self) -> Sequence[Exercise]:
        """So many from the beginning."""
        return self._suite.exercises()[: self._count]

    def begin(self, exercise: Exercise) -> World:
        """A fresh world."""
        return self._suite.begin(exercise)


class ByReadings:
    """Looks at everything on the phone, then repeats the changes of the success that looked most alike."""

    name = "nearest success by readings"

    def __init__(self, suite: TelecomSuite, data: Path, sessions: Collection[str]) -> None:
        """`sessions` are the episodes that may be learned from."""
        driver = suite.driver
        reads = {tool.name for tool in suite.tools if tool.read_only}
        episodes = [each for each in driver.load_episodes(data / "episodes.jsonl") if each["trajectory_id"] in sessions]
        self._act = driver.make_baseline("nn", reads)(episodes)

    def objection(self, arm: Arm) -> str:
        """It acts under its own arm alone."""
        return "" if arm == BY_READINGS else "it brings its own episode"

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Attempt one world after the other."""
        del aids, adapter, seed
        started = time.perf_counter()
        for world in worlds:
            self._act(world)
            world.finish()
        tokens = [
            estimate_tokens(world.task) + sum(estimate_tokens(turn.observation) for turn in world.turns)
            for world in worlds
        ]
        return AttemptCost(
            context_tokens=tuple(tokens),
            output_tokens=(0,) * len(tokens),
            seconds=time.perf_counter() - started,
            notes=("",) * len(tokens),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="arms on one suite")
    parser.add_argument("suite", choices=("telecom", "retail", "bfcl"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--driver", help="telecom_env.py")
    parser.add_argument("--checkout", help="a checkout of tau2-bench")
    parser.add_argument("--base", default="", help="a local language model instead of the reference agent")
    parser.add_argument("--server", default="", help="or a model that llama.cpp serves, with its first adapter")
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument("--adapter", type=Path, help="folder of its adapter")
    weights.add_argument("--train", choices=tuple(Size), help="train its adapter first, of this size (telecom)")
    parser.add_argument("--seeds", type=int, default=1, help="so many adapters are trained")
    parser.add_argument("--arms", default="", help="only these, parted by commas")
    parser.add_argument("--limit", type=int, default=0, help="only so many exercises")
    parser.add_argument("--work", type=Path, help="where attempts are kept")
    parser.add_argument("--out", type=Path, help="bench/results/arms_SUITE.json unless limited")
    options = parser.parse_args()
    if not (options.base or options.server) and options.suite != "telecom":
        parser.error("the reference agent acts in telecom alone; give a model by --base")
    if options.train and (not options.base or options.suite != "telecom"):
        parser.error("--train is for telecom, with a model by --base; retail has bench/consolidation.py")
    if options.seeds < 1 or (options.seeds > 1 and not options.train):
        parser.error("--seeds counts the adapters of --train, from 1")
    result = measured(options)
    out = options.out or Path(
        f"bench/results/arms_{options.suite}{'_model' if options.base or options.server else ''}.json"
    )
    if options.out or not options.limit:
        out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Run every arm, and tell what came of it."""
    model = loaded(options.base) if options.base else None
    chosen = {name: getattr(options, name) for name in ("driver", "checkout") if getattr(options, name)}
    if options.suite == "telecom":  # whoever runs a benchmark has chosen its folder, driver and all
        chosen.setdefault("driver", str(options.data.resolve().parent.parent / "tools" / "telecom_env.py"))
    suite = open_suite(options.suite, data=options.data, options=chosen)
    assert isinstance(suite, TeachingSuite)
    started = time.perf_counter()
    training, dropped = unasked(suite.training_trajectories(), suite.exercises())
    memory = learned_memory(training)
    learned_s = time.perf_counter() - started
    asked: Suite = Limited(suite, options.limit) if options.limit else suite
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        adapters: list[dict[str, Any]] = []
        if model:
            lessons = None
            if options.train and isinstance(suite, TelecomSuite):
                lessons = Lessons(memory, training, suite.tools)
            rows, adapters = attempted_by_model(model, asked, memory, options, work=work, lessons=lessons)
        else:
            actor = served(options.server) if options.server else ReferenceActor(memory, max_calls=MAX_CALLS)
            rows = attempted(asked, options.arms or REFERENCE_ARMS, actor, memory, folder=work / "arms")
        if not (options.base or options.server) and not options.arms and isinstance(suite, TelecomSuite):
            nearest = ByReadings(suite, options.data, {each.session_id for each in training})
            own = run_suite(asked, [BY_READINGS], nearest, Aids(), folder=work / "by_readings")
            rows += own.rows
    comparison = compare(rows, reference=rows[0].arm)
    result = {
        "about": about(options),
        "learned": {
            "trajectories": len(training),
            "too_near_to_what_is_asked": dropped,
            "seconds": round(learned_s, 1),
        },
        **({"adapters": adapters} if adapters else {}),
        **told(comparison, rows),
    }
    print(table(comparison))
    memory.close()
    return result


def unasked(training: Sequence[Trajectory], exercises: Sequence[Exercise]) -> tuple[list[Trajectory], int]:
    """What may be learned from: no task with the words and the solution of one that is asked; and how many were such."""
    kept = {each.id: each for each in training}
    while found := known_tasks(exercises, map(PastAttempt.of, kept.values())):
        kept = {key: each for key, each in kept.items() if key not in {one.trajectory_id for one in found}}
    return list(kept.values()), len(training) - len(kept)


def attempted(suite: Suite, names: str, actor: Actor, memory: Tacit, *, folder: Path) -> list[ResultRow]:
    """All attempts of an agent under these arms."""
    made = run_suite(
        suite, named_arms(names), actor, Aids(memory), folder=folder, progress=said_since(time.perf_counter())
    )
    for key, why in made.header.set_aside.items():
        print(f"set aside {key}: {why}", flush=True)
    return list(made.rows)


def loaded(base: str) -> LocalModel:
    """A local model and all that it and its training import: the telecom driver later puts stand-ins in the way of others."""
    model = LocalModel(load_base_model(base))
    import_module("peft")
    return model


def served(url: str) -> ModelActor:
    """A model behind a server; it takes its time where many worlds wait for it."""
    server = ChatServer(url, timeout_s=SERVER_S)
    return ModelActor(server, name="served", adapter="0", max_calls=MODEL_CALLS, max_context=SERVER_CONTEXT)


def attempted_by_model(
    model: LocalModel, suite: Suite, memory: Tacit, options: argparse.Namespace, *, work: Path, lessons: Lessons | None
) -> tuple[list[ResultRow], list[dict[str, Any]]]:
    """All attempts of a local model, and how its adapters were trained; further adapters act in their own arms alone."""
    adapted = [ADAPTED_ARMS] if options.adapter or options.train else []
    names = options.arms or ",".join([MODEL_ARMS, *adapted])
    rows: list[ResultRow] = []
    trained: list[dict[str, Any]] = []
    for seed in range(options.seeds):
        own, folder = "", options.adapter
        if options.train and lessons:
            folder = work / f"adapter-{options.train}-{seed}"
            trained.append(lessons.taught(model.base, folder=folder, recipe=recipe_of(options.train, seed=seed)))
        if folder:
            own = f"{options.train} {seed}" if options.train else "own"
            model.add(own, folder)
        actor = ModelActor(
            model,
            name=Path(options.base).name,
            adapter=own,
            max_calls=MODEL_CALLS,
            max_context=int(getattr(model.base.model.config, "max_position_embeddings", 0)),
        )
        place = work / (f"arms-{seed}" if seed else "arms")
        rows += [replace(row, seed=seed) for row in attempted(suite, names, actor, memory, folder=place)]
        names = ",".join(arm.name for arm in named_arms(names) if arm.adapter)
        if not names:
            break
    return rows, trained


def told(comparison: Comparison, rows: Sequence[ResultRow]) -> dict[str, Any]:
    """The comparison as a document."""
    return {
        "suite": comparison.suite,
        "reference": comparison.reference,
        "exercises": comparison.exercises,
        "groups": comparison.groups,
        "arms": {figures.arm: _arm(figures, rows) for figures in comparison.arms},
        "lost_against_skills": lost(rows),
    }


def _arm(figures: Any, rows: Sequence[ResultRow]) -> dict[str, Any]:
    own = [row for row in rows if row.arm == figures.arm]
    by_seed = {seed: [row.score.success for row in own if row.seed == seed] for seed in figures.seeds}
    return {
        "attempts": figures.attempts,
        "success_by_seed": {seed: round(sum(solved) / len(solved), 4) for seed, solved in by_seed.items()},
        "abstained": sum(row.score.abstained for row in own),
        "broken_off": sum(bool(row.note) for row in own),
        "output_tokens": round(sum(row.output_tokens for row in own) / len(own), 1),
        "seconds": round(sum(row.seconds for row in own), 1),
        "means": {
            name: {"value": round(mean.value, 4), "low": round(mean.low, 4), "high": round(mean.high, 4), "n": mean.n}
            for name, mean in figures.means.items()
        },
        "differences": {
            name: {
                "value": round(each.value, 4),
                "low": round(each.low, 4),
                "high": round(each.high, 4),
                "p_holm": round(each.p_holm, 5),
                "detectable": round(each.detectable, 4),
            }
            for name, each in figures.differences.items()
        },
        "regressions": [change.exercise for change in figures.regressions],
    }


def lost(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """By arm: the tasks that skills solve and it does not, and for skills those that any other arm but the oracle solves."""
    solved: dict[str, set[str]] = {}
    for row in rows:
        solved.setdefault(row.arm, set()).update([row.exercise] if row.score.success else [])
    if "skills" not in solved:
        return {}
    others: set[str] = set().union(*(keys for arm, keys in solved.items() if arm not in ("skills", "oracle")))
    found = {arm: sorted(solved["skills"] - keys) for arm, keys in solved.items() if arm != "skills"}
    return {**found, "skills": sorted(others - solved["skills"])}


def table(comparison: Comparison) -> str:
    """The same as Markdown."""
    shown = [METRICS[name] for name in comparison.metrics]
    lines = [
        "| arm | " + " | ".join(metric.label for metric in shown) + f" | success less {comparison.reference} |",
        "| --- |" + " --- |" * (len(shown) + 1),
    ]
    for figures in comparison.arms:
        cells = [
            f"{mean.value:.3g} [{mean.low:.3g}, {mean.high:.3g}]" if (mean := figures.means.get(metric.name)) else "–"
            for metric in shown
        ]
        gap = figures.differences.get("success")
        said = f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}], p {gap.p_holm:.2g}" if gap else "–"
        lines.append(f"| {figures.arm} | " + " | ".join(cells) + f" | {said} |")
    return "\n".join(lines)


def about(options: argparse.Namespace) -> dict[str, Any]:
    """What was measured, where."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    model = Path(options.base).name or options.server
    agent = f"{model}, {MODEL_CALLS} calls" if model else f"reference agent, {MAX_CALLS} calls"
    return {"commit": commit.stdout.strip(), "python": platform.python_version(), "agent": agent}


def said_since(begun: float) -> Callable[[int, int], None]:
    """One line for each batch, with the time since the beginning."""
    return lambda done, total: print(f"{done} of {total} attempts, {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
