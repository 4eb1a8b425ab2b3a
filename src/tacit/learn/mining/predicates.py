"""Predicates on the readings and tasks of attempts, each with the attempts in which it holds; and checks of the goal.

A predicate compares a part of an answer with a value seen there, with another part of the same answer (used over limit), or
with a threshold; or it tests for a word of the task. Which predicates matter is decided in `pattern_conditions`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from tacit.domain.skill import Condition
from tacit.text.facts import SAYS, TASK, Facts, comparable, satisfied
from tacit.text.words import term_set

MAX_STATES = 8
MAX_MEMBERS = 40
"""A part of an answer with more values is a name or an amount, not a state; a list may have more members."""
MAX_NUMBERS = 12
"""Numbers or dates of one answer that are compared in pairs; the predicates grow with its square."""
MAX_THRESHOLDS = 6
"""Thresholds per number, between the widest gaps. Larger: more free choices, so more accidental conditions."""
MAX_WORDS = 80
"""Task words that are tested, the most frequent first. Larger: slower, and rare words fit by accident."""
USUAL = 4
"""What at least one attempt in this many shows is usual: its absence can mean something."""
_OBJECT_NAME = re.compile(r"(?:^|[^\w.])(?:[A-Za-z#]\w*?[-_]?\d{3,}|\d{5,}|\d+(?:-\d+){2,})(?:$|[^\w.])|\S@\S")
"""An id, a long number, a date or an address: it names one object, so that it is no state."""
_AMOUNT = re.compile(r"^[$€£]?\s?-?(?:0|[1-9]\d{0,3}|\d{1,12}\.\d{1,4})\s?%?$")
"""A number that can be more or less; one of five digits or more without a fraction is a code."""
_OPPOSITE = {"is": "is not", "has": "lacks"}
# Extra bits of each kind of predicate, set by hand: the larger, the more attempts must agree before it enters a case.
# `bench/telecom.py` measures the learned conditions as a whole.
_PARTS_BITS = 2.0
"""Two parts of one answer are compared: one of several pairs."""
_THRESHOLD_BITS = 6.0
"""A number is compared with a threshold: one of very many."""
_SILENCE_BITS = 4.0
"""A free text does not contain a line: there are many reasons for that."""
_ABSENCE_BITS = 2.5
"""A state is another one, or the task lacks a word."""
_LIST_ABSENCE_BITS = 0.5
"""A list lacks a member: lists are complete, so that this says nearly as much as presence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """What one attempt read first, its task, the patterns it made, and how it ended."""

    known: Mapping[str, Facts]
    """Facts by reading, as each was seen first."""
    task: str
    took: frozenset[str]
    succeeded: bool = True
    final: Mapping[str, Facts] | None = None
    """What was read after the last move; None where nothing was."""
    seen_after: Mapping[str, int] = field(default_factory=dict)
    """Reading → how many moves were made before it was taken first."""
    begun_after: Mapping[str, int] = field(default_factory=dict)
    """Pattern → how many moves were made before its first call."""
    moves: int = 1
    """How many moves were made."""

    def is_late(self, reading: str, pattern: str) -> bool:
        """Whether a reading was first taken after a pattern, so that it was no reason for it."""
        return pattern in self.begun_after and self.seen_after.get(reading, 0) > self.begun_after[pattern]

    def was_unfinished(self, reading: str) -> bool:
        """Whether a reading was first taken while moves were still to come."""
        return reading in self.known and self.seen_after.get(reading, 0) < self.moves


