"""What was met in a version's runs, and what came of them → does a person need to look at it, and why. Pure.

Every run that used it counts as a use, also one of which nothing is known but its friction: otherwise the average would be
too high. What a run merely did otherwise is told, but is no friction of a use. Below the least evidence nothing is claimed.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.domain.evidence import Evidence, Following, Outcome
from tacit.evidence.friction import Friction, FrictionKind, theme_of
from tacit.text.similarity import jaccard
from tacit.text.words import term_set

APPROVAL_LEAST = 0.70
VERIFIED_LEAST = 3
"""Verified results before anything is said of approval."""
FRICTION_MOST = 3.0
"""Per use."""
USES_LEAST = 2
THEME_MOST = 3
_ALIKE = 0.5
"""How alike two corrections must be to be about one thing, whatever their wording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How a version fares in use."""

    uses: int = 0
    met: int = 0
    """Places where something or somebody stood in the way, over all runs."""
    by_step: Mapping[int, Mapping[str, int]]
    """Step of the skill → kind of friction → how often."""
    verified: int = 0
    succeeded: int = 0
    themes: tuple[tuple[str, int], ...] = ()
    """What people corrected, and in how many runs, the most frequent first."""
    reasons: tuple[str, ...] = ()
    """Why a person should look at it; empty: nothing calls for that."""

    @property
    def per_use(self) -> float:
        """Friction of a use, on average."""
        return self.met / self.uses if self.uses else 0.0

    @property
    def needs_review(self) -> bool:
        """Whether a person should look at it."""
        return bool(self.reasons)


def quality(
    evidence: Sequence[Evidence], met: Mapping[str, Sequence[Friction]], *, votes: Sequence[Evidence] = ()
) -> Quality:
    """Judge one version; `met` is trajectory → what was met in it, `votes` the results that count (`outcome.votes`)."""
    ran = (item for item in evidence if item.use_id or item.trajectory_id)  # a check that was only repeated is no use
    shown = [item for item in ran if not item.control and item.following not in _NOT_USED]
    known_as = {item.trajectory_id: item.use_id for item in shown if item.trajectory_id and item.use_id}

    def use(item: Evidence) -> str:
        return item.use_id or known_as.get(item.trajectory_id, item.trajectory_id)

    uses = {use(item) for item in shown} | {known_as.get(key, key) for key in met if met[key]}
    succeeded = sum(item.outcome is Outcome.SUCCESS for item in votes)
    steps: dict[int, Counter[str]] = {}
    for friction in (each for frictions in met.values() for each in frictions):
        steps.setdefault(friction.step, Counter())[str(friction.kind)] += 1
    resisted = sum(friction.resisted for frictions in met.values() for friction in frictions)
    themes = _themes(met.values())
    found = Quality(
        uses=len(uses),
        met=resisted,
        by_step={step: dict(steps[step]) for step in sorted(steps)},
        verified=len(votes),
        succeeded=succeeded,
        themes=themes,
    )
    return dataclasses.replace(found, reasons=tuple(_reasons(found)))


_NOT_USED = frozenset({Following.IGNORED, Following.CONTRADICTED})


def _reasons(found: Quality) -> Iterator[str]:
    if found.verified >= VERIFIED_LEAST and found.succeeded / found.verified < APPROVAL_LEAST:
        yield f"worked in {found.succeeded} of {found.verified} verified uses, fewer than {APPROVAL_LEAST:.0%}"
    if found.uses >= USES_LEAST and found.per_use >= FRICTION_MOST:
        yield f"{found.per_use:.1f} frictions per use over {found.uses} uses"
    for theme, count in found.themes[:1]:
        if count >= THEME_MOST:
            yield f"corrected {count} times: {theme}"


def _themes(runs: Iterable[Sequence[Friction]]) -> tuple[tuple[str, int], ...]:
    """Corrections by what they are about; one run says one thing once."""
    groups: list[tuple[str, frozenset[str], int]] = []
    for frictions in runs:
        said = dict.fromkeys(theme_of(each) for each in frictions if each.kind is FrictionKind.CORRECTION)
        for theme in said:
            words = term_set(theme)
            at = next(
                (i for i, group in enumerate(groups) if theme == group[0] or jaccard(words, group[1]) >= _ALIKE), None
            )
            if at is None:
                groups.append((theme, words, 1))
            else:
                name, known, count = groups[at]
                groups[at] = (name, known, count + 1)
    return tuple((name, count) for name, _, count in sorted(groups, key=lambda group: -group[2]))
