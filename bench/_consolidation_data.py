"""What the consolidation experiment trains on and asks, made once on any machine: datasets, prompts and a plan of work.

Everything that a memory has to say is said here, so that the machine with the accelerator needs neither a store nor the
test answers: it gets conversations to train on and conversations to answer.

- Training sets are nested: for each seed one order of the training tasks, of which the first N are taken. Skills are recalled
  from a memory that learned from the very same N tasks: adapter and retrieval have had the same experience.
- Half of the training examples carry an aid, as an agent with skills would have it. That aid is recalled from a memory of the
  other half of the N tasks, so that no task is shown a skill which it helped to make.
- Whatever the gate says against a dataset is noted and overridden, since the question is what happens then.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit.consolidation.conversation import asked
from tacit.consolidation.dataset import draft
from tacit.consolidation.examples import Attempt, Example
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.tool import Tool
from tacit.domain.trajectory import Trajectory
from tacit.evaluation.aids import Aids
from tacit.evaluation.suite import AidKind, Exercise
from tacit.evaluation.suites.bfcl import BfclSuite
from tacit.evaluation.suites.reference import VERIFIED_BY
from tacit.evaluation.suites.rehearsal import rehearsed
from tacit.evaluation.suites.retail import RetailSuite
from tacit.loop import Loop

SIZES = (12, 31, 60, 120, 250, 500)
SEEDS = (0, 1, 2)
HELD_OUT = 0.1
"""Share of a training set that is kept to stop by."""
AIDED = 0.5
"""Share of examples that carry skills, as an agent with a memory would have them."""
TOKENS = 96
"""The longest answer: enough for a whole call."""
PROMPTS, PLAN = "prompts.jsonl.gz", "plan.json"


class Work:
    """The folder that is filled: prompts by set, datasets by name, and jobs in the order in which they matter."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.jobs: list[dict[str, Any]] = []
        self._prompts: list[dict[str, Any]] = []
        self._sets: set[str] = set()
        self._gate: dict[str, dict[str, Any]] = {}

    def put(self, name: str, exercises: Sequence[Exercise], aid: Callable[[Exercise], str]) -> str:
        """A set of prompts; returns its name."""
        if name not in self._sets:
            self._sets.add(name)
            for exercise in exercises:
                messages = asked(exercise.task, exercise.tools, aid=aid(exercise), turns=exercise.turns)
                said = [[message.role, message.content] for message in messages]
                names = [tool.name for tool in exercise.tools]
                self._prompts.append({"set": name, "exercise": exercise.key, "messages": said, "tools": names})
        return name

    def draft(
        self,
        name: str,
        attempts: Sequence[Attempt],
        *,
        seed: int,
        replay: Sequence[Example] = (),
        aid: Callable[[Attempt], str] | None = None,
    ) -> str:
        """A dataset, and what the gate says against it; returns its name."""
        dataset, against = draft(attempts, held_out=HELD_OUT, seed=seed, replay=replay, aid=aid)
        dataset.write(self.folder / "datasets" / name)
        self._gate[name] = {
            "tasks": dataset.manifest.tasks,
            "examples": len(dataset.train),
            "replayed": dataset.manifest.replayed,
            "held_out": len(dataset.held_out),
            "dropped": dict(dataset.manifest.dropped),
            "against": {each.rule: each.reason for each in against},
        }
        return name

    def write(self) -> None:
        """Write prompts and plan."""
        with gzip.open(self.folder / PROMPTS, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(prompt, ensure_ascii=False) + "\n" for prompt in self._prompts)
        told = {"tokens": TOKENS, "gate": self._gate, "jobs": self.jobs}
        (self.folder / PLAN).write_text(json.dumps(told, indent=1) + "\n", "utf-8")


def prepare(retail_data: Path, bfcl_data: Path, folder: Path) -> None:
    """Fill the folder."""
    retail, bfcl, work = RetailSuite(retail_data), BfclSuite(bfcl_data), Work(folder)
    tasks = retail.training_trajectories()
    say(f"{len(tasks)} training tasks, {len(retail.exercises())} questions")
    whole = rehearsed(tasks)
    _base(work, retail, bfcl, whole, policy=_policy_text(retail_data))
    bfcl_sets = {seed: _bfcl_datasets(work, bfcl, retail, seed=seed) for seed in SEEDS}
    for seed in SEEDS:
        for size in sorted(SIZES, reverse=True):
            chosen = _first(tasks, size, seed)
            memory = whole if size == len(tasks) else rehearsed(chosen)
            work.jobs.append(_retail_job(work, retail, chosen, memory, seed=seed))
            say(f"seed {seed}: {size} tasks")
        name = f"retail-{max(SIZES)}-{seed}"
        work.jobs += [
            {
                "train": after,
                "dataset": after,
                "from": name,
                "seed": seed,
                "ask": ["retail/none", "bfcl/none"],
            }
            for after in bfcl_sets[seed]
        ]
    work.jobs.sort(key=_matters)
    work.write()


