"""Learns, for each call pattern, the cases in which it is needed, from what attempts read and did.

A case is a conjunction of at most three predicates on readings or task words. The conjunction with the least description
length wins: errors cost bits, and so does each predicate, less if its words are close to the pattern's own. Further cases
cover attempts that the first ones miss. Among near equals, readings that other patterns need as well win. Pure and
deterministic.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, lgamma, log, log2

from tacit.domain.outline import Outline, Reading
from tacit.domain.skill import Case, Condition
from tacit.learn.mining.predicates import AttemptRecord, Predicate, masks_of, predicates_of
from tacit.text.facts import Facts, holds, identifiers, merged
from tacit.text.words import term_set

MAX_LITERALS = 3
"""Predicates of one case. Larger: cases that fit single attempts. `bench/telecom.py` watches the numbers below."""
BEAM = 24
"""Conjunctions that are extended at once. Larger: slower; smaller: the best conjunction may be missed."""
CONTRASTED = 3
"""Attempts without the pattern that must have taken a reading: a reading taken only with the pattern is no evidence."""
EARNED = 3
"""Attempts that a further predicate must separate to be worth its cost; of few attempts, one in EARNED_SHARE."""
EARNED_SHARE = 20
MAX_ALIKE = 6
MAX_DISTINCT = 300
"""Predicates kept of those that hold in the same attempts, and different sets of attempts kept; they bound the time."""
NEAR_BITS = 1.5
"""Conjunctions that cost at most this much more than the best are equal; shared readings then decide."""
NEAR_WORDS = 0.75
"""… if their words are also nearly as close to the pattern's own."""
LONE_ATTEMPTS = 3
LONE_CHANCE = 0.05
"""A pattern that was the only one in at least this many successes, where that is rare for others, ends the attempt."""
FULL_LINK = 1.5
"""This many words that no other pattern shares give the highest link."""
CHANCE = 0.05
"""The probability below which chance does not explain a rule. Larger: accidental conditions; smaller: more attempts."""
MAX_AGAINST = 0.25
"""The successes in a case without the pattern, relative to those with it. Larger: cases that often do not apply."""
CLEAR_LINK = 0.6
"""A predicate whose words are this close to the pattern's own needs no statistical margin, unless its threshold was chosen."""


def ending_patterns(attempts: Sequence[AttemptRecord]) -> frozenset[str]:
    """Return patterns that end an attempt: no success made another one as well, and chance hardly explains that."""
    times: dict[str, int] = {}
    joined: set[str] = set()
    successes = [attempt for attempt in attempts if attempt.succeeded and attempt.took]
    for attempt in successes:
        for pattern in attempt.took:
            times[pattern] = times.get(pattern, 0) + 1
        if len(attempt.took) > 1:
            joined |= attempt.took
    single = sum(len(attempt.took) == 1 for attempt in successes)
    return frozenset(
        pattern
        for pattern, count in times.items()
        if count >= LONE_ATTEMPTS
        and pattern not in joined
        and ((single - count + 1) / (len(successes) - count + 2)) ** count < LONE_CHANCE
    )


def learn_cases(attempts: Sequence[AttemptRecord], patterns: Mapping[str, str]) -> dict[str, tuple[Case, ...]]:
    """Return the cases of each pattern; none if unexplained. `patterns`: key → text of its tools, arguments and answers.

    Attempts in the same situation are compared once; the counts of a case are those of all successes.
    """
    options = _case_options(distinct_attempts(attempts), patterns)
    return {
        pattern: tuple(_count_case(_conditions(rule), attempts, pattern) for rule in rules)
        for pattern, rules in _fewest_readings(options).items()
    }


