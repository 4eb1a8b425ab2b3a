"""Lines of one kind each → the templates they were written from: `user <n> not found in <*>`, with the lines of each.

Drain's tree, in small (He et al., 2017): lines of one length whose first word agrees meet in a leaf, and join the group
there whose words agree most, if enough of them do; where they differ, the template says `<*>`. Lines are taken in sorted
order, so that the same set gives the same templates however it came. Masking is not done here: give it signatures.
"""

from __future__ import annotations

from collections.abc import Iterable

ANY = "<*>"
"""Stands in a template where its lines differ."""
LEAST_ALIKE = 0.7
"""The share of words that must agree; masks count, words that already differ do not."""


class _Group:
    __slots__ = ("lines", "words")

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.lines: list[str] = []

    def alike(self, words: list[str]) -> float:
        """The share of places at which both say the same."""
        return sum(one == other for one, other in zip(self.words, words, strict=True)) / len(words)

    def take(self, line: str, words: list[str]) -> None:
        self.words = [one if one == other else ANY for one, other in zip(self.words, words, strict=True)]
        self.lines.append(line)


def templates(lines: Iterable[str], *, least_alike: float = LEAST_ALIKE) -> dict[str, tuple[str, ...]]:
    """Every template with its distinct lines, both sorted. No line is lost, and none stands in two."""
    leaves: dict[tuple[int, str], list[_Group]] = {}
    for line in sorted(set(lines)):
        words = line.split()
        if not words:
            continue
        groups = leaves.setdefault((len(words), _key(words)), [])
        best = max(groups, key=lambda group: group.alike(words), default=None)  # the first of equals
        if best is None or best.alike(words) < least_alike:
            best = _Group(words)
            groups.append(best)
        best.take(line, words)
    found: dict[str, list[str]] = {}
    for leaf in leaves.values():
        for group in leaf:
            found.setdefault(" ".join(group.words), []).extend(group.lines)
    return {template: tuple(sorted(found[template])) for template in sorted(found)}


def _key(words: list[str]) -> str:
    """What leads to a leaf: the first word, unless it is one that varies."""
    first = words[0]
    return ANY if first.startswith("<") or any(sign.isdigit() for sign in first) else first
