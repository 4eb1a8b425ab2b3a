"""An outline → the situation as conditions see it: what was read before the first move and after the last, what was done."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tacit.domain.outline import Outline, Reading
from tacit.domain.skill import Case
from tacit.learn.mining.conditions import Attempt
from tacit.text.facts import Facts, holds, identifiers, merged


def attempt_of(outline: Outline, took: Sequence[str]) -> Attempt:
    """An attempt with the situation it found, what it did, and the situation it left."""
    last = len(outline.moves)
    after = [reading for reading in outline.readings if last and reading.after == last]
    return Attempt(
        known=known_facts(outline),
        task=outline.task,
        took=frozenset(took),
        succeeded=bool(outline.success),
        final=_facts(after, outline.task) if after else None,
    )


def distinct(attempts: Sequence[Attempt]) -> list[Attempt]:
    """One of each: attempts that found the same situation and did the same tell no more together than one of them."""
    kept: list[Attempt] = []
    alike: dict[tuple[str, int], list[Attempt]] = {}
    for attempt in attempts:
        seen = [(tool, hash(frozenset(facts.items()))) for tool, facts in attempt.known.items()]
        near = {id(other): other for sight in seen for other in alike.get(sight, ())}
        if any(_same_situation(attempt, other) for other in near.values()):
            continue
        kept.append(attempt)
        for sight in seen:
            alike.setdefault(sight, []).append(attempt)
    return kept


def counted(case: Case, attempts: Sequence[Attempt], effect: str) -> Case:
    """The case with the counts of all successes that stood in it, alike or not."""
    stood = [
        attempt
        for attempt in attempts
        if attempt.succeeded and all(holds(each, attempt.known, task=attempt.task) for each in case.conditions)
    ]
    support = sum(effect in attempt.took for attempt in stood)
    return Case(conditions=case.conditions, support=support, against=len(stood) - support)


def _same_situation(left: Attempt, right: Attempt) -> bool:
    if (left.took, left.succeeded) != (right.took, right.succeeded):
        return False
    return all(left.known[tool] == right.known[tool] for tool in left.known.keys() & right.known.keys())


def known_facts(outline: Outline) -> dict[str, Facts]:
    """What was known before the first move."""
    return _facts([reading for reading in outline.readings if reading.after == 0], outline.task)


def _facts(readings: Sequence[Reading], task: str) -> dict[str, Facts]:
    """What some readings show together; the same call made again replaces what it showed before."""
    latest: dict[str, dict[str, Facts]] = {}
    for reading in readings:
        calls = latest.setdefault(reading.tool, {})
        asked = json.dumps(reading.arguments, sort_keys=True, default=str)
        calls.pop(asked, None)
        calls[asked] = reading.facts
    named = identifiers(task)
    return {tool: merged(list(calls.values()), named) for tool, calls in latest.items()}
