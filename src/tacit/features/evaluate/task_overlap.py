"""Which tasks are one task in other clothes: what was asked, seen and done → what tells them apart, and leaks between two sets.

Words alone do not tell: one complaint may have ten causes, and one piece of work can be asked for in many ways. Two tasks
are nearly the same where their words and the calls that solved them are, or where they have a solution in common that
hardly any other task has; and never where attempts at them began from different states. Where the solution is the very
same, words and states that differ in numbers alone (a process, a port, a size, a run) are the same. Words that many tasks
share are a template's and tell nothing; a task that is told many times is one of those many. A number in a changing call
always makes another task: nobody can tell an order from a process by its number. All comparisons are exact. Pure.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement, product

from tacit.domain.tool import Call, Turn
from tacit.text.near_duplicates import Clusters, Shingle, candidate_pairs, jaccard, rarest_members, shingles
from tacit.text.tool_calls import Effect, operations_of
from tacit.text.words import terms

ALIKE = 0.8
"""From this shared share on, words, and calls, are nearly the same."""
SHINGLE = 3
RUN = 8
"""Words on end that people hardly write twice by chance; shorter texts are compared whole."""
HELD, HELD_ALONE = 0.5, 0.8
"""A test is leaked where a training task holds this share of its own runs of words; the larger one, where its solution is not
known and words alone must tell."""
SHARED_BY, SHARED_SHARE = 3, 0.02
"""What stands in more tasks than this, and in more than this share of them, is everybody's: it tells no task from another."""
_FLEETING = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds)\b"
    r"|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b"
)
"""Clocks, durations and hashes: they differ from run to run and tell nothing of the state."""
_PASSING = re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[\w./+-]+")
"""Places that a run makes for itself."""
_NUMBER = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b(?=[ ,]+\d|[ ,]+[A-Z][a-z]{2} )"
    r"|\b(?P<date>\d{4}-\d\d-\d\d)\b|\b(?=[^\W\d]*\d)\w{5,}\b|\b\d+(?:[.,]\d+)*\b"
)
"""Numbers, names made of letters and digits, and days as listings write them. A date without a clock stays, it may be what
all hangs on; so do `4G` and `v2`, which say what something is."""


@dataclass(frozen=True)
class TaskProfile:
    """What a task is about: which one it is, what was asked, and what solved it, where that is known."""

    key: str
    text: str
    calls: tuple[Call, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)
    """What an attempt found before it changed anything: call → answer."""

    @classmethod
    def of(cls, key: str, text: str, turns: Sequence[Turn]) -> TaskProfile:
        """A task as an attempt shows it."""
        return cls(key, text, tuple(turn.call for turn in turns if not turn.failed), initial_observations(turns))

    @cached_property
    def words(self) -> Shingle:
        """What was asked, word by word."""
        return tuple(terms(self.text, keep_stop_words=True))

    @cached_property
    def shingles(self) -> frozenset[Shingle]:
        """Short runs of words: how alike two texts are, is measured by these."""
        return shingles(self.words, SHINGLE)

    @cached_property
    def numberless(self) -> frozenset[Shingle]:
        """The same with every number taken for the same one."""
        return shingles(tuple(terms(_without_numbers(self.text), keep_stop_words=True)), SHINGLE)

    @cached_property
    def runs(self) -> frozenset[Shingle]:
        """Long runs of words: whether one text was taken from another, is measured by these."""
        return shingles(self.words, RUN)

    @cached_property
    def numberless_seen(self) -> dict[str, str]:
        """What was found, with every number taken for the same one."""
        return {call: " ".join(_without_numbers(answer).split()) for call, answer in self.seen.items()}

    @cached_property
    def solution(self) -> frozenset[str]:
        """The calls that changed something, or all of them where none did."""
        changing = [call for call in self.calls if changes(call)]
        return frozenset(_PASSING.sub("~", written(call)) for call in changing or self.calls)


@dataclass(frozen=True, slots=True)
class Leak:
    """A test that a training task gives away."""

    test: str
    task: str
    share: float
    """How much of the test's own runs of words stands in the training task; all of it, where the solution itself does."""


def changes(call: Call) -> bool:
    """Whether a call changes something, going by its name or its command."""
    return any(act.effect is Effect.WRITE for act in operations_of(call.tool, call.arguments))


def written(call: Call) -> str:
    """A call as text to compare by: the order of its arguments does not matter."""
    return f"{call.tool} {json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)}"


