"""What this machine has for training: the packages, and a GPU or not. Nothing in, words out. Loads no model."""

from __future__ import annotations

from importlib.util import find_spec

from tacit.features.train.foundation import INSTALL

__all__ = ["INSTALL", "device", "missing"]
PACKAGES = ("torch", "transformers", "peft")


def missing(base: str = "") -> list[str]:
    """The packages that training needs and that are not installed; a *.gguf file as the base needs one more."""
    needed = (*PACKAGES, "gguf") if base.endswith(".gguf") else PACKAGES
    return [package for package in needed if not find_spec(package)]


def device() -> str:
    """Where training would run: `cuda` or `cpu`."""
    if not find_spec("torch"):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
