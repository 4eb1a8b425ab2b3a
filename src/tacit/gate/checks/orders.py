"""Rules over the meaning of sentences, as data: which words, in which order, make an order dangerous. Sentence → hits.

A rule is written as conditions with `;` between them. `send! > secret > outside` wants words of these classes in this order,
each near the one before; `quiet|always` wants any of these anywhere; `-advice` wants none. `!` is a deed that is ordered
and `~` one that is negated, as `text.touches.meaning` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tacit.domain.candidate import Severity
from tacit.text.touches.lexicon import BITS
from tacit.text.touches.meaning import Meaning

_NEAR = 70
"""Characters between two words that still belong together."""


@dataclass(frozen=True, slots=True)
class Order:
    """One way of ordering harm, how much it weighs, and a sentence for the reviewer."""

    id: str
    severity: Severity
    reason: str
    chains: tuple[tuple[tuple[str, ...], ...], ...]
    wanted: tuple[tuple[str, ...], ...]
    unwanted: tuple[str, ...]
    undone: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """Chains that take the weight away, such as a prohibition before the word."""
    bits: tuple[int, ...] = ()
    """Sets of classes of each of which one must be there."""

    def span(self, meaning: Meaning) -> tuple[int, int] | None:
        """The characters that it speaks of, or nothing."""
        found: tuple[int, int] | None = None
        for chain in self.chains:
            reached = _follow(chain, meaning)
            if reached is None:
                return None
            found = reached if found is None else (min(found[0], reached[0]), max(found[1], reached[1]))
        if not all(meaning.holds(*names) for names in self.wanted) or meaning.holds(*self.unwanted):
            return None
        if any(_follow(chain, meaning) for chain in self.undone):
            return None
        return found or (0, len(meaning.text))


Orders = tuple[tuple[int, tuple[Order, ...]], ...]
"""Rules by the classes of which they want one first."""


def broken(rules: Orders, meaning: Meaning) -> Iterator[tuple[Order, tuple[int, int]]]:
    """The rules that a sentence breaks, the first of each name, with the characters they speak of."""
    there, told = meaning.possible, set()
    for first, those in rules:
        if not there & first:
            continue
        for rule in those:
            if rule.id in told or not all(there & bits for bits in rule.bits):
                continue
            if (span := rule.span(meaning)) is not None:
                told.add(rule.id)
                yield rule, span


def orders(severity: Severity, table: dict[tuple[str, str], str]) -> Orders:
    """Read rules: their name and reason → alternatives, one a line."""
    groups: dict[int, list[Order]] = {}
    for (name, reason), lines in table.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            rule = _order(name, severity, reason, line)
            groups.setdefault(rule.bits[0], []).append(rule)
    return tuple((first, tuple(those)) for first, those in groups.items())


def _order(name: str, severity: Severity, reason: str, line: str) -> Order:
    parts = [part.strip() for part in line.split(";") if part.strip()]
    against = [part[1:] for part in parts if part.startswith("-")]
    chains = tuple(_chain(part) for part in parts if ">" in part and not part.startswith("-"))
    unwanted = tuple(name for part in against if ">" not in part for name in _names(part))
    undone = tuple(_chain(part) for part in against if ">" in part)
    wanted = tuple(_names(part) for part in parts if ">" not in part and not part.startswith("-"))
    needed = dict.fromkeys((*(link for chain in chains for link in chain), *wanted))
    return Order(name, severity, reason, chains, wanted, unwanted, undone, tuple(map(_bits, needed)))


def _bits(names: tuple[str, ...]) -> int:
    found = 0
    for name in names:
        found |= BITS[name.rstrip("!~+")]
    return found


def _chain(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(_names(link) for link in text.split(">"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split("|"))


def _follow(chain: tuple[tuple[str, ...], ...], meaning: Meaning) -> tuple[int, int] | None:
    """Where a chain of words runs: the longest reach of any that follows it from link to link."""
    reached = [span for name in chain[0] for span in meaning.spans(name)]
    for link in chain[1:]:
        if not reached:
            return None
        reached = [
            (start, end)
            for name in link
            for at, end in meaning.spans(name)
            for start in [next((first for first, last in reached if -1 <= at - last <= _NEAR), None)]
            if start is not None
        ]
    return max(reached, key=lambda span: (span[1] - span[0], -span[0]), default=None)
