"""Retail and BFCL as suites: what is asked, what may be learned from, and plain words about files that are not theirs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.suites.public_tasks import (
    TASK,
    TOOLS,
    BfclSuite,
    RetailSuite,
    read_rows,
    solved_attempt,
    without_held_out,
)
from tacit.features.evaluate.tool import Call
from tests.raising import raises

CANCEL = {"name": "cancel_pending_order", "arguments": {"order_id": "#1", "reason": "no longer needed"}}
RETURN = {
    "name": "return_delivered_order_items",
    "arguments": {"order_id": "#2", "item_ids": ["3"], "payment_method_id": "p"},
}


def who(name: str) -> dict[str, Any]:
    return {"name": "find_user_id_by_name_zip", "arguments": {"first_name": name}}


def row(key: str, text: str, *actions: dict[str, Any]) -> dict[str, Any]:
    return {"id": key, "instruction": text, "actions": list(actions)}


def lines(path: Path, rows: list[Any]) -> None:
    data = "".join(json.dumps(each) + "\n" for each in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    lines(
        tmp_path / "train_gold.jsonl",
        [
            row("train-0", "Cancel my order", CANCEL),
            row("train-1", "Return the kettle, please!", RETURN),
            row("train-2", "You are Ann. Cancel, then return.", CANCEL, RETURN),
        ],
    )
    lines(
        tmp_path / "test_visible_gold.jsonl",
        [
            row("test-0", "you are ann: cancel then return", who("ann"), CANCEL, RETURN),
            row("test-1", "Ann again", who("ann"), RETURN),
            row("test-2", "How many shirts are there?", who("ann"), {"name": "calculate", "arguments": {}}),
            row("test-3", "Somebody", CANCEL),
            row("test-4", "Ben", who("ben"), CANCEL),
        ],
    )
    return tmp_path


def test_retail_asks_for_changes_only_and_leaves_out_tasks_without_any(shop: Path) -> None:
    asked = RetailSuite(shop).exercises()
    assert [each.key for each in asked if each.group == "test-0"][:3] == ["test-0/0", "test-0/1", "test-0/2"]
    assert {each.key.split("/")[0] for each in asked} == {"test-0", "test-1", "test-3", "test-4"}
    assert [call.tool for call in asked[0].answer] == [CANCEL["name"], RETURN["name"]]
    assert asked[0].tools == TOOLS


def test_retail_tasks_about_one_customer_hang_together(shop: Path) -> None:
    groups = {each.key.split("/")[0]: each.group for each in RetailSuite(shop).exercises()}
    assert groups == {"test-0": "test-0", "test-1": "test-0", "test-3": "test-3", "test-4": "test-4"}
    alone = {each.key.split("/")[0]: each.group for each in RetailSuite(shop, by=TASK).exercises()}
    assert alone == {key: key for key in groups}


def test_retail_groups_by_nothing_else(shop: Path) -> None:
    with raises(Mistake, "bad_option_value"):
        RetailSuite(shop, by="weather")


def test_a_training_task_with_the_words_of_an_asked_one_is_not_learned_from(shop: Path) -> None:
    learned = RetailSuite(shop).training_trajectories()
    assert [each.session_id for each in learned] == ["train-0", "train-1"]
    assert all(each.claim and each.claim.result == "success" and each.claim.verified_by for each in learned)
    assert learned[0].actions[0].arguments == CANCEL["arguments"]


def test_all_bad_lines_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a"}\nno json\n\n[1]\n{"id": 7, "text": "x"}\n', encoding="utf-8")
    with pytest.raises(Mistake) as caught:
        read_rows(path, fields={"id": str, "text": str})
    for outcome in ("line 1: lacks text", "line 2: no JSON object", "line 4: no JSON object", "line 5: lacks id"):
        assert outcome in caught.value.message


@pytest.mark.parametrize(
    ("name", "data", "outcome"),
    [
        ("cut.jsonl.gz", gzip.compress(b'{"id": "a"}\n', mtime=0)[:-9], "cannot be read"),
        ("empty.jsonl", b"\n", "no tasks"),
    ],
)
def test_a_damaged_or_empty_file_is_reported(tmp_path: Path, name: str, data: bytes, outcome: str) -> None:
    (tmp_path / name).write_bytes(data)
    with raises(Mistake, "bad_data"):
        read_rows(tmp_path / name, fields={"id": str})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with raises(NotFound, "no_data"):
        RetailSuite(tmp_path)


def test_a_reference_call_without_a_name_is_reported(shop: Path) -> None:
    lines(shop / "train_gold.jsonl", [row("train-0", "x", {"arguments": {}})])
    with raises(Mistake, "bad_data"):
        RetailSuite(shop)


def test_a_customer_without_particulars_stands_for_itself(shop: Path) -> None:
    lines(shop / "test_visible_gold.jsonl", [row("a", "one", {"name": "find_user_id_by_name_zip"}, CANCEL)])
    assert {each.group for each in RetailSuite(shop).exercises()} == {"a"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_reported_with_its_line(tmp_path: Path, number: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"id": "a", "n": 1.5}}\n{{"id": "b", "n": {number}}}\n', encoding="utf-8")
    with raises(Mistake, "bad_data"):
        read_rows(path, fields={"id": str})


def test_case_and_punctuation_do_not_make_another_task() -> None:
    one, other = (solved_attempt(key, text, [Call(tool="t")]) for key, text in (("a", "Pay it!"), ("b", "pay  it")))
    assert without_held_out([one], [other]) == []
    assert without_held_out([one], []) == [one]


def turn(number: int, at: int, gold: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    key = f"multi_{number}.{at}"
    outcome = {"id": key, "category": "base", "number": number, "turn": at, "text": f"request {key}", "kind": "answer"}
    return {**outcome, "tools": ["sort", "mkdir"], "gold": gold, **fields}


SORT = {"name": "sort", "arguments": {"_positional": ["a.txt"], "order": "up"}}
MKDIR = {"name": "mkdir", "arguments": {"dir_name": "d"}}


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    tools = {
        "Files": [
            {
                "name": "sort",
                "description": "This tool belongs to the files. Tool description: Sort a file. Really.",
                "parameters": {"properties": {"order": {}, "file_name": {}}, "required": ["file_name"]},
            },
            {"name": "mkdir", "description": "Make a folder.", "parameters": {"properties": {"dir_name": {}}}},
        ]
    }
    (tmp_path / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
    rows = [
        turn(0, 0, [MKDIR]),
        turn(4, 0, [SORT], text="request multi_2.0"),
        turn(2, 0, [SORT, MKDIR]),
        turn(2, 1, [MKDIR]),
        turn(2, 2, [], kind="none"),
        turn(2, 3, [MKDIR], category="miss_func"),
        turn(6, 0, [MKDIR], text=" "),
    ]
    lines(tmp_path / "turns.jsonl.gz", rows)
    return tmp_path


def test_bfcl_asks_the_plain_turns_of_the_scenarios_between(functions: Path) -> None:
    made = BfclSuite(functions)
    asked = made.exercises()
    assert {each.key.split("/")[0] for each in asked} == {"multi_2.0", "multi_2.1"}
    assert {each.group for each in asked} == {"scenario 2"}
    assert [each.session_id for each in made.training_trajectories()] == [
        "multi_0.0"
    ]  # the other has an asked one's words


def test_bfcl_names_arguments_that_are_given_by_position(functions: Path) -> None:
    first = BfclSuite(functions).exercises()[0]
    assert first.answer[0].arguments == {"file_name": "a.txt", "order": "up"}


def test_bfcl_tools_say_what_they_do_and_not_where_they_belong(functions: Path) -> None:
    made = BfclSuite(functions)
    sort, mkdir = made.exercises()[0].tools
    assert sort.description == "Sort a file. Really."
    assert (sort.required, sort.optional, mkdir.optional) == (("file_name",), ("order",), ("dir_name",))
    assert made.tools_of(made.training_trajectories()[0]) == [sort, mkdir]


def test_bfcl_with_a_tool_that_nobody_documents_is_reported(functions: Path) -> None:
    lines(functions / "turns.jsonl.gz", [turn(2, 0, [{"name": "fly", "arguments": {}}])])
    with raises(Mistake, "bad_data"):
        BfclSuite(functions)


def test_bfcl_with_a_call_that_cannot_be_read_is_reported(functions: Path) -> None:
    lines(functions / "turns.jsonl.gz", [turn(2, 0, [{"arguments": {}}])])
    with raises(Mistake, "bad_data"):
        BfclSuite(functions)


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_bfcl_with_arguments_that_are_none_is_reported(functions: Path, arguments: object) -> None:
    lines(functions / "turns.jsonl.gz", [turn(2, 0, [{"name": "sort", "arguments": arguments}])])
    with raises(Mistake, "bad_data"):
        BfclSuite(functions)


@pytest.mark.parametrize(
    "text", ["[", "[]", "[1]", "{", '{"Files": [{}]}', "[" * 100_000, '{"Files": [{"name": [], "parameters": {}}]}']
)
def test_bfcl_with_another_list_of_tools_is_reported(functions: Path, text: str) -> None:
    (functions / "tools.json").write_text(text, encoding="utf-8")
    with raises(Mistake, "bad_data"):
        BfclSuite(functions)


def test_bfcl_without_its_tools_is_reported(functions: Path) -> None:
    (functions / "tools.json").unlink()
    with raises(NotFound, "no_data"):
        BfclSuite(functions)
