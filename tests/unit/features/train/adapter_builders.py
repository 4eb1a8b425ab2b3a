"""Builders for tests of adapters: a memory in a file, and small trained folders as PEFT writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.domain.trajectory import StepResult, Trajectory
from tacit.features.evaluate.conversation import form_hash
from tacit.features.train.adapter import Adapter, AdapterRuling, Judgement
from tacit.features.train.adapter_registry import Adapters, NewAdapter
from tacit.store import open_store
from tests.unit.making import NOW, VERIFIED, attempt, shell

MODEL, MODEL_HASH = "small-model", "m1"


class Clock:
    """A minute passes each time somebody looks."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        self.at += timedelta(minutes=1)
        return self.at


def memory_at(folder: Path, *, file: str = "tacit.db") -> Tacit:
    """A memory whose store lies in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    place = StoreLocation(database=str(folder / file), project=folder, chosen_by="a test")
    return Tacit(open_store(place.database), place=place, clock=Clock())


def with_clock(memory: Tacit, clock: Callable[[], datetime]) -> Tacit:
    """The same memory with another clock."""
    return Tacit(memory.context.store, place=memory.context.place, clock=clock)


def open_adapters(memory: Tacit, *, model_hash: str = MODEL_HASH) -> Adapters:
    """The room, entered anew; the base model has this hash wherever it lies."""
    return Adapters(memory, model_hash=lambda name: model_hash)


def trained(folder: Path, *, weights: bytes = b"weights", alpha: int = 32) -> Path:
    """A folder as PEFT writes one."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"lora_alpha": alpha, "target_modules": ["q_proj", "v_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    (folder / "adapter_model.safetensors").write_bytes(weights)
    return folder


def birth(folder: Path, **fields: Any) -> NewAdapter:
    """Where an adapter comes from, with the given fields instead."""
    made = NewAdapter(
        folder=folder,
        model=MODEL,
        model_hash=MODEL_HASH,
        dataset_hash="d1",
        form_hash=form_hash(),
        tasks=120,
        trajectory_ids=("t_1",),
        records={"manifest.json": b"{}"},
    )
    return replace(made, **fields)


def registered(adapters: Adapters, folder: Path, *, weights: bytes = b"weights", **fields: Any) -> Adapter:
    """An adapter that was taken in."""
    return adapters.register(birth(trained(folder / weights.decode(), weights=weights), **fields), by="ann")


def judged_adapter(
    adapters: Adapters, adapter: Adapter, ruling: AdapterRuling = AdapterRuling.BETTER, *, reason: str = "as it went"
) -> Judgement:
    """What a test found of it."""
    found = Judgement(key=adapter.key, at=NOW, ruling=ruling, reason=reason, suite="own", tasks=40)
    return adapters.judge(found, report={"report.json": b"{}"})


def serving(adapters: Adapters, folder: Path, *, weights: bytes = b"weights", **fields: Any) -> Adapter:
    """An adapter that was taken in, found better, and serves."""
    adapter = registered(adapters, folder, weights=weights, **fields)
    judged_adapter(adapters, adapter)
    adapters.activate(adapter.key, by="ann")
    return adapter


def kept_attempt(memory: Tacit, *, session: str = "s1") -> Trajectory:
    """A verified attempt that the store holds."""
    made = replace(attempt(shell("pytest -q", StepResult.OK)), session_id=session, id="")
    memory.context.store.add_trajectory(made, VERIFIED, at=NOW)
    return made
