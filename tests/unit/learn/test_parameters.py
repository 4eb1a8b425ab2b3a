from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.skill import Parameter
from tacit.domain.trajectory import Trajectory
from tacit.learn.parameters import Generalisation, fill, generalise
from tacit.learn.values import Timeline
from tacit.text.tool_calls import tool_calls
from tests.unit.learn.attempts import WORKSPACE, attempt, bash, call, edit, say


def general(trajectory: Trajectory) -> Generalisation:
    return generalise(tool_calls(trajectory), Timeline(trajectory), workspace=trajectory.environment.workspace)


def parameters(trajectory: Trajectory) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in general(trajectory).parameters}


def put_in(trajectory: Trajectory) -> list[Any]:
    found = general(trajectory)
    return [found.arguments(action.step.arguments) for action in tool_calls(trajectory)]


@pytest.mark.parametrize(
    ("task", "command", "expected"),
    [
        ("Add column `due_date`", "make add_due_date", "make add_{column}"),
        (
            "Add `due_date` as a column",
            'sql "ALTER TABLE x ADD COLUMN due_date"',
            'sql "ALTER TABLE x ADD COLUMN {column}"',
        ),
        ("Seed 20 invoices", "seed --count 20", "seed --count {count}"),
        ("Look at order #W2378156", "show #W2378156", "show {order}"),
        ("Mail bob@example.com", "send bob@example.com", "send {email}"),
        ("Fetch https://a.example/x", "curl https://a.example/x", "curl {url}"),
        ("Change src/app/main.py", "black src/app/main.py", "black {file}"),
        ("Set it to 'blue sky'", "paint 'blue sky'", "paint '{value}'"),
        ("Run the job of 2024-05-01", "job 2024-05-01", "job {date}"),
        ("Tag release 1.4.0", "git tag v1.4.0", "git tag v{release}"),
        ("Go from `1.3.9` on", "show 1.3.9", "show {version}"),
        ("Pin `httpx`", "pip install httpx==0.28.1", "pip install {package}==0.28.1"),
        ("Say 'all is well'", "git commit -am 'all is well'", "git commit -am '{message}'"),
        ("Set it with default 30.", "set 30", "set {default}"),
        ("Release 'the clip'", "ship 'the clip'", "ship '{value}'"),
        ("Roll `blue` out", "helm upgrade x charts/x -n blue", "helm upgrade x charts/x -n {namespace}"),
        (
            "Restart `paperclip`",
            "kubectl rollout restart deploy/paperclip",
            "kubectl rollout restart deploy/{deployment}",
        ),
    ],
)
def test_what_the_person_named_becomes_a_parameter(task: str, command: str, expected: str) -> None:
    assert put_in(attempt(task, bash(command))) == [{"command": expected}]


@pytest.mark.parametrize(
    ("task", "command"),
    [
        ("Please update the docs", "git add docs"),
        ("Run `make test` for me", "make test"),
        ("Use `pytest` please", "pytest -q"),
        ("Make 5 copies", "copy 5"),
        ("It is in the file", "cat file"),
        ("Build version 12", "echo 2012:12:01"),
    ],
)
def test_common_words_and_the_commands_themselves_do_not(task: str, command: str) -> None:
    assert put_in(attempt(task, bash(command))) == [{"command": command}]


def test_plain_tools_argument_is_named_after_its_key_and_keeps_its_type() -> None:
    trajectory = attempt(
        "Give Ada Lovelace 250 points", call("grant", {"first_name": "Ada", "points": 250, "loud": True})
    )
    found = parameters(trajectory)
    assert put_in(trajectory) == [{"first_name": "{first_name}", "points": "{points}", "loud": True}]
    assert (found["points"].type, found["points"].example) == ("integer", "250")
    assert found["first_name"].description == "first name named in the task"


def test_later_messages_of_the_user_count_too() -> None:
    trajectory = attempt("Hello", say("It is zip 19122"), call("find_user", {"zip": "19122"}))
    assert put_in(trajectory) == [{"zip": "{zip}"}]
    assert parameters(trajectory)["zip"].type == "string"


def test_value_from_an_earlier_answer_is_bound_to_its_tool_and_leaves_no_example() -> None:
    trajectory = attempt(
        "Hello", call("find_user", {}, "yusuf_rossi_9620"), call("get_user", {"user_id": "yusuf_rossi_9620"})
    )
    assert put_in(trajectory)[1] == {"user_id": "{user_id}"}
    found = parameters(trajectory)["user_id"]
    assert found.description == "from the result of `find_user`"
    assert found.example == ""


def test_word_that_only_occurs_in_an_answer_stays_literal() -> None:
    trajectory = attempt("Hello", call("apps", {}, "modes: fast, slow"), call("set_mode", {"mode": "fast"}))
    assert put_in(trajectory)[1] == {"mode": "fast"}


def test_word_under_the_same_key_in_an_answer_is_bound() -> None:
    trajectory = attempt("Hello", call("get_home", {}, '{"city": "Oslo"}'), call("move", {"city": "Oslo"}))
    assert put_in(trajectory)[1] == {"city": "{city}"}


def test_several_values_of_one_role_are_numbered() -> None:
    trajectory = attempt(
        "Cancel #W100 and #W200", call("cancel", {"order_id": "#W100"}), call("cancel", {"order_id": "#W200"})
    )
    assert put_in(trajectory) == [{"order_id": "{order_id}"}, {"order_id": "{order_id_2}"}]


def test_same_value_is_the_same_parameter_everywhere() -> None:
    trajectory = attempt(
        "Add column `due_date`",
        bash("touch due_date"),
        edit("due_date.py", "x", "due_date = 1"),
        call("ask", {"about": "due_date"}),
    )
    assert [parameter.name for parameter in general(trajectory).parameters] == ["column", "workspace"]


def test_workspace_becomes_a_parameter_without_example() -> None:
    found = parameters(attempt("Do it", bash(f"cat {WORKSPACE}/a.txt")))
    assert found["workspace"].example == ""


def test_path_is_not_taken_for_the_end_of_another_path() -> None:
    trajectory = attempt(
        "Mend README.md", edit("vendor/README.md", "a", "b"), edit("README.md", "a", "b"), bash("cat ./README.md")
    )
    paths = [arguments.get("file_path", arguments.get("command")) for arguments in put_in(trajectory)]
    assert paths == ["{workspace}/vendor/README.md", "{workspace}/{file}", "cat ./{file}"]


def test_name_never_collides_with_braces_in_the_text() -> None:
    trajectory = attempt("Add column `due_date`", bash("echo {column} due_date"))
    (arguments,) = put_in(trajectory)
    assert arguments["command"] == "echo {column} {column_2}"
    assert fill(arguments, general(trajectory).values) == {"command": "echo {column} due_date"}


def test_filling_in_gives_the_original_back() -> None:
    trajectory = attempt(
        "Give `ada` 250 of `ada_b`",
        call("grant", {"who": "ada", "points": 250, "note": "ada: 250, ada_b"}),
        bash("grant ada ada_b 250"),
    )
    found = general(trajectory)
    assert len(found.parameters) == 3
    for action in tool_calls(trajectory):
        assert fill(found.arguments(action.step.arguments), found.values) == action.step.arguments


def test_prose_is_generalised_whatever_its_case() -> None:
    trajectory = attempt("Find YUSUF", call("find", {"first_name": "Yusuf"}))
    assert general(trajectory).text("Find YUSUF", folded=True) == "Find {first_name}"
