"""What Tacit asks of a language model: one prompt in, one object of an agreed form out, and what it has cost so far.

Names no provider and knows no protocol. Whoever implements it keeps the budget: no call without room for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.domain.errors import Refusal


class OverBudget(Refusal):
    """The next call to a language model might pass a limit on calls, tokens or money, so it is not made."""


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


_FRAME_TOKENS = 256


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
    """Answers prompts within a budget."""

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
