"""An adapter for other programs: its folder here → the files that PEFT, vLLM or llama.cpp load. Changes nothing here.

Only the weights and their settings leave. What they were trained on stays: neither manifests nor reports go with them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tacit.domain.errors import Mistake, StoreOutage
from tacit.features.train.adapter_files import SETTINGS, WEIGHTS

FORMS = ("peft", "gguf")
GGUF = "adapter.gguf"


def export(source: Path, folder: Path, *, form: str, model: str) -> list[Path]:
    """Write the files into a folder that is new or empty; what was written. `model` is the base model, for GGUF."""
    if form not in FORMS:
        raise Mistake(f"{form!r} is no form of an adapter", hint=f"use one of: {', '.join(FORMS)}")
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise Mistake(f"{folder} is not an empty folder", hint="name one that is new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if form == "gguf":
            return [_as_gguf(source, model, folder / GGUF)]
        for name in (SETTINGS, WEIGHTS):
            shutil.copyfile(source / name, folder / name)
    except OSError as error:
        why = error.strerror or os.strerror(error.errno or 0)
        raise StoreOutage(f"cannot write {folder}: {why}", hint="choose another folder") from error
    return [folder / name for name in (SETTINGS, WEIGHTS)]


def _as_gguf(source: Path, model: str, out: Path) -> Path:
    from tacit.features.train.lora_gguf import export_gguf

    return export_gguf(source, model, out)
