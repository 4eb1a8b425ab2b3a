"""An adapter for the agent whose arms are measured: the successes that its memory learned from in, weights out.

Adapter and skills have had the same experience. Half of the examples carry skills, as an agent with a memory has them, from a
memory of the other half of the tasks, so that no task is shown a skill which it helped to make. What the gate says against
the dataset is noted and overridden, since the question is what happens then.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from _consolidation_data import AIDED, HELD_OUT

from tacit.api import Tacit
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.base_model import BaseModel
from tacit.features.evaluate.suite import AidKind, Exercise
from tacit.features.evaluate.suites.own import learned_memory
from tacit.features.evaluate.tool import Tool
from tacit.features.evaluate.verified_attempts import VerifiedAttempt, gather
from tacit.features.train.dataset import MANIFEST, Dataset, draft
from tacit.features.train.recipe import Recipe
from tacit.features.train.training import Progress, train

LONGEST = 8_192
"""An attempt that looks at everything before it mends anything takes 3,600 to 6,100 tokens. Cut to what a recipe usually
allows (2,048), all of them lose their end: the model would learn to look, and neither to mend nor to stop."""


class Lessons:
    """What an adapter is trained on: the successes in a memory."""

    def __init__(self, memory: Tacit, training: Sequence[Trajectory], tools: Sequence[Tool]) -> None:
        """`training` is what the memory learned from; `tools` are those that the agent will be told of."""
        self._training = list(training)
        self._tools = tuple(tools)
        self._attempts = gather(memory.context.store, tools=tools, named=lambda trajectory: trajectory.session_id)
        self._recalled: dict[str, str] = {}

    def taught(self, base: BaseModel, *, folder: Path, recipe: Recipe) -> dict[str, Any]:
        """Train an adapter into the folder, unless it is there; the recipe's seed draws the tasks too. Tells how it went."""
        started = time.perf_counter()
        dataset, against = self.drafted(folder / "dataset", seed=recipe.seed)
        drafted_s = time.perf_counter() - started
        done = train(dataset, base, folder=folder, recipe=recipe, progress=_say)
        return {
            "seed": recipe.seed,
            "tasks": dataset.manifest.tasks,
            "examples": len(dataset.train),
            "held_out": len(dataset.held_out),
            "dropped": dict(dataset.manifest.dropped),
            "gate": against,
            "recipe": recipe.as_text(),
            "drafting_s": round(drafted_s, 1),
            "training_s": done.seconds,
            "tokens": done.tokens,
            "steps": done.steps,
            "best_step": done.best_step,
            "stopped_early": done.stopped_early,
            "curve": [asdict(point) for point in done.curve],
        }

    def drafted(self, folder: Path, *, seed: int) -> tuple[Dataset, list[str]]:
        """The dataset of a seed, and the rules of the gate that speak against it; kept in the folder."""
        noted = folder / "against.txt"
        if (folder / MANIFEST).is_file() and noted.is_file():
            return Dataset.read(folder), noted.read_text("utf-8").splitlines()
        dice = random.Random(f"aid {seed}")
        carries = {attempt.task_key: dice.random() < AIDED for attempt in self._attempts}

        def aid(attempt: VerifiedAttempt) -> str:
            return self._aids[attempt.task_key] if carries[attempt.task_key] else ""

        dataset, against = draft(self._attempts, held_out=HELD_OUT, seed=seed, aid=aid)
        folder.mkdir(parents=True, exist_ok=True)
        noted.write_text("".join(f"{each.rule}: {' '.join(each.reason.split())}\n" for each in against), "utf-8")
        dataset.write(folder)
        return dataset, noted.read_text("utf-8").splitlines()

    @property
    def _aids(self) -> dict[str, str]:
        """Task → the skills for it that a memory of the other half recalls; every seed has the same halves."""
        if not self._recalled:
            tasks = sorted({_task(each.session_id) for each in self._training})
            first = set(tasks[0::2])
            for side in (True, False):
                aids = Aids(
                    learned_memory(each for each in self._training if (_task(each.session_id) in first) is not side)
                )
                for attempt in self._attempts:
                    if (_task(attempt.task_key) in first) is side:
                        asked = Exercise(key="", group="", task=attempt.trajectory.task.text, tools=self._tools)
                        self._recalled[attempt.task_key] = aids.aid(AidKind.SKILLS, asked).text
        return self._recalled


def recipe_of(size: str, *, seed: int) -> Recipe:
    """The usual recipe for this size, with room for whole attempts."""
    return replace(Recipe.of(size), longest_tokens=LONGEST, seed=seed)


def _task(session_id: str) -> str:
    """Which task an attempt was made at: its id without what tells the attempts at one task apart."""
    return session_id.rpartition("-")[0] or session_id


def _say(progress: Progress) -> None:
    held_out = "–" if progress.held_out is None else f"{progress.held_out:.4f}"
    print(
        f"step {progress.step} of {progress.steps}, held out {held_out}, {progress.tokens_per_s:,.0f} tokens/s, "
        f"{progress.left_s:.0f} s left",
        flush=True,
    )
