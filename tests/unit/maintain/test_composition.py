"""Composites: phases in order, shared conditions once, no cycles, and parts that change later."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

from tacit.api import Tacit
from tacit.domain.archive import Source, SourceKind
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import Status, coded
from tacit.domain.skill import Capabilities, Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.domain.trajectory import Origin
from tacit.maintain import composition
from tacit.maintain.composition import MOST_PARTS, composed, is_heading, part_changes
from tacit.store import open_store
from tests.raising import raises
from tests.unit.making import NOW


def part(name: str, *steps: str, **fields: object) -> SkillContent:
    made: dict[str, object] = {"kind": Kind.PROCEDURE, "name": name, "description": f"Do the {name}."} | fields
    made["steps"] = tuple(SkillStep(text=text, tool="Bash", arguments={"command": text}) for text in steps)
    return SkillContent(**made)  # type: ignore[arg-type]


def none_below(_: str) -> Collection[str]:
    return ()


BUILD = part(
    "build",
    "make build",
    preconditions=(Condition(text="Docker runs."), Condition(text="The branch is clean", check="git diff --quiet")),
    postconditions=(Condition(text="There is an image", check="docker image inspect app"),),
    tags=("docker",),
    capabilities=Capabilities(commands=("make",)),
)
RELEASE = part(
    "release",
    "make push",
    preconditions=(Condition(text="docker runs"), Condition(text="An image", check="docker image inspect app")),
    tags=("docker", "release"),
    capabilities=Capabilities(commands=("make", "docker")),
)


def test_the_steps_of_each_part_follow_a_heading_in_the_given_order() -> None:
    made = composed("ship", "Ship it.", [BUILD, RELEASE], parts_of=none_below)
    assert [step.text for step in made.steps] == [
        "Phase 1, `build`: Do the build.", "make build", "Phase 2, `release`: Do the release.", "make push",
    ]  # fmt: skip
    assert made.sub_skills == ("build", "release")
    assert made.steps[1].arguments == {"command": "make build"}


def test_what_several_parts_need_is_asked_once_and_what_an_earlier_part_brings_is_not_asked() -> None:
    made = composed("ship", "Ship it.", [BUILD, RELEASE], parts_of=none_below)
    assert [each.text for each in made.preconditions] == ["Docker runs.", "The branch is clean"]
    turned = composed("ship", "Ship it.", [RELEASE, BUILD], parts_of=none_below)
    assert [each.text for each in turned.preconditions] == ["docker runs", "An image", "The branch is clean"]


def test_tags_and_capabilities_are_united() -> None:
    made = composed("ship", "Ship it.", [BUILD, RELEASE], parts_of=none_below)
    assert made.tags == ("docker", "release")
    assert made.capabilities.commands == ("make", "docker")


def test_a_parameter_that_two_parts_share_is_one() -> None:
    env = Parameter(name="env", description="Where to.")
    made = composed(
        "ship", "", [part("a", "go {env}", parameters=(env,)), part("b", "see {env}", parameters=(env,))],
        parts_of=none_below,
    )  # fmt: skip
    assert made.parameters == (env,)
    assert made.steps[3].text == "see {env}"


def test_parameters_of_one_name_and_two_meanings_are_distinguished() -> None:
    one, two = Parameter(name="id", description="The order."), Parameter(name="id", description="The customer.")
    parts = [part("find-order", "look {id}", parameters=(one,)), part("find-customer", "ask {id}", parameters=(two,))]
    made = composed("both", "", parts, parts_of=none_below)
    assert [each.name for each in made.parameters] == ["id", "find_customer_id"]
    assert made.steps[3].arguments == {"command": "ask {find_customer_id}"}


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([BUILD], "wrong_part_count"),
        ([part(str(number), "x") for number in range(MOST_PARTS + 1)], "wrong_part_count"),
        ([BUILD, BUILD], "part_repeated"),
        ([BUILD, part("rule", kind=Kind.NORM)], "part_not_procedure"),
    ],
)
def test_what_cannot_be_a_composite_is_refused(parts: list[SkillContent], code: str) -> None:
    with raises(Mistake, code):
        composed("ship", "Ship it.", parts, parts_of=none_below)


def test_a_skill_that_would_be_a_part_of_itself_is_refused_with_the_way_there() -> None:
    below = {"build": ("compile",), "compile": ("ship",)}
    with raises(Mistake, "composition_cycle"):
        composed("ship", "", [BUILD, RELEASE], parts_of=lambda name: below.get(name, ()))


def test_parts_that_share_a_part_are_no_cycle() -> None:
    below = {"build": ("compile",), "release": ("compile",)}
    assert composed("ship", "", [BUILD, RELEASE], parts_of=lambda name: below.get(name, ())).sub_skills


def test_a_part_with_other_steps_than_it_had_makes_a_composite_outdated() -> None:
    now = {"build": part("build", "make all"), "release": RELEASE}
    changed = part_changes([], now, made_of={"build": BUILD, "release": RELEASE})
    fields = "steps, preconditions, postconditions, capabilities"
    assert changed == [coded("part_changed", part="build", fields=fields)]
    assert part_changes([], {"build": BUILD, "release": RELEASE}, made_of={"build": BUILD, "release": RELEASE}) == []
    assert part_changes(["build"], {}, made_of={"build": BUILD}) == [coded("part_unusable", part="build")]


def test_only_the_line_over_a_phase_is_a_heading() -> None:
    whole = composed("ship", "Ship it.", [BUILD, RELEASE], parts_of=lambda _: ())
    headings = [step for step in whole.steps if is_heading(step)]
    assert len(headings) == 2
    assert not any(map(is_heading, (*BUILD.steps, *RELEASE.steps)))


@pytest.fixture
def loop(tmp_path: pytest.TempPathFactory) -> Iterator[Tacit]:
    store = open_store(":memory:")
    with Tacit(store, clock=lambda: NOW) as made:
        yield made


def procedure(name: str, *commands: str) -> SkillContent:
    return SkillContent(
        kind=Kind.PROCEDURE,
        name=name,
        description=f"How to {name} the service.",
        steps=tuple(SkillStep(text=f"Run `{one}`", tool="Bash", arguments={"command": one}) for one in commands),
        preconditions=(Condition(text="The branch is clean", check="git diff --quiet"),),
    )


def approved(loop: Tacit, content: SkillContent, **options: object) -> str:
    verdict = loop.propose(content, by="ann", origin=Origin.USER, **options)  # type: ignore[arg-type]
    ticked = [each.key for each in loop.reviews.examine(verdict.version_id).external_values]
    loop.review(verdict.version_id, "approve", by="ann", ticked=ticked)
    return verdict.version_id


def shipped(loop: Tacit) -> str:
    approved(loop, procedure("build", "make build", "make check"))
    approved(loop, procedure("publish", "make push", "make announce"))
    verdict = loop.library.compose("ship", ["build", "publish"], by="ann", origin=Origin.USER)
    ticked = [each.key for each in loop.reviews.examine(verdict.version_id).external_values]
    loop.review(verdict.version_id, "approve", by="ann", ticked=ticked)
    return verdict.version_id


def test_a_composite_waits_for_a_person_and_keeps_what_it_is_made_of(loop: Tacit) -> None:
    first, second = (approved(loop, procedure(name, f"make {name}", "make check")) for name in ("build", "publish"))
    verdict = loop.library.compose("ship", ["build", "publish"], by="agent")
    held = loop.version(verdict.version_id)
    assert held.status is Status.CANDIDATE
    assert held.version.parents == (first, second)
    assert len(held.version.content.preconditions) == 1
    assert held.version.content.description == "How to build the service; then How to publish the service."


def test_a_composite_is_found_by_the_words_of_its_parts(loop: Tacit) -> None:
    shipped(loop)
    assert "ship" in [item.name for item in loop.recall("announce the service", k=5).items]


def test_a_given_composite_replaces_its_parts(loop: Tacit) -> None:
    shipped(loop)
    selection = loop.recall("build and publish the service", k=5)
    assert [item.name for item in selection.items] == ["ship"]
    left = {each.name: each.reason for each in selection.left_out}
    assert left == {"build": "part of `ship`", "publish": "part of `ship`"}
    assert {loop.version(name).version.id for name in ("ship", "build", "publish")} == set(selection.version_ids)


def test_parts_are_given_where_the_composite_has_no_room(loop: Tacit) -> None:
    shipped(loop)
    whole = loop.recall("build and publish the service", k=5)
    for room in range(whole.tokens, 60, -10):
        tight = loop.recall("build and publish the service", k=5, budget_tokens=room)
        if not all(step.text in tight.text for step in whole.items[0].steps):
            break
    assert "part of" not in " ".join(each.reason for each in tight.left_out)


def test_a_part_that_says_something_else_by_now_is_no_longer_shown_by_its_composite(loop: Tacit) -> None:
    shipped(loop)
    approved(loop, procedure("build", "make everything", "make check"), revises=loop.version("build"))
    selection = loop.recall("build and publish the service", k=5)
    assert {each.name: each.reason for each in selection.left_out}["build"] != "part of `ship`"


def test_parts_must_be_approved(loop: Tacit) -> None:
    approved(loop, procedure("build", "make build", "make check"))
    loop.propose(procedure("publish", "make push", "make announce"), by="agent")
    with raises(Mistake, "part_not_approved"):
        loop.library.compose("ship", ["build", "publish"], by="agent")


def test_a_composite_cannot_lead_back_to_itself(loop: Tacit) -> None:
    shipped(loop)
    approved(loop, procedure("test", "make test", "make report"))
    with raises(Mistake, "composition_cycle"):
        loop.library.compose("build", ["ship", "test"], by="agent")


def test_composing_again_under_the_name_is_the_next_version(loop: Tacit) -> None:
    before = loop.version(shipped(loop))
    approved(loop, procedure("test", "make test", "make report"))
    verdict = loop.library.compose("ship", ["build", "test", "publish"], by="ann", origin=Origin.USER)
    assert verdict.skill_id == before.skill.id
    assert loop.version("ship").version.id == before.version.id, "until it is approved"


def test_a_composite_whose_part_has_changed_is_reported(loop: Tacit) -> None:
    whole = shipped(loop)
    assert list(composition.cares(loop.context.store, at=NOW)) == []
    approved(loop, procedure("build", "make everything", "make check"), revises=loop.version("build"))
    (care,) = composition.cares(loop.context.store, at=NOW)
    assert (care.subject, care.move and care.move.after) == (whole, Status.STALE)
    assert [(each.code, each.values["part"]) for each in care.reasons] == [("part_changed", "build")]
    assert care.advice == (coded("recompose", name="ship", parts="build publish"),)


def test_a_composite_whose_part_was_retired_is_reported(loop: Tacit) -> None:
    shipped(loop)
    loop.review(loop.version("publish").version.id, "retire", by="ann", reason="there is no service any more")
    (care,) = composition.cares(loop.context.store, at=NOW)
    assert coded("part_unusable", part="publish") in care.reasons
    assert care.advice == (coded("restore_part", part="publish"), coded("retire_skill", name="ship"))


def test_what_was_purged_takes_its_composites_with_it(loop: Tacit) -> None:
    whole = shipped(loop)
    loop.archive.purge(
        loop.archive.descent(Source(kind=SourceKind.IMPORTED, value=loop.version("build").version.hash)), by="ann"
    )
    assert loop.context.store.tombstones(whole)


def test_the_parts_of_a_composite_are_credited_one_by_one(loop: Tacit) -> None:
    shipped(loop)
    selection = loop.recall("announce the service", k=5)
    (whole,) = [item for item in selection.items if item.name == "ship"]
    build, publish = whole.parts
    outcomes = {whole.version_id: "failure", build.id: "success"}
    kept = loop.record(selection.use_id, outcome="failure", followed=outcomes)
    assert {evidence.version_id: evidence.outcome for evidence in kept} == outcomes
    assert loop.context.store.evidence([publish.id])[publish.id] == []
