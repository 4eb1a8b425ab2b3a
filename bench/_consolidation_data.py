"""What the consolidation experiment trains on and asks, made once on any machine: datasets, prompts and a plan of work.

Everything that a memory has to say is said here, so that the machine with the accelerator needs neither a store nor the
test answers: it gets conversations to train on and conversations to answer.

- Training sets are nested: for each seed one order of the training tasks, of which the first N are taken. Skills are recalled
  from a memory that learned from the very same N tasks: adapter and retrieval have had the same experience.
- Half of the training examples carry an aid, as an agent with skills would have it. That aid is recalled from a memory of the
  other half of the N tasks, so that no task is shown a skill which it helped to make.
- What is replayed while a second domain is learned are examples of the very dataset that the first adapter learned from, as
  they stood there: with their aid where they had one, and none of the tasks that it was stopped by.
- Whatever the gate says against a dataset is noted and overridden, since the question is what happens then.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.api import Tacit
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.conversation import prompt_messages
from tacit.features.evaluate.suite import AidKind, Exercise
from tacit.features.evaluate.suites.own import learned_memory
from tacit.features.evaluate.suites.public_tasks import VERIFIED_BY, BfclSuite, RetailSuite
from tacit.features.evaluate.tool import Tool
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.features.research.research import Research
from tacit.features.train.data_gate import DataPolicy, Objection
from tacit.features.train.dataset import MANIFEST, Dataset, draft, examined
from tacit.features.train.examples import Example

SIZES = (12, 31, 60, 120, 250, 500)
SEEDS = (0, 1, 2)
HELD_OUT = 0.1
"""Share of a training set that is kept to stop by."""
AIDED = 0.5
"""Share of examples that carry skills, as an agent with a memory would have them."""
REPLAY_SHARES = (0.15, 0.33, 0.5)
"""Shares of the first domain among the examples of the second that are tried; the smaller draws are part of the larger."""
TOKENS = 96
"""The longest answer: enough for a whole call."""
PROMPTS, PLAN = "prompts.jsonl.gz", "plan.json"


@dataclass(frozen=True, slots=True)
class Replay:
    """Examples of an earlier dataset, and the share of a new one that they make up."""

    examples: Sequence[Example] = ()
    share: float = DataPolicy().replay_share


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
                messages = prompt_messages(exercise.task, exercise.tools, aid=aid(exercise), turns=exercise.turns)
                said = [[message.role, message.content] for message in messages]
                names = [tool.name for tool in exercise.tools]
                self._prompts.append({"set": name, "exercise": exercise.key, "messages": said, "tools": names})
        return name

    def draft(
        self,
        name: str,
        attempts: Sequence[VerifiedAttempt],
        *,
        seed: int,
        replay: Replay = Replay(),  # noqa: B008 (frozen)
        aid: Callable[[VerifiedAttempt], str] | None = None,
    ) -> str:
        """A dataset, and what the gate says against it; returns its name."""
        policy = DataPolicy(replay_share=replay.share)
        dataset, against = draft(attempts, policy=policy, held_out=HELD_OUT, seed=seed, replay=replay.examples, aid=aid)
        dataset.write(self.place_of(name))
        self._note(name, dataset, against)
        return name

    def keep(self, name: str) -> bool:
        """Take a dataset that lies there already, from an earlier preparation; whether one does."""
        if not (self.place_of(name) / MANIFEST).is_file():
            return False
        dataset = Dataset.read(self.place_of(name))
        self._note(name, dataset, examined(dataset))
        return True

    def place_of(self, name: str) -> Path:
        """Where a dataset lies."""
        return self.folder / "datasets" / name

    def _note(self, name: str, dataset: Dataset, against: Sequence[Objection]) -> None:
        self._gate[name] = {
            "tasks": dataset.manifest.tasks,
            "examples": len(dataset.train),
            "replayed": dataset.manifest.replayed,
            "held_out": len(dataset.held_out),
            "dropped": dict(dataset.manifest.dropped),
            "against": {each.rule: each.reason for each in against},
        }

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
    whole = learned_memory(tasks)
    _base(work, retail, bfcl, whole, policy=_policy_text(retail_data))
    for seed in SEEDS:
        for size in sorted(SIZES, reverse=True):
            chosen = _first(tasks, size, seed)
            memory = whole if size == len(tasks) else learned_memory(chosen)
            work.jobs.append(_retail_job(work, retail, chosen, memory, seed=seed))
            say(f"seed {seed}: {size} tasks")
        work.jobs += _second_jobs(work, bfcl, seed=seed)
    work.jobs.sort(key=_matters)
    work.write()


def prepare_forgetting(retail_data: Path, bfcl_data: Path, folder: Path) -> None:
    """Fill the folder with what it takes to see what is forgotten, and nothing else.

    Datasets of the shop that lie there already are kept: making them takes most of the time.
    """
    retail, bfcl, work = RetailSuite(retail_data), BfclSuite(bfcl_data), Work(folder)
    tasks = retail.training_trajectories()
    work.put("retail/none", retail.exercises(), lambda _: "")
    work.put("bfcl/none", bfcl_questions(bfcl), lambda _: "")
    for seed in SEEDS:
        name = _shop(max(SIZES), seed)
        if not work.keep(name):
            _retail_dataset(work, retail, _first(tasks, max(SIZES), seed), seed=seed)
        work.jobs.append({"train": name, "dataset": name, "seed": seed, "ask": ["retail/none"]})
        work.jobs += _second_jobs(work, bfcl, seed=seed)
        say(f"seed {seed}")
    work.write()


def _base(work: Work, retail: RetailSuite, bfcl: BfclSuite, memory: Tacit, *, policy: str) -> None:
    """What the bare model is asked, under every arm that needs no adapter."""
    aids = Aids(memory, irrelevant=learned_memory(bfcl.training_trajectories()))
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
    work: Work, retail: RetailSuite, chosen: Sequence[Trajectory], memory: Tacit, *, seed: int
) -> dict[str, Any]:
    size = len(chosen)
    name = _retail_dataset(work, retail, chosen, seed=seed)
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


def _retail_dataset(work: Work, retail: RetailSuite, chosen: Sequence[Trajectory], *, seed: int) -> str:
    aided = _aided(chosen, retail.tools, seed=seed)
    attempts = [attempt_of(trajectory, retail.tools) for trajectory in chosen]
    return work.draft(_shop(len(chosen), seed), attempts, seed=seed, aid=lambda attempt: aided[attempt.task_key])


def _shop(size: int, seed: int) -> str:
    return f"retail-{size}-{seed}"


def _aided(chosen: Sequence[Trajectory], tools: Sequence[Tool], *, seed: int) -> dict[str, str]:
    """Task → the aid that its example carries: half of them none, the others one from a memory of the other half."""
    halves = [list(chosen[0::2]), list(chosen[1::2])]
    dice, found = random.Random(f"aid {seed}"), dict[str, str]()
    for own, other in (halves, halves[::-1]):
        aids = Aids(learned_memory(other))
        for trajectory in own:
            exercise = Exercise(key="", group="", task=trajectory.task.text, tools=tuple(tools))
            carries = dice.random() < AIDED
            found[trajectory.session_id] = aids.aid(AidKind.SKILLS, exercise).text if carries else ""
    return found


def _second_jobs(work: Work, bfcl: BfclSuite, *, seed: int) -> list[dict[str, Any]]:
    """The second domain on top of the first: alone, and with ever more examples of the first among its own."""
    first = _shop(max(SIZES), seed)
    learned = Dataset.read(work.place_of(first)).train
    attempts = [attempt_of(trajectory, bfcl.tools_of(trajectory)) for trajectory in bfcl.training_trajectories()]
    ways = {"alone": Replay()} | {f"replay{round(100 * share)}": Replay(learned, share) for share in REPLAY_SHARES}
    names = [work.draft(f"bfcl-{way}-{seed}", attempts, seed=seed, replay=replay) for way, replay in ways.items()]
    return [
        {"train": name, "dataset": name, "from": first, "seed": seed, "ask": ["retail/none", "bfcl/none"]}
        for name in names
    ]


def attempt_of(trajectory: Trajectory, tools: Sequence[Tool]) -> VerifiedAttempt:
    """A reference solution as an attempt that its reference verified."""
    vouched = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier=VERIFIED_BY)
    return VerifiedAttempt(
        trajectory=trajectory, task_key=trajectory.session_id, tools=tuple(tools), assessment=vouched
    )


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


def _holding(text: str) -> Tacit:
    """A memory that holds one document and nothing else."""
    memory = learned_memory([])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.md"
        file.write_text(text, "utf-8")
        Research(memory).add(str(file), by="bench", approve=True)
    return memory


def _policy_text(data: Path) -> str:
    """The shop's policy, which recorded agents were given."""
    with gzip.open(data / "trajectories.jsonl.gz", "rt", encoding="utf-8") as lines:
        document = json.loads(next(lines))
    return str(document["steps"][0]["message"])


def say(text: str) -> None:
    """How far it is."""
    print(text, file=sys.stderr, flush=True)
