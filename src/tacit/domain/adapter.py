"""Adapters: small sets of weights that a base model was given from verified experience, and what became of them.

All three are ledger entries. An adapter rests on the trajectories that it was trained on: where one of them is purged, its
entry goes too, and its files with it. It serves only while the last activation of its base names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from tacit.domain.ledger import Entry


class AdapterRuling(StrEnum):
    """What a paired test says of an adapter."""

    BETTER = "better"
    NO_BETTER = "no better"
    WORSE = "worse"
    WORSE_ELSEWHERE = "worse elsewhere"
    TOO_LITTLE = "too little to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter(Entry):
    """A trained adapter; its key is the hash of its weights. `sources` are the trajectories it was trained on."""

    SORT: ClassVar[str] = "adapter"

    base: str
    """The base model as it was named: a folder, a GGUF file or a hub id."""
    base_hash: str
    dataset_hash: str
    form_hash: str
    """The form of conversation that it was trained in."""
    tasks: int
    recipe: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    removed: str = ""
    """Why its files were taken away; empty while it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Entry):
    """What a paired test found of an adapter; its key is the adapter's."""

    SORT: ClassVar[str] = "judgement"

    ruling: AdapterRuling
    reason: str
    suite: str = ""
    report_hash: str = ""
    tasks: int = 0
    difference: float = 0.0
    """Adapter with skills less skills alone, in the share of successes."""
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation(Entry):
    """From now on this adapter serves its base model, or none does; its key is the base's hash."""

    SORT: ClassVar[str] = "activation"

    adapter: str = ""
    """Key of the adapter that serves from now on; empty: none."""
    undone: str = ""
    """Key of the adapter that this takes back; empty: it takes nothing back."""
    reason: str = ""


class Size(StrEnum):
    """The one dial of training: how much an adapter can hold, and how long it is trained."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
