"""Recalled skills with cues, put together for a task that none of them was learned from."""

from __future__ import annotations

from tacit.domain.reason_code import ReasonCode
from tacit.domain.skill import Cue, Kind, Parameter, SkillContent, SkillStep
from tacit.recall.plan import PastAttempt, PlanOption, compose

TOOLS = {"stop_server", "copy_files", "start_server", "write_report"}


def part(
    name: str, word: str, *, tools: tuple[str, ...] = (), after: tuple[str, ...] = (), bias: float = 0.1
) -> PlanOption:
    cues = (Cue(term="", weight=bias), Cue(term=word, weight=1.6))
    steps = tuple(SkillStep(text=f"run {tool}", tool=tool) for tool in tools or (name,))
    content = SkillContent(kind=Kind.PROCEDURE, name=name, description=name, cues=cues, after=after, steps=steps)
    return PlanOption(f"v-{name}", content)


STOP = part("stop_server", "stop")
COPY = part("copy_files", "copy", after=("stop_server",))
START = part("start_server", "start", after=("copy_files",))
REPORT = part("write_report", "report")
ALL = [REPORT, START, COPY, STOP]


def names(text: str, parts: list[PlanOption] | None = None, tools: set[str] | None = None) -> list[str]:
    return [step.tool for step in compose(text, ALL if parts is None else parts, tools=tools).steps]


def test_only_what_the_task_calls_for_is_in_the_plan() -> None:
    assert names("copy everything") == ["copy_files"]


def test_what_comes_after_is_put_after_however_the_task_says_it() -> None:
    assert names("start again after you copy, but stop before") == ["stop_server", "copy_files", "start_server"]


def test_without_a_known_order_the_task_decides() -> None:
    assert names("report, then stop") == ["write_report", "stop_server"]
    assert names("stop, then report") == ["stop_server", "write_report"]


def test_a_circle_of_relations_still_gives_every_part_once() -> None:
    circle = [part("one", "stop", after=("two",)), part("two", "copy", after=("one",))]
    assert sorted(names("stop and copy", circle)) == ["one", "two"]


def test_a_weak_part_is_not_taken_beside_a_strong_one() -> None:
    weak = PlanOption("v-weak", part("weak", "copy").content)
    faint = SkillContent(
        kind=Kind.PROCEDURE,
        name="faint",
        description="",
        cues=(Cue(term="copy", weight=0.7),),
        steps=(SkillStep(text="run", tool="faint"),),
    )
    assert names("copy it all", [weak, PlanOption("v-faint", faint)]) == ["weak"]


def test_each_thing_named_repeats_the_part() -> None:
    plan = compose("Stop #A1001. Stop #A1002; stop #A1001 again. Report to 12345.", ALL)
    assert [(each.name, each.times) for each in plan.chosen] == [("stop_server", 2), ("write_report", 1)]
    assert [(step.tool, step.turn) for step in plan.steps] == [
        ("stop_server", 0),
        ("stop_server", 1),
        ("write_report", 0),
    ]


def test_steps_know_their_version_and_number() -> None:
    both = part("move", "shift", tools=("copy_files", "delete_files"))
    assert [(step.version_id, step.step, step.tool) for step in compose("shift it", [both]).steps] == [
        ("v-move", 0, "copy_files"),
        ("v-move", 1, "delete_files"),
    ]


def test_nothing_called_for_gives_no_plan_and_a_reason() -> None:
    plan = compose("what is the weather like", ALL)
    assert plan.steps == ()
    assert plan.code is ReasonCode.NOT_CALLED
    assert plan.strengths["v-copy_files"] == 0.0


def test_without_parts_there_is_a_reason_too() -> None:
    assert compose("copy", []).code is ReasonCode.NOT_CALLED


def test_a_missing_tool_of_what_is_called_for_holds_back() -> None:
    plan = compose("copy and report", ALL, tools=TOOLS - {"copy_files"})
    assert plan.steps == ()
    assert plan.lacking == ("copy_files",)
    assert "`copy_files`" in plan.reason


def test_a_missing_tool_of_what_is_not_called_for_does_not_matter() -> None:
    assert names("write a report", tools=TOOLS - {"copy_files"}) == ["write_report"]


def test_no_tools_at_all_holds_back() -> None:
    assert compose("copy", ALL, tools=set()).lacking == ("copy_files",)


def test_a_composite_stands_for_its_parts() -> None:
    whole = SkillContent(
        kind=Kind.PROCEDURE,
        name="restart",
        description="",
        cues=(Cue(term="stop", weight=1.6),),
        sub_skills=("stop_server", "start_server"),
        steps=(SkillStep(text="stop", tool="stop_server"), SkillStep(text="start", tool="start_server")),
    )
    assert names("stop and start", [STOP, START, PlanOption("v-restart", whole)]) == ["stop_server", "start_server"]


def test_the_order_of_the_parts_does_not_matter() -> None:
    text = "stop, copy, start and report"
    assert compose(text, ALL) == compose(text, ALL[::-1])


