"""Control runs through a memory: what is held out is reported, stored, measured, and costs no approval."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.config import channels
from tacit.config.location import StoreLocation
from tacit.config.settings import Config, Policy
from tacit.domain.errors import NotFound
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.holdout import is_held_back
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Capabilities, Kind, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.evidence import control_runs
from tacit.evidence.control_runs import LEAST, DrawnSelection, control_id, draw_controls, unproven
from tacit.store import open_store
from tests.unit.evidence.test_lift import runs
from tests.unit.making import NOW

TASK = "Build the wheel of the package"
BOTH = "Build the wheel of the package and sign it"
WHEEL = SkillContent(
    kind=Kind.PROCEDURE,
    name="build-the-wheel",
    description="Build the wheel of the package",
    steps=(SkillStep(text="Run `python -m build --wheel`"),),
)
NORM = SkillContent(kind=Kind.NORM, name="be-quiet", description="Say it with little output")


@pytest.fixture
def loop() -> Iterator[Tacit]:
    with Tacit(open_store(":memory:"), config=Config(policy=Policy(hold_out=0.5)), clock=lambda: NOW) as made:
        for content in (WHEEL, NORM):
            made.review(made.propose(content, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
        yield made


def sessions(loop: Tacit, *, out: bool) -> Iterator[str]:
    """Sessions whose lot keeps the skill from them, or gives it to them."""
    skill_id = loop.version("build-the-wheel").skill.id
    return (name for name in (f"session-{n}" for n in range(10_000)) if is_held_back(name, skill_id, 0.5) is out)


def test_a_run_without_the_skill_is_marked_and_kept_as_a_control(loop: Tacit) -> None:
    selection = loop.recall(TASK, session=next(sessions(loop, out=True)))
    assert selection.abstained
    assert selection.code is ReasonCode.HELD_BACK
    assert "python -m build" not in selection.text
    assert next((left.name, left.code) for left in selection.left_out) == (
        "build-the-wheel",
        ReasonCode.HELD_BACK,
    )
    use = loop.context.store.use(selection.use_id)
    assert (use.held_back, use.shares) == (True, (0.5,))
    assert use.version_ids == (loop.version("build-the-wheel").version.id,)


def test_a_run_that_the_lot_gave_the_skill_to_carries_the_chance_it_had(loop: Tacit) -> None:
    selection = loop.recall(TASK, session=next(sessions(loop, out=False)))
    assert [item.name for item in selection.items] == ["build-the-wheel"]
    use = loop.context.store.use(selection.use_id)
    assert (use.held_back, use.shares) == (False, (0.5,))


def test_norms_are_shown_in_every_run(loop: Tacit) -> None:
    for session in (next(sessions(loop, out=True)), next(sessions(loop, out=False))):
        assert "with little output" in loop.recall(TASK, session=session).text


def test_whoever_asks_about_an_error_gets_everything(loop: Tacit) -> None:
    session = next(sessions(loop, out=True))
    selection = loop.recall(TASK, session=session, state={"error": "error: no module named build"})
    assert [item.name for item in selection.items] == ["build-the-wheel"]
    assert loop.context.store.use(selection.use_id).shares == ()


def test_looking_without_keeping_never_holds_anything_back(loop: Tacit) -> None:
    for _ in range(20):
        assert not loop.recall(TASK, keep=False).abstained
    assert loop.archive.stats().uses == 0


def test_without_a_session_about_the_stated_share_goes_without(loop: Tacit) -> None:
    without = sum(loop.recall(TASK, surface=f"cli {n}").abstained for n in range(200))
    assert 65 < without < 135


def test_nothing_is_held_out_by_default() -> None:
    with Tacit(open_store(":memory:"), clock=lambda: NOW) as loop:
        loop.review(loop.propose(WHEEL, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
        for session in map(str, range(50)):
            selection = loop.recall(TASK, session=session)
            assert not selection.abstained
        assert loop.context.store.use(selection.use_id).shares == ()


@pytest.mark.parametrize("out", [True, False])
def test_an_outcome_can_be_recorded_for_either_arm(loop: Tacit, out: bool) -> None:
    selection = loop.recall(TASK, session=next(sessions(loop, out=out)))
    (row,) = loop.record(selection.use_id, outcome="success", grade=Grade.HUMAN)
    assert (row.control, row.share, row.outcome) == (out, 0.5, Outcome.SUCCESS)
    assert not loop.archive.reliability(row.version_id).known


def test_what_was_shown_brings_its_control_along(loop: Tacit) -> None:
    other = dataclasses.replace(WHEEL, name="sign-the-wheel", description="Sign the wheel of the package")
    loop.review(loop.propose(other, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
    ids = {name: loop.version(name).skill.id for name in ("build-the-wheel", "sign-the-wheel")}
    mixed = next(
        n
        for n in map(str, range(9999))
        if is_held_back(n, ids["build-the-wheel"], 0.5) > is_held_back(n, ids["sign-the-wheel"], 0.5)
    )
    selection = loop.recall(TASK, session=mixed)
    assert [item.name for item in selection.items] == ["sign-the-wheel"]
    rows = loop.record(selection.use_id, outcome="failure", grade=Grade.HUMAN)
    assert {(row.version_id, row.control) for row in rows} == {
        (loop.version("sign-the-wheel").version.id, False),
        (loop.version("build-the-wheel").version.id, True),
    }
    assert {row.use_id for row in rows} == {selection.use_id, control_id(selection.use_id)}


def test_what_helped_says_nothing_of_how_the_task_ends_without_the_skill(loop: Tacit) -> None:
    selection = loop.recall(TASK, session=next(sessions(loop, out=True)))
    assert not [row for row in loop.feedback(selection.use_id, helpful=True, by="ann") if row.control]
    assert [row for row in loop.record(selection.use_id, outcome="success", by="ann") if row.control]


def test_a_control_says_nothing_of_how_reliable_a_skill_is(loop: Tacit) -> None:
    version = loop.version("build-the-wheel").version.id
    for session, _ in zip(sessions(loop, out=True), range(12), strict=False):
        loop.record(loop.recall(f"{TASK} {session}", session=session).use_id, outcome="failure", grade=Grade.HUMAN)
    assert loop.archive.reliability(version).trials == 0
    assert loop.context.store.version(version).status in RECALLABLE


def test_both_arms_together_give_the_lift(loop: Tacit) -> None:
    for out, outcome in ((True, "failure"), (False, "success")):
        for session, _ in zip(sessions(loop, out=out), range(12), strict=False):
            loop.record(loop.recall(TASK, session=session).use_id, outcome=outcome, grade=Grade.HUMAN)
    found = control_runs.measure(loop.context.store, loop.version("build-the-wheel"))
    assert (found.lift.shown, found.lift.held_back) == (12, 12)
    assert found.lift.success is not None
    assert found.lift.success.low > 0.5
    assert found.of_all == found.lift


def test_two_runs_of_one_session_are_one_draw(loop: Tacit) -> None:
    session = next(sessions(loop, out=True))
    for task in (TASK, f"{TASK} again"):
        loop.record(loop.recall(task, session=session).use_id, outcome="failure", grade=Grade.HUMAN)
    assert control_runs.measure(loop.context.store, loop.version("build-the-wheel")).lift.held_back == 1


def test_a_pinned_skill_is_given_to_every_session_until_the_pin_is_taken_out(loop: Tacit) -> None:
    session = next(sessions(loop, out=True))
    loop.reviews.pin("build-the-wheel", by="ann")
    selection = loop.recall(TASK, session=session)
    assert not selection.abstained
    assert loop.context.store.use(selection.use_id).shares == ()
    loop.reviews.pin("build-the-wheel", by="ann", off=True)
    assert loop.recall(TASK, session=session).abstained


def test_renderings_of_an_older_tacit_are_made_again_with_the_index(loop: Tacit) -> None:
    version_id = loop.version("build-the-wheel").version.id
    rendering = loop.context.store.renderings.get([version_id]).get(version_id)
    assert rendering is not None
    assert rendering.unproven == 1
    loop.context.store.renderings.put(dataclasses.replace(rendering, unproven=0.0))
    session = next(sessions(loop, out=True))
    assert not loop.recall(TASK, session=session).abstained
    loop.library.index(rebuild=True)
    assert loop.recall(TASK, session=session).abstained


def test_switching_hold_outs_on_takes_back_no_approval(loop: Tacit) -> None:
    plain = Tacit(loop.context.store, clock=lambda: NOW)
    assert plain.reviews.recheck() == []
    assert loop.reviews.recheck() == []


SIGNED = SkillContent(
    kind=Kind.PROCEDURE,
    name="sign-the-wheel",
    description="Sign the wheel of the package",
    steps=(SkillStep(text="Run `make signature`"),),
)


def composed(loop: Tacit) -> dict[str, str]:
    """A composite of two skills, approved; the version ids of all three."""
    loop.review(loop.propose(SIGNED, by="ann", origin=Origin.USER).version_id, "approve", by="ann")
    parts = ["build-the-wheel", "sign-the-wheel"]
    made = loop.library.compose("ship-the-wheel", parts, by="ann", description=BOTH, origin=Origin.USER)
    loop.review(made.version_id, "approve", by="ann")
    names = ("ship-the-wheel", "build-the-wheel", "sign-the-wheel")
    return {name: loop.version(name).version.id for name in names}


def lots_of_ships(loop: Tacit, *, out: bool) -> Iterator[str]:
    skill_id = loop.version("ship-the-wheel").skill.id
    return (name for name in map(str, range(10_000)) if is_held_back(name, skill_id, 0.5) is out)


def test_a_composite_that_is_held_back_takes_its_parts_with_it(loop: Tacit) -> None:
    ids = composed(loop)
    for session, _ in zip(lots_of_ships(loop, out=True), range(10), strict=False):
        selection = loop.recall(BOTH, session=session)
        assert selection.abstained
        assert "python -m build" not in selection.text
        assert {each.name: each.code for each in selection.left_out} == dict.fromkeys(ids, ReasonCode.HELD_BACK)
        use = loop.context.store.use(selection.use_id)
        assert (set(use.version_ids), use.shares) == (set(ids.values()), (0.5, 0.5, 0.5))


def test_parts_next_to_a_composite_that_is_shown_draw_no_lot_of_their_own(loop: Tacit) -> None:
    ids = composed(loop)
    for session, _ in zip(lots_of_ships(loop, out=False), range(10), strict=False):
        selection = loop.recall(BOTH, session=session)
        assert [item.name for item in selection.items] == ["ship-the-wheel"]
        use = loop.context.store.use(selection.use_id)
        assert (set(use.version_ids), use.shares) == (set(ids.values()), (0.5, 0.5, 0.5))


def test_what_a_composite_adds_is_measured_against_runs_without_its_steps(loop: Tacit) -> None:
    composed(loop)
    for out, outcome in ((True, "failure"), (False, "success")):
        for session, _ in zip(lots_of_ships(loop, out=out), range(12), strict=False):
            loop.record(loop.recall(BOTH, session=session).use_id, outcome=outcome, grade=Grade.HUMAN)
    for name in ("ship-the-wheel", "sign-the-wheel"):
        found = control_runs.measure(loop.context.store, loop.version(name)).lift
        assert (found.shown, found.held_back) == (12, 12)
        assert found.success is not None
        assert found.success.low > 0.5


def test_a_composite_with_a_part_that_is_never_held_back_is_given_to_every_session(loop: Tacit) -> None:
    composed(loop)
    loop.reviews.pin("sign-the-wheel", by="ann")
    for session, _ in zip(lots_of_ships(loop, out=True), range(5), strict=False):
        selection = loop.recall(BOTH, session=session)
        assert [item.name for item in selection.items] == ["ship-the-wheel"]
        assert loop.context.store.use(selection.use_id).shares == ()


def test_what_lies_in_a_clients_folder_is_not_drawn_for(loop: Tacit, tmp_path: Path) -> None:
    channels.choose(str(tmp_path), "claude-code", channels.SKILL)
    place = StoreLocation(database=str(tmp_path / "tacit.db"), project=tmp_path, chosen_by="test")
    query = Query(text=TASK, scope=loop.context.scope)
    ranked = loop.rank(query)
    drawn = draw_controls(loop.context.store, ranked, hold_out=0.5, place=place, random_number=lambda: 0.0)
    assert (drawn.held_back, drawn.shares) == ((), {})


def test_a_selection_of_nothing_keeps_no_use(loop: Tacit) -> None:
    empty = Selection(query=Query(text="bake a cake"), reason="nothing is known")
    assert draw_controls(loop.context.store, empty, hold_out=0.5) == DrawnSelection(selection=empty)
    assert loop.recall("bake a cake with cherries").use_id == ""
    with pytest.raises(NotFound):
        loop.context.store.use(control_id(""))


def skill(kind: Kind = Kind.PROCEDURE, step: str = "Run `make build`", **more: object) -> SkillContent:
    reported: dict[str, object] = {"description": "Build the package"} | more
    return SkillContent(kind=kind, name="build", steps=(SkillStep(text=step),), **reported)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Kind.PROCEDURE, Kind.LESSON, Kind.REFERENCE])
def test_a_control_adds_most_for_an_unmeasured_skill(kind: Kind) -> None:
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
