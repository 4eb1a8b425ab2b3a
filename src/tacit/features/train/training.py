"""Trains an adapter: a dataset and a base model → the weights that were best on held-out tasks, and the curve of losses.

An interrupted training continues from its last checkpoint, and on a processor ends with exactly the same weights.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from tacit.config.files import write_atomically
from tacit.domain.errors import Refusal
from tacit.features.evaluate.base_model import BaseModel, base_model_hash, load_base_model, require_train_extra
from tacit.features.evaluate.conversation import form_hash
from tacit.features.evaluate.local_model import ADAPTER_WEIGHTS
from tacit.features.train.dataset import Dataset
from tacit.features.train.examples import Example
from tacit.features.train.lora_learner import Learner, adapted, encode_all, learner_state, rate_at, step_at
from tacit.features.train.recipe import Recipe

CHECKPOINT, CURVE, TRAINED = "checkpoint.pt", "curve.json", "trained.json"
GAIN = 0.002
"""Share by which the held-out loss must fall to count as a gain."""
PROGRESS_INTERVAL_S = 2.0


@dataclass(frozen=True, slots=True)
class Point:
    """One evaluation during a training."""

    step: int
    trained: float | None
    """Mean loss of the steps since the last evaluation; None before the first step."""
    held_out: float | None
    """Mean loss on held-out tasks, if there are any."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a training."""

    step: int
    steps: int
    loss: float | None
    held_out: float | None
    tokens_per_s: float
    left_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A finished adapter and its figures."""

    folder: Path
    weights_hash: str
    base_hash: str
    dataset_hash: str
    form_hash: str
    curve: tuple[Point, ...]
    best_held_out: float | None
    best_step: int
    examples: int
    steps: int
    tokens: int
    seconds: float
    stopped_early: bool


@dataclass(slots=True)
class _TrainingState:
    """What a checkpoint holds besides the weights."""

    step: int = 0
    curve: list[Point] = field(default_factory=list)
    best: float = math.inf
    best_step: int = 0
    without_gain: int = 0
    tokens: int = 0
    seconds: float = 0.0
    loss: Any = 0.0
    """Summed loss since the last evaluation."""
    learned: int = 0


def train(
    dataset: Dataset,
    base: BaseModel | str,
    *,
    folder: Path,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    start: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train an adapter in this folder; returns at once if it is finished, and continues if it was interrupted.

    It starts from the weights of the adapter in `start`, if given.
    """
    require_train_extra()
    if not dataset.train:
        raise Refusal("the dataset is empty", code="empty_dataset")
    base_hash = base.hash if isinstance(base, BaseModel) else base_model_hash(base)
    settings = {
        "base": base_hash,
        "dataset": dataset.manifest.hash,
        "form": form_hash(),
        **({"start": _file_sha256(start / ADAPTER_WEIGHTS)} if start else {}),
        **recipe.as_text(),
    }
    if finished := _finished_training(folder, settings):
        return finished
    folder.mkdir(parents=True, exist_ok=True)
    foundation = base if isinstance(base, BaseModel) else load_base_model(base)
    with adapted(foundation, recipe) as learner:
        if start:
            learner.load(start)
        training = _Training(learner, dataset, folder=folder, settings=settings)
        training.run(progress or (lambda _: None))
        return training.keep()


