"""Splits the attempts of a group into patterns, the smallest sets of calls made together, and learns the order of patterns.

A pattern is one call, or calls that nearly always follow each other. Where attempts call one tool twice with a few values that
the task does not name (a permission, a mode), each value gives a pattern. `pattern_conditions` learns when one is needed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

from tacit.domain.outline import Move, Outline, Reading
from tacit.text.facts import comparable

MIN_SUPPORT = 3
"""Attempts before anything counts as general. Smaller: chance passes for a pattern; larger: more attempts are needed."""
MAX_CALLS = 8
"""Calls of one pattern. Larger: whole tasks become one pattern, which fits no other task."""
_ALWAYS = 0.9
_NEARLY = 0.8
"""The share of the first call, and of the second, that the pair must make up to be joined.

Smaller: separate work is joined into one skill; larger: more single calls. `bench/telecom.py` and `score_retail` watch it.
"""
_MOSTLY = 0.5
"""The share of calls whose value was named before; from there a value is a parameter and gives no pattern of its own."""
_FEW_VALUES = 5
"""Values of an argument that give a pattern each. Larger: many skills for one tool."""
_ID_OR_ADDRESS = re.compile(r"\d{3}|@")
"""An id or address. Skills are named after fixed values, so that these must not be of one person or record."""
_CAPITAL = re.compile(r"(?:^|\s)[A-Z][a-z]")

T = TypeVar("T")
Token = tuple[str, tuple[tuple[str, str], ...]]
"""A tool, and the fixed values that distinguish this use of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPattern:
    """Calls that are made together, and the attempts that made them."""

    tokens: tuple[Token, ...]
    made: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """Successful attempt → per occurrence, the positions of its calls among the attempt's moves."""

    @property
    def key(self) -> str:
        """The name of the pattern within its group, the same in every run."""
        return " + ".join(tool + "".join(f"[{key}={value}]" for key, value in fixed) for tool, fixed in self.tokens)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools it calls, in order."""
        return tuple(tool for tool, _ in self.tokens)

    @property
    def support(self) -> int:
        """The number of successful attempts that made it."""
        return len(self.made)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPatterns:
    """The patterns of a group, and how to find them in any attempt."""

    patterns: tuple[CallPattern, ...]
    splitting: Mapping[str, tuple[str, ...]]
    """Tool → the arguments whose fixed values give separate patterns."""
    keys: Mapping[tuple[Token, ...], str]

    def sequence(self, outline: Outline) -> list[str]:
        """Return the keys of the patterns that an attempt made, in order."""
        return [key for key, _ in self.occurrences(outline)]

    def occurrences(self, outline: Outline) -> list[tuple[str, int]]:
        """Return the keys of the patterns that an attempt made, in order, each with the position of its first move."""
        return [(self.keys[tokens], places[0]) for tokens, places in parse(_tokens(outline, self.splitting), self.keys)]


def find_patterns(group: Group) -> CallPatterns:
    """Find the patterns of a group, most supported first."""
    splitting = _splitting_arguments(group.successes)
    sequences = {outline.trajectory_id: _tokens(outline, splitting) for outline in group.successes}
    chains = _chains([[token for _, token in sequence] for sequence in sequences.values()])
    made: dict[tuple[Token, ...], dict[str, list[tuple[int, ...]]]] = {}
    known = {(token,) for sequence in sequences.values() for _, token in sequence} | set(chains)
    for trajectory_id, sequence in sequences.items():
        for tokens, places in parse(sequence, known):
            made.setdefault(tokens, {}).setdefault(trajectory_id, []).append(places)
    patterns = [
        CallPattern(tokens=tokens, made={identity: tuple(times) for identity, times in where.items()})
        for tokens, where in made.items()
    ]
    patterns.sort(key=lambda pattern: (-pattern.support, pattern.key))
    return CallPatterns(
        patterns=tuple(patterns), splitting=splitting, keys={pattern.tokens: pattern.key for pattern in patterns}
    )


def _tokens(outline: Outline, splitting: Mapping[str, tuple[str, ...]]) -> list[tuple[int, Token]]:
    """Return the moves that worked, each as its position and token."""
    found: list[tuple[int, Token]] = []
    for at, move in enumerate(outline.moves):
        fixed = (key for key in splitting.get(move.tool, ()) if key in move.arguments)
        if move.worked:
            found.append((at, (move.tool, tuple((key, str(move.arguments[key])) for key in fixed))))
    return found


def parse(
    sequence: Sequence[tuple[int, Token]], known: Collection[tuple[Token, ...]]
) -> list[tuple[tuple[Token, ...], tuple[int, ...]]]:
    """Split a sequence into known patterns, the longest first, each with its positions; other tokens are skipped."""
    longest = max((len(tokens) for tokens in known), default=0)
    found: list[tuple[tuple[Token, ...], tuple[int, ...]]] = []
    at = 0
    while at < len(sequence):
        for length in range(min(longest, len(sequence) - at), 0, -1):
            tokens = tuple(token for _, token in sequence[at : at + length])
            if tokens in known:
                found.append((tokens, tuple(place for place, _ in sequence[at : at + length])))
                at += length
                break
        else:
            at += 1
    return found


_Part = tuple[Token, ...]


def _chains(sequences: Sequence[Sequence[Token]]) -> list[_Part]:
    """Return calls that belong together: the second nearly always follows the first and rarely occurs otherwise.

    Neighbouring parts are joined in rounds, so that `(a,) (b,) (c,)` becomes `(a, b) (c,)` and then `(a, b, c)`.
    """
    rows: list[list[_Part]] = [[(token,) for token in sequence] for sequence in sequences]
    chains: set[_Part] = set()
    while pairs := _pairs_to_join(rows):
        chains -= {*pairs, *pairs.values()}
        chains |= {first + second for first, second in pairs.items()}
        rows = [_joined(row, pairs) for row in rows]
    return sorted(chains)


def _pairs_to_join(rows: Sequence[Sequence[_Part]]) -> dict[_Part, _Part]:
    """Return the pairs that belong together, the most frequent first, as first → second; each part is in one of them."""
    times = Counter(part for row in rows for part in row)
    counts = Counter(pair for row in rows for pair in pairwise(row) if pair[0] != pair[1])
    found: dict[_Part, _Part] = {}
    taken: set[_Part] = set()
    for (first, second), count in sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True):
        if count < MIN_SUPPORT:
            break
        belong = count >= _ALWAYS * times[first] and count >= _NEARLY * times[second]
        if belong and len(first) + len(second) <= MAX_CALLS and taken.isdisjoint((first, second)):
            found[first] = second
            taken |= {first, second}
    return found


def _joined(row: Sequence[_Part], pairs: Mapping[_Part, _Part]) -> list[_Part]:
    joined: list[_Part] = []
    for part in row:
        if joined and pairs.get(joined[-1]) == part:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _splitting_arguments(successes: Sequence[Outline]) -> dict[str, tuple[str, ...]]:
    """Return arguments that choose between uses of one tool: few values, each repeated, two of them in one attempt."""
    values: dict[tuple[str, str], Counter[str]] = {}
    calls: Counter[str] = Counter()
    together: set[tuple[str, str]] = set()
    named: Counter[tuple[str, str]] = Counter()
    takers: dict[tuple[str, str], dict[str, set[str]]] = {}
    for outline in successes:
        seen: dict[str, list[Mapping[str, Any]]] = {}
        task = outline.task.casefold()
        shown = {fact.casefold() for reading in outline.readings for facts in reading.facts.values() for fact in facts}
        for move in outline.moves:
            calls[move.tool] += 1
            for key, value in move.arguments.items():
                if isinstance(value, str | bool):
                    values.setdefault((move.tool, key), Counter())[str(value)] += 1
                    asked = takers.setdefault((move.tool, key), {}).setdefault(str(value), set())
                    asked.add(outline.task)
                    named[move.tool, key] += _is_named(str(value).casefold(), task, shown)
            for earlier in seen.get(move.tool, ()):
                together.update((move.tool, key) for key in _single_difference(earlier, move.arguments))
            seen.setdefault(move.tool, []).append(move.arguments)
    found: dict[str, list[str]] = {}
    for (tool, key), counts in sorted(values.items()):
        if (
            1 < len(counts) <= _FEW_VALUES
            and max(counts.values()) > 1
            and (tool, key) in together
            and named[tool, key] < _MOSTLY * calls[tool]
            and not any(_may_be_private(value, takers[tool, key][value]) for value in counts)
        ):
            found.setdefault(tool, []).append(key)
    return {tool: tuple(keys) for tool, keys in found.items()}


def _single_difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    different = [key for key in left.keys() | right.keys() if left.get(key) != right.get(key)]
    return different if len(different) == 1 else []


def _may_be_private(value: str, tasks: Collection[str]) -> bool:
    """Whether a value may belong to one person or record and must not be part of a name."""
    return len(tasks) < MIN_SUPPORT and bool(
        _ID_OR_ADDRESS.search(value) or (len(tasks) < 2 and _CAPITAL.search(value))
    )


def _is_named(value: str, task: str, shown: set[str]) -> bool:
    return value in task or value in shown


@dataclass(frozen=True, slots=True)
class Group:
    """Attempts with the same tools, oldest first."""

    outlines: tuple[Outline, ...]

    @property
    def successes(self) -> tuple[Outline, ...]:
        """The verified successes."""
        return tuple(outline for outline in self.outlines if outline.success)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the trajectories."""
        return tuple(outline.trajectory_id for outline in self.outlines)


