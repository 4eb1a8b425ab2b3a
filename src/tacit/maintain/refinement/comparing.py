"""Evidence on a version and on those it came from → which tasks it fails that they solved. Pure.

Only verified results of runs that followed the skill count, and of each task the latest. A version that solves the task
again has no regression there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacit.domain.evidence import Evidence, Following, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A task that an earlier version solved and this one fails."""

    task: str
    """The digest of what was asked."""
    failed: Evidence
    solved: Evidence


def regressions(own: Iterable[Evidence], earlier: Iterable[Evidence]) -> tuple[Regression, ...]:
    """Tasks that this version fails, as far as the last verified result says, and an earlier one solved."""
    now = _latest(own)
    then = _latest(each for each in earlier if each.outcome is Outcome.SUCCESS)
    return tuple(
        Regression(task=task, failed=item, solved=then[task])
        for task, item in now.items()
        if item.outcome is Outcome.FAILURE and task in then
    )


def _latest(evidence: Iterable[Evidence]) -> dict[str, Evidence]:
    counted = [
        item
        for item in evidence
        if item.task and item.grade.verified and not item.control and item.following in (Following.FOLLOWED, None)
    ]
    return {item.task: item for item in sorted(counted, key=lambda item: (item.at, item.id))}
