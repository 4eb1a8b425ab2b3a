"""Hard limits on calls, tokens and money: an upper estimate is held before each call, and replaced by what it really cost.

A call whose cost nobody tells keeps its estimate. Says no by raising `OverBudget`; makes no call and knows no model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.domain.errors import OverBudget
from tacit.domain.ports import Spending

Price = Callable[[int, int], float]
"""Tokens read and written → US dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that may be spent, each a limit of its own."""

    calls: int
    tokens: int
    usd: float


class Budget:
    """What may still be spent. One for a whole run of learning."""

    def __init__(self, limits: Limits, *, price: Price) -> None:
        """Start with nothing spent; `price` must be known before the first call."""
        self.limits = limits
        self._price = price
        self._spent = Spending()

    @property
    def spent(self) -> Spending:
        """All that was spent, with the full estimate for calls whose cost is not known."""
        return self._spent

    def hold(self, *, input_tokens: int, output_tokens: int) -> Spending:
        """Set aside the most that the next call can cost; raises `OverBudget` and sets nothing aside if it does not fit."""
        most = self._cost(input_tokens, output_tokens)
        after = self._spent + most
        for what, wanted, limit in (
            ("calls", after.calls, self.limits.calls),
            ("tokens", after.tokens, self.limits.tokens),
            ("usd", after.usd, self.limits.usd),
        ):
            if wanted > limit:
                message = f"the next call may bring {what} to {wanted:.6g}, and the limit is {limit:.6g}"
                raise OverBudget(message, hint=f"raise model.max_{what}, or learn from less at a time")
        self._spent = after
        return most

    def settle(self, held: Spending, *, input_tokens: int, output_tokens: int) -> None:
        """Put what a call really took in place of what was held for it."""
        self._spent = self._spent - held + self._cost(input_tokens, output_tokens)

    def _cost(self, input_tokens: int, output_tokens: int) -> Spending:
        usd = self._price(input_tokens, output_tokens)
        return Spending(calls=1, input_tokens=input_tokens, output_tokens=output_tokens, usd=usd)
