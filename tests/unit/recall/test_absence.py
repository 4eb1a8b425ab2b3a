"""What is gone though it belongs here, as against what belongs to other places."""

from __future__ import annotations

import pytest

from tacit.domain.skill import Cue, Kind, SkillContent, SkillStep
from tacit.recall.absence import Setting, everywhere, missed_by_name, setting
from tacit.recall.plan import Part, compose

GARDEN = ("dig_bed", "water_bed", "prune_rose", "sow_seed")
OFFICE = ("file_letter", "print_letter", "book_room", "lock_safe")


def part(tool: str, word: str, *, weight: float = 1.6, beside: tuple[str, ...] = ()) -> Part:
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name=tool.replace("_", "-"),
        description=tool,
        cues=(Cue(term=word, weight=weight),),
        steps=(SkillStep(text=f"run {tool}", tool=tool),),
        surroundings=tuple(each for each in beside if each != tool),
    )
    return Part(f"v-{tool}", content)


WATER = part("water_bed", "water", beside=GARDEN)
DIG = part("dig_bed", "dig", weight=0.5, beside=GARDEN)
PRINT = part("print_letter", "print", weight=0.6, beside=OFFICE)
ALL = [WATER, DIG, PRINT]


@pytest.mark.parametrize(
    ("surroundings", "tools", "told"),
    [
        ((), GARDEN, Setting.UNKNOWN),
        (GARDEN, GARDEN, Setting.HOME),
        (GARDEN, GARDEN[:2], Setting.HOME),
        (GARDEN, GARDEN[:1], Setting.ELSEWHERE),
        (GARDEN, OFFICE, Setting.ELSEWHERE),
        (GARDEN, (), Setting.ELSEWHERE),
    ],
)
def test_most_of_its_surroundings_tell_where_a_skill_is_at_home(
    surroundings: tuple[str, ...], tools: tuple[str, ...], told: Setting
) -> None:
    assert setting(surroundings, tools) is told


def test_tools_that_are_everywhere_tell_no_place_from_another() -> None:
    shell = ("read", "write", "run", "search", "list")
    common = everywhere([(*shell, *GARDEN), (*shell, *OFFICE), ()])
    assert common == frozenset(shell)
    assert setting((*shell, *GARDEN), (*shell, *OFFICE)) is Setting.HOME
    assert setting((*shell, *GARDEN), (*shell, *OFFICE), common=common) is Setting.ELSEWHERE
    assert setting(shell, shell, common=common) is Setting.HOME


def test_one_skill_alone_shows_nothing_that_is_everywhere() -> None:
    assert everywhere([GARDEN, ()]) == frozenset()
    assert everywhere([]) == frozenset()


def test_a_weakly_called_skill_holds_back_where_its_tool_would_be_expected() -> None:
    plan = compose("dig a little, then water", ALL, tools=[*GARDEN[1:], *OFFICE])
    assert (plan.chosen, plan.lacking) == ((), ("dig_bed",))
    assert "`dig-bed`" in plan.reason
    assert "beside" in plan.reason


def test_the_same_words_do_not_hold_back_where_the_skill_belongs_elsewhere() -> None:
    plan = compose("print a little, then water", ALL, tools=GARDEN)
    assert ([chosen.name for chosen in plan.chosen], plan.lacking) == (["water-bed"], ())


def test_a_skill_from_elsewhere_that_is_clearly_meant_holds_back_still() -> None:
    clear = part("print_letter", "print", beside=OFFICE)
    plan = compose("print it", [WATER, clear], tools=GARDEN)
    assert plan.lacking == ("print_letter",)
    assert "beside" not in plan.reason


def test_faint_words_for_something_from_elsewhere_call_for_nothing() -> None:
    plan = compose("print the big long sheet for me", ALL, tools=GARDEN)
    assert (plan.chosen, plan.lacking) == ((), ())
    assert "no skill is called for" in plan.reason


def test_a_tool_that_was_never_used_is_missed_by_its_name() -> None:
    tools = [tool for tool in GARDEN if tool != "prune_rose"]
    plan = compose("water all, and prune every rose", ALL, tools=tools)
    assert (plan.chosen, plan.lacking) == ((), ("prune_rose",))
    assert "`prune_rose`" in plan.reason
    assert compose("water all, and prune every rose", ALL, tools=GARDEN).lacking == ()
    assert compose("water all, and prune every hedge", ALL, tools=tools).lacking == ()


def test_a_name_from_elsewhere_is_not_missed() -> None:
    assert missed_by_name("book a room", [each.content for each in ALL], GARDEN) == ""
    assert missed_by_name("book a room", [each.content for each in ALL], ["print_letter"]) == "book_room"


def test_a_tool_that_a_skill_uses_is_judged_by_its_cues_and_not_by_its_name() -> None:
    assert missed_by_name("dig the bed", [each.content for each in ALL], GARDEN[1:]) == ""


def test_a_name_without_words_is_never_called() -> None:
    odd = part("x1", "water", beside=("x1", "42", "__", "x2"))
    assert missed_by_name("42 __ x2", [odd.content], ["x1"]) == ""


def test_without_knowing_the_tools_nothing_is_absent() -> None:
    assert [chosen.name for chosen in compose("dig and water", ALL).chosen] == ["water-bed"]
    assert compose("prune every rose, water all", ALL).lacking == ()
