"""What was taken for granted against what happened: assumption and run → held, wrong or unknown, and the steps that show it.

Evidence in this order: a person's plain words or refusal, a check that the run itself ran, a reading, a named command, what is
there, the files that were changed, stated amounts. *Unknown* is the usual answer: that two texts use the same words shows
nothing. Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tacit.domain.moment import Aspect, Assumption, Held
from tacit.domain.skill import Condition
from tacit.domain.trajectory import Trajectory
from tacit.evidence.assumptions.commands import by_check, by_claim, by_presence
from tacit.evidence.assumptions.extent import by_amount, by_difficulty, by_place
from tacit.evidence.assumptions.run import UNKNOWN, Run, Settled
from tacit.evidence.assumptions.told import by_error, by_people, by_reading, by_refusal

__all__ = ["Settled", "compare"]

_CONDITIONAL = re.compile(r"\b(?:if|unless|whenever|in case|suppose)\b|^\W*(?:when|once)\b", re.IGNORECASE)
"""What holds only under a condition, a run that may not have met it does not show."""


def compare(
    assumption: Assumption, trajectory: Trajectory, *, condition: Condition | None = None, since_stated: bool = True
) -> Settled:
    """Say how an assumption came out in a run.

    `condition` is the same in a form that a tool's answer can show, where there is one. What came before it was stated counts
    only without `since_stated`.
    """
    run = Run(trajectory, assumption.at if since_stated else None)
    text, aspect = assumption.text, assumption.aspect
    if aspect is Aspect.RISK:
        found = by_check(run, assumption.check) or by_error(run, text)
        return found or Settled(held=Held.UNKNOWN, reason="nothing in the run shows that it came about")
    shown: tuple[Callable[[], Settled | None], ...] = (
        lambda: by_people(run, text),
        lambda: by_refusal(run, text),
        lambda: by_check(run, assumption.check),
        lambda: by_reading(run, condition),
    )
    read: tuple[Callable[[], Settled | None], ...] = (
        lambda: by_claim(run, text),
        lambda: by_presence(run, text),
        lambda: by_place(run, text, of_scope=aspect is Aspect.SCOPE),
        lambda: by_amount(run, text) if aspect in (Aspect.COMPLEXITY, Aspect.SCOPE) else None,
        lambda: by_difficulty(run, text) if aspect is Aspect.COMPLEXITY else None,
    )
    answers = shown if _CONDITIONAL.search(text) else (*shown, *read)
    return next((found for answer in answers if (found := answer()) is not None), UNKNOWN)
