"""Consolidation: verified work → dataset → adapter → paired test → judgement.

About a quarter of the tasks is kept for the test: they are neither trained on nor used for validation. A hash of the task
decides, so it stays the same in every later run; of near-duplicate tasks only one is used. What each phase makes is kept
next to the store until the judgement is stored, so an interrupted run continues. One run at a time. Only a person activates
an adapter.
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
from tacit.config.files import write_atomically
from tacit.domain.errors import Mistake, Refusal
from tacit.domain.identity import plain
from tacit.features.evaluate.actors.model_agent import ModelActor
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
from tacit.features.evaluate.transcript import CallDivergence, read_transcript
from tacit.features.evaluate.verified_attempts import gather
from tacit.features.train.adapter import Adapter, Judgement
from tacit.features.train.adapter_folders import SOURCES, adapter_folders
from tacit.features.train.adapter_registry import Adapters, NewAdapter
from tacit.features.train.data_gate import Objection
from tacit.features.train.dataset import MANIFEST, Dataset, build, draft, examined, refuse
from tacit.features.train.examples import Example, example_of
from tacit.features.train.trainer import Trainer
from tacit.features.train.verdict import judge_arm
from tacit.store import open_store

if TYPE_CHECKING:
    from tacit.store import Store

HELD_OUT_SHARE = 0.35
"""Share of the tasks that is not trained on: most of it for the test, the rest for validation."""
TEST_SHARE = 0.7
"""Share of the held-out tasks that is kept for the test."""
LEARNED_SHARE_MAX = 0.05
"""At most this share of the regression suite may be among the training tasks."""
WITHOUT_ADAPTER, WITH_ADAPTER = "skills", "skills+adapter"
REGRESSION_WITHOUT, REGRESSION_WITH = "none", "adapter"
"""The arms of the regression suite, for which there are no skills."""
LOCK = ".consolidation.lock"
_PLAN, _ADAPTER = "plan.json", "adapter.json"
_DATASET, _TRAINING, _MEMORY, _TEST, _REGRESSION = "dataset", "training", "memory", "proof", "elsewhere"
Progress = Callable[[str, int, int], None]
"""Called with the phase, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """What a consolidation would do."""

    attempts: int
    tasks: int
    dataset: Dataset = field(repr=False)
    """What would be trained on, unless there are objections."""
    objections: tuple[Objection, ...] = ()
    """Why the data are refused."""
    left_out: int = 0
    """Test tasks that would not be used because training tasks give their answers away."""
    exercises: int = 0
    """Exercises of the other test tasks; 0 if the data are refused."""
    unfinished: str = ""
    """The phase in which an earlier run stopped; empty if none did."""
    due_at: datetime | None = None
    """When the next run is due, if that is later than now."""

    @property
    def test_tasks(self) -> int:
        """How many tasks the test uses."""
        return sum(is_test_task(task) for task in self.dataset.manifest.held_out_tasks) - self.left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationResult:
    """The tested adapter and its judgement."""

    adapter: Adapter
    judgement: Judgement
    comparison: Comparison
    regression: Comparison | None = None
    left_out: int = 0
    """Test tasks that were not used because training tasks give their answers away."""
    tested_before: int = 0
    """How many other adapters were tested on this suite before."""
    divergences: Mapping[tuple[str, str], CallDivergence] = field(default_factory=dict)
    """Arm and exercise → what was asked and done. Not stored, so that a purge need not reach it."""


