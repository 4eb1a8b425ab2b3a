"""A static model in a folder: texts → the mean of their tokens' vectors, looked up and not computed, of length 1.

Folders as model2vec writes them: `model.safetensors` with `embeddings`, perhaps `weights` and `mapping`, and a tokenizer of
BERT's kind. Plain Python over the mapped file and nothing slow to import, so that a hook can afford it.
"""

from __future__ import annotations

import math
import os.path
import struct
from hashlib import sha256

from tacit.domain.errors import ConfigError, ModelOutage
from tacit.providers.embedding.naming import identity_of, name_in
from tacit.providers.embedding.tensors import FETCH_AGAIN, Tensor, fingerprint, read_tensors
from tacit.providers.embedding.wordpiece import read_document, read_wordpieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

FILE = "model.safetensors"
TABLE = "embeddings"
_FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I8": "b", "I64": "q", "I32": "i"}
"""Names of the format for Python's `struct`."""
_MOST_TOKENS = 512
_MOST_ENTRIES = 1 << 22
_WHOLE = frozenset({"I8", "I32", "I64"})


class StaticEmbedder:
    """Embeds by looking up."""

    remote = False

    def __init__(self, folder: str) -> None:
        """Map the folder's model; raises `ConfigError` where it is none."""
        self._folder = folder
        self._pieces = read_wordpieces(folder)
        tensors = read_tensors(f"{folder}/{FILE}")
        table = tensors.get(TABLE)
        if table is None or len(table.shape) != 2 or not all(table.shape) or table.shape[1] > 1 << 16:
            raise ConfigError(f"{folder}/{FILE} has no table of vectors", hint="name a folder with a static model")
        rows, self.dimensions = table.shape
        self._data = table.data
        self._row = _layout(table, self.dimensions, folder)
        tokens = len(self._pieces.tokens)
        self._mapping = _column(tensors, "mapping", folder)
        self._weights = _column(tensors, "weights", folder)
        known = len(self._mapping) if self._mapping else rows
        short = self._weights and len(self._weights) < tokens
        if tokens > known or short or any(not 0 <= row < rows for row in self._mapping):
            raise ConfigError(f"{folder}: vocabulary and vectors do not fit each other", hint=FETCH_AGAIN)
        told = sha256(fingerprint(tensors))
        told.update(self._pieces.told())
        config = read_document(f"{folder}/config.json") or {}
        self.identity = identity_of(name_in(config, otherwise="static"), self.dimensions, told.digest())

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text."""
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> bytes:
        unknown = self._pieces.unknown
        numbers = [number for number in self._pieces.cut(text, limit=_MOST_TOKENS) if number != unknown]
        size, unpack = self._row.size, self._row.unpack_from
        rows: list[tuple[float, ...]] = []
        for number in numbers or [unknown]:
            row = unpack(self._data, (self._mapping[number] if self._mapping else number) * size)
            if self._weights:
                weight = self._weights[number]
                row = tuple(value * weight for value in row)
            rows.append(row)
        try:
            return self._unit([math.fsum(column) for column in zip(*rows, strict=True)])
        except (OverflowError, ValueError):  # too large together, or infinite both ways
            return self._unit([math.inf])

    def _unit(self, values: list[float]) -> bytes:
        length = math.hypot(*values)
        if not math.isfinite(length):
            raise ModelOutage(f"the model in {self._folder} holds numbers that are not finite", hint=FETCH_AGAIN)
        if not length:  # a text of which nothing is known: as far from one thing as from another
            values, length = [1.0, *[0.0] * (len(values) - 1)], 1.0
        return struct.pack(f"<{len(values)}f", *[value / length for value in values])


def is_static(folder: str) -> bool:
    """Whether a folder says that it holds a static model; a model's config.json names its kind."""
    document = read_document(f"{folder}/config.json")
    return document is not None and document.get("model_type") == "model2vec" and os.path.isfile(f"{folder}/{FILE}")  # noqa: PTH113


def _layout(table: Tensor, dimensions: int, folder: str) -> struct.Struct:
    if table.kind not in _FORMATS:
        raise ConfigError(f"{folder}/{FILE} has vectors of type {table.kind}", hint="use a model with float vectors")
    return struct.Struct(f"<{dimensions}{_FORMATS[table.kind]}")


def _column(tensors: dict[str, Tensor], name: str, folder: str) -> tuple[Any, ...]:
    tensor = tensors.get(name)
    if tensor is None:
        return ()
    kinds = _WHOLE if name == "mapping" else _FORMATS
    if len(tensor.shape) != 1 or tensor.kind not in kinds or tensor.shape[0] > _MOST_ENTRIES:
        raise ConfigError(f"{folder}/{FILE}: `{name}` is not a list of numbers", hint=FETCH_AGAIN)
    return struct.unpack(f"<{tensor.shape[0]}{_FORMATS[tensor.kind]}", tensor.data)