class _Training:
    """A running training."""

    def __init__(self, learner: Learner, dataset: Dataset, *, folder: Path, settings: dict[str, str]) -> None:
        tokenizer, recipe = learner.base.tokenizer, learner.recipe
        self.learner, self.recipe, self.folder, self.settings = learner, recipe, folder, settings
        longest = recipe.within(learner.base.context_tokens).longest_tokens
        self.examples = encode_all(dataset.train, tokenizer, longest=longest)
        _require_most_fit(len(self.examples), dataset, longest=longest)
        held_out = _sample_evenly(dataset.held_out, recipe.held_out_examples)
        self.held_out = encode_all(held_out, tokenizer, longest=longest)
        self.lengths = [len(example.ids) for example in self.examples]
        self.steps = recipe.steps(len(self.examples))
        self.every = max(1, self.steps // recipe.checks)
        self.state = _TrainingState()
        self.best_weights: list[Any] = learner.copy()
        self._resume()

    @property
    def over(self) -> bool:
        """Whether all steps are done, or there is no more gain."""
        return self.state.step >= self.steps or self.state.without_gain >= self.recipe.patience

    def run(self, progress: Callable[[Progress], None]) -> None:
        """Make all remaining steps."""
        state, begun, before = self.state, time.monotonic(), self.state.seconds
        first, saved, reported = state.step, begun, -math.inf
        if not state.curve:
            self._evaluate()
        while not self.over:
            self._step()
            now = time.monotonic()
            state.seconds = before + now - begun
            looked = state.step % self.every == 0 or state.step == self.steps
            if looked:
                self._evaluate()
            if looked or now - reported >= PROGRESS_INTERVAL_S:
                reported = now
                progress(self._progress_now((now - begun) / (state.step - first)))
            if now - saved >= self.recipe.checkpoint_s and not self.over:
                self._save()
                saved = time.monotonic()
        state.seconds = before + time.monotonic() - begun

    def keep(self) -> Trained:
        """Write the best adapter, its curve and its record; the record comes last and marks it as complete."""
        state = self.state
        self.learner.restore(self.best_weights)
        half_done = self.folder / "writing"
        shutil.rmtree(half_done, ignore_errors=True)
        half_done.mkdir()
        self.learner.save(half_done)
        for file in half_done.iterdir():
            _settle(file, self.folder / file.name)
        half_done.rmdir()
        done = Trained(
            folder=self.folder,
            weights_hash=_file_sha256(self.folder / ADAPTER_WEIGHTS),
            base_hash=self.settings["base"],
            dataset_hash=self.settings["dataset"],
            form_hash=self.settings["form"],
            curve=tuple(state.curve),
            best_held_out=state.best if self.held_out else None,
            best_step=state.best_step,
            examples=len(self.examples),
            steps=state.step,
            tokens=state.tokens,
            seconds=round(state.seconds, 2),
            stopped_early=state.step < self.steps,
        )
        record = {name: value for name, value in asdict(done).items() if name not in {"folder", "curve"}}
        write_atomically(self.folder / CURVE, _json([asdict(point) for point in done.curve]))
        write_atomically(self.folder / TRAINED, _json({"marks": self.settings, **record}))
        (self.folder / CHECKPOINT).unlink(missing_ok=True)
        return done

    def _step(self) -> None:
        state = self.state
        chosen = step_at(self.lengths, state.step, examples=self.recipe.examples_a_step, seed=self.recipe.seed)
        examples = [self.examples[one] for one in chosen]
        rate = rate_at(state.step, self.steps, self.recipe)
        state.loss = state.loss + self.learner.step(examples, rate=rate, dice=self.recipe.seed * 1_000_003 + state.step)
        state.learned += sum(example.learned for example in examples)
        state.tokens += sum(len(example.ids) for example in examples)
        state.step += 1

    def _evaluate(self) -> None:
        state = self.state
        held_out = self.learner.evaluate(self.held_out) if self.held_out else None
        trained = float(state.loss) / state.learned if state.learned else None
        if not all(math.isfinite(loss) for loss in (trained, held_out) if loss is not None):
            raise Refusal(
                f"training diverged at step {state.step}: the loss is not a number",
                code="training_diverged",
                hint="Use a lower rate.",
            )
        state.curve.append(Point(state.step, trained, held_out))
        state.loss, state.learned = 0.0, 0
        if held_out is None or held_out < state.best * (1 - GAIN):
            state.best = math.inf if held_out is None else held_out
            state.best_step, state.without_gain = state.step, 0
            self.best_weights = self.learner.copy()
        else:
            state.without_gain += 1

    def _progress_now(self, step_s: float) -> Progress:
        state = self.state
        last = next((point for point in reversed(state.curve) if point.step), state.curve[-1])
        speed = state.tokens / state.seconds if state.seconds else 0.0
        return Progress(state.step, self.steps, last.trained, last.held_out, speed, step_s * (self.steps - state.step))

    def _save(self) -> None:
        import torch

        state = {each.name: getattr(self.state, each.name) for each in fields(self.state)}
        state["curve"] = [asdict(point) for point in self.state.curve]
        half_done = self.folder / f"{CHECKPOINT}.new"
        held = {
            "marks": self.settings,
            "course": state,
            "best_weights": self.best_weights,
            **learner_state(self.learner),
        }
        torch.save(held, half_done)
        _settle(half_done, self.folder / CHECKPOINT)

    def _resume(self) -> None:
        import torch

        path = self.folder / CHECKPOINT
        if not path.is_file():
            return
        held = torch.load(path, map_location=self.learner.base.device, weights_only=True)
        _require_same_settings(held["marks"], self.settings, self.folder)
        self.learner.restore(held["weights"])
        self.learner.optimizer.load_state_dict(held["optimizer"])
        self.learner.most_tokens = held.get("most_tokens", self.learner.most_tokens)
        self.best_weights = held["best_weights"]
        curve = [Point(**point) for point in held["course"].pop("curve")]
        self.state = _TrainingState(curve=curve, **held["course"])


def _finished_training(folder: Path, settings: dict[str, str]) -> Trained | None:
    path = folder / TRAINED
    if not path.is_file():
        return None
    held = json.loads(path.read_text(encoding="utf-8"))
    _require_same_settings(held.pop("marks"), settings, folder)
    if _file_sha256(folder / ADAPTER_WEIGHTS) != held["weights_hash"]:
        raise Refusal(
            f"the weights in {folder} are not the ones that were trained there",
            code="weights_changed",
            hint="Remove the folder.",
        )
    curve = json.loads((folder / CURVE).read_text(encoding="utf-8"))
    return Trained(folder=folder, curve=tuple(Point(**point) for point in curve), **held)


def _require_same_settings(held: dict[str, str], settings: dict[str, str], folder: Path) -> None:
    """Refuse to continue with another dataset, base model, seed or recipe."""
    other = [name for name in settings if held.get(name) != settings[name]]
    if other:
        raise Refusal(
            f"{folder} holds another training: it differs in {', '.join(other)}",
            code="other_training",
            hint="Remove it, or use another folder.",
        )


def _require_most_fit(fitting: int, dataset: Dataset, *, longest: int) -> None:
    """Refuse if so many examples are too long that the rest is not a sample of the work."""
    every, manifest = len(dataset.train), dataset.manifest
    if not fitting or manifest.lost_to_length(every - fitting, every) > manifest.policy.most_faulty:
        gone = manifest.dropped.get("too_long", 0)
        before = f", and {gone} longer ones were left out before" if gone else ""
        raise Refusal(
            f"{every - fitting} of {every} examples are longer than the context of {longest:,} tokens{before}",
            code="too_long",
            hint="Take a base model with a longer context. None is cut: without its end it would teach to stop too soon.",
        )


def _sample_evenly(items: Sequence[Example], most: int) -> list[Example]:
    """Return at most this many items, evenly spaced."""
    return list(items) if len(items) <= most else [items[number * len(items) // most] for number in range(most)]


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _settle(half_done: Path, path: Path) -> None:
    """Let a file that a library has written take its place, once it is on disk."""
    with half_done.open("rb") as file:
        os.fsync(file.fileno())
    half_done.replace(path)