def groups_of(outlines: Sequence[Outline]) -> list[Group]:
    """Sort attempts into groups by their tools; those without a move are left out."""
    parent: dict[str, str] = {}
    for outline in outlines:
        tools = _tools_of_project(outline)
        for tool in tools:
            parent.setdefault(tool, tool)
            _join(parent, tools[0], tool)
    gathered: dict[str, list[Outline]] = {}
    for outline in outlines:
        tools = _tools_of_project(outline)
        if outline.moves and tools:
            gathered.setdefault(root_of(parent, tools[0]), []).append(outline)
    return [Group(_with_looks_found(members)) for members in gathered.values()]


_LOOKED_IN = 0.9
"""The share of successes that call a tool which only looks: repairs are made where something was seen, looks always."""
_LOOK_EXPLAINS = 0.9
"""The share of attempts in which its answer must go with another tool's use. Smaller: what always changes something is taken
for a look; larger: a few odd attempts hide one."""

_CONTRAST = 2
"""Attempts that must show an answer, and that must not. 1: a single attempt passes for a rule."""


def _with_looks_found(outlines: Sequence[Outline]) -> tuple[Outline, ...]:
    """Return attempts in which tools that the names do not show to look, but the answers do, are readings.

    Such a tool is called in nearly every success, and what it answered first goes with whether another tool was used later
    (`op_17` says "stuck" where `op_40` follows, else "open"); or it says one thing first and another at the end, always.
    """
    successes = [outline for outline in outlines if outline.success]
    tools = Counter(tool for outline in successes for tool in {move.tool for move in outline.moves})
    usual = [tool for tool, count in sorted(tools.items()) if count >= max(MIN_SUPPORT, _LOOKED_IN * len(successes))]
    looks = {tool for tool in usual if _only_looks(tool, successes)}
    return tuple(_as_readings(outline, looks) for outline in outlines) if looks else tuple(outlines)


