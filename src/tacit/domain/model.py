"""What is asked of models: a language model answers prompts within a budget, an embedder turns texts into vectors.

Both are ports, like those in `ports`: whoever implements them talks to the world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_FRAME_TOKENS = 256
"""What the frame of the messages around a prompt may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question: our own instructions apart from the quoted material, and the form of the answer."""

    instructions: str
    material: str
    """Text of others, quoted as data."""
    schema: Mapping[str, Any]
    """JSON schema of the answer, an object."""
    max_output_tokens: int = 1200

    @property
    def tokens_at_most(self) -> int:
        """More than the prompt can take: no token is shorter than a byte, and messages have a frame."""
        written = len(f"{self.instructions}{self.material}".encode("utf-8", "replace"))
        return written + len(str(self.schema)) + _FRAME_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=self.usd + other.usd,
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls - other.calls,
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            usd=self.usd - other.usd,
        )


class LanguageModel(Protocol):
    """Answers prompts within a budget. Whoever implements it keeps that: no call without room for it."""

    @property
    def name(self) -> str:
        """The model as a person would name it, such as `openai:gpt-5-mini`."""

    @property
    def spent(self) -> Spending:
        """All that was spent on it since it was opened; what a call has cost is never less than this says."""

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Give the answer as an object, its fields unchecked.

        Raises `OverBudget` before a call that might pass a limit, `ModelOutage` where no object came back.
        """


class Embedder(Protocol):
    """Turns texts into vectors of one space, so that nearness of meaning can be measured."""

    @property
    def identity(self) -> str:
        """Names the space: vectors under one identity may be compared, and no others."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text, of length 1, as little-endian 32-bit floats. Raises `ModelOutage` where none came."""
