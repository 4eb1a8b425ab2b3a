"""The cycle: experience → dataset → adapter → paired test → judgement. Wires registry, gates, workshop and harness.

About a quarter of the tasks is kept for the test: they are neither trained on nor stopped by. A task's own lot decides, so
that it stays so in every later cycle, and of tasks that are nearly the same only one is used. What each phase made lies
beside the store until the judgement is kept, so that a cycle that was killed goes on with the same phase. One cycle at a
time. Nothing here lets an adapter serve: that is a person's word.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.api import Tacit
from tacit.domain.adapter import Adapter, Judgement
from tacit.domain.errors import Mistake, Refusal
from tacit.domain.identity import plain
from tacit.features.evaluate.actors.model import ModelActor
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.comparison import (
    Comparison,
    MarginOverConstant,
    compare,
    correct_tools,
    margin_over_constant,
)
from tacit.features.evaluate.conversation import form_hash
from tacit.features.evaluate.runner import run_suite
from tacit.features.evaluate.suite import ARMS, Suite
from tacit.features.evaluate.suites.own import OwnSuite, learned_memory, without_given_away_tasks
from tacit.features.evaluate.task_overlap import TaskProfile
from tacit.features.evaluate.transcript import Divergence, read_transcript
from tacit.features.evaluate.verified_attempts import gather
from tacit.features.train.adapter_folders import SOURCES, adapter_folders
from tacit.features.train.data_gate import Objection
from tacit.features.train.dataset import MANIFEST, Dataset, build, draft, examined, refuse
from tacit.features.train.examples import Example, example_of
from tacit.features.train.registry import Adapters, NewAdapter
from tacit.features.train.trainer import Trainer
from tacit.features.train.verdict import judge_arm
from tacit.render.placing import swap_in
from tacit.store import open_store

if TYPE_CHECKING:
    from tacit.domain.ports import Store

LEARNED_SHARE_MAX = 0.05
"""Of the suite that stands guard elsewhere no larger part may be among what is learned from."""
WITHOUT_ADAPTER, WITH_ADAPTER = "skills", "skills+adapter"
REGRESSION_WITHOUT, REGRESSION_WITH = "none", "adapter"
"""What is compared where nothing was learned: there are no skills for it."""
LOCK = ".consolidation.lock"
_PLAN, _ADAPTER = "plan.json", "adapter.json"
_DATASET, _TRAINING, _MEMORY, _PROOF, _ELSEWHERE = "dataset", "training", "memory", "proof", "elsewhere"
Progress = Callable[[str, int, int], None]
"""Told which phase it is, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """What a cycle would do, before it does anything."""

    attempts: int
    tasks: int
    dataset: Dataset = field(repr=False)
    """What would be trained on, if nothing speaks against it."""
    objections: tuple[Objection, ...] = ()
    """Why the gate refuses it, all of it."""
    left_out: int = 0
    """Tasks of those kept for the test that would not be asked, since others give them away."""
    exercises: int = 0
    """What would be asked of the others; 0 where the data are refused, so that nobody counted."""
    unfinished: str = ""
    """The phase that an earlier cycle was in when it ended early; empty: none was."""
    due_at: datetime | None = None
    """When the next cycle is due, if that is later than now."""

    @property
    def test_tasks(self) -> int:
        """How many tasks are kept for the test, and asked."""
        return sum(is_test_task(task) for task in self.dataset.manifest.held_out_tasks) - self.left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """What a cycle came to."""

    adapter: Adapter
    judgement: Judgement
    comparison: Comparison
    regression: Comparison | None = None
    left_out: int = 0
    """Tasks that were kept for the test and not asked: others that were learned from give them away."""
    tested_before: int = 0
    """How many other adapters were tested on this suite before."""
    divergences: Mapping[tuple[str, str], Divergence] = field(default_factory=dict)
    """Arm and exercise → what was asked and done; told once and kept nowhere, as a purge must not miss it."""


