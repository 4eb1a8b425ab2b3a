"""A start from the nursery is a start like any other: it says what an interpreter of its own says, and keeps it to itself."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Terminal
from tests.e2e.nursery import is_possible


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("stats", "--json"), ("nonsense",), ("review", "v_0", "--json"), ("recall",)],
    ids=" ".join,
)
def test_it_says_what_an_interpreter_of_its_own_says(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    assert (terminal.nursery is not None) == is_possible()
    assert terminal.run(*arguments) == terminal.run_cold(*arguments)


def test_what_one_start_was_given_is_not_there_for_the_next(terminal: Terminal) -> None:
    terminal.variables["TACIT_CONFIG"] = "nowhere.toml"
    assert "nowhere.toml" in terminal.run("stats").err
    del terminal.variables["TACIT_CONFIG"]
    assert terminal.run("stats").code == 0


def test_a_variable_of_the_interpreter_is_heeded(terminal: Terminal) -> None:
    terminal.variables["PYTHONVERBOSE"] = "1"
    assert "import 'tacit" in terminal.run("--version").err


def test_a_terminal_is_one_for_the_process_that_it_was_given(terminal: Terminal) -> None:
    assert terminal.type("config", "--policy", "strict", "--json").json["policy"] == "strict"
    refused = terminal.run("config", "--policy", "strict", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (3, "needs_passphrase")
