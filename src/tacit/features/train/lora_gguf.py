"""A trained adapter in, one GGUF file out that llama.cpp lays over the same base model.

llama.cpp turns the heads of queries and keys another way round than the model's own code, so those two are turned; all else is
renamed and laid down as it is. For models of the llama family; others are refused. Needs neither torch nor a GGUF package.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.domain.errors import Mistake, Refusal
from tacit.features.train.foundation import INSTALL, Facts, Foundation, foundation_facts
from tacit.features.train.generating import read_config
from tacit.features.train.gguf_header import MAGIC, SCALARS, STRING
from tacit.features.train.learner import WEIGHTS

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
"""The format's number for plain 32-bit numbers."""
_FLOAT = 6
_LAYER = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(.+)\.lora_([AB])\.weight")


def export_gguf(adapter: Path, base: Foundation | str, out: Path) -> Path:
    """The adapter in this folder as a GGUF file at `out`."""
    config = read_config(adapter)
    facts = foundation_facts(base.name if isinstance(base, Foundation) else base)
    if facts.architecture not in ARCHITECTURES:
        raise Refusal(
            f"Adapters for models of the family {facts.architecture!r} cannot be written for llama.cpp here.",
            hint="Serve it with PEFT or vLLM, or convert it with llama.cpp's own convert_lora_to_gguf.py.",
        )
    try:
        from safetensors.numpy import load_file
    except ImportError as fault:
        raise Mistake("Writing an adapter for llama.cpp needs safetensors.", hint=INSTALL) from fault
    held = load_file(adapter / WEIGHTS)
    tensors = dict(_laid(name, held[name], facts) for name in sorted(held))
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
        for part in _file(stated, tensors):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    return half_done.replace(out)


def _laid(name: str, values: numpy.ndarray[Any, Any], facts: Facts) -> tuple[str, numpy.ndarray[Any, Any]]:
    """A matrix of the adapter under llama.cpp's name, turned where llama.cpp has it turned."""
    found = _LAYER.fullmatch(name)
    if not found or found[2] not in NAMES:
        raise Refusal(f"The adapter bends a weight that llama.cpp's form has no name for: {name}.")
    layer, module, side = found.groups()
    if side == "B" and module.endswith(("q_proj", "k_proj")):
        values = turned(values, facts.heads if module.endswith("q_proj") else facts.key_heads)
    return f"blk.{layer}.{NAMES[module]}.weight.lora_{side.lower()}", values.astype("<f4")


def turned(values: numpy.ndarray[Any, Any], heads: int) -> numpy.ndarray[Any, Any]:
    """Rows of each head with its two halves interleaved: how llama.cpp keeps what is rotated by position."""
    rows, *rest = values.shape
    if not heads or rows % (2 * heads):
        raise Refusal(f"The adapter does not fit its base model: {rows} rows cannot be shared by {heads} heads.")
    return values.reshape(heads, 2, rows // heads // 2, *rest).swapaxes(1, 2).reshape(values.shape)


def _file(stated: Mapping[str, str | float], tensors: Mapping[str, numpy.ndarray[Any, Any]]) -> Sequence[bytes]:
    """Header, facts, the list of tensors, and their numbers, each begun at a multiple of the alignment."""
    head = MAGIC + struct.pack("<IQQ", VERSION, len(tensors), len(stated))
    for name, value in stated.items():
        kind = STRING if isinstance(value, str) else _FLOAT
        head += _text(name) + struct.pack("<I", kind)
        head += _text(value) if isinstance(value, str) else struct.pack(SCALARS[_FLOAT], value)
    at = 0
    for name, values in tensors.items():
        sizes = values.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, FLOAT32, at)
        at += _room(values.nbytes)
    parts = [head.ljust(_room(len(head)), b"\0")]
    return [*parts, *(values.tobytes().ljust(_room(values.nbytes), b"\0") for values in tensors.values())]


def _text(text: str) -> bytes:
    said = text.encode()
    return struct.pack("<Q", len(said)) + said


def _room(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT
