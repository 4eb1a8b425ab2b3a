"""Exports an adapter for PEFT and vLLM (its two files) or for llama.cpp (one GGUF file).

Only weights and settings are exported, no manifests and reports. For llama.cpp the heads of queries and keys are reordered;
only models of the llama family are supported. Needs neither torch nor a GGUF package.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.domain.errors import Mistake, Refusal, StoreOutage
from tacit.features.evaluate.base_model import INSTALL, MAGIC, SCALARS, STRING, BaseModel, ModelFacts, base_model_facts
from tacit.features.evaluate.local_model import ADAPTER_SETTINGS, ADAPTER_WEIGHTS, read_adapter_settings

EXPORT_FORMATS = ("peft", "gguf")
GGUF_FILE = "adapter.gguf"


def export_files(source: Path, folder: Path, *, form: str, model: str) -> list[Path]:
    """Write the files into a new or empty folder; return them. `model` is the base model, for GGUF."""
    if form not in EXPORT_FORMATS:
        raise Mistake(
            f"{form!r} is not an adapter format", code="unknown_format", hint=f"use one of: {', '.join(EXPORT_FORMATS)}"
        )
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise Mistake(f"{folder} is not an empty folder", code="folder_not_empty", hint="name one that is new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if form == "gguf":
            return [_export_gguf_file(source, model, folder / GGUF_FILE)]
        for name in (ADAPTER_SETTINGS, ADAPTER_WEIGHTS):
            shutil.copyfile(source / name, folder / name)
    except OSError as error:
        why = error.strerror or os.strerror(error.errno or 0)
        raise StoreOutage(f"cannot write {folder}: {why}", code="not_written", hint="choose another folder") from error
    return [folder / name for name in (ADAPTER_SETTINGS, ADAPTER_WEIGHTS)]


def _export_gguf_file(source: Path, model: str, out: Path) -> Path:
    from tacit.features.train.export import export_gguf

    return export_gguf(source, model, out)


if TYPE_CHECKING:
    import numpy

ARCHITECTURES = ("llama",)
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
ALIGNMENT = 32
VERSION = 3
FLOAT32 = 0
"""The format's number for 32-bit floats."""
_FLOAT = 6
_LAYER = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(.+)\.lora_([AB])\.weight")


def export_gguf(adapter: Path, base: BaseModel | str, out: Path) -> Path:
    """Write the adapter in this folder as a GGUF file at `out`."""
    config = read_adapter_settings(adapter)
    facts = base_model_facts(base.name if isinstance(base, BaseModel) else base)
    if facts.architecture not in ARCHITECTURES:
        raise Refusal(
            f"adapters of {facts.architecture!r} models cannot be written for llama.cpp",
            code="unsupported_model",
            hint="Serve it with PEFT or vLLM, or convert it with llama.cpp's own convert_lora_to_gguf.py.",
        )
    try:
        from safetensors.numpy import load_file
    except ImportError as fault:
        raise Mistake(
            "writing an adapter for llama.cpp needs safetensors", code="missing_package", hint=INSTALL
        ) from fault
    held = load_file(adapter / ADAPTER_WEIGHTS)
    tensors = dict(_renamed_tensor(name, held[name], facts) for name in sorted(held))
    stated: dict[str, str | float] = {
        "general.architecture": facts.architecture,
        "general.type": "adapter",
        "general.name": adapter.name,
        "adapter.type": "lora",
        "adapter.lora.alpha": float(config["lora_alpha"]),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    half_done = out.with_name(f"{out.name}.new")
    with half_done.open("wb") as file:
        for part in _gguf_parts(stated, tensors):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    return half_done.replace(out)


def _renamed_tensor(
    name: str, values: numpy.ndarray[Any, Any], facts: ModelFacts
) -> tuple[str, numpy.ndarray[Any, Any]]:
    """Return a matrix under llama.cpp's name, reordered if needed."""
    found = _LAYER.fullmatch(name)
    if not found or found[2] not in NAMES:
        raise Refusal(
            f"the adapter changes a weight that llama.cpp adapters do not support: {name}", code="unsupported_adapter"
        )
    layer, module, side = found.groups()
    if side == "B" and module.endswith(("q_proj", "k_proj")):
        values = interleave_halves(values, facts.heads if module.endswith("q_proj") else facts.key_heads)
    return f"blk.{layer}.{NAMES[module]}.weight.lora_{side.lower()}", values.astype("<f4")


def interleave_halves(values: numpy.ndarray[Any, Any], heads: int) -> numpy.ndarray[Any, Any]:
    """Interleave both halves of each head's rows, as llama.cpp expects it."""
    rows, *rest = values.shape
    if not heads or rows % (2 * heads):
        raise Refusal(
            f"the adapter does not fit its base model: {rows} rows cannot be split into {heads} heads",
            code="adapter_does_not_fit",
        )
    return values.reshape(heads, 2, rows // heads // 2, *rest).swapaxes(1, 2).reshape(values.shape)


def _gguf_parts(stated: Mapping[str, str | float], tensors: Mapping[str, numpy.ndarray[Any, Any]]) -> Sequence[bytes]:
    """Return header, metadata, the list of tensors, and their data, each aligned."""
    head = MAGIC + struct.pack("<IQQ", VERSION, len(tensors), len(stated))
    for name, value in stated.items():
        kind = STRING if isinstance(value, str) else _FLOAT
        head += _gguf_string(name) + struct.pack("<I", kind)
        head += _gguf_string(value) if isinstance(value, str) else struct.pack(SCALARS[_FLOAT], value)
    at = 0
    for name, values in tensors.items():
        sizes = values.shape[::-1]
        head += _gguf_string(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, FLOAT32, at)
        at += _aligned(values.nbytes)
    parts = [head.ljust(_aligned(len(head)), b"\0")]
    return [*parts, *(values.tobytes().ljust(_aligned(values.nbytes), b"\0") for values in tensors.values())]


def _gguf_string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT
