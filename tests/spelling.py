"""An embedder for tests: what is spelt alike is alike. It needs no model and gives the same numbers everywhere."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence

_GROUP = 4


class SpellingEmbedder:
    """Embeds by words and by groups of their letters; each number of dimensions is a space of its own."""

    def __init__(self, dimensions: int = 128) -> None:
        self.dimensions = dimensions
        self.identity = f"spelling/{dimensions}@1"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        places = [0.0] * self.dimensions
        for feature in _features(text):
            number = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
            places[number % self.dimensions] += 1.0 if number & 1 << 31 else -1.0
        length = math.hypot(*places)
        if not length:
            places[0] = length = 1.0
        return struct.pack(f"<{self.dimensions}f", *[value / length for value in places])


def _features(text: str) -> Iterator[str]:
    for word in text.lower().split():
        yield word
        framed = f"<{word}>"
        yield from (framed[start : start + _GROUP] for start in range(len(framed) - _GROUP + 1))