class Consolidation:
    """One consolidation of a memory, in phases that can be repeated."""

    def __init__(self, memory: Tacit, *, seed: int = 0, progress: Progress | None = None) -> None:
        self._memory = memory
        self._seed = seed
        self._now = memory.context.now
        self._progress = progress or (lambda phase, done, total: None)

    @cached_property
    def _adapters(self) -> Adapters:
        return Adapters(self._memory)

    @property
    def _store(self) -> Store:
        return self._memory.context.store

    # --- planning -----------------------------------------------------------------------------------------------

    def plan(self, *, every: timedelta = timedelta()) -> ConsolidationPlan:
        """Return what would be used, whether the data are accepted, and when the next run is due. Changes nothing."""
        attempts = gather(self._store)
        dataset, objections = draft(attempts, held_out=HELD_OUT_SHARE)
        left_out = exercises = 0
        if not objections:
            try:
                suite = self._test_suite(dataset)
                left_out, exercises = suite.left_out, len(suite.exercises())
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
        """The phase in which an earlier run stopped; empty if none did."""
        work = self._work
        if work is None or not (work / _PLAN).is_file():
            return ""
        if (work / _ADAPTER).is_file():
            return "testing"
        return "training" if (work / _DATASET / MANIFEST).is_file() else "building the dataset"

    def due_at(self, every: timedelta) -> datetime | None:
        """Return when the next run is due, if that is later than now. An unfinished run is always due."""
        made = [entry.at for entry in self._store.entries(Adapter) if not entry.removed]
        if not made or self.phase:
            return None
        due = max(made) + every
        return due if due > self._now() else None

    # --- training -----------------------------------------------------------------------------------------------

    def train(self, trainer: Trainer, *, restart: bool = False, by: str = "") -> Adapter:
        """Build the dataset, train an adapter and register it; continues an unfinished run."""
        with self._locked():
            return self._trained(trainer, restart=restart, by=by)

    def consolidate(
        self, trainer: Trainer, *, regression_suite: Suite | None = None, restart: bool = False, by: str = ""
    ) -> ConsolidationResult:
        """Train an adapter and test it. If `train` already made one, that one is tested."""
        with self._locked():
            if regression_suite is not None:
                self._require_other_work(regression_suite)
            adapter = self._trained(trainer, restart=restart, by=by)
            result = self._test(adapter, trainer, regression_suite)
            self._adapters.files.drop_work()
            return result

    def _require_other_work(self, suite: Suite) -> None:
        """Refuse a regression suite whose exercises are trained on: it could not get worse."""
        known = {TaskProfile(key="", text=each.trajectory.task.text).words for each in gather(self._store)}
        every = suite.exercises()
        learned = [each.key for each in every if TaskProfile(key="", text=each.task).words in known]
        if len(learned) > LEARNED_SHARE_MAX * len(every):
            raise Refusal(
                f"{len(learned)} of the {len(every)} exercises of suite {suite.name} have the same words as training "
                f"attempts, such as {learned[0]}: the suite could not show a loss on other work",
                code="regression_suite_learned",
                hint="name another suite (--regression-suite), or purge those attempts",
            )

    def _trained(self, trainer: Trainer, *, restart: bool, by: str) -> Adapter:
        work = self._open_work(trainer, restart=restart)
        known = _read_json(work / _ADAPTER).get("key")
        if known:
            return self._adapters.find(str(known)).adapter
        dataset = self._dataset(work)
        self._test_suite(dataset)  # fails now if nothing could be tested, not after hours of training
        visible = without_test_tasks(dataset)
        advance = partial(self._progress, "training")
        made = trainer.train(visible, work / _TRAINING, seed=self._seed, advance=advance)
        new = NewAdapter(
            folder=made.folder,
            model=trainer.model,
            model_hash=trainer.model_hash,
            dataset_hash=dataset.manifest.hash,
            form_hash=dataset.manifest.form_hash,
            tasks=dataset.manifest.tasks,
            trajectory_ids=tuple(sorted({each.trajectory_id for each in (*visible.train, *visible.held_out)})),
            recipe={**trainer.recipe, "seed": str(self._seed)},
            metrics=made.metrics,
            records={MANIFEST: (work / _DATASET / MANIFEST).read_bytes(), **made.records},
        )
        adapter = self._adapters.register(new, by=by)
        _write_json(work / _ADAPTER, {"key": adapter.key})
        return adapter

    def _open_work(self, trainer: Trainer, *, restart: bool) -> Path:
        """Return the working folder: that of an unfinished run with the same settings, or a new one."""
        files = self._adapters.files
        if restart:
            files.drop_work()
        plan = {"model": trainer.model_hash, "form": form_hash(), "seed": self._seed, "recipe": dict(trainer.recipe)}
        before = _read_json(files.work / _PLAN)
        other = [name for name in plan if before and before.get(name) != plan[name]]
        if other:
            raise Refusal(
                f"an unfinished consolidation with another {' and '.join(other)} is here ({self.phase})",
                code="other_consolidation",
                hint="finish it with its own options, or start again with --restart",
            )
        if not before:
            files.drop_work()
            files.work.mkdir(mode=0o700)
            _write_json(files.work / _PLAN, plan)
        return files.work

    def _dataset(self, work: Path) -> Dataset:
        """Return the dataset of this run; once written it stays the same, whatever is captured meanwhile."""
        if (work / _DATASET / MANIFEST).is_file():
            return self._read_dataset(work)
        self._progress("building the dataset", 0, 0)
        dataset = build(gather(self._store), held_out=HELD_OUT_SHARE)
        _write_json(work / SOURCES, list(dataset.manifest.trajectory_ids))
        dataset.write(work / _DATASET)
        return dataset

    def _read_dataset(self, work: Path) -> Dataset:
        """Read the dataset, check it again and compare it with the store: anybody could have written the files."""
        dataset = Dataset.read(work / _DATASET)
        refuse(examined(dataset))
        every = [*dataset.train, *dataset.held_out]
        task_of = {each.trajectory_id: each.task for each in every}
        known = {episode.id for episode in self._store.episodes()}
        now = {
            attempt.trajectory.id: example_of(attempt)
            for attempt in gather(self._store, named=lambda trajectory: task_of.get(trajectory.id, ""))
            if attempt.task_key and attempt.turns
        }
        changed = [
            each.trajectory_id
            for each in every
            if each.trajectory_id not in known or not _is_same(each, now.get(each.trajectory_id, each))
        ]
        if changed or set(task_of) != set(dataset.manifest.trajectory_ids):
            which = f" ({len(changed)} examples, such as {changed[0]})" if changed else ""
            raise Refusal(
                f"the dataset of the unfinished consolidation does not match the store{which}",
                code="dataset_changed",
                hint="start again with --restart",
            )
        return dataset

    # --- testing ------------------------------------------------------------------------------------------------

    def _test(self, adapter: Adapter, trainer: Trainer, regression_suite: Suite | None) -> ConsolidationResult:
        work = self._adapters.files.work
        self._adapters.require_unchanged(adapter.key)
        folder = self._adapters.find(adapter.key).folder
        actor = ModelActor(trainer.completer({adapter.key: folder}), name=trainer.model, adapter=adapter.key)
        dataset = self._read_dataset(work)
        if dataset.manifest.hash != adapter.dataset_hash:
            raise Refusal(
                f"the adapter {adapter.key} was trained on another dataset",
                code="other_dataset",
                hint="start again with --restart",
            )
        suite = self._test_suite(dataset)
        with self._test_memory(suite, work) as memory:
            arms = [ARMS[WITHOUT_ADAPTER], ARMS[WITH_ADAPTER]]
            advance = partial(self._progress, "testing")
            done = run_suite(suite, arms, actor, Aids(memory), folder=work / _TEST, progress=advance)
        comparison = compare(done.rows, reference=WITHOUT_ADAPTER)
        divergences = read_transcript(work / _TEST).divergences(done.rows, reference=WITHOUT_ADAPTER)
        own = [row for row in done.rows if row.arm == WITH_ADAPTER]
        margin = margin_over_constant(own, correct_tools(suite.exercises()))
        regression = None
        if regression_suite is not None:
            arms = [ARMS[REGRESSION_WITHOUT], ARMS[REGRESSION_WITH]]
            advance = partial(self._progress, "testing other work")
            done = run_suite(regression_suite, arms, actor, Aids(), folder=work / _REGRESSION, progress=advance)
            regression = compare(done.rows, reference=REGRESSION_WITHOUT)
        result = self._judge(adapter, comparison, regression, margin)
        return replace(result, left_out=suite.left_out, divergences=divergences)

    def _judge(
        self,
        adapter: Adapter,
        comparison: Comparison,
        regression: Comparison | None,
        margin: MarginOverConstant | None,
    ) -> ConsolidationResult:
        verdict = judge_arm(comparison, regression, arm=WITH_ADAPTER, margin=margin)
        report = json.dumps(plain([comparison, regression]), indent=1, ensure_ascii=False).encode()
        found = comparison.arm(WITH_ADAPTER).differences.get("success")
        # Many tests find a good adapter by chance, so the number of earlier ones is reported.
        tested = {each.key for each in self._store.entries(Judgement) if each.suite == comparison.suite}
        judgement = Judgement(
            key=adapter.key,
            at=self._now(),
            ruling=verdict.ruling,
            reason=verdict.reason,
            suite=comparison.suite,
            report_hash=hashlib.sha256(report).hexdigest(),
            tasks=found.groups if found else 0,
            difference=found.value if found else 0.0,
            low=found.low if found else 0.0,
            high=found.high if found else 0.0,
        )
        return ConsolidationResult(
            adapter=adapter,
            judgement=self._adapters.judge(judgement, report={"report.json": report}),
            comparison=comparison,
            regression=regression,
            tested_before=len(tested - {adapter.key}),
        )

    def _test_suite(self, dataset: Dataset) -> OwnSuite:
        """Return the test tasks as they were when the run began, without those that training tasks give away."""
        task_of = {each.trajectory_id: each.task for each in (*dataset.train, *dataset.held_out)}
        attempts = gather(self._store, named=lambda trajectory: task_of.get(trajectory.id, ""))
        kept = {task for task in dataset.manifest.held_out_tasks if is_test_task(task)}
        return without_given_away_tasks([each for each in attempts if each.task_key], held_out=kept)

    @contextmanager
    def _test_memory(self, suite: OwnSuite, work: Path) -> Iterator[Tacit]:
        """Yield a memory that learned from the other tasks only; it is kept, so that a continued test uses the same one."""
        folder, config = work / _MEMORY, self._memory.context.config
        if not (folder / "learned").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            advance = partial(self._progress, "learning skills for the test")
            with learned_memory(
                suite.training_trajectories(), config=config, progress=advance, store=_open_store_in(folder)
            ):
                pass
            (folder / "learned").touch()
        with Tacit(_open_store_in(folder), config=config) as memory:
            yield memory

    # --- files --------------------------------------------------------------------------------------------------

    @property
    def _work(self) -> Path | None:
        folders = adapter_folders(self._memory.context.place)
        return folders.work if folders else None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._adapters.files.locked(LOCK, wait=False) as free:
            if not free:
                raise Refusal(
                    "another consolidation is running here", code="consolidation_locked", hint="wait until it has ended"
                )
            yield


def is_test_task(task: str) -> bool:
    """Whether a held-out task is kept for the test; the same in every run."""
    return int.from_bytes(hashlib.sha256(f"proof:{task}".encode()).digest()[:8]) / 2**64 < TEST_SHARE


def without_test_tasks(dataset: Dataset) -> Dataset:
    """Return the part of a dataset that training may see: the training tasks and the validation tasks."""
    return replace(dataset, held_out=tuple(each for each in dataset.held_out if not is_test_task(each.task)))


def _is_same(held: Example, now: Example) -> bool:
    """Whether an example still matches its attempt; the list of tools may have grown with the store."""
    return held.messages[1:] == now.messages[1:] and held.silent == now.silent


def _open_store_in(folder: Path) -> Store:
    return open_store(str(folder / "tacit.db"))


def _write_json(path: Path, value: Any) -> None:
    write_atomically(path, json.dumps(value, indent=1, ensure_ascii=False).encode(), mode=0o600)


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
