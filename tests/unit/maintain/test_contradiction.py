"""The kind of a contradiction, whichever side is named first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tacit.domain.lifecycle import Status
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Condition, Kind, SkillContent
from tacit.maintain.contradictions import ContradictionKind, ContradictionSide, contradiction_kind
from tests.unit.making import NOW

PROJECT = Scope(Level.PROJECT, "shop")


def side(
    text: str, *, days: float = 0, confirmed: float | None = None, times: int = 0, **fields: object
) -> ContradictionSide:
    needs = tuple(Condition(text=each) for each in fields.pop("needs", ()))  # type: ignore[attr-defined]
    content = SkillContent(kind=Kind.NORM, name="rule", description=text, preconditions=needs)
    made: dict[str, object] = {"scope": PROJECT, "status": Status.TRUSTED} | fields
    return ContradictionSide(
        content=content,
        made_at=NOW + timedelta(days=days),
        confirmed_at=None if confirmed is None else NOW + timedelta(days=confirmed),
        confirmations=times,
        **made,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (side("npm"), side("pnpm", days=90), ContradictionKind.OBSOLETE),
        (side("npm"), side("pnpm", days=89), ContradictionKind.TENSION),
        (side("npm", confirmed=100, times=4), side("pnpm", days=95), ContradictionKind.TENSION),
        (side("npm", confirmed=60, times=4), side("pnpm", days=95), ContradictionKind.OBSOLETE),
        (side("npm"), side("pnpm", days=400, scope=Scope(Level.GLOBAL)), ContradictionKind.SCOPE),
        (side("npm", needs=["in the app"]), side("pnpm", needs=["in the docs"]), ContradictionKind.SCOPE),
        (side("npm", needs=["in the app"]), side("pnpm", needs=["in the app"]), ContradictionKind.TENSION),
        (side("npm", times=5), side("pnpm", status=Status.CANDIDATE), ContradictionKind.NOISE),
        (side("npm", times=5), side("pnpm", times=5), ContradictionKind.TENSION),
    ],
)
def test_the_kind_depends_on_age_scope_and_confirmation(
    one: ContradictionSide, other: ContradictionSide, kind: ContradictionKind
) -> None:
    assert contradiction_kind(one, other) is kind
    assert contradiction_kind(other, one) is kind
