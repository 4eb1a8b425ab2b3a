"""A static model in a folder: texts → the mean of their tokens' vectors, looked up and not computed, of length 1.

Folders as model2vec writes them: `model.safetensors` with `embeddings`, perhaps `weights` and `mapping`, and a tokenizer of
BERT's kind. Plain Python over the mapped file and nothing slow to import, so that a hook can afford it.
"""

from __future__ import annotations

import math
import os.path
import struct
from hashlib import sha256

from tacit.providers.embedding.model_files import (
    Tensor,
    fingerprint,
    identity_of,
    is_path,
    name_in,
    not_finite,
    read_document,
    read_tensors,
    read_wordpieces,
    refuse_special,
    unusable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
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
            hint = "name a folder with a static model"
            raise unusable(f"{folder}/{FILE} has no table of vectors", "no_vectors", hint=hint)
        rows, self.dimensions = table.shape
        self._data = table.data
        if table.kind not in _FORMATS:
            message = f"{folder}/{FILE} has vectors of type {table.kind}"
            raise unusable(message, "tensor_type", hint="use a model with float vectors")
        self._row = struct.Struct(f"<{self.dimensions}{_FORMATS[table.kind]}")
        tokens = len(self._pieces.tokens)
        self._mapping = _column(tensors, "mapping", folder)
        self._weights = _column(tensors, "weights", folder)
        known = len(self._mapping) if self._mapping else rows
        short = self._weights and len(self._weights) < tokens
        if tokens > known or short or any(not 0 <= row < rows for row in self._mapping):
            raise unusable(f"{folder}: vocabulary and vectors do not fit each other", "vocabulary_mismatch")
        digest = sha256(fingerprint(tensors))
        digest.update(self._pieces.fingerprint())
        config = read_document(f"{folder}/config.json") or {}
        self.identity = identity_of(name_in(config, otherwise="static"), self.dimensions, digest.digest())

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text."""
        return [self._unit(self._sum(text)) for text in texts]

    def _sum(self, text: str) -> list[float]:
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
            return [math.fsum(column) for column in zip(*rows, strict=True)]
        except (OverflowError, ValueError):  # too large together, or infinite both ways
            return [math.inf]

    def _unit(self, values: list[float]) -> bytes:
        length = math.hypot(*values)
        if not math.isfinite(length):
            raise not_finite(self._folder, "holds")
        if not length:  # a text of which nothing is known: as far from one thing as from another
            values, length = [1.0, *[0.0] * (len(values) - 1)], 1.0
        return struct.pack(f"<{len(values)}f", *[value / length for value in values])


def is_static(folder: str) -> bool:
    """Whether a folder says that it holds a static model; a model's config.json names its kind."""
    document = read_document(f"{folder}/config.json")
    return document is not None and document.get("model_type") == "model2vec" and os.path.isfile(f"{folder}/{FILE}")


def _column(tensors: dict[str, Tensor], name: str, folder: str) -> tuple[Any, ...]:
    tensor = tensors.get(name)
    if tensor is None:
        return ()
    kinds = _WHOLE if name == "mapping" else _FORMATS
    if len(tensor.shape) != 1 or tensor.kind not in kinds or tensor.shape[0] > _MOST_ENTRIES:
        raise unusable(f"{folder}/{FILE}: `{name}` is not a list of numbers", "tensor_type")
    return struct.unpack(f"<{tensor.shape[0]}{_FORMATS[tensor.kind]}", tensor.data)


FOLDER = "embedders"
"""Below the home: one folder for each model."""
CACHED = "minishlab/potion-base-8M"
"""The static model that is taken from the hub's cache unasked."""


def open_light(
    choice: str, *, homes: Collection[str], spaces: Collection[str], hub_cache: str = ""
) -> StaticEmbedder | None:
    """Open the static model that the setting means; `homes` are the person's, `spaces` those that have vectors.

    `hub_cache` is the hub's cache where it is not the usual one.

    Raises `ConfigError` for a model that is there and broken.
    """
    if not spaces or choice in ("none", "hashed") or choice.startswith("openai:"):
        return None
    for folder in _places(choice, homes, hub_cache or os.path.expanduser("~/.cache/huggingface/hub")):
        if not os.path.isdir(folder) or not is_static(folder):
            continue
        name = name_in(read_document(f"{folder}/config.json") or {}, otherwise="static")
        if not any(space.startswith(f"{name}/") for space in spaces):
            continue  # nobody embedded with it, so it need not be read
        embedder = StaticEmbedder(folder)
        if embedder.identity in spaces:
            return embedder
    return None


def _places(choice: str, homes: Collection[str], cache: str) -> Iterator[str]:
    own = [os.path.join(home, FOLDER) for home in homes]
    kind, mark, name = choice.partition(":")
    if choice == "auto":
        for folder in filter(os.path.isdir, own):
            yield from (os.path.join(folder, entry) for entry in sorted(os.listdir(folder)) if entry[0] != ".")
        yield from cached_folders(cache, CACHED)
    elif mark and kind == "hub":
        repository, _, revision = name.partition("@")
        yield from cached_folders(cache, repository, revision=revision or "main")
    elif is_path(choice):
        yield os.path.expanduser(choice)
    elif choice and "/" not in choice:
        yield from (os.path.join(folder, choice) for folder in own)


def cached_folders(cache: str, repository: str, *, revision: str = "main") -> Iterator[str]:
    """Where the hub's library keeps a model that it fetched."""
    kept = f"{cache}/models--{repository.replace('/', '--')}"
    try:
        refuse_special(f"{kept}/refs/{revision}")
        with open(f"{kept}/refs/{revision}", encoding="utf-8", errors="replace") as file:
            commit = file.read(65).strip()
    except OSError:
        commit = revision
    if commit and "/" not in commit and commit[0] != ".":
        yield f"{kept}/snapshots/{commit}"
