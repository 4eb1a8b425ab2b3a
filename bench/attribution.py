"""How often attribution tells rightly whether a run followed a skill, on cases made of real runs, beside simple ways to tell.

    PYTHONPATH=src python bench/attribution.py [--data ../shared/data] [--half design|unseen|both] [--out bench/results/attribution.json]

What is true of a case comes from the data and from how the case was made, never from the aligner: a write is what the data's
own description calls one (retail by the beginning of a tool's name, telecom by `read_only` in `tools.json`). Every class has one
right answer to "was it followed?", given in brackets:

- `its own writes` [yes]: the skill is the writes of the run, each argument laid down or left open by lot.
- `its own writes and reads` [yes]: the same with what the run looked up.
- `learned from it` [yes]: what the product itself distils from the run alone.
- `a sibling's` [yes]: the skill is the writes of another agent's run of the same task that made the very same writes.
- `parameters renamed` [yes], `unrelated reads added` [yes]: its own writes, with other names, or with other runs' reads between.
- `reference, succeeded` [yes]: the reference of the task, all values laid down; the run was verified to have reached its effect.
- `k writes removed` [no]: its own writes and reads, some (not all) of the writes taken out of the run.
- `all writes removed` [no]; `ended with a hand-over` [no]: the same with all of them gone, or a hand-over in place of the last.
- `other tools` [no]: writes and reads of a run of another task that shares no write tool.
- `other tools, reads added` [no]: the same, with the reads of the skill's own run put between.
- `same tools, other values` [no]: writes of a run of another task with all values laid down and only tools of this run.
- `one value changed` [no]: its own writes, one laid-down value replaced by another that the data has for that argument.
- `order swapped` [no]: two neighbouring writes with different tools change places in the run; in retail two of one order, whose
  state the first changes.
- `order swapped, other order` [yes]: retail keeps its state by order and user, so that writes to two of them may change places.
- `reference, failed` [no]: the reference of the task with all values laid down, and a failed run of it whose label says that
  writes are missing or wrong.

Runs of which no call has any argument (one agent of retail was recorded so) are a class of their own: `nothing recorded`, where
the right answer is none at all.

Baselines answer in the same run: `jaccard` says yes where the sets of tools of skill and run overlap by half, `all tools` where
every tool of the skill occurs. Tasks are halved by number: one half was looked at while the rules were made, the other once.
Intervals are bootstrapped over tasks.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from tacit.domain.evidence import Assessment, Following, Grade, Outcome
from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.evidence.attribution import align
from tacit.ingest.atif import from_documents
from tacit.learn.single_attempt import draft_of

SEED = 0
RESAMPLES = 2_000
READING = ("get_", "find_", "list_", "search_", "calculate", "think", "transfer")
HAND_OVER = "transfer_to_human_agents"
MISSED = ("no write at all", "missing write", "wrong write tool", "right writes, wrong arguments")
SIDES = {True: "followed", False: "not followed", None: "cannot be told"}
VERIFIED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier="the data", reason="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt, and beside it what only the making of cases sees."""

    trajectory: Trajectory
    task: int
    agent: str
    succeeded: bool
    kind: str = ""
    """What its label says, where it failed."""
    reads: frozenset[str] = frozenset()

    def is_write(self, step: Step) -> bool:
        return step.tool not in self.reads

    @property
    def writes(self) -> list[Step]:
        return [step for step in self.trajectory.actions if self.is_write(step)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A skill and a run with the right answer."""

    name: str
    skill: SkillContent
    run: Trajectory
    followed: bool | None
    """Nothing: it cannot be told."""
    task: int


# --- data -----------------------------------------------------------------------------------------------------------


def read(document: dict[str, Any]) -> Trajectory:
    (trajectory,) = from_documents({key: value for key, value in document.items() if key != "extra"})
    return trajectory


def retail(folder: Path) -> tuple[list[Run], dict[int, list[SkillStep]]]:
    runs: list[Run] = []
    with gzip.open(folder / "trajectories.jsonl.gz", "rt") as lines:
        for document in map(json.loads, lines):
            extra, trajectory = document["extra"], read(document)
            tools = {step.tool for step in trajectory.actions}
            reads = frozenset(tool for tool in tools if tool.startswith(READING))
            agent = f"{extra['run']} {extra['trial']}"
            kind = (extra.get("label") or {}).get("kind", "")
            won = extra["result"] == "success"
            runs.append(
                Run(trajectory=trajectory, task=extra["task_id"], agent=agent, succeeded=won, kind=kind, reads=reads)
            )
    return runs, references(folder / "test_visible_gold.jsonl")


def references(path: Path) -> dict[int, list[SkillStep]]:
    found: dict[int, list[SkillStep]] = {}
    for line in path.read_text("utf-8").splitlines():
        told = json.loads(line)
        actions = [action for action in told["actions"] if not action["name"].startswith(READING)]
        found[told["task_id"]] = [
            step_of(action["name"], action.get("arguments", action.get("kwargs"))) for action in actions
        ]
    return {task: steps for task, steps in found.items() if steps}


def telecom(folder: Path) -> tuple[list[Run], dict[int, list[SkillStep]]]:
    documents = [json.loads(line) for line in (folder / "episodes.jsonl").read_text("utf-8").splitlines()]
    groups = {name: number for number, name in enumerate(sorted({d["extra"]["group"] for d in documents}))}
    labels = json.loads((folder / "failure_labels.json").read_text("utf-8"))
    told = json.loads((folder / "tools.json").read_text("utf-8"))
    reads = frozenset(tool["name"] for tool in told if tool["read_only"])
    runs = [
        Run(
            trajectory=read(document),
            task=groups[document["extra"]["group"]],
            agent=document["trajectory_id"],
            succeeded=document["extra"]["result"] == "success",
            kind="missing write" if labels.get(document["trajectory_id"], {}).get("missing") else "",
            reads=reads,
        )
        for document in documents
    ]
    gold = {run.task: [step_of(step.tool, step.arguments) for step in run.writes] for run in runs if run.succeeded}
    return runs, {task: steps for task, steps in gold.items() if steps}


def step_of(tool: str, arguments: Mapping[str, Any] | None) -> SkillStep:
    return SkillStep(text=tool.replace("_", " "), tool=tool, arguments=dict(arguments or {}))


# --- making cases ---------------------------------------------------------------------------------------------------


class Maker:
    """Makes the cases of one domain from the runs of one half of its tasks."""

    def __init__(self, runs: Sequence[Run], gold: Mapping[int, list[SkillStep]], *, rng: random.Random) -> None:
        seen = [run for run in runs if any(step.arguments for step in run.trajectory.actions)]
        self.blind = [run for run in runs if run not in seen and run.writes]
        self.won = [run for run in seen if run.succeeded and run.writes]
        self.lost = [run for run in seen if not run.succeeded]
        self.gold, self.rng = gold, rng
        self.values: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for run in runs:
            for step in run.writes:
                for key, value in step.arguments.items():
                    if value not in self.values[step.tool, key]:
                        self.values[step.tool, key].append(value)

    def cases(self) -> Iterator[Case]:
        for run in self.won:
            yield from self._followed(run)
            yield from self._not_followed(run)
        for run in self.blind:
            skill = skill_of(self.gold.get(run.task, ()))
            if {step.tool for step in skill.steps} & {step.tool for step in run.writes}:
                yield Case(name="nothing recorded", skill=skill, run=run.trajectory, followed=None, task=run.task)
        for run in self.lost:
            if run.kind in MISSED and run.task in self.gold:
                skill = skill_of(self.gold[run.task])
                yield Case(name="reference, failed", skill=skill, run=run.trajectory, followed=False, task=run.task)

    def _followed(self, run: Run) -> Iterator[Case]:
        def case(name: str, skill: SkillContent, done: Trajectory = run.trajectory) -> Case:
            return Case(name=name, skill=skill, run=done, followed=True, task=run.task)

        own = skill_of(self._opened(run.writes))
        yield case("its own writes", own)
        yield case("its own writes and reads", skill_of(self._opened(run.trajectory.actions)))
        yield case("parameters renamed", renamed(own))
        padded = spread(run.trajectory, self._unrelated_reads(run), self.rng)
        yield case("unrelated reads added", own, padded)
        drafted = draft_of(run.trajectory, VERIFIED)
        if hasattr(drafted, "content"):
            yield case("learned from it", drafted.content)
        if run.task in self.gold:
            yield case("reference, succeeded", skill_of(self.gold[run.task]))
        made = [(step.tool, step.arguments) for step in run.writes]
        siblings = [r for r in self.won if r.task == run.task and r.agent != run.agent]
        alike = [r for r in siblings if [(step.tool, step.arguments) for step in r.writes] == made]
        if alike:
            other = self.rng.choice(alike)
            yield case("a sibling's", skill_of(self._opened(other.trajectory.actions)))

    def _not_followed(self, run: Run) -> Iterator[Case]:
        def case(name: str, skill: SkillContent, done: Trajectory = run.trajectory) -> Case:
            return Case(name=name, skill=skill, run=done, followed=False, task=run.task)

        writes = run.writes
        whole = skill_of(self._opened(run.trajectory.actions))
        if len(writes) > 1:
            gone = self.rng.sample([step.index for step in writes], self.rng.randint(1, len(writes) - 1))
            yield case("k writes removed", whole, without(run.trajectory, gone))
        yield case("all writes removed", whole, without(run.trajectory, [step.index for step in writes]))
        if writes[-1].tool != HAND_OVER:
            yield case("ended with a hand-over", whole, handed_over(run.trajectory, writes[-1].index))
        yield from self._of_others(run, case)
        if (changed := self._one_changed(run)) is not None:
            yield case("one value changed", changed)
        for same in (True, False):
            if (swapped := swapped_in(run, same=same)) is not None:
                skill, name = (
                    skill_of(self._opened(run.writes)),
                    "order swapped" if same else "order swapped, other order",
                )
                yield replace(case(name, skill, swapped), followed=not same)

    def _of_others(self, run: Run, case: Callable[..., Case]) -> Iterator[Case]:
        tools = {step.tool for step in run.writes}
        others = [other for other in self.won if other.task != run.task]
        apart = [other for other in others if tools.isdisjoint({step.tool for step in other.writes})]
        if apart:
            other = self.rng.choice(apart)
            skill = skill_of(self._opened(other.trajectory.actions))
            yield case("other tools", skill)
            looks = [step for step in other.trajectory.actions if not other.is_write(step)]
            yield case("other tools, reads added", skill, spread(run.trajectory, looks, self.rng))
        made = [(step.tool, step.arguments) for step in run.writes]
        near = [
            other
            for other in others
            if {step.tool for step in other.writes} <= tools
            and all(step.arguments for step in other.writes)  # a call without arguments lays nothing down
            and not all((step.tool, step.arguments) in made for step in other.writes)
        ]
        if near:
            yield case(
                "same tools, other values",
                skill_of([step_of(s.tool, s.arguments) for s in self.rng.choice(near).writes]),
            )

    def _one_changed(self, run: Run) -> SkillContent | None:
        """The run's own writes with one laid-down value that it does not have, where nothing else in it says the same."""
        steps = [step_of(step.tool, step.arguments) for step in run.writes]
        places = [
            (number, key, other)
            for number, step in enumerate(steps)
            for key, value in step.arguments.items()
            for other in self.values[step.tool, key]
            if isinstance(value, str | int | float) and other != value
            and not any(s.tool == step.tool and s.arguments.get(key) == other for s in run.writes)
        ]  # fmt: skip
        if not places:
            return None
        number, key, other = self.rng.choice(places)
        opened = self._opened(run.writes)
        opened[number] = replace(opened[number], arguments={**opened[number].arguments, key: other})
        return skill_of(opened)

    def _opened(self, steps: Sequence[Step]) -> list[SkillStep]:
        """Steps of a skill in which each value is laid down or left open by lot."""
        return [
            step_of(
                step.tool,
                {key: f"{{{key}}}" if self.rng.random() < 0.5 else value for key, value in step.arguments.items()},
            )
            for step in steps
        ]

    def _unrelated_reads(self, run: Run) -> list[Step]:
        other = self.rng.choice([each for each in self.won if each.task != run.task])
        return [step for step in other.trajectory.actions if not other.is_write(step)]


def skill_of(steps: Sequence[SkillStep]) -> SkillContent:
    return SkillContent(kind=Kind.PROCEDURE, name="a-skill", description="as the case says", steps=tuple(steps))


def renamed(skill: SkillContent) -> SkillContent:
    def other(value: Any, number: int) -> Any:
        return f"{{value_{number}}}" if isinstance(value, str) and value.startswith("{") else value

    steps = [
        replace(
            step, arguments={key: other(value, number) for number, (key, value) in enumerate(step.arguments.items())}
        )
        for step in skill.steps
    ]
    return replace(skill, steps=tuple(steps))


def numbered(trajectory: Trajectory, steps: Sequence[Step]) -> Trajectory:
    return replace(trajectory, steps=tuple(replace(step, index=at) for at, step in enumerate(steps)), id="")


def without(trajectory: Trajectory, gone: Sequence[int]) -> Trajectory:
    return numbered(trajectory, [step for step in trajectory.steps if step.index not in gone])


def handed_over(trajectory: Trajectory, place: int) -> Trajectory:
    end = Step(index=0, role=Role.AGENT, tool=HAND_OVER, arguments={"summary": "cannot help"}, result=StepResult.OK)
    return numbered(trajectory, [end if step.index == place else step for step in trajectory.steps])


def spread(trajectory: Trajectory, reads: Sequence[Step], rng: random.Random) -> Trajectory:
    steps = list(trajectory.steps)
    for step in reads:
        steps.insert(rng.randint(1, len(steps)), step)
    return numbered(trajectory, steps)


def swapped_in(run: Run, *, same: bool) -> Trajectory | None:
    """The run with two neighbouring writes in each other's place, of one order or of two; nothing where a write recurs.

    Where nothing has an order's number, the two count as of one.
    """
    writes = run.writes
    made = [json.dumps([step.tool, step.arguments], sort_keys=True) for step in writes]

    def of_one(one: Step, other: Step) -> bool:
        return bool(one.arguments.get("order_id") == other.arguments.get("order_id"))

    pairs = [
        (one, other)
        for one, other in pairwise(writes)
        if of_one(one, other) == same and (one.tool != other.tool or not same)
    ]
    if not pairs or len(set(made)) < len(made):
        return None
    first, second = pairs[0]
    places = {first.index: second, second.index: first}
    return numbered(run.trajectory, [places.get(step.index, step) for step in run.trajectory.steps])


# --- telling --------------------------------------------------------------------------------------------------------


def by_jaccard(case: Case) -> bool:
    ours, theirs = {step.tool for step in case.skill.steps}, {step.tool for step in case.run.actions}
    return len(ours & theirs) / len(ours | theirs) >= 0.5


def by_all_tools(case: Case) -> bool:
    return {step.tool for step in case.skill.steps} <= {step.tool for step in case.run.actions}


def evaluate(cases: Sequence[Case]) -> dict[str, Any]:
    told = [aligned.following if (aligned := align(case.run, case.skill)) else None for case in cases]
    ways = {
        "tacit": [following is Following.FOLLOWED if following else None for following in told],
        "jaccard": [by_jaccard(case) for case in cases],
        "all tools": [by_all_tools(case) for case in cases],
    }
    right = {
        name: [answer == case.followed for answer, case in zip(said, cases, strict=True)] for name, said in ways.items()
    }
    report: dict[str, Any] = {}
    for name in ["all", "followed", "not followed", *dict.fromkeys(case.name for case in cases)]:
        among = [
            place for place, case in enumerate(cases) if name in ("all", case.name) or name == SIDES[case.followed]
        ]
        if not among:
            continue
        row: dict[str, Any] = {"cases": len(among)}
        for way, answers in right.items():
            row[way] = measured([cases[place].task for place in among], [answers[place] for place in among])
        row["said"] = dict(sorted(Counter(str(told[place]) for place in among).items()))
        report[name] = row
    return report


def measured(tasks: Sequence[int], values: Sequence[bool]) -> dict[str, Any]:
    groups: dict[int, list[bool]] = defaultdict(list)
    for task, value in zip(tasks, values, strict=True):
        groups[task].append(value)
    sums, rng = [(sum(group), len(group)) for group in groups.values()], random.Random(SEED)
    drawn = [rng.choices(sums, k=len(sums)) for _ in range(RESAMPLES)]
    means = sorted(sum(total for total, _ in each) / sum(count for _, count in each) for each in drawn)
    interval = [round(means[int(RESAMPLES * share)], 3) for share in (0.025, 0.975)]
    return {"right": round(sum(values) / len(values), 3), "interval": interval}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--half", choices=("design", "unseen", "both"), default="both")
    parser.add_argument("--show", default="", help="print wrongly told cases of this class")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    report: dict[str, Any] = {"commit": commit(), "python": platform.python_version(), "seed": SEED}
    for domain, (runs, gold) in {
        "retail": retail(options.data / "retail"), "telecom": telecom(options.data / "telecom")
    }.items():  # fmt: skip
        for number, half in enumerate(("design", "unseen")):
            if options.half in (half, "both"):
                chosen = [run for run in runs if run.task % 2 == number]
                cases = list(Maker(chosen, gold, rng=random.Random(SEED)).cases())
                report.setdefault(domain, {})[half] = evaluate(cases)
                show(cases, options.show)
    for domain in ("retail", "telecom"):
        for half, rows in report[domain].items():
            print(f"\n{domain}, {half}")
            for name, row in rows.items():
                shares = "  ".join(
                    f"{way} {row[way]['right']:.3f} {row[way]['interval']}" for way in ("tacit", "jaccard", "all tools")
                )
                print(f"  {name:28s} {row['cases']:5d}  {shares}  {row['said']}")
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def show(cases: Sequence[Case], name: str, most: int = 8) -> None:
    for case in [case for case in cases if case.name == name]:
        aligned = align(case.run, case.skill)
        if (aligned.following is Following.FOLLOWED if aligned else None) != case.followed and most > 0:
            most -= 1
            print("\nSKILL", *((step.tool, dict(step.arguments)) for step in case.skill.steps), sep="\n   ")
            print("RUN", *((step.index, step.tool, dict(step.arguments)) for step in case.run.actions), sep="\n   ")
            print(aligned)


def commit() -> str:
    command = ["git", "-C", str(Path(__file__).resolve().parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
