"""Hard limits on calls, tokens and money, for a run and for a day. Says no by raising `OverBudget`.

An upper estimate is held before each call, and replaced by what it really cost; a call whose cost nobody tells keeps it.
`ScriptedModel` keeps such a budget and gives prepared answers, for tests, trials and demonstrations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.domain.errors import ModelOutage, OverBudget, TacitError
from tacit.domain.ports import Prompt, Spending
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


_AMPLE = Limits(calls=1_000, tokens=1_000_000_000, usd=0.0)


class ScriptedModel:
    """Answers from a list."""

    name = "scripted"

    def __init__(
        self, answers: Iterable[Mapping[str, Any] | TacitError], *, limits: Limits = _AMPLE, vendor: str = ""
    ) -> None:
        """Take the answers to give, one for each prompt; when they run out, the model is silent."""
        self.vendor = vendor
        self._answers = iter(answers)
        self._budget = Budget(limits, price=lambda read, written: 0.0)
        self.asked: list[Prompt] = []

    @property
    def spent(self) -> Spending:
        """What the answers would have cost in tokens."""
        return self._budget.spent

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Give the next answer."""
        self._budget.hold(input_tokens=prompt.tokens_at_most, output_tokens=prompt.max_output_tokens)
        self.asked.append(prompt)
        answer = next(self._answers, None)
        if answer is None:
            raise ModelOutage("the script has no further answer", hint="give the scripted model more answers")
        if isinstance(answer, TacitError):
            raise answer
        return answer
