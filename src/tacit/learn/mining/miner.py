"""Mines outlines of attempts for skills: what successes share, when each part is needed, and in which order.

Groups with several successes are split into units with conditions, cues and bindings; smaller groups give at most the
procedures of single attempts. Failures alone give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heappop, heappush

from tacit.domain.candidate import Candidate
from tacit.domain.outline import Outline
from tacit.domain.skill import Case, Cue
from tacit.learn.mining.candidates import Findings, candidate_of, composites, free_name, name_of
from tacit.learn.mining.effect_conditions import (
    attempt_record,
    count_case,
    distinct_attempts,
    ending_effects,
    learn_cases,
)
from tacit.learn.mining.predicates import goal_checks
from tacit.learn.mining.study import AttemptSource, Study, failure_causes, impersonal_task, step_at
from tacit.learn.mining.task_cues import learn_cues
from tacit.learn.mining.units import MIN_SUPPORT, Group, Unit, groups_of, learn_order
from tacit.learn.procedure import SkippedProcedure
from tacit.learn.single_attempt import draft_of
from tacit.text.facts import TASK
from tacit.text.tool_calls import essential, leaves

_TELLING = 3
_MAX_ANSWER = 300
MAX_COMPARED = 1_000
"""Attempts of a group whose readings are compared."""
MAX_EFFECTS = 40
"""Units of a group for which conditions are searched, the most supported first."""
MAX_SAMPLES = 2_000
"""Successes of a group whose task words are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """The result for one group."""

    group: Group
    candidates: tuple[Candidate, ...] = ()
    skipped: tuple[tuple[str, SkippedProcedure], ...] = ()
    """Attempts without a procedure, and why."""


def mine(outlines: Sequence[Outline], waiting: AbstractSet[str], source: AttemptSource) -> Iterator[Mined]:
    """Learn what attempts have in common, per group with at least one new attempt.

    Task cues are learned from all attempts together, everything else within each group.
    """
    groups = groups_of(outlines)
    fresh = [group for group in groups if not waiting.isdisjoint(group.ids)]
    if not fresh:
        return
    if sum(len(group.successes) for group in groups) < MIN_SUPPORT:
        yield from (_mine_singly(group, source) for group in fresh)
        return
    studies = {group.ids[0]: Study(group, source) for group in groups}
    cues = _cues(list(studies.values()))
    names = _names(list(studies.values()))
    for group in fresh:
        study = studies[group.ids[0]]
        yield Mined(group=group, candidates=tuple(_candidates(study, cues, names)))


def _cues(studies: Sequence[Study]) -> dict[str, tuple[Cue, ...]]:
    samples = [
        (impersonal_task(outline, study.names[outline.task]), study.units.sequence(outline))
        for study in studies
        for outline in study.group.successes[-MAX_SAMPLES:]
    ]
    tools = {unit.key: " ".join(unit.tools) for study in studies for unit in study.units.units}
    return learn_cues(samples, called=tools)


def _names(studies: Sequence[Study]) -> dict[tuple[str, str], str]:
    """Return group and unit → a unique name; of several equal names the oldest unit keeps it."""
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for study in studies:
        place = {identity: at for at, identity in enumerate(study.outlines)}
        for unit in sorted(study.units.units, key=lambda unit: (place[next(iter(unit.made))], unit.key)):
            names[study.group.ids[0], unit.key] = free_name(name_of(unit), taken, fuller=name_of(unit, whole=True))
    return names


def _candidates(
    study: Study, cues: Mapping[str, tuple[Cue, ...]], known_as: Mapping[tuple[str, str], str]
) -> Iterator[Candidate]:
    """Yield candidates so that each comes after those it mentions; composites come last."""
    order = learn_order(study.units.sequence(outline) for outline in study.group.successes)
    phases = phase_order(order)
    place = {key: at for at, key in enumerate(phases)}
    units = sorted(study.units.units, key=lambda unit: place[unit.key])
    names = {unit.key: known_as[study.group.ids[0], unit.key] for unit in units}
    attempts = [
        attempt_record(outline, study.units.sequence(outline))
        for outline in study.group.outlines[-MAX_COMPARED:]
        if outline.success is not None
    ]
    most = units[:MAX_EFFECTS]
    cases = learn_cases(distinct_attempts(attempts), {unit.key: _unit_text(unit, study) for unit in most})
    goal, alone = goal_checks(attempts), ending_effects(attempts)
    causes = tuple(failure_causes(study))
    made: dict[str, Candidate] = {}
    for unit in units:
        findings = Findings(
            cases=tuple(
                count_case(case, attempts, unit.key) for case in cases.get(unit.key, ()) if _needs_reading(case)
            ),
            cues=cues.get(unit.key, ()),
            after=tuple(names[key] for key in order.get(unit.key, ())),
            goal=goal,
            alone=unit.key in alone,
            causes=causes,
        )
        made[unit.key] = candidate_of(unit, findings, study, name=names[unit.key])
        yield made[unit.key]
    yield from composites(study, made, phases, taken=set(known_as.values()))


def _needs_reading(case: Case) -> bool:
    """Whether a case needs a reading; cases on task words alone are covered by the cues."""
    return any(condition.reading != TASK for condition in case.conditions)


def _mine_singly(group: Group, source: AttemptSource) -> Mined:
    """Return one procedure per success of a group that is too small to generalise."""
    candidates: list[Candidate] = []
    skipped: list[tuple[str, SkippedProcedure]] = []
    for outline in group.successes:
        made = draft_of(source.trajectory(outline.trajectory_id), source.assessment(outline.trajectory_id))
        if isinstance(made, SkippedProcedure):
            skipped.append((outline.trajectory_id, made))
        else:
            candidates.append(made)
    return Mined(group=group, candidates=tuple(candidates), skipped=tuple(skipped))


def phase_order(after: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the units in an order that fits all pairs; a cycle is cut at its first unit."""
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


def _unit_text(unit: Unit, study: Study) -> str:
    """Return the text of a unit's calls: tools, arguments and answers."""
    texts: dict[str, None] = {}
    for identity in study.sample(list(unit.made))[:_TELLING]:
        for place in unit.made[identity][0]:
            step = step_at(study.trajectory(identity), study.outlines[identity].moves[place].index)
            arguments = " ".join(str(value) for _, value in leaves(essential(step.arguments)))
            texts.update(dict.fromkeys((step.tool, arguments, step.observation[:_MAX_ANSWER])))
    return " ".join(texts)