def _only_looks(tool: str, successes: Sequence[Outline]) -> bool:
    followed: list[tuple[Mapping[str, tuple[str, ...]], frozenset[str]]] = []
    changed: Counter[tuple[str, str, str]] = Counter()
    for outline in successes:
        calls = [(at, move) for at, move in enumerate(outline.moves) if move.tool == tool]
        if not calls:
            continue
        (at, first), (_, last) = calls[0], calls[-1]
        followed.append((first.facts, frozenset(move.tool for move in outline.moves[at + 1 :]) - {tool}))
        for key, values in first.facts.items():
            if len(values) == 1 and values != last.facts.get(key, values):
                changed[key, values[0], last.facts[key][0]] += 1
    if any(count >= _LOOKED_IN * len(successes) for count in changed.values()):
        return True
    return any(_explains(showing, followed) for showing in [*_states(followed), *_amounts(followed)])


_Followed = Sequence[tuple[Mapping[str, tuple[str, ...]], frozenset[str]]]
"""What a tool answered first in each attempt, and the tools that were called after it."""


def _states(followed: _Followed) -> list[list[int]]:
    """Return, for each value of each key, the attempts that show it."""
    found: dict[tuple[str, str], list[int]] = {}
    for at, (facts, _) in enumerate(followed):
        for key, values in facts.items():
            for value in values:
                found.setdefault((key, value), []).append(at)
    return list(found.values())


