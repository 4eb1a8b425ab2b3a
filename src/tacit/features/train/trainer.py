"""Training an adapter on a base model, and asking the model with and without it. The model is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tacit.features.evaluate.actors.model_agent import Completer
from tacit.features.evaluate.base_model import BaseModel, base_model_hash, load_base_model
from tacit.features.train.dataset import Dataset

if TYPE_CHECKING:
    from tacit.features.train.recipe import Recipe

Advance = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedFolder:
    """The files and figures of a finished training."""

    folder: Path
    """A PEFT folder."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    records: Mapping[str, bytes] = field(default_factory=dict)
    """Further files to keep, such as the curve of losses."""


class Trainer(Protocol):
    """A base model that can be trained and asked; tests use one without torch."""

    @property
    def model(self) -> str:
        """The name of the base model."""

    @property
    def model_hash(self) -> str:
        """The hash of the base model."""

    @property
    def recipe(self) -> Mapping[str, str]:
        """The settings of the training."""

    def train(self, dataset: Dataset, folder: Path, *, seed: int, advance: Advance) -> TrainedFolder:
        """Train an adapter, or continue the training in the folder."""

    def completer(self, adapters: Mapping[str, Path]) -> Completer:
        """Return the model with adapters by their keys; refused if files do not match their key."""


class LocalTrainer:
    """Trains on this machine; needs the extra `train`."""

    def __init__(self, model: str, recipe: Recipe, *, device: str = "") -> None:
        self.model = model
        self._recipe = recipe
        self._device = device

    @cached_property
    def model_hash(self) -> str:
        """The hash of the base model."""
        return base_model_hash(self.model)

    @property
    def recipe(self) -> Mapping[str, str]:
        """The settings of the training."""
        return self._recipe.as_text()

    @cached_property
    def _base(self) -> BaseModel:
        return load_base_model(self.model, device=self._device)

    def train(self, dataset: Dataset, folder: Path, *, seed: int, advance: Advance) -> TrainedFolder:
        """Train an adapter, or continue the training in the folder."""
        from tacit.features.train.training import CURVE, train

        done = train(
            dataset,
            self._base,
            folder=folder,
            recipe=replace(self._recipe, seed=seed),
            progress=lambda now: advance(now.step, now.steps),
        )
        figures = {
            "held_out_loss": done.best_held_out,
            "examples": done.examples,
            "left_out": len(dataset.train) - done.examples,
            "steps": done.steps,
            "tokens": done.tokens,
            "seconds": done.seconds,
        }
        metrics = {name: float(value) for name, value in figures.items() if value is not None and isfinite(value)}
        return TrainedFolder(folder=done.folder, metrics=metrics, records={CURVE: (done.folder / CURVE).read_bytes()})

    def completer(self, adapters: Mapping[str, Path]) -> Completer:
        """Return the model with adapters by their keys; the loaded bytes are compared with the key."""
        from tacit.features.evaluate.local_model import LocalModel

        model = LocalModel(self._base)
        for key, folder in adapters.items():
            model.add(key, folder, key=key)
        return model
