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
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from tacit.domain.tool import Call, Turn
from tacit.text.acts import Effect, acts_of
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

_Run = tuple[str, ...]


@dataclass(frozen=True)
class Matter:
    """What a task is about: which one it is, what was asked, and what solved it, where that is known."""

    key: str
    text: str
    calls: tuple[Call, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)
    """What an attempt found before it changed anything: call → answer."""

    @classmethod
    def of(cls, key: str, text: str, turns: Sequence[Turn]) -> Matter:
        """A task as an attempt shows it."""
        return cls(key, text, tuple(turn.call for turn in turns if not turn.failed), opening(turns))

    @cached_property
    def words(self) -> _Run:
        """What was asked, word by word."""
        return tuple(terms(self.text, keep_stop_words=True))

    @cached_property
    def shingles(self) -> frozenset[_Run]:
        """Short runs of words: how alike two texts are, is measured by these."""
        return _runs(self.words, SHINGLE)

    @cached_property
    def numberless(self) -> frozenset[_Run]:
        """The same with every number taken for the same one."""
        return _runs(tuple(terms(_without_numbers(self.text), keep_stop_words=True)), SHINGLE)

    @cached_property
    def runs(self) -> frozenset[_Run]:
        """Long runs of words: whether one text was taken from another, is measured by these."""
        return _runs(self.words, RUN)

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
    return any(act.effect is Effect.CHANGE for act in acts_of(call.tool, call.arguments))


def written(call: Call) -> str:
    """A call as text to compare by: the order of its arguments does not matter."""
    return f"{call.tool} {json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)}"


def opening(turns: Sequence[Turn]) -> dict[str, str]:
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


class Groups:
    """Places that hang together by pairs."""

    def __init__(self, count: int) -> None:
        """At first each place stands alone."""
        self._leader = list(range(count))

    def join(self, left: int, right: int) -> None:
        """Put two places, and all that hang on them, together."""
        first, second = sorted((self.lead(left), self.lead(right)))
        self._leader[second] = first

    def lead(self, place: int) -> int:
        """The first place of a group."""
        leader = self._leader
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    def leaders(self) -> list[int]:
        """For each place the first of its group."""
        return [self.lead(place) for place in range(len(self._leader))]

    def several(self) -> list[list[int]]:
        """The groups of more than one place."""
        groups: dict[int, list[int]] = {}
        for place, leader in enumerate(self.leaders()):
            groups.setdefault(leader, []).append(place)
        return [group for group in groups.values() if len(group) > 1]


def leaks(train: Sequence[Matter], tests: Sequence[Matter]) -> list[Leak]:
    """The tests that a training task gives away, each with the task that holds most of it."""
    everything = [*train, *tests]
    leaders = _tasks(everything)
    is_own = _telling(everything, leaders)
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
        train: Sequence[Matter],
        leaders: Sequence[int],
        *,
        is_own: Callable[[_Run], bool],
        own_solutions: AbstractSet[frozenset[str]],
    ) -> None:
        self._retold: dict[int, dict[frozenset[str], _Starts]] = {}
        self._solved: dict[frozenset[str], _Starts] = {}
        self._holders: dict[_Run, dict[int, list[_Starts]]] = {}
        worded: dict[tuple[int, frozenset[_Run], frozenset[str]], _Starts] = {}
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

    def giving_away(self, test: Matter, leader: int, *, runs: Sequence[_Run]) -> Iterator[tuple[float, int]]:
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
        self._opened: dict[frozenset[str], list[tuple[int, Matter]]] = {}
        self._answered: dict[tuple[frozenset[str], frozenset[str], bool], dict[_Run, int]] = {}

    def add(self, place: int, matter: Matter) -> None:
        """Keep a place; all of them come before anything is asked."""
        self._opened.setdefault(frozenset(matter.seen), []).append((place, matter))

    def first(self, test: Matter, share: float) -> list[int]:
        """The first place that gives a test away of which it holds this share, if there is one."""
        if not _holds_enough(self._solution, test, share):
            return []
        ways = (False, True) if test.solution and test.solution == self._solution else (False,)
        places = (self._place(test, calls, numberless=way) for calls in self._opened for way in ways)
        return sorted(place for place in places if place is not None)[:1]

    def _place(self, test: Matter, calls: frozenset[str], *, numberless: bool) -> int | None:
        common = calls.intersection(test.seen)
        by_answers = self._by_answers(calls, common, numberless=numberless)
        return by_answers.get(answers(test, common, numberless=numberless))

    def _by_answers(self, calls: frozenset[str], common: frozenset[str], *, numberless: bool) -> dict[_Run, int]:
        """Answers to the calls that a test opened with too → the first place that was given them."""
        known = self._answered.get((calls, common, numberless))
        if known is None:
            known = self._answered[calls, common, numberless] = {}
            for place, matter in self._opened[calls]:
                known.setdefault(answers(matter, common, numberless=numberless), place)
        return known


def answers(matter: Matter, calls: AbstractSet[str], *, numberless: bool) -> _Run:
    """What an attempt was answered when it opened with these calls, in their order."""
    seen = matter.numberless_seen if numberless else matter.seen
    return tuple(seen[call] for call in sorted(calls))


def _holds_enough(solution: frozenset[str], test: Matter, share: float) -> bool:
    """Whether so much of a test's words, and so much of its solution, gives it away."""
    if not test.solution:
        return share >= HELD_ALONE
    return share >= HELD and len(test.solution & solution) >= HELD * len(test.solution)


def _tasks(matters: Sequence[Matter]) -> list[int]:
    """For each place the first place of its task: those of one key are one task, and so are those that tell it again.

    Telling again means the same words, numbers apart, and the very same solution. What is only alike is not joined: where
    many tasks share their words, one would lead to the next until all were one.
    """
    first: dict[Hashable, int] = {}
    groups = Groups(len(matters))
    for place, matter in enumerate(matters):
        for told in (matter.key, (matter.numberless, matter.solution)):
            groups.join(first.setdefault(told, place), place)
    return groups.leaders()


def _telling(matters: Sequence[Matter], leaders: Sequence[int]) -> Callable[[_Run], bool]:
    """Tells runs of words that are a task's own from those that many tasks share."""
    held = {(leader, run) for matter, leader in zip(matters, leaders, strict=True) for run in matter.runs}
    common = Counter(run for _, run in held)
    most = _few(leaders)
    return lambda run: common[run] <= most


def own_solutions(matters: Sequence[Matter], leaders: Sequence[int]) -> dict[frozenset[str], list[int]]:
    """Solutions that only a few tasks have in common → the places of these."""
    most = _few(leaders)
    return {
        solution: places
        for solution, places in _solved_alike(matters).items()
        if len(places) > 1 and len({leaders[place] for place in places}) <= most
    }


def _solved_alike(matters: Sequence[Matter]) -> dict[frozenset[str], list[int]]:
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


def _runs(words: Sequence[str], length: int) -> frozenset[_Run]:
    if len(words) <= length:
        return frozenset([tuple(words)] if words else [])
    return frozenset(tuple(words[start : start + length]) for start in range(len(words) - length + 1))
