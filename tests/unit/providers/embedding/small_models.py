"""Models small enough to be made in a test: random but always the same numbers, in folders as the real ones have."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

WORDS = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the add a column to table drop ##s ##ing run test fix , . - é 日 本 deploy".split()
)
WIDTH, HEADS, LAYERS, INNER, PLACES = 32, 4, 2, 64, 24
CONFIG = {
    "_name_or_path": "makers/Tiny-L2", "model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
    "max_position_embeddings": PLACES, "vocab_size": len(WORDS), "layer_norm_eps": 1e-12,
}  # fmt: skip
KINDS = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "int8": "I8"}


def write_safetensors(path: Path, tensors: Mapping[str, Any]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in tensors.items():
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": KINDS[str(array.dtype)], "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]
        }  # fmt: skip
        body += data
    write_raw(path, json.dumps(header).encode(), body)


def write_raw(path: Path, header: bytes, body: bytes = b"", *, length: int | None = None) -> None:
    path.write_bytes(struct.pack("<Q", len(header) if length is None else length) + header + body)


def bert_tensors(seed: int = 7) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{at}{name}.weight": (WIDTH, WIDTH), f"{at}{name}.bias": (WIDTH,)}
        shapes |= {f"{at}intermediate.dense.weight": (INNER, WIDTH), f"{at}intermediate.dense.bias": (INNER,)}
        shapes |= {f"{at}output.dense.weight": (WIDTH, INNER), f"{at}output.dense.bias": (WIDTH,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{at}{name}.weight": (WIDTH,), f"{at}{name}.bias": (WIDTH,)}
    return {name: random.normal(0.1, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def bert_folder(folder: Path, *, tensors: Mapping[str, Any] | None = None, **config: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    write_safetensors(folder / "model.safetensors", bert_tensors() if tensors is None else tensors)
    return folder


def tokenizer(**normalizer: Any) -> dict[str, Any]:
    return {
        "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None, **normalizer},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "vocab": {word: place for place, word in enumerate(WORDS)},
        },
    }


def plain_bert(tensors: Mapping[str, Any], numbers: list[int]) -> Any:
    """One text through the model, as its definition says and without any haste, in 64-bit floats: the mean, of length 1."""
    w = {name: array.astype(np.float64) for name, array in tensors.items()}

    def normed(x: Any, name: str) -> Any:
        x = x - x.mean(axis=1, keepdims=True)
        return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][numbers] + w["embeddings.position_embeddings.weight"][: len(numbers)]
    x = normed(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at, part = f"encoder.layer.{layer}", WIDTH // HEADS
        query, key, value = (dense(x, f"{at}.attention.self.{name}") for name in ("query", "key", "value"))
        heads = []
        for head in range(HEADS):
            own = slice(head * part, (head + 1) * part)
            scores = np.exp(query[:, own] @ key[:, own].T / math.sqrt(part))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, own])
        x = normed(
            dense(np.concatenate(heads, axis=1), f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm"
        )
        inner = dense(x, f"{at}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = normed(dense(inner, f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)
