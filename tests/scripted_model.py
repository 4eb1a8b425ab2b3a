"""A language model that gives prepared answers and keeps a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tacit.domain.errors import ModelOutage, TacitError
from tacit.domain.ports import Prompt, Spending
from tacit.providers.budget import Budget, Limits

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
