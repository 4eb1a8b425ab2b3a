"""Which tasks are kept for the test of an adapter: by a lot of their own, now and for ever. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from tacit.features.train.dataset import Dataset

HELD_OUT_SHARE = 0.35
"""The part of the tasks that is not trained on: most of it for the test, the rest to stop the training by."""
PROOF_SHARE = 0.7
"""The part of those that is kept for the test."""


def is_proof(task: str) -> bool:
    """Whether a task that is held out is kept for the test, now and for ever."""
    return int.from_bytes(hashlib.sha256(f"proof:{task}".encode()).digest()[:8]) / 2**64 < PROOF_SHARE


def without_proof(dataset: Dataset) -> Dataset:
    """What a training may see: of the tasks that are held out, those that it is stopped by."""
    return replace(dataset, held_out=tuple(each for each in dataset.held_out if not is_proof(each.task)))
