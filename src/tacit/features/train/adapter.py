"""Ledger entries of adapters: weights that a base model gained from verified work, their tests and activations.

If a trajectory that an adapter was trained on is purged, its entries and files are removed too. The last activation of a
base model names the active adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from tacit.domain.ledger import LedgerEntry


class AdapterRuling(StrEnum):
    """The result of a paired test."""

    BETTER = "better"
    NO_BETTER = "no better"
    WORSE = "worse"
    WORSE_ELSEWHERE = "worse elsewhere"
    TOO_LITTLE = "too little to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter(LedgerEntry):
    """A trained adapter; its key is the hash of its files, `sources` are the trajectories it was trained on."""

    SORT: ClassVar[str] = "adapter"

    base: str
    """The base model as it was named: a folder, a GGUF file or a hub id."""
    base_hash: str
    dataset_hash: str
    form_hash: str
    """The prompt format that it was trained with."""
    tasks: int
    recipe: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    removed: str = ""
    """Why its files were removed; empty if they were not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(LedgerEntry):
    """The result of a paired test; its key is the adapter's."""

    SORT: ClassVar[str] = "judgement"

    ruling: AdapterRuling
    reason: str
    suite: str = ""
    report_hash: str = ""
    tasks: int = 0
    difference: float = 0.0
    """Success with skills and adapter less success with skills alone."""
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation(LedgerEntry):
    """From now on this adapter is active for its base model, or none is; its key is the base model's hash."""

    SORT: ClassVar[str] = "activation"

    adapter: str = ""
    """Key of the adapter that is active from now on; empty for none."""
    undone: str = ""
    """Key of the adapter that this deactivates; empty for none."""
    reason: str = ""