@dataclass(frozen=True, slots=True, order=True)
class Predicate:
    """One comparison. Sortable, so that ties are broken the same way each time."""

    reading: str
    key: str
    relation: str
    value: str

    @property
    def of_task(self) -> bool:
        """Whether it tests the task words."""
        return self.reading == TASK

    @property
    def compares_parts(self) -> bool:
        """Whether it compares with another part of the same answer."""
        return self.relation in ("over", "under") and comparable((self.value,)) is None

    @property
    def is_threshold(self) -> bool:
        """Whether it compares with a number that was chosen."""
        return self.relation in ("over", "under") and not self.compares_parts

    @property
    def words(self) -> str:
        """All words in it."""
        return f"{self.reading} {self.key} {self.value}"

    @property
    def extra_bits(self) -> float:
        """The extra bits of this kind of predicate: absence says less than presence, and a threshold is a free choice."""
        if self.is_threshold or self.compares_parts:
            return _THRESHOLD_BITS if self.is_threshold else _PARTS_BITS
        if self.relation in ("is", "has"):
            return 0.0
        if self.key == SAYS:
            return _SILENCE_BITS
        return _ABSENCE_BITS if self.relation == "is not" or self.of_task else _LIST_ABSENCE_BITS

    @property
    def condition(self) -> Condition:
        """Return it as the condition of a skill."""
        return Condition(
            text=self._text(), reading=self.reading, key=self.key, relation=self.relation, value=self.value
        )

    def holds(self, seen: AttemptRecord) -> bool:
        """Whether it holds in an attempt; false where nothing was read."""
        if self.of_task:
            return (self.value in _task_words(seen.task)) == (self.relation == "has")
        shown = seen.known.get(self.reading)
        return shown is not None and satisfied(self.relation, shown, self.key, self.value)

    def _text(self) -> str:
        who = "the task" if self.of_task else f"`{self.reading}`"
        where = f" in `{self.key}`" if self.key else ""
        field = f"{self.key}: {self.value}" if self.key else self.value
        return {
            "is": f"{who} shows `{field}`",
            "is not": f"{who} does not show `{field}`",
            "has": f"{who} mentions `{self.value}`{where}",
            "lacks": f"{who} does not mention `{self.value}`{where}",
        }.get(self.relation, f"{who} shows `{self.key}` {self.relation} `{self.value}`")


def predicates_of(attempts: Sequence[AttemptRecord]) -> list[Predicate]:
    """Return every useful predicate, sorted."""
    found: set[Predicate] = set()
    readings: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for attempt in attempts:
        for reading, shown in attempt.known.items():
            for key, values in shown.items():
                readings.setdefault(reading, {}).setdefault(key, []).append(values)
    for reading, keys in readings.items():
        takers = sum(reading in attempt.known for attempt in attempts)
        for key, shown_values in keys.items():
            found.update(_value_predicates(reading, key, shown_values, takers))
        found.update(_pair_predicates(reading, {key: shown for key, shown in keys.items() if 2 * len(shown) >= takers}))
    found.update(_word_predicates(attempts))
    return sorted(found)


@lru_cache(maxsize=4096)
def _task_words(task: str) -> frozenset[str]:
    return term_set(task)


def masks_of(predicates: Iterable[Predicate], attempts: Sequence[AttemptRecord]) -> list[tuple[Predicate, int]]:
    """Return each predicate with the attempts in which it holds, as bits; without those that hold nowhere."""
    columns: dict[tuple[str, str, str], list[tuple[Facts, int]]] = {}
    table = []
    for predicate in predicates:
        if predicate.of_task:
            mask = sum(predicate.holds(attempt) << at for at, attempt in enumerate(attempts))
        else:
            other = predicate.value if predicate.compares_parts else ""
            place = (predicate.reading, predicate.key, other)
            if place not in columns:
                columns[place] = _observations_at(*place, attempts)
            shown = columns[place]
            mask = sum(
                bits for facts, bits in shown if satisfied(predicate.relation, facts, predicate.key, predicate.value)
            )
        if mask:
            table.append((predicate, mask))
    return table


def _observations_at(reading: str, key: str, other: str, attempts: Sequence[AttemptRecord]) -> list[tuple[Facts, int]]:
    """Return what attempts saw at one place, each distinct observation once with its attempts."""
    sights: dict[tuple[tuple[str, ...] | None, ...], int] = {}
    for at, attempt in enumerate(attempts):
        shown = attempt.known.get(reading)
        if shown is not None:
            sight = (shown.get(key), shown.get(other))
            sights[sight] = sights.get(sight, 0) | 1 << at
    return [
        ({name: values for name, values in zip((key, other), sight, strict=True) if values is not None}, bits)
        for sight, bits in sights.items()
    ]