class Consolidation:
    """One consolidation of a memory, in phases that can be repeated."""

    def __init__(
        self,
        memory: Tacit,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._memory = memory
        self._seed = seed
        self._now = memory.context.now
        self._progress = progress or (lambda phase, done, total: None)

    @cached_property
    def _adapters(self) -> Adapters:
        return Adapters(self._memory)

    # --- before -------------------------------------------------------------------------------------------------

    def plan(self, *, every: timedelta = timedelta()) -> ConsolidationPlan:
        """What would be used, whether the gate lets it pass, and when the next cycle is due. Changes nothing."""
        attempts = gather(self._memory.context.store)
        dataset, objections = draft(attempts, held_out=HELD_OUT_SHARE)
        left_out = exercises = 0
        if not objections:
            try:
                proof = self._proof(dataset)
                left_out, exercises = proof.left_out, len(proof.exercises())
            except (Refusal, Mistake) as error:
                objections = (Objection(rule="nothing_to_test_by", reason=error.message, hint=error.hint),)
        return ConsolidationPlan(
            attempts=len(attempts),
            tasks=len({each.task_key for each in attempts}),
            dataset=dataset,
            objections=objections,
            left_out=left_out,
            exercises=exercises,
            unfinished=self.phase,
            due_at=self.due_at(every),
        )

    @property
    def phase(self) -> str:
        """The phase in which an earlier cycle ended early; empty where none did."""
        work = self._work
        if work is None or not (work / _PLAN).is_file():
            return ""
        if (work / _ADAPTER).is_file():
            return "testing"
        return "training" if (work / _DATASET / MANIFEST).is_file() else "building the dataset"

    def due_at(self, every: timedelta) -> datetime | None:
        """When the next cycle is due, if that is later than now: so long after the last adapter; an unfinished one is now."""
        born = [entry.at for entry in self._memory.context.store.entries(Adapter) if not entry.removed]
        if not born or self.phase:
            return None
        due = max(born) + every
        return due if due > self._now() else None

    # --- the phases ---------------------------------------------------------------------------------------------

    def train(self, trainer: Trainer, *, restart: bool = False, by: str = "") -> Adapter:
        """Build the dataset, train an adapter on it and register it; or go on with what an earlier cycle left."""
        with self._alone():
            return self._trained(trainer, restart=restart, by=by)

    def consolidate(
        self, trainer: Trainer, *, regression_suite: Suite | None = None, restart: bool = False, by: str = ""
    ) -> ConsolidationResult:
        """The whole cycle, up to the judgement. What is tested is the adapter that `train` left, if it did."""
        with self._alone():
            if regression_suite is not None:
                self._require_other_work(regression_suite)
            adapter = self._trained(trainer, restart=restart, by=by)
            finding = self._tested(adapter, trainer, regression_suite)
            self._adapters.files.drop_work()
            return finding

    def _require_other_work(self, guard: Suite) -> None:
        """What stands guard elsewhere must not be what is learned: then nothing there could get worse."""
        known = {
            TaskProfile(key="", text=each.trajectory.task.text).words for each in gather(self._memory.context.store)
        }
        every = guard.exercises()
        learned = [each.key for each in every if TaskProfile(key="", text=each.task).words in known]
        if len(learned) > LEARNED_SHARE_MAX * len(every):
            raise Refusal(
                f"{len(learned)} of the {len(every)} exercises of suite {guard.name} are asked in the very words of attempts "
                f"that would be learned from, such as {learned[0]}: it could not tell what is lost elsewhere",
                hint="let another suite stand guard (--elsewhere), or purge those attempts",
            )

    def _trained(self, trainer: Trainer, *, restart: bool, by: str) -> Adapter:
        work = self._begun(trainer, restart=restart)
        known = _read_json(work / _ADAPTER).get("key")
        if known:
            return self._adapters.find(str(known)).adapter
        dataset = self._dataset(work)
        self._proof(dataset)  # told now that nothing could be proved, and not after hours of training
        advance = partial(self._progress, "training")
        taught = without_test_tasks(dataset)
        made = trainer.train(taught, work / _TRAINING, seed=self._seed, advance=advance)
        birth = NewAdapter(
            folder=made.folder,
            model=trainer.model,
            model_hash=trainer.model_hash,
            dataset_hash=dataset.manifest.hash,
            form_hash=dataset.manifest.form_hash,
            tasks=dataset.manifest.tasks,
            trajectory_ids=tuple(sorted({each.trajectory_id for each in (*taught.train, *taught.held_out)})),
            recipe={**trainer.recipe, "seed": str(self._seed)},
            metrics=made.metrics,
            records={MANIFEST: (work / _DATASET / MANIFEST).read_bytes(), **made.records},
        )
        adapter = self._adapters.register(birth, by=by)
        _write_json(work / _ADAPTER, {"key": adapter.key})
        return adapter

    def _begun(self, trainer: Trainer, *, restart: bool) -> Path:
        """The folder of the work: that of an earlier cycle if it is the same one, else a new one."""
        files = self._adapters.files
        if restart:
            files.drop_work()
        plan = {"model": trainer.model_hash, "form": form_hash(), "seed": self._seed, "recipe": dict(trainer.recipe)}
        before = _read_json(files.work / _PLAN)
        other = [name for name in plan if before and before.get(name) != plan[name]]
        if other:
            raise Refusal(
                f"an unfinished consolidation with another {' and '.join(other)} lies here ({self.phase})",
                hint="finish it with the options it was begun with, or start again with --restart",
            )
        if not before:
            files.drop_work()
            files.work.mkdir(mode=0o700)
            _write_json(files.work / _PLAN, plan)
        return files.work

    def _dataset(self, work: Path) -> Dataset:
        """The dataset of this cycle: fixed once it is written, whatever is captured meanwhile."""
        if (work / _DATASET / MANIFEST).is_file():
            return self._read_back(work)
        self._progress("building the dataset", 0, 0)
        dataset = build(gather(self._memory.context.store), held_out=HELD_OUT_SHARE)
        _write_json(work / SOURCES, list(dataset.manifest.trajectory_ids))
        dataset.write(work / _DATASET)
        return dataset

    def _read_back(self, work: Path) -> Dataset:
        """The dataset as it lies there: examined again, and held against the store, for anybody could have written it."""
        dataset = Dataset.read(work / _DATASET)
        refuse(examined(dataset))
        every = [*dataset.train, *dataset.held_out]
        task_of = {each.trajectory_id: each.task for each in every}
        known = {episode.id for episode in self._memory.context.store.episodes()}
        now = {
            attempt.trajectory.id: example_of(attempt)
            for attempt in gather(self._memory.context.store, named=lambda trajectory: task_of.get(trajectory.id, ""))
            if attempt.task_key and attempt.turns
        }
        strange = [
            each.trajectory_id
            for each in every
            if each.trajectory_id not in known or not _is_same(each, now.get(each.trajectory_id, each))
        ]
        if strange or set(task_of) != set(dataset.manifest.trajectory_ids):
            notices = f" ({len(strange)} examples, such as {strange[0]})" if strange else ""
            raise Refusal(
                f"the dataset of the unfinished consolidation is not what the store holds{notices}",
                hint="start again with --restart",
            )
        return dataset

    # --- the test -----------------------------------------------------------------------------------------------

    def _tested(self, adapter: Adapter, trainer: Trainer, regression_suite: Suite | None) -> ConsolidationResult:
        adapters, work = self._adapters, self._adapters.files.work
        adapters.require_unchanged(adapter.key)
        actor = ModelActor(
            trainer.completer({adapter.key: adapters.find(adapter.key).folder}), name=trainer.model, adapter=adapter.key
        )
        dataset = self._read_back(work)
        if dataset.manifest.hash != adapter.dataset_hash:
            raise Refusal(
                f"the adapter {adapter.key} was trained on another dataset", hint="start again with --restart"
            )
        suite = self._proof(dataset)
        with self._rehearsed(suite, work) as memory:
            arms = [ARMS[WITHOUT_ADAPTER], ARMS[WITH_ADAPTER]]
            advance = partial(self._progress, "testing")
            done = run_suite(suite, arms, actor, Aids(memory), folder=work / _PROOF, progress=advance)
        comparison = compare(done.rows, reference=WITHOUT_ADAPTER)
        divergences = read_transcript(work / _PROOF).divergences(done.rows, reference=WITHOUT_ADAPTER)
        height = margin_over_constant(
            [row for row in done.rows if row.arm == WITH_ADAPTER], correct_tools(suite.exercises())
        )
        there = None
        if regression_suite is not None:
            arms = [ARMS[REGRESSION_WITHOUT], ARMS[REGRESSION_WITH]]
            advance = partial(self._progress, "testing elsewhere")
            done = run_suite(regression_suite, arms, actor, Aids(), folder=work / _ELSEWHERE, progress=advance)
            there = compare(done.rows, reference=REGRESSION_WITHOUT)
        found = self._judged(adapter, comparison, there, height)
        return replace(found, left_out=suite.left_out, divergences=divergences)

    def _judged(
        self, adapter: Adapter, comparison: Comparison, elsewhere: Comparison | None, height: MarginOverConstant | None
    ) -> ConsolidationResult:
        adapters = self._adapters
        ruling, reason = judge_arm(comparison, elsewhere, arm=WITH_ADAPTER, height=height)
        report = json.dumps(plain([comparison, elsewhere]), indent=1, ensure_ascii=False).encode()
        found = comparison.arm(WITH_ADAPTER).differences.get("success")
        # Who tests often enough finds a good one by luck.
        beside = {each.key for each in self._memory.context.store.entries(Judgement) if each.suite == comparison.suite}
        judgement = Judgement(
            key=adapter.key,
            at=self._now(),
            ruling=ruling,
            reason=reason,
            suite=comparison.suite,
            report_hash=hashlib.sha256(report).hexdigest(),
            tasks=found.groups if found else 0,
            difference=found.value if found else 0.0,
            low=found.low if found else 0.0,
            high=found.high if found else 0.0,
        )
        kept = adapters.judge(judgement, report={"report.json": report})
        return ConsolidationResult(
            adapter=adapter,
            judgement=kept,
            comparison=comparison,
            regression=elsewhere,
            tested_before=len(beside - {adapter.key}),
        )

    def _proof(self, dataset: Dataset) -> OwnSuite:
        """The tasks that were kept for the test, as they were when the cycle began, less those that others give away."""
        task_of = {each.trajectory_id: each.task for each in (*dataset.train, *dataset.held_out)}
        attempts = gather(self._memory.context.store, named=lambda trajectory: task_of.get(trajectory.id, ""))
        kept = {task for task in dataset.manifest.held_out_tasks if is_test_task(task)}
        return without_given_away_tasks([each for each in attempts if each.task_key], held_out=kept)

    @contextmanager
    def _rehearsed(self, suite: OwnSuite, work: Path) -> Iterator[Tacit]:
        """A memory that learned from the other tasks alone; kept, so that a test that goes on finds the very same one."""
        folder = work / _MEMORY
        if not (folder / "learned").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            advance = partial(self._progress, "learning skills for the test")
            with learned_memory(
                suite.training_trajectories(),
                config=self._memory.context.config,
                progress=advance,
                store=_store_in(folder),
            ):
                pass
            (folder / "learned").touch()
        with Tacit(_store_in(folder), config=self._memory.context.config) as memory:
            yield memory

    # --- beside -------------------------------------------------------------------------------------------------

    @property
    def _work(self) -> Path | None:
        folders = adapter_folders(self._memory.context.place)
        return folders.work if folders else None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        files = self._adapters.files
        with files.locked(LOCK, wait=False) as free:
            if not free:
                raise Refusal("another consolidation is under way here", hint="wait until it is done")
            yield


def _is_same(held: Example, now: Example) -> bool:
    """Whether an example is still what its attempt gives; which tools are listed may have grown with the store."""
    return held.messages[1:] == now.messages[1:] and held.silent == now.silent


def _store_in(folder: Path) -> Store:
    return open_store(str(folder / "tacit.db"))


def _write_json(path: Path, value: Any) -> None:
    swap_in(path, json.dumps(value, indent=1, ensure_ascii=False).encode(), mode=0o600)


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


HELD_OUT_SHARE = 0.35
"""The part of the tasks that is not trained on: most of it for the test, the rest to stop the training by."""
TEST_SHARE = 0.7
"""The part of those that is kept for the test."""


def is_test_task(task: str) -> bool:
    """Whether a task that is held out is kept for the test, now and for ever."""
    return int.from_bytes(hashlib.sha256(f"proof:{task}".encode()).digest()[:8]) / 2**64 < TEST_SHARE


def without_test_tasks(dataset: Dataset) -> Dataset:
    """What a training may see: of the tasks that are held out, those that it is stopped by."""
    return replace(dataset, held_out=tuple(each for each in dataset.held_out if not is_test_task(each.task)))
