"""BERT's forward pass in numpy: token numbers in → one vector for each token out. Loads no code, only numbers.

The weights stay mapped where their type allows it; only what is
fused is copied. Needs the extra `semantic`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.domain.errors import ConfigError
from tacit.providers.embedding.model_files import FETCH_AGAIN, Tensor

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

_BLOCK = 1 << 15
"""Numbers that the activation works on at a time: what fits into a core's own cache."""
_PADDED = np.float32(-1e9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The measures of a model."""

    layers: int
    heads: int
    width: int
    inner: int
    positions: int
    tokens: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, Any], *, folder: str) -> Shape:
        """Read a model's config.json; raises `ConfigError` for models of another build."""
        kind = (config.get("model_type", "bert"), config.get("hidden_act", "gelu"))
        if kind != ("bert", "gelu") or config.get("position_embedding_type", "absolute") != "absolute":
            hint = "use a BERT model such as all-MiniLM-L6-v2"
            raise ConfigError(f"{folder} holds a model that is not built like BERT", code="not_bert", hint=hint)
        names = "num_hidden_layers num_attention_heads hidden_size intermediate_size max_position_embeddings vocab_size"
        sizes: list[Any] = [config.get(name) for name in names.split()]
        epsilon = config.get("layer_norm_eps", 1e-12)
        good = all(type(size) is int and 0 < size <= 1 << 20 for size in sizes) and isinstance(epsilon, float)
        if not good or sizes[0] > 96 or sizes[2] % sizes[1] or not 0 < epsilon < 1:
            raise ConfigError(
                f"{folder}/config.json does not give the measures of a BERT model",
                code="bad_model_config",
                hint=FETCH_AGAIN,
            )
        layers, heads, width, inner, positions, tokens = sizes
        return cls(
            layers=layers, heads=heads, width=width, inner=inner, positions=positions, tokens=tokens, epsilon=epsilon
        )


@dataclass(frozen=True, slots=True)
class _Dense:
    """A weight for each pair of input and output, and what is added."""

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        y = x @ self.weight.T
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Floats
    bias: Floats
    epsilon: float

    def __call__(self, x: Floats) -> Floats:
        """Bring each row to mean 0 and deviation 1, in place, then stretch and shift it."""
        x -= x.mean(axis=-1, keepdims=True)
        spread = np.einsum("ij,ij->i", x, x)
        spread /= np.float32(x.shape[-1])
        spread += np.float32(self.epsilon)
        x /= np.sqrt(spread)[:, None]
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True)
class _Layer:
    seen: _Dense
    """Query, key and value as one, the query's scale in it."""
    gathered: _Dense
    first_norm: _Norm
    inner: _Dense
    outer: _Dense
    second_norm: _Norm