def _base(work: Work, retail: RetailSuite, bfcl: BfclSuite, memory: Loop, *, policy: str) -> None:
    """What the bare model is asked, under every arm that needs no adapter."""
    aids = Aids(memory, irrelevant=rehearsed(bfcl.training_trajectories()))
    knowing = Aids(_holding(policy))
    sets = [
        _put(work, retail, name, kind, source)
        for name, kind, source in (
            ("none", AidKind.NONE, aids),
            ("trajectory", AidKind.TRAJECTORY, aids),
            ("placebo", AidKind.PLACEBO, aids),
            ("oracle", AidKind.ORACLE, aids),
            ("knowledge", AidKind.KNOWLEDGE, knowing),
        )
    ]
    sets.append(work.put("bfcl/none", bfcl_questions(bfcl), lambda _: ""))
    work.jobs.append({"train": "", "seed": min(SEEDS), "ask": sets})


def _put(work: Work, retail: RetailSuite, name: str, kind: AidKind, source: Aids) -> str:
    return work.put(f"retail/{name}", retail.exercises(), lambda exercise: source.aid(kind, exercise).text)


def _retail_job(
    work: Work, retail: RetailSuite, chosen: Sequence[Trajectory], memory: Loop, *, seed: int
) -> dict[str, Any]:
    size = len(chosen)
    name = f"retail-{size}-{seed}"
    aided = _aided(chosen, retail.tools, seed=seed)
    attempts = [attempt_of(trajectory, retail.tools) for trajectory in chosen]
    work.draft(name, attempts, seed=seed, aid=lambda attempt: aided[attempt.task_key])
    # All seeds have the same tasks where all tasks are taken, and then the same skills.
    label = f"skills-{size}" if size == max(SIZES) else f"skills-{size}-{seed}"
    skills = _put(work, retail, label, AidKind.SKILLS, Aids(memory))
    asks = ["retail/none", skills, *(["bfcl/none"] if size == max(SIZES) else [])]
    return {
        "train": name,
        "dataset": name,
        "seed": seed,
        "ask": asks,
        "ask_base": [skills] if size < max(SIZES) or not seed else [],
    }


def _aided(chosen: Sequence[Trajectory], tools: Sequence[Tool], *, seed: int) -> dict[str, str]:
    """Task → the aid that its example carries: half of them none, the others one from a memory of the other half."""
    halves = [list(chosen[0::2]), list(chosen[1::2])]
    dice, found = random.Random(f"aid {seed}"), dict[str, str]()
    for own, other in (halves, halves[::-1]):
        aids = Aids(rehearsed(other))
        for trajectory in own:
            exercise = Exercise(key="", group="", task=trajectory.task.text, tools=tuple(tools))
            carries = dice.random() < AIDED
            found[trajectory.session_id] = aids.aid(AidKind.SKILLS, exercise).text if carries else ""
    return found


def _bfcl_datasets(work: Work, bfcl: BfclSuite, retail: RetailSuite, *, seed: int) -> list[str]:
    """The second domain alone, and with examples of the first among its own."""
    attempts = [attempt_of(trajectory, bfcl.tools_of(trajectory)) for trajectory in bfcl.training_trajectories()]
    shop = [attempt_of(trajectory, retail.tools) for trajectory in retail.training_trajectories()]
    first, _ = draft(shop, held_out=HELD_OUT, seed=seed)
    return [
        work.draft(f"bfcl-alone-{seed}", attempts, seed=seed),
        work.draft(f"bfcl-replay-{seed}", attempts, seed=seed, replay=first.train),
    ]


def attempt_of(trajectory: Trajectory, tools: Sequence[Tool]) -> Attempt:
    """A reference solution as an attempt that its reference verified."""
    vouched = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier=VERIFIED_BY)
    return Attempt(trajectory=trajectory, task_key=trajectory.session_id, tools=tuple(tools), assessment=vouched)


def bfcl_questions(bfcl: BfclSuite) -> list[Exercise]:
    """Of each turn its first call: the second domain is there to see what is forgotten, not for itself."""
    return [exercise for exercise in bfcl.exercises() if not exercise.turns]


def _first(tasks: Sequence[Trajectory], size: int, seed: int) -> list[Trajectory]:
    order = list(tasks)
    random.Random(seed).shuffle(order)
    return order[:size]


def _matters(job: dict[str, Any]) -> tuple[int, ...]:
    """The bare model first, then the largest training sets, then what came after them, then the curve; seed by seed."""
    if not job["train"]:
        return (0,)
    size = int(job["dataset"].split("-")[1]) if "from" not in job else 0
    return (1, job["seed"], -size) if size == max(SIZES) or job["seed"] == 0 else (2, job["seed"], -size)


def _holding(text: str) -> Loop:
    """A memory that holds one document and nothing else."""
    memory = rehearsed([])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.md"
        file.write_text(text, "utf-8")
        memory.research.add(str(file), by="bench", approve=True)
    return memory


def _policy_text(data: Path) -> str:
    """The shop's policy, which recorded agents were given."""
    with gzip.open(data / "trajectories.jsonl.gz", "rt", encoding="utf-8") as lines:
        document = json.loads(next(lines))
    return str(document["steps"][0]["message"])


def say(text: str) -> None:
    """How far it is."""
    print(text, file=sys.stderr, flush=True)
