"""Failed attempts of a group → what went wrong in each, by contrast with attempts that worked.

A sibling is a success that was asked the same and found the same; where there is none, what successes of the group do has
to serve. Only a bounded number of attempts is looked at whole. Writes nothing into skills.
"""

from __future__ import annotations

from tacit.domain.outline import Outline
from tacit.synthesis.blame import Blame, Pool, blame
from tacit.synthesis.mining.situation import known_facts
from tacit.synthesis.mining.study import Study

MAX_FAILURES = 60
MAX_SUCCESSES = 60


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
