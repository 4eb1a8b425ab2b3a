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

from tacit.providers.embedding.model_files import Tensor, unusable

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
            raise unusable(f"{folder} holds a model that is not built like BERT", "not_bert", hint=hint)
        names = "num_hidden_layers num_attention_heads hidden_size intermediate_size max_position_embeddings vocab_size"
        sizes: list[Any] = [config.get(name) for name in names.split()]
        epsilon = config.get("layer_norm_eps", 1e-12)
        good = all(type(size) is int and 0 < size <= 1 << 20 for size in sizes) and isinstance(epsilon, float)
        if not good or sizes[0] > 96 or sizes[2] % sizes[1] or not 0 < epsilon < 1:
            raise unusable(f"{folder}/config.json does not give the measures of a BERT model", "bad_model_config")
        layers, heads, width, inner, positions, tokens = sizes
        return cls(
            layers=layers, heads=heads, width=width, inner=inner, positions=positions, tokens=tokens, epsilon=epsilon
        )


class _Dense:
    """A weight for each pair of input and output, and what is added."""

    def __init__(self, weight: Floats, bias: Floats) -> None:
        self.weight, self.bias = weight, bias

    def __call__(self, x: Floats) -> Floats:
        y = x @ self.weight.T
        y += self.bias
        return y


class _Norm:
    def __init__(self, weight: Floats, bias: Floats, epsilon: float) -> None:
        self._weight, self._bias, self._epsilon = weight, bias, np.float32(epsilon)

    def __call__(self, x: Floats) -> Floats:
        """Bring each row to mean 0 and deviation 1, in place, then stretch and shift it."""
        x -= x.mean(axis=-1, keepdims=True)
        spread = np.einsum("ij,ij->i", x, x)
        spread /= np.float32(x.shape[-1])
        spread += self._epsilon
        x /= np.sqrt(spread)[:, None]
        x *= self._weight
        x += self._bias
        return x


class _Layer:
    """Attention between the tokens of a text, then a wider pass over each token."""

    def __init__(self, weights: _Weights, shape: Shape, number: int) -> None:
        at, width = f"encoder.layer.{number}", shape.width
        self._heads, self._width = shape.heads, width
        parts = [weights.dense(f"{at}.attention.self.{name}", width, width) for name in ("query", "key", "value")]
        scale = np.float32(1 / math.sqrt(width // shape.heads))
        # Query, key and value as one product, the query's scale in it.
        self._attention = _Dense(
            np.concatenate([parts[0].weight * scale, parts[1].weight, parts[2].weight]),
            np.concatenate([parts[0].bias * scale, parts[1].bias, parts[2].bias]),
        )
        self._gathered = weights.dense(f"{at}.attention.output.dense", width, width)
        self._first_norm = weights.norm(f"{at}.attention.output.LayerNorm", shape)
        self._inner = weights.dense(f"{at}.intermediate.dense", shape.inner, width)
        self._outer = weights.dense(f"{at}.output.dense", width, shape.inner)
        self._second_norm = weights.norm(f"{at}.output.LayerNorm", shape)

    def __call__(self, x: Floats, texts: int, hidden: Floats | None) -> Floats:
        seen = self._attention(x).reshape(texts, -1, 3, self._heads, self._width // self._heads)
        query, key, value = seen.transpose(2, 0, 3, 1, 4)
        scores: Floats = query @ key.swapaxes(-1, -2)
        if hidden is not None:
            scores += hidden
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        y = self._gathered((scores @ value).swapaxes(1, 2).reshape(-1, self._width))
        y += x
        y = self._first_norm(y)
        z = self._outer(gelu(self._inner(y)))
        z += y
        return self._second_norm(z)


class Bert:
    """A BERT model ready to run."""

    def __init__(self, tensors: Mapping[str, Tensor], shape: Shape, *, path: str) -> None:
        """Take what the file holds; raises `ConfigError` where something is missing or has another shape."""
        weights = _Weights(tensors, path=path)
        width = shape.width
        self._words = weights("embeddings.word_embeddings.weight", shape.tokens, width)
        self._places = weights("embeddings.position_embeddings.weight", shape.positions, width)
        self._sort = weights("embeddings.token_type_embeddings.weight", None, width)[0]
        self._norm = weights.norm("embeddings.LayerNorm", shape)
        self._layers = [_Layer(weights, shape, number) for number in range(shape.layers)]

    def __call__(self, numbers: Numbers, mask: Numbers) -> Floats:
        """Texts × tokens → texts × tokens × width; where the mask is 0, what comes out means nothing."""
        texts, length = numbers.shape
        x = self._words[numbers].astype(np.float32, copy=False)
        x += self._places[:length] + self._sort
        x = self._norm(x.reshape(texts * length, -1))
        hidden = None if mask.all() else np.where(mask[:, None, None, :], np.float32(0), _PADDED)
        for layer in self._layers:
            x = layer(x, texts, hidden)
        return x.reshape(texts, length, -1)


def gelu(x: Floats) -> Floats:
    """The activation x·Φ(x), in place, with the error function of Abramowitz and Stegun 7.1.26 (off by 1.5e-7 at most)."""
    flat = x.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        size = np.abs(block)
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
        np.maximum(block, np.float32(0), out=block)
        block -= tail
    return x


class _Weights:
    """Tensors by name, as arrays of the shape that is wanted."""

    def __init__(self, tensors: Mapping[str, Tensor], *, path: str) -> None:
        self._tensors = tensors
        self._path = path
        self._prefix = "bert." if "bert.embeddings.word_embeddings.weight" in tensors else ""

    def __call__(self, name: str, *wanted: int | None) -> Floats:
        tensor = self._tensors.get(self._prefix + name)
        if tensor is None:
            raise unusable(f"{self._path} has no tensor {name}", "tensor_missing")
        fits = len(tensor.shape) == len(wanted) and all(
            there > 0 if size is None else there == size for there, size in zip(tensor.shape, wanted, strict=True)
        )
        if not fits:
            raise unusable(f"{self._path}: tensor {name} has the shape {tensor.shape}", "tensor_shape")
        return _as_floats(tensor, self._path)

    def dense(self, name: str, width: int, inner: int) -> _Dense:
        return _Dense(self(f"{name}.weight", width, inner), self(f"{name}.bias", width))

    def norm(self, name: str, shape: Shape) -> _Norm:
        return _Norm(self(f"{name}.weight", shape.width), self(f"{name}.bias", shape.width), shape.epsilon)


def _as_floats(tensor: Tensor, path: str) -> Floats:
    """A tensor's numbers; mapped if they are 32-bit floats, copied if they are 16-bit ones."""
    if tensor.kind == "F32":
        found = np.frombuffer(tensor.data, dtype="<f4")
    elif tensor.kind == "F16":
        found = np.frombuffer(tensor.data, dtype="<f2").astype(np.float32)
    elif tensor.kind == "BF16":
        found = (np.frombuffer(tensor.data, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        message = f"{path} has weights of type {tensor.kind}"
        raise unusable(message, "tensor_type", hint="use a model with float weights")
    return found.reshape(tensor.shape)
