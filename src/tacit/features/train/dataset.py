"""Verified attempts → a dataset for training with a manifest, or a refusal with every reason.

The split is by task and permanent: the task's key and the seed decide, so a held-out task is never trained on later. A task
that gives a held-out one away is held out with it. Near-duplicates count once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.config.files import write_atomically
from tacit.domain.errors import GateRefusal, Mistake
from tacit.features.evaluate.conversation import OBSERVATION_CHARACTERS, USER, form_hash
from tacit.features.evaluate.task_overlap import TaskProfile, find_leaks, near_duplicates
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.features.train import data_gate
from tacit.features.train.data_gate import DataPolicy, Fault, Objection
from tacit.features.train.examples import Example, example_of, from_lines, seen_values, task_profile, to_line
from tacit.features.train.recipe import Recipe, length_of
from tacit.text.words import estimate_tokens

TRAIN, HELD_OUT, MANIFEST = "train.jsonl", "held_out.jsonl", "manifest.json"
_ANSWERS = ("<tool_result>", "<tool_error>")
_AGAIN = "build the dataset again with --restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetManifest:
    """What a dataset is made of: enough to build it again, and to recognise it."""

    hash: str
    """Identifies the dataset: the digest of its files' digests."""
    form_hash: str
    files: Mapping[str, str]
    """File → SHA-256."""
    seed: int = 0
    tasks: int = 0
    """Different tasks that are trained on, without replay."""
    held_out_tasks: tuple[str, ...] = ()
    examples: int = 0
    held_out_examples: int = 0
    replayed: int = 0
    trajectory_ids: tuple[str, ...] = ()
    """Every trajectory that an example was made of, including replay."""
    policy: DataPolicy = DataPolicy()
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rule → how many attempts it left out."""
    why: Mapping[str, str] = field(default_factory=dict)
    """Rule → an explanation: the range of lengths, or one example."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """`strategies`: their effective number; `seen_values`: share of the values in learned calls that can be read before
    them; `tokens`: estimated, of the training examples."""

    def lost_to_length(self, unfit: int, of: int) -> float:
        """Return the share of the work that is too long: left out by the gate, and `unfit` of `of` training examples."""
        attempts = self.examples - self.replayed + self.held_out_examples + sum(self.dropped.values())
        before = self.dropped.get("too_long", 0) / attempts if attempts else 0.0
        return before + (1 - before) * unfit / of if of else before


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Training examples, held-out examples of other tasks, and the manifest."""

    train: tuple[Example, ...]
    held_out: tuple[Example, ...]
    manifest: DatasetManifest

    def write(self, folder: Path) -> None:
        """Write both files, then the manifest: a folder without one is not a dataset."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, examples in ((TRAIN, self.train), (HELD_OUT, self.held_out)):
            write_atomically(folder / name, _encoded(examples))
        content = json.dumps(dataclasses.asdict(self.manifest), indent=1, ensure_ascii=False)
        write_atomically(folder / MANIFEST, (content + "\n").encode())

    @classmethod
    def read(cls, folder: Path) -> Dataset:
        """Read a dataset; refused if a file does not match the manifest."""
        manifest = _read_manifest(folder / MANIFEST)
        if manifest.hash != _digest(json.dumps(manifest.files, sort_keys=True).encode()):
            raise Mistake(
                f"{folder / MANIFEST} does not match its own list of files", code="dataset_damaged", hint=_AGAIN
            )
        examples = {name: _read_examples(folder / name, manifest) for name in (TRAIN, HELD_OUT)}
        return cls(train=examples[TRAIN], held_out=examples[HELD_OUT], manifest=manifest)


def build(
    attempts: Sequence[VerifiedAttempt],
    *,
    policy: DataPolicy | None = None,
    held_out: Collection[str] | float = 0.2,
    seed: int = 0,
    replay: Sequence[Example] = (),
    aid: Callable[[VerifiedAttempt], str] | None = None,
) -> Dataset:
    """Build a dataset; raise `GateRefusal` with every objection.

    `held_out` are the tasks to hold out, or their share; `replay` are examples of earlier datasets, `aid` returns the text
    before a task for models that will be asked so.
    """
    dataset, objections = draft(attempts, policy=policy, held_out=held_out, seed=seed, replay=replay, aid=aid)
    refuse(objections)
    return dataset


def draft(
    attempts: Sequence[VerifiedAttempt],
    *,
    policy: DataPolicy | None = None,
    held_out: Collection[str] | float = 0.2,
    seed: int = 0,
    replay: Sequence[Example] = (),
    aid: Callable[[VerifiedAttempt], str] | None = None,
) -> tuple[Dataset, tuple[Objection, ...]]:
    """Return what `build` would build, and the objections to it."""
    made = _Draft(policy or DataPolicy(), seed)
    made.sift(attempts, aid or (lambda attempt: ""))
    made.split(held_out)
    made.cap()
    made.replay(replay)
    return made.dataset(), (*made.attempt_objections, *made.dataset_objections())


def examined(dataset: Dataset, tests: Sequence[TaskProfile] = ()) -> tuple[Objection, ...]:
    """Return the objections to training on a dataset, and to testing its adapter with these tests."""
    every = [*dataset.train, *dataset.held_out]
    learned = [task_profile(example) for example in dataset.train]
    kept = [task_profile(example) for example in dataset.held_out]
    policy, fresh = dataset.manifest.policy, [each for each in every if not each.replay]
    return (
        *data_gate.too_small(len({each.task for each in fresh}), policy),
        *data_gate.too_uniform((each for each in dataset.train if not each.replay), policy),
        *data_gate.other_form(every, dataset.manifest.form_hash, form_hash()),
        *data_gate.secrets_in(every),
        *data_gate.leaked_tasks((each.task for each in dataset.train), (each.key for each in (*kept, *tests))),
        *data_gate.leaked_texts(find_leaks(learned, [*kept, *tests])),
    )


def unreadable(dataset: Dataset, context_tokens: int) -> tuple[Objection, ...]:
    """Return the objections to training a base model with this context, by estimate; 0 means unknown."""
    limit, policy = Recipe().within(context_tokens).longest_tokens, dataset.manifest.policy
    lengths = [tokens for each in dataset.train if (tokens := round(length_of(each))) > limit]
    if not lengths or dataset.manifest.lost_to_length(len(lengths), len(dataset.train)) <= policy.most_faulty:
        return ()
    return (data_gate.too_long(lengths, f"{len(dataset.train)} examples", policy, limit=limit),)


def cut_answers(examples: Sequence[Example]) -> tuple[int, int]:
    """Return how many tool results are cut in these examples, and of how many."""
    answers = [
        message.content
        for example in examples
        for message in example.messages
        if message.role == USER and message.content.startswith(_ANSWERS)
    ]
    # a cut result ends in a mark after this many characters
    cut = [each for each in answers if " …</tool_" in each[OBSERVATION_CHARACTERS:]]
    return len(cut), len(answers)


def refuse(objections: Sequence[Objection]) -> None:
    """Raise `GateRefusal` with all objections, if there are any."""
    if not objections:
        return
    reasons = "\n".join(f"- {each.rule}: {each.reason}" for each in objections)
    hints = "\n".join(f"- {each.rule}: {each.hint}" for each in objections if each.hint)
    raise GateRefusal(f"nothing was trained on this data:\n{reasons}", code="data_refused", hint=hints)


@dataclass(slots=True)
class _Draft:
    """Builds a dataset: each step leaves out what may not be trained on, and records why."""

    policy: DataPolicy
    seed: int
    attempt_objections: list[Objection] = field(default_factory=list)
    sound: list[tuple[VerifiedAttempt, Example]] = field(default_factory=list)
    train: list[Example] = field(default_factory=list)
    held_out: list[Example] = field(default_factory=list)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    before: set[str] = field(default_factory=set)
    """The tasks before anything was left out."""
    attempts: Sequence[VerifiedAttempt] = ()
    alike: list[list[str]] = field(default_factory=list)
    """Groups of near-duplicate tasks."""

    def sift(self, attempts: Sequence[VerifiedAttempt], aid: Callable[[VerifiedAttempt], str]) -> None:
        """Leave out every attempt with a fault."""
        self.attempts = attempts
        self.before = {attempt.task_key for attempt in attempts if attempt.task_key}
        self.attempt_objections += [*data_gate.unverified(attempts), *data_gate.not_reset(attempts)]
        for attempt in attempts:
            if not attempt.turns or not attempt.task_key:
                self._drop(
                    Fault("no_calls", "it has no calls") if attempt.task_key else Fault("no_task", "it names no task")
                )
                continue
            content = aid(attempt)
            example = example_of(attempt, aid=content)
            if fault := data_gate.fault_of(attempt, example, self.policy, aid=content):
                self._drop(fault)
            else:
                self.sound.append((attempt, example))

    def split(self, held_out: Collection[str] | float) -> None:
        """Put each task on one side; of near-duplicates only the first stays."""
        first = {example.task: attempt for attempt, example in reversed(self.sound)}
        matters = [
            TaskProfile.of(task, each.trajectory.task.text, each.turns) for task, each in reversed(first.items())
        ]
        tasks = [matter.key for matter in matters]
        self.alike = [[tasks[place] for place in group] for group in near_duplicates(matters)]
        if isinstance(held_out, int | float):
            self._keep({task for group in self.alike for task in group[1:]})
            chosen = self._drawn(float(held_out))
        else:
            chosen = set(held_out)
            sides = [
                [task for task in group if (task in chosen) is side] for group in self.alike for side in (True, False)
            ]
            self._keep({task for side in sides for task in side[1:]})
        self._leave_out_taught_by(chosen)
        for _, example in self.sound:
            (self.held_out if example.task in chosen else self.train).append(example)

    def _drawn(self, share: float) -> set[str]:
        if not 0 <= share < 1:
            raise Mistake(
                f"a share of {share} cannot be held out", code="bad_share", hint="give a share from 0 to 1, such as 0.2"
            )
        lots = sorted((_lot(task, self.seed), task) for task in {example.task for _, example in self.sound})
        least = {lots[0][1]} if share and len(lots) > 1 else set()
        chosen = {task for lot, task in lots if lot < share} or least
        matters = [task_profile(example) for _, example in self.sound]
        while True:  # a task that gives a held-out one away is held out with it
            learned, kept = ([each for each in matters if (each.key in chosen) is side] for side in (False, True))
            given_away = {leak.task for leak in find_leaks(learned, kept)}
            if not given_away:
                return chosen
            chosen |= given_away

    def _keep(self, unwanted: Collection[str]) -> None:
        for _, example in self.sound:
            if example.task in unwanted:
                self._drop(Fault("near_duplicate", "a task before it is nearly the same, in words and solution"))
        self.sound = [pair for pair in self.sound if pair[1].task not in unwanted]

    def _leave_out_taught_by(self, chosen: Collection[str]) -> None:
        """Leave out attempts that followed a skill which was learned from held-out tasks only."""
        hidden = {each.trajectory.id for each in self.attempts if each.task_key in chosen}
        kept = []
        for attempt, example in self.sound:
            if example.task not in chosen and any(sources and hidden.issuperset(sources) for sources in attempt.taught):
                self._drop(Fault("contaminated", "it followed a skill that was learned from held-out tasks alone"))
            else:
                kept.append((attempt, example))
        self.sound = kept

    def cap(self) -> None:
        """Keep the best examples of each task: fewest failed calls, then shortest."""
        self.train, self.held_out = self._capped(self.train), self._capped(self.held_out)

    def _capped(self, examples: Sequence[Example]) -> list[Example]:
        ranked = sorted(range(len(examples)), key=lambda at: (len(examples[at].silent), len(examples[at].messages), at))
        taken: Counter[str] = Counter()
        kept = set()
        for place in ranked:
            taken[examples[place].task] += 1
            if taken[examples[place].task] <= self.policy.per_task:
                kept.add(place)
            else:
                self._drop(Fault("over_cap", f"there are {self.policy.per_task} better examples of its task"))
        return [example for place, example in enumerate(examples) if place in kept]

    def replay(self, earlier: Sequence[Example]) -> None:
        """Add examples of earlier datasets, except those that are held out, present already, or contain template tags."""
        kept = [task_profile(example) for example in self.held_out]
        known = {example.trajectory_id for example in (*self.train, *self.held_out)}
        tasks = {example.task for example in self.held_out}
        fresh = (each for each in earlier if each.task not in tasks and each.trajectory_id not in known)
        fit = [each for each in fresh if not data_gate.mark_in(each)]
        given_away = {leak.task for leak in find_leaks([task_profile(example) for example in fit], kept)}
        lots = sorted(
            (_lot(each.trajectory_id, self.seed), place)
            for place, each in enumerate(fit)
            if each.task not in given_away
        )
        share = self.policy.replay_share
        wanted = round(share / (1 - share) * len(self.train))
        chosen = sorted(place for _, place in lots[:wanted])
        self.train += [dataclasses.replace(fit[place], replay=True) for place in chosen]

    def dataset_objections(self) -> list[Objection]:
        """Return the objections to the whole dataset."""
        learned, kept = ([task_profile(each) for each in side] for side in (self.train, self.held_out))
        fresh = [example for example in self.train if not example.replay]
        every = [*self.train, *self.held_out]
        solved = len({example.task for example in (*fresh, *self.held_out)})
        doubles = sum(len(group) - 1 for group in self.alike)
        return [
            *data_gate.many_faulty(self.faults, len(self.attempts), self.policy),
            *data_gate.too_small(solved, self.policy, of=len(self.before), mainly=self._mainly()),
            *data_gate.too_alike(doubles, len(self.before), self.policy),
            *data_gate.too_uniform(fresh, self.policy),
            *data_gate.other_form(every, form_hash(), form_hash()),
            *data_gate.leaked_tasks((each.key for each in learned), (each.key for each in kept)),
            *data_gate.leaked_texts(find_leaks(learned, kept)),
        ]

    def dataset(self) -> Dataset:
        """Return the dataset with its manifest."""
        train, held_out = tuple(self.train), tuple(self.held_out)
        files = {name: _digest(_encoded(examples)) for name, examples in ((TRAIN, train), (HELD_OUT, held_out))}
        manifest = DatasetManifest(
            hash=_digest(json.dumps(files, sort_keys=True).encode()),
            form_hash=form_hash(),
            files=files,
            seed=self.seed,
            tasks=len({example.task for example in train if not example.replay}),
            held_out_tasks=tuple(sorted({example.task for example in held_out})),
            examples=len(train),
            held_out_examples=len(held_out),
            replayed=sum(example.replay for example in train),
            trajectory_ids=tuple(sorted({example.trajectory_id for example in (*train, *held_out)})),
            policy=self.policy,
            dropped={rule: len(found) for rule, found in sorted(self.faults.items())},
            why={rule: data_gate.describe_faults(found, self.policy) for rule, found in sorted(self.faults.items())},
            figures=_figures(train),
        )
        return Dataset(train=train, held_out=held_out, manifest=manifest)

    def _mainly(self) -> Sequence[Fault]:
        """Return why most attempts were left out, except for the cap, which removes no task."""
        return max((found for rule, found in self.faults.items() if rule != "over_cap"), key=len, default=())

    def _drop(self, fault: Fault) -> None:
        self.faults.setdefault(fault.rule, []).append(fault)


def _figures(train: Sequence[Example]) -> dict[str, float]:
    counted = Counter({example.task: example.strategy for example in reversed(train)}.values())
    seen, values = (sum(column) for column in zip(*map(seen_values, train), strict=True)) if train else (0, 0)
    return {
        "strategies": round(data_gate.strategies(counted), 2),
        "seen_values": round(seen / values, 3) if values else 1.0,
        "tokens": float(sum(estimate_tokens(message.content) for example in train for message in example.messages)),
    }


def _lot(key: str, seed: int) -> float:
    """Return a number from 0 to 1 that depends only on the key and the seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:8]) / 2**64


