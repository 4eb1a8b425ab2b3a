"""Contradictions: which kind they are, reported when written, settled once, nothing deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tacit.api import Tacit
from tacit.domain.care import CareKind
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.maintain import contradictions
from tacit.maintain.contradictions import ContradictionKind, ContradictionSide, contradiction_kind
from tacit.store import open_store
from tests.unit.making import NOW


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def loop(clock: Clock) -> Iterator[Tacit]:
    store = open_store(":memory:")
    with Tacit(store, clock=clock) as made:
        yield made


def approved(loop: Tacit, content: SkillContent) -> str:
    verdict = loop.propose(content, by="ann", origin=Origin.USER)
    loop.review(
        verdict.version_id,
        "approve",
        by="ann",
        ticked=[x.key for x in loop.reviews.examine(verdict.version_id).external_values],
    )
    return verdict.version_id


def norm(name: str, text: str) -> SkillContent:
    return SkillContent(kind=Kind.NORM, name=name, description=text)


def test_what_contradicts_something_approved_says_so_when_it_is_written(loop: Tacit) -> None:
    approved(loop, norm("package-manager", "Use pnpm, not npm, to install packages."))
    verdict = loop.propose(norm("installing", "Use npm instead of pnpm to install packages."), by="agent")
    (finding,) = [each for each in verdict.findings if each.rule == "contradicts"]
    assert "`package-manager`" in finding.message
    assert loop.version(verdict.version_id).status is Status.CANDIDATE


def test_a_procedure_that_a_norm_speaks_against_says_so_when_it_is_written(loop: Tacit) -> None:
    approved(loop, norm("package-manager", "Use pnpm, not npm, to install packages."))
    steps = (SkillStep(text="Run npm ci"), SkillStep(text="Run the tests"))
    made = SkillContent(kind=Kind.PROCEDURE, name="set-up", description="Set up the workspace.", steps=steps)
    assert "contradicts" in loop.propose(made, by="agent").reasons


def test_a_tension_is_noted_once_and_reported_as_long_as_both_are_in_use(loop: Tacit, clock: Clock) -> None:
    one = approved(loop, norm("package-manager", "Use pnpm, not npm, to install packages."))
    other = approved(loop, norm("installing", "Use npm instead of pnpm to install packages."))
    (care,) = contradictions.cares(loop.context.store, at=clock())
    assert (care.kind, care.move) == (CareKind.CONTRADICTION, None)
    assert care.reasons[0].values["kind"] == "genuine tension"
    assert care.remark is not None
    assert {care.remark.subject, care.remark.other} == {one, other}
    loop.context.store.add(care.remark)
    (open_still,) = contradictions.cares(loop.context.store, at=clock() + timedelta(days=1))
    assert (open_still.remark, open_still.move) == (None, None)
    assert open_still.codes == ("contradiction_open", "contradicts")
    assert open_still.reasons[1].values["other"] == "installing"
    for gone in (one, other):
        assert gone[:14] in [each.values["id"] for each in open_still.advice]
    assert {loop.version(each).status for each in (one, other)} == {Status.TRIAL}
    loop.review(other, "retire", by="ann")
    assert list(contradictions.cares(loop.context.store, at=clock())) == []


def test_of_two_that_waited_the_other_contradicts_what_was_approved_since(loop: Tacit) -> None:
    one, other = (
        loop.propose(norm(name, text), by="agent").version_id
        for name, text in (
            ("ports", "The dev server listens on port 8080."),
            ("port", "The dev server listens on port 9090."),
        )
    )
    assert contradictions.contradicted(loop.context.store, loop.version(other)) == []
    loop.review(one, "approve", by="ann")
    (finding,) = contradictions.contradicted(loop.context.store, loop.version(other))
    assert "`ports`" in finding.message
    assert contradictions.contradicted(loop.context.store, loop.version(one)) == []


def test_the_older_of_two_that_lie_far_apart_is_set_aside_and_can_be_brought_back(loop: Tacit, clock: Clock) -> None:
    one = approved(loop, norm("package-manager", "Use npm, not pnpm, to install packages."))
    clock.now += timedelta(days=120)
    other = approved(loop, norm("installing", "Use pnpm instead of npm to install packages."))
    (care,) = contradictions.cares(loop.context.store, at=clock())
    assert care.move is not None
    assert (care.move.version_id, care.move.after) == (one, Status.STALE)
    loop.context.store.add_transition(care.move)
    assert list(contradictions.cares(loop.context.store, at=clock())) == [], "what is not in use contradicts nobody"
    loop.review(one, "restore", by="ann")
    assert loop.version(one).status is Status.TRIAL
    assert loop.version(other).status is Status.TRIAL


PROJECT = Scope(Level.PROJECT, "shop")


def side(text: str, *, days: float = 0, confirmed: float | None = None, **fields: object) -> ContradictionSide:
    needs = tuple(Condition(text=each) for each in fields.pop("needs", ()))  # type: ignore[attr-defined]
    content = SkillContent(kind=Kind.NORM, name="rule", description=text, preconditions=needs)
    made: dict[str, object] = {"scope": PROJECT} | fields
    return ContradictionSide(
        content=content,
        made_at=NOW + timedelta(days=days),
        confirmed_at=None if confirmed is None else NOW + timedelta(days=confirmed),
        **made,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (side("npm"), side("pnpm", days=90), ContradictionKind.OBSOLETE),
        (side("npm"), side("pnpm", days=89), ContradictionKind.TENSION),
        (side("npm", confirmed=100), side("pnpm", days=95), ContradictionKind.TENSION),
        (side("npm", confirmed=60), side("pnpm", days=95), ContradictionKind.OBSOLETE),
        (side("npm"), side("pnpm", days=400, scope=Scope(Level.GLOBAL)), ContradictionKind.SCOPE),
        (side("npm", needs=["in the app"]), side("pnpm", needs=["in the docs"]), ContradictionKind.SCOPE),
        (side("npm", needs=["in the app"]), side("pnpm", needs=["in the app"]), ContradictionKind.TENSION),
        (side("npm"), side("pnpm"), ContradictionKind.TENSION),
    ],
)
def test_the_kind_depends_on_age_scope_and_confirmation(
    one: ContradictionSide, other: ContradictionSide, kind: ContradictionKind
) -> None:
    assert contradiction_kind(one, other) is kind
    assert contradiction_kind(other, one) is kind
