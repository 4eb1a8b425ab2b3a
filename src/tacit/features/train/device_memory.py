"""A device's memory: work in → its result, or word that there was too little memory for it. Decides nothing about sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tacit.domain.errors import ModelOutage

T = TypeVar("T")


def attempted(work: Callable[[], T], device: str) -> T | None:
    """What the work gives; nothing where the device's memory was not enough, which is then tidied up."""
    import torch

    try:
        return work()
    except RuntimeError as fault:
        if not isinstance(fault, torch.OutOfMemoryError) and "can't allocate memory" not in str(fault):
            raise
        # left first, since the exception holds on to all that the work had in memory
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return None


def out_of_memory(device: str) -> ModelOutage:
    """The error where even the least that can be done at once does not fit."""
    return ModelOutage(
        f"The memory of {device} is used up.",
        hint="Close what else uses it, choose a smaller --size, or set CUDA_VISIBLE_DEVICES= to use the processor. "
        "A run that was cut off goes on.",
    )
