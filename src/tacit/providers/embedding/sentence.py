"""A sentence encoder in a folder: texts → tokens → one vector each, the mean of its tokens' vectors, of length 1.

Runs the folder's safetensors in numpy. Opening reads small files only; the weights are loaded with the first text. Needs the
extra `semantic`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.domain.errors import ModelOutage
from tacit.providers.embedding.model_files import (
    FETCH_AGAIN,
    WordPieces,
    fingerprint,
    identity_of,
    name_in,
    read_document,
    read_tensors,
    read_wordpieces,
    unusable,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = "model.safetensors"
_DEFAULT_TOKENS = 256
_KNOWN = "use all-MiniLM-L6-v2"
_BATCH_TOKENS = 1024
"""Tokens that go through the model together, padding counted: more of them leave the processor's cache."""


class SentenceEncoder:
    """Embeds with a BERT-like model, such as all-MiniLM-L6-v2."""

    def __init__(self, folder: Path) -> None:
        """Look at the folder; raises `ConfigError` where it holds no model that can be used here."""
        self._folder = folder
        self._config = read_document(str(folder / "config.json")) or {}
        self._weights = str(folder / WEIGHTS)
        if not (folder / WEIGHTS).is_file():
            raise unusable(f"{folder} has no {WEIGHTS}", "no_weights", hint="name a folder with a model")
        width = self._config.get("hidden_size")
        if type(width) is not int or not 0 < width <= 1 << 16:
            raise unusable(f"{folder}/config.json does not say how wide the model is", "no_dimensions")
        self.dimensions = width
        self._takes_first = _takes_first(folder)
        self._most_tokens = _most_tokens(folder, self._config)

    @cached_property
    def identity(self) -> str:
        """The space: the model's name and what tells its weights, its vocabulary and its pooling from others."""
        digest = sha256(fingerprint(read_tensors(self._weights)))
        digest.update(self._pieces.fingerprint())
        # layers, heads and more that the weights do not tell
        digest.update((self._folder / "config.json").read_bytes())
        digest.update(f"{self._takes_first} {self._most_tokens}".encode())
        return identity_of(name_in(self._config, otherwise="bert"), self.dimensions, digest.digest())

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text; what is longer than the model can read is cut."""
        first, last = self._pieces.number_of("[CLS]"), self._pieces.number_of("[SEP]")
        rows = [[first, *self._pieces.cut(text, limit=self._most_tokens - 2), last] for text in texts]
        vectors = [b""] * len(rows)
        for batch in _batches(rows):
            for place, vector in zip(batch, self._vectors([rows[place] for place in batch]), strict=True):
                vectors[place] = vector.tobytes()
        return vectors

    def _vectors(self, rows: list[list[int]]) -> NDArray[np.float32]:
        """Rows of tokens, the longest last, through the model."""
        import numpy as np

        numbers = np.zeros((len(rows), len(rows[-1])), dtype=np.int64)
        mask = np.zeros_like(numbers)
        for place, row in enumerate(rows):
            numbers[place, : len(row)] = row
            mask[place, : len(row)] = 1
        hidden = self._forward(numbers, mask)
        if hidden.shape != (*numbers.shape, self.dimensions):
            raise unusable(f"the model in {self._folder} does not give {self.dimensions} numbers", "wrong_dimensions")
        with np.errstate(all="ignore"):  # what is not finite is reported below
            if self._takes_first:
                pooled = hidden[:, 0]
            else:
                weights = mask.astype(np.float32)
                weights /= weights.sum(axis=1, keepdims=True)
                pooled = np.einsum("ij,ijk->ik", weights, np.where(mask[:, :, None], hidden, np.float32(0)))
            pooled = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        if not np.isfinite(pooled).all():
            message = f"the model in {self._folder} gave numbers that are not finite"
            raise ModelOutage(message, code="not_finite", hint=FETCH_AGAIN)
        return np.ascontiguousarray(pooled, dtype="<f4")

    @cached_property
    def _pieces(self) -> WordPieces:
        pieces = read_wordpieces(str(self._folder))
        for token in ("[CLS]", "[SEP]"):
            pieces.number_of(token)
        return pieces

    @cached_property
    def _forward(self) -> Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]:
        from tacit.providers.embedding.bert import Bert, Shape

        shape = Shape.of(self._config, folder=str(self._folder))
        if len(self._pieces.tokens) > shape.tokens:
            raise unusable(f"{self._folder} has more tokens than the model knows", "too_many_tokens")
        try:
            return Bert(read_tensors(self._weights), shape, path=self._weights)
        except MemoryError as error:
            message = f"{self._weights} does not fit into the memory"
            raise unusable(message, "out_of_memory", hint="use a smaller model") from error


def _batches(rows: list[list[int]]) -> Iterator[list[int]]:
    """Places of rows, those of like length together, so that little is padded."""
    batch: list[int] = []
    for place in sorted(range(len(rows)), key=lambda place: len(rows[place])):
        if batch and (len(batch) + 1) * len(rows[place]) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _takes_first(folder: Path) -> bool:
    """Whether the vector of the first token stands for the text, and not the mean of all."""
    modules = folder / "modules.json"
    if modules.is_file() and modules.stat().st_size < 1 << 20 and b"Dense" in modules.read_bytes():
        raise unusable(f"the model in {folder} has a layer behind its pooling", "layer_after_pooling", hint=_KNOWN)
    pooling = read_document(str(folder / "1_Pooling" / "config.json")) or {}
    wanted = {name for name, on in pooling.items() if name.startswith("pooling_mode_") and on is True}
    if wanted - {"pooling_mode_mean_tokens", "pooling_mode_cls_token"} or len(wanted) > 1:
        raise unusable(f"the model in {folder} is pooled in a way not known here", "unknown_pooling", hint=_KNOWN)
    return wanted == {"pooling_mode_cls_token"}


def _most_tokens(folder: Path, config: dict[str, Any]) -> int:
    """How many tokens of a text the model was taught to read."""
    most = (read_document(str(folder / "sentence_bert_config.json")) or {}).get("max_seq_length")
    places = config.get("max_position_embeddings")
    wanted = most if type(most) is int and most > 2 else _DEFAULT_TOKENS
    return max(3, min(wanted, places if type(places) is int else _DEFAULT_TOKENS, 8192))