def _case_options(attempts: Sequence[AttemptRecord], patterns: Mapping[str, str]) -> dict[str, list[list[_Rule]]]:
    """Return the cases of each pattern, each as its near-equal alternatives."""
    ordered = [*(each for each in attempts if each.succeeded), *(each for each in attempts if not each.succeeded)]
    succeeded_mask = _mask(attempt.succeeded for attempt in ordered)
    table = masks_of(predicates_of([each for each in attempts if each.succeeded]), ordered)
    everything = (1 << len(ordered)) - 1
    ending = ending_patterns(attempts)
    ended = _mask(bool(attempt.took & ending) for attempt in ordered)
    linked = _word_links(patterns, [predicate for predicate, _ in table])
    readings = {reading for attempt in ordered for reading in attempt.known}
    took_reading = {reading: _mask(reading in attempt.known for attempt in ordered) for reading in readings}
    options: dict[str, list[list[_Rule]]] = {}
    for pattern in sorted(patterns):
        taken = _mask(pattern in attempt.took for attempt in ordered)
        # An attempt that ended at once shows nothing about the others; such a failure only shows where ending is wrong.
        counted = everything if pattern in ending else everything & ~ended
        compared = (succeeded_mask | taken if pattern in ending else succeeded_mask) & counted
        others = compared & ~taken
        if not others:  # what all do is decided by nothing that was read
            options[pattern] = []
            continue
        enough = min(CONTRASTED, others.bit_count())
        late = {reading: _mask(attempt.is_late(reading, pattern) for attempt in ordered) for reading in readings}
        fair = [
            (predicate, mask if predicate.of_task else mask & ~late[predicate.reading])
            for predicate, mask in table
            if predicate.of_task or (took_reading[predicate.reading] & others).bit_count() >= enough
        ]
        search = _CaseSearch(fair, linked[pattern], taken=taken, succeeded_mask=succeeded_mask, compared=compared)
        options[pattern] = search.find_cases()
    return options


@dataclass(frozen=True, slots=True)
class _Rule:
    """A conjunction of predicates with its description length and counts."""

    bits: float
    predicates: tuple[Predicate, ...]
    support: int
    """Attempts with the pattern in which it holds."""
    against: int
    """Compared attempts without the pattern in which it holds."""
    covers: int
    """The mask of all attempts in which it holds."""
    link: float
    """How close its words are to the pattern's own."""

    @property
    def readings(self) -> frozenset[str]:
        return frozenset(predicate.reading for predicate in self.predicates if not predicate.of_task)

    @property
    def rank(self) -> tuple[float, int, float, int, tuple[Predicate, ...]]:
        """Sort key: the shortest description first."""
        length = sum(len(predicate.words) for predicate in self.predicates if not predicate.of_task)
        return (round(self.bits, 6), len(self.predicates), -round(self.link, 6), length, self.predicates)


