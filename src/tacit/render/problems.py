"""What is wrong with a SKILL.md: a rule, a place, a sentence and the next step. Finds nothing itself.

A list of problems in → text lines or one `InvalidSkill` out. `fatal` marks what no reader can work around, so that
even a lenient load skips the skill.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tacit.domain.errors import InvalidSkill


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of a skill, and what to do about it."""

    rule: str
    message: str
    field: str = ""
    severity: Literal["error", "warning"] = "error"
    line: int | None = None
    hint: str = ""
    fatal: bool = False

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.message}" + (f" ({self.hint})" if self.hint else "")

    def as_warning(self) -> Problem:
        """The same problem where the reader could go on."""
        return replace(self, severity="warning")


def half_character(field: str, line: int | None) -> Problem:
    """The problem of a text with a lone surrogate: it cannot be written as UTF-8, nor sent as JSON."""
    shown = field.encode("utf-8", "backslashreplace").decode()
    message = f"{shown} holds a lone surrogate character, so it has no UTF-8 form"
    hint = "remove the escape, one of \\ud800 to \\udfff"
    return Problem(rule="encoding", message=message, field=shown, line=line, hint=hint, fatal=True)


def invalid(source: str, problems: Iterable[Problem]) -> InvalidSkill:
    """One error for a whole skill, with every problem in it; the first error is the headline."""
    listed = sorted(problems, key=lambda problem: (problem.severity, not problem.fatal))
    more = f" (and {len(listed) - 1} more)" if len(listed) > 1 else ""
    place = f"{source}:{listed[0].line}" if listed[0].line else source
    lines = tuple(f"{source}: {problem}" for problem in listed)
    rules = tuple(problem.rule for problem in listed)
    return InvalidSkill(f"{place}: {listed[0].message}{more}", problems=lines, rules=rules, hint=listed[0].hint)