def test_a_task_without_words_calls_for_nothing() -> None:
    for text in ("", "   ", "12345 #A1001", "the of and", "漢字"):
        plan = compose(text, ALL)
        assert (plan.chosen, plan.steps, plan.lacking) == ((), (), ())
        assert plan.code


def test_what_is_looked_up_for_one_part_is_not_looked_up_again_for_another() -> None:
    def using(name: str, word: str) -> PlanOption:
        cues = (Cue(term=word, weight=1.6),)
        steps = (
            SkillStep(text="look", tool="find_user", arguments={"mail": "{mail}"}),
            SkillStep(text="do", tool=name, arguments={"user": "{user}"}),
        )
        parameter = Parameter(name="user", reading="find_user", key="user_id")
        content = SkillContent(
            kind=Kind.PROCEDURE, name=name, description="", cues=cues, steps=steps, parameters=(parameter,)
        )
        return PlanOption(f"v-{name}", content)

    both = [using("lock", "lock"), using("notify", "notify")]
    assert names("lock, then notify", both) == ["find_user", "lock", "notify"]


def test_an_optional_step_needs_no_tool() -> None:
    steps = (SkillStep(text="log", tool="write_log", optional=True), SkillStep(text="copy", tool="copy_files"))
    content = SkillContent(
        kind=Kind.PROCEDURE, name="copy", description="", cues=(Cue(term="copy", weight=1.6),), steps=steps
    )
    plan = compose("copy it", [PlanOption("v-copy", content)], tools={"copy_files"})
    assert [chosen.name for chosen in plan.chosen] == ["copy"]
    assert plan.lacking == ()


def test_a_skill_that_is_said_to_come_after_itself_is_planned_once() -> None:
    assert names("stop it", [part("stop_server", "stop", after=("stop_server",))]) == ["stop_server"]


def test_a_name_that_is_not_in_the_plan_orders_nothing() -> None:
    assert names("start", [part("start_server", "start", after=("never_recalled",))]) == ["start_server"]


def test_two_versions_with_one_name_are_both_told_apart_by_id() -> None:
    twice = [PlanOption("v-1", STOP.content), PlanOption("v-2", STOP.content)]
    assert [step.version_id for step in compose("stop", twice).steps] == ["v-1", "v-2"]


def test_a_tool_that_is_missing_for_the_strongest_only_still_holds_everything_back() -> None:
    plan = compose("stop and copy and report", ALL, tools={"copy_files", "write_report"})
    assert plan.chosen == ()
    assert plan.lacking == ("stop_server",)
    assert set(plan.strengths) == {each.version_id for each in ALL}


def attempt(task: str, *tools: str) -> PastAttempt:
    return PastAttempt(task, tuple((tool, {}) for tool in tools))


def planned(text: str, *attempts: PastAttempt, parts: list[PlanOption] | None = None) -> list[str]:
    return [step.tool for step in compose(text, ALL if parts is None else parts, attempts=attempts).steps]


def test_what_nearly_every_success_did_comes_with_what_is_called_for_and_not_alone() -> None:
    opened = part("open_case", "xyz", bias=0.97)
    assert planned("copy everything", parts=[COPY, opened]) == ["copy_files", "open_case"]
    assert planned("order coffee", parts=[COPY, opened]) == []


def test_a_like_attempt_that_did_the_same_parts_gives_their_order_and_repeats() -> None:
    done = attempt("copy and report it all", "write_report", "copy_files", "write_report")
    assert planned("copy and report it all", done) == ["write_report", "copy_files", "write_report"]
    assert planned("copy the songs of Ann for the choir, then report", done) == ["copy_files", "write_report"]


def test_where_no_word_calls_for_a_skill_a_like_attempt_is_the_plan() -> None:
    done = attempt("something about the berth again", "stop_server", "write_report")
    assert planned("it is about the berth again", done) == ["stop_server", "write_report"]
    assert planned("it is about the coffee", done) == []


def test_an_attempt_with_a_call_of_no_approved_skill_is_not_used() -> None:
    done = attempt("something about the berth again", "stop_server", "delete_everything")
    assert planned("it is about the berth again", done) == []


def test_listed_things_repeat_a_skill_if_like_attempts_did_so() -> None:
    each = attempt("write the report for Ann and Ben", "write_report", "write_report")
    once = attempt("write the report for Ann and Ben", "write_report")
    asked = "write the report for Cleo, Dora and Emil"
    assert len(planned(asked, each)) == 3
    assert len(planned("write the report for four people", each)) == 4
    assert len(planned(asked, once)) == 1
    assert len(planned(asked)) == 1


def test_other_ways_of_like_attempts_are_alternatives() -> None:
    plan = compose("copy the songs", ALL, attempts=[attempt("copy the songs and tell", "copy_files", "write_report")])
    assert [step.tool for step in plan.steps] == ["copy_files"]
    assert [[step.tool for step in steps] for steps in plan.alternatives] == [["copy_files", "write_report"]]
