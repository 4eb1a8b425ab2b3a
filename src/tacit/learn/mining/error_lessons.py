"""Lessons from the errors of many attempts: what fixed an error, how often, in how many sessions.

Failures of one call with signatures of one template form a family; its most frequent independent fix becomes the lesson. A
call to avoid must have failed in the same way in separate sessions and tasks and never worked again. Families without a
working fix give nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.outline import Course, Failure, Tried
from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.attempt_outlines import AGAIN, INSTALL, INSTEAD, recovery_at
from tacit.learn.lesson import FixCount, lesson
from tacit.learn.recovery import Recovery
from tacit.learn.values import Timeline
from tacit.text.error_signatures import templates, without_name
from tacit.text.tool_calls import ToolCall, ToolKind, essential, leaves

MIN_SESSIONS = 2
"""Sessions from which a fix is counted; a single session has its own lesson."""
MIN_REPLACED = 3
"""Sessions before another tool counts as a fix: once, it is only the next call."""
LIFT = 2.0
"""How much more often the other tool must follow the error than a success of the same call."""
APART = timedelta(hours=1)
"""Failures closer in time may share one temporary cause."""
MAX_MEMBERS = 5
"""Attempts that a lesson cites and compares."""


def error_lessons(courses: Iterable[Course], trajectory_of: Callable[[str], Trajectory]) -> tuple[Candidate, ...]:
    """Return the lessons that several sessions support, in the order of their families; deterministic.

    Trajectories are loaded only for the attempts that a lesson cites.
    """
    pool = _Pool(sorted(courses, key=lambda course: course.trajectory_id))
    made = (_lesson(choice, trajectory_of) for family in pool.families() if (choice := pool.choose(family)))
    return tuple(candidate for candidate in made if candidate)


_Case = tuple[Course, Failure]
_Help = tuple[Course, Failure, Tried]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """A fix of a family, the attempts in which it helped, and its counts."""

    first: _Help
    """The attempt that the lesson is written from."""
    helped: tuple[_Help, ...]
    tally: FixCount


class _Pool:
    """All outlined failures together."""

    def __init__(self, courses: Sequence[Course]) -> None:
        self._courses = courses
        self._worked: dict[str, list[tuple[Course, int]]] = defaultdict(list)
        self._followed: Counter[str] = Counter()
        failures = (failure for course in courses for failure in course.failures)
        failing = {digest for failure in failures for digest in (failure.exact, failure.form)}
        for course in courses:
            self._followed.update(course.followed)
            for digest in course.worked.keys() & failing:
                self._worked[digest].append((course, course.worked[digest]))
        self._before: Counter[str] = Counter()
        for pair, count in self._followed.items():
            self._before[pair.partition(" > ")[0]] += count

    def families(self) -> list[list[_Case]]:
        """Return failures of one call with one template, and those of any call that miss something."""
        cases = [(course, failure) for course in self._courses for failure in course.failures]
        template = {
            line: form for form, lines in templates(failure.signature for _, failure in cases).items() for line in lines
        }
        found: dict[tuple[str, str], list[_Case]] = defaultdict(list)
        for course, failure in cases:
            installs = tuple(one for one in failure.tried if one.fix.startswith(INSTALL))
            others = tuple(one for one in failure.tried if one not in installs)
            key = (failure.call, template[failure.signature])
            found[key].append((course, replace(failure, tried=others)))
            if installs:
                found["", without_name(failure.signature)].append((course, replace(failure, tried=installs)))
        return [found[key] for key in sorted(found)]

    def choose(self, family: Sequence[_Case]) -> _Choice | None:
        """Return the most successful fix of a family, if it has enough support."""
        tried = _by_fix(family)
        again = tried.pop(AGAIN, [])
        ranked = sorted(tried.items(), key=lambda entry: (*_fix_rank(entry[1]), entry[0]))
        for fix, uses in ranked:
            helped = _worked(uses)
            sessions = {course.session for course, _, _ in helped}
            if len(sessions) < MIN_SESSIONS or 2 * len(helped) <= len(uses) or _is_temporary(again, len(helped)):
                continue
            if fix.startswith(INSTEAD) and family[0][1].plain and not self._replaces(fix, uses, family):
                continue
            first = _representative(helped)
            tally = FixCount(
                failures=len(family),
                tried=len(uses),
                worked=len(helped),
                sessions=len(sessions),
                avoid=self._avoid([case for case in family if case[1].exact == first[1].exact], "exact"),
                avoid_form=self._avoid([case for case in family if case[1].form == first[1].form], "form"),
                others=tuple((len(_worked(other)), len(other)) for name, other in ranked if name != fix),
            )
            return _Choice(first=first, helped=tuple(helped), tally=tally)
        return None

    def _replaces(self, fix: str, uses: Sequence[_Help], family: Sequence[_Case]) -> bool:
        """Whether another tool is called because of the error, not just next anyway."""
        call, other = family[0][1].call, fix.removeprefix(INSTEAD)
        share = len(uses) / len(family)
        usual = self._followed[f"{call} > {other}"] / max(1, self._before[call])
        helped = _worked(uses)
        sessions, tasks = {course.session for course, _, _ in helped}, {course.task for course, _, _ in helped}
        often = len(sessions) >= MIN_REPLACED and len(tasks) >= MIN_SESSIONS
        return often and share >= 0.5 and share >= LIFT * usual

    def _avoid(self, cases: Sequence[_Case], sort: str) -> bool:
        """Whether a call failed in separate sessions and tasks, without a temporary cause, and never worked again."""
        if any(case.plain or case.passing or self._worked_later(course, case, sort) for course, case in cases):
            return False  # values of a plain call belong to one task
        times = [course.at for course, _ in cases if course.at]
        if times and max(times) - min(times) < APART:
            return False
        return min(len({c.session for c, _ in cases}), len({c.task for c, _ in cases})) >= MIN_SESSIONS

    def _worked_later(self, course: Course, failure: Failure, sort: str) -> bool:
        """Whether the same call worked after this failure; unknown times count as later."""
        return any(
            step > failure.step
            if other.trajectory_id == course.trajectory_id
            else not (other.at and course.at and other.at < course.at)
            for other, step in self._worked[failure.exact if sort == "exact" else failure.form]
        )


def _is_temporary(again: Sequence[_Help], helped: int) -> bool:
    """Whether the error is temporary: repeating the call works half of the time, or as often as the fix."""
    worked = len(_worked(again))
    return worked >= helped or (len(again) >= MIN_SESSIONS and 2 * worked >= len(again))


def _by_fix(family: Sequence[_Case]) -> dict[str, list[_Help]]:
    """Return every fix with the failures it was tried at, once each, preferring a try that worked."""
    found: dict[str, list[_Help]] = defaultdict(list)
    for course, failure in family:
        last: dict[str, Tried] = {}
        for one in failure.tried:
            if one.fix not in last or not last[one.fix].worked:
                last[one.fix] = one
        for fix, one in last.items():
            found[fix].append((course, failure, one))
    return found


def _worked(uses: Sequence[_Help]) -> list[_Help]:
    return [use for use in uses if use[2].worked]


def _fix_rank(uses: Sequence[_Help]) -> tuple[int, int, int]:
    """Sort key of fixes: sessions with success, then successes, then few failures."""
    helped = _worked(uses)
    return -len({course.session for course, _, _ in helped}), -len(helped), len(uses)


def _lesson(choice: _Choice, trajectory_of: Callable[[str], Trajectory]) -> Candidate | None:
    """Write the lesson from one of the attempts in which the fix helped."""
    members = _members(choice.helped, choice.first)
    found = [(use, trajectory_of(use[0].trajectory_id)) for use in members]
    recoveries = [recovery_at(trajectory, use[1], use[2]) for use, trajectory in found]
    recovery, trajectory = recoveries[0], found[0][1]
    if recovery is None:
        return None
    varying = _varying(recovery, [other for other in recoveries[1:] if other])
    tally = replace(choice.tally, varying=tuple(dict.fromkeys(varying)))
    candidate = lesson(trajectory, recovery, timeline=Timeline(trajectory), tally=tally)
    return _add_member_spans(candidate, members) if candidate else None


def _representative(helped: Sequence[_Help]) -> _Help:
    """Return a failure with the most common signature in the most common exact call; the first by id."""
    signatures = Counter(failure.signature for _, failure, _ in helped)
    calls = Counter(failure.exact for _, failure, _ in helped)

    def commonest(use: _Help) -> tuple[int, str, int, str, str, int]:
        course, failure, _ = use
        often = -signatures[failure.signature], -calls[failure.exact]
        return often[0], failure.signature, often[1], failure.exact, course.trajectory_id, failure.step

    return min(helped, key=commonest)


def _members(helped: Sequence[_Help], first: _Help) -> list[_Help]:
    """Return the attempt of the lesson and some others, of other tasks first."""
    others = [use for use in helped if use[0].trajectory_id != first[0].trajectory_id]
    seen: set[str] = {first[0].task}
    fresh: list[_Help] = []
    again: list[_Help] = []
    for use in others:
        (again if use[0].task in seen else fresh).append(use)
        seen.add(use[0].task)
    return [first, *(fresh + again)[: MAX_MEMBERS - 1]]


def _varying(recovery: Recovery, others: Sequence[Recovery]) -> Iterator[tuple[str, Any]]:
    """Yield what differs between the attempts: arguments of plain calls, operands of commands."""
    if recovery.failed.kind is ToolKind.FUNCTION:
        for side in ("failed", "worked"):
            for key, leaf in _call_values(getattr(recovery, side)):
                if any((key, leaf) not in _call_values(getattr(other, side)) for other in others):
                    yield key, leaf
        return
    both = [operand for operand in _operands(recovery.failed) if operand in _operands(recovery.worked)]
    for operand in both:
        if any(operand not in _operands(other.worked) for other in others):
            yield "argument", operand


def _call_values(action: ToolCall) -> list[tuple[str, Any]]:
    return list(leaves(essential(action.step.arguments)))


def _operands(action: ToolCall) -> list[str]:
    return [operand for command in action.programs for operand in command.operands]


def _add_member_spans(candidate: Candidate, members: Sequence[_Help]) -> Candidate:
    """Add spans of the calls in other attempts."""
    spans = [
        Span(course.trajectory_id, step, "arguments")
        for course, failure, tried in members[1:]
        for step in (failure.step, tried.step)
    ]
    grounding = dict(candidate.provenance.grounding)
    for path in ("description", "body"):
        grounding[path] = tuple(dict.fromkeys((*grounding[path], *spans)))
    ids = tuple(dict.fromkeys(course.trajectory_id for course, _, _ in members))
    return replace(candidate, provenance=replace(candidate.provenance, trajectory_ids=ids, grounding=grounding))
