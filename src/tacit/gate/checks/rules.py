"""Rules as data: patterns, a weight and a sentence that a reviewer understands. Pieces → findings.

Every pattern is written so that its time grows with the length of the text only: no repetition inside a repetition, and
every gap has a limit. A pattern is tried only on text that holds a literal it cannot match without (see `text/prefilter.py`), which
keeps ordinary skills cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks.pieces import TextPiece
from tacit.text.prefilter import GuardedPattern

PER_RULE_MAX = 5
"""Findings of one rule in one piece: the first ones say it all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for, how much it weighs, and why."""

    id: str
    severity: Severity
    reason: str
    patterns: tuple[GuardedPattern, ...]
    languages: frozenset[str] | None = None
    """Only in these; not given: in every text."""
    unless: re.Pattern[str] | None = None
    """What in the match, or in the rest of its line, takes the weight away."""

    def matches(self, piece: TextPiece) -> Iterator[re.Match[str]]:
        """Where it speaks in a piece, at most a few times."""
        if self.languages is not None and piece.language not in self.languages:
            return
        found = 0
        for pattern in self.patterns:
            for match in pattern.finditer(piece.text, piece.lowered):
                if self.unless is not None and self.unless.search(_line(piece.text, match)):
                    continue
                yield match
                found += 1
                if found == PER_RULE_MAX:
                    return


def rule(
    id: str,  # noqa: A002 - what it is
    severity: Severity,
    reason: str,
    *patterns: str,
    languages: str = "",
    unless: str = "",
) -> Rule:
    """A rule that speaks where any of its patterns matches, whatever the case."""
    return Rule(
        id,
        severity,
        reason,
        tuple(map(GuardedPattern, patterns)),
        frozenset(languages.split()) if languages else None,
        re.compile(unless, re.IGNORECASE) if unless else None,
    )


def apply(rules: Sequence[Rule], pieces: Iterable[TextPiece]) -> Iterator[Finding]:
    """All that the rules say of the pieces. A block is part of its text, so only rules for a language look at it again."""
    for piece in pieces:
        for each in rules:
            if piece.is_block and each.languages is None:
                continue
            for match in each.matches(piece):
                yield piece.finding(each.id, each.severity, reason=each.reason, span=match.span())


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", max(0, match.start() - 300), match.start()) + 1
    end = text.find("\n", match.end(), match.end() + 300)
    return text[start or max(0, match.start() - 300) : end if end >= 0 else match.end() + 300]