def _amounts(followed: _Followed) -> Iterator[list[int]]:
    """Yield, for each number, the attempts that show less than one of its values."""
    shown: dict[str, list[tuple[float, int]]] = {}
    for at, (facts, _) in enumerate(followed):
        for key, values in facts.items():
            number = comparable(values) if len(values) == 1 else None
            if number and isinstance(number[1], float):
                shown.setdefault(key, []).append((number[1], at))
    for rows in shown.values():
        ordered = sorted(rows)
        for count in range(2, len(ordered) - 1):
            if ordered[count - 1][0] < ordered[count][0]:
                yield [at for _, at in ordered[:count]]


def _explains(showing: Sequence[int], followed: _Followed) -> bool:
    """Whether a tool follows in nearly all attempts that show an answer and in hardly any other, or the other way round."""
    with_it = set(showing)
    if min(len(with_it), len(followed) - len(with_it)) < _CONTRAST:
        return False
    for tool in frozenset().union(*(later for _, later in followed)):
        users = {at for at, (_, later) in enumerate(followed) if tool in later}
        agree = len(followed) - len(users ^ with_it)
        if _CONTRAST <= len(users) <= len(followed) - _CONTRAST and (
            agree >= _LOOK_EXPLAINS * len(followed) or agree <= (1 - _LOOK_EXPLAINS) * len(followed)
        ):
            return True
    return False


def _as_readings(outline: Outline, looks: Collection[str]) -> Outline:
    moves: list[Move] = []
    readings: list[Reading] = []
    calls: list[Move | Reading] = [*outline.moves, *outline.readings]
    for each in sorted(calls, key=lambda one: one.index):
        if isinstance(each, Move) and each.tool not in looks:
            moves.append(each)
        elif isinstance(each, Reading) or each.worked:
            readings.append(
                Reading(index=each.index, tool=each.tool, arguments=each.arguments, facts=each.facts, after=len(moves))
            )
    return replace(outline, moves=tuple(moves), readings=tuple(readings))


def _tools_of_project(outline: Outline) -> list[str]:
    called = [*(move.tool for move in outline.moves), *(reading.tool for reading in outline.readings)]
    return list(dict.fromkeys(f"{outline.project}\n{tool}" for tool in called))


def root_of(parent: dict[T, T], item: T) -> T:
    """Return the item that stands for the set of this one; `parent` maps each item to another of its set, or to itself."""
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


def _join(parent: dict[str, str], left: str, right: str) -> None:
    """Join two groups under the tool that was seen first."""
    a, b = root_of(parent, left), root_of(parent, right)
    if a != b:
        parent[b] = a


_CLEAR_ORDER = 0.75
"""Share of the attempts with both patterns that must agree on their order. Smaller: accidental orders are learned."""


_MIN_ORDERED = 2
"""Attempts that must show an order; one alone may be an accident."""


def learn_order(sequences: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return, for every pattern, those whose first call mostly comes before its own, without circles."""
    names: dict[str, None] = {}
    before: Counter[tuple[str, str]] = Counter()
    for sequence in sequences:
        firsts = list(dict.fromkeys(sequence))
        names.update(dict.fromkeys(firsts))
        before.update((first, later) for at, first in enumerate(firsts) for later in firsts[at + 1 :])
    after: dict[str, set[str]] = defaultdict(set)
    for first, later in _clear_pairs(before):
        if not _reaches(after, first, later):
            after[later].add(first)
    return {name: tuple(sorted(after[name])) for name in sorted(names)}


def _clear_pairs(before: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs with a clear order, the best supported first."""
    found = []
    for (first, later), count in before.items():
        share = count / (count + before[later, first])
        if count >= _MIN_ORDERED and share >= _CLEAR_ORDER:
            found.append((-share * count, first, later))
    return [(first, later) for _, first, later in sorted(found)]


def _reaches(after: dict[str, set[str]], start: str, goal: str) -> bool:
    """Whether `goal` comes before `start`, directly or through others."""
    seen, waiting = {start}, [start]
    while waiting:
        for earlier in after.get(waiting.pop(), ()):
            if earlier == goal:
                return True
            if earlier not in seen:
                seen.add(earlier)
                waiting.append(earlier)
    return False
