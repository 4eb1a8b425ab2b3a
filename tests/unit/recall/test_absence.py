"""What is gone though it belongs here, as against what belongs to other places."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.reason_code import ReasonCode
from tacit.domain.skill import Case, Condition, Cue, Kind, SkillContent, SkillStep
from tacit.recall.plan import (
    PlanOption,
    ToolEnvironment,
    compose,
    expected_tool_named,
    tool_environment,
)

GARDEN = ("dig_bed", "water_bed", "prune_rose", "sow_seed")
OFFICE = ("file_letter", "print_letter", "book_room", "lock_safe")


def part(tool: str, word: str, *, weight: float = 1.6, beside: tuple[str, ...] = ()) -> PlanOption:
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name=tool.replace("_", "-"),
        description=tool,
        cues=(Cue(term=word, weight=weight),),
        steps=(SkillStep(text=f"run {tool}", tool=tool),),
        surroundings=tuple(each for each in beside if each != tool),
    )
    return PlanOption(f"v-{tool}", content)


WATER = part("water_bed", "water", beside=GARDEN)
DIG = part("dig_bed", "dig", weight=0.5, beside=GARDEN)
PRINT = part("print_letter", "print", weight=0.6, beside=OFFICE)
ALL = [WATER, DIG, PRINT]


@pytest.mark.parametrize(
    ("surroundings", "tools", "told"),
    [
        ((), GARDEN, ToolEnvironment.UNKNOWN),
        (GARDEN, GARDEN, ToolEnvironment.HERE),
        (GARDEN, GARDEN[:2], ToolEnvironment.HERE),
        (GARDEN, GARDEN[:1], ToolEnvironment.ELSEWHERE),
        (GARDEN, OFFICE, ToolEnvironment.ELSEWHERE),
        (GARDEN, (), ToolEnvironment.ELSEWHERE),
    ],
)
def test_most_of_its_surroundings_tell_where_a_skill_is_at_home(
    surroundings: tuple[str, ...], tools: tuple[str, ...], told: ToolEnvironment
) -> None:
    assert tool_environment(surroundings, tools) is told


def test_a_weakly_called_skill_holds_back_where_its_tool_would_be_expected() -> None:
    plan = compose("dig a little, then water", ALL, tools=[*GARDEN[1:], *OFFICE])
    assert (plan.chosen, plan.lacking) == ((), ("dig_bed",))
    assert plan.code is ReasonCode.MISSING_TOOLS
    assert "`dig-bed`" in plan.reason


def test_the_same_words_do_not_hold_back_where_the_skill_belongs_elsewhere() -> None:
    plan = compose("print a little, then water", ALL, tools=GARDEN)
    assert ([chosen.name for chosen in plan.chosen], plan.lacking) == (["water-bed"], ())


def test_a_skill_from_elsewhere_that_is_clearly_meant_holds_back_still() -> None:
    clear = part("print_letter", "print", beside=OFFICE)
    plan = compose("print it", [WATER, clear], tools=GARDEN)
    assert plan.lacking == ("print_letter",)
    assert plan.code is ReasonCode.MISSING_TOOLS


def test_faint_words_for_something_from_elsewhere_call_for_nothing() -> None:
    plan = compose("print the big long sheet for me", ALL, tools=GARDEN)
    assert (plan.chosen, plan.lacking) == ((), ())
    assert plan.code is ReasonCode.NOT_CALLED


def test_a_tool_that_was_never_used_is_missed_by_its_name() -> None:
    tools = [tool for tool in GARDEN if tool != "prune_rose"]
    plan = compose("water all, and prune every rose", ALL, tools=tools)
    assert (plan.chosen, plan.lacking) == ((), ("prune_rose",))
    assert "`prune_rose`" in plan.reason
    assert compose("water all, and prune every rose", ALL, tools=GARDEN).lacking == ()
    assert compose("water all, and trim every hedge", ALL, tools=tools).lacking == ()


def test_a_plan_repeats_a_skill_for_each_number_and_is_empty_without_a_tool() -> None:
    printing = part("print_list", "print", beside=GARDEN)
    text = "water bed #1001; water bed #1002; print the list"
    plan = compose(text, [printing, WATER, DIG], tools=[*GARDEN, "print_list"])
    assert [(chosen.name, chosen.times) for chosen in plan.chosen] == [("water-bed", 2), ("print-list", 1)]
    missing = compose(text, [printing, WATER, DIG], tools=GARDEN)
    assert (missing.chosen, missing.lacking) == ((), ("print_list",))


def test_a_name_from_elsewhere_is_not_missed() -> None:
    assert expected_tool_named("book a room", [each.content for each in ALL], GARDEN) == ""
    assert expected_tool_named("book a room", [each.content for each in ALL], ["print_letter"]) == "book_room"


def test_a_tool_that_a_skill_uses_is_judged_by_its_cues_and_not_by_its_name() -> None:
    assert expected_tool_named("dig the bed", [each.content for each in ALL], GARDEN[1:]) == ""


def test_a_name_without_words_is_never_called() -> None:
    odd = part("x1", "water", beside=("x1", "42", "__", "x2"))
    assert expected_tool_named("42 __ x2", [odd.content], ["x1"]) == ""


def test_without_knowing_the_tools_nothing_is_absent() -> None:
    assert [chosen.name for chosen in compose("dig and water", ALL).chosen] == ["water-bed"]
    assert compose("prune every rose, water all", ALL).lacking == ()


SHED = ("dig_bed", "water_bed", "rm", "rose_bed")


@pytest.mark.parametrize(
    ("text", "gone", "named"),
    [
        ("water all, then delete the last one", "rm", "rm"),
        ("water all, then keep the last one", "rm", ""),
        ("water the bed", "rose_bed", ""),  # half of a name
        ("water the rose bed", "rose_bed", "rose_bed"),
    ],
)
def test_a_name_is_told_by_most_of_its_words_and_by_what_it_is_short_for(text: str, gone: str, named: str) -> None:
    skills = [part(tool, "word", beside=SHED).content for tool in SHED[:2]]
    assert expected_tool_named(text, skills, [tool for tool in SHED if tool != gone]) == named


def test_what_words_mean_elsewhere_does_not_hold_back_what_they_mean_here() -> None:
    clear = part("print_letter", "water", weight=1.7, beside=OFFICE)
    plan = compose("water", [WATER, clear], tools=GARDEN)
    assert ([chosen.name for chosen in plan.chosen], plan.lacking) == (["water-bed"], ())


DESK = ("file_letter", "print_letter", "scan_letter")
LEARNED = [part("file_letter", "file", beside=DESK), part("print_letter", "print", beside=DESK)]


@pytest.mark.parametrize(
    ("text", "beside", "lacking"),
    [
        ("print all about the room", ("file_letter", "room"), "room"),  # a plain word as the name of a tool
    ],
)
def test_surroundings_that_somebody_only_wrote_silence_nobody(text: str, beside: tuple[str, ...], lacking: str) -> None:
    claims = part("file_letter", "zzz", weight=0.3, beside=beside)
    claims = PlanOption("v-claims", dataclasses.replace(claims.content, surroundings=beside))
    written = dataclasses.replace(claims, surroundings_observed=False)
    assert compose(text, [*LEARNED, claims], tools=DESK).lacking == (lacking,)
    plan = compose(text, [*LEARNED, written], tools=DESK)
    assert (plan.lacking, plan.chosen) == ((), compose(text, LEARNED, tools=DESK).chosen)


def test_what_is_only_said_to_belong_here_holds_back_no_more_than_what_says_nothing() -> None:
    claims = part("shred_letter", "print", weight=0.3, beside=DESK)
    silent = PlanOption(claims.version_id, dataclasses.replace(claims.content, surroundings=()))
    assert compose("print it", [*LEARNED, claims], tools=DESK).lacking == ("shred_letter",)
    plan = compose("print it", [*LEARNED, dataclasses.replace(claims, surroundings_observed=False)], tools=DESK)
    assert [chosen.name for chosen in plan.chosen] == ["print-letter"]
    assert plan == compose("print it", [*LEARNED, silent], tools=DESK)


def test_what_is_said_to_belong_elsewhere_may_hold_back_less() -> None:
    letters = dataclasses.replace(part("print_letter", "water", weight=1.6, beside=OFFICE), surroundings_observed=False)
    assert compose("water", [WATER, letters], tools=GARDEN).lacking == ()
    letters = dataclasses.replace(letters, content=dataclasses.replace(letters.content, surroundings=()))
    assert compose("water", [WATER, letters], tools=GARDEN).lacking == ("print_letter",)


def test_weak_words_for_one_skill_from_elsewhere_call_for_nothing() -> None:
    elsewhere = part("water_bed", "water", weight=0.3, beside=("rake", "hoe"))
    plan = compose("water the lawn please", [elsewhere], tools=["dig", "sow"])
    assert (plan.code, plan.chosen, plan.lacking) == (ReasonCode.NOT_CALLED, (), ())


def test_what_only_answers_of_missing_tools_decide_says_so() -> None:
    case = Case(conditions=(Condition(text="the soil is dry", reading="read_soil"),))
    decided = dataclasses.replace(WATER, content=dataclasses.replace(WATER.content, cases=(case,)))
    plan = compose("water the lawn please", [decided], tools=["dig", "sow"])
    assert (plan.code, plan.chosen) == (ReasonCode.READINGS_MISSING, ())