class _CaseSearch:
    """The search for one pattern: conjunctions that separate attempts with the pattern from those without.

    Sets of attempts are masks: bit `n` stands for attempt `n`. `compared` are the attempts to separate.
    """

    def __init__(
        self,
        table: Sequence[tuple[Predicate, int]],
        links: Mapping[Predicate, float],
        *,
        taken: int,
        succeeded_mask: int,
        compared: int,
    ) -> None:
        self._compared = compared
        self._with_pattern = taken & succeeded_mask  # only successes show that it is needed
        self._word_links = links
        self._sizes = Counter(mask.bit_count() for mask in {mask & compared for _, mask in table})
        able = [(predicate, mask) for predicate, mask in table if mask & self._with_pattern]
        self._predicate_bits = log2(len({mask & compared for _, mask in able}) + 1)
        self._table = self._limited_table(able)

    def _limited_table(self, able: Sequence[tuple[Predicate, int]]) -> list[tuple[Predicate, int]]:
        """Return a few predicates for each set of attempts in which they hold, and only the most informative sets."""
        alike: dict[int, list[_Rule]] = {}
        for predicate, mask in able:
            alike.setdefault(mask, []).append(self._rule((predicate,), mask, self._with_pattern, self._compared))
        kept = [sorted(rules, key=lambda rule: rule.rank)[:MAX_ALIKE] for rules in alike.values()]
        kept.sort(key=lambda rules: rules[0].rank)
        return sorted((rule.predicates[0], rule.covers) for rules in kept[:MAX_DISTINCT] for rule in rules)

    def find_cases(self) -> list[list[_Rule]]:
        """Return the cases in the order found, each as its near-equal alternatives, the best first.

        Cases that only their words speak for stay where all cases together explain everything.
        """
        chosen: list[list[_Rule]] = []
        by_words: list[list[_Rule]] = []
        left, compared = self._with_pattern, self._compared
        while left and self._table:
            bits_without_rule = _entropy_bits(compared.bit_count(), left.bit_count())
            found = self._find_rules(left, compared)
            whole = [rule for rule in found if self._explains_all(rule, left)]
            confirmed = [rule for rule in found if self._is_confirmed(rule, bits_without_rule)]
            rules = [rule for rule in found if rule in confirmed or self._is_close_in_words(rule)]
            if not rules and not (rules := self._only_explanation(whole)):
                break
            # One reading that explains everything is no accident of closer words.
            best = next((rule for rule in rules if rule in whole), rules[0])
            chosen.append([rule for rule in rules if _is_near_equal(rule, best, compared)])
            if best not in confirmed and best not in whole:
                by_words.append(chosen[-1])
            left &= ~best.covers
            compared &= ~best.covers
        return [case for case in chosen if case not in by_words] if left else chosen

    def _explains_all(self, rule: _Rule, left: int) -> bool:
        """Whether one predicate on a reading holds in all attempts with the pattern and in no other."""
        of_reading = len(rule.predicates) == 1 and not rule.predicates[0].of_task
        return of_reading and not rule.against and not left & ~rule.covers

    def _only_explanation(self, whole: Sequence[_Rule]) -> list[_Rule]:
        """Return the rules of the only reading that explains everything, unless chance gives one of its predicates."""
        stated = [rule for rule in whole if not rule.predicates[0].is_threshold]
        readings = {rule.predicates[0].reading for rule in stated}
        if len(readings) != 1:
            return []
        takers, everyone = self._with_pattern.bit_count(), self._compared.bit_count()
        tried = {
            mask & self._compared
            for predicate, mask in self._table
            if predicate.reading in readings and not predicate.is_threshold
        }
        alike = sum(mask.bit_count() == takers for mask in tried)
        return stated if alike / comb(everyone, takers) < CHANCE else []

    def _is_confirmed(self, rule: _Rule, bits_without_rule: float) -> bool:
        """Whether a rule saves bits; or nothing contradicts it, and chance hardly gives one like it."""
        if rule.against > rule.support * MAX_AGAINST:
            return False
        if rule.bits < bits_without_rule and rule.support > 1:
            return True
        return not rule.against and self._is_hardly_chance(rule)

    def _is_close_in_words(self, rule: _Rule) -> bool:
        """Whether nothing contradicts a rule, and its words are close to the pattern's own."""
        return not rule.against and any(
            self._word_links[predicate] >= CLEAR_LINK and not (predicate.of_task or predicate.is_threshold)
            for predicate in rule.predicates
        )

    def _is_hardly_chance(self, rule: _Rule) -> bool:
        """Whether chance would hardly give such a rule, given the number of predicates."""
        covers = rule.covers & self._compared
        size = covers.bit_count()
        if len(rule.predicates) > 1 or size < 2 or covers & ~self._with_pattern:
            return False
        takers, everyone = self._with_pattern.bit_count(), self._compared.bit_count()
        return comb(takers, size) / comb(everyone, size) * self._sizes[size] < CHANCE

    def _find_rules(self, positive: int, compared: int) -> list[_Rule]:
        """Return conjunctions that hold in some `positive` attempts, the best first, found by beam search."""
        front = [
            self._rule((predicate,), mask, positive, compared)
            for predicate, mask in self._table
            if compared & ~mask
            or compared == positive  # a predicate that always holds is uninformative, unless nothing needs explaining
        ]
        front = sorted((rule for rule in front if rule.support), key=lambda rule: rule.rank)
        found = front[: BEAM * 2]
        earned = min(EARNED, max(1, compared.bit_count() // EARNED_SHARE))
        for _ in range(MAX_LITERALS - 1):
            if any(not rule.against and not positive & ~rule.covers for rule in found):
                break  # no other predicate can improve it
            wider: dict[tuple[Predicate, ...], _Rule] = {}
            for rule in front[:BEAM]:
                for predicate, mask in self._table if rule.against else ():
                    joined = tuple(sorted({*rule.predicates, predicate}))
                    covers = rule.covers & mask
                    excluded = (rule.covers & ~covers & compared & ~positive).bit_count()
                    if joined in wider or excluded < earned or not covers & positive:
                        continue
                    wider[joined] = self._rule(joined, covers, positive, compared)
            front = sorted(wider.values(), key=lambda rule: rule.rank)
            found += front[: BEAM * 2]
        return sorted(found, key=lambda rule: rule.rank)

    def _rule(self, predicates: tuple[Predicate, ...], covers: int, positive: int, compared: int) -> _Rule:
        support, inside = (covers & positive).bit_count(), (covers & compared).bit_count()
        errors = _entropy_bits(inside, support)
        errors += _entropy_bits(compared.bit_count() - inside, positive.bit_count() - support)
        cost = sum(
            1 + self._predicate_bits * (1 - min(1.0, self._word_links[each])) + each.extra_bits for each in predicates
        )
        link = sum(self._word_links[each] for each in predicates) / len(predicates)
        return _Rule(errors + cost, predicates, support, inside - support, covers, link)


def _is_near_equal(rule: _Rule, best: _Rule, compared: int) -> bool:
    """Whether a rule explains as much as the best one at hardly more cost."""
    same = rule.covers & compared == best.covers & compared
    return same and rule.bits <= best.bits + NEAR_BITS and rule.link >= best.link * NEAR_WORDS


def _fewest_readings(options: Mapping[str, Sequence[Sequence[_Rule]]]) -> dict[str, list[_Rule]]:
    """Choose, among near-equal alternatives, those with the fewest readings over all patterns."""
    wanted = [
        (len({rule.readings for rule in rules}), pattern, at)
        for pattern, cases in options.items()
        for at, rules in enumerate(cases)
    ]
    taken: set[str] = set()
    picked: dict[tuple[str, int], _Rule] = {}
    for _, pattern, at in sorted(wanted):
        best = min(options[pattern][at], key=lambda rule: (len(rule.readings - taken), rule.rank))
        taken |= best.readings
        picked[pattern, at] = best
    return {pattern: [picked[pattern, at] for at in range(len(cases))] for pattern, cases in options.items()}


def _conditions(rule: _Rule) -> list[Condition]:
    return sorted((predicate.condition for predicate in rule.predicates), key=lambda each: (each.reading, each.key))


def _word_links(patterns: Mapping[str, str], predicates: Sequence[Predicate]) -> dict[str, dict[Predicate, float]]:
    """Return how close each predicate's words are to each pattern's, from 0 to 1; rare shared words count more."""
    words = {pattern: term_set(text.replace("_", " ")) for pattern, text in patterns.items()}
    spread: dict[str, int] = {}
    for found in words.values():
        for word in found:
            spread[word] = spread.get(word, 0) + 1
    weight = {word: log((len(words) + 1) / count) for word, count in spread.items()}
    enough = FULL_LINK * log(len(words) + 1)
    known = {predicate: term_set(predicate.words.replace("_", " ")) for predicate in predicates}
    result: dict[str, dict[Predicate, float]] = {}
    for pattern, found in words.items():
        raw = {predicate: sum(sorted(weight[word] for word in known[predicate] & found)) for predicate in predicates}
        result[pattern] = {predicate: value / enough for predicate, value in raw.items()}
    return result


@lru_cache(maxsize=65536)
def _entropy_bits(size: int, marked: int) -> float:
    """Return the bits needed to mark this many attempts."""
    choose = lgamma(size + 1) - lgamma(marked + 1) - lgamma(size - marked + 1)
    return choose / log(2) + log2(size + 1)


def _mask(flags: Iterable[bool]) -> int:
    """Return the flags as bits, the first as the lowest."""
    value = 0
    for at, flag in enumerate(flags):
        value |= flag << at
    return value


def attempt_record(outline: Outline, made: Sequence[tuple[str, int]]) -> AttemptRecord:
    """Return an attempt with what it read first, its patterns (key and position of the first move), and its last readings."""
    last = len(outline.moves)
    after = [reading for reading in outline.readings if last and reading.after == last]
    begun: dict[str, int] = {}
    for pattern, place in made:
        begun.setdefault(pattern, place)
    seen: dict[str, int] = {}
    for reading in outline.readings:
        seen.setdefault(reading.tool, reading.after)
    return AttemptRecord(
        known=_first_facts(outline),
        task=outline.task,
        took=frozenset(begun),
        succeeded=bool(outline.success),
        final=_facts(after, outline.task) if after else None,
        seen_after=seen,
        begun_after=begun,
        moves=last,
    )


def looks_of(outline: Outline, made: Sequence[tuple[str, int]]) -> Iterator[tuple[str, AttemptRecord]]:
    """Yield each look with a tool that is asked the same again after moves: tool, what it showed, what was made until then.

    Where every page shows something else, what a tool showed first explains only the first move.
    """
    times: dict[str, list[Reading]] = {}
    for reading in outline.readings:
        times.setdefault(f"{reading.tool} {sorted(reading.arguments.items(), key=str)}", []).append(reading)
    for looks in times.values():
        ends = [*(look.after for look in looks[1:]), len(outline.moves)]
        for look, end in zip(looks, ends, strict=True) if len(looks) > 1 else ():
            took = frozenset(pattern for pattern, place in made if look.after <= place < end)
            if end > look.after:
                known = {look.tool: look.facts}
                yield (
                    look.tool,
                    AttemptRecord(known=known, task=outline.task, took=took, succeeded=bool(outline.success)),
                )


def distinct_attempts(attempts: Sequence[AttemptRecord]) -> list[AttemptRecord]:
    """Return one attempt of each set that read the same and made the same patterns."""
    kept: list[AttemptRecord] = []
    alike: dict[tuple[str, int], list[AttemptRecord]] = {}
    for attempt in attempts:
        seen = [(tool, hash(frozenset(facts.items()))) for tool, facts in attempt.known.items()]
        similar = {id(other): other for sight in seen for other in alike.get(sight, ())}
        if any(_same_situation(attempt, other) for other in similar.values()):
            continue
        kept.append(attempt)
        for sight in seen:
            alike.setdefault(sight, []).append(attempt)
    return kept


def _count_case(conditions: Sequence[Condition], attempts: Sequence[AttemptRecord], pattern: str) -> Case:
    """Return the case with the counts of the successes in which it holds: with the pattern, and without."""
    matching = [
        attempt
        for attempt in attempts
        if attempt.succeeded and all(holds(each, attempt.known, task=attempt.task) for each in conditions)
    ]
    support = sum(pattern in attempt.took for attempt in matching)
    return Case(conditions=tuple(conditions), support=support, against=len(matching) - support)


def _same_situation(left: AttemptRecord, right: AttemptRecord) -> bool:
    """Whether two attempts made the same patterns, ended alike and saw the same in every reading that both took."""
    if (left.took, left.succeeded) != (right.took, right.succeeded):
        return False
    return all(left.known[tool] == right.known[tool] for tool in left.known.keys() & right.known.keys())


def known_facts(outline: Outline) -> dict[str, Facts]:
    """Return what was known before the first move."""
    return _facts([reading for reading in outline.readings if reading.after == 0], outline.task)


def _first_facts(outline: Outline) -> dict[str, Facts]:
    """Return what each reading showed before the first move or, where it was taken later, when it was taken first."""
    earliest: dict[str, int] = {}
    for reading in outline.readings:
        earliest.setdefault(reading.tool, reading.after)
    return _facts([each for each in outline.readings if each.after == earliest[each.tool]], outline.task)


def _facts(readings: Sequence[Reading], task: str) -> dict[str, Facts]:
    """Return what readings show together; a repeated call replaces its earlier answer."""
    latest: dict[str, dict[str, Facts]] = {}
    for reading in readings:
        calls = latest.setdefault(reading.tool, {})
        asked = json.dumps(reading.arguments, sort_keys=True, default=str)
        calls.pop(asked, None)
        calls[asked] = reading.facts
    named = identifiers(task)
    return {tool: merged(list(calls.values()), named) for tool, calls in latest.items()}