def _value_predicates(reading: str, key: str, shown: Sequence[tuple[str, ...]], takers: int) -> Iterable[Predicate]:
    if 2 * len(shown) < takers:
        return  # rare: a place named after one object
    single = all(len(values) <= 1 for values in shown) and key != SAYS
    counts: dict[str, int] = {}
    for values in shown:
        for value in values:
            counts[value] = counts.get(value, 0) + 1
    states = {value: count for value, count in counts.items() if not _is_volatile(value)}
    if _is_state(states, of=len(shown), most=MAX_STATES if single else MAX_MEMBERS):
        relation = "is" if single else "has"
        for value, count in states.items():
            yield Predicate(reading, key, relation, value)
            if USUAL * count >= len(shown):  # the absence of something rare means nothing
                yield Predicate(reading, key, _OPPOSITE[relation], value)
    yield from _threshold_predicates(reading, key, shown)


def _is_state(counts: Mapping[str, int], *, of: int, most: int) -> bool:
    """Whether the values of a place repeat between attempts, as states do; names do not."""
    again = max(counts.values(), default=0) > 1 and of < 2 * most
    return len(counts) <= most and (len(counts) <= 2 or 2 * len(counts) <= of or again)


def _threshold_predicates(reading: str, key: str, shown: Sequence[tuple[str, ...]]) -> Iterable[Predicate]:
    if not all(len(values) == 1 and _AMOUNT.match(values[0]) for values in shown):
        return
    numbers = sorted({found[1] for found in map(comparable, set(shown)) if found and isinstance(found[1], float)})
    gaps = sorted(pairwise(numbers), key=lambda gap: (gap[0] - gap[1], gap))[:MAX_THRESHOLDS]
    for low, high in gaps:  # between the end of one state and the start of another there are no values
        middle = f"{(low + high) / 2:g}"
        yield Predicate(reading, key, "over", middle)
        yield Predicate(reading, key, "under", middle)


def _pair_predicates(reading: str, keys: Mapping[str, Sequence[tuple[str, ...]]]) -> Iterable[Predicate]:
    """Return pairs of numbers, or dates, of one answer whose names share a word."""
    kinds = {}
    for key, shown in keys.items():
        found = {value[0] for value in map(comparable, set(shown)) if value}
        if len(found) == 1 and "[]" not in key and "*" not in key:
            kinds[key] = found.pop()
    names = sorted(kinds)[:MAX_NUMBERS]
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            shares = term_set(first.replace("_", " ")) & term_set(second.replace("_", " "))
            if kinds[first] == kinds[second] and shares:
                yield Predicate(reading, first, "over", second)
                yield Predicate(reading, first, "under", second)


def _word_predicates(attempts: Sequence[AttemptRecord]) -> Iterable[Predicate]:
    counts: dict[str, int] = {}
    tasks = [term_set(attempt.task) for attempt in attempts]
    for words in tasks:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    usual = [word for word, count in counts.items() if 1 < count < len(tasks) and word.isalpha() and len(word) > 2]
    for word in sorted(usual, key=lambda word: (-counts[word], word))[:MAX_WORDS]:
        yield Predicate(TASK, "", "has", word)
        yield Predicate(TASK, "", "lacks", word)


def _is_volatile(value: str) -> bool:
    """Whether a value is an amount, a time or the name of one object: none of them is a state."""
    kind = comparable((value,))
    return bool(_OBJECT_NAME.search(value)) or (kind is not None and (kind[0] == "date" or "." in value))


MIN_ENDS = 2
"""Successes that must end with a reading before it counts as a check. 1: any last reading would."""
MIN_TELLING = 0.6
"""The share of other states that a check must distinguish from the goal. Smaller: checks that nearly always hold."""
CHECKED = 0.9
"""The share of the successes at a kind of task that must end with its check. Smaller: the last part that was looked at, which
says nothing of the others, is taken for the goal."""


def goal_checks(attempts: Sequence[AttemptRecord]) -> tuple[Condition, ...]:
    """Return the condition that shows that a task is done, per kind of task; empty where attempts do not confirm."""
    attempts = [_confirmed(attempt, _end_checks(attempts)) for attempt in attempts]
    kinds = _by_final_readings(attempts)
    checks = []
    for readings, members in sorted(kinds.items()):
        best = _best_check(members, readings)
        if best:
            others = [each for other, them in kinds.items() if other != readings for each in them]
            word = _shared_word(members, others, preferred=_check_words(best, members))
            if _is_usual_end(best.reading, word, attempts):
                checks.append(dataclasses.replace(best.condition, when=word))
    return tuple(dict.fromkeys(checks))


