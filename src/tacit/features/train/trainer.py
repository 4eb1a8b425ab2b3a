"""What a consolidation needs of a base model: to train an adapter on it, and to ask it with and without. Loads it when needed.

`Workshop` is the seam; `LocalWorkshop` does it on this machine with the extra `train`. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tacit.features.evaluate.actors.model import Completer
from tacit.features.evaluate.base_model import BaseModel, base_model_hash, load_base_model
from tacit.features.train.dataset import Dataset

if TYPE_CHECKING:
    from tacit.features.train.recipe import Recipe

Advance = Callable[[int, int], None]
"""Told how much is done, of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedFolder:
    """What training left."""

    folder: Path
    """A PEFT folder."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    records: Mapping[str, bytes] = field(default_factory=dict)
    """Such as the curve of losses."""


class Trainer(Protocol):
    """A base model to work on."""

    @property
    def model(self) -> str:
        """The base model as it is named."""

    @property
    def model_hash(self) -> str:
        """What identifies it."""

    @property
    def recipe(self) -> Mapping[str, str]:
        """How it trains, in words."""

    def train(self, dataset: Dataset, folder: Path, *, seed: int, advance: Advance) -> TrainedFolder:
        """Train an adapter, or go on with what lies in the folder."""

    def completer(self, adapters: Mapping[str, Path]) -> Completer:
        """The model to be asked, with adapters by their keys; refused where what is loaded is not what the key names."""


class LocalTrainer:
    """A base model on this machine."""

    def __init__(self, model: str, recipe: Recipe, *, device: str = "") -> None:
        self.model = model
        self._recipe = recipe
        self._device = device

    @cached_property
    def model_hash(self) -> str:
        """What identifies the base model."""
        return base_model_hash(self.model)

    @property
    def recipe(self) -> Mapping[str, str]:
        """How it trains, in words."""
        return self._recipe.as_text()

    @cached_property
    def _foundation(self) -> BaseModel:
        return load_base_model(self.model, device=self._device)

    def train(self, dataset: Dataset, folder: Path, *, seed: int, advance: Advance) -> TrainedFolder:
        """Train an adapter, or go on with what lies in the folder."""
        from tacit.features.train.training import CURVE, train

        done = train(
            dataset,
            self._foundation,
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
        """The model to be asked, with adapters by their keys: the bytes that are loaded are held against them."""
        from tacit.features.evaluate.local_model import LocalModel

        model = LocalModel(self._foundation)
        for key, folder in adapters.items():
            model.add(key, folder, key=key)
        return model