def _encoded(examples: Sequence[Example]) -> bytes:
    return "".join(f"{to_line(example)}\n" for example in examples).encode("utf-8", "surrogatepass")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_manifest(path: Path) -> DatasetManifest:
    try:
        text = path.read_text(encoding="utf-8")
        if not text.strip():
            raise Mistake(f"{path} is empty: writing it was interrupted", code="dataset_damaged", hint=_AGAIN)
        content: dict[str, Any] = json.loads(text)
        for name in ("held_out_tasks", "trajectory_ids"):
            content[name] = tuple(content[name])
        return DatasetManifest(**{**content, "policy": DataPolicy(**content["policy"])})
    except FileNotFoundError:
        raise Mistake(
            f"{path.parent} has no dataset", code="no_dataset", hint="`tacit adapters train` writes one"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Mistake(f"{path} is not a manifest: {error}", code="dataset_damaged", hint=_AGAIN) from None


def _read_examples(path: Path, manifest: DatasetManifest) -> tuple[Example, ...]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise Mistake(f"{path} is missing", code="dataset_damaged", hint=_AGAIN) from None
    if _digest(data) != manifest.files.get(path.name):
        raise Mistake(f"{path} is not the file in the manifest", code="dataset_damaged", hint=_AGAIN)
    return tuple(from_lines(data.decode("utf-8", "surrogatepass"), source=str(path)))
