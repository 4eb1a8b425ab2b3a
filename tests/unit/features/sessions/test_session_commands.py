"""`tacit session`: notes between the agents of one session, at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.person import leave

ONE = ("--session", "s1")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, where nothing was kept yet."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TACIT_HOME", "TACIT_STORE", "TACIT_CONFIG", "TACIT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    leave(tmp_path / ".tacit")
    return tmp_path / "shop"


def tacit(*arguments: str, stdin: str = "") -> Result:
    ctx = CommandContext(environment=UserEnvironment.read())
    try:
        return CliRunner().invoke(cli, arguments, obj=ctx, input=stdin)
    finally:
        ctx.close()


def told(*arguments: str, stdin: str = "") -> Any:
    done = tacit(*arguments, "--json", stdin=stdin)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_what_one_shell_notes_another_of_the_same_session_sees(project: Path) -> None:
    kept = told("session", "note", "the port is 8081", "--agent", "builder", *ONE)
    assert (kept["drawer"], kept["agent"], kept["origin"]) == ("context", "builder", "agent")
    told("session", "artifact", "docs/plan.md", "the plan", *ONE)
    shown = tacit("session", "show", *ONE).output
    assert '<tacit-shared by="builder" from="an agent">\nthe port is 8081\n' in shown
    assert '<tacit-artifact name="docs/plan.md" from="an agent">\nthe plan\n' in shown
    assert "Nothing was shared" in tacit("session", "show", "--session", "s2").output


def test_the_session_may_be_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_SESSION", "s7")
    told("session", "note", "shared")
    assert [each["text"] for each in told("session", "show")["shared"]] == ["shared"]
    assert told("session", "show", *ONE)["shared"] == []


def test_a_text_is_read_from_standard_input_where_it_is_a_dash() -> None:
    told("session", "note", "-", *ONE, stdin="from a pipe\n")
    told("session", "scratch", "-", "--agent", "a", *ONE, stdin="own\nnotes")
    assert told("session", "show", *ONE)["shared"][0]["text"] == "from a pipe"
    assert told("session", "scratch", "--agent", "a", *ONE)["text"] == "own\nnotes"


def test_notes_of_an_agent_are_shown_to_it_alone() -> None:
    told("session", "scratch", "mine alone", "--agent", "planner", *ONE)
    assert "mine alone" in tacit("session", "show", "--agent", "planner", *ONE).output
    assert "mine alone" in tacit("session", "scratch", "--agent", "planner", *ONE).output
    for other in (("--agent", "tester"), ()):
        assert "mine alone" not in tacit("session", "show", *other, *ONE).output
    assert told("session", "scratch", "--agent", "tester", *ONE)["text"] == ""


def test_what_was_recalled_in_the_session_is_listed_among_its_questions() -> None:
    told("session", "note", "begin", *ONE)
    query = "deploy [the] service"
    assert tacit("recall", query, *ONE).exit_code == 0
    assert told("session", "queries", *ONE)["queries"][0]["query"] == query
    assert f"{query} → nothing" in tacit("session", "queries", *ONE).output
    assert "Nothing was asked" in tacit("session", "queries", "--session", "s2").output


def test_a_person_gets_a_table_in_which_nothing_acts_on_the_terminal() -> None:
    told("session", "note", "red \x1b[31m and [bold]markup[/bold]", "--agent", "[link]x", *ONE)
    shown = tacit("session", "show", "--list", *ONE).output
    assert "[bold]markup[/bold]" in shown
    assert "\x1b" not in shown


def test_forgetting_drops_it_and_looking_at_nothing_makes_no_store(project: Path) -> None:
    for looking in ("show", "queries", "forget"):
        assert tacit("session", looking, *ONE).exit_code == 0
    assert not (project / ".tacit").exists()
    told("session", "note", "x", *ONE)
    told("session", "note", "y", *ONE)
    assert told("session", "forget", *ONE)["forgotten"] == 2
    assert told("session", "forget", *ONE)["forgotten"] == 0


def test_mistakes_are_told_with_the_next_step() -> None:
    from tacit.domain.errors import Mistake

    for arguments, message in (
        (("note", " ", *ONE), "nothing to share"),
        (("note", "x", "--session", " "), "no id"),
        (("note", "x" * 9000, *ONE), "9000 bytes"),
        (("artifact", " ", *ONE), "no name"),
    ):
        done = tacit("session", *arguments)
        assert isinstance(done.exception, Mistake)
        assert message in done.exception.message
        assert done.exception.hint
    assert "--session" in tacit("session", "note", "x").output
