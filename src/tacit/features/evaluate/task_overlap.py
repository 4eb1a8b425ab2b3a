"""Finds tasks that are nearly the same, and tests that training tasks give away.

Words alone are not enough: one complaint may have ten causes, and one piece of work has many wordings. Two tasks are nearly
the same if their words and their solving calls are, or if they share a solution that hardly any other task has; never if
attempts at them began from different states. With the same solution, words and states that differ only in numbers count as
the same. Words that many tasks share come from a template and prove nothing. A number in a call that changes something
always makes another task. All comparisons are exact.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement, product

from tacit.features.evaluate.tool import Call, Turn
from tacit.text.similarity import jaccard
from tacit.text.tool_calls import Effect, operations_of
from tacit.text.words import terms

ALIKE = 0.8
"""From this Jaccard similarity on, words, and calls, are nearly the same."""
SHINGLE = 3
RUN = 8
"""Runs of words that people hardly write twice by chance; shorter texts are compared whole."""
HELD, HELD_ALONE = 0.5, 0.8
"""A test is given away if a training task has this share of its distinctive runs of words; the larger share applies if
the solution is unknown."""
SHARED_BY, SHARED_SHARE = 3, 0.02
"""What occurs in more tasks than this, and in more than this share of them, is common and distinguishes no task."""
_FLEETING = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds)\b"
    r"|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b"
)
"""Clock times, durations and hashes differ from run to run and do not describe the state."""
_PASSING = re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[\w./+-]+")
"""Temporary paths."""
_NUMBER = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b(?=[ ,]+\d|[ ,]+[A-Z][a-z]{2} )"
    r"|\b(?P<date>\d{4}-\d\d-\d\d)\b|\b(?=[^\W\d]*\d)\w{5,}\b|\b\d+(?:[.,]\d+)*\b"
)
"""Numbers, names of letters and digits, and days in listings. A date without a time stays, because it may matter; so do
`4G` and `v2`, which name things."""


Shingle = tuple[str, ...]
"""Some words on end."""


@dataclass(frozen=True)
class TaskProfile:
    """A task for comparison: its key, its words, the calls that solved it, and what was seen first."""

    key: str
    text: str
    calls: tuple[Call, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)
    """What an attempt saw before it changed anything: call → answer."""

    @classmethod
    def of(cls, key: str, text: str, turns: Sequence[Turn]) -> TaskProfile:
        """Return the profile of the task that an attempt was made at."""
        return cls(key, text, tuple(turn.call for turn in turns if not turn.failed), initial_observations(turns))

    @cached_property
    def words(self) -> Shingle:
        """The words of the task, in order."""
        return tuple(terms(self.text, keep_stop_words=True))

    @cached_property
    def shingles(self) -> frozenset[Shingle]:
        """Short runs of words, for similarity."""
        return shingles(self.words, SHINGLE)

    @cached_property
    def numberless(self) -> frozenset[Shingle]:
        """The same with all numbers equal."""
        return shingles(tuple(terms(_without_numbers(self.text), keep_stop_words=True)), SHINGLE)

    @cached_property
    def runs(self) -> frozenset[Shingle]:
        """Long runs of words, to find copied text."""
        return shingles(self.words, RUN)

    @cached_property
    def numberless_seen(self) -> dict[str, str]:
        """What was seen, with all numbers equal."""
        return {call: " ".join(_without_numbers(answer).split()) for call, answer in self.seen.items()}

    @cached_property
    def solution(self) -> frozenset[str]:
        """The calls that changed something, or all calls if none did."""
        changing = [call for call in self.calls if changes(call)]
        return frozenset(_PASSING.sub("~", written(call)) for call in changing or self.calls)


@dataclass(frozen=True, slots=True)
class Leak:
    """A test that a training task gives away."""

    test: str
    task: str
    share: float
    """Share of the test's distinctive runs of words in the training task; 1 if the solution itself is there."""


def changes(call: Call) -> bool:
    """Whether a call changes something, judged by its name or command."""
    return any(act.effect is Effect.WRITE for act in operations_of(call.tool, call.arguments))


def written(call: Call) -> str:
    """Return a call as text for comparison; the order of arguments does not matter."""
    return f"{call.tool} {json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)}"


def initial_observations(turns: Sequence[Turn]) -> dict[str, str]:
    """Return what was seen before the first change: call → first answer, without what differs from run to run."""
    seen: dict[str, str] = {}
    for turn in turns:
        if changes(turn.call):
            break
        seen.setdefault(written(turn.call), _FLEETING.sub("~", _PASSING.sub("~", turn.observation)))
    return seen


