"""Hard limits on calls, tokens and money, for a run and for a day. Says no by raising `OverBudget`.

An upper estimate is held before each call, and replaced by what it really cost; a call whose cost nobody tells keeps it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from tacit.domain.errors import OverBudget
from tacit.domain.ports import Spending
from tacit.providers.usage_ledger import UsageLedger

Price = Callable[[int, int], float]
"""Tokens read and written → US dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that may be spent, each a limit of its own."""

    calls: int
    tokens: int
    usd: float


class Budget:
    """What may still be spent. One for a whole run of learning; calls are made one after the other."""

    def __init__(self, limits: Limits, *, price: Price, ledger: UsageLedger | None = None) -> None:
        """Start with nothing spent in this run; `price` must be known before it. The ledger keeps the day's limit."""
        self.limits = limits
        self._price = price
        self._spent = Spending()
        self._ledger = ledger
        self._day = ""

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
        if self._ledger is not None:
            self._day = self._ledger.hold(most)
        self._spent = after
        return most

    def settle(self, held: Spending, *, input_tokens: int, output_tokens: int, usd: float | None = None) -> None:
        """Put what a call really took in place of what was held for it; `usd` where the model itself says it."""
        real = self._cost(input_tokens, output_tokens)
        real = real if usd is None else dataclasses.replace(real, usd=usd)
        self._spent = self._spent - held + real
        if self._ledger is not None:
            self._ledger.settle(self._day, held, real)

    def _cost(self, input_tokens: int, output_tokens: int) -> Spending:
        usd = self._price(input_tokens, output_tokens)
        return Spending(calls=1, input_tokens=input_tokens, output_tokens=output_tokens, usd=usd)
