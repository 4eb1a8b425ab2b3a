"""How many arguments of reference calls a learned skill binds to the right place, against two simple ways of guessing.

Retail tasks with reference write calls, in six folds. For each fold the other five give the successful runs to learn from;
the held-out task gives the reference call and one real run (a successful one where there is one), whose messages and answers
before that call are the state. An argument is bound right if its reference value is among the values at the bound place (all
elements of a list), or is the literal that the skill says; it is `exact` if resolving gives just that value. Where the key of
one parameter names another, that one has its reference value (`chained`: what was resolved itself, or nothing).
Baselines: the key of the same name in the most recent answer that has it, and anywhere in the last answer. `offered` is how
many values a place holds on average: a place that holds everything is always right.

    python bench/binding.py --data DATA/retail [--through memory|mining] [--out bench/results/binding.json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tacit
from tacit.domain.skill import Parameter, SkillContent
from tacit.domain.trajectory import Role, Trajectory
from tacit.learn.mining.general_calls import Occurrence, generalise_call
from tacit.text.value_lookup import TASK, candidates, leaves_of, resolve, stands_in, value_text

ROOT = Path(__file__).resolve().parents[1]
SEED = 20261115
FOLDS = 6
RESAMPLES = 2000
READING = ("get_", "find_", "list_", "search_", "calculate", "think", "transfer")
MEASURES = (
    "right place",
    "right place, chained",
    "exact",
    "exact, chained",
    "name in recent answer",
    "name in recent answer, exact",
    "anywhere in last answer",
)
OFFERED = ("offered", "offered by name", "offered by last answer")


@dataclass(frozen=True, slots=True)
class Run:
    """One real run of a task."""

    task: int
    success: bool
    trajectory: Trajectory


@dataclass(frozen=True, slots=True)
class Call:
    """A learned call: its arguments with ``{name}``, and the parameters they name."""

    arguments: Mapping[str, Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """What is known before a call."""

    said: str
    answers: Mapping[str, Sequence[str]]
    order: Sequence[str]
    """All answers, oldest first."""


Learner = Callable[[Sequence[Run], Sequence[Any]], Mapping[str, Sequence[Call]]]


# --- learning -------------------------------------------------------------------------------------------------------


def through_mining(runs: Sequence[Run], _: Sequence[Any]) -> dict[str, list[Call]]:
    """Bind each write tool straight from the successful runs."""
    found: dict[str, list[Occurrence]] = defaultdict(list)
    for run in runs:
        if run.success:
            for step in run.trajectory.actions:
                if is_write(step.tool) and not step.failed and not step.observation.startswith("Error"):
                    found[step.tool].append(Occurrence(run.trajectory, step))
    learned: dict[str, list[Call]] = {}
    for tool, occurrences in sorted(found.items()):
        bound = generalise_call(occurrences)
        learned[tool] = [Call(bound.arguments, {one.name: one for one in bound.parameters})]
    return learned


def through_memory(_: Sequence[Run], documents: Sequence[Any]) -> dict[str, list[Call]]:
    """Learn through the public API and look at the skills that came of it."""
    with tacit.open(":memory:") as memory:
        memory.capture(tacit.read(list(documents)), trust_outcomes=True)
        memory.learn()
        for stored in memory.reviews.waiting():
            ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
            memory.review(stored.version.id, "approve", by="bench", content_hash=stored.version.hash, ticked=ticked)
        known = sorted(
            (stored.version for stored in memory.skills()),
            key=lambda version: (-len(version.provenance.trajectory_ids), version.name, version.id),
        )
        return calls_of(version.content for version in known)


def calls_of(contents: Iterable[SkillContent]) -> dict[str, list[Call]]:
    """The write calls of skills, tool by tool; the first of each tool is the one that is scored."""
    found: dict[str, list[Call]] = defaultdict(list)
    for content in contents:
        parameters = {parameter.name: parameter for parameter in content.parameters}
        for step in content.steps:
            if step.tool and is_write(step.tool):
                found[step.tool].append(Call(step.arguments, parameters))
    return dict(found)


# --- scoring --------------------------------------------------------------------------------------------------------


def scores(call: Call | None, name: str, *, gold: Mapping[str, Any], state: State) -> dict[str, float]:
    """One argument of a reference call under every measure."""
    wanted = listed(gold[name])
    by_name, last = by_key(state, name), state.order[-1] if state.order else ""
    found = {
        "name in recent answer": float(bool(by_name) and set(map(value_text, wanted)) <= by_name),
        "name in recent answer, exact": float(by_name == set(map(value_text, wanted))),
        "anywhere in last answer": float(all(stands_in(value, last) for value in wanted)),
        "offered by name": float(len(by_name)),
        "offered by last answer": float(len({value_text(leaf.value) for leaf in leaves_of(last)})),
    }
    template = call.arguments.get(name) if call else None
    parameter = call.parameters.get(named(template)) if call else None
    if call is None or parameter is None:
        right = float(template is not None and listed(template) == wanted)
        own = dict.fromkeys(("right place", "right place, chained", "exact", "exact, chained"), right)
        return {**own, "offered": float(template is not None), **found}
    known = {one: gold[key] for key, value in call.arguments.items() if key in gold and (one := named(value))}
    chained: dict[str, Any] = {}
    for other in call.parameters.values():
        chained[other.name] = resolve(other, state.said, answers=state.answers, known=chained)
    value = resolve(parameter, state.said, answers=state.answers, known=known)
    return {
        "right place": float(holds(parameter, wanted, state=state, known=known)),
        "right place, chained": float(holds(parameter, wanted, state=state, known=chained)),
        "exact": float(same_values(value, wanted)),
        "exact, chained": float(same_values(chained[parameter.name], wanted)),
        "offered": float(len(candidates(parameter, state.said, answers=state.answers, known=known))),
        **found,
    }


def holds(parameter: Parameter, wanted: Sequence[Any], *, state: State, known: Mapping[str, Any]) -> bool:
    """Whether all the values stand at a parameter's place; free words have no shape, so the task's text is the place."""
    if parameter.reading == TASK and parameter.key == "<text>":
        return all(stands_in(value, state.said) for value in wanted)
    offered = candidates(parameter, state.said, answers=state.answers, known=known)
    return {value_text(value) for value in wanted} <= {value_text(value) for value in offered}


def by_key(state: State, name: str) -> set[str]:
    """The values under a name in the most recent answer that has it."""
    for answer in reversed(state.order):
        path = re.compile(rf"(?:^|.*\.){re.escape(name)}(?:\[\])?")
        values = {value_text(leaf.value) for leaf in leaves_of(answer) if path.fullmatch(leaf.path)}
        if values:
            return values
    return set()


def named(template: Any) -> str:
    match = re.fullmatch(r"\{(\w+)\}", template) if isinstance(template, str) else None
    return match[1] if match else ""


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def same_values(value: Any, wanted: Sequence[Any]) -> bool:
    return value is not None and {value_text(one) for one in listed(value)} == {value_text(one) for one in wanted}


# --- data -----------------------------------------------------------------------------------------------------------


def is_write(tool: str) -> bool:
    return not tool.startswith(READING)


def load(data: Path) -> tuple[list[Run], list[Any], list[Any]]:
    """The runs, their documents in the same order, and the tasks with reference calls."""
    lines = gzip.decompress((data / "trajectories.jsonl.gz").read_bytes()).splitlines()
    documents = [json.loads(line) for line in lines]
    runs = []
    for document in documents:
        (trajectory,) = tacit.read([document])
        runs.append(Run(document["extra"]["task_id"], document["extra"]["result"] == "success", trajectory))
    gold = [json.loads(line) for line in (data / "test_visible_gold.jsonl").read_text().splitlines()]
    return runs, documents, gold


def state_before(tool: str, gold: Mapping[str, Any], runs: Sequence[Run]) -> State:
    """What one real run knew before this call: the call itself where it was made, else one of the same tool, else all."""

    def fit(run: Run) -> tuple[bool, int, int]:
        steps = [step for step in run.trajectory.actions if step.tool == tool]
        same = [step.index for step in steps if step.arguments == gold]
        near = [step.index for step in steps if step.arguments.get("order_id") == gold.get("order_id")]
        order = 2 if same else 1 if near else 0
        return run.success, order, (same or near or [len(run.trajectory.steps)])[0]

    run = max(runs, key=lambda one: fit(one)[:2])
    end = fit(run)[2]
    before = [step for step in run.trajectory.steps if step.index < end]
    said = [step.text for step in before if step.role is Role.USER]
    answers: dict[str, list[str]] = defaultdict(list)
    for step in before:
        if step.is_action and step.observation:
            answers[step.tool].append(step.observation)
    order = [step.observation for step in before if step.is_action and step.observation]
    return State("\n".join(said), answers, order)


def measure(data: Path, learn: Learner) -> Iterator[tuple[int, str, str, dict[str, float]]]:
    """Task, tool, argument and scores of every reference write argument."""
    runs, documents, gold = load(data)
    for fold in range(FOLDS):
        kept = [index for index, run in enumerate(runs) if run.task % FOLDS != fold]
        learned = learn([runs[index] for index in kept], [documents[index] for index in kept])
        for task in gold:
            if task["task_id"] % FOLDS != fold:
                continue
            own = [run for run in runs if run.task == task["task_id"]]
            for action in task["actions"]:
                if is_write(action["name"]):
                    state = state_before(action["name"], action["arguments"], own)
                    for name in action["arguments"]:
                        call = next(iter(learned.get(action["name"], ())), None)
                        scored = scores(call, name, gold=action["arguments"], state=state)
                        yield task["task_id"], action["name"], name, scored


def interval(by_task: Mapping[int, Sequence[float]]) -> list[float]:
    """A 95 % bootstrap interval of the mean over arguments, resampling tasks."""
    chance, tasks = random.Random(SEED), sorted(by_task)
    means = []
    for _ in range(RESAMPLES):
        values = [value for task in chance.choices(tasks, k=len(tasks)) for value in by_task[task]]
        means.append(sum(values) / len(values))
    means.sort()
    return [round(means[int(RESAMPLES * 0.025)], 3), round(means[int(RESAMPLES * 0.975)], 3)]


def summary(rows: Sequence[tuple[int, str, str, dict[str, float]]]) -> dict[str, Any]:
    """Shares with intervals, differences to the baselines, and a table by argument."""

    def grouped(value: Callable[[dict[str, float]], float]) -> dict[int, list[float]]:
        found: dict[int, list[float]] = defaultdict(list)
        for task, _, _, scored in rows:
            found[task].append(value(scored))
        return found

    def told(value: Callable[[dict[str, float]], float]) -> dict[str, Any]:
        groups = grouped(value)
        every = [one for values in groups.values() for one in values]
        return {"share": round(sum(every) / len(every), 3), "interval": interval(groups)}

    table: dict[str, list[dict[str, float]]] = defaultdict(list)
    for _, tool, name, scored in rows:
        table[f"{tool}.{name}"].append(scored)
    return {
        "arguments": len(rows),
        "tasks": len({task for task, *_ in rows}),
        **{name: told(lambda scored, name=name: scored[name]) for name in MEASURES},  # type: ignore[misc]
        "values offered": {
            name: round(sum(scored[name] for *_, scored in rows) / len(rows), 1) for name in OFFERED
        },
        "right place less name in recent answer": told(lambda one: one["right place"] - one["name in recent answer"]),
        "right place less anywhere in last answer": told(lambda one: one["right place"] - one["anywhere in last answer"]),
        "by argument": {
            key: {"n": len(values)} | {name: round(sum(one[name] for one in values) / len(values), 3) for name in MEASURES}
            for key, values in sorted(table.items())
        },
    }  # fmt: skip


def main() -> None:
    """Measure, print and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retail runs and reference tasks")
    parser.add_argument("--through", choices=("memory", "mining"), default="memory")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/binding.json")
    given = parser.parse_args()
    rows = list(measure(given.data, through_memory if given.through == "memory" else through_mining))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    result = {
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "seed": SEED,
        "through": given.through,
        "retail": summary(rows),
    }
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