def same_start(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two attempts may have begun in one state: no common first call was answered differently."""
    return all(other.get(call, answer) == answer for call, answer in one.items())


def find_leaks(train: Sequence[TaskProfile], tests: Sequence[TaskProfile]) -> list[Leak]:
    """Return the tests that training tasks give away, each with the task that has most of it."""
    everything = [*train, *tests]
    leaders = _tasks(everything)
    held = {(leader, run) for each, leader in zip(everything, leaders, strict=True) for run in each.runs}
    common, most = Counter(run for _, run in held), _few(leaders)

    def is_own(run: Shingle) -> bool:
        """Whether few tasks share a run of words."""
        return common[run] <= most

    known = _Training(train, leaders, is_own=is_own, own_solutions=own_solutions(everything, leaders).keys())
    found = []
    for test, leader in zip(tests, leaders[len(train) :], strict=True):
        given = min(known.giving_away(test, leader, runs=list(filter(is_own, test.runs))), default=None)
        found += [Leak(test.key, train[given[1]].key, -given[0])] if given else []
    return found


class _Training:
    """An index of the training tasks, so that a test is not compared with each of them.

    Tasks with the same words and solution are looked up together, by the state they began from.
    """

    def __init__(
        self,
        train: Sequence[TaskProfile],
        leaders: Sequence[int],
        *,
        is_own: Callable[[Shingle], bool],
        own_solutions: AbstractSet[frozenset[str]],
    ) -> None:
        self._retold: dict[int, dict[frozenset[str], _Starts]] = {}
        self._solved: dict[frozenset[str], _Starts] = {}
        self._holders: dict[Shingle, dict[int, list[_Starts]]] = {}
        worded: dict[tuple[int, frozenset[Shingle], frozenset[str]], _Starts] = {}
        for place, matter in enumerate(train):
            leader, solution = leaders[place], matter.solution
            self._retold.setdefault(leader, {}).setdefault(solution, _Starts(solution)).add(place, matter)
            if solution in own_solutions:
                self._solved.setdefault(solution, _Starts(solution)).add(place, matter)
            alike = (leader, matter.runs, solution)
            if alike not in worded:
                worded[alike] = _Starts(solution)
                for run in filter(is_own, matter.runs):
                    self._holders.setdefault(run, {}).setdefault(leader, []).append(worded[alike])
            worded[alike].add(place, matter)

    def giving_away(self, test: TaskProfile, leader: int, *, runs: Sequence[Shingle]) -> Iterator[tuple[float, int]]:
        """Yield the share of a test that tasks have, as a negative number, with the first task that may give it away."""
        whole = [*self._retold.get(leader, {}).values()]
        whole += [self._solved[test.solution]] if test.solution in self._solved else []
        for starts in whole:
            yield from ((-1.0, place) for place in starts.first(test, 1.0))
        shared = Counter(
            starts
            for run in runs
            for other, holders in self._holders.get(run, {}).items()
            if other != leader  # tasks with the same wording as the test have all of it
            for starts in holders
        )
        for starts, count in shared.items():
            share = count / len(runs)
            yield from ((-share, place) for place in starts.first(test, share))


class _Starts:
    """Tasks with one solution, by the states that attempts at them began from."""

    def __init__(self, solution: frozenset[str]) -> None:
        self._solution = solution
        self._opened: dict[frozenset[str], list[tuple[int, TaskProfile]]] = {}
        self._answered: dict[tuple[frozenset[str], frozenset[str], bool], dict[Shingle, int]] = {}

    def add(self, place: int, matter: TaskProfile) -> None:
        """Add a task; all are added before the first lookup."""
        self._opened.setdefault(frozenset(matter.seen), []).append((place, matter))

    def first(self, test: TaskProfile, share: float) -> list[int]:
        """Return the first task that gives away a test of which it has this share."""
        is_enough = share >= HELD and len(test.solution & self._solution) >= HELD * len(test.solution)
        if not (is_enough if test.solution else share >= HELD_ALONE):
            return []
        ways = (False, True) if test.solution and test.solution == self._solution else (False,)
        places = []
        for calls, way in product(self._opened, ways):
            common = calls.intersection(test.seen)
            by_answers = self._by_answers(calls, common, numberless=way)
            places.append(by_answers.get(answers(test, common, numberless=way)))
        return sorted(place for place in places if place is not None)[:1]

    def _by_answers(self, calls: frozenset[str], common: frozenset[str], *, numberless: bool) -> dict[Shingle, int]:
        """Return answers to the calls that the test also began with → the first task with these answers."""
        known = self._answered.get((calls, common, numberless))
        if known is None:
            known = self._answered[calls, common, numberless] = {}
            for place, matter in self._opened[calls]:
                known.setdefault(answers(matter, common, numberless=numberless), place)
        return known


def answers(matter: TaskProfile, calls: AbstractSet[str], *, numberless: bool) -> Shingle:
    """Return the answers to these first calls, in order."""
    seen = matter.numberless_seen if numberless else matter.seen
    return tuple(seen[call] for call in sorted(calls))


def _tasks(matters: Sequence[TaskProfile]) -> list[int]:
    """Return for each place the first place of its task: same key, or same words (numbers apart) and same solution.

    Similar tasks are not joined: if many tasks share words, one would lead to the next until all were one.
    """
    first: dict[Hashable, int] = {}
    groups = Clusters(len(matters))
    for place, matter in enumerate(matters):
        for name in (matter.key, (matter.numberless, matter.solution)):
            groups.join(first.setdefault(name, place), place)
    return groups.leaders()


def own_solutions(matters: Sequence[TaskProfile], leaders: Sequence[int]) -> dict[frozenset[str], list[int]]:
    """Return solutions that only a few tasks share → their places."""
    most = _few(leaders)
    holders: dict[frozenset[str], list[int]] = {}
    for place, matter in enumerate(matters):
        if matter.solution:
            holders.setdefault(matter.solution, []).append(place)
    return {
        solution: places
        for solution, places in holders.items()
        if len(places) > 1 and len({leaders[place] for place in places}) <= most
    }


def _few(leaders: Sequence[int]) -> float:
    return max(SHARED_BY, SHARED_SHARE * len(set(leaders)))


def _without_numbers(text: str) -> str:
    return _NUMBER.sub(lambda found: found["date"] or "0", _FLEETING.sub("0", _PASSING.sub("0", text)))


_NONE = frozenset({""})
"""Stands for a solution without calls: two of them are equal."""


def near_duplicates(matters: Sequence[TaskProfile]) -> list[list[int]]:
    """Clusters of places whose tasks are nearly the same; places that stand alone are in no group."""
    groups = Clusters(len(matters))
    members: dict[Hashable, list[tuple[int, TaskProfile]]] = {}
    for place, matter in enumerate(matters):
        members.setdefault((matter.words, matter.numberless, matter.solution), []).append((place, matter))
    blocks = [_Block(each) for each in members.values()]
    for alike in (_worded_alike, _worded_alike_but_for_numbers):
        for one, other in alike(blocks, groups):
            _join(one, other, groups)
    for places in own_solutions(matters, groups.leaders()).values():
        own = _Block([(place, matters[place]) for place in places])
        _join(own, own, groups, exactly=True)
    return groups.several()


class _Block:
    """Tasks with the same words and solution, by the calls that their attempts began with."""

    def __init__(self, members: Sequence[tuple[int, TaskProfile]]) -> None:
        self.place, self.first = members[0]
        self._is_one = len(members) == 1
        self.opened: dict[frozenset[str], list[tuple[int, TaskProfile]]] = {}
        for place, matter in members:
            self.opened.setdefault(frozenset(matter.seen), []).append((place, matter))

    def is_settled(self, other: _Block, groups: Clusters) -> bool:
        """Whether both are single tasks, and are in one group already or cannot be one task."""
        if not (self._is_one and other._is_one):
            return False
        if groups.lead(self.place) == groups.lead(other.place):
            return True
        if self.first.solution and self.first.solution == other.first.solution:
            return not same_start(self.first.numberless_seen, other.first.numberless_seen)
        return not same_start(self.first.seen, other.first.seen)


def _worded_alike(blocks: Sequence[_Block], groups: Clusters) -> Iterator[tuple[_Block, _Block]]:
    """Yield blocks with nearly the same words and nearly the same calls."""
    words = [block.first.shingles for block in blocks]
    solutions = [block.first.solution or _NONE for block in blocks]
    for left, right in candidate_pairs(
        zip(rarest_members(words, ALIKE), rarest_members(solutions, ALIKE), strict=True)
    ):
        if blocks[left].is_settled(blocks[right], groups):
            continue
        if jaccard(words[left], words[right]) >= ALIKE and jaccard(solutions[left], solutions[right]) >= ALIKE:
            yield blocks[left], blocks[right]


def _worded_alike_but_for_numbers(blocks: Sequence[_Block], groups: Clusters) -> Iterator[tuple[_Block, _Block]]:
    """Yield blocks with the same solution whose words are nearly the same if numbers are ignored."""
    words = [block.first.numberless for block in blocks]
    solutions = [[block.first.solution] if block.first.solution else [] for block in blocks]
    for left, right in candidate_pairs(zip(rarest_members(words, ALIKE), solutions, strict=True)):
        if blocks[left].is_settled(blocks[right], groups):
            continue
        if jaccard(words[left], words[right]) >= ALIKE and blocks[left].first.words != blocks[right].first.words:
            yield blocks[left], blocks[right]


def _join(one: _Block, other: _Block, groups: Clusters, *, exactly: bool = False) -> None:
    """Join tasks that may have begun in one state; with the same solution, numbers do not make another state."""
    numberless = not exactly and bool(one.first.solution) and one.first.solution == other.first.solution
    pairs = combinations_with_replacement(one.opened, 2) if one is other else product(one.opened, other.opened)
    for calls, others in pairs:
        here, there = one.opened[calls], other.opened[others]
        if len(here) == len(there) == 1 and groups.lead(here[0][0]) == groups.lead(there[0][0]):
            continue
        common = calls & others
        begun = _by_answers(here, common, numberless=numberless)
        met = begun if there is here else _by_answers(there, common, numberless=numberless)
        for answered, places in begun.items():
            for place in (*places[1:], *met[answered]) if answered in met else ():
                groups.join(places[0], place)


def _by_answers(
    members: Iterable[tuple[int, TaskProfile]], calls: AbstractSet[str], *, numberless: bool
) -> dict[tuple[str, ...], list[int]]:
    """Return answers to these calls → the places of attempts with these answers."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, matter in members:
        found.setdefault(answers(matter, calls, numberless=numberless), []).append(place)
    return found


def shingles(words: Sequence[str], length: int) -> frozenset[Shingle]:
    """Return every run of so many words; a shorter text is one shingle as a whole."""
    if len(words) <= length:
        return frozenset([tuple(words)] if words else [])
    return frozenset(tuple(words[start : start + length]) for start in range(len(words) - length + 1))


def rarest_members(sets: Sequence[AbstractSet[Hashable]], least: float) -> list[list[Hashable]]:
    """Return the rarest members of each set, so many that two sets with a Jaccard of at least `least` share one of them."""
    frequency = Counter(member for each in sets for member in each)
    ranked = (sorted(each, key=lambda member: (frequency[member], repr(member))) for each in sets)
    return [each[: len(each) - math.ceil(least * len(each)) + 1] for each in ranked]


def candidate_pairs(keys: Iterable[tuple[Iterable[Hashable], Iterable[Hashable]]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of positions that share a key in both of their two lists; each position with itself too."""
    # One index per list: an index of all combinations of both would grow with their product.
    holders: tuple[dict[Hashable, list[int]], dict[Hashable, list[int]]] = ({}, {})
    known: list[tuple[frozenset[Hashable], frozenset[Hashable]]] = []
    for position, (first, second) in enumerate(keys):
        known.append((frozenset(first), frozenset(second)))
        sharing = []
        for own, index in zip(known[position], holders, strict=True):
            for key in own:
                index.setdefault(key, []).append(position)
            sharing.append([index[key] for key in own])
        fewer = min((0, 1), key=lambda side: sum(map(len, sharing[side])))
        other_keys = known[position][1 - fewer]
        for other in set().union(*sharing[fewer]):
            if not other_keys.isdisjoint(known[other][1 - fewer]):
                yield other, position


class Clusters:
    """Positions that belong together by pairs (union-find)."""

    def __init__(self, count: int) -> None:
        """Begin with each position alone."""
        self._leader = list(range(count))

    def join(self, left: int, right: int) -> None:
        """Put two positions, and all that belong to them, together."""
        first, second = sorted((self.lead(left), self.lead(right)))
        self._leader[second] = first

    def lead(self, position: int) -> int:
        """Return the first position of a cluster."""
        leader = self._leader
        while leader[position] != position:
            leader[position] = leader[leader[position]]
            position = leader[position]
        return position

    def leaders(self) -> list[int]:
        """Return for each position the first of its cluster."""
        return [self.lead(position) for position in range(len(self._leader))]

    def several(self) -> list[list[int]]:
        """Return the clusters of more than one position."""
        clusters: dict[int, list[int]] = {}
        for position, leader in enumerate(self.leaders()):
            clusters.setdefault(leader, []).append(position)
        return [cluster for cluster in clusters.values() if len(cluster) > 1]
