"""Failed attempts of a group → what went wrong in each, by contrast with attempts that worked.

A sibling is a success that was asked the same and found the same; where there is none, what successes of the group do has
to serve. Only a bounded number of attempts is looked at whole. Writes nothing into skills.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.domain.outline import Outline
from tacit.domain.skill import Pitfall
from tacit.domain.trajectory import Span
from tacit.learn.blame import Blame, Pool, blame
from tacit.learn.mining.situation import known_facts
from tacit.learn.mining.study import Study
from tacit.learn.wording import code, shorten

MAX_FAILURES = 60
MAX_SUCCESSES = 60
SEVERAL = 2
"""Attempts that must have met an error before a skill warns of it."""
_MAX_ERROR = 120
_MOST = 3
_SPANS = 5


def blames_of(study: Study) -> list[Blame]:
    """What went wrong in the latest failures of a group."""
    failures = study.group.failures[-MAX_FAILURES:]
    if not failures:
        return []
    siblings = {failed.trajectory_id: _siblings(failed, study) for failed in failures}
    sample = study.sample([outline.trajectory_id for outline in study.group.successes], most=MAX_SUCCESSES)
    contrasted = [
        (study.trajectory(identity), [study.trajectory(one) for one in near])
        for identity, near in siblings.items()
        if near
    ]
    pool = Pool([study.trajectory(identity) for identity in sample], contrasted)
    return [
        blame(study.trajectory(identity), pool, siblings=[study.trajectory(one) for one in near])
        for identity, near in siblings.items()
    ]


def failing_calls(study: Study, tools: Sequence[str]) -> list[tuple[Pitfall, tuple[Span, ...]]]:
    """Errors that calls of these tools met in several attempts, the most frequent first, each with where it was seen."""
    met: dict[tuple[str, str], list[Span]] = {}
    for outline in study.group.outlines:
        for failure in outline.course.failures if outline.course else ():
            if failure.call in tools and not failure.passing:
                met.setdefault((failure.call, failure.signature), []).append(
                    Span(outline.trajectory_id, failure.step, "observation")
                )
    found = []
    for (tool, signature), spans in met.items():
        attempts = {span.trajectory_id for span in spans}
        if len(attempts) >= SEVERAL:
            text = f"{code(tool)} fails with “{shorten(signature, _MAX_ERROR)}”."
            found.append((Pitfall(text=text, kind="failing call", count=len(attempts)), tuple(spans[:_SPANS])))
    return sorted(found, key=lambda each: (-each[0].count, each[0].text))[:_MOST]


def _siblings(failed: Outline, study: Study) -> list[str]:
    return [
        outline.trajectory_id
        for outline in study.asked_alike(failed)
        if outline.success and _found_the_same(failed, outline)
    ][:MAX_SUCCESSES]


def _found_the_same(left: Outline, right: Outline) -> bool:
    mine, other = known_facts(left), known_facts(right)
    shared = mine.keys() & other.keys()
    return all(mine[tool] == other[tool] for tool in shared) and bool(shared or not (mine or other))
