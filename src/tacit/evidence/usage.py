"""A run and what it was shown → whether it used it; and all such heeds of a version → how prominent it has become. Pure.

A procedure is used where its steps were done (see `attribution`). Of what has no steps to look for, the words tell: those that
the run could have from nowhere else come back in what the agent then says and does. Where that cannot be told, nothing is: a
run of which nothing is known has neither used nor passed over anything. None of it says that a skill works, so that no
reliability rests on it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from tacit.domain.evidence import Evidence, Following, Outcome
from tacit.domain.skill import Kind, SkillContent, SkillVersion
from tacit.domain.trajectory import Role, Step, Trajectory
from tacit.domain.usage_signal import UsageSignal
from tacit.evidence.attribution import align
from tacit.evidence.reliability import votes
from tacit.store.lexical_search import EVERYDAY
from tacit.text.words import STOP_WORDS, terms

ENOUGH = 0.3
"""The part of an entry's own words that must come back."""
LEAST_WORDS = 3
"""Own words that an entry must have, or else nothing can be told of it."""
LEAST_MET = 2
"""Words that must come back, whatever part that is: one may be chance."""
CEILING = 4
"""So many uses count beyond what verified attempts confirmed: what is shown often does not push out the rest for that."""

_WORD = re.compile(r"[^\W\d_]{4,}")
_OWN = re.compile(r"<tacit-skills-(\w+)>.*?(?:</tacit-skills-\1>|\Z)", re.DOTALL)
"""What Tacit itself said, wherever a transcript repeats it: that an agent has an entry's words from there is the point."""


def was_used(
    content: SkillContent,
    trajectory: Trajectory,
    *,
    start: int,
    besides: Iterable[str] = (),
    asked: Collection[int] = (),
) -> bool | None:
    """Whether a run used an entry from its step `start` on; nothing where that cannot be told.

    `besides` are the texts of whatever else it was shown, `asked` the steps whose observations are Tacit's own answers.
    """
    found = align(trajectory, content, start=start)
    if found is not None and found.following is not Following.PARTLY:
        return found.following is Following.FOLLOWED
    if found is not None or content.kind is Kind.PROCEDURE:
        return None
    return _by_words(content, trajectory, start=start, known=_words("\n".join(besides)), asked=asked)


def _by_words(
    content: SkillContent, trajectory: Trajectory, *, start: int, known: set[str], asked: Collection[int]
) -> bool | None:
    seen = known | _words(trajectory.task.text)
    for step in trajectory.steps[:start]:
        seen |= _told(step, asked) | _said(step)
    wholes = [own for text in _texts(content) if len(own := _words(text) - seen) >= LEAST_WORDS]
    if not wholes or not any(_acts(step) for step in trajectory.steps[start:]):
        return None
    met: set[str] = set()
    for step in trajectory.steps[start:]:
        met |= _said(step) - seen  # in this order: what a call brings back is known only after it
        seen |= _told(step, asked)
    return any(len(own & met) >= max(LEAST_MET, ENOUGH * len(own)) for own in wholes)


def _texts(content: SkillContent) -> Iterator[str]:
    """What an entry says in short, and at full length: of a long one the agent may use the point and not the words."""
    yield content.description
    yield "\n".join([content.description, content.body, *(step.text for step in content.steps)])


def _acts(step: Step) -> bool:
    return step.role is Role.AGENT and (step.is_action or bool(step.text.strip()))


def _said(step: Step) -> set[str]:
    """What the agent says and does in a step."""
    if step.role is not Role.AGENT:
        return set()
    return _words("\n".join([step.text, *_strings(dict(step.arguments))]))


def _told(step: Step, asked: Collection[int]) -> set[str]:
    """What a step tells the agent."""
    said = "" if step.role is Role.AGENT else step.text
    return _words(said if step.index in asked else f"{said}\n{step.observation}")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _words(text: str) -> set[str]:
    """The words of four letters and more that tell anything, as they are indexed."""
    found = {term for word in set(_WORD.findall(_OWN.sub(" ", text))) for term in terms(word)}
    return found - EVERYDAY - STOP_WORDS


def prominence_of(
    version: SkillVersion, evidence: Iterable[Evidence], *, usage_signals: Iterable[UsageSignal] = ()
) -> tuple[int, datetime]:
    """How often a version was confirmed or used, less how often it was passed over; and when last.

    Counted in order of time and never below nothing: what was passed over ten times is as prominent as what is new, and a
    single use brings it back. Runs that gave verified evidence count by that alone.
    """
    cast = votes(evidence)
    known = {item.trajectory_id for item in cast if item.trajectory_id}
    confirmed = max(0, len(version.provenance.trajectory_ids) - 1)
    moves = [(item.at, True, True) for item in cast if item.outcome is Outcome.SUCCESS]
    moves += [(each.at, each.heeded, False) for each in _by_use(usage_signals) if each.trajectory_id not in known]
    count = confirmed
    for _, up, verified in sorted(moves):
        confirmed += verified
        if verified:
            count += 1
        elif up:
            count = min(count + 1, confirmed + CEILING)
        else:
            count = max(0, count - 1)
    return count, max((at for at, up, _ in moves if up), default=version.created_at)


def telling(
    version: SkillVersion, evidence: Sequence[Evidence], known: Sequence[UsageSignal], new: UsageSignal
) -> bool:
    """Whether a heed changes anything: one that does not (passed over once more, used twice in a day) need not be kept."""
    before, after = (
        prominence_of(version, evidence, usage_signals=usage_signals) for usage_signals in (known, [*known, new])
    )
    return before[0] != after[0] or (after[1] - before[1]).days >= 1


def _by_use(usage_signals: Iterable[UsageSignal]) -> list[UsageSignal]:
    """One heed for each use: that it was used, if any attempt did, the latest of several."""
    ordered = sorted(usage_signals, key=lambda each: (each.heeded, each.at))
    return list({each.use_id or each.id: each for each in ordered}.values())
