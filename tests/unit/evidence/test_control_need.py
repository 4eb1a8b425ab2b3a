"""What may be held back: nothing whose absence may do harm; of the rest the less, the more is known."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tacit.domain.skill import Capabilities, Kind, SkillContent, SkillStep
from tacit.evidence.control_runs import LEAST, unproven
from tests.unit.evidence.test_lift import runs


def skill(kind: Kind = Kind.PROCEDURE, step: str = "Run `make build`", **more: object) -> SkillContent:
    reported: dict[str, object] = {"description": "Build the package"} | more
    return SkillContent(kind=kind, name="build", steps=(SkillStep(text=step),), **reported)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Kind.PROCEDURE, Kind.LESSON, Kind.REFERENCE])
def test_of_a_skill_nobody_has_measured_a_control_tells_most(kind: Kind) -> None:
    assert unproven(skill(kind), []) == 1


@pytest.mark.parametrize(
    "needed",
    [
        skill(Kind.NORM),
        skill(Kind.PREFERENCE),
        skill(Kind.LESSON, signature="error: revision chain is stale"),
        skill(step="Run `rm -rf build`"),
        skill(step="Run `git push origin main`"),
        skill(step="Run `npm publish`"),
        skill(description="Build it; never do so while the migration runs"),
        skill(body="Beware: this is irreversible."),
        skill(capabilities=Capabilities(effects=("pays",))),
    ],
)
def test_what_a_run_must_not_miss_is_never_held_back(needed: SkillContent) -> None:
    assert unproven(needed, []) == 0


def test_a_pinned_skill_is_left_alone() -> None:
    assert unproven(skill(), [], pinned=True) == 0


def test_the_more_is_known_the_less_is_held_back() -> None:
    levels = [unproven(skill(), runs((n // 2, n), (n // 2, n))) for n in (5, 20, 60, 100, 300, 2000)]
    assert levels[0] == 1
    assert levels[-1] == LEAST
    assert all(before >= after for before, after in pairwise(levels))
    assert len(set(levels)) == 4


def test_how_much_is_held_back_does_not_follow_which_way_the_lift_goes() -> None:
    better, worse = runs((70, 100), (30, 100)), runs((30, 100), (70, 100))
    assert unproven(skill(), better) == unproven(skill(), worse)
