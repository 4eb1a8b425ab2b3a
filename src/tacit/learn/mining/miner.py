"""Mines outlines of attempts for skills: what successes share, when each part is needed, and in which order.

From three successes over all groups on, every group is split into patterns with conditions, cues and parameters, a group
with a single success too. Until then nothing is proposed: what one attempt did is not yet a way of working.

    check_line (roaming off), enable_roaming
    check_line (roaming off, usage over limit), enable_roaming, refuel_data
    check_line (usage over limit), refuel_data
      ->  enable-roaming, needed when `check_line` shows roaming off; refuel-data, when it shows usage over limit
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heappop, heappush

from tacit.domain.candidate import Candidate
from tacit.domain.outline import Outline
from tacit.domain.skill import Case, Cue
from tacit.learn.mining.call_patterns import MIN_SUPPORT, CallPattern, Group, groups_of, learn_order
from tacit.learn.mining.candidates import PatternStatistics, candidate_of, free_name, name_of
from tacit.learn.mining.group_data import GroupData, impersonal_task
from tacit.learn.mining.pattern_conditions import (
    attempt_record,
    ending_patterns,
    learn_cases,
    looks_of,
)
from tacit.learn.mining.predicates import AttemptRecord, goal_checks
from tacit.learn.mining.task_cues import learn_cues
from tacit.store import Store
from tacit.text.facts import TASK
from tacit.text.tool_calls import essential, leaves

_TELLING = 3
"""Attempts whose calls describe a pattern: more give more words to link conditions to, and more noise."""
_MAX_ANSWER = 300
"""Characters of an answer that describe a pattern."""
MAX_COMPARED = 1_000
"""Attempts of a group whose readings are compared."""
MAX_PATTERNS = 40
"""Patterns of a group for which conditions are searched, the most supported first."""
MAX_SAMPLES = 2_000
"""Successes of a group whose task words are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """The result for one group."""

    group: Group
    candidates: tuple[Candidate, ...] = ()
    waiting: tuple[str, ...] = ()
    """New successes, where there are too few to compare."""


def mine(outlines: Sequence[Outline], waiting: AbstractSet[str], store: Store) -> Iterator[Mined]:
    """Learn what attempts have in common, per group with at least one new attempt.

    Task cues are learned from all attempts together, everything else within each group.
    """
    groups = groups_of(outlines)
    fresh = [group for group in groups if not waiting.isdisjoint(group.ids)]
    if not fresh:
        return
    if sum(len(group.successes) for group in groups) < MIN_SUPPORT:
        for group in fresh:
            new = (each.trajectory_id for each in group.successes if each.trajectory_id in waiting)
            yield Mined(group=group, waiting=tuple(new))
        return
    all_data = {group.ids[0]: GroupData(group, store) for group in groups}
    cues = _cues(list(all_data.values()))
    names = _names(list(all_data.values()))
    for group in fresh:
        data = all_data[group.ids[0]]
        yield Mined(group=group, candidates=tuple(_candidates(data, cues, names)))


def _cues(all_data: Sequence[GroupData]) -> dict[str, tuple[Cue, ...]]:
    samples = [
        (impersonal_task(outline, data.names[outline.task]), data.patterns.sequence(outline))
        for data in all_data
        for outline in data.group.successes[-MAX_SAMPLES:]
    ]
    tools = {pattern.key: " ".join(pattern.tools) for data in all_data for pattern in data.patterns.patterns}
    return learn_cues(samples, called=tools)


def _names(all_data: Sequence[GroupData]) -> dict[tuple[str, str], str]:
    """Return group and pattern → a unique name; of several equal names the oldest pattern keeps it."""
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for data in all_data:
        place = {identity: at for at, identity in enumerate(data.outlines)}
        for pattern in sorted(
            data.patterns.patterns, key=lambda pattern: (place[next(iter(pattern.made))], pattern.key)
        ):
            names[data.group.ids[0], pattern.key] = free_name(
                name_of(pattern), taken, fuller=name_of(pattern, whole=True)
            )
    return names


