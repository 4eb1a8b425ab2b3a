"""Procedures put together: phases in order, what is needed asked once, no skill a part of itself."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tacit.domain.coded_reason import coded
from tacit.domain.errors import Mistake
from tacit.domain.skill import Capabilities, Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.maintain.composition import MOST_PARTS, composed, is_heading, part_changes
from tests.raising import raises


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


def test_the_steps_of_each_part_stand_under_a_phase_in_the_order_given() -> None:
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
    changed = part_changes({}, now, made_of={"build": BUILD, "release": RELEASE})
    fields = "steps, preconditions, postconditions, capabilities"
    assert changed == [coded("part_changed", part="build", fields=fields)]
    assert part_changes({}, {"build": BUILD, "release": RELEASE}, made_of={"build": BUILD, "release": RELEASE}) == []
    assert part_changes({"build": ""}, {}, made_of={"build": BUILD}) == [coded("part_unusable", part="build")]
    assert part_changes({"build": "make"}, {}, made_of={"build": BUILD}) == [
        coded("part_merged", part="build", into="make")
    ]


def test_only_the_line_over_a_phase_is_a_heading() -> None:
    whole = composed("ship", "Ship it.", [BUILD, RELEASE], parts_of=lambda _: ())
    headings = [step for step in whole.steps if is_heading(step)]
    assert len(headings) == 2
    assert not any(map(is_heading, (*BUILD.steps, *RELEASE.steps)))
