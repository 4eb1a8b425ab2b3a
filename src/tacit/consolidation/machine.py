"""What this machine has for training: the packages, and a GPU or not. Nothing in, words out. Loads no model."""

from __future__ import annotations

from importlib.util import find_spec

from tacit.consolidation.foundation import INSTALL

__all__ = ["INSTALL", "device", "missing"]
PACKAGES = ("torch", "transformers", "peft")


def missing() -> list[str]:
    """The packages that training needs and that are not installed."""
    return [package for package in PACKAGES if not find_spec(package)]


def device() -> str:
    """Where training would run: `cuda` or `cpu`."""
    if not find_spec("torch"):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