def initial_observations(turns: Sequence[Turn]) -> dict[str, str]:
    """What was seen before anything was changed: call → its first answer, without what differs from run to run."""
    seen: dict[str, str] = {}
    for turn in turns:
        if changes(turn.call):
            break
        seen.setdefault(written(turn.call), _FLEETING.sub("~", _PASSING.sub("~", turn.observation)))
    return seen


def same_start(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two attempts may have begun from one state: no call that both opened with was answered otherwise."""
    return all(other.get(call, answer) == answer for call, answer in one.items())


def find_leaks(train: Sequence[TaskProfile], tests: Sequence[TaskProfile]) -> list[Leak]:
    """The tests that a training task gives away, each with the task that holds most of it."""
    everything = [*train, *tests]
    leaders = _tasks(everything)
    is_own = _distinctiveshingles(everything, leaders)
    known = _Training(train, leaders, is_own=is_own, own_solutions=own_solutions(everything, leaders).keys())
    found = []
    for test, leader in zip(tests, leaders[len(train) :], strict=True):
        held = min(known.giving_away(test, leader, runs=list(filter(is_own, test.runs))), default=None)
        found += [Leak(test.key, train[held[1]].key, -held[0])] if held else []
    return found


class _Training:
    """Training tasks by what gives a test away, so that a test is not held against every one of them.

    Tasks in the same words with the same solution are looked through together: of a thousand attempts that were asked for alike
    one look tells which began as the test did.
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
        """Every share of a test that tasks hold, as a negative number, with the first task that may give it away."""
        whole = [*self._retold.get(leader, {}).values()]
        whole += [self._solved[test.solution]] if test.solution in self._solved else []
        for starts in whole:
            yield from ((-1.0, place) for place in starts.first(test, 1.0))
        shared = Counter(
            starts
            for run in runs
            for other, holders in self._holders.get(run, {}).items()
            if other != leader  # those that tell the test again hold all of it
            for starts in holders
        )
        for starts, count in shared.items():
            share = count / len(runs)
            yield from ((-share, place) for place in starts.first(test, share))


class _Starts:
    """Places of tasks with one solution, by the states that attempts at them began from."""

    def __init__(self, solution: frozenset[str]) -> None:
        self._solution = solution
        self._opened: dict[frozenset[str], list[tuple[int, TaskProfile]]] = {}
        self._answered: dict[tuple[frozenset[str], frozenset[str], bool], dict[Shingle, int]] = {}

    def add(self, place: int, matter: TaskProfile) -> None:
        """Keep a place; all of them come before anything is asked."""
        self._opened.setdefault(frozenset(matter.seen), []).append((place, matter))

    def first(self, test: TaskProfile, share: float) -> list[int]:
        """The first place that gives a test away of which it holds this share, if there is one."""
        if not _holds_enough(self._solution, test, share):
            return []
        ways = (False, True) if test.solution and test.solution == self._solution else (False,)
        places = (self._place(test, calls, numberless=way) for calls in self._opened for way in ways)
        return sorted(place for place in places if place is not None)[:1]

    def _place(self, test: TaskProfile, calls: frozenset[str], *, numberless: bool) -> int | None:
        common = calls.intersection(test.seen)
        by_answers = self._by_answers(calls, common, numberless=numberless)
        return by_answers.get(answers(test, common, numberless=numberless))

    def _by_answers(self, calls: frozenset[str], common: frozenset[str], *, numberless: bool) -> dict[Shingle, int]:
        """Answers to the calls that a test opened with too → the first place that was given them."""
        known = self._answered.get((calls, common, numberless))
        if known is None:
            known = self._answered[calls, common, numberless] = {}
            for place, matter in self._opened[calls]:
                known.setdefault(answers(matter, common, numberless=numberless), place)
        return known


def answers(matter: TaskProfile, calls: AbstractSet[str], *, numberless: bool) -> Shingle:
    """What an attempt was answered when it opened with these calls, in their order."""
    seen = matter.numberless_seen if numberless else matter.seen
    return tuple(seen[call] for call in sorted(calls))


def _holds_enough(solution: frozenset[str], test: TaskProfile, share: float) -> bool:
    """Whether so much of a test's words, and so much of its solution, gives it away."""
    if not test.solution:
        return share >= HELD_ALONE
    return share >= HELD and len(test.solution & solution) >= HELD * len(test.solution)


def _tasks(matters: Sequence[TaskProfile]) -> list[int]:
    """For each place the first place of its task: those of one key are one task, and so are those that tell it again.

    Telling again means the same words, numbers apart, and the very same solution. What is only alike is not joined: where
    many tasks share their words, one would lead to the next until all were one.
    """
    first: dict[Hashable, int] = {}
    groups = Clusters(len(matters))
    for place, matter in enumerate(matters):
        for told in (matter.key, (matter.numberless, matter.solution)):
            groups.join(first.setdefault(told, place), place)
    return groups.leaders()


def _distinctiveshingles(matters: Sequence[TaskProfile], leaders: Sequence[int]) -> Callable[[Shingle], bool]:
    """Tells runs of words that are a task's own from those that many tasks share."""
    held = {(leader, run) for matter, leader in zip(matters, leaders, strict=True) for run in matter.runs}
    common = Counter(run for _, run in held)
    most = _few(leaders)
    return lambda run: common[run] <= most


def own_solutions(matters: Sequence[TaskProfile], leaders: Sequence[int]) -> dict[frozenset[str], list[int]]:
    """Solutions that only a few tasks have in common → the places of these."""
    most = _few(leaders)
    return {
        solution: places
        for solution, places in _solved_alike(matters).items()
        if len(places) > 1 and len({leaders[place] for place in places}) <= most
    }


def _solved_alike(matters: Sequence[TaskProfile]) -> dict[frozenset[str], list[int]]:
    """Solutions → the places that have them."""
    holders: dict[frozenset[str], list[int]] = {}
    for place, matter in enumerate(matters):
        if matter.solution:
            holders.setdefault(matter.solution, []).append(place)
    return holders


def _few(leaders: Sequence[int]) -> float:
    return max(SHARED_BY, SHARED_SHARE * len(set(leaders)))


def _without_numbers(text: str) -> str:
    return _NUMBER.sub(lambda found: found["date"] or "0", _FLEETING.sub("0", _PASSING.sub("0", text)))


_NONE = frozenset({""})
"""Stands for a solution without calls: two of them are the same."""


def near_duplicates(matters: Sequence[TaskProfile]) -> list[list[int]]:
    """Clusters of places whose tasks are nearly the same; places that stand alone are in no group."""
    groups = Clusters(len(matters))
    blocks = _blocks(matters)
    for one, other in _worded_alike(blocks, groups):
        _join(one, other, groups)
    for one, other in _worded_alike_but_for_numbers(blocks, groups):
        _join(one, other, groups)
    for places in own_solutions(matters, groups.leaders()).values():
        own = _Block([(place, matters[place]) for place in places])
        _join(own, own, groups, exactly=True)
    return groups.several()


class _Block:
    """Tasks in the same words with the same solution, by the calls that their attempts began with."""

    def __init__(self, members: Sequence[tuple[int, TaskProfile]]) -> None:
        self.place, self.first = members[0]
        self._is_one = len(members) == 1
        self.opened: dict[frozenset[str], list[tuple[int, TaskProfile]]] = {}
        for place, matter in members:
            self.opened.setdefault(frozenset(matter.seen), []).append((place, matter))

    def is_settled(self, other: _Block, groups: Clusters) -> bool:
        """Whether both are one task each, and are in one group already or cannot be one task, whatever their words."""
        if not (self._is_one and other._is_one):
            return False
        if groups.lead(self.place) == groups.lead(other.place):
            return True
        if self.first.solution and self.first.solution == other.first.solution:
            return not same_start(self.first.numberless_seen, other.first.numberless_seen)
        return not same_start(self.first.seen, other.first.seen)


def _blocks(matters: Sequence[TaskProfile]) -> list[_Block]:
    members: dict[Hashable, list[tuple[int, TaskProfile]]] = {}
    for place, matter in enumerate(matters):
        members.setdefault((matter.words, matter.numberless, matter.solution), []).append((place, matter))
    return [_Block(each) for each in members.values()]


def _worded_alike(blocks: Sequence[_Block], groups: Clusters) -> Iterator[tuple[_Block, _Block]]:
    """Blocks with nearly the same words and nearly the same calls."""
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
    """Blocks with the very same solution whose words are nearly the same if numbers do not count."""
    words = [block.first.numberless for block in blocks]
    solutions = [[block.first.solution] if block.first.solution else [] for block in blocks]
    for left, right in candidate_pairs(zip(rarest_members(words, ALIKE), solutions, strict=True)):
        if blocks[left].is_settled(blocks[right], groups):
            continue
        if jaccard(words[left], words[right]) >= ALIKE and blocks[left].first.words != blocks[right].first.words:
            yield blocks[left], blocks[right]


def _join(one: _Block, other: _Block, groups: Clusters, *, exactly: bool = False) -> None:
    """Put together what may have begun from one state; where the very same solved both, numbers make no other state."""
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
    """Answers to these calls → the places of attempts that were given them."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, matter in members:
        found.setdefault(answers(matter, calls, numberless=numberless), []).append(place)
    return found
