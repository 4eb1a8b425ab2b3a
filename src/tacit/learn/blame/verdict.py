"""What blame says: the kind of failure, the first step at fault, what was expected instead, and the spans it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tacit.domain.trajectory import Span


class FailureKind(StrEnum):
    """How an attempt went wrong, told by its effects: the calls that change something."""

    NO_ACTION = "no action"
    """Nothing was changed though something had to be."""
    MISSING_STEP = "missing step"
    """A needed effect is lacking, and none is there that was not needed."""
    EXTRA_STEP = "extra step"
    """All that was needed, and more: something else as well, or an attempt too many."""
    WRONG_TOOL = "wrong tool"
    """One effect instead of another."""
    WRONG_ARGUMENTS = "wrong arguments"
    """The right calls with wrong values."""
    WRONG_END = "wrong end"
    """The effects are right: what was said or how it ended is not, such as a needless hand-over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A call that successful attempts made and the failed one did not."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As the sibling gave them; empty where only other tasks speak for the call."""
    support: int = 0
    """How many successful attempts made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Why an attempt failed, as far as contrast tells."""

    trajectory_id: str
    kind: FailureKind
    step: int | None
    """Index of the first step at fault; none where the fault is something that was not done."""
    tool: str = ""
    """The tool called at that step."""
    keys: tuple[str, ...] = ()
    """For wrong arguments: the names of those that differ, where that is known."""
    expected: tuple[Expected, ...] = ()
    reason: str = ""
    """One sentence of tool and argument names only: no value and nothing that an observation said."""
    spans: tuple[Span, ...] = ()
    confidence: float = 0.0
    """From 0 to 1: how sure the kind is."""
    by_sibling: bool = False
    """Whether a successful attempt at the same task showed it."""
    passing: bool = False
    """Whether the run made the same calls as successes did and one of them failed: an error of the moment."""
