"""Rules on segments of text as data: patterns, a severity and a sentence for the reviewer.

Every pattern runs in linear time: no repetition inside a repetition, and every gap has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks.text_segments import TextSegment

PER_RULE_MAX = 5
"""Findings of one rule in one segment; further ones add nothing."""
EVERY_TASK = re.compile(
    r"\b(?:always|never|regardless|unconditionally|no matter (?:what|which|who|how)|under (?:no|any|all) circumstances?"
    r"|at all times|in (?:all|every) cases?|without exceptions?|from now on|(?:each|every) (?:single )?time"
    r"|every (?:task|session|request)|(?:after|for) (?:each|every|any) (?:task|session|request)"
    r"|before (?:finali[sz]ing|finishing|answering|responding|you finish|completing|the final))\b",
    re.IGNORECASE,
)
"""Words of an order that applies to every task. `content_checks` reports lines with them by their origin, the check of prose
where such an order has consequences; both as `standing_order`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for, how severe it is, and why."""

    id: str
    severity: Severity
    reason: str
    patterns: tuple[re.Pattern[str], ...]
    languages: frozenset[str] | None = None
    """Languages of the segments it applies to; None: all."""
    unless: re.Pattern[str] | None = None
    """A match in the same line that cancels the finding."""

    def matches(self, segment: TextSegment) -> Iterator[re.Match[str]]:
        """Yield its matches in a segment, at most `PER_RULE_MAX`."""
        if self.languages is not None and segment.language not in self.languages:
            return
        found = 0
        for pattern in self.patterns:
            for match in find_all(pattern, segment.text):
                if self.unless is not None and self.unless.search(_line(segment.text, match)):
                    continue
                yield match
                found += 1
                if found == PER_RULE_MAX:
                    return


_FOLDED = re.compile("[ıſİ\u212a]")
"""Other characters that match `i`, `s` or `k` where case is ignored."""


@lru_cache(maxsize=64)
def _lowered(text: str) -> str:
    """Return a text in lower case; empty where a search for words would overlook what a pattern matches."""
    return "" if not text.isascii() and _FOLDED.search(text) else text.lower()


def find_all(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Return the matches of a pattern, which is applied only where the text has the words that it needs.

    That takes a tenth of the time, and most patterns match nowhere.
    """
    if lowered := _lowered(text):
        for words in needed_words(pattern):
            for word in words:
                if word in lowered:
                    break
            else:
                return iter(())
    return pattern.finditer(text)


@lru_cache(maxsize=2048)
def needed_words(pattern: re.Pattern[str]) -> tuple[tuple[str, ...], ...]:
    """Return groups of lower-case texts: every match contains at least one of each group."""
    groups = {frozenset(group) for group in _needed(_parser.parse(pattern.pattern, pattern.flags))}
    return tuple(tuple(sorted(group)) for group in sorted(groups, key=lambda group: -min(map(len, group))))


def _needed(tree: Iterable[tuple[Any, Any]]) -> list[frozenset[str]]:
    """Return the groups of texts that a parsed sequence needs, without those that hold very short ones."""
    found: list[frozenset[str]] = []
    run = ""
    for kind, value in [*tree, (None, None)]:
        if kind is _parser.LITERAL and value < 128:
            run += chr(value).lower()
            continue
        found, run = [*found, frozenset({run})], ""
        if kind is _parser.SUBPATTERN:
            found += _needed(value[-1])
        elif kind is _parser.BRANCH:
            # Of each branch the part whose shortest text is longest.
            branches = [max(_needed(each), key=_shortest, default=frozenset[str]()) for each in value[1]]
            found.append(frozenset().union(*branches) if all(branches) else frozenset())
        elif kind in (_parser.MAX_REPEAT, _parser.MIN_REPEAT) and value[0]:
            found += _needed(value[-1])
    return [words for words in found if _shortest(words) >= _SHORTEST_NEEDED]


def _shortest(words: frozenset[str]) -> int:
    return min(map(len, words), default=0)


_SHORTEST_NEEDED = 2


def rules(table: Mapping[tuple[str, Severity, str], str], **parts: str) -> tuple[Rule, ...]:
    """Make rules of a table: name, severity and reason → patterns, one per line; any of them matches, ignoring case.

    A line may also say `unless: PATTERN` or `languages: NAMES`; `{shell}` in a pattern stands for the part of that name.
    """
    made: list[Rule] = []
    for (name, severity, reason), text in table.items():
        patterns: list[re.Pattern[str]] = []
        languages, unless = None, None
        for line in text.strip().splitlines():
            pattern = line.strip()
            for part, stands_for in parts.items():
                pattern = pattern.replace(f"{{{part}}}", stands_for)
            if pattern.startswith("languages: "):
                languages = frozenset(pattern.removeprefix("languages: ").split())
            elif pattern.startswith("unless: "):
                unless = re.compile(pattern.removeprefix("unless: "), re.IGNORECASE)
            else:
                patterns.append(re.compile(pattern, re.IGNORECASE))
        made.append(Rule(name, severity, reason, tuple(patterns), languages, unless))
    return tuple(made)


_QUOTING = frozenset({"python", "javascript", "data"})
_CONSTANT = re.compile(r"(?:[\[{(,:]|\bin|==)\s*[\"']$(?<!-c\", \")(?<!-c', ')(?<!\w\([\"'])")
"""Before a command that is one constant of a list or a comparison, as in lists of what is refused; not of a call."""


def apply(rules: Sequence[Rule], segments: Iterable[TextSegment]) -> Iterator[Finding]:
    """Apply rules to segments. A code block is part of its text too, so only rules for a language examine it again."""
    for segment in segments:
        for each in rules:
            if segment.is_block and each.languages is None:
                continue
            for match in each.matches(segment):
                if (
                    segment.language in _QUOTING
                    and _CONSTANT.search(segment.text[: match.start()][-80:])
                    and (segment.text[match.end() : match.end() + 1] in ("'", '"'))
                ):
                    continue
                yield segment.finding(each.id, each.severity, reason=each.reason, span=match.span())


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", max(0, match.start() - 300), match.start()) + 1
    end = text.find("\n", match.end(), match.end() + 300)
    return text[start or max(0, match.start() - 300) : end if end >= 0 else match.end() + 300]