def _end_checks(attempts: Sequence[AttemptRecord]) -> frozenset[str]:
    """Return the readings that successes take only at the end."""
    worked = [attempt for attempt in attempts if attempt.succeeded and attempt.moves]
    early = {reading for attempt in worked for reading in attempt.known if attempt.was_unfinished(reading)}
    return frozenset(reading for attempt in worked for reading in attempt.final or () if reading not in early)


def _confirmed(attempt: AttemptRecord, end_checks: frozenset[str]) -> AttemptRecord:
    """Leave out of the final readings those that were taken late for the first time and that others take earlier.

    They look for the next fault ("the light is on", after the pump was mended), and confirm nothing.
    """
    final = {
        reading: shown
        for reading, shown in (attempt.final or {}).items()
        if reading in end_checks or attempt.was_unfinished(reading) or reading not in attempt.seen_after
    }
    return dataclasses.replace(attempt, final=final or None)


def _is_usual_end(reading: str, word: str, attempts: Sequence[AttemptRecord]) -> bool:
    """Whether nearly all successes whose task has the word end with this reading."""
    asked = [
        each for each in attempts if each.succeeded and each.moves and (not word or word in _task_words(each.task))
    ]
    return sum(reading in (each.final or ()) for each in asked) >= CHECKED * len(asked)


def _by_final_readings(attempts: Sequence[AttemptRecord]) -> dict[tuple[str, ...], list[AttemptRecord]]:
    """Return attempts by the readings that they ended with, where enough successes did."""
    kinds: dict[tuple[str, ...], list[AttemptRecord]] = {}
    for attempt in attempts:
        if attempt.final:
            kinds.setdefault(tuple(sorted(attempt.final)), []).append(attempt)
    return {
        readings: members
        for readings, members in kinds.items()
        if sum(member.succeeded for member in members) >= MIN_ENDS
    }


def _best_check(members: Sequence[AttemptRecord], readings: Sequence[str]) -> Predicate | None:
    """Return the predicate that holds at the end of all successes and most rarely before or after a failure."""
    ends = [dataclasses.replace(each, known=each.final or {}) for each in members]
    goal = [each for each in ends if each.succeeded]
    failed = [each for each in ends if not each.succeeded]
    words = term_set(" ".join(state.task for state in goal))
    ranked = []
    for predicate in predicates_of(goal):
        if predicate.of_task or not all(predicate.holds(state) for state in goal):
            continue
        short = [*failed, *(each for each in members if each.was_unfinished(predicate.reading))]
        asked = [state for state in short if predicate.reading in state.known]
        excluded = sum(not predicate.holds(state) for state in asked)
        if not asked or excluded >= MIN_TELLING * len(asked):
            shared = len(words & _check_words(predicate, members))
            ranked.append((-excluded, predicate.extra_bits, -shared, len(predicate.words), predicate))
    return min(ranked)[-1] if ranked else None


def _check_words(predicate: Predicate, members: Sequence[AttemptRecord]) -> frozenset[str]:
    """Return the words of a check, and of the state before the task was done."""
    before = [value for each in members for value in each.known.get(predicate.reading, {}).get(predicate.key, ())]
    return term_set(" ".join([predicate.words, *dict.fromkeys(before)]).replace("_", " "))


def _shared_word(
    members: Sequence[AttemptRecord], others: Sequence[AttemptRecord], *, preferred: frozenset[str]
) -> str:
    """Return the word that these tasks share and the fewest others contain; empty without others."""
    if not others:
        return ""
    tasks = [term_set(each.task) for each in members if each.succeeded]
    rest = [term_set(each.task) for each in others if each.succeeded]
    shared = frozenset.intersection(*tasks)
    words = [word for word in shared if word.isalpha()]
    return min(words, key=lambda word: (sum(word in task for task in rest), word not in preferred, word), default="")