def _candidates(
    data: GroupData, cues: Mapping[str, tuple[Cue, ...]], known_as: Mapping[tuple[str, str], str]
) -> Iterator[Candidate]:
    """Yield candidates so that each comes after those it mentions."""
    order = learn_order(data.patterns.sequence(outline) for outline in data.group.successes)
    place = {key: at for at, key in enumerate(phase_order(order))}
    patterns = sorted(data.patterns.patterns, key=lambda pattern: place[pattern.key])
    names = {pattern.key: known_as[data.group.ids[0], pattern.key] for pattern in patterns}
    attempts = [
        attempt_record(outline, data.patterns.occurrences(outline))
        for outline in data.group.outlines[-MAX_COMPARED:]
        if outline.success is not None
    ]
    most = patterns[:MAX_PATTERNS]
    cases = _cases(data, attempts, {pattern.key: _pattern_text(pattern, data) for pattern in most})
    goal, ending = goal_checks(attempts), ending_patterns(attempts)
    for pattern in patterns:
        statistics = PatternStatistics(
            cases=tuple(case for case in cases.get(pattern.key, ()) if _needs_reading(case)),
            cues=cues.get(pattern.key, ()),
            after=tuple(names[key] for key in order.get(pattern.key, ())),
            goal=goal,
            ends_task=pattern.key in ending,
        )
        yield candidate_of(pattern, statistics, data, name=names[pattern.key])


def _cases(
    data: GroupData, attempts: Sequence[AttemptRecord], patterns: Mapping[str, str]
) -> dict[str, tuple[Case, ...]]:
    """Return the cases of each pattern: by what attempts showed first, or else by what single looks showed."""
    cases = learn_cases(attempts, patterns)
    looks: dict[str, list[AttemptRecord]] = {}
    for outline in data.group.successes[-MAX_COMPARED:]:
        for tool, look in looks_of(outline, data.patterns.occurrences(outline)):
            looks.setdefault(tool, []).append(look)
    for _, seen in sorted(looks.items()):
        # What follows hardly any look, or nearly each, is not decided by what it shows.
        times = {key: sum(key in look.took for look in seen) for key in patterns if not cases.get(key)}
        open_ = {key: patterns[key] for key, count in times.items() if MIN_SUPPORT <= count <= len(seen) - MIN_SUPPORT}
        cases |= learn_cases(seen[-MAX_COMPARED:], open_) if open_ else {}
    return cases


def _needs_reading(case: Case) -> bool:
    """Whether a case needs a reading; the cues cover cases that test only task words."""
    return any(condition.reading != TASK for condition in case.conditions)


def phase_order(after: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the patterns in an order that fits all pairs; a cycle is cut at its first pattern."""
    open_ = {key: {one for one in earlier if one in after and one != key} for key, earlier in after.items()}
    following: dict[str, list[str]] = {}
    for key, earlier in open_.items():
        for one in earlier:
            following.setdefault(one, []).append(key)
    free = sorted(key for key, earlier in open_.items() if not earlier)
    ordered: dict[str, None] = {}
    while len(ordered) < len(open_):
        key = heappop(free) if free else min(open_.keys() - ordered.keys())
        ordered[key] = None
        for later in following.get(key, ()):
            open_[later].discard(key)
            if not open_[later] and later not in ordered:
                heappush(free, later)
    return list(ordered)


def _pattern_text(pattern: CallPattern, data: GroupData) -> str:
    """Return the text of a pattern's calls: tools, arguments and answers."""
    texts: dict[str, None] = {}
    for identity in data.sample(list(pattern.made))[:_TELLING]:
        for place in pattern.made[identity][0]:
            step = data.step(identity, data.outlines[identity].moves[place].index)
            arguments = " ".join(str(value) for _, value in leaves(essential(step.arguments)))
            texts.update(dict.fromkeys((step.tool, arguments, step.observation[:_MAX_ANSWER])))
    return " ".join(texts)
