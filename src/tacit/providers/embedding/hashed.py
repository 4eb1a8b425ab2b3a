"""An embedder without weights: texts → counts of their words and letter groups, hashed into a fixed number of places.

It compares spelling, not meaning: for tests and trials, where a real model is not at hand. The same on every machine.
"""

from __future__ import annotations

import math
import struct
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONGEST_TEXT = 20_000
_GROUP = 4


class HashedEmbedder:
    """Embeds by spelling."""

    remote = False

    def __init__(self, dimensions: int = 128) -> None:
        """Take the number of places; each number is a space of its own."""
        self.dimensions = dimensions
        self.identity = f"hashed/{dimensions}@1"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text."""
        return [self._embed(text[:_LONGEST_TEXT]) for text in texts]

    def _embed(self, text: str) -> bytes:
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