class Bert:
    """A BERT model ready to run."""

    def __init__(self, tensors: Mapping[str, Tensor], shape: Shape, *, path: str) -> None:
        """Take what the file holds; raises `ConfigError` where something is missing or has another shape."""
        weights = _Weights(tensors, path=path)
        width = shape.width
        self._shape = shape
        self._words = weights("embeddings.word_embeddings.weight", shape.tokens, width)
        self._places = weights("embeddings.position_embeddings.weight", shape.positions, width)
        self._sort = weights("embeddings.token_type_embeddings.weight", None, width)[0]
        self._norm = weights.norm("embeddings.LayerNorm", shape)
        self._layers = [_layer(weights, shape, number) for number in range(shape.layers)]

    def __call__(self, numbers: Numbers, mask: Numbers) -> Floats:
        """Texts × tokens → texts × tokens × width; where the mask is 0, what comes out means nothing."""
        texts, length = numbers.shape
        x = self._words[numbers].astype(np.float32, copy=False)
        x += self._places[:length] + self._sort
        x = self._norm(x.reshape(texts * length, -1))
        hidden = None if mask.all() else np.where(mask[:, None, None, :], np.float32(0), _PADDED)
        for layer in self._layers:
            x = self._passed(x, layer, (texts, length, hidden))
        return x.reshape(texts, length, -1)

    def _passed(self, x: Floats, layer: _Layer, batch: tuple[int, int, Floats | None]) -> Floats:
        texts, length, hidden = batch
        width, heads = self._shape.width, self._shape.heads
        seen = layer.seen(x).reshape(texts, length, 3, heads, width // heads)
        query, key, value = seen.transpose(2, 0, 3, 1, 4)
        scores: Floats = query @ key.swapaxes(-1, -2)
        if hidden is not None:
            scores += hidden
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        found: Floats = (scores @ value).swapaxes(1, 2).reshape(texts * length, width)
        y = layer.gathered(found)
        y += x
        y = layer.first_norm(y)
        z = layer.outer(gelu(layer.inner(y)))
        z += y
        return layer.second_norm(z)


def gelu(x: Floats) -> Floats:
    """The activation x·Φ(x), in place, with the error function of Abramowitz and Stegun 7.1.26 (off by 1.5e-7 at most)."""
    flat = x.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        _gelu_block(flat[start : start + _BLOCK])
    return x


def _gelu_block(x: Floats) -> None:
    size = np.abs(x)
    t = size * np.float32(0.3275911 / math.sqrt(2))
    t += np.float32(1)
    np.reciprocal(t, out=t)
    tail = t * np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += np.float32(factor)
        tail *= t
    np.multiply(size, size, out=t)
    t *= np.float32(-0.5)
    np.exp(t, out=t)
    tail *= t  # 1 - erf(|x| / √2)
    tail *= size
    tail *= np.float32(0.5)
    np.maximum(x, np.float32(0), out=x)
    x -= tail


class _Weights:
    """Tensors by name, as arrays of the shape that is wanted."""

    def __init__(self, tensors: Mapping[str, Tensor], *, path: str) -> None:
        self._tensors = tensors
        self._path = path
        self._prefix = "bert." if "bert.embeddings.word_embeddings.weight" in tensors else ""

    def __call__(self, name: str, *wanted: int | None) -> Floats:
        tensor = self._tensors.get(self._prefix + name)
        if tensor is None:
            raise ConfigError(f"{self._path} has no tensor {name}", code="tensor_missing", hint=FETCH_AGAIN)
        fits = len(tensor.shape) == len(wanted) and all(
            there > 0 if size is None else there == size for there, size in zip(tensor.shape, wanted, strict=True)
        )
        if not fits:
            raise ConfigError(
                f"{self._path}: tensor {name} has the shape {tensor.shape}", code="tensor_shape", hint=FETCH_AGAIN
            )
        return as_floats(tensor, self._path)

    def dense(self, name: str, width: int, inner: int) -> _Dense:
        return _Dense(self(f"{name}.weight", width, inner), self(f"{name}.bias", width))

    def norm(self, name: str, shape: Shape) -> _Norm:
        return _Norm(self(f"{name}.weight", shape.width), self(f"{name}.bias", shape.width), shape.epsilon)


def as_floats(tensor: Tensor, path: str) -> Floats:
    """A tensor's numbers; mapped if they are 32-bit floats, copied if they are 16-bit ones."""
    if tensor.kind == "F32":
        found = np.frombuffer(tensor.data, dtype="<f4")
    elif tensor.kind == "F16":
        found = np.frombuffer(tensor.data, dtype="<f2").astype(np.float32)
    elif tensor.kind == "BF16":
        found = (np.frombuffer(tensor.data, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        raise ConfigError(
            f"{path} has weights of type {tensor.kind}", code="tensor_type", hint="use a model with float weights"
        )
    return found.reshape(tensor.shape)


def _layer(weights: _Weights, shape: Shape, number: int) -> _Layer:
    at, width = f"encoder.layer.{number}", shape.width
    parts = [weights.dense(f"{at}.attention.self.{name}", width, width) for name in ("query", "key", "value")]
    scale = np.float32(1 / math.sqrt(width // shape.heads))
    parts[0] = _Dense(parts[0].weight * scale, parts[0].bias * scale)
    seen = _Dense(np.concatenate([part.weight for part in parts]), np.concatenate([part.bias for part in parts]))
    return _Layer(
        seen,
        weights.dense(f"{at}.attention.output.dense", width, width),
        weights.norm(f"{at}.attention.output.LayerNorm", shape),
        weights.dense(f"{at}.intermediate.dense", shape.inner, width),
        weights.dense(f"{at}.output.dense", width, shape.inner),
        weights.norm(f"{at}.output.LayerNorm", shape),
    )
